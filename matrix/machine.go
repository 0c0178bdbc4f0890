package matrix

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/probe/facts"
)

// machine is what is judged: the facts with what a target says over them, and what the tables know of both.
type machine struct {
	t          *Tables
	f          *facts.Facts
	target     Target // what is said over the facts
	policy     Policy
	name       string           // the target's, empty for this machine
	platform   string           // "linux_x86_64", "linux_aarch64", "win_amd64"
	instance   *tables.Instance // the row of its type; nil: not of EC2, or not in the table
	kmd        driver           // the driver that builds will meet
	lift       forward          // the cuda-compat library that stands in for its user space
	driverRead *bool            // set when either was asked for
	found      foundDriver      // whatever the target says
	toolkits   []toolkit
	libc       version.Number // glibc's; not known of musl
	present    []gpu          // those that are there
	shown      shown          // what CUDA_VISIBLE_DEVICES leaves of them
	gpus       []gpu          // those that a program would see, or may see where shown is unsure
	kinds      []gpu          // the first of each kind of gpus: those of a kind are judged alike
	listed     []facts.GPU    // those that CUDA can number, in the order of their addresses
	numbers    map[string]int // of listed, by address
	resolved   map[gpuKind]gpu
	products   map[gpu][]*tables.Product   // what productsOf looked up
	released   map[string][]version.Number // by framework: what releases looked up
	worked     *worked                     // lists of rows that several builds ask for
	met        map[*facts.Environment]*environment
	builds     []*build // in the order of the facts
	names      []*named // packages that files name and that have to do with a GPU
}

// driver is a driver that builds can meet.
type driver struct {
	version version.Number // the kernel module's, else that of the user space at rest
	from    string
	user    version.Number // a cuda-compat library's, where one stands in for the user space
	cuda    version.Number // what its user space speaks
	cudaSaw bool           // somebody asked the user space; else cuda is the branch's
	loaded  bool           // version is of a loaded module, or of a target
}

// gpu is one GPU that a program would see.
type gpu struct {
	label      string             // for people: "NVIDIA L4 (8.9)"
	name       string             // "NVIDIA L4"; empty when only its chip or its capability is known
	capability version.Capability // not known where neither driver nor tables tell it
	chip       *tables.Chip       // nil when the table does not know it
	from       string             // where it was found, or the flag that names it
	bus        string             // its address; empty where none is known
	pciID      string             // "10de:27b8"; empty where PCI was not read
	number     string             // by which CUDA_VISIBLE_DEVICES can name it, in the order of addresses
}

// answers reports whether NVML showed the GPU, to this program or to nvidia-smi: the driver knows it then.
func (g gpu) answers() bool { return strings.Contains(g.from, "NVML") || g.from == "nvidia-smi" }

// newMachine lays the target over the facts.
func newMachine(t *Tables, f *facts.Facts, target Target, policy Policy) *machine {
	m := &machine{t: t, f: f, target: target, policy: policy, name: target.Instance,
		found: foundIn(&f.Driver), libc: version.Of(f.System.Libc),
		resolved: map[gpuKind]gpu{}, products: map[gpu][]*tables.Product{}, worked: &worked{},
		met: map[*facts.Environment]*environment{}, driverRead: new(bool),
		released: map[string][]version.Number{}}
	if name := cmp.Or(target.Instance, f.System.Instance); name != "" {
		m.instance = t.Instance(name)
	}
	for i := range f.Toolkits {
		m.toolkits = append(m.toolkits, newToolkit(&f.Toolkits[i]))
	}
	m.list()
	m.present = m.gpusOf()
	m.see(m.present)
	m.platform = m.platformOf()
	m.kmd = m.driverOf()
	if len(target.GPUs) == 0 && target.Instance == "" {
		m.see(m.show())
	}
	m.layCompat()
	standing := standingOf(t, f)
	for i := range f.Environments {
		env := m.environment(&f.Environments[i])
		for j := range f.Environments[i].Builds {
			b := &f.Environments[i].Builds[j]
			if v := newBuild(m, env, b, standing(&f.Environments[i])); !v.soundTriton() {
				m.builds = append(m.builds, v)
			}
		}
	}
	m.layPrograms()
	m.layNamed(standing)
	return m
}

// platformOf is the platform of the wheels that belong here, as the tables write it. A target goes before what was
// found, and a GPU that is only sold with an Arm processor before the architecture that the facts were taken on. x86_64
// where nothing tells, as in a file of names.
func (m *machine) platformOf() string {
	switch {
	case strings.Contains(m.f.System.OS, "Windows"):
		return "win_amd64"
	case m.target.Instance != "" && m.instance != nil:
		return m.instance.Platform
	case slices.ContainsFunc(m.gpus, func(g gpu) bool { return armGPU.MatchString(g.name) }):
		return "linux_aarch64"
	case m.f.System.Arch != "":
		return "linux_" + m.f.System.Arch
	case m.instance != nil:
		return m.instance.Platform
	}
	return "linux_x86_64"
}

// armGPU are the GPUs that sit on one module or board with an Arm processor: Grace and Tegra.
var armGPU = lazyregexp.New(`^(NVIDIA )?(GH200|GB[23]00|GB10|DGX Spark|RTX Spark|T4G|Thor|Orin|Xavier|Jetson|Tegra)\b`)

// jetson reports whether the GPU is a Tegra module's, whose driver comes with its system and has no branches.
func (m *machine) jetson() bool {
	return m.f.System.Jetson || slices.ContainsFunc(m.gpus, func(g gpu) bool { return g.capability.Tegra() })
}

// windowsNumbers reports whether the driver's version is of Windows' series, in Windows and in WSL2.
func (m *machine) windowsNumbers() bool { return m.f.System.WSL || m.platform == "win_amd64" }

// driver is the driver that builds will meet. Who asks says so, since what asks for neither it nor forward is the same
// with every driver.
func (m *machine) driver() driver {
	*m.driverRead = true
	return m.kmd
}

// forward is the cuda-compat library that stands in for the driver's user space.
func (m *machine) forward() *forward {
	*m.driverRead = true
	return &m.lift
}

// driverOf is the target's driver, else the loaded module's, else the one that is installed. What its user space said
// of CUDA goes before its branch's row; Windows' and Jetson's numbers are not in that table.
func (m *machine) driverOf() driver {
	f := &m.f.Driver
	if m.target.Driver != "" {
		v := version.Of(m.target.Driver)
		return driver{version: v, from: "--driver", cuda: m.t.BranchCUDA(v), loaded: true}
	}
	d := driver{version: m.found.loaded, from: f.From, loaded: f.Version != ""}
	if !d.version.Known() {
		d.version, d.from = m.installed()
	}
	d.cuda = m.found.cuda
	d.cudaSaw = d.cuda.Known()
	if !d.cudaSaw && !m.windowsNumbers() && !m.jetson() {
		d.cuda = m.t.BranchCUDA(d.version)
	}
	return d
}

// installed is the driver that will be there once it is loaded: the module on disk, else the user space.
func (m *machine) installed() (version.Number, string) {
	if module := m.bootModule(); module != nil && module.Version != "" {
		return module.version, module.Path
	}
	for _, lib := range m.found.libraries {
		if lib.version.Known() {
			return lib.version, lib.Path
		}
	}
	return version.Number{}, ""
}

// bootModule is the module of the kernel that runs or, at rest, will boot; else of the newest kernel that has one.
func (m *machine) bootModule() *module {
	var newest *module
	boot, _ := m.bootKernel()
	for i := range m.found.modules {
		module := &m.found.modules[i]
		if module.Kernel == cmp.Or(boot, m.f.System.Kernel) {
			return module
		}
		if newest == nil || tables.CompareNaturally(newest.Kernel, module.Kernel) < 0 {
			newest = module
		}
	}
	if m.f.System.Kernel != "" && !m.f.System.Rest {
		return nil
	}
	return newest
}

// gpusOf lists the GPUs that are judged for: the target's, else those that were found.
func (m *machine) gpusOf() []gpu {
	var gpus []gpu
	switch {
	case len(m.target.GPUs) > 0:
		for _, name := range m.target.GPUs {
			gpus = append(gpus, m.gpuNamed(name, "--gpu"))
		}
	case m.target.Instance != "" && m.instance != nil:
		for range max(m.instance.Count, 1) {
			gpus = append(gpus, m.gpuNamed(m.instance.GPU, "--instance "+m.target.Instance))
		}
	default:
		for _, g := range visible(m.f) {
			gpus = append(gpus, m.gpuFound(g))
		}
	}
	return gpus
}

// visible are the GPUs that programs on this machine can be shown.
func visible(f *facts.Facts) []facts.GPU {
	why := withheld(f)
	return slices.DeleteFunc(slices.Clone(f.GPUs), func(g facts.GPU) bool { return why(g) != "" })
}

// withheld tells why programs on this machine are not shown a GPU, with nothing for those that they are. NVML speaks
// for containers, which see a part of the host's PCI bus; on a host, a GPU that only PCI shows may be one that the
// driver dropped. What is held for a virtual machine is not shown, nor is nouveau's beside NVIDIA's, which may be for
// the screen.
func withheld(f *facts.Facts) func(facts.GPU) string {
	shared := slices.ContainsFunc(f.GPUs, func(g facts.GPU) bool { return g.Bound == "nvidia" })
	return func(g facts.GPU) string {
		driven := slices.Contains(g.From, "NVML") || slices.Contains(g.From, "/proc/driver/nvidia")
		switch {
		case toVM(g):
			return "held by " + g.Bound
		case nouveaus(g) && shared:
			return "driven by " + g.Bound
		case g.Excluded:
			return "left out by the driver's options (NVreg_ExcludedGpus)"
		case f.System.Container != "" && !driven && slices.Contains(g.From, "/sys/bus/pci"):
			return "not given to this container"
		}
		return ""
	}
}

// toVM reports whether a GPU is held for a virtual machine: by one of VFIO's drivers (vfio-pci, nvgrace_gpu_vfio_pci),
// by Xen's (pciback), or by the stub that keeps others off.
func toVM(g facts.GPU) bool {
	return strings.Contains(g.Bound, "vfio") || strings.Contains(g.Bound, "pciback") || g.Bound == "pci-stub"
}

// nouveaus reports whether a GPU belongs to one of the open drivers, nouveau and nova, which have no CUDA.
func nouveaus(g facts.GPU) bool {
	return g.Bound == "nouveau" || strings.HasPrefix(strings.ToLower(g.Bound), "nova")
}

// gpuNamed resolves a name or a compute capability.
func (m *machine) gpuNamed(name, from string) gpu {
	if c, err := version.ParseCapability(name); err == nil {
		return gpu{label: "GPU of compute capability " + name, capability: c, chip: m.t.ChipOf(c), from: from}
	}
	chip := m.t.ChipNamed(name)
	g := gpu{label: name, name: name, chip: chip, from: from}
	if chip != nil {
		g.capability = chip.Capability
		g.label = fmt.Sprintf("%s (%s)", name, chip.Capability)
	}
	return g
}

// gpuFound resolves what was probed. Devices that differ by their address alone are looked up once.
func (m *machine) gpuFound(g facts.GPU) gpu {
	kind := gpuKind{g.Name, g.PCIID, g.Capability, "", strings.Join(g.From, ", ")}
	if g.Name+g.PCIID == "" {
		kind.bus = g.Bus
	}
	seen, ok := m.resolved[kind]
	if !ok {
		seen = m.resolve(g, kind.from)
		m.resolved[kind] = seen
	}
	seen.bus, seen.number = g.Bus, m.numberOf(g)
	return seen
}

// gpuKind is what of a probed GPU decides what it is; bus only where nothing else names it.
type gpuKind struct{ name, pciID, capability, bus, from string }

// resolve asks the tables: the capability that the driver says goes before theirs.
func (m *machine) resolve(g facts.GPU, from string) gpu {
	chip := m.t.ChipByID(g.PCIID)
	if chip == nil && g.Name != "" {
		chip = m.t.ChipNamed(g.Name)
	}
	seen := gpu{label: g.Name, name: g.Name, chip: chip, from: from, pciID: g.PCIID}
	if c, err := version.ParseCapability(g.Capability); err == nil {
		seen.capability = c
		if chip == nil || chip.Capability != c {
			seen.chip = m.t.ChipOf(c)
		}
	} else if chip != nil {
		seen.capability = chip.Capability
	}
	if seen.label == "" {
		seen.label = m.pciLabel(g, chip)
		if m.instance != nil && seen.label == m.instance.GPU {
			seen.name = seen.label
		}
	}
	if seen.capability.Known() {
		seen.label += fmt.Sprintf(" (%s)", seen.capability)
	}
	return seen
}

// lastBranch is the last branch that drives a GPU, with its source: the instance type's own where its row has one, as a
// part of a GPU may, else its chip's.
func (m *machine) lastBranch(g gpu) (version.Number, []string) {
	switch {
	case g.chip == nil:
		return version.Number{}, nil
	case m.instance != nil && m.instance.LastBranch.Known() &&
		tables.NormalGPU(m.instance.GPU) == tables.NormalGPU(g.name) && !g.answers():
		return m.instance.LastBranch, m.instance.Source
	}
	return g.chip.LastBranch, g.chip.Source
}

// drivenBy reports whether a driver knows a GPU, and still does; of a GPU that nobody knows it says so too. A part of a
// GPU is driven by branches that have a vGPU guest driver.
func (m *machine) drivenBy(g gpu, driver version.Number) bool {
	if m.partOfGPU() && m.t.NoVGPU(driver) && !m.answersFor(g, driver) {
		return false
	}
	last, _ := m.lastBranch(g)
	before := m.before(g, driver)
	return !(before != nil && before.proven) && !(last.Known() && driver.Major() > last.Major())
}

// pciLabel names a device that only PCI shows: by the instance type's model where that is of the same chip.
func (m *machine) pciLabel(g facts.GPU, chip *tables.Chip) string {
	switch {
	case chip == nil:
		return "GPU " + cmp.Or(g.PCIID, g.Bus, "of unknown kind")
	case m.instance != nil && m.t.ChipNamed(m.instance.GPU) == chip:
		return m.instance.GPU
	case len(chip.Names) == 1:
		return chip.Names[0]
	case len(m.t.Products(g.PCIID, "")) == 1:
		return m.t.Products(g.PCIID, "")[0].Name
	}
	return fmt.Sprintf("%s GPU %s", chip.Chip, g.PCIID)
}

// host reports whether this is no container and no special platform: the machine's own driver can be judged.
func (m *machine) host() bool {
	return m.f.System.Container == "" && !m.f.System.WSL && !m.jetson() && m.platform != "win_amd64"
}

// evidenceDriver is the driver as evidence.
func (m *machine) evidenceDriver() Evidence {
	return Evidence{Fact: "driver", Value: m.driver().version.String(), From: m.driver().from}
}

// driverWords is the driver for a sentence.
func (m *machine) driverWords() string {
	if m.driver().version.Known() {
		return "driver " + m.driver().version.String()
	}
	return "a driver that supports CUDA " + m.driver().cuda.String()
}
