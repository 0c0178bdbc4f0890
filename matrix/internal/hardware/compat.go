package hardware

import (
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// forwardSource is NVIDIA's page about forward compatibility.
const forwardSource = "https://docs.nvidia.com/deploy/cuda-compatibility/forward-compatibility.html"

// ForwardState says whether the cuda-compat library that the loader takes works on this machine.
type ForwardState int

const (
	ForwardNone         ForwardState = iota // none is taken, or it is the driver's own release
	ForwardWorks                            // it lifts the driver
	ForwardStale                            // error 803: not newer than the driver, or not for its branch
	ForwardWrongGPU                         // error 804: not for one of the GPUs
	ForwardUndecided                        // whether it is for this driver is not known
	ForwardUndecidedGPU                     // whether it is for these GPUs is not known
)

// Forward is the cuda-compat library that programs here load as libcuda.
type Forward struct {
	*facts.Compat
	State      ForwardState        // whether it works here
	Why        string              // for a sentence: what is wrong with it
	Lacks      verdict.MissingFact // the fact without which nobody can tell
	Number     version.Number      // its own, as a driver's
	CUDANumber version.Number      // that it speaks
	Base       Driver              // without it
	Wrong      []GPU               // GPUs that it is not for
	Source     []string            // where its limits are published
}

// layCompat judges the cuda-compat library that the loader takes. If it works, its CUDA replaces the driver's. NVML
// asks that same libcuda, so in this case NVML's CUDA version is not the driver's own.
func (m *Machine) layCompat() {
	i := slices.IndexFunc(m.Facts.Driver.Compat, func(c facts.Compat) bool { return c.Taken })
	// Jetson's compat packages follow L4T, and WSL's libcuda belongs to the Windows driver. Linux branches say nothing
	// about either.
	if m.Jetson() || m.WindowsNumbers() {
		return
	}
	if i < 0 {
		m.layPastedCompat()
		return
	}
	c := &m.Facts.Driver.Compat[i]
	f := Forward{Compat: c, Number: version.ParseOrZero(c.Version), Source: []string{forwardSource}}
	// A library of the driver's own release changes nothing, wherever it is.
	if m.kmd.Version.Known() && f.Number.Compare(m.kmd.Version) == 0 {
		return
	}
	if v := m.kmd.Version; v.Known() {
		m.kmd.CUDA, m.kmd.CUDASeen = m.Tables.BranchCUDA(v), false
	}
	f.Base, f.CUDANumber = m.kmd, version.ParseOrZero(c.CUDA)
	if !f.CUDANumber.Known() {
		f.CUDANumber = m.Tables.BranchCUDA(f.Number)
	}
	m.lift = f
	m.lift.State = m.forwardState()
	if m.lift.State == ForwardWorks {
		m.kmd.user, m.kmd.CUDA, m.kmd.CUDASeen = f.Number, f.CUDANumber, c.CUDA != ""
	}
}

// fromSMI marks facts from a pasted nvidia-smi output.
const fromSMI = "nvidia-smi"

// layPastedCompat judges the cuda-compat library that a text shows: nvidia-smi reports a newer CUDA than its driver's
// own, or a program got error 804 while nvidia-smi works. It changes the answer only for GPUs that refuse such a
// library. On others, programs get the CUDA that nvidia-smi reports.
func (m *Machine) layPastedCompat() {
	base, own := m.kmd, m.Tables.BranchCUDA(m.kmd.Version)
	newer := m.Facts.Driver.CUDAFrom == fromSMI && base.CUDASeen && own.Known() && own.LessShort(base.CUDA)
	refused := slices.Contains(m.Facts.Observed.Errors, 804) && m.Facts.Driver.NVML.Status == "ok"
	wrong := m.notDataCentre()
	if !newer && !refused || m.Target.Named() || base.From == "--driver" {
		return
	}
	if len(wrong) == 0 {
		if newer && len(m.GPUs) > 0 && !m.Shown.Unsure.IsMissing() {
			m.layPastedLift(base, own)
		}
		return
	}
	f := Forward{Compat: &facts.Compat{Name: "libcuda", Version: "newer than the driver", Taken: true, Path: "the text", Reason: "its error 804"},
		State: ForwardWrongGPU, Base: base, Wrong: wrong, Source: []string{forwardSource},
		Why: wrong[0].Label + " does not support forward compatibility"}
	if newer {
		f.Version, f.Path, f.Reason = "of CUDA "+base.CUDA.Short(), fromSMI, fmt.Sprintf("it: driver %s has CUDA %s of its own", base.Version, own.Short())
		f.CUDANumber = base.CUDA
		f.Base.CUDA, f.Base.CUDASeen = own, false
		m.kmd.CUDA, m.kmd.CUDASeen = own, false
	}
	m.lift = f
}

// layPastedLift replaces the driver's CUDA by that of the cuda-compat library that nvidia-smi shows, because programs
// load that library.
func (m *Machine) layPastedLift(base Driver, own version.Number) {
	f := Forward{Compat: &facts.Compat{Name: "libcuda", Version: "of CUDA " + base.CUDA.Short(), Taken: true, Path: fromSMI,
		Reason: fmt.Sprintf("it: driver %s has CUDA %s of its own", base.Version, own.Short())},
		State: ForwardWorks, Base: base, CUDANumber: base.CUDA, Source: []string{forwardSource}}
	f.Base.CUDA, f.Base.CUDASeen = own, false
	m.lift = f
}

// forwardState checks in the order in which CUDA does: a library older than the module (803) works on no GPU.
func (m *Machine) forwardState() ForwardState {
	f := m.Forward()
	if !f.Base.Version.Known() {
		f.Lacks = verdict.Question("which kernel-mode driver is under " + f.Path)
		return ForwardUndecided
	}
	if !f.Number.Known() {
		f.Lacks = verdict.Value("the version of " + f.Path)
		return ForwardUndecided
	}
	if f.Number.Less(f.Base.Version) {
		f.Why = fmt.Sprintf("it is older than driver %s", f.Base.Version)
		return ForwardStale
	}
	f.Wrong = m.notDataCentre()
	if len(f.Wrong) > 0 && m.Shown.Unsure.IsMissing() && (m.Shown.Hidden || len(f.Wrong) < len(m.GPUs)) {
		f.Lacks = m.Shown.Unsure
		return ForwardUndecidedGPU
	}
	if len(f.Wrong) > 0 {
		f.Why = f.Wrong[0].Label + " does not support forward compatibility"
		return ForwardWrongGPU
	}
	if state := m.baseBranch(); state != ForwardWorks {
		return state
	}
	return m.forwardGPUs()
}

// forwardGPUs looks for a GPU that may not support forward compatibility.
func (m *Machine) forwardGPUs() ForwardState {
	f := m.Forward()
	for _, g := range m.GPUs {
		switch {
		case g.DataCentre() != Yes:
			f.Lacks = verdict.Question("whether " + g.Label + " is a GPU that forward compatibility is for")
			return ForwardUndecidedGPU
		case g.IsDropped(f.Number.Major()):
			f.Lacks = verdict.Question(fmt.Sprintf("whether libcuda %s still drives %s, as drivers of its branch do not", f.Number, g.Label))
			return ForwardUndecidedGPU
		}
	}
	return ForwardWorks
}

// IsDropped reports whether a driver branch no longer supports the GPU.
func (g GPU) IsDropped(branch int) bool {
	return g.Chip != nil && g.Chip.LastBranch.Known() && g.Chip.LastBranch.Major() < branch
}

// baseBranch asks the library's note, otherwise the table, whether the library may run on this branch of the kernel
// driver. A branch that the table does not list proves nothing, because NVIDIA removes branches past their end of life.
func (m *Machine) baseBranch() ForwardState {
	f := m.Forward()
	branch := fmt.Sprint(f.Base.Version.Major())
	allowed, listed := f.Branches, len(f.Branches) > 0
	if listed && slices.Contains(allowed, f.Base.Version.Major()) {
		return ForwardWorks
	}
	if listed {
		f.Why = fmt.Sprintf("its ELF note lists driver branches %s, not %s", joinInts(allowed), branch)
		return ForwardStale
	}
	row := m.Tables.Forward(f.Number)
	if row != nil && slices.Contains(row.Base, branch) {
		f.Source = append(f.Source, row.Source...)
		return ForwardWorks
	}
	f.Lacks = verdict.Question(fmt.Sprintf("whether libcuda %s may run on driver branch %s: it carries no note that says so, and the tables do not know", f.Number, branch))
	return ForwardUndecided
}

func joinInts(list []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(list), " ", ", "), "[]")
}

// notDataCentre returns the visible GPUs that certainly do not support forward compatibility.
func (m *Machine) notDataCentre() []GPU {
	var list []GPU
	for _, g := range m.GPUs {
		if g.DataCentre() == No {
			list = append(list, g)
		}
	}
	return list
}

// Trilean is a truth value that may be unknown.
type Trilean int

// The values of a Trilean.
const (
	Maybe Trilean = iota
	Yes
	No
)

var (
	consumerName   = lazyregexp.New(`^(geforce|titan|gtx|mx\d|rtx [2-9]0[5-9]0)\b`) // "RTX 3060 Laptop", as people write it
	dataCentreName = lazyregexp.New(`^(tesla .+|(gh|gb|gr|[abhlv])\d+\S*( .*)?|t4g?|p(100|40|4)\b.*)$`)
	workstation    = lazyregexp.New(`\b(rtx|quadro|nvs|active|laptop)\b`)
)

// market says to whom NVIDIA sells a GPU.
type market int8

const (
	notClassified market = iota
	forDataCentres
	forOthers
	forBoth // or not known
)

// DataCentre reports whether NVIDIA sells the GPU for data centres. A chip is sold in several product lines, so the
// name decides if there is one. Only some RTX boards qualify and no list is published, so for them the answer is maybe.
func (g GPU) DataCentre() Trilean {
	if g.market == notClassified {
		g.market = marketOf(g.Name, g.Chip)
	}
	switch g.market {
	case forDataCentres:
		return Yes
	case forOthers:
		return No
	}
	return Maybe
}

// marketOf classifies a GPU by its name and its chip. chip may be nil.
func marketOf(name string, chip *tables.Chip) market {
	name = tables.NormalGPU(name)
	kind := []string{}
	if chip != nil {
		kind = chip.Kind
	}
	switch {
	case consumerName.MatchString(name), slices.Equal(kind, []string{"geforce"}):
		return forOthers
	case strings.Contains(name, "server edition"):
		return forDataCentres
	case chip != nil && chip.HasName("geforce "+name): // "RTX 4090", as people write it
		return forOthers
	case slices.Contains(kind, "integrated"), workstation.MatchString(name):
		return forBoth
	case dataCentreName.MatchString(name), slices.Equal(kind, []string{"data-centre"}):
		return forDataCentres
	}
	return forBoth
}

// CompatPackage returns the lowest cuda-compat package that provides a CUDA. It returns nil if a GPU is not certainly a
// data-centre one, or NVIDIA does not list the driver's branch, so that it never leads to error 803 or 804.
func (m *Machine) CompatPackage(cuda version.Number) *tables.Forward {
	base := m.Driver().Version
	if !cuda.Known() || !base.Known() || len(m.GPUs) == 0 || m.WindowsNumbers() || m.Jetson() ||
		slices.ContainsFunc(m.GPUs, func(g GPU) bool { return g.DataCentre() != Yes }) {
		return nil
	}
	rows := tables.Rows[tables.Forward](m.Tables)
	i := slices.IndexFunc(rows, func(r tables.Forward) bool {
		dropped := slices.ContainsFunc(m.GPUs, func(g GPU) bool { return g.IsDropped(version.Int(r.Branch)) })
		return !dropped && !r.CUDA.LessShort(cuda) && slices.Contains(r.Base, fmt.Sprint(base.Major()))
	})
	if i < 0 {
		return nil
	}
	return &rows[i]
}

// Dockerfile reports whether the image of a Dockerfile is judged and not the host that will run it.
func (m *Machine) Dockerfile() bool {
	e := m.Facts.Environments
	return len(e) == 1 && e[0].Kind == "Dockerfile" && len(e[0].Requested) > 0
}

// EvidenceCompat returns the library that the loader takes, and why it takes it.
func (m *Machine) EvidenceCompat() verdict.Evidence {
	return verdict.Evidence{Fact: "libcuda", Value: m.Forward().Version, From: m.Forward().Path + ", taken by " + m.Forward().Reason}
}

// CompatTaken reports whether programs load a cuda-compat library instead of the driver's libcuda.
func (m *Machine) CompatTaken() bool {
	return slices.ContainsFunc(m.Facts.Driver.Compat, func(c facts.Compat) bool { return c.Taken })
}
