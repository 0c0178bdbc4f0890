package tables

import (
	"cudacompat/internal/tables/sheet"
	"cudacompat/internal/version" // CuDNN is one release of cuDNN for one CUDA family.
	// "9.10.2"
	// family, "12"
	// "9.10.2.21", what the wheel is called
	"fmt"
	"slices"
	"strings"
)

type CuDNN struct {
	Release       version.Number     `csv:"release"`
	CUDA          version.Number     `csv:"cuda"`
	Build         version.Number     `csv:"build"`
	Minors        []string           `csv:"minors"` // CUDA releases that it was made for, where the family does not tell
	CapabilityMin version.Capability `csv:"capability_min"`
	SASS          []string           `csv:"sass"`
	PTX           []string           `csv:"ptx"`
	PTXISA        version.Number     `csv:"ptx_isa"`
	DriverLinux   version.Number     `csv:"driver_linux"`
	Released      string             `csv:"released"` // ISO date
	Note          string             `csv:"note"`
	Verified      string             `csv:"verified"`
	Origin
}

// NCCL is one release of NCCL for one CUDA family.
type NCCL struct {
	Release  version.Number `csv:"release"` // "2.27.5"
	CUDA     version.Number `csv:"cuda"`    // family, "12"
	Built    []string       `csv:"built"`   // CUDA releases that it was built with
	SASS     []string       `csv:"sass"`    // empty: not known
	PTX      []string       `csv:"ptx"`
	PTXISA   version.Number `csv:"ptx_isa"`
	Released string         `csv:"released"` // ISO date
	Verified string         `csv:"verified"`
	Origin
}

// Triton is one release of Triton's wheel, with the ptxas that it brings.
type Triton struct {
	Release        version.Number `csv:"release"`
	PTXAS          version.Number `csv:"ptxas"`           // "12.8.93"
	PTXASBlackwell version.Number `csv:"ptxas_blackwell"` // for capability 10 and newer; empty: there is one for all
	Origin
}

// HostCompiler is what one toolkit's nvcc accepts; both ends belong to the range.
type HostCompiler struct {
	CUDA     version.Number `csv:"cuda"`
	GCCMin   version.Number `csv:"gcc_min"`
	GCCMax   version.Number `csv:"gcc_max"`
	ClangMin version.Number `csv:"clang_min"`
	ClangMax version.Number `csv:"clang_max"`
	Origin
}

// MachineImage is one of SageMaker's machine images, on which it runs containers.
type MachineImage struct {
	Image  string         `csv:"image"`  // "al2-ami-sagemaker-inference-gpu-2-1"
	Driver version.Number `csv:"driver"` // "535": no release is published
	Origin
}

// Container is one tag of an image.
type Container struct {
	Image    string         `csv:"image"`
	Tag      string         `csv:"tag"`
	CUDA     version.Number `csv:"cuda"`
	Driver   version.Number `csv:"driver"` // the one that the image was made with
	Torch    string         `csv:"torch"`
	CuDNN    version.Number `csv:"cudnn"`
	NCCL     version.Number `csv:"nccl"`
	Require  string         `csv:"require"`  // the first clause of NVIDIA_REQUIRE_CUDA
	Branches []string       `csv:"branches"` // the driver branches of its other clauses
	Brands   []string       `csv:"brands"`
	Origin
}

// Extension is one release of a package that is built against a framework or a CUDA, or that asks for one: an engine's
// torch is the one that it pins, and its CUDA that torch's on the package index.
type Extension struct {
	Package  string         `csv:"package"` // "flash-attn"
	Release  string         `csv:"release"`
	Variant  string         `csv:"variant"`  // "pypi", for which CUDA, or "sdist": compiled where it is installed
	Platform string         `csv:"platform"` // "linux_x86_64"; empty of a source, and of a wheel without libraries
	Torch    []string       `csv:"torch"`    // releases that it was built with, or a range that it asks for
	CUDA     []string       `csv:"cuda"`     // "12", or "12.1"; several where one package holds code for several; "none"
	CuDNN    version.Number `csv:"cudnn"`
	SASS     []string       `csv:"sass"`
	PTX      []string       `csv:"ptx"`
	Python   []string       `csv:"python"`
	CXX11    []string       `csv:"cxx11_abi"` // "true" for the new ABI; both where a release has wheels of either
	Symbols  string         `csv:"symbols"`   // how many undefined C++ symbols of torch its libraries have; "0" of the stable ABI; "none" links no torch
	Links    []string       `csv:"links"`     // the CUDA libraries that its own are linked to and that are not in its wheel; "none"
	Opens    []string       `csv:"opens"`     // those that they open by name; "none"
	Verified string         `csv:"verified"`
	Origin
}

// IsFor reports whether the row is that of a wheel for a platform, "linux_x86_64".
func (e *Extension) IsFor(platform string) bool { return e.Platform == "" || e.Platform == platform }

// Family returns the CUDA that a release is built for, where it is built for one.
func (e *Extension) Family() version.Number { return version.ParseOrZero(strings.Join(e.CUDA, " ")) }

// ownIndexes are the package indexes of projects, by release and variant.
var ownIndexes = map[string]string{"vllm": "https://wheels.vllm.ai/%s/%s"}

// Index returns the package index that has the release, if that is the project's own:
// "https://wheels.vllm.ai/0.30.0/cu129". The variant is then the local part of the version.
func (e *Extension) Index() string {
	if form := ownIndexes[e.Package]; form != "" && strings.HasPrefix(e.Variant, "cu") {
		return fmt.Sprintf(form, e.Release, e.Variant)
	}
	return ""
}

// partsIndexes are the package indexes on which projects have the CUDA parts of a release, by variant.
var partsIndexes = map[string]string{"sglang": "https://docs.sglang.ai/whl/%s"}

// PartsIndex returns the package index that has the CUDA parts of the release. The release itself is on the
// installer's.
func (e *Extension) PartsIndex() string {
	if form := partsIndexes[e.Package]; form != "" && strings.HasPrefix(e.Variant, "cu") {
		return fmt.Sprintf(form, e.Variant)
	}
	return ""
}

// Published returns the version under which an index has the release: "0.30.0+cu129" on a project's own.
func (e *Extension) Published() string {
	if e.Index() != "" {
		return e.Release + "+" + e.Variant
	}
	return e.Release
}

// NeedsNoTorch reports whether no library of the release is linked to torch's.
func (e *Extension) NeedsNoTorch() bool { return e.Symbols == "none" }

// Pure reports whether the release is a wheel without libraries.
func (e *Extension) Pure() bool { return e.Variant == "pypi" && e.Platform == "" }

// Brings reports whether the release links and opens no CUDA library that is not in its own wheel.
func (e *Extension) Brings() bool {
	none := []string{"none"}
	return slices.Equal(e.Links, none) && slices.Equal(e.Opens, none)
}

// Default is the variant that the package index has of a PyTorch release, where a local version is not allowed.
type Default struct {
	Release  string `csv:"release"` // of two parts, "2.9"
	Platform string `csv:"platform"`
	Variant  string `csv:"variant"` // of the torch table, or "cpu"
	Origin
}

// CUDA is one release of the toolkit.
type CUDA struct {
	Release       version.Number `csv:"release"`        // "12.6.3"
	DriverLinux   version.Number `csv:"driver_linux"`   // the toolkit's own driver, with which every feature works
	DriverWindows version.Number `csv:"driver_windows"` // likewise
	Branch        string         `csv:"branch"`         // driver branch that brought this minor, "560"
	PTX           version.Number `csv:"ptx_isa"`        // newest PTX ISA that it writes, "8.5"
	Released      string         `csv:"released"`       // ISO date
	Origin
}

// Branch is one driver branch.
type Branch struct {
	Branch       string         `csv:"branch"`         // "535"
	Type         string         `csv:"type"`           // "LTS", "PB" (production) or "NFB" (new feature)
	CUDA         version.Number `csv:"cuda"`           // what its user-mode driver reports, "12.2"
	FirstRelease string         `csv:"first_release"`  // ISO date or month
	EndOfLife    string         `csv:"end_of_life"`    // ISO date or month
	Newest       version.Number `csv:"newest"`         // newest Linux release seen
	Module       string         `csv:"module"`         // kernel modules that it ships: "proprietary", "both" or "open"
	Beta         string         `csv:"developer_beta"` // its series of developer betas, beside its releases: "550.40"
	VGPU         string         `csv:"vgpu"`           // the vGPU software whose GRID drivers are of it, "18"; "none"
	Origin
}

// Number returns the branch as a number, 535.
func (b *Branch) Number() int { return version.Int(b.Branch) }

// Chip is one GPU chip and the products made of it.
type Chip struct {
	Chip         string             `csv:"chip"` // "AD104"
	Capability   version.Capability `csv:"capability"`
	Architecture string             `csv:"architecture"`
	Kind         []string           `csv:"kind"`         // "data-centre", "rtx", "geforce", "integrated", "tegra"
	FirstCUDA    version.Number     `csv:"first_cuda"`   // first toolkit that compiles for it
	LastCUDA     version.Number     `csv:"last_cuda"`    // last one; not known: still does
	FirstBranch  version.Number     `csv:"first_branch"` // first driver that knows it
	LastBranch   version.Number     `csv:"last_branch"`  // last branch that drives it; not known: still does
	OpenModule   string             `csv:"open_module"`  // "required", "supported" or "unsupported"
	Names        sheet.NameList     `csv:"names"`        // as NVML prints them, without "NVIDIA "
	PCIIDs       []string           `csv:"pci_ids"`      // device ids of vendor 10de
	Origin
}

// Minor is the driver floor of one CUDA family.
type Minor struct {
	Family        version.Number `csv:"family"`       // "12"
	DriverLinux   version.Number `csv:"driver_linux"` // "525.60.13"
	DriverWindows version.Number `csv:"driver_windows"`
	Origin
}

// Wheel is one release of a framework in one CUDA variant for one platform: the columns with which the tables of
// frameworks begin.
type Wheel struct {
	Release  string         `csv:"release"`  // "2.9.0"
	Variant  string         `csv:"variant"`  // "cu130"
	Platform string         `csv:"platform"` // "linux_x86_64", "linux_aarch64", "win_amd64"
	CUDA     version.Number `csv:"cuda"`     // "13.0.0"
	CuDNN    version.Number `csv:"cudnn"`
	NCCL     version.Number `csv:"nccl"`
	SASS     []string       `csv:"sass"`   // "sm_90"; empty: not known
	PTX      []string       `csv:"ptx"`    // "compute_90"; "none": known to carry none; empty: not known
	Python   []string       `csv:"python"` // "3.12", "3.13t"
	Glibc    version.Number `csv:"glibc"`  // least one
}

// Torch is one PyTorch release.
type Torch struct {
	Wheel
	CXX11       string `csv:"cxx11_abi"` // "true" for the new C++ ABI, as libc10.so exports it; empty where no wheel was read
	Torchvision string `csv:"torchvision"`
	Torchaudio  string `csv:"torchaudio"`
	Triton      string `csv:"triton"`
	Verified    string `csv:"verified"` // what was read of the artefact, and when; "single-source"; empty: two sources
	Origin
}

// TensorFlow is one release of the official Linux wheel. A release of two parts stands for all its patches.
type TensorFlow struct {
	Wheel
	Groups   version.Groups `csv:"groups"`   // ".rodata=sm_80+compute_90a@8.5"; empty: one, or not known
	Packages []string       `csv:"packages"` // what the and-cuda extra asks for
	Numpy    string         `csv:"numpy"`
	Verified string         `csv:"verified"`
	Origin
}

// JAX is one release of the CUDA plugin, or of a jaxlib with CUDA inside.
type JAX struct {
	Wheel
	Jaxlib   string   `csv:"jaxlib"`
	Packages []string `csv:"packages"`
	Verified string   `csv:"verified"`
	Origin
}

// Instance is one EC2 GPU instance type.
type Instance struct {
	Instance      string             `csv:"instance"` // "g5.xlarge"
	GPU           string             `csv:"gpu"`      // a name of the gpu table
	Capability    version.Capability `csv:"capability"`
	Count         int                `csv:"count"`    // GPUs that the guest sees; 0: not known
	Fraction      string             `csv:"fraction"` // of one GPU, "1/8"
	Platform      string             `csv:"platform"`
	NVSwitch      string             `csv:"nvswitch"`
	FabricManager string             `csv:"fabric_manager"`
	NVLSM         string             `csv:"nvlsm"`
	IMEX          string             `csv:"imex"`
	OpenModule    string             `csv:"open_module"`
	GRID          string             `csv:"grid"`
	Xen           string             `csv:"xen"`
	EFA           string             `csv:"efa"`
	FirstBranch   version.Number     `csv:"first_branch"`
	LastBranch    version.Number     `csv:"last_branch"`
	Origin
}

// Alias is one instance type of another cloud than EC2: what a guest there has of GPUs.
type Alias struct {
	Instance string `csv:"instance"` // "a3-highgpu-8g"
	Cloud    string `csv:"cloud"`    // "gcp"
	GPU      string `csv:"gpu"`      // a name of the gpu table
	Count    int    `csv:"count"`    // GPUs that the guest sees
	Platform string `csv:"platform"`
	Origin
}

// Forward is one cuda-compat package: a newer user-mode driver for an older kernel-mode one.
type Forward struct {
	Package string         `csv:"package"`        // "cuda-compat-13-0"
	CUDA    version.Number `csv:"cuda"`           // "13.0"
	Branch  string         `csv:"branch"`         // of the driver that it is taken from, "580"
	Base    []string       `csv:"base_branches"`  // branches of the kernel-mode driver that it supports; "none"
	Other   []string       `csv:"other_branches"` // those that it is known not to support; "none"
	Image   []string       `csv:"image_branches"` // old branches on which NVIDIA's image of that CUDA starts: no promise
	Origin
}

// Trait is what rules know of a package that stands in no row of its releases.
type Trait struct {
	// "brought-by-engine": an engine with that trait asks for one release of it
	// "pins-torch": each release asks for one PyTorch, or for few
	// "compiled": its wheels are made for one torch or one CUDA
	// "dispensable": others install it and do without, or it does without its kernels for some GPUs
	// "companion": PyTorch's own, made for one torch
	// "compiled-when-used": its source is installed, and its kernels are compiled where they are first called
	// "stable-abi": it works beside later torches
	// "same-cuda-minor": it takes a torch or a library of its own CUDA's minor version alone
	// "before-numpy-2": it was compiled before NumPy 2
	// "before-protobuf-4": its generated code is refused by protobuf 4 and newer
	// "cuda-from-wheels": it can load CUDA from wheels, and an extra installs these
	// "nvrtc-fails": what its NVRTC does not know, it does not clamp to what it knows
	// "windows-cuda": its wheels for Windows have CUDA
	// "no-windows-wheel": it has wheels, and none of them is for Windows
	// "same-files": those for another CUDA family own the same files, so the one installed last has overwritten the other
	// "skips-libraries": what it was compiled for another torch it does not load, and is imported without
	// "only-kernels": it has nothing but kernels: on a GPU that its project does not support, none of it is of use
	// "least-7.0": its project supports GPUs from this compute capability on
	Trait    string        `csv:"trait"`
	Package  string        `csv:"package"`
	Releases version.Range `csv:"releases"` // of which it holds; empty: all
	Origin
}

// Package is what a Python package does with a GPU, where its name does not tell.
type Package struct {
	Package string `csv:"package"` // as pip normalises it
	// "gpu" needs one; "torch", "jax", "tensorflow" bring that framework and are judged as it; "jit" compiles its code
	// when it runs; "either" is the same with and without a GPU; "none" has nothing to do with CUDA programs
	Uses    string         `csv:"uses"`
	Release version.Number `csv:"release"` // the one that was looked at; CUDA holds from it on
	CUDA    version.Number `csv:"cuda"`    // the least that it needs, where what it requires tells
	Origin
}

// Hand is a cell that a person wrote, against what a source says or follows from others, or since no source says it.
type Hand struct {
	Table  string `csv:"table"`
	Key    string `csv:"key"` // of the row; several columns are separated by spaces
	Column string `csv:"column"`
	Value  string `csv:"value"`
	Why    string `csv:"why"`
	Review string `csv:"review"` // the day on which to look again
	Origin
}

// Signature is a line that programs, drivers or kernels print, and what it means.
type Signature struct {
	ID      string        `csv:"line"`
	Cause   string        `csv:"cause"`
	Blame   string        `csv:"blame"`
	Rule    string        `csv:"rule"`
	Weight  string        `csv:"weight"`
	Needs   string        `csv:"needs"`
	Reads   string        `csv:"reads"`
	Async   string        `csv:"async"`
	Passes  string        `csv:"passes"` // root: the line names what failed; echo: it passes on what another line names
	Literal sheet.Several `csv:"literal"`
	Pattern string        `csv:"pattern"`
	Because string        `csv:"because"`
	Do      sheet.Several `csv:"do"`
	Seen    string        `csv:"seen"`
	Origin
	Checked string `csv:"checked"` // ISO date on which the thread was read
}

// Origin is where a row comes from: every table ends in this column. When it was read, lock.json says.
type Origin struct {
	Source sheet.Sources `csv:"source"` // https addresses, or "wheel NAME sha256:…" (or "sdist …") where it was read
}
