package matrix

// CuDNN is one release of cuDNN for one CUDA family.
type CuDNN struct {
	Release       Version    `csv:"release"` // "9.10.2"
	CUDA          Version    `csv:"cuda"`    // family, "12"
	Build         Version    `csv:"build"`   // "9.10.2.21", what the wheel is called
	Minors        []string   `csv:"minors"`  // CUDA releases that it was made for, where the family does not tell
	CapabilityMin Capability `csv:"capability_min"`
	SASS          []string   `csv:"sass"`
	PTX           []string   `csv:"ptx"`
	PTXISA        Version    `csv:"ptx_isa"`
	DriverLinux   Version    `csv:"driver_linux"`
	Released      string     `csv:"released"` // ISO date
	Note          string     `csv:"note"`
	Verified      string     `csv:"verified"`
	origin
}

// NCCL is one release of NCCL for one CUDA family.
type NCCL struct {
	Release  Version  `csv:"release"` // "2.27.5"
	CUDA     Version  `csv:"cuda"`    // family, "12"
	Built    []string `csv:"built"`   // CUDA releases that it was built with
	SASS     []string `csv:"sass"`    // empty: not known
	PTX      []string `csv:"ptx"`
	PTXISA   Version  `csv:"ptx_isa"`
	Released string   `csv:"released"` // ISO date
	Verified string   `csv:"verified"`
	origin
}

// HostCompiler is what one toolkit's nvcc accepts; both ends belong to the range.
type HostCompiler struct {
	CUDA     Version `csv:"cuda"`
	GCCMin   Version `csv:"gcc_min"`
	GCCMax   Version `csv:"gcc_max"`
	ClangMin Version `csv:"clang_min"`
	ClangMax Version `csv:"clang_max"`
	origin
}

// Container is one tag of an image.
type Container struct {
	Image    string   `csv:"image"`
	Tag      string   `csv:"tag"`
	CUDA     Version  `csv:"cuda"`
	Driver   Version  `csv:"driver"` // the one that the image was made with
	Torch    string   `csv:"torch"`
	CuDNN    Version  `csv:"cudnn"`
	NCCL     Version  `csv:"nccl"`
	Require  string   `csv:"require"`  // the first clause of NVIDIA_REQUIRE_CUDA
	Branches []string `csv:"branches"` // the driver branches of its other clauses
	Brands   []string `csv:"brands"`
	origin
}

// Extension is one release of a package that is built against a framework or a CUDA.
type Extension struct {
	Package  string   `csv:"package"` // "flash-attn"
	Release  string   `csv:"release"`
	Variant  string   `csv:"variant"` // where it is published, or for which CUDA
	Torch    []string `csv:"torch"`   // releases that it was built with, or a range that it asks for
	CUDA     []string `csv:"cuda"`    // "12", or "12.1"; several where one package holds code for several
	CuDNN    Version  `csv:"cudnn"`
	SASS     []string `csv:"sass"`
	PTX      []string `csv:"ptx"`
	Python   []string `csv:"python"`
	CXX11    []string `csv:"cxx11_abi"`
	Verified string   `csv:"verified"`
	origin
}

// Default is the variant that the package index has of a PyTorch release, where a local version is not allowed.
type Default struct {
	Release  string `csv:"release"` // of two parts, "2.9"
	Platform string `csv:"platform"`
	Variant  string `csv:"variant"` // of the torch table, or "cpu"
	origin
}
