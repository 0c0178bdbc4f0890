package matrix

import (
	"fmt"
	"io/fs"
	"sync"

	"cudacompat/data"
	"cudacompat/internal/version"
)

// Tables is the knowledge: what goes with what, a source in every row. Each table is read when it is first asked
// for. It is safe for several goroutines.
type Tables struct {
	cuda        func() ([]CUDA, error)
	branches    func() ([]Branch, error)
	gpus        func() ([]Chip, error)
	minor       func() ([]Minor, error)
	torch       func() ([]Wheel, error)
	tensorflow  func() ([]TensorFlow, error)
	jax         func() ([]JAX, error)
	instances   func() ([]Instance, error)
	xids        func() ([]Xid, error)
	forward     func() ([]Forward, error)
	chipsByName func() map[string]*Chip
	chipsByID   func() map[string]*Chip
	nccls       func() ([]NCCL, error)
	compilers   func() ([]HostCompiler, error)
	cudnns      func() ([]CuDNN, error)
	extensions  func() ([]Extension, error)
	defaults    func() ([]Default, error)
	advisories  func() ([]Advisory, error)
	fsys        fs.FS
}

// CUDA is one release of the toolkit.
type CUDA struct {
	Release       version.Number `csv:"release"`        // "12.6.3"
	DriverLinux   version.Number `csv:"driver_linux"`   // the toolkit's own driver, with which every feature works
	DriverWindows version.Number `csv:"driver_windows"` // likewise
	Branch        string         `csv:"branch"`         // driver branch that brought this minor, "560"
	PTX           version.Number `csv:"ptx_isa"`        // newest PTX ISA that it writes, "8.5"
	Released      string         `csv:"released"`       // ISO date
	origin
}

// Branch is one driver branch.
type Branch struct {
	Branch       string         `csv:"branch"`        // "535"
	Type         string         `csv:"type"`          // "LTS", "PB" (production) or "NFB" (new feature)
	CUDA         version.Number `csv:"cuda"`          // what its user-mode driver reports, "12.2"
	FirstRelease string         `csv:"first_release"` // ISO date or month
	EndOfLife    string         `csv:"end_of_life"`   // ISO date or month
	Newest       version.Number `csv:"newest"`        // newest Linux release seen
	Module       string         `csv:"module"`        // kernel modules that it ships: "proprietary", "both" or "open"
	origin
}

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
	Names        names              `csv:"names"`        // as NVML prints them, without "NVIDIA "
	PCIIDs       []string           `csv:"pci_ids"`      // device ids of vendor 10de
	origin
}

// Minor is the driver floor of one CUDA family.
type Minor struct {
	Family        version.Number `csv:"family"`       // "12"
	DriverLinux   version.Number `csv:"driver_linux"` // "525.60.13"
	DriverWindows version.Number `csv:"driver_windows"`
	origin
}

// Wheel is one PyTorch release in one CUDA variant for one platform.
type Wheel struct {
	Release     string         `csv:"release"`  // "2.9.0"
	Variant     string         `csv:"variant"`  // "cu130"
	Platform    string         `csv:"platform"` // "linux_x86_64", "linux_aarch64", "win_amd64"
	CUDA        version.Number `csv:"cuda"`     // "13.0.0"
	CuDNN       version.Number `csv:"cudnn"`
	NCCL        version.Number `csv:"nccl"`
	SASS        []string       `csv:"sass"`   // "sm_90"; empty: not known
	PTX         []string       `csv:"ptx"`    // "compute_90"; "none": known to carry none; empty: not known
	Python      []string       `csv:"python"` // "3.12", "3.13t"
	Glibc       version.Number `csv:"glibc"`  // least one
	Torchvision string         `csv:"torchvision"`
	Torchaudio  string         `csv:"torchaudio"`
	Triton      string         `csv:"triton"`
	Verified    string         `csv:"verified"` // what was read of the artefact, and when; "single-source"; empty: two independent sources
	origin
}

// TensorFlow is one release of the official Linux wheel. A release of two parts stands for all its patches.
type TensorFlow struct {
	Release  string         `csv:"release"`
	Variant  string         `csv:"variant"`
	Platform string         `csv:"platform"`
	CUDA     version.Number `csv:"cuda"`
	CuDNN    version.Number `csv:"cudnn"`
	NCCL     version.Number `csv:"nccl"`
	SASS     []string       `csv:"sass"`
	PTX      []string       `csv:"ptx"`
	Python   []string       `csv:"python"`
	Glibc    version.Number `csv:"glibc"`
	Packages []string       `csv:"packages"` // what the and-cuda extra asks for
	Numpy    string         `csv:"numpy"`
	Verified string         `csv:"verified"`
	origin
}

// JAX is one release of the CUDA plugin, or of a jaxlib with CUDA inside.
type JAX struct {
	Release  string         `csv:"release"`
	Variant  string         `csv:"variant"` // "cuda12"
	Platform string         `csv:"platform"`
	CUDA     version.Number `csv:"cuda"`
	CuDNN    version.Number `csv:"cudnn"`
	NCCL     version.Number `csv:"nccl"`
	SASS     []string       `csv:"sass"`
	PTX      []string       `csv:"ptx"`
	Python   []string       `csv:"python"`
	Glibc    version.Number `csv:"glibc"`
	Jaxlib   string         `csv:"jaxlib"`
	Packages []string       `csv:"packages"`
	Verified string         `csv:"verified"`
	origin
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
	origin
}

// Embedded is the tables compiled into the program.
func Embedded() *Tables { return open(data.FS) }

// Load reads and lints every table in fsys, and that rows name only things which exist. An error says file, line and
// column; nothing half-loaded is returned.
func Load(fsys fs.FS) (*Tables, error) {
	t := open(fsys)
	for _, s := range sheets {
		if err := s.lint(fsys, s.file(), s.keys); err != nil {
			return nil, err
		}
	}
	if err := t.references(); err != nil {
		return nil, err
	}
	if err := t.proofs(); err != nil {
		return nil, err
	}
	return t, nil
}

func open(fsys fs.FS) *Tables {
	t := &Tables{
		fsys:       fsys,
		cuda:       once[CUDA](fsys, "cuda"),
		branches:   once[Branch](fsys, "driver_branch"),
		gpus:       once[Chip](fsys, "gpu"),
		minor:      once[Minor](fsys, "minor_compat"),
		torch:      once[Wheel](fsys, "torch"),
		defaults:   once[Default](fsys, "pypi_default"),
		tensorflow: once[TensorFlow](fsys, "tensorflow"),
		jax:        once[JAX](fsys, "jax"),
		nccls:      once[NCCL](fsys, "nccl"),
		compilers:  once[HostCompiler](fsys, "host_compiler"),
		cudnns:     once[CuDNN](fsys, "cudnn"),
		instances:  once[Instance](fsys, "ec2"),
		extensions: once[Extension](fsys, "extension"),
		forward:    once[Forward](fsys, "forward_compat"),
		advisories: once[Advisory](fsys, "advisory"),
		xids:       once[Xid](fsys, "xid"),
	}
	t.chipsByName = sync.OnceValue(t.indexNames)
	t.chipsByID = sync.OnceValue(t.indexIDs)
	return t
}

func once[T any](fsys fs.FS, table string) func() ([]T, error) {
	return sync.OnceValues(func() ([]T, error) {
		s, _ := sheetNamed(table)
		return readTable[T](fsys, s.file(), s.keys, linted)
	})
}

// Date is the newest date on which a row of the driver table was checked, as an ISO date.
func (t *Tables) Date() string { return t.date() }

// must is for rows of tables that Load or the build's tests have linted: an error there is a bug.
func must[T any](rows []T, err error) []T {
	if err != nil {
		panic(fmt.Sprintf("embedded table: %v", err))
	}
	return rows
}
