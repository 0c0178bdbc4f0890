// Package hardware answers what a build meets on a machine before any package counts: the platform, the driver, the
// GPUs and their device nodes, a cuda-compat library, and the toolkits. A target lays other values over the facts, so
// the same questions can be asked of a machine that exists only on paper.
//
// It knows nothing about builds and reports nothing. Package model adds the builds.
package hardware

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables"
	"cudacompat/internal/tables/sheet"
	"cudacompat/internal/version"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// Machine is a machine without what is installed on it: the facts, with a target laid over them, and the rows of the
// tables that belong to its driver and its GPUs.
type Machine struct {
	Tables     *tables.Tables
	Facts      *facts.Facts
	Target     Target // what is said over the facts
	Policy     verdict.Policy
	Name       string           // the target's, empty for this machine
	Platform   string           // "linux_x86_64", "linux_aarch64", "win_amd64"
	Instance   *tables.Instance // the row of its type; nil: not of EC2, or not in the table
	kmd        Driver           // the driver that builds will meet
	lift       Forward          // the cuda-compat library that stands in for its user space
	DriverRead *bool            // set when either was asked for
	Found      FoundDriver      // whatever the target says
	Toolkits   []Toolkit
	Libc       version.Number // glibc's; not known of musl
	Present    []GPU          // those that are there
	Shown      Shown          // what CUDA_VISIBLE_DEVICES leaves of them
	GPUs       []GPU          // those that a program would see, or may see where shown is unsure
	Kinds      []GPU          // the first of each kind of gpus: those of a kind are judged alike
	listed     []facts.GPU    // those that CUDA can number, in the order of their addresses
	numbers    map[string]int // of listed, by address
	resolved   map[gpuKind]GPU
	products   map[GPU][]*tables.Product // what ProductsOf looked up
}

// Driver is the driver that builds will run on.
type Driver struct {
	Version  version.Number // the kernel module's, else that of the user space at rest
	From     string
	user     version.Number // a cuda-compat library's, where one stands in for the user space
	CUDA     version.Number // what its user space speaks
	CUDASeen bool           // somebody asked the user space; else cuda is the branch's
	Loaded   bool           // Version is of a loaded module, or of a target
}

// GPU is one GPU that a program would see.
type GPU struct {
	Label      string             // for people: "NVIDIA L4 (8.9)"
	Name       string             // "NVIDIA L4"; empty when only its chip or its capability is known
	Capability version.Capability // not known where neither driver nor tables tell it
	Chip       *tables.Chip       // nil when the table does not know it
	From       string             // where it was found, or the flag that names it
	Bus        string             // its address; empty where none is known
	pciID      string             // "10de:27b8"; empty where PCI was not read
	Index      string             // by which CUDA_VISIBLE_DEVICES can name it, in the order of addresses
	market     market             // found once: rules ask for it with each driver
}

// Answers reports whether NVML showed the GPU, to this program or to nvidia-smi. The driver then knows it.
func (g GPU) Answers() bool { return strings.Contains(g.From, "NVML") || g.From == "nvidia-smi" }

// NewMachine lays a target over the facts, and finds the platform, the driver and the GPUs that remain.
func NewMachine(t *tables.Tables, f *facts.Facts, target Target, policy verdict.Policy) *Machine {
	name := target.Instance
	if describes(t, f, target) {
		own := *f
		own.System.Instance, target.Instance, f = name, "", &own
	}
	if sys := f.System; sys.OS+sys.Kernel+sys.Libc == "" && !sys.WSL && !sys.Jetson && f.Image == nil && target.Driver == "" &&
		t.OnlyWindows(version.ParseOrZero(f.Driver.Version)) { // a text that names no system
		own := *f
		own.System.OS, f = facts.Windows, &own
	}
	m := &Machine{Tables: t, Facts: f, Target: target, Policy: policy, Name: name,
		Found: foundIn(&f.Driver), Libc: version.ParseOrZero(f.System.Libc),
		resolved: map[gpuKind]GPU{}, products: map[GPU][]*tables.Product{}, DriverRead: new(bool)}
	if name := cmp.Or(target.Instance, f.System.Instance); name != "" {
		m.Instance = t.Instance(name)
	}
	for i := range f.Toolkits {
		m.Toolkits = append(m.Toolkits, newToolkit(&f.Toolkits[i]))
	}
	m.list()
	m.Present = m.gpusOf()
	m.Judge(m.Present)
	m.Platform = m.platformOf()
	m.kmd = m.driverOf()
	if len(target.GPUs) == 0 && target.Instance == "" {
		m.Judge(m.show())
	}
	m.hiddenByImage()
	m.layCompat()
	return m
}

// describes reports whether the facts already describe a machine of the target's type: a pasted nvidia-smi output that
// lists the type's GPUs. The target then does not override them.
func describes(t *tables.Tables, f *facts.Facts, target Target) bool {
	if target.Instance == "" || target.Driver != "" || len(target.GPUs) > 0 || len(f.GPUs) == 0 || f.System.Instance != "" {
		return false
	}
	row := t.Instance(target.Instance)
	return row != nil && !slices.ContainsFunc(f.GPUs, func(g facts.GPU) bool {
		return !slices.Contains(g.From, "nvidia-smi") || tables.NormalGPU(g.Name) != tables.NormalGPU(row.GPU)
	})
}

// platformOf returns the platform of the wheels that belong here, as the tables write it. A target takes precedence
// over the facts, and a GPU that is only sold with an Arm processor over the architecture of the facts. The default is
// x86_64, as for a list of names.
func (m *Machine) platformOf() string {
	told := m.platformTold()
	switch {
	case m.Facts.System.Windows() && told == "linux_aarch64":
		return "win_arm64"
	case m.Facts.System.Windows():
		return "win_amd64"
	case told != "":
		return told
	case m.Facts.System.Arch != "":
		return "linux_" + m.Facts.System.Arch
	case m.Instance != nil:
		return m.Instance.Platform
	}
	return "linux_x86_64"
}

// platformTold returns the platform that follows from the instance type or the GPUs, or "".
func (m *Machine) platformTold() string {
	switch {
	case m.Target.Instance != "" && m.Instance != nil:
		return m.Instance.Platform
	case slices.ContainsFunc(m.GPUs, func(g GPU) bool { return ArmGPU.MatchString(g.Name) }):
		return "linux_aarch64"
	}
	return ""
}

// PlatformOf returns the platform of the machine that a target names, as the tables write it, or "" if the target does
// not determine it.
func PlatformOf(t *tables.Tables, target Target) string {
	return NewMachine(t, &facts.Facts{}, target, verdict.Policy{}).platformTold()
}

// ArmGPU matches GPUs that share a module or board with an Arm processor: Grace and Tegra.
var ArmGPU = lazyregexp.New(`^(NVIDIA )?(HGX )?(GH200|GB[23]00|GB10|DGX Spark|RTX Spark|T4G|Thor|Orin|Xavier|Jetson|Tegra)\b`)

// Jetson reports whether the GPU belongs to a Tegra module. Its driver is part of its system and has no branches.
func (m *Machine) Jetson() bool {
	return m.Facts.System.Jetson || slices.ContainsFunc(m.GPUs, func(g GPU) bool { return g.Capability.Tegra() })
}

// L4T reports whether the driver belongs to a Jetson's L4T release, whose numbers are of no driver branch. Since
// JetPack 7, Thor has the driver of Arm servers and its branches.
func (m *Machine) L4T() bool {
	return m.Jetson() && (len(m.GPUs) == 0 || slices.ContainsFunc(m.GPUs, func(g GPU) bool { return !g.thor() }))
}

// thor reports whether this is the GPU of Jetson Thor under the driver of JetPack 7, which made its 10.1 an 11.0.
func (g GPU) thor() bool { return g.Capability == version.Capability{Major: 11} }

// WindowsNumbers reports whether the driver's version belongs to the Windows series, as in Windows and in WSL2.
func (m *Machine) WindowsNumbers() bool { return m.Facts.System.WSL || m.Windows() }

// Windows reports whether builds run in Windows itself, and not in WSL2.
func (m *Machine) Windows() bool { return strings.HasPrefix(m.Platform, "win_") }

// Driver returns the driver that builds will run on. It records that the caller asked: a result that used neither
// Driver nor Forward is the same for every driver.
func (m *Machine) Driver() Driver {
	*m.DriverRead = true
	return m.kmd
}

// Forward returns the cuda-compat library that programs load instead of the driver's libcuda. It records that the
// caller asked, as Driver does.
func (m *Machine) Forward() *Forward {
	*m.DriverRead = true
	return &m.lift
}

// driverOf returns the target's driver, otherwise the loaded module's, otherwise the installed one. The CUDA version
// that its libraries reported takes precedence over its branch's row. Windows and Jetson numbers are not in that table.
func (m *Machine) driverOf() Driver {
	f := &m.Facts.Driver
	if m.Target.Driver != "" {
		v := version.ParseOrZero(m.Target.Driver)
		cuda := m.Tables.BranchCUDA(v)
		switch {
		case m.L4T():
			cuda = version.Number{}
		case m.Windows():
			cuda = m.Tables.WindowsCUDA(v)
		}
		return Driver{Version: v, From: "--driver", CUDA: cuda, Loaded: true}
	}
	d := Driver{Version: m.Found.Loaded, From: f.From, Loaded: f.Version != ""}
	if !d.Version.Known() {
		d.Version, d.From = m.installedDriver()
	}
	d.CUDA = m.Found.CUDA
	d.CUDASeen = d.CUDA.Known()
	if !d.CUDASeen && !m.WindowsNumbers() && !m.L4T() {
		d.CUDA = m.Tables.BranchCUDA(d.Version)
	}
	return d
}

// installedDriver returns the driver that will run once it is loaded: by the module on disk, otherwise by the
// libraries.
func (m *Machine) installedDriver() (version.Number, string) {
	if module := m.BootModule(); module != nil && module.Version != "" {
		return module.Number, module.Path
	}
	installs, one := m.ArchivedDrivers(), m.BootDriver()
	for _, lib := range m.Found.Libraries {
		if lib.Number.Known() && (len(installs) == 0 || one != nil && lib.Number.Compare(one.Number) == 0) {
			return lib.Number, lib.Path
		}
	}
	if one != nil {
		return one.Number, one.Path
	}
	return version.Number{}, ""
}

// BootModule returns the module of the kernel that runs or, at rest, will boot. Otherwise it returns the module of the
// newest kernel that has one.
func (m *Machine) BootModule() *Module {
	var newest *Module
	boot, _ := m.BootKernel()
	for i := range m.Found.modules {
		module := &m.Found.modules[i]
		if module.Kernel == cmp.Or(boot, m.Facts.System.Kernel) {
			return module
		}
		if newest == nil || sheet.CompareNaturally(newest.Kernel, module.Kernel) < 0 {
			newest = module
		}
	}
	if m.Facts.System.Kernel != "" && !m.Facts.System.Rest {
		return nil
	}
	return newest
}

// gpusOf returns the GPUs to judge for: the target's, otherwise those that were found.
func (m *Machine) gpusOf() []GPU {
	var gpus []GPU
	switch {
	case len(m.Target.GPUs) > 0:
		for _, name := range m.Target.GPUs {
			gpus = append(gpus, m.gpuNamed(name, "--gpu"))
		}
	case m.Target.Instance != "" && m.Instance != nil:
		for range max(m.Instance.Count, 1) {
			gpus = append(gpus, m.gpuNamed(m.Instance.GPU, "--instance "+m.Target.Instance))
		}
	default:
		for _, g := range Visible(m.Facts) {
			gpus = append(gpus, m.GPUFound(g))
		}
	}
	return gpus
}

// Visible returns the GPUs that programs on this machine can see.
func Visible(f *facts.Facts) []facts.GPU {
	why := Withheld(f)
	return slices.DeleteFunc(slices.Clone(f.GPUs), func(g facts.GPU) bool { return why(g) != "" })
}

// Withheld returns a function that explains why programs cannot see a GPU; it returns "" for a GPU that they can see.
// In a container NVML decides, because the PCI bus is the host's. On a host, a GPU that only PCI shows may be one that
// the driver dropped. A GPU held for a virtual machine is withheld, and so is one of nouveau beside NVIDIA's driver,
// since it may drive the screen.
func Withheld(f *facts.Facts) func(facts.GPU) string {
	shared := slices.ContainsFunc(f.GPUs, func(g facts.GPU) bool { return g.Bound == "nvidia" })
	return func(g facts.GPU) string {
		driven := slices.Contains(g.From, "NVML") || slices.Contains(g.From, "/proc/driver/nvidia")
		switch {
		case ToVM(g):
			return "held by " + g.Bound
		case Nouveaus(g) && shared:
			return "driven by " + g.Bound
		case g.Drained:
			return "drained by an administrator (nvidia-smi drain)"
		case g.Excluded:
			return "left out by the driver's options (NVreg_ExcludedGpus)"
		case f.System.Container != "" && !driven && slices.Contains(g.From, "/sys/bus/pci"):
			return "not given to this container"
		case notCounted(f, g):
			return "not counted by NVML"
		}
		return ""
	}
}

// ToVM reports whether a GPU is held for a virtual machine: by a VFIO driver (vfio-pci, nvgrace_gpu_vfio_pci), by Xen's
// (pciback), or by the stub that keeps other drivers off.
func ToVM(g facts.GPU) bool {
	return strings.Contains(g.Bound, "vfio") || strings.Contains(g.Bound, "pciback") || g.Bound == "pci-stub"
}

// Nouveaus reports whether one of the open drivers without CUDA, nouveau or nova, holds a GPU.
func Nouveaus(g facts.GPU) bool {
	return g.Bound == "nouveau" || strings.HasPrefix(strings.ToLower(g.Bound), "nova")
}

// gpuNamed returns the GPU with a name or a compute capability.
func (m *Machine) gpuNamed(name, from string) GPU {
	if c, err := version.ParseCapability(name); err == nil {
		chip := m.Tables.ChipOf(c)
		return GPU{Label: "GPU of compute capability " + name, Capability: c, Chip: chip, From: from, market: marketOf("", chip)}
	}
	chip := m.Tables.ChipNamed(name)
	g := GPU{Label: name, Name: name, Chip: chip, From: from}
	if chip != nil {
		g.Capability = chip.Capability
		g.Label = fmt.Sprintf("%s (%s)", name, chip.Capability)
	}
	g.market = marketOf(g.Name, g.Chip)
	return g
}

// GPUFound returns a probed GPU with what the tables know of it. It looks up devices that differ only in their address
// once.
func (m *Machine) GPUFound(g facts.GPU) GPU {
	kind := gpuKind{g.Name, g.PCIID, g.Capability, "", strings.Join(g.From, ", ")}
	if g.Name+g.PCIID == "" {
		kind.bus = g.Bus
	}
	seen, ok := m.resolved[kind]
	if !ok {
		seen = m.resolve(g, kind.from)
		m.resolved[kind] = seen
	}
	seen.Bus, seen.Index = g.Bus, m.numberOf(g)
	return seen
}

// gpuKind is the part of a probed GPU that determines its kind. bus is set only if nothing else names the GPU.
type gpuKind struct{ name, pciID, capability, bus, from string }

// resolve looks a GPU up in the tables. The capability that the driver reports takes precedence over theirs.
func (m *Machine) resolve(g facts.GPU, from string) GPU {
	chip := m.Tables.ChipByID(g.PCIID)
	if chip == nil && g.Name != "" {
		chip = m.Tables.ChipNamed(g.Name)
	}
	seen := GPU{Label: g.Name, Name: g.Name, Chip: chip, From: from, pciID: g.PCIID}
	if c, err := version.ParseCapability(g.Capability); err == nil {
		seen.Capability = c
		if chip == nil || chip.Capability != c {
			seen.Chip = m.Tables.ChipOf(c)
		}
	} else if chip != nil {
		seen.Capability = chip.Capability
	}
	if seen.Label == "" {
		seen.Label = m.pciLabel(g, chip)
		if m.Instance != nil && seen.Label == m.Instance.GPU {
			seen.Name = seen.Label
		}
	}
	if seen.Capability.Known() {
		seen.Label += fmt.Sprintf(" (%s)", seen.Capability)
	}
	return seen
}

// LastBranch returns the last branch that supports a GPU, with its source. The instance type's row takes precedence
// over the chip's, because a fraction of a GPU may have its own.
func (m *Machine) LastBranch(g GPU) (version.Number, []string) {
	switch {
	case g.Chip == nil:
		return version.Number{}, nil
	case m.Instance != nil && m.Instance.LastBranch.Known() &&
		tables.NormalGPU(m.Instance.GPU) == tables.NormalGPU(g.Name) && !g.Answers():
		return m.Instance.LastBranch, m.Instance.Source
	}
	return g.Chip.LastBranch, g.Chip.Source
}

// DrivenBy reports whether a driver supports a GPU: it is neither too old nor too new. It returns true for an unknown
// GPU. A fraction of a GPU needs a branch with a vGPU guest driver.
func (m *Machine) DrivenBy(g GPU, driver version.Number) bool {
	if m.PartOfGPU() && m.Tables.NoVGPU(driver) && !m.answersFor(g, driver) {
		return false
	}
	last, _ := m.LastBranch(g)
	before := m.Before(g, driver)
	if m.WindowsNumbers() {
		driver = m.Tables.BranchOfWindows(driver)
	}
	return !(before != nil && before.Proven) && !(last.Known() && driver.Major() > last.Major())
}

// pciLabel names a device that only PCI shows. It uses the instance type's model if that has the same chip.
func (m *Machine) pciLabel(g facts.GPU, chip *tables.Chip) string {
	switch {
	case chip == nil:
		return "GPU " + cmp.Or(g.PCIID, g.Bus, "of unknown kind")
	case m.Instance != nil && m.Tables.ChipNamed(m.Instance.GPU) == chip:
		return m.Instance.GPU
	case len(chip.Names) == 1:
		return chip.Names[0]
	case len(m.Tables.Products(g.PCIID, "")) == 1:
		return m.Tables.Products(g.PCIID, "")[0].Name
	}
	return fmt.Sprintf("%s GPU %s", chip.Chip, g.PCIID)
}

// Host reports whether this is neither a container nor a special platform, so that the machine's own driver can be
// judged.
func (m *Machine) Host() bool {
	return m.Facts.System.Container == "" && !m.Facts.System.WSL && !m.Jetson() && !m.Windows()
}

// EvidenceDriver returns the driver as evidence.
func (m *Machine) EvidenceDriver() verdict.Evidence {
	return verdict.Evidence{Fact: "driver", Value: m.Driver().Version.String(), From: m.Driver().From}
}

// DriverTold reports whether anything is known of the driver that builds will run on.
func (m *Machine) DriverTold() bool { return m.Driver().Version.Known() || m.Driver().CUDA.Known() }

// DriverWords describes the driver, as part of a sentence.
func (m *Machine) DriverWords() string {
	if m.Driver().Version.Known() {
		return "driver " + m.Driver().Version.String()
	}
	return "a driver that supports CUDA " + m.Driver().CUDA.String()
}

// PartOfGPU reports whether the instance type has a fraction of a GPU, which only the vGPU guest driver drives.
func (m *Machine) PartOfGPU() bool { return m.Instance != nil && m.Instance.GRID == "yes" }

// ReplaceDriver lays a loaded driver over the machine's own, without a cuda-compat library.
func (m *Machine) ReplaceDriver(v version.Number) {
	if v.Parts() == 1 {
		v = version.ParseOrZero(v.String() + ".0")
	}
	m.kmd = Driver{Version: v, From: "--driver", CUDA: m.Tables.BranchCUDA(v), Loaded: true}
	m.lift = Forward{}
	m.layCompat()
}
