package main

import (
	"slices"

	"cudacompat/probe/facts"
)

// The groups that these nodes are made of.
const (
	h100 = "pool-0" // p5.48xlarge, torch 2.8.0+cu128
	l40s = "pool-4" // g6e.12xlarge, torch 2.6.0+cu124
	a10g = "pool-6" // g5.xlarge, torch 2.8.0+cu128
	jaxA = "pool-8" // g5.xlarge, JAX 0.6.2
	t4   = "pool-9" // g4dn.xlarge, torch 2.8.0+cu128, driver 550
)

// moreFaults come from somebody who knew the list of rules and not the code: faults of the driver, GPUs, builds,
// containers and jobs, each with the errors and warnings that the list promises.
var moreFaults = []fault{
	{"user space was rolled back, the module was not", h100, "E driver-mismatch", func(f *facts.Facts) {
		userSpace(f, "570.211.01")
	}},
	{"an upgrade of the module waits for a reboot", a10g, "W driver-mismatch", func(f *facts.Facts) {
		f.Driver.Modules[0].Version = "580.105.08"
	}},
	{"NVML says 18", l40s, "E driver-mismatch", func(f *facts.Facts) {
		userSpace(f, "580.105.08")
		silentNVML(f, 18, "Driver/library version mismatch")
	}},
	{"the GSP stopped answering", h100, "E driver-unresponsive", func(f *facts.Facts) {
		f.Driver.Kernel = []string{"NVRM: Xid (PCI:0000:54:00): 119, pid=4321, name=python, " +
			"Timeout after 6s of waiting for RPC response from GPU1 GSP!"}
	}},
	{"an adapter did not come up", l40s, "E driver-unresponsive", func(f *facts.Facts) {
		f.Driver.Kernel = []string{"NVRM: GPU 0000:53:00.0: RmInitAdapter failed! (0x62:0xffff:2477)"}
		silentNVML(f, 9, "Driver Not Loaded")
	}},
	{"CUDA 13 on branch 550", t4, "E driver-too-old", build("torch", "2.10.0+cu130", "13.0")},
	{"JAX for CUDA 12 on branch 470", jaxA, "E driver-too-old", driver("470.256.02", "11.4")},
	{"a Pascal GPU under cu128", h100, "E gpu-arch-missing", func(f *facts.Facts) {
		gpus(f, "Tesla P100-PCIE-16GB", "10de:15f8", "6.0")
	}},
	{"a Kepler GPU under branch 580", h100, "E driver-drops-gpu, E gpu-arch-missing", func(f *facts.Facts) {
		gpus(f, "", "10de:102d", "")
		silentNVML(f, 9, "Driver Not Loaded")
	}},
	{"a P100 with the open module", h100, "E open-module-unsupported", func(f *facts.Facts) {
		build("torch", "2.6.0+cu126", "12.6")(f)
		gpus(f, "", "10de:15f8", "")
		f.Driver.Module = "open"
		silentNVML(f, 6, "Not Found")
	}},
	{"a B300 with the proprietary module", h100, "E open-module-required", func(f *facts.Facts) {
		gpus(f, "", "10de:3182", "")
		f.Driver.Module = "proprietary"
		silentNVML(f, 9, "Driver Not Loaded")
	}},
	{"an RTX PRO 6000 before its first driver", h100, "E driver-too-old-for-gpu", func(f *facts.Facts) {
		gpus(f, "", "10de:2bb5", "")
		driver("570.124.06", "12.8")(f)
		f.Driver.Module = "open"
		silentNVML(f, 6, "Not Found")
	}},
	{"one of four GPUs is gone from PCI", l40s, "E gpu-count", func(f *facts.Facts) { f.GPUs = f.GPUs[:3] }},
	{"NVML does not count a GPU that PCI shows", h100, "E gpu-count", func(f *facts.Facts) {
		unseen(&f.GPUs[6])
	}},
	{"an uncontained memory error", h100, "E gpu-health", func(f *facts.Facts) {
		f.Machine.Xids = []string{"NVRM: Xid (PCI:0000:55:00): 95, pid=1201, name=python, Uncontained: LTC TAG (0x2,0x0)."}
	}},
	{"the GPU's microcontroller halted", a10g, "E gpu-health", func(f *facts.Facts) {
		f.Machine.Xids = []string{
			"NVRM: Xid (PCI:0000:53:00): 62, pid='<unknown>', name=<unknown>, 30c5(2b74) 00000000 00000000"}
	}},
	{"the fabric is still in progress after a day", h100, "E fabric-manager", func(f *facts.Facts) {
		for i := range f.GPUs {
			f.GPUs[i].Health.Fabric = "in progress"
		}
	}},
	{"NVSwitch without its daemon", h100, "E fabric-manager", func(f *facts.Facts) {
		a100s(f)
		f.Machine.Fabric = facts.Fabric{Manager: "/usr/bin/nv-fabricmanager", Version: f.Driver.Version,
			Running: "no", Switches: 6}
	}},
	{"the fabric manager of another driver", h100, "E fabric-manager", func(f *facts.Facts) {
		a100s(f)
		f.Machine.Fabric = facts.Fabric{Manager: "/usr/bin/nv-fabricmanager", Version: "570.172.08-1",
			From:    "/var/lib/dpkg/status",
			Running: "yes", Switches: 6}
	}},
	{"GPUs are exclusive and MPS died", l40s, "W compute-mode", func(f *facts.Facts) {
		for i := range f.GPUs {
			f.GPUs[i].Mode = "exclusive"
		}
		f.Devices.MPS = "dead"
	}},
	{"a container lost its devices", h100, "E device-access-lost", func(f *facts.Facts) {
		inContainer(f)
		nodes(f, "EPERM")
		silentNVML(f, 999, "Unknown Error")
	}},
	{"a user outside the group of the devices", a10g, "E device-permission", func(f *facts.Facts) {
		nodes(f, "EACCES")
		silentNVML(f, 4, "Insufficient Permissions")
	}},
	{"a container was started without the runtime", a10g, "E container-driver-libs", func(f *facts.Facts) {
		inContainer(f)
		f.Driver.Libraries, f.Driver.Modules, f.Driver.CUDA = nil, nil, ""
		silentNVML(f, 0, "")
		f.Driver.NVML.Status = "absent"
	}},
	{"an image asks for a newer CUDA", h100, "W container-requirements", func(f *facts.Facts) {
		inContainer(f)
		f.Variables["NVIDIA_REQUIRE_CUDA"] = "cuda>=13.2"
	}},
	{"a UUID of another machine", l40s, "E visible-devices", func(f *facts.Facts) {
		const gone = "GPU-5a9b0c11-0000-4000-8000-00000000dead"
		f.Variables["CUDA_VISIBLE_DEVICES"] = gone
		f.Devices.Named = []facts.NamedDevice{{Device: gone}}
	}},
	{"a job of two nodes without the EFA plugin", h100, "W efa-nccl-plugin", func(f *facts.Facts) {
		f.Machine.Nodes, f.Devices.Memlock = 2, -1
		f.Machine.EFA = facts.EFA{Devices: 32, Nodes: 32, Names: []string{"libnccl-net.so"}, Looked: true}
		f.Variables["WORLD_SIZE"], f.Variables["LOCAL_WORLD_SIZE"] = "16", "8"
	}},
	{"64 KiB may be locked under EFA", h100, "W memlock-too-small", func(f *facts.Facts) {
		f.Machine.Nodes, f.Devices.Memlock = 2, 64<<10
		f.Machine.EFA = facts.EFA{Devices: 32, Nodes: 32, Names: []string{"libnccl-net.so"}, Looked: true,
			Plugin: "/opt/amazon/ofi-nccl/lib/libnccl-net.so"}
		f.Variables["WORLD_SIZE"], f.Variables["LOCAL_WORLD_SIZE"] = "16", "8"
	}},
	{"bare metal with ACS on", l40s, "W peer-to-peer", func(f *facts.Facts) {
		f.System.Instance = ""
		f.Machine.Bus, f.Devices.Peers = facts.Bus{Virtual: "no", IOMMU: "passthrough", ACS: "on"}, "pcie"
	}},
	{"a fractional GPU with the data-centre driver", a10g, "E vgpu-driver", func(f *facts.Facts) {
		f.System.Instance = "g6f.large"
		gpus(f, "", "10de:27b8", "")
		silentNVML(f, 9, "Driver Not Loaded")
	}},
	{"the kernel moved on", a10g, "E module-missing-for-kernel", func(f *facts.Facts) {
		f.Driver.Modules[0].Kernel = "6.1.109-118.189.amzn2023.x86_64"
		f.Machine.Kernels = []string{"6.1.109-118.189.amzn2023.x86_64", f.System.Kernel}
		f.Driver.Version, f.Driver.From, f.Driver.Module = "", "", ""
		silentNVML(f, 9, "Driver Not Loaded")
		for i := range f.GPUs {
			f.GPUs[i].Bound = ""
		}
	}},
	{"the firmware of the driver before", h100, "E gsp-firmware", func(f *facts.Facts) {
		f.Machine.Firmware = []string{"570.133.20"}
		silentNVML(f, 9, "Driver Not Loaded")
	}},
	{"a C++ library from 2020", l40s, "E libstdcxx-too-old", func(f *facts.Facts) {
		f.Environments[0].Builds[0].Stdcxx = &facts.Stdcxx{Path: "/usr/lib64/libstdc++.so.6", Reason: "ld.so.cache",
			Missing: []string{"GLIBCXX_3.4.29"}, By: "libtorch_cpu.so"}
	}},
	{"an older cuDNN comes first", h100, "E cudnn-mismatch", taken(
		facts.Taken{Name: "libcudnn.so.9", Version: "9.1.0", CUDA: "12",
			Path: "/usr/local/cudnn/lib/libcudnn.so.9", Reason: "LD_LIBRARY_PATH"})},
	{"NCCL of CUDA 13 on branch 550", t4, "E nccl-shadowed", taken(
		facts.Taken{Name: "libnccl.so.2", Version: "2.28.9", CUDA: "13.0",
			Path: "/usr/lib64/libnccl.so.2", Reason: "LD_LIBRARY_PATH"})},
	{"nvJitLink of a toolkit comes first", l40s, "E library-shadowed", func(f *facts.Facts) {
		b := &f.Environments[0].Builds[0]
		b.Looked, b.Compared = true, true
		b.Unresolved = []facts.Unresolved{{Symbol: "__nvJitLinkComplete_12_4", Version: "libnvJitLink.so.12",
			By:      "libcusparse.so.12",
			Library: "libnvJitLink.so.12", Path: "/usr/local/cuda-12.1/lib64/libnvJitLink.so.12", Reason: "LD_LIBRARY_PATH"}}
	}},
	{"torchvision of the release before", a10g, "E companion-mismatch", packageBeside("torchvision", "0.22.1")},
	{"TensorFlow 2.16 with NumPy 2", a10g, "E numpy-abi", func(f *facts.Facts) {
		build("tensorflow", "2.16.2", "12.3")(f)
		packageBeside("numpy", "2.0.2")(f)
	}},
	{"TensorFlow 2.21 on Blackwell", a10g, "W gpu-arch-ptx-only, W known-bad", func(f *facts.Facts) {
		gpus(f, "NVIDIA GeForce RTX 5090", "10de:2b85", "12.0")
		build("tensorflow", "2.21.0", "12.5.1")(f)
	}},
	{"JAX without its plugin", jaxA, "E cpu-only-build", func(f *facts.Facts) {
		b := &f.Environments[0].Builds[0]
		b.Accelerator, b.CUDA, b.Taken = "cpu", "", nil
	}},
	{"forward compatibility on GeForce", l40s, "E forward-compat-unsupported", func(f *facts.Facts) {
		f.System.Instance = ""
		gpus(f, "NVIDIA GeForce RTX 4090", "10de:2684", "8.9")
		for i := range f.GPUs {
			f.GPUs[i].Brand = "geforcertx"
		}
		driver("535.183.01", "12.2")(f)
		compat(f, "580.65.06", "13.0", 535, 550, 570)
	}},
	{"forward compatibility that is older than the driver", h100, "E forward-compat-not-applicable", func(f *facts.Facts) {
		compat(f, "570.133.20", "12.8", 535, 550)
	}},
	{"only PTX, of a newer CUDA than the driver's", t4, "E ptx-newer-than-driver", func(f *facts.Facts) {
		b := &f.Environments[0].Builds[0]
		*b = facts.Build{Name: "torch", Version: "2.8.0", CUDA: "12.9", Accelerator: "cuda", Origin: "source", Looked: true,
			SASS: []string{"sm_90"}, PTX: []string{"compute_75"}, PTXISA: map[string]string{"compute_75": "8.8"},
			Path: b.Path, From: b.From}
	}},
	{"Docker without NVIDIA's runtime", a10g, "E container-toolkit", func(f *facts.Facts) {
		f.Environments = nil
		f.Runtimes.Found = []facts.Runtime{{Name: "docker", Path: "/usr/bin/dockerd"}}
	}},
	{"cu12 and cu13 of NCCL in one directory", h100, "W cuda-packages-mixed", func(f *facts.Facts) {
		packageBeside("nvidia-nccl-cu13", "2.28.9")(f)
		f.Environments[0].Packages[0].Overwritten = true
	}},
	{"two faults at once", l40s, "E companion-mismatch, E gpu-count", func(f *facts.Facts) {
		f.GPUs = f.GPUs[:3]
		packageBeside("torchvision", "0.20.1")(f)
	}},
}

// lookAlikes are healthy, or cannot be told, and look like a fault: nothing may be invented.
var lookAlikes = []fault{
	{"an option that the open module ignores", h100, "",
		func(f *facts.Facts) { f.Machine.GSPOff = "/etc/modprobe.d/nvidia.conf" }},
	{"Xids of programs", h100, "", func(f *facts.Facts) {
		for _, x := range []string{"13", "31", "43", "45", "63", "94"} {
			f.Machine.Xids = append(f.Machine.Xids, "NVRM: Xid (PCI:0000:53:00): "+x+", pid=77, name=python, Ch 00000008")
		}
	}},
	{"a GPU given to a virtual machine", h100, "", func(f *facts.Facts) {
		unseen(&f.GPUs[7])
		f.GPUs[7].Bound = "vfio-pci"
	}},
	{"half of a machine in a Slurm job", h100, "", func(f *facts.Facts) {
		f.Machine.Job, f.Container.Schedulers = "slurm", []string{"slurm"}
		for i := 4; i < 8; i++ {
			unseen(&f.GPUs[i])
		}
	}},
	{"a container with one GPU of eight", h100, "", func(f *facts.Facts) {
		inContainer(f)
		f.GPUs = f.GPUs[:1]
	}},
	{"a toolkit of another CUDA", l40s, "", func(f *facts.Facts) {
		f.Toolkits = append(f.Toolkits, facts.Toolkit{Version: "11.8.0", Path: "/usr/local/cuda-11.8",
			From: "/usr/local/cuda-11.8/version.json", NVCC: true})
	}},
	{"the power cap", l40s, "", func(f *facts.Facts) {
		for i := range f.GPUs {
			f.GPUs[i].Health.Slowdown = []string{"power cap", "software thermal"}
		}
	}},
	{"NumPy 2 beside a torch that knows it", h100, "", packageBeside("numpy", "2.2.6")},
	{"torchvision's pair", h100, "", packageBeside("torchvision", "0.23.0")},
	{"a cuda-compat directory that nothing takes", h100, "", func(f *facts.Facts) {
		compat(f, "570.133.20", "12.8", 535, 550)
		f.Driver.Compat[0].Taken, f.Driver.Compat[0].Reason = false, ""
		f.Driver.Taken = facts.Taken{}
	}},
	{"a fabric manager's unit failed where there is no NVSwitch", a10g, "", func(f *facts.Facts) {
		f.Machine.Fabric = facts.Fabric{Manager: "/usr/bin/nv-fabricmanager", Version: f.Driver.Version, Running: "no"}
	}},
	{"the fabric's package has a suffix", h100, "", func(f *facts.Facts) {
		a100s(f)
		f.Machine.Fabric = facts.Fabric{Manager: "/usr/bin/nv-fabricmanager", Version: f.Driver.Version + "-1",
			From:    "/var/lib/dpkg/status",
			Running: "yes", Switches: 6}
	}},
	{"WORLD_SIZE is larger than the machine", h100, "", func(f *facts.Facts) {
		f.Variables["WORLD_SIZE"], f.Variables["LOCAL_WORLD_SIZE"] = "64", "8"
	}},
	{"GPUs hidden on purpose", h100, "?", func(f *facts.Facts) {
		f.Container.Schedulers = []string{"ray"}
		f.Variables["CUDA_VISIBLE_DEVICES"] = ""
	}},
	{"another user's broken environment", a10g, "", func(f *facts.Facts) {
		f.Environments = append(f.Environments, facts.Environment{Path: "/home/other/venv", Python: "3.12.3", Kind: "venv",
			OtherUser: true,
			Builds: []facts.Build{{Name: "torch", Version: "2.3.0+cu121", CUDA: "12.1", Accelerator: "cuda",
				Missing: []string{"libcudnn.so.8"}, Looked: true,
				Path: "/home/other/venv/lib/python3.12/site-packages/torch"}}})
	}},
	{"EFA in a job on one node", h100, "", func(f *facts.Facts) {
		f.Machine.EFA = facts.EFA{Devices: 32, Nodes: 32, Names: []string{"libnccl-net.so"}, Looked: true}
		f.Devices.Memlock = 64 << 10
	}},
	{"ACS in a guest", l40s, "", func(f *facts.Facts) {
		f.Machine.Bus, f.Devices.Peers = facts.Bus{Virtual: "yes", IOMMU: "translated", ACS: "on"}, "pcie"
	}},
	{"the older driver of the family", h100, "", driver("535.274.02", "12.2")},
	{"NVML was slow", h100, "?", func(f *facts.Facts) {
		f.Driver.NVML = facts.NVML{Status: "timeout", Message: "no answer within 30s"}
		for i := range f.GPUs {
			f.GPUs[i].From = []string{"/proc/driver/nvidia", "/sys/bus/pci"}
			f.GPUs[i].Health, f.GPUs[i].Name, f.GPUs[i].Capability = nil, "", ""
		}
	}},
	{"the active environment could not be read", h100, "?", func(f *facts.Facts) {
		f.Environments = nil
		f.Unread = []facts.Unread{{Place: "/opt/venv/lib/python3.12/site-packages", Reason: "permission denied",
			Kind: facts.UnreadNeeded}}
	}},
	{"somebody else's home could not be read", h100, "", func(f *facts.Facts) {
		f.Unread = []facts.Unread{{Place: "/home/other", Reason: "permission denied", Kind: facts.UnreadClosed}}
	}},
}

func userSpace(f *facts.Facts, version string) {
	for i := range f.Driver.Libraries {
		f.Driver.Libraries[i].Version = version
	}
}

// silentNVML makes a library that starts and has nothing to say: only PCI shows the GPUs.
func silentNVML(f *facts.Facts, code int, message string) {
	f.Driver.NVML = facts.NVML{Status: "error", Code: code, Message: message}
	for i := range f.GPUs {
		unseen(&f.GPUs[i])
	}
}

// unseen hides a GPU from NVML.
func unseen(g *facts.GPU) {
	*g = facts.GPU{PCIID: g.PCIID, Bus: g.Bus, Bound: g.Bound, From: []string{"/sys/bus/pci"}, Instances: g.Instances}
}

// driver returns the whole driver of another release.
func driver(version, cuda string) func(*facts.Facts) {
	return func(f *facts.Facts) {
		f.Driver.Version, f.Driver.CUDA, f.Driver.Modules[0].Version = version, cuda, version
		f.Machine.Firmware = []string{version}
		userSpace(f, version)
	}
}

// gpus puts others in the same places, of no instance type.
func gpus(f *facts.Facts, name, pci, capability string) {
	if f.System.Instance != "g6f.large" {
		f.System.Instance = ""
	}
	for i := range f.GPUs {
		f.GPUs[i].Name, f.GPUs[i].PCIID, f.GPUs[i].Capability = name, pci, capability
	}
}

func a100s(f *facts.Facts) {
	gpus(f, "NVIDIA A100-SXM4-40GB", "10de:20b0", "8.0")
	f.System.Instance = "p4d.24xlarge"
}

// build returns another framework in the place of the first.
func build(name, version, cuda string) func(*facts.Facts) {
	return func(f *facts.Facts) {
		b := &f.Environments[0].Builds[0]
		*b = facts.Build{Name: name, Version: version, CUDA: cuda, Accelerator: "cuda", Origin: "wheel", Looked: true,
			Path: "/opt/venv/lib/python3.12/site-packages/" + name, From: b.From}
	}
}

func packageBeside(name, version string) func(*facts.Facts) {
	return func(f *facts.Facts) {
		e := &f.Environments[0]
		e.Packages = append(e.Packages, facts.Package{Name: name, Version: version,
			Path: "/opt/venv/lib/python3.12/site-packages/" + name + "-" + version + ".dist-info"})
	}
}

// taken returns a change that replaces a library which the loader maps for the first build.
func taken(t facts.Taken) func(*facts.Facts) {
	return func(f *facts.Facts) {
		b := &f.Environments[0].Builds[0]
		b.Looked = true
		b.Taken = append(slices.DeleteFunc(b.Taken, func(o facts.Taken) bool { return o.Name == t.Name }), t)
	}
}

// compat adds a cuda-compat library that the loader takes.
func compat(f *facts.Facts, version, cuda string, branches ...int) {
	const path = "/usr/local/cuda/compat/libcuda.so.1"
	f.Driver.Compat = []facts.Compat{{Name: "libcuda", Version: version, CUDA: cuda, Branches: branches, Note: true,
		Taken:  true,
		Reason: "LD_LIBRARY_PATH", Path: path}}
	f.Driver.Taken = facts.Taken{Name: "libcuda.so.1", Version: version, Path: path, Reason: "LD_LIBRARY_PATH"}
}

// inContainer makes a container that was given all GPUs of its host and everything the driver needs.
func inContainer(f *facts.Facts) {
	f.System.Container, f.System.Instance, f.System.Kernel = "docker", "", "6.1.119-129.201.amzn2023.x86_64"
	f.Devices.Shared = 64 << 30
	f.Container = facts.Container{Path: "legacy", Injected: true}
	f.Driver.Modules = nil
	f.Driver.Libraries = append(f.Driver.Libraries, facts.Library{Name: "libnvidia-ptxjitcompiler",
		Version: f.Driver.Version,
		Path:    "/usr/lib64/libnvidia-ptxjitcompiler.so.1"})
	nodes(f, "ok")
}

// nodes adds the driver's files under /dev.
func nodes(f *facts.Facts, access string) {
	f.Devices.Nodes = nil
	for _, name := range []string{"nvidiactl", "nvidia-uvm", "nvidia0", "nvidia1", "nvidia2", "nvidia3", "nvidia4",
		"nvidia5", "nvidia6", "nvidia7"} {
		f.Devices.Nodes = append(f.Devices.Nodes, facts.Node{Path: "/dev/" + name, Mode: "Dcrw-rw----", Access: access})
	}
}
