package facts

import "slices"

// Runtimes is what a host has to start GPU containers with.
type Runtimes struct {
	Found []Runtime `json:"found"` // Docker and containerd
	// NVIDIA's hook or runtime on the PATH of daemons, "/usr/bin/nvidia-container-runtime-hook"
	Hook string    `json:"hook"`
	CDI  []CDISpec `json:"cdi"` // specifications of nvidia.com/gpu, the least important first
	// Podman is the release of Podman, which needs no configuration and reads only CDI, or empty if it is not
	// installed.
	Podman string `json:"podman,omitempty"`
}

// Runtime is one container engine and what its configuration says of NVIDIA.
type Runtime struct {
	Name    string   `json:"name"`              // "docker", "containerd"
	Path    string   `json:"path"`              // its program
	Config  string   `json:"config"`            // the file that names NVIDIA's runtime; empty when none does
	Missing []string `json:"missing"`           // runtimes that are configured and not there
	Version string   `json:"version,omitempty"` // the engine's, by its package; empty when not known
}

// CDISpec is one file of the Container Device Interface for NVIDIA's GPUs.
type CDISpec struct {
	Path     string   `json:"path"`     // "/etc/cdi/nvidia.yaml"
	Versions []string `json:"versions"` // driver versions that the names of its libraries end in
	Missing  []string `json:"missing"`  // libraries that it mounts and that are not there, at most eight
	// Majors of the device nodes that it writes down, by the node's kind: "nvidia", "nvidia-uvm", "nvidia-caps".
	Majors map[string]int `json:"majors,omitempty"`
	CDI    string         `json:"cdi_version,omitempty"` // cdiVersion of the file, "0.7.0"
	By     string         `json:"by,omitempty"`          // the file that wins over it, for the same devices
}

// Container is how a container got its GPU, and who started the process.
type Container struct {
	// Path says how the driver came into a container: "legacy" (nvidia-container-cli's hook), "cdi", "wsl" or "mounted"
	// (another way). It is empty on a host and if none came in.
	Path       string   `json:"path"`
	Injected   bool     `json:"injected"`   // driver libraries are mounted one by one into this place
	Schedulers []string `json:"schedulers"` // who may hide GPUs on purpose: "slurm", "ray", …
	// OwnDevices is "yes" if /dev is a container's own, "no" if it is the host's or has all of the host's nodes
	// (privileged), and empty if unknown.
	OwnDevices string `json:"own_devices,omitempty"`
}

// Devices is what a process here can access of the driver under /dev, and what else the process was given.
type Devices struct {
	Nodes []Node `json:"nodes"` // /dev/nvidia0, /dev/nvidiactl, /dev/nvidia-uvm, /dev/dxg, …
	// nvidia-modprobe: "setuid", "not setuid", "absent"; empty when not looked for
	Modprobe string `json:"modprobe"`
	Shared   int64  `json:"shm"` // bytes that /dev/shm can hold; 0 when it is not there
	// bytes that this process may lock; -1 for no limit, 0 if unknown
	Memlock int64 `json:"memlock"`
	// "running" or "dead": whether the process that the MPS control file names is there
	MPS   string        `json:"mps"`
	Named []NamedDevice `json:"named"` // the UUIDs of CUDA_VISIBLE_DEVICES, as far as NVML can tell
	// how GPUs reach each other's memory, by NVML: "pcie", "nvlink" or "none"; empty if unknown
	Peers string `json:"peers"`
	// GPUs that NVML counts, those that it could not ask too; 0 when it was not asked
	Counted int `json:"counted"`
	// Majors of /proc/devices, by the driver's name there: "nvidia" (or "nvidia-frontend"), "nvidia-uvm", "nvidia-caps".
	Majors map[string]int `json:"majors,omitempty"`
	// Maker says who on a host could make a missing node when a program first needs it: "root", "nvidia-modprobe" or
	// "nobody". It is empty if nobody looked. Hindrance says why nobody can although root or nvidia-modprobe otherwise
	// would: "no new privileges", "a user namespace", "/dev is read-only", "/dev is mounted nodev", "modules are
	// disabled", "nvidia-uvm is neither loaded nor on disk".
	Maker     string `json:"maker,omitempty"`
	Hindrance string `json:"hindrance,omitempty"`
	UVM       string `json:"uvm,omitempty"` // the module nvidia-uvm: "loaded", "on disk", "absent"; empty when not looked at
	// AddressSpace is RLIMIT_AS in bytes; -1: no limit; 0 when not known.
	AddressSpace int64 `json:"address_space,omitempty"`
	// Comm says whether a thread here may write its own name, as CUDA does: "writable" or "refused".
	Comm string `json:"comm,omitempty"`
}

// Node is one device node. Those of GPUs are never opened: that powers the GPU up.
type Node struct {
	Path string `json:"path"` // "/dev/nvidiactl"
	Mode string `json:"mode"` // "Dcrw-rw-rw-", as fs.FileMode prints it
	// "ok", "EPERM" (the device control group refuses), "EACCES" (the mode does), or another errno
	Access string `json:"access"`
	Major  int    `json:"major,omitempty"` // of its device number; 0 when not known
	// Open is the result of open(2) on /dev/nvidiactl and /dev/nvidia-uvm: "ok", the name of an errno, or "no answer".
	// It is empty for other nodes, and if the kernel has no driver with that major number, because opening would load
	// one.
	Open string `json:"open,omitempty"`
}

// NamedDevice is one device that CUDA_VISIBLE_DEVICES names by its UUID or the beginning of it, under the name that
// Anonymous gives it. A MIG device that NVML does not show is left out: NVML can refuse it to a process that CUDA lets
// in.
type NamedDevice struct {
	Device string `json:"device"`
	Found  bool   `json:"found"`
	Bus    string `json:"bus"` // PCI address of the GPU, or of the one that the MIG device is a part of
}

// Node returns the node at that path, or nil.
func (d *Devices) Node(name string) *Node {
	i := slices.IndexFunc(d.Nodes, func(n Node) bool { return n.Path == name })
	if i < 0 {
		return nil
	}
	return &d.Nodes[i]
}
