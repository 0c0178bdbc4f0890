package main

import (
	"cudacompat/probe"
)

// fault is what is wrong with one node, and by which rule that is found; of several by which ones, in their order.
type fault struct {
	rule string
	bad  func(*probe.Facts)
}

// faults change a node of machines[0] with torch, unless they make another machine of it.
var faults = []fault{
	{"driver-mismatch", func(f *probe.Facts) { f.Driver.Version = "570.133.20" }},
	{"driver-mismatch", func(f *probe.Facts) {
		f.Driver.Libraries[0].Version, f.Driver.Libraries[1].Version = "580.105.08", "580.105.08"
		f.Driver.Modules[0].Version = "580.105.08"
	}},
	{"driver-too-old", onDriver("470.256.02", "11.4")},
	{"driver-too-old", wheel("2.9.0+cu130", "13.0", onDriver("550.163.01", "12.4"))},
	{"driver-drops-gpu", onV100(onDriver("590.48.01", "13.1"))},
	{"driver-too-old-for-gpu", onB200(onDriver("570.86.15", "12.8", notUp))},
	{"gpu-arch-missing", onV100(wheel("2.9.0+cu130", "13.0"))},
	{"gpu-arch-missing", onB200(wheel("2.6.0+cu124", "12.4"))},
	{"cpu-only-build", wheel("2.8.0+cpu", "", func(f *probe.Facts) { torch(f).Accelerator = "cpu" })},
	{"gpu-count", func(f *probe.Facts) { f.GPUs = f.GPUs[:7] }},
	{"gpu-health", func(f *probe.Facts) { f.GPUs[3].Health.RemapFailure = true }},
	{"gpu-health", func(f *probe.Facts) { f.GPUs[3].Health.RemapPending = true }},
	{"gpu-health", func(f *probe.Facts) { f.GPUs[5].Health.Uncorrectable = 2 }},
	{"gpu-health", func(f *probe.Facts) { f.GPUs[0].Health.Slowdown = []string{"hardware thermal"} }},
	{"gpu-health", func(f *probe.Facts) {
		f.Machine.Xids = []string{
			"NVRM: Xid (PCI:0000:53:00): 64, pid='<unknown>', name=<unknown>, Row Remapper: failed to remap"}
	}},
	{"driver-unresponsive", func(f *probe.Facts) { f.Driver.NVML.Status = "stuck" }},
	{"driver-unresponsive", func(f *probe.Facts) {
		f.Driver.Kernel = []string{"NVRM: Xid (PCI:0000:53:00): 79, pid=1234, GPU has fallen off the bus."}
	}},
	{"driver-missing", func(f *probe.Facts) {
		f.Driver = probe.Driver{NVML: probe.NVML{Status: "absent"}}
		for i := range f.GPUs {
			f.GPUs[i].Bound, f.GPUs[i].From, f.GPUs[i].Health = "", []string{"/sys/bus/pci"}, nil
		}
	}},
	{"nouveau-loaded driver-missing", func(f *probe.Facts) {
		f.Driver.Version, f.Driver.From, f.Driver.Module, f.Driver.NVML = "", "", "", probe.NVML{Status: "error"}
		for i := range f.GPUs {
			f.GPUs[i].Bound, f.GPUs[i].From, f.GPUs[i].Health = "nouveau", []string{"/sys/bus/pci"}, nil
		}
	}},
	{"open-module-required", onB200(notUp, module("proprietary"))},
	{"open-module-unsupported", onV100(notUp, module("open"))},
	{"gsp-firmware", func(f *probe.Facts) {
		f.Driver.Module, f.Machine.Firmware = "open", []string{"570.133.20"}
		f.Probes = append(f.Probes, probe.Status{Name: "firmware", Status: "ok"})
		notUp(f)
	}},
	{"fabric-manager", func(f *probe.Facts) {
		for i := range f.GPUs {
			f.GPUs[i].Health.Fabric = "not started"
		}
	}},
	{"compute-mode", func(f *probe.Facts) {
		for i := range f.GPUs {
			f.GPUs[i].Mode = "prohibited"
		}
	}},
	{"mig-devices", func(f *probe.Facts) {
		for i := range f.GPUs {
			f.GPUs[i].MIG = "on"
		}
	}},
	{"cdi-spec-stale", func(f *probe.Facts) {
		f.Runtimes.Found = []probe.Runtime{{Name: "containerd", Path: "/usr/bin/containerd",
			Config: "/etc/containerd/config.toml"}}
		f.Runtimes.Hook = "/usr/bin/nvidia-container-runtime-hook"
		f.Runtimes.CDI = []probe.CDISpec{{Path: "/etc/cdi/nvidia.yaml", Versions: []string{"570.133.20"},
			Missing: []string{"/usr/lib64/libcuda.so.570.133.20"}}}
	}},
	{"driver-packages-mixed", func(f *probe.Facts) {
		f.Machine.Runfile = "/usr/bin/nvidia-uninstall"
		f.Machine.Packages = []probe.DriverPackage{{Name: "nvidia-driver-cuda",
			Version: "3:580.95.05-1.amzn2023", From: "/var/lib/rpm"}}
	}},
	{"visible-devices", func(f *probe.Facts) { f.Variables["CUDA_VISIBLE_DEVICES"] = "9" }},
	{"world-size", func(f *probe.Facts) { f.Variables["LOCAL_WORLD_SIZE"] = "16" }},
	{"stub-library", func(f *probe.Facts) {
		f.Driver.Stub = true
		f.Driver.Taken = probe.Taken{Name: "libcuda.so.1", Path: "/usr/local/cuda/lib64/stubs/libcuda.so.1",
			Reason: "LD_LIBRARY_PATH"}
	}},
	{"glibc-too-old", func(f *probe.Facts) { f.System.Libc = "2.17" }},
	{"python-unsupported", func(f *probe.Facts) { torch(f).Python = "3.7" }},
	{"numpy-abi", wheel("2.2.0+cu121", "12.1", beside("numpy", "2.1.0"))},
	{"companion-mismatch", beside("torchvision", "0.20.0")},
	{"nccl-shadowed", func(f *probe.Facts) {
		b := torch(f)
		b.Looked, b.Missing = true, []string{"ncclCommWindowRegister"}
		b.Taken = []probe.Taken{{Name: "libnccl.so.2", Version: "2.21.5", CUDA: "12",
			Path: "/usr/lib64/libnccl.so.2", Reason: "LD_LIBRARY_PATH"}}
	}},
	{"fatbin-zstd", func(f *probe.Facts) { onDriver("535.261.03", "12.2")(f); torch(f).Zstd = []string{"sm_90"} }},
	{"shm-too-small", func(f *probe.Facts) {
		f.System.Container, f.Devices.Shared = "docker", 64<<20
		f.Driver.Libraries = append(f.Driver.Libraries, probe.Library{Name: "libnvidia-ptxjitcompiler",
			Version: f.Driver.Version, Path: "/usr/lib64/libnvidia-ptxjitcompiler.so.1"})
	}},
}

// drifts make one node of a group differ from the others.
var drifts = []struct {
	group, what string
	change      func(*probe.Facts)
}{
	{"pool-0", "torch", func(f *probe.Facts) { torch(f).Version = "2.7.1+cu128" }},
	{"pool-3", "driver", onDriver("580.105.08", "13.0")},
	{"pool-6", "NCCL of torch", func(f *probe.Facts) { torch(f).Taken[0].Version = "2.26.2" }},
}

func torch(f *probe.Facts) *probe.Build { return &f.Environments[0].Builds[0] }

// notUp is a driver that is loaded and drives no GPU: only PCI shows them.
func notUp(f *probe.Facts) {
	for i := range f.GPUs {
		g := &f.GPUs[i]
		g.Name, g.Capability, g.Health, g.Mode, g.Brand, g.From = "", "", nil, "", "", []string{"/sys/bus/pci"}
	}
}

// all makes several changes one after the other.
func all(changes []func(*probe.Facts)) func(*probe.Facts) {
	return func(f *probe.Facts) {
		for _, change := range changes {
			change(f)
		}
	}
}

// onDriver is the whole driver of another release, with what else is wrong.
func onDriver(version, cuda string, more ...func(*probe.Facts)) func(*probe.Facts) {
	return func(f *probe.Facts) {
		f.Driver.Version, f.Driver.CUDA = version, cuda
		for i := range f.Driver.Libraries {
			f.Driver.Libraries[i].Version = version
		}
		for i := range f.Driver.Modules {
			f.Driver.Modules[i].Version = version
		}
		all(more)(f)
	}
}

// module is another flavour of the kernel module.
func module(flavour string) func(*probe.Facts) {
	return func(f *probe.Facts) { f.Driver.Module = flavour }
}

// onV100 is an older machine, with what is wrong there.
func onV100(bad ...func(*probe.Facts)) func(*probe.Facts) {
	return onGPU("p3.16xlarge", "Tesla V100-SXM2-16GB", "10de:1db1", "7.0", "proprietary", all(bad))
}

// onB200 is a newer machine, with what is wrong there.
func onB200(bad ...func(*probe.Facts)) func(*probe.Facts) {
	return onGPU("p6-b200.48xlarge", "NVIDIA B200", "10de:2901", "10.0", "open", all(bad))
}

func onGPU(instance, name, pci, capability, flavour string, bad func(*probe.Facts)) func(*probe.Facts) {
	return func(f *probe.Facts) {
		f.System.Instance, f.Driver.Module = instance, flavour
		for i := range f.GPUs {
			f.GPUs[i].Name, f.GPUs[i].PCIID, f.GPUs[i].Capability = name, pci, capability
		}
		bad(f)
	}
}

// wheel is another build of torch, with what is wrong beside it.
func wheel(version, cuda string, more ...func(*probe.Facts)) func(*probe.Facts) {
	return func(f *probe.Facts) {
		torch(f).Version, torch(f).CUDA = version, cuda
		all(more)(f)
	}
}

// beside is a package that is installed too.
func beside(name, version string) func(*probe.Facts) {
	return func(f *probe.Facts) {
		e := &f.Environments[0]
		e.Packages = append(e.Packages, probe.Package{Name: name, Version: version,
			Path: "/opt/venv/lib/python3.12/site-packages/" + name + "-" + version + ".dist-info"})
	}
}
