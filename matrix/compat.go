package matrix

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/pin"
	"cudacompat/probe/facts"
)

// forwardSource is NVIDIA's page of the rules of forward compatibility.
const forwardSource = "https://docs.nvidia.com/deploy/cuda-compatibility/forward-compatibility.html"

// forwardState is how a cuda-compat library that the loader takes stands to this machine.
type forwardState int

const (
	forwardNone         forwardState = iota // none is taken, or it is the driver's own release
	forwardWorks                            // it lifts the driver
	forwardStale                            // error 803: not newer than the driver, or not for its branch
	forwardWrongGPU                         // error 804: not for one of the GPUs
	forwardUndecided                        // whether it is for this driver is not known
	forwardUndecidedGPU                     // whether it is for these GPUs is not known
)

// forward is the cuda-compat library that programs here get for their libcuda.
type forward struct {
	*facts.Compat
	state   forwardState   // whether it works here
	why     string         // for a sentence: what is wrong with it, or the fact that is missing
	version version.Number // its own, as a driver's
	cuda    version.Number // that it speaks
	base    driver         // without it
	wrong   []gpu          // GPUs that it is not for
	source  []string       // where its limits are published
}

// layCompat judges the cuda-compat library that is taken and, where it works, lets its user space stand for the
// driver's. NVML asks the libcuda that the loader takes, so what it says of CUDA is not the driver's own then.
func (m *machine) layCompat() {
	i := slices.IndexFunc(m.f.Driver.Compat, func(c facts.Compat) bool { return c.Taken })
	// Jetson's compat packages follow L4T, and WSL's libcuda is the Windows driver's: no branch of Linux says anything of
	// them.
	if i < 0 || m.jetson() || m.windowsNumbers() {
		return
	}
	c := &m.f.Driver.Compat[i]
	f := forward{Compat: c, version: version.Of(c.Version), source: []string{forwardSource}}
	// The driver's own release, wherever it lies, changes nothing.
	if m.kmd.version.Known() && f.version.Compare(m.kmd.version) == 0 {
		return
	}
	if v := m.kmd.version; v.Known() {
		m.kmd.cuda, m.kmd.cudaSaw = m.t.BranchCUDA(v), false
	}
	f.base, f.cuda = m.kmd, version.Of(c.CUDA)
	if !f.cuda.Known() {
		f.cuda = m.t.BranchCUDA(f.version)
	}
	m.lift = f
	m.lift.state = m.forwardState()
	if m.lift.state == forwardWorks {
		m.kmd.user, m.kmd.cuda, m.kmd.cudaSaw = f.version, f.cuda, c.CUDA != ""
	}
}

// forwardState goes by what CUDA itself refuses first: a library that is older than the module (803) works on no GPU.
func (m *machine) forwardState() forwardState {
	f := m.forward()
	if !f.base.version.Known() {
		f.why = "which kernel-mode driver is under " + f.Path
		return forwardUndecided
	}
	if !f.version.Known() {
		f.why = "the version of " + f.Path
		return forwardUndecided
	}
	if f.version.Less(f.base.version) {
		f.why = fmt.Sprintf("it is older than driver %s", f.base.version)
		return forwardStale
	}
	f.wrong = m.notDataCentre()
	if len(f.wrong) > 0 && m.shown.unsure != "" && (m.shown.hidden || len(f.wrong) < len(m.gpus)) {
		f.why = m.shown.unsure
		return forwardUndecidedGPU
	}
	if len(f.wrong) > 0 {
		f.why = f.wrong[0].label + " does not support forward compatibility"
		return forwardWrongGPU
	}
	if state := m.baseBranch(); state != forwardWorks {
		return state
	}
	return m.forwardGPUs()
}

// forwardGPUs looks for a GPU that is not known to be served.
func (m *machine) forwardGPUs() forwardState {
	f := m.forward()
	for _, g := range m.gpus {
		switch {
		case g.dataCentre() != yes:
			f.why = "whether " + g.label + " is a GPU that forward compatibility is for"
			return forwardUndecidedGPU
		case g.dropped(f.version.Major()):
			f.why = fmt.Sprintf("whether libcuda %s still drives %s, as drivers of its branch do not", f.version, g.label)
			return forwardUndecidedGPU
		}
	}
	return forwardWorks
}

// dropped reports whether drivers of a branch no longer drive the GPU.
func (g gpu) dropped(branch int) bool {
	return g.chip != nil && g.chip.LastBranch.Known() && g.chip.LastBranch.Major() < branch
}

// baseBranch asks the library's note, else the table, whether it may run on this branch of the kernel-mode driver. A
// branch that the table does not list proves nothing: NVIDIA strikes those past their end of life.
func (m *machine) baseBranch() forwardState {
	f := m.forward()
	branch := fmt.Sprint(f.base.version.Major())
	allowed, listed := f.Branches, len(f.Branches) > 0
	if listed && slices.Contains(allowed, f.base.version.Major()) {
		return forwardWorks
	}
	if listed {
		f.why = fmt.Sprintf("its ELF note lists driver branches %s, not %s", joinInts(allowed), branch)
		return forwardStale
	}
	row := m.t.Forward(f.version)
	if row != nil && slices.Contains(row.Base, branch) {
		f.source = append(f.source, row.Source...)
		return forwardWorks
	}
	f.why = fmt.Sprintf("whether libcuda %s may run on driver branch %s: it carries no note that says so, and the tables do not know", f.version, branch)
	return forwardUndecided
}

func joinInts(list []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(list), " ", ", "), "[]")
}

// notDataCentre are the visible GPUs that forward compatibility is certainly not for.
func (m *machine) notDataCentre() []gpu {
	var list []gpu
	for _, g := range m.gpus {
		if g.dataCentre() == no {
			list = append(list, g)
		}
	}
	return list
}

// trilean is an answer that can be missing.
type trilean int

// The answers.
const (
	maybe trilean = iota
	yes
	no
)

var (
	consumerName   = lazyregexp.New(`^(geforce|titan|gtx|mx\d)\b`)
	dataCentreName = lazyregexp.New(`^(tesla .+|(gh|gb|gr|[abhlv])\d+\S*( .*)?|t4g?|p(100|40|4)\b.*)$`)
	workstation    = lazyregexp.New(`\b(rtx|quadro|nvs|active|laptop)\b`)
)

// dataCentre reports whether NVIDIA sells the GPU for data centres. A chip is sold in several lines, so the name
// decides where there is one. Of RTX boards only some are allowed, and no list of them is published: maybe.
func (g gpu) dataCentre() trilean {
	name := tables.NormalGPU(g.name)
	kind := []string{}
	if g.chip != nil {
		kind = g.chip.Kind
	}
	switch {
	case consumerName.MatchString(name), slices.Equal(kind, []string{"geforce"}):
		return no
	case strings.Contains(name, "server edition"):
		return yes
	case slices.Contains(kind, "integrated"), workstation.MatchString(name):
		return maybe
	case dataCentreName.MatchString(name), slices.Equal(kind, []string{"data-centre"}):
		return yes
	}
	return maybe
}

// compatPackage is the lowest package that reaches a CUDA; nil where a GPU is not certainly a data-centre one, or
// NVIDIA does not list the driver's branch: what is proposed must not end in error 803 or 804.
func (m *machine) compatPackage(cuda version.Number) *tables.Forward {
	base := m.driver().version
	if !cuda.Known() || !base.Known() || len(m.gpus) == 0 || m.windowsNumbers() || m.jetson() ||
		slices.ContainsFunc(m.gpus, func(g gpu) bool { return g.dataCentre() != yes }) {
		return nil
	}
	rows := tables.Rows[tables.Forward](m.t)
	i := slices.IndexFunc(rows, func(r tables.Forward) bool {
		dropped := slices.ContainsFunc(m.gpus, func(g gpu) bool { return g.dropped(version.Int(r.Branch)) })
		return !dropped && !r.CUDA.LessShort(cuda) && slices.Contains(r.Base, fmt.Sprint(base.Major()))
	})
	if i < 0 {
		return nil
	}
	return &rows[i]
}

// compatPins is the cuda-compat package that would lift this driver to a CUDA: the lowest one, where every GPU is a
// data-centre one and NVIDIA lists the driver's branch. Where it is installed, steps say how the loader comes to take it.
func (m *machine) compatPins(cuda version.Number) (pins []Pin, steps []pin.Step) {
	row := m.compatPackage(cuda)
	if row == nil {
		return nil, nil
	}
	for _, c := range m.f.Driver.Compat {
		if version.Of(c.Version).Major() == version.Int(row.Branch) && !c.Taken {
			return nil, []pin.Step{pin.Run("export LD_LIBRARY_PATH=" + first(path.Dir(c.Path))).That(fmt.Sprintf(
				"uses %s, which is installed; keeps the driver (forward compatibility, %s)", row.Package, m.forwardWords())).Instead()}
		}
	}
	why, commands := "keeps the driver", m.compatCommands(row)
	if m.dockerfile() {
		why = "in the image; keeps the driver of the host"
	}
	return []Pin{{Package: row.Package, Version: row.CUDA.String(),
		Why: why + "; forward compatibility, " + m.forwardWords(), Commands: commands}}, nil
}

// compatCommands install a cuda-compat package and have the loader take it, on this machine or in the image that a
// Dockerfile makes.
func (m *machine) compatCommands(row *tables.Forward) map[string]string {
	library := "LD_LIBRARY_PATH=" + first("/usr/local/cuda-"+row.CUDA.Short()+"/compat")
	if m.dockerfile() {
		return m.imageCommands(row.Package, "ENV "+library)
	}
	command := func(family string) string {
		s := pin.System{Family: family, Root: m.f.System.Container != ""}
		return pin.All(s.Install(row.Package), "export "+library) + from
	}
	apt, dnf := command("ubuntu"), command("rhel")
	switch m.debian() {
	case yes:
		return map[string]string{"apt": apt}
	case no:
		return map[string]string{"dnf": dnf}
	}
	return map[string]string{"apt": apt + " (Debian, Ubuntu)", "dnf": dnf + " (RHEL, Fedora, Amazon Linux 2023)"}
}

const from = "  # needs NVIDIA's repository"

// imageCommands are the instructions of a Dockerfile; the images that begin with NVIDIA's have its repository.
func (m *machine) imageCommands(name, env string) map[string]string {
	base := m.f.Environments[0].Wanted[0]
	where := from + " in the image"
	if strings.Contains(base.Name, "nvidia/") {
		where = ""
	}
	if redHatImage.MatchString(base.Name + ":" + base.Version) {
		return map[string]string{"dnf": "RUN dnf install -y " + name + where, "env": env}
	}
	return map[string]string{"apt": "RUN apt-get update && apt-get install -y " + name + where, "env": env}
}

// redHatImage matches the images whose packages dnf installs; the tags of nvidia/cuda name their system.
var redHatImage = lazyregexp.New(`(?i)\bubi\d|rocky|alma|centos|rhel|fedora|amazonlinux|oraclelinux`)

// dockerfile reports whether what is judged is the image of a Dockerfile, and not the host that will run it.
func (m *machine) dockerfile() bool {
	e := m.f.Environments
	return len(e) == 1 && e[0].Kind == "Dockerfile" && len(e[0].Wanted) > 0
}

// forwardWords says that the GPUs support forward compatibility, as those for which compatPackage names a package do.
func (m *machine) forwardWords() string {
	if len(m.gpus) == 1 {
		return "which this data-centre GPU supports"
	}
	return "which these data-centre GPUs support"
}

// evidenceCompat is the taken library, with the reason why it is.
func (m *machine) evidenceCompat() Evidence {
	return Evidence{Fact: "libcuda", Value: m.forward().Version, From: m.forward().Path + ", taken by " + m.forward().Reason}
}

// compatTaken reports whether a cuda-compat library stands in for the driver's user space.
func (m *machine) compatTaken() bool {
	return slices.ContainsFunc(m.f.Driver.Compat, func(c facts.Compat) bool { return c.Taken })
}
