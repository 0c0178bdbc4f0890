package facts

import "slices"

// Runtimes is what a host has to start GPU containers with.
type Runtimes struct {
	Found []Runtime `json:"found"` // Docker and containerd
	// NVIDIA's hook or runtime on the PATH of daemons, "/usr/bin/nvidia-container-runtime-hook"
	Hook string    `json:"hook"`
	CDI  []CDISpec `json:"cdi"` // specifications of nvidia.com/gpu, the least important first
}

// Runtime is one container engine and what its configuration says of NVIDIA.
type Runtime struct {
	Name    string   `json:"name"`    // "docker", "containerd"
	Path    string   `json:"path"`    // its program
	Config  string   `json:"config"`  // the file that names NVIDIA's runtime; empty when none does
	Missing []string `json:"missing"` // runtimes that are configured and not there
}

// CDISpec is one file of the Container Device Interface for NVIDIA's GPUs.
type CDISpec struct {
	Path     string   `json:"path"`     // "/etc/cdi/nvidia.yaml"
	Versions []string `json:"versions"` // driver versions that the names of its libraries end in
	Missing  []string `json:"missing"`  // libraries that it mounts and that are not there, at most eight
}

// Container is how a container got its GPU, and who started the process.
type Container struct {
	// Path is the way by which the driver came in: "legacy" (nvidia-container-cli's hook), "cdi", "wsl", "mounted"
	// (by other means); empty on a host and where none came in.
	Path       string   `json:"path"`
	Injected   bool     `json:"injected"`   // driver libraries are mounted one by one into this place
	Schedulers []string `json:"schedulers"` // who may hide GPUs on purpose: "slurm", "ray", …
}

// Devices is what a process here can reach of the driver under /dev, and what the process was given beside it.
type Devices struct {
	Nodes []Node `json:"nodes"` // /dev/nvidia0, /dev/nvidiactl, /dev/nvidia-uvm, /dev/dxg, …
	// nvidia-modprobe: "setuid", "not setuid", "absent"; empty when not looked for
	Modprobe string `json:"modprobe"`
	Shared   int64  `json:"shm"` // bytes that /dev/shm can hold; 0 when it is not there
	// bytes that this process may lock; -1: no limit that holds for it; 0 when not known
	Memlock int64 `json:"memlock"`
	// "running" or "dead": whether the process that the MPS control file names is there
	MPS   string        `json:"mps"`
	Named []NamedDevice `json:"named"` // the UUIDs of CUDA_VISIBLE_DEVICES, as far as NVML can tell
	// how GPUs reach each other's memory by NVML: "pcie", "nvlink", "none"; empty when not told
	Peers string `json:"peers"`
	// GPUs that NVML counts, those that it could not ask too; 0 when it was not asked
	Counted int `json:"counted"`
}

// Node is one device node. It is never opened: opening /dev/nvidia0 powers the GPU up.
type Node struct {
	Path string `json:"path"` // "/dev/nvidiactl"
	Mode string `json:"mode"` // "Dcrw-rw-rw-", as fs.FileMode prints it
	// "ok", "EPERM" (the device control group refuses), "EACCES" (the mode does), or another errno
	Access string `json:"access"`
}

// NamedDevice is one device that CUDA_VISIBLE_DEVICES names by its UUID or the beginning of it. A MIG device that NVML
// does not show is left out: NVML can refuse it to a process that CUDA lets in.
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
