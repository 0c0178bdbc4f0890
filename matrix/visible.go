package matrix

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cudacompat/internal/version"
	"cudacompat/probe/facts"
)

// shown is what CUDA_VISIBLE_DEVICES lets a program see of the GPUs that the driver lists.
type shown struct {
	set     bool   // the variable is there, and so are GPUs that it can choose from
	list    string // its value
	count   int    // how many GPUs a program sees
	hidden  bool   // none
	absent  string // the first device of the list that is not there: CUDA stops at it
	missing string // the fact without which a name of the list means nothing
	any     bool   // which ones cannot be told and does not matter, for the GPUs are alike
	unsure  string // why the GPUs that are shown cannot be told from the others; empty when they can
}

// hiding are the values of CUDA_VISIBLE_DEVICES that hide every GPU; Slurm writes the last.
var hiding = []string{"", "-1", "none", "void", "NoDevFiles"}

// list notes the GPUs that CUDA can number, in the order of their addresses: NVML's, else those of the driver's files.
func (m *machine) list() {
	by := "NVML"
	if m.f.Driver.NVML.Status != "ok" {
		by = "/proc/driver/nvidia"
	}
	list := slices.DeleteFunc(slices.Clone(m.f.GPUs), func(g facts.GPU) bool { return !slices.Contains(g.From, by) })
	slices.SortStableFunc(list, func(a, b facts.GPU) int { return strings.Compare(a.Bus, b.Bus) })
	m.listed, m.numbers = list, map[string]int{}
	for i, g := range list {
		if _, twice := m.numbers[g.Bus]; g.Bus != "" && !twice {
			m.numbers[g.Bus] = i
		}
	}
}

// see makes some GPUs those that are judged for.
func (m *machine) see(gpus []gpu) {
	m.gpus, m.kinds = gpus, nil
	met := map[gpu]bool{}
	for _, g := range gpus {
		kind := g
		kind.bus, kind.number = "", ""
		if !met[kind] {
			met[kind], m.kinds = true, append(m.kinds, g)
		}
	}
}

// uncounted reports whether the driver has GPUs which NVML could not ask, so that the numbers of the others are not
// known.
func (m *machine) uncounted() bool { return m.f.Devices.Counted > len(m.listed) }

// show chooses among the GPUs that are there those that a program here is shown.
func (m *machine) show() []gpu {
	list, set := m.f.Variables["CUDA_VISIBLE_DEVICES"]
	listed := m.listed
	m.shown = shown{list: list, set: set && len(listed) > 0, count: len(listed)}
	if !m.shown.set {
		return m.present
	}
	chosen, numbered := m.choose(listed)
	ordered := !numbered || len(distinct(chosen)) == len(listed) || m.f.Variables["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"
	switch {
	case len(chosen) == 0:
		m.shown.hidden, m.shown.count = true, 0
		m.shown.unsure = fmt.Sprintf("which GPU a program will be shown: CUDA_VISIBLE_DEVICES=%q hides every one", list)
		return m.present
	case m.shown.missing+m.shown.unsure == "" && ordered:
	case alike(listed):
		chosen, m.shown.unsure, m.shown.any = listed[:min(len(chosen), len(listed))], "", true
	case m.shown.missing+m.shown.unsure == "":
		m.shown.unsure = fmt.Sprintf("which GPUs CUDA_VISIBLE_DEVICES=%s numbers: CUDA counts from the fastest on unless CUDA_DEVICE_ORDER is PCI_BUS_ID", list)
		chosen = listed
	default:
		chosen, m.shown.unsure = listed, cmp.Or(m.shown.unsure, m.shown.missing)
	}
	var gpus []gpu
	chosen = distinct(chosen)
	if m.shown.unsure == "" {
		m.shown.count = len(chosen)
	}
	for _, g := range chosen {
		gpus = append(gpus, m.gpuFound(g))
	}
	return gpus
}

// choose reads the list up to the first device that is not there; "-1" ends it on purpose. A device that cannot be
// told from others stands for itself with an empty address.
func (m *machine) choose(listed []facts.GPU) (chosen []facts.GPU, numbered bool) {
	if slices.Contains(hiding, strings.TrimSpace(m.shown.list)) {
		return nil, false
	}
	m.shown.count = 0
	for name := range strings.SplitSeq(m.shown.list, ",") {
		name = strings.TrimSpace(name)
		if name == "-1" {
			break
		}
		g, missing := m.device(name, listed)
		if g == nil && missing == "" {
			m.shown.absent = name
			break
		}
		if missing != "" {
			m.shown.missing, g = missing, &facts.GPU{}
		}
		m.shown.count++
		chosen, numbered = append(chosen, *g), numbered || !strings.Contains(name, "-")
	}
	return chosen, numbered
}

// device is the GPU that one name of the list means, or the fact that is missing to tell; neither, when it is not
// there.
func (m *machine) device(name string, listed []facts.GPU) (g *facts.GPU, missing string) {
	mig := strings.HasPrefix(name, "MIG-")
	switch {
	case mig || strings.HasPrefix(name, "GPU-"):
		return m.deviceNamed(name, listed)
	case m.cut():
		return nil, missingMIG
	case name == "" || strings.Trim(name, "0123456789") != "":
		return nil, fmt.Sprintf("what %q means", name)
	case len(name) > 4 || version.Int(name) >= max(len(listed), m.f.Devices.Counted):
		return nil, ""
	case m.uncounted():
		return nil, "which GPU is number " + name + ": NVML could not ask all of them"
	}
	return &listed[version.Int(name)], ""
}

// missingMIG: NVML can refuse a MIG device to a process that CUDA lets in, so what it does not show may be there.
const missingMIG = "which MIG devices there are"

// deviceNamed is the GPU of a UUID, or of its beginning, as the probe resolved it; not found is what NVML does not
// have.
func (m *machine) deviceNamed(name string, listed []facts.GPU) (g *facts.GPU, missing string) {
	missing = "the UUIDs of the GPUs"
	if strings.HasPrefix(name, "MIG-") {
		missing = missingMIG
	}
	i := slices.IndexFunc(m.f.Devices.Named, func(d facts.NamedDevice) bool { return d.Device == name })
	if i < 0 {
		return nil, missing
	}
	if !m.f.Devices.Named[i].Found {
		return nil, ""
	}
	at := slices.IndexFunc(listed, func(g facts.GPU) bool { return g.Bus != "" && g.Bus == m.f.Devices.Named[i].Bus })
	if at < 0 {
		m.shown.unsure = "which of the GPUs " + name + " is"
		return &facts.GPU{}, ""
	}
	return &listed[at], ""
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

// asShown asks of a build what depends on the GPUs. Where it is not known which of them a program is shown, it is asked for
// each alone and for all, and says something when they agree; while all are hidden it says nothing above a note.
func (m *machine) asShown(ask func(*machine, *build) []*result, b *build) []*result {
	results := ask(m, b)
	if m.shown.unsure == "" {
		return results
	}
	weights := []Severity{weight(results)}
	for i := range m.kinds {
		alone := *m
		alone.worked = &worked{}
		alone.see(m.kinds[i : i+1])
		weights = append(weights, weight(ask(&alone, b)))
	}
	hidden := m.shown.hidden && weights[0] != "" && weights[0] != Note
	switch {
	case len(slices.Compact(slices.Clone(weights))) == 1 && !hidden:
		return results
	case slices.Contains(weights, Error):
		return undecidable(b.subject, m.shown.unsure)
	}
	return unknown(b.subject, m.shown.unsure)
}

// weight is the severity of what a rule found, empty when it found nothing.
func weight(results []*result) Severity {
	for _, r := range results {
		if r.finding != nil {
			return r.finding.Severity
		}
	}
	return ""
}

// hidden are the addresses of the GPUs that CUDA_VISIBLE_DEVICES keeps from the programs here, as far as that can be
// told.
func (m *machine) hidden() []string {
	list := []string{}
	if !m.shown.hidden && (!m.shown.set || m.shown.unsure != "") {
		return list
	}
	seen := map[string]bool{}
	for _, g := range m.gpus {
		seen[g.bus] = !m.shown.hidden
	}
	for _, g := range m.present {
		if !seen[g.bus] {
			list = append(list, g.bus)
		}
	}
	return list
}

// others are the GPUs that are not among some.
func others(some []gpu) func(gpu) bool {
	among := map[gpu]bool{}
	for _, g := range some {
		among[g] = true
	}
	return func(g gpu) bool { return !among[g] }
}

// showing is the setting under which programs see only the GPUs that pass.
func (m *machine) showing(passes func(gpu) bool) string {
	var numbers []string
	for _, g := range m.gpus {
		if passes(g) {
			numbers = append(numbers, g.number)
		}
	}
	if m.cut() || slices.Contains(numbers, "") {
		return "CUDA_VISIBLE_DEVICES with the UUIDs of the others (nvidia-smi -L lists them)"
	}
	return "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=" + strings.Join(numbers, ",")
}

// numberOf is a GPU's number in the order of addresses, empty when it has none.
func (m *machine) numberOf(g facts.GPU) string {
	i, ok := m.numbers[g.Bus]
	if !ok || m.uncounted() {
		return ""
	}
	return strconv.Itoa(i)
}

// cut reports whether a GPU is divided into MIG devices, which have numbers of their own.
func (m *machine) cut() bool {
	return slices.ContainsFunc(m.f.GPUs, func(g facts.GPU) bool { return g.MIG == "on" })
}

// seen are the GPUs that NVML lists, which CUDA_VISIBLE_DEVICES does not change.
func (m *machine) seen() []facts.GPU {
	return slices.DeleteFunc(slices.Clone(m.f.GPUs), func(g facts.GPU) bool { return !slices.Contains(g.From, "NVML") })
}
