package main

import (
	"cudacompat/probe/facts"
)

// fault is a change to one node, and the errors and warnings that must be found: "E gpu-count, W numpy-abi", by name.
// For a look-alike there are none, or "?" if it cannot be decided.
type fault struct {
	name  string // empty: find tells enough
	group string // whose node it is made of; empty: torch on machines[0]
	find  string
	bad   func(*facts.Facts)
}

// faults change a node of machines[0] with torch, unless they make another machine of it.
var faults = []fault{
	{find: "E driver-mismatch", bad: func(f *facts.Facts) { f.Driver.Version = "570.133.20" }},
	{find: "E driver-mismatch", bad: func(f *facts.Facts) {
		f.Driver.Libraries[0].Version, f.Driver.Libraries[1].Version = "580.105.08", "580.105.08"
		f.Driver.Modules[0].Version = "580.105.08"
	}},
	{find: "E driver-too-old", bad: onDriver("470.256.02", "11.4")},
	{find: "E driver-too-old", bad: wheel("2.9.0+cu130", "13.0", onDriver("550.163.01", "12.4"))},
	{find: "E driver-drops-gpu", bad: onV100(onDriver("590.48.01", "13.1"))},
	{find: "E driver-too-old-for-gpu", bad: onB200(onDriver("570.86.15", "12.8", notUp))},
	{find: "E gpu-arch-missing", bad: onV100(wheel("2.9.0+cu130", "13.0"))},
	{find: "E gpu-arch-missing", bad: onB200(wheel("2.6.0+cu124", "12.4"))},
	{find: "E cpu-only-build", bad: wheel("2.8.0+cpu", "", func(f *facts.Facts) { torch(f).Accelerator = "cpu" })},
	{find: "E gpu-count", bad: func(f *facts.Facts) { f.GPUs = f.GPUs[:7] }},
	{find: "E gpu-health", bad: func(f *facts.Facts) { f.GPUs[3].Health.RemapFailure = true }},
	{find: "W gpu-health", bad: func(f *facts.Facts) { f.GPUs[3].Health.RemapPending = true }},
	{find: "W gpu-health", bad: func(f *facts.Facts) { f.GPUs[5].Health.Uncorrectable = 2 }},
	{find: "E gpu-health", bad: func(f *facts.Facts) { f.GPUs[0].Health.Slowdown = []string{"hardware thermal"} }},
	{find: "E gpu-health", bad: func(f *facts.Facts) {
		f.Machine.Xids = []string{
			"NVRM: Xid (PCI:0000:53:00): 64, pid='<unknown>', name=<unknown>, Row Remapper: failed to remap"}
	}},
	{find: "E driver-unresponsive", bad: func(f *facts.Facts) { f.Driver.NVML.Status = "stuck" }},
	{find: "E driver-unresponsive", bad: func(f *facts.Facts) {
		f.Driver.Kernel = []string{"NVRM: Xid (PCI:0000:53:00): 79, pid=1234, GPU has fallen off the bus."}
	}},
	{find: "E driver-missing", bad: func(f *facts.Facts) {
		f.Driver = facts.Driver{NVML: facts.NVML{Status: "absent"}}
		for i := range f.GPUs {
			f.GPUs[i].Bound, f.GPUs[i].From, f.GPUs[i].Health = "", []string{"/sys/bus/pci"}, nil
		}
	}},
	{find: "E nouveau-loaded", bad: func(f *facts.Facts) {
		f.Driver.Version, f.Driver.From, f.Driver.Module, f.Driver.NVML = "", "", "", facts.NVML{Status: "error"}
		for i := range f.GPUs {
			f.GPUs[i].Bound, f.GPUs[i].From, f.GPUs[i].Health = "nouveau", []string{"/sys/bus/pci"}, nil
		}
	}},
	{find: "E open-module-required", bad: onB200(notUp, module("proprietary"))},
	{find: "E open-module-unsupported", bad: onV100(notUp, module("open"))},
	{find: "E gsp-firmware", bad: func(f *facts.Facts) {
		f.Driver.Module, f.Machine.Firmware = "open", []string{"570.133.20"}
		f.Probes = append(f.Probes, facts.Status{Name: "firmware", Status: "ok"})
		notUp(f)
	}},
	{find: "E fabric-manager", bad: func(f *facts.Facts) {
		for i := range f.GPUs {
			f.GPUs[i].Health.Fabric = "not started"
		}
	}},
	{find: "E compute-mode", bad: func(f *facts.Facts) {
		for i := range f.GPUs {
			f.GPUs[i].Mode = "prohibited"
		}
	}},
	{find: "E mig-devices", bad: func(f *facts.Facts) {
		for i := range f.GPUs {
			f.GPUs[i].MIG = "on"
		}
	}},
	{find: "E cdi-spec-stale", bad: func(f *facts.Facts) {
		f.Runtimes.Found = []facts.Runtime{{Name: "containerd", Path: "/usr/bin/containerd",
			Config: "/etc/containerd/config.toml"}}
		f.Runtimes.Hook = "/usr/bin/nvidia-container-runtime-hook"
		f.Runtimes.CDI = []facts.CDISpec{{Path: "/etc/cdi/nvidia.yaml", Versions: []string{"570.133.20"},
			Missing: []string{"/usr/lib64/libcuda.so.570.133.20"}}}
	}},
	{find: "W driver-packages-mixed", bad: func(f *facts.Facts) {
		f.Machine.Runfile = "/usr/bin/nvidia-uninstall"
		f.Machine.Packages = []facts.DriverPackage{{Name: "nvidia-driver-cuda",
			Version: "3:580.95.05-1.amzn2023", From: "/var/lib/rpm"}}
	}},
	{find: "E visible-devices", bad: func(f *facts.Facts) { f.Variables["CUDA_VISIBLE_DEVICES"] = "9" }},
	{find: "E world-size", bad: func(f *facts.Facts) { f.Variables["LOCAL_WORLD_SIZE"] = "16" }},
	{find: "E stub-library", bad: func(f *facts.Facts) {
		f.Driver.Stub = true
		f.Driver.Taken = facts.Taken{Name: "libcuda.so.1", Path: "/usr/local/cuda/lib64/stubs/libcuda.so.1",
			Reason: "LD_LIBRARY_PATH"}
	}},
	{find: "E glibc-too-old", bad: func(f *facts.Facts) { f.System.Libc = "2.17" }},
	{find: "E python-unsupported", bad: func(f *facts.Facts) { torch(f).Python = "3.7" }},
	{find: "W numpy-abi", bad: wheel("2.2.0+cu121", "12.1", beside("numpy", "2.1.0"))},
	{find: "E companion-mismatch", bad: beside("torchvision", "0.20.0")},
	{find: "E nccl-shadowed", bad: func(f *facts.Facts) {
		b := torch(f)
		b.Looked, b.Missing = true, []string{"ncclCommWindowRegister"}
		b.Taken = []facts.Taken{{Name: "libnccl.so.2", Version: "2.21.5", CUDA: "12",
			Path: "/usr/lib64/libnccl.so.2", Reason: "LD_LIBRARY_PATH"}}
	}},
	{find: "E fatbin-zstd", bad: func(f *facts.Facts) {
		onDriver("535.261.03", "12.2")(f)
		torch(f).Zstd = []string{"sm_90"}
	}},
	{find: "W shm-too-small", bad: func(f *facts.Facts) {
		f.System.Container, f.Devices.Shared = "docker", 64<<20
		f.Driver.Libraries = append(f.Driver.Libraries, facts.Library{Name: "libnvidia-ptxjitcompiler",
			Version: f.Driver.Version, Path: "/usr/lib64/libnvidia-ptxjitcompiler.so.1"})
	}},
}

func torch(f *facts.Facts) *facts.Build { return &f.Environments[0].Builds[0] }

// notUp loads a driver that drives no GPU: only PCI shows them.
func notUp(f *facts.Facts) {
	for i := range f.GPUs {
		g := &f.GPUs[i]
		g.Name, g.Capability, g.Health, g.Mode, g.Brand, g.From = "", "", nil, "", "", []string{"/sys/bus/pci"}
	}
}

// all makes several changes one after the other.
func all(changes []func(*facts.Facts)) func(*facts.Facts) {
	return func(f *facts.Facts) {
		for _, change := range changes {
			change(f)
		}
	}
}

// onDriver returns the whole driver of another release, with what else is wrong.
func onDriver(version, cuda string, more ...func(*facts.Facts)) func(*facts.Facts) {
	return func(f *facts.Facts) {
		f.Driver.Version, f.Driver.CUDA, f.Machine.Firmware = version, cuda, []string{version}
		for i := range f.Driver.Libraries {
			f.Driver.Libraries[i].Version = version
		}
		for i := range f.Driver.Modules {
			f.Driver.Modules[i].Version = version
		}
		all(more)(f)
	}
}

// module returns another flavour of the kernel module.
func module(flavour string) func(*facts.Facts) {
	return func(f *facts.Facts) { f.Driver.Module = flavour }
}

// onV100 returns an older machine, with what is wrong there.
func onV100(bad ...func(*facts.Facts)) func(*facts.Facts) {
	return onGPU("p3.16xlarge", "Tesla V100-SXM2-16GB", "10de:1db1", "7.0", "proprietary", all(bad))
}

// onB200 returns a newer machine, with what is wrong there.
func onB200(bad ...func(*facts.Facts)) func(*facts.Facts) {
	return onGPU("p6-b200.48xlarge", "NVIDIA B200", "10de:2901", "10.0", "open", all(bad))
}

func onGPU(instance, name, pci, capability, flavour string, bad func(*facts.Facts)) func(*facts.Facts) {
	return func(f *facts.Facts) {
		f.System.Instance, f.Driver.Module = instance, flavour
		for i := range f.GPUs {
			f.GPUs[i].Name, f.GPUs[i].PCIID, f.GPUs[i].Capability = name, pci, capability
		}
		bad(f)
	}
}

// wheel returns another build of torch, with what is wrong beside it.
func wheel(version, cuda string, more ...func(*facts.Facts)) func(*facts.Facts) {
	return func(f *facts.Facts) {
		torch(f).Version, torch(f).CUDA = version, cuda
		all(more)(f)
	}
}

// beside returns a package that is installed too.
func beside(name, version string) func(*facts.Facts) {
	return func(f *facts.Facts) {
		e := &f.Environments[0]
		e.Packages = append(e.Packages, facts.Package{Name: name, Version: version,
			Path: "/opt/venv/lib/python3.12/site-packages/" + name + "-" + version + ".dist-info"})
	}
}
