package facts

// Machine is what a host's driver depends on beside its own version. Most of it says what will be true after the next
// boot, and can be read of a tree at rest.
type Machine struct {
	Uptime float64 `json:"uptime"` // seconds since boot; 0 for a tree at rest
	Job    string  `json:"job"`    // scheduler whose job this process belongs to, "slurm"
	// JobGPUs is the variable by which the job's step says that it has GPUs, "SLURM_STEP_GPUS"; empty where none does.
	JobGPUs string `json:"job_gpus,omitempty"`
	// Installing is a process that installs or builds a driver now, "dkms"; empty if none was seen.
	Installing string          `json:"installing,omitempty"`
	Kernels    []string        `json:"kernels"`    // installed kernels, "6.8.0-1021-aws"
	Boot       string          `json:"boot"`       // the one that the boot loader starts by default
	BootFrom   string          `json:"boot_from"`  // the file that tells it
	Installers []Installer     `json:"installers"` // what installs or loads the kernel module at boot
	Firmware   []string        `json:"firmware"`   // driver versions whose GSP firmware is on disk, "580.95.05"
	GSPOff     string          `json:"gsp_off"`    // the file that sets NVreg_EnableGpuFirmware=0
	Packages   []DriverPackage `json:"packages"`   // packages of the driver and its daemons
	// what NVIDIA's .run installer leaves, "/usr/bin/nvidia-uninstall"
	Runfile      string `json:"runfile"`
	Fabric       Fabric `json:"fabric"`       // what programs NVSwitch
	Persistenced bool   `json:"persistenced"` // nvidia-persistenced runs
	// the vGPU guest driver's licence daemon, "/usr/bin/nvidia-gridd"
	GRID    string  `json:"grid"`
	Updates Updates `json:"updates"` // what upgrades packages unattended
	Nodes   int     `json:"nodes"`   // nodes that this process's job spans; 0 when nobody says
	EFA     EFA     `json:"efa"`     // AWS's fabric for jobs of several nodes
	Bus     Bus     `json:"bus"`     // what stands between GPUs on PCI
	// Xid lines of the kernel log since the driver was loaded last, without those of a GPU that was reset after them
	Xids []string `json:"xids"`
	// SecureBoot is "on" or "off" by the firmware's variable; empty where there is none to read.
	SecureBoot string `json:"secure_boot,omitempty"`
	// MakeLog is the log of the last build of the module by DKMS that left no module, and MakeError its first error.
	MakeLog   string `json:"make_log,omitempty"`
	MakeError string `json:"make_error,omitempty"`
}

// Installer is a thing that puts the kernel module in place at boot.
type Installer struct {
	Kind string `json:"kind"` // "dkms-archive", "kmod-load", "akmods", "driverdog", "flatcar", "driver-container"
	Path string `json:"path"`
}

// DriverPackage is one package that dpkg or RPM has installed.
type DriverPackage struct {
	Name    string `json:"name"`    // "libnvidia-compute-535-server"
	Version string `json:"version"` // "535.183.01-0ubuntu0.22.04.1", "3:580.95.05-1.amzn2023"
	From    string `json:"from"`    // the package manager's database
	Held    bool   `json:"held"`    // apt-mark hold
	// whose archive it is of: "ubuntu", "debian", "nvidia", "ppa"; empty when not known, or RPM's
	Vendor string `json:"vendor"`
	// State is what dpkg says of an installation that did not end: "unpacked", "half-configured", "half-installed",
	// "reinst-required". It is empty for a package that is installed.
	State string `json:"state,omitempty"`
}

// Fabric is the software that NVSwitch needs.
type Fabric struct {
	Manager  string `json:"manager"`  // the daemon's program, "/usr/bin/nv-fabricmanager"
	Version  string `json:"version"`  // its package's version; empty when not known
	From     string `json:"from"`     // where Version was read
	Running  string `json:"running"`  // "yes", "no"; empty: processes cannot be seen, or no NVIDIA device is here
	NVLSM    string `json:"nvlsm"`    // the NVLink subnet manager's directory or program
	UMAD     string `json:"ib_umad"`  // "loaded", "at boot" (modules-load.d), "on disk"; empty: nowhere
	Switches int    `json:"switches"` // NVSwitch devices on PCI that are not given to a virtual machine
}

// Updates is what upgrades packages without asking.
type Updates struct {
	Tool string `json:"tool"` // "unattended-upgrades" or "dnf-automatic"; empty: none is switched on
	From string `json:"from"` // the file that switches it on
	// apt's allowed origins and patterns, "${distro_id}:${distro_codename}-security"
	Origins   []string `json:"origins"`
	Blacklist []string `json:"blacklist"` // apt's patterns of packages left alone; dnf's excludes and version locks
	Pinned    string   `json:"pinned"`    // an apt preference that names NVIDIA packages
	Repos     []string `json:"repos"`     // enabled dnf repositories that carry the driver
}

// Health is what NVML says of a GPU's state; what it could not be asked stays empty.
type Health struct {
	RemapPending  bool   `json:"remap_pending"` // a memory row waits for a reset to be replaced
	RemapFailure  bool   `json:"remap_failure"` // a row could not be replaced
	Uncorrectable uint64 `json:"uncorrectable"` // volatile uncorrectable ECC errors: since the driver was loaded
	// "hardware", "hardware thermal", "power brake", "software thermal", "power cap", "idle"
	Slowdown []string `json:"slowdown"`
	Fabric   string   `json:"fabric"` // "not supported", "not started", "in progress", "completed"
	// FabricStatus is how the registration with the fabric ended, "success"; it counts once Fabric is "completed".
	FabricStatus string `json:"fabric_status,omitempty"`
	// FabricFaults are what NVML says is wrong with the fabric's health: "bandwidth degraded", "route unhealthy",
	// "incorrect configuration".
	FabricFaults []string `json:"fabric_faults,omitempty"`
	Persistence  string   `json:"persistence"` // "on", "off"
	// Recovery is the action that NVML asks for: "none", "reset", "reboot", "drain", "drain and reset",
	// "recover the IMEX domain"; empty where the driver does not tell.
	Recovery string `json:"recovery,omitempty"`
}

// EFA is AWS's Elastic Fabric Adapter and the library through which NCCL uses it.
type EFA struct {
	Devices int `json:"devices"` // adapters on PCI
	// /dev/infiniband/uverbs*: a container sees the adapters only where these were given to it
	Nodes int `json:"nodes"`
	// what NCCL opens one of, "libnccl-net.so"; none where NCCL_NET_PLUGIN says so
	Names  []string `json:"names"`
	Plugin string   `json:"plugin"` // the file that the loader finds for one of them
	// a plugin where the loader does not look, "/opt/amazon/ofi-nccl/lib/libnccl-net.so"
	Elsewhere string `json:"elsewhere"`
	// what keeps the loader from the plugin, in it or in the libraries below it
	Unresolved []Unresolved `json:"unresolved"`
	Looked     bool         `json:"looked"` // whether Unresolved was looked for
}

// Memory is what is taken of a GPU's memory.
type Memory struct {
	Total uint64 `json:"total,omitempty"` // bytes that it has; 0 when not told
	Used  uint64 `json:"used"`            // bytes, without what the driver keeps for itself
	Here  int64  `json:"here"`            // of these, bytes of this container's or job's processes; -1 when that cannot be told
}

// Bus is what stands between GPUs on PCI that write into each other's memory.
type Bus struct {
	Virtual string `json:"virtual"` // "yes" for a virtual machine, "no" for bare metal; empty when not known
	IOMMU   string `json:"iommu"`   // for the GPUs: "off", "passthrough" or "translated"; empty when not known
	// on the bridges above them: "on", "off"; empty when they cannot be read, which takes root
	ACS string `json:"acs"`
}
