package hardware

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// Shown is what CUDA_VISIBLE_DEVICES lets a program see of the GPUs that the driver lists.
type Shown struct {
	Set     bool                // the variable is there, and so are GPUs that it can choose from
	List    string              // its value
	Count   int                 // how many GPUs a program sees
	Hidden  bool                // none
	Absent  string              // the first device of the list that is not there: CUDA stops at it
	Twice   string              // a device that the list names again: CUDA shows none (cuInit fails with error 101)
	Missing verdict.MissingFact // the fact without which a name of the list means nothing
	Any     bool                // which ones cannot be told and does not matter, for the GPUs are alike
	Unsure  verdict.MissingFact // why the GPUs that are shown cannot be told from the others; empty when they can
}

// hiding are the values of CUDA_VISIBLE_DEVICES that hide every GPU; Slurm writes the last.
var hiding = []string{"", "-1", "none", "void", "NoDevFiles"}

// list notes the GPUs that CUDA can number, in the order of their addresses: NVML's, else those of the driver's files.
func (m *Machine) list() {
	by := "NVML"
	if m.Facts.Driver.NVML.Status != "ok" {
		by = "/proc/driver/nvidia"
	}
	list := slices.DeleteFunc(slices.Clone(m.Facts.GPUs), func(g facts.GPU) bool { return !slices.Contains(g.From, by) })
	slices.SortStableFunc(list, func(a, b facts.GPU) int { return strings.Compare(a.Bus, b.Bus) })
	m.listed, m.numbers = list, map[string]int{}
	for i, g := range list {
		if _, twice := m.numbers[g.Bus]; g.Bus != "" && !twice {
			m.numbers[g.Bus] = i
		}
	}
}

// Judge makes some GPUs those that are judged for.
func (m *Machine) Judge(gpus []GPU) {
	m.GPUs, m.Kinds = gpus, nil
	met := map[GPU]bool{}
	for _, g := range gpus {
		kind := g
		kind.Bus, kind.Index = "", ""
		if !met[kind] {
			met[kind], m.Kinds = true, append(m.Kinds, g)
		}
	}
}

// uncounted reports whether the driver has GPUs which NVML could not ask, so that the numbers of the others are not
// known.
func (m *Machine) uncounted() bool { return m.Facts.Devices.Counted > len(m.listed) }

// show chooses among the GPUs that are there those that a program here is shown.
func (m *Machine) show() []GPU {
	list, set := m.Facts.Variables["CUDA_VISIBLE_DEVICES"]
	listed := m.listed
	m.Shown = Shown{List: list, Set: set && len(listed) > 0, Count: len(listed)}
	if !m.Shown.Set {
		return m.Present
	}
	chosen, numbered := m.choose(listed)
	ordered := !numbered || len(distinct(chosen)) == len(listed) || m.Facts.Variables["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"
	told := !m.Shown.Missing.IsMissing() && !m.Shown.Unsure.IsMissing()
	switch {
	case len(chosen) == 0:
		m.Shown.Hidden, m.Shown.Count = true, 0
		m.Shown.Unsure = verdict.Question(fmt.Sprintf("which GPU a program will be shown: CUDA_VISIBLE_DEVICES=%q hides every one", list))
		return m.Present
	case told && ordered:
	case alike(listed):
		chosen, m.Shown.Unsure, m.Shown.Any = listed[:min(len(chosen), len(listed))], verdict.MissingFact{}, true
	case told:
		m.Shown.Unsure = verdict.Question(fmt.Sprintf("which GPUs CUDA_VISIBLE_DEVICES=%s numbers: CUDA counts from the fastest on unless CUDA_DEVICE_ORDER is PCI_BUS_ID", list))
		chosen = listed
	default:
		chosen, m.Shown.Unsure = listed, cmp.Or(m.Shown.Unsure, m.Shown.Missing)
	}
	var gpus []GPU
	chosen = distinct(chosen)
	if !m.Shown.Unsure.IsMissing() {
		m.Shown.Count = len(chosen)
	}
	for _, g := range chosen {
		gpus = append(gpus, m.GPUFound(g))
	}
	return gpus
}

// hiddenByImage notes that an image hides every GPU from what is started from it, on whatever machine.
func (m *Machine) hiddenByImage() {
	list, set := m.Facts.Variables["CUDA_VISIBLE_DEVICES"]
	if m.Facts.Image != nil && set && slices.Contains(hiding, strings.TrimSpace(list)) {
		m.Shown = Shown{Set: true, List: list, Hidden: true}
	}
}

// choose reads the list up to the first device that is not there; "-1" ends it on purpose, and so does a comma at its
// end. A device that cannot be told from others stands for itself with an empty address.
func (m *Machine) choose(listed []facts.GPU) (chosen []facts.GPU, numbered bool) {
	if slices.Contains(hiding, strings.TrimSpace(m.Shown.List)) {
		return nil, false
	}
	m.Shown.Count = 0
	for name := range strings.SplitSeq(m.Shown.List, ",") {
		name = strings.TrimSpace(name)
		if number, ok := leadingNumber(name); ok && number < 0 || name == "" && len(chosen) > 0 {
			break
		}
		g, missing := m.device(name, listed)
		if g == nil && !missing.IsMissing() {
			m.Shown.Absent = cmp.Or(name, `""`)
			break
		}
		if missing.IsMissing() {
			m.Shown.Missing, g = missing, &facts.GPU{}
		}
		if g.Bus != "" && slices.ContainsFunc(chosen, func(c facts.GPU) bool { return c.Bus == g.Bus }) && !m.Partitioned() {
			m.Shown.Twice, m.Shown.Count = name, 0
			return nil, false
		}
		m.Shown.Count++
		chosen, numbered = append(chosen, *g), numbered || !strings.Contains(name, "-")
	}
	return chosen, numbered
}

// device returns the GPU that one name of the list means, or the fact that is missing to tell; neither, when it is not
// there.
func (m *Machine) device(name string, listed []facts.GPU) (g *facts.GPU, missing verdict.MissingFact) {
	number, ok := leadingNumber(name)
	switch {
	case strings.HasPrefix(name, "MIG-") || strings.HasPrefix(name, "GPU-"):
		return m.deviceNamed(name, listed)
	case !ok:
		return nil, verdict.MissingFact{}
	case m.Partitioned():
		return nil, missingMIG
	case number >= max(len(listed), m.Facts.Devices.Counted):
		return nil, verdict.MissingFact{}
	case m.uncounted():
		return nil, verdict.Question("which GPU is number " + name + ": NVML could not ask all of them")
	}
	return &listed[number], verdict.MissingFact{}
}

// leadingNumber returns the number that CUDA reads of a name, as C's strtoul does: what follows the digits is left out,
// and it is taken modulo 2^32. With driver 580.159.04 "0a", "0x0", "+0" and "4294967296" are 0, and "a0" and "all" are
// nothing.
func leadingNumber(name string) (number int, ok bool) {
	m := digitsFirst.FindStringSubmatch(name)
	if m == nil {
		return 0, false
	}
	for _, digit := range m[2] {
		number = (number*10 + int(digit-'0')) % (1 << 32)
	}
	if m[1] == "-" {
		number = -number
	}
	return number, true
}

var digitsFirst = lazyregexp.New(`^([+-]?)(\d+)`)

// missingMIG: NVML can refuse a MIG device to a process that CUDA lets in, so what it does not show may be there.
var missingMIG = verdict.Question("which MIG devices there are")

// unpartitioned reports whether each GPU says that it is not divided: there is no MIG device that a name can mean.
func unpartitioned(listed []facts.GPU) bool {
	return !slices.ContainsFunc(listed, func(g facts.GPU) bool { return g.MIG != "off" })
}

// deviceNamed returns the GPU of a UUID, or of its beginning, as the probe resolved it; not found is what NVML does not
// have.
func (m *Machine) deviceNamed(name string, listed []facts.GPU) (g *facts.GPU, missing verdict.MissingFact) {
	missing = verdict.Value("the UUIDs of the GPUs")
	if strings.HasPrefix(name, "MIG-") {
		if unpartitioned(listed) && !m.uncounted() {
			return nil, verdict.MissingFact{}
		}
		missing = missingMIG
	}
	i := slices.IndexFunc(m.Facts.Devices.Named, func(d facts.NamedDevice) bool { return d.Device == name })
	if i < 0 {
		return nil, missing
	}
	if !m.Facts.Devices.Named[i].Found {
		return nil, verdict.MissingFact{}
	}
	at := slices.IndexFunc(listed, func(g facts.GPU) bool { return g.Bus != "" && g.Bus == m.Facts.Devices.Named[i].Bus })
	if at < 0 {
		m.Shown.Unsure = verdict.Question("which of the GPUs " + name + " is")
		return &facts.GPU{}, verdict.MissingFact{}
	}
	return &listed[at], verdict.MissingFact{}
}

// alike reports whether the GPUs differ in nothing by which builds are judged, so that it does not matter which are
// meant.
func alike(gpus []facts.GPU) bool {
	return !slices.ContainsFunc(gpus, func(g facts.GPU) bool {
		return g.Name != gpus[0].Name || g.Capability != gpus[0].Capability || g.PCIID != gpus[0].PCIID
	})
}

// distinct drops a GPU that is named twice.
func distinct(gpus []facts.GPU) []facts.GPU {
	var list []facts.GPU
	met := map[string]bool{}
	for _, g := range gpus {
		if g.Bus == "" || !met[g.Bus] {
			met[g.Bus], list = true, append(list, g)
		}
	}
	return list
}

// Hidden returns the addresses of the GPUs that CUDA_VISIBLE_DEVICES keeps from the programs here, as far as that can
// be told.
func (m *Machine) Hidden() []string {
	list := []string{}
	if !m.Shown.Hidden && (!m.Shown.Set || m.Shown.Unsure.IsMissing()) {
		return list
	}
	seen := map[string]bool{}
	for _, g := range m.GPUs {
		seen[g.Bus] = !m.Shown.Hidden
	}
	for _, g := range m.Present {
		if !seen[g.Bus] {
			list = append(list, g.Bus)
		}
	}
	return list
}

// Showing returns the setting under which programs see only the GPUs that pass.
func (m *Machine) Showing(passes func(GPU) bool) string {
	var numbers []string
	for _, g := range m.GPUs {
		if passes(g) {
			numbers = append(numbers, g.Index)
		}
	}
	if m.Partitioned() || slices.Contains(numbers, "") {
		return "CUDA_VISIBLE_DEVICES with the UUIDs of the others (nvidia-smi -L lists them)"
	}
	return "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=" + strings.Join(numbers, ",")
}

// numberOf returns a GPU's number in the order of addresses, empty when it has none.
func (m *Machine) numberOf(g facts.GPU) string {
	i, ok := m.numbers[g.Bus]
	if !ok || m.uncounted() {
		return ""
	}
	return strconv.Itoa(i)
}

// Partitioned reports whether a GPU is divided into MIG devices, which have numbers of their own.
func (m *Machine) Partitioned() bool {
	return slices.ContainsFunc(m.Facts.GPUs, func(g facts.GPU) bool { return g.MIG == "on" })
}

// Listed returns the GPUs that NVML or a pasted nvidia-smi lists, which CUDA_VISIBLE_DEVICES does not change.
func (m *Machine) Listed() []facts.GPU {
	return slices.DeleteFunc(slices.Clone(m.Facts.GPUs), func(g facts.GPU) bool { return !listedByDriver(g) })
}
