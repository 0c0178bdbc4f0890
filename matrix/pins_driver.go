package matrix

import (
	"fmt"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/pin"
)

// driverPins is the smallest driver change that would do: the newest release of the lowest branch that is still
// maintained, drives every GPU here, and reaches the floor of the CUDA (when one is given). Empty when there is none,
// or when a driver cannot be chosen here.
func (m *machine) driverPins(cuda version.Number) []Pin {
	if m.windowsNumbers() || m.jetson() || m.policy.NoPins {
		return nil
	}
	branch := m.driverBranch(func(b *tables.Branch) bool { return m.reaches(b, cuda) })
	if branch == nil {
		return nil
	}
	why := m.reboot()
	if need, least, _ := m.t.Floor(cuda, m.windowsNumbers()); cuda.Known() && least.Known() {
		why = fmt.Sprintf("%s; any %s is enough", why, need)
	}
	return []Pin{m.driverPin(*branch, why)}
}

// driverPin is the newest driver of a branch, installed on the machine that was read.
func (m *machine) driverPin(b tables.Branch, why string) Pin {
	p := Pin{Package: "driver", Version: b.Newest.String(), Why: why, Commands: m.driverCommands(b), Steps: m.driverSteps(b)}
	// A tree at rest boots anyway, and who builds it must not be rebooted.
	if s := m.hostSystem(); s.Family != "" && m.here() {
		for tool, command := range p.Commands {
			p.Commands[tool] = pin.All(command, s.AsRoot("reboot"))
		}
	}
	return p
}

// reboot is what a driver change costs here.
func (m *machine) reboot() string {
	if m.dockerfile() || m.f.System.Container != "" && m.target.Instance == "" {
		return "on the host; needs a reboot"
	}
	return "needs a reboot"
}

// driverBranch chooses the branch: among those that drive every GPU here and reach what is asked for, the lowest that
// is not past its end of life, else the highest. A new-feature branch without a date of its own ends when the next one
// starts, so it is not taken for maintained.
func (m *machine) driverBranch(reaches func(*tables.Branch) bool) *tables.Branch {
	branches := tables.Rows[tables.Branch](m.t)
	var last *tables.Branch
	for i := range branches {
		b := &branches[i]
		if !b.Newest.Known() || !m.branchFits(b) || !reaches(b) {
			continue
		}
		last = b
		if b.EndOfLife == "" && b.Type != "NFB" || b.EndOfLife > m.today() {
			return b
		}
	}
	return last
}

// branchFits reports whether a branch drives every GPU here.
func (m *machine) branchFits(b *tables.Branch) bool {
	for _, g := range m.present {
		if g.chip == nil {
			continue
		}
		if !m.drivenBy(g, b.Newest) {
			return false
		}
		if g.chip.OpenModule == "unsupported" && b.Module == "open" ||
			g.chip.OpenModule == "required" && b.Module == "proprietary" {
			return false
		}
	}
	return true
}

// reaches reports whether a branch reaches the floor of a CUDA, where one is asked for.
func (m *machine) reaches(b *tables.Branch, cuda version.Number) bool {
	if !cuda.Known() {
		return true
	}
	_, least, _ := m.t.Floor(cuda, m.windowsNumbers())
	if least.Known() {
		return !b.Newest.Less(least)
	}
	return b.CUDA.Known() && !b.CUDA.LessShort(cuda)
}

// partOfGPU reports whether the instance type has a fraction of a GPU, which only the vGPU guest driver drives.
func (m *machine) partOfGPU() bool { return m.instance != nil && m.instance.GRID == "yes" }

// openModule says which kernel module fits: open where a GPU needs it or the branch has no other, else proprietary
// where a GPU cannot use it; both fit in between, and then open is NVIDIA's default since branch 560.
func (m *machine) openModule(b tables.Branch) bool {
	for _, g := range m.present {
		if g.chip != nil && g.chip.OpenModule == "required" {
			return true
		}
		if g.chip != nil && g.chip.OpenModule == "unsupported" {
			return false
		}
	}
	return b.Module == "open" || b.Module == "both" && b.Number() >= 560
}
