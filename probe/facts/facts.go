// Package facts contains everything that can be known about a machine, as typed values that survive a JSON round trip.
// It reads nothing: package probe fills Facts in, and package matrix says what they mean.
package facts

import (
	"slices"
	"strings"
)

// Schema names the form of Facts in JSON. Fields may be added under the same name, never renamed.
const Schema = "cudacompat/facts/v1"

// Facts is everything that was found, in a form that survives a JSON round trip. An empty string or list means that the
// thing was not found. Probes says whether it is absent or could not be looked for.
type Facts struct {
	Schema       string            `json:"schema"`
	System       System            `json:"system"`
	Driver       Driver            `json:"driver"`
	GPUs         []GPU             `json:"gpus"`
	Toolkits     []Toolkit         `json:"toolkits"`
	Environments []Environment     `json:"environments"`
	Programs     []Environment     `json:"programs,omitempty"` // CUDA programs outside Python, such as Ollama
	Caches       []Cache           `json:"caches,omitempty"`   // extensions that were compiled when programs ran
	Libraries    []Library         `json:"libraries"`          // NCCL and cuDNN outside Python environments
	Variables    map[string]string `json:"variables"`          // the process environment's names that matter to CUDA
	Observed     Observed          `json:"observed"`
	Probes       []Status          `json:"probes"`
	Unread       []Unread          `json:"unread"`  // what could hold a build and was not looked at
	Machine      Machine           `json:"machine"` // what the host's driver depends on, beside its version
	Devices      Devices           `json:"devices"`
	Container    Container         `json:"container"`
	Runtimes     Runtimes          `json:"runtimes"`
	Building     Building          `json:"building"`
	Image        *Image            `json:"image,omitempty"` // the container's image that this is; nil for everything else
	Plan         *Plan             `json:"plan,omitempty"`  // a change that these facts foretell; nil where they are as they are
}

// Image is the configuration of a container image. Its variables are in Facts.Variables.
type Image struct {
	Digest   string   `json:"digest"`           // of the configuration, by which engines name the image
	Platform string   `json:"platform"`         // "linux/amd64"
	Others   []string `json:"others,omitempty"` // the platforms for which it holds other images
	Layers   int      `json:"layers"`           // how many it has
	User     string   `json:"user,omitempty"`   // whom it runs as, "1000" or "app"; empty for root
	Starts   string   `json:"starts,omitempty"` // the program that it starts, without its directory: "python3"
}

// System is the operating system and what kind of place it is.
type System struct {
	OS        string `json:"os"`        // PRETTY_NAME of os-release, "Ubuntu 22.04.5 LTS"
	ID        string `json:"id"`        // ID of os-release, "ubuntu"
	IDLike    string `json:"id_like"`   // ID_LIKE of os-release, "rhel fedora"
	Kernel    string `json:"kernel"`    // running kernel, "6.8.0-1021-aws"; empty for a tree at rest
	Arch      string `json:"arch"`      // "x86_64" or "aarch64"
	Libc      string `json:"libc"`      // glibc's version, "2.35", or "musl"
	LibcFrom  string `json:"libc_from"` // the file it was read from
	Container string `json:"container"` // "docker", "podman", "kubernetes", …; empty on a host
	Instance  string `json:"instance"`  // EC2 instance type, "g5.xlarge"
	WSL       bool   `json:"wsl"`       // Windows Subsystem for Linux: the driver is Windows' own
	Jetson    bool   `json:"jetson"`    // Tegra: the driver comes with the board's image
	Bootable  bool   `json:"bootable"`  // a kernel is installed: a machine's tree, not a container image's
	Rest      bool   `json:"rest"`      // a tree at rest (--root, --offline): nothing in it runs
	// Proof is what shows that a live root is the kernel's own: "process 1", "modules", "kernel", "wsl". A live root
	// without it is a container's, whatever names the engine; empty for a tree at rest.
	Proof string `json:"proof,omitempty"`
}

// Windows is System.OS where nothing more is known of a Windows.
const Windows = "Windows"

// Windows reports whether the system is Windows itself, and not WSL2.
func (s System) Windows() bool { return !s.WSL && strings.Contains(strings.ToLower(s.OS), "windows") }

// Driver is the kernel-mode driver and the user space that belongs to it.
type Driver struct {
	Version   string    `json:"version"`   // the loaded kernel module's, "535.183.01"
	From      string    `json:"from"`      // where Version was read
	Module    string    `json:"module"`    // "proprietary" or "open"
	CUDA      string    `json:"cuda"`      // the user-mode driver's CUDA, "12.2"
	CUDAFrom  string    `json:"cuda_from"` // where CUDA was read
	NVML      NVML      `json:"nvml"`      // how NVML answered
	Libraries []Library `json:"libraries"` // what libcuda.so.1 and libnvidia-ml.so.1 point to
	Taken     Taken     `json:"taken"`     // the file that the loader maps for libcuda.so.1, with the reason
	// the result of the search for Taken, or nil if there was none
	Libcuda *Libcuda `json:"libcuda,omitempty"`
	Stub    bool     `json:"stub"`    // Taken is a link-time stub, which drives nothing
	Compat  []Compat `json:"compat"`  // libcuda of cuda-compat packages, the one that the loader takes first
	Modules []Module `json:"modules"` // nvidia.ko on disk, per installed kernel
	// Initramfs is the initramfs of the kernel that will boot from a tree at rest. It is nil if it has no module of the
	// driver and no configuration asks for one.
	Initramfs *Initramfs `json:"initramfs,omitempty"`
	Kernel    []string   `json:"kernel"` // kernel messages since boot that tell of a driver in trouble
	// KernelFrom is where Kernel and Machine.Xids were read: "/dev/kmsg", "/var/log/kern.log", a journal's file.
	KernelFrom string `json:"kernel_from,omitempty"`
	// Confidential says, if confidential computing is on, whether the GPUs accept work: "ready" or "not ready".
	Confidential string `json:"confidential,omitempty"`
}

// Libcuda is the search for libcuda.so.1 as the loader of a CUDA program makes it.
type Libcuda struct {
	// State of the first file on the loader's path: "whole", "empty", "cut short", "other architecture", "unreadable",
	// or empty if there is none. Path is that file. It equals Taken's only if the loader takes it.
	State string `json:"state,omitempty"`
	Path  string `json:"path,omitempty"`
	// Elsewhere is, where no whole file is taken, a driver's libcuda.so.1 in a directory where this loader does not look.
	Elsewhere string `json:"elsewhere,omitempty"`
	// Paths is the LD_LIBRARY_PATH that was followed, and Of whose it is: "this process", "process 1".
	Paths string `json:"paths,omitempty"`
	Of    string `json:"of,omitempty"`
}

// NVML is how the driver's management library answered.
type NVML struct {
	// Status is "ok", "absent" (no library), "error" (see Code), "timeout", "stuck" (the child hangs in the kernel,
	// state D), "crashed", "left out" (a tree at rest) or "not built in". It is empty if NVML was not asked.
	Status  string `json:"status"`
	Code    int    `json:"code"`    // nvmlReturn_t of nvmlInit, 18 is a driver/library mismatch
	Message string `json:"message"` // one clause for people
	// Failed are the GPUs that NVML counts and does not let anybody ask.
	Failed []FailedGPU `json:"failed,omitempty"`
	// Unanswered are the calls that failed, except for those that this release, this kind of GPU or this user does not get.
	Unanswered []Unanswered `json:"unanswered,omitempty"`
}

// Unanswered is a call of NVML that failed.
type Unanswered struct {
	Function string `json:"function"`      // "nvmlDeviceGetComputeMode"
	GPU      *int   `json:"gpu,omitempty"` // the first GPU that it failed for, by NVML's number
	Code     int    `json:"code"`          // nvmlReturn_t
}

// FailedGPU is a GPU of which NVML gives no handle.
type FailedGPU struct {
	Index int `json:"index"` // NVML's number
	Code  int `json:"code"`  // nvmlReturn_t: 8 power cable, 11 interrupts, 15 lost, 16 reset required, 17 operating system, 999
}

// Library is one shared library and the version that its name or bytes tell.
type Library struct {
	Name    string `json:"name"`    // "libcuda", "libnvidia-ml", "nccl", "cudnn"
	Version string `json:"version"` // "535.183.01", "2.27.5", "9.10.2"
	Path    string `json:"path"`    // as the target sees it
}

// Module is the NVIDIA kernel module on disk for one kernel.
type Module struct {
	Kernel  string `json:"kernel"`  // "6.8.0-1021-aws"
	Version string `json:"version"` // from .modinfo, empty when it could not be read
	Path    string `json:"path"`
	Flavour string `json:"flavour"` // "proprietary" or "open", by its licence; empty when that could not be read
}

// Initramfs is the file from which a kernel starts, before the root file system is there.
type Initramfs struct {
	Kernel  string `json:"kernel"`
	Path    string `json:"path"`              // "/boot/initrd.img-6.8.0-1021-aws"
	Module  string `json:"module,omitempty"`  // the driver's module in it; empty if it has none
	Version string `json:"version,omitempty"` // that module's release
	Hook    string `json:"hook,omitempty"`    // the configuration that puts it there
	Unread  string `json:"unread,omitempty"`  // why the file could not be read
}

// GPU is one NVIDIA GPU.
type GPU struct {
	Name       string   `json:"name"`               // as NVML says it; empty when only PCI knows the device
	PCIID      string   `json:"pci_id"`             // vendor and device, "10de:27b8"
	Capability string   `json:"compute_capability"` // "8.9"; empty when only PCI knows the device
	Bus        string   `json:"bus"`                // PCI address, "0000:00:1e.0"
	Bound      string   `json:"bound"`              // kernel driver that holds it: "nvidia", "nouveau", "vfio-pci"
	From       []string `json:"from"`               // who sees it: "NVML", "/proc/driver/nvidia", "/sys/bus/pci"
	Health     *Health  `json:"health,omitempty"`   // nil when NVML was not asked
	// as NVIDIA_REQUIRE_* says it, "tesla", "geforcertx"; empty when NVML was not asked
	Brand string `json:"brand"`
	// "default", "exclusive", "prohibited"; empty when NVML was not asked
	Mode   string  `json:"compute_mode"`
	MIG    string  `json:"mig"`              // "on" or "off"; empty when the GPU has no MIG or does not say
	Memory *Memory `json:"memory,omitempty"` // nil when NVML was not asked
	// MIG devices that this process may see; -1 when that could not be read
	Instances int `json:"mig_devices"`
	// Minor is the number of its device node, /dev/nvidiaN, or nil if unknown.
	Minor *int `json:"minor,omitempty"`
	// Excluded is set if the driver ignores the GPU on purpose (module parameter NVreg_ExcludedGpus).
	Excluded bool `json:"excluded,omitempty"`
	// Drained is set if an administrator drained the GPU (nvidia-smi drain): new programs cannot use it.
	Drained bool `json:"drained,omitempty"`
	// CapNodes are the nodes that a program opens for its MIG devices: two for each compute instance, its GPU
	// instance's first, "/dev/nvidia-caps/nvidia-cap12".
	CapNodes []string `json:"cap_nodes,omitempty"`
	// Licence of a vGPU that needs one: "licensed" or "unlicensed". It is empty if none is needed or the state is
	// unknown.
	Licence string `json:"licence,omitempty"`
}

// Toolkit is one CUDA toolkit on disk.
type Toolkit struct {
	Version string `json:"version"` // "12.4.1", or "12.4" where no file tells more
	Path    string `json:"path"`
	From    string `json:"from"`
	OnPath  bool   `json:"on_path,omitempty"` // `nvcc` starts this one's
	NVCC    bool   `json:"nvcc"`              // it has the compiler: more than what programs need to run
	// newest gcc major version that its own headers accept, "13", or empty if they do not say
	GCC string `json:"gcc"`
}

// Environment is one Python environment.
type Environment struct {
	Path   string `json:"path"`   // its prefix, "/opt/venv"
	Python string `json:"python"` // "3.12.3" or "3.12"
	// Pythons are the ones that this set of packages is for, ">=3.10,<3.12", of a file that names others for others.
	Pythons string `json:"pythons,omitempty"`
	Kind    string `json:"kind"`   // "venv", "conda", "system", "user"
	Active  bool   `json:"active"` // the one that `python3` starts here
	Named   bool   `json:"named"`  // asked for with --env
	// Found says why it was examined: "named by --env", "active by VIRTUAL_ENV", "process 4711", "found in /opt". It is
	// empty if a file names it, and in facts of an older program.
	Found string `json:"found,omitempty"`
	// OtherUser is set if it is in another user's home.
	OtherUser bool `json:"other_user"`
	// Interpreter says what its python3 leads to, if that cannot run what is installed. Otherwise it is nil.
	Interpreter *Interpreter `json:"interpreter,omitempty"`
	// NoPip tells that it has no pip of its own, as uv makes them.
	NoPip bool `json:"no_pip,omitempty"`
	// NoExec is the mount point of the file system with its packages, if that is mounted noexec.
	NoExec string `json:"noexec,omitempty"`
	// Managed is the file by which a distribution keeps pip out of its Python (PEP 668).
	Managed  string    `json:"externally_managed,omitempty"`
	Builds   []Build   `json:"builds"`   // frameworks built against CUDA, or instead of it
	Packages []Package `json:"packages"` // distributions that go with them: nvidia-*, torchvision, triton, numpy …
	// Shared lists the libraries whose files belong to several of Packages. It is nil if no RECORD was compared: for
	// what a file names or a plan brings, and in facts of an older program.
	Shared []Shared `json:"shared,omitzero"`
	// Assemblers are the compilers that make machine code of PTX when a program runs.
	Assemblers []Assembler `json:"assemblers"`
	// Requested are the other packages that a file names: nothing of them is installed, so their names are all there is.
	Requested []Requested `json:"wanted,omitempty"`
}

// Cache is one extension that a program compiled for the GPU that it met, and kept.
type Cache struct {
	Of   string   `json:"of"`   // what compiled it: "torch", "FlashInfer"
	Name string   `json:"name"` // "fused_adam"
	Path string   `json:"path"` // the cache's directory
	SASS []string `json:"sass"` // machine code of all its copies, "sm_90a"
	PTX  []string `json:"ptx"`
}

// Interpreter is a python3 that does not import what stands beside it.
type Interpreter struct {
	Path   string `json:"path"`   // "/opt/venv/bin/python3"
	Leads  string `json:"leads"`  // where its links end, "/usr/bin/python3.13"
	Gone   bool   `json:"gone"`   // nothing is there
	Python string `json:"python"` // else its version by its name, "3.13"
	// Home is set if Leads is PYTHONHOME and contains no standard library of this Python, so that it does not start.
	Home bool `json:"home,omitempty"`
	// NoConfig is set if the environment has lost its pyvenv.cfg, so that Leads looks for packages beside itself.
	NoConfig bool `json:"no_config,omitempty"`
	// Closed is set if this user may not follow its links, for example to a Python in root's home.
	Closed bool `json:"closed,omitempty"`
	// NoExecute is set if nobody may execute Leads. Archives without modes cause that.
	NoExecute bool `json:"no_execute,omitempty"`
}

// Hindrance says why Python does not import what a distribution installed.
type Hindrance struct {
	Kind string `json:"kind"` // one of the Hindrance… constants
	Of   string `json:"of"`   // the distribution that it is of: the build's own, or one that it requires, "numpy"
	Path string `json:"path"` // the file that decides
	By   string `json:"by"`   // the other one: "onnxruntime 1.31.1", "3.11"; empty where nothing is in its place

	Symbol      string `json:"symbol,omitempty"`      // what Path wants of it and it does not define
	Requirement string `json:"requirement,omitempty"` // what METADATA asks for and an installer would bring, "numpy>=1.26"
}

// The kinds of hindrances.
const (
	HindranceGone        = "gone"        // the metadata is there, its files are not
	HindranceOtherPython = "python"      // its extension modules are for another Python, By
	HindranceHidden      = "hidden"      // a module of the same name comes first on the import path
	HindranceHere        = "here"        // one in the working directory does, for what is started there
	HindranceSpoiled     = "spoiled"     // a library of it, or one that it needs, is there, and the loader refuses it: By
	HindrancePerhaps     = "perhaps"     // its import may load Path, a module of Of that the loader refuses: By
	HindranceTool        = "tool"        // a program of it that it starts is By: gone, not executable
	HindranceLibrary     = "library"     // Path needs the library By, which what it requires brings and which is gone
	HindranceWithout     = "without"     // it needs the framework or distribution By, which the environment does not have
	HindranceRelease     = "release"     // it requires By, "librmm-cu12==26.10.*", and Of is another release of that
	HindranceOld         = "old"         // its file Path takes Symbol of Of, which is older than its Requirement and does not have it
	HindranceClosed      = "closed"      // its file Path, or one that it needs, is there, and this user may not read it
	HindranceModule      = "module"      // its file Path imports the module By, which is nowhere
	HindranceOnlyHere    = "only-here"   // its file imports the module By, which lies only in the working directory, Path
	HindranceName        = "name"        // its file Path was changed, and By is imported from there, which it does not define
	HindranceSymbol      = "symbol"      // its library Path needs the symbol By, which nothing that is loaded defines
	HindranceUnmet       = "unmet"       // Path requires Requirement, and Of, whose functions of C its modules take, is an older one
	HindranceOverwritten = "overwritten" // By owns the same file, and its bytes are the ones there
)

// Requested is one package that a file names to be installed.
type Requested struct {
	Name      string   `json:"name"`                // normalised as pip does, "cupy-cuda12x"
	Version   string   `json:"version,omitempty"`   // the exact one; empty when the file leaves a choice
	Specifier string   `json:"specifier,omitempty"` // what it asks for instead, ">=13"
	Extras    []string `json:"extras,omitempty"`
	Index     string   `json:"index,omitempty"` // as Build.Index
	// IndexCUDA is the CUDA in the address of an index that has this package under its own name: "12.4" of
	// https://abetlen.github.io/llama-cpp-python/whl/cu124.
	IndexCUDA string `json:"index_cuda,omitempty"`
	// what conda's builds tell, or an image's tag: "12.6"
	CUDA        string `json:"cuda,omitempty"`
	Accelerator string `json:"accelerator,omitempty"` // as Build.Accelerator, where a build's name tells
	Origin      string `json:"origin,omitempty"`      // as Build.Origin; "image" for a container's image
	Require     string `json:"require,omitempty"`     // an image's NVIDIA_REQUIRE_CUDA, where the file sets it
	Wheel       string `json:"wheel,omitempty"`       // the file name of the one wheel that the file names by its address
	NoDeps      bool   `json:"no_deps,omitempty"`     // installed with --no-deps: it brings nothing
	From        string `json:"from"`                  // "line 3", "package cupy-cuda12x"
}

// Assembler is one ptxas that a program of an environment starts.
type Assembler struct {
	Name    string `json:"name"`    // "ptxas"; "ptxas-blackwell", which Triton takes for capability 10 and newer
	Version string `json:"version"` // of its CUDA, "12.8.93", as its bytes tell; empty when they do not
	Path    string `json:"path"`
	By      string `json:"by"`              // "triton", "nvcc" (NVIDIA's wheel), or the variable that names it
	Fault   string `json:"fault,omitempty"` // why Triton cannot start its own: "gone", "not executable"
}

// Package is one installed distribution.
type Package struct {
	Name    string `json:"name"`    // normalised as pip does, "nvidia-nccl-cu12"
	Version string `json:"version"` // as METADATA has it
	Path    string `json:"path"`    // its dist-info directory
	// Overwritten is set if a library that it owns is not the one in its RECORD, because another package that owns the
	// same path was installed over it. Altered says which one, and how that shows.
	Overwritten bool   `json:"overwritten"`
	Altered     string `json:"altered,omitempty"`
	// Replaced says which file is another distribution's, and whose, where that is known.
	Replaced *Replaced `json:"replaced,omitempty"`
	// Pinned is set if a requirements file or a pyproject requires just this release on every host: under no environment
	// marker (PEP 508), with what it requires itself, and without an override of what other packages require of it. A
	// file that pins all that torch brings records an environment, as `pip freeze` does, and requires nothing.
	Pinned bool `json:"pinned,omitempty"`
}

// Shared is a library, or a framework, whose files several installed distributions own. Package.Replaced says whose are there.
type Shared struct {
	Library  string   `json:"library"`  // "nccl" of nvidia-nccl-cu12, "tensorflow"
	Packages []string `json:"packages"` // their names, as in Environment.Packages
}

// Replaced is a file of a distribution in whose place another distribution, By, was installed.
type Replaced struct {
	By   string `json:"by"`   // "onnxruntime 1.31.1"
	File string `json:"file"` // its path
}

// Unspecified is the value of Build.Specifier and Requested.Specifier for a name without a version.
const Unspecified = "(no version given)"

// Conditional is the value of Build.Specifier and Requested.Specifier for a package that a Dockerfile installs only
// under a condition which the file does not decide.
const Conditional = "(under a condition)"

// Build is one installed framework.
type Build struct {
	// "torch", "tensorflow", "jax", or an extension's distribution
	Name string `json:"name"`
	// no framework: a distribution with CUDA code beside one, or one that needs none
	Extension bool `json:"extension"`
	// an extension's: the distribution that it came along with; empty when none asks for it
	PartOf string `json:"part_of,omitempty"`
	// an extension's: it neither requires a framework nor needs a library of one
	Standalone bool `json:"standalone,omitempty"`
	// an extension's: the framework that it requires, or needs a library of
	Framework string `json:"framework,omitempty"`
	Version   string `json:"version"` // with its local version, "2.9.0+cu130"
	// extras in a file, such as "and-cuda"; empty for an installed build
	Extras      []string `json:"extras,omitempty"`
	Accelerator string   `json:"accelerator"` // "cuda", "cpu", "rocm", "xpu"; empty when not known
	CUDA        string   `json:"cuda"`        // what it was built with, "13.0"
	CuDNN       string   `json:"cudnn"`       // what it was built with or pins, "9.13.0.50"
	NCCL        string   `json:"nccl"`        // likewise, "2.27.7"
	SASS        []string `json:"sass"`        // "sm_90a"; read from the build itself, else empty
	PTX         []string `json:"ptx"`         // "compute_90"; likewise
	// newest PTX version of each target in PTX, "8.5"; read from fat-binary headers alone
	PTXISA map[string]string `json:"ptx_isa"`
	// sections of its libraries that were built for one set of targets; likewise
	Groups []CodeGroup `json:"groups"`
	// targets, rare ones too, with code that is compressed with zstd; likewise
	Zstd   []string `json:"zstd"`
	Arch   string   `json:"arch,omitempty"` // "x86_64", "aarch64": what its wheel is for
	Python string   `json:"python"`         // CPython ABI of its extension module, "3.12" or "3.13t"
	Glibc  string   `json:"glibc"`          // least glibc by its wheel tag, "2.28"
	// "wheel", "conda", "conda-forge", "ngc", "distribution" or "source"; empty if unknown
	Origin   string            `json:"origin"`
	Requires map[string]string `json:"requires"` // exact pins among its requirements, name to version
	Taken    []Taken           `json:"taken"`    // CUDA libraries that the loader maps for it
	// symbols and libraries that it needs and does not get: they are nowhere, or Unloadable
	Missing []string `json:"missing"`
	Looked  bool     `json:"looked"` // whether Missing was looked for
	// those of Missing that are there, and why the loader does not take them
	Unloadable []Unloadable `json:"unloadable,omitempty"`
	// files of libraries that the loader does not find for it by itself, and that a program can load first
	Beside []string `json:"beside,omitempty"`
	// Late is set for a package without a framework whose import succeeds without Missing or Beside: its library that
	// needs them is opened later, or the failure is caught.
	Late bool `json:"late,omitempty"`
	// Linked lists those of Missing that an existing library is linked to. The loader does not load it without them.
	Linked     []string     `json:"linked,omitempty"`
	Unresolved []Unresolved `json:"unresolved"` // symbols that CUDA libraries which are not its own lack
	// some CUDA library is not its own, so Unresolved was looked for
	Compared bool    `json:"compared"`
	Stdcxx   *Stdcxx `json:"libstdcxx,omitempty"` // nil when it was not looked at
	Path     string  `json:"path"`                // "/opt/venv/lib/python3.12/site-packages/torch"
	From     string  `json:"from"`                // the file that told Version and CUDA
	// Index is the index of a build that a file names: "default" for the installer's own package index, otherwise the
	// variant at the end of the index's address, "cu126". It is empty for an installed build, or if unknown.
	Index     string `json:"index"`
	Specifier string `json:"specifier"` // what a file asks for that names no exact Version, ">=2.5", or Conditional

	// Unmet lists what an extension's own libraries need from the framework beside it and do not find, so that they do
	// not load: the library of another CUDA, or a symbol of another release.
	Unmet []Unresolved `json:"unmet,omitempty"`
	// Site is the package directory that Python imports it from, if that is not the environment's own: one on
	// PYTHONPATH, the user's, one that a .pth file adds. Hides lists the copies behind it that Python does not import,
	// "torch 2.9.0 in /opt/venv/lib/python3.12/site-packages".
	Site  string   `json:"site,omitempty"`
	Hides []string `json:"hides,omitempty"`
	// Hindrances are why Python does not import it as it was installed.
	Hindrances []Hindrance `json:"hindrances,omitempty"`

	// Open maps the distributions that its files were read with and that a plan replaces to the release to come. Its
	// files do not show whether they fit that release.
	Open map[string]string `json:"open,omitempty"`

	Damaged string `json:"damaged,omitempty"` // why the machine code of a library of its own could not be listed
}

// CodeGroup is one section of a library nearly all of whose fat binaries have the same targets.
type CodeGroup struct {
	Library    string            `json:"library"`    // "…/site-packages/tensorflow/libtensorflow_cc.so.2"
	Section    string            `json:"section"`    // ".rodata"
	Containers int               `json:"containers"` // how many fat binaries have just these targets
	SASS       []string          `json:"sass"`       // "sm_89"
	PTX        []string          `json:"ptx"`        // "compute_90a"
	PTXISA     map[string]string `json:"ptx_isa"`    // newest PTX version of each target in PTX
}

// Taken is one library that the loader would map for a build.
type Taken struct {
	Name    string `json:"name"`    // "libnccl.so.2"
	Version string `json:"version"` // "2.27.5", where its wheel, name or bytes tell
	CUDA    string `json:"cuda"`    // what it was built for, "12" or "12.9", where its wheel or bytes tell
	Path    string `json:"path"`
	Reason  string `json:"reason"` // why this file: "DT_RPATH of …", "LD_LIBRARY_PATH", "ld.so.cache"
}

// Observed is what a report says a program saw; it is stronger evidence than any table.
type Observed struct {
	CUDAAvailable *bool `json:"cuda_available"` // torch.cuda.is_available(), nil when nobody said
	Imported      bool  `json:"imported"`       // the report was written by the framework itself: it does start
	// Ran tells that the text shows a value which the framework computed on a GPU.
	Ran bool `json:"ran,omitempty"`
	// Named is the first framework in the text around a report, "PyTorch", or empty.
	Named string `json:"named"`
	// Errors are the codes of CUDA's errors that the text shows beside a report and that a rule knows: 804.
	Errors []int `json:"errors,omitempty"`
	// Stated is the error that the text itself shows, where a log's reader is certain of its cause and a rule knows it.
	Stated *Stated `json:"stated,omitempty"`
}

// Stated is an error that happened: what a program printed when it failed.
type Stated struct {
	Rule  string   `json:"rule"`  // the rule that knows its cause, "fabric-manager"
	Cause string   `json:"cause"` // the cause in one sentence
	Line  int      `json:"line"`  // of the text, counted from 1
	Text  string   `json:"text"`  // that line
	Do    []string `json:"do"`    // what to do, in order
}

// Unread is a place that could not be read and that may contain a build or something that a link needs.
type Unread struct {
	Place  string `json:"place"`  // "/opt/venv/lib/python3.12/site-packages"
	Reason string `json:"reason"` // "permission denied", "no answer within 10s"
	Kind   string `json:"kind"`   // one of the Unread… constants: what it has to do with the programs that run here
	// Probe is the source of facts that looked there, "driver-modules". What it did not find may be in this place.
	Probe string `json:"probe,omitempty"`
}

// The kinds of places that were not read. This user cannot import what he cannot read, so a closed place matters only
// if it was named, is active, or is on the import path.
const (
	UnreadNeeded = "needed" // named, active, on the import path, or part of a tree at rest
	UnreadCut    = "cut"    // a deadline or a cap ended the search
	UnreadClosed = "closed" // somebody else's place, which this user may not read
)

// Status says how one probe went.
type Status struct {
	Name    string  `json:"name"`
	Status  string  `json:"status"`  // "ok", "absent", "failed", "skipped"
	Error   string  `json:"error"`   // why, for "failed" and "skipped"; for "ok", NotRead with fields that were not understood
	Seconds float64 `json:"seconds"` // wall time
}

// NotRead begins Status.Error where a text was read, but for the fields that it names.
const NotRead = "not read: "

// Package returns the environment's distribution of that name, or nil.
func (e *Environment) Package(name string) *Package {
	i := slices.IndexFunc(e.Packages, func(p Package) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return &e.Packages[i]
}

// Unresolved is a symbol that a mapped library needs of another one, and that the file taken for that one lacks.
type Unresolved struct {
	Symbol  string `json:"symbol"`  // "__nvJitLinkComplete_12_4"; empty where a whole version is missing
	Version string `json:"version"` // symbol version, "libnvJitLink.so.12"; empty where there are none
	By      string `json:"by"`      // the library that needs it
	Library string `json:"library"` // name that it is needed by, "libnvJitLink.so.12"
	Path    string `json:"path"`    // the file taken; empty where By opens the library by name and it is nowhere
	Reason  string `json:"reason"`  // why that file; where there is none, why By is taken
}

// Unloadable is a library that is there and that the loader does not take.
type Unloadable struct {
	Name   string `json:"name"` // "libcublasLt.so.12"
	Path   string `json:"path"`
	Reason string `json:"reason"` // "file too short", "wrong ELF machine: EM_AARCH64"
}

// Stdcxx is the C++ library that a build gets, and what it lacks for it.
type Stdcxx struct {
	Path    string   `json:"path"`
	Reason  string   `json:"reason"`  // why this file
	Missing []string `json:"missing"` // versions that it does not define, "GLIBCXX_3.4.30"
	By      string   `json:"by"`      // the library that needs the first of them
}

// Compat is the libcuda of a cuda-compat package: a user-mode driver that is newer than the kernel's.
type Compat struct {
	Name     string `json:"name"`     // "libcuda"
	Version  string `json:"version"`  // "580.65.06"
	Path     string `json:"path"`     // as the target sees it
	Taken    bool   `json:"taken"`    // the loader maps this one for "libcuda.so.1"
	Reason   string `json:"reason"`   // why, when it is taken: "LD_LIBRARY_PATH", "ld.so.cache"
	Note     bool   `json:"note"`     // it carries NVIDIA's forward-compatibility note
	CUDA     string `json:"cuda"`     // by the note: the CUDA that it speaks, "13.0"
	Branches []int  `json:"branches"` // by the note: branches of the kernel-mode driver that it may be used on
	Devices  []int  `json:"devices"`  // by the note: kinds of devices, in numbers of NVIDIA's own
}
