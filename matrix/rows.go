package matrix

import "cudacompat/internal/version"

// CuDNN is one release of cuDNN for one CUDA family.
type CuDNN struct {
	Release       version.Number     `csv:"release"` // "9.10.2"
	CUDA          version.Number     `csv:"cuda"`    // family, "12"
	Build         version.Number     `csv:"build"`   // "9.10.2.21", what the wheel is called
	Minors        []string           `csv:"minors"`  // CUDA releases that it was made for, where the family does not tell
	CapabilityMin version.Capability `csv:"capability_min"`
	SASS          []string           `csv:"sass"`
	PTX           []string           `csv:"ptx"`
	PTXISA        version.Number     `csv:"ptx_isa"`
	DriverLinux   version.Number     `csv:"driver_linux"`
	Released      string             `csv:"released"` // ISO date
	Note          string             `csv:"note"`
	Verified      string             `csv:"verified"`
	origin
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
	origin
}

// HostCompiler is what one toolkit's nvcc accepts; both ends belong to the range.
type HostCompiler struct {
	CUDA     version.Number `csv:"cuda"`
	GCCMin   version.Number `csv:"gcc_min"`
	GCCMax   version.Number `csv:"gcc_max"`
	ClangMin version.Number `csv:"clang_min"`
	ClangMax version.Number `csv:"clang_max"`
	origin
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
	origin
}

// Extension is one release of a package that is built against a framework or a CUDA.
type Extension struct {
	Package  string         `csv:"package"` // "flash-attn"
	Release  string         `csv:"release"`
	Variant  string         `csv:"variant"` // where it is published, or for which CUDA
	Torch    []string       `csv:"torch"`   // releases that it was built with, or a range that it asks for
	CUDA     []string       `csv:"cuda"`    // "12", or "12.1"; several where one package holds code for several
	CuDNN    version.Number `csv:"cudnn"`
	SASS     []string       `csv:"sass"`
	PTX      []string       `csv:"ptx"`
	Python   []string       `csv:"python"`
	CXX11    []string       `csv:"cxx11_abi"`
	Verified string         `csv:"verified"`
	origin
}

// Default is the variant that the package index has of a PyTorch release, where a local version is not allowed.
type Default struct {
	Release  string `csv:"release"` // of two parts, "2.9"
	Platform string `csv:"platform"`
	Variant  string `csv:"variant"` // of the torch table, or "cpu"
	origin
}
