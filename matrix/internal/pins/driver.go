package pins

import (
	"fmt"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
)

// DriverPins returns the smallest sufficient driver change: the newest release of the lowest maintained branch that
// supports every GPU here and meets the minimum for cuda, if given. It returns nil if there is none, or if a driver
// cannot be chosen here.
func DriverPins(m *model.Machine, cuda version.Number) []verdict.Pin {
	if m.WindowsNumbers() || m.Jetson() || m.Policy.NoPins {
		return nil
	}
	branch := DriverBranch(m, func(b *tables.Branch) bool { return reaches(m, b, cuda) })
	if branch == nil {
		return nil
	}
	why := Reboot(m)
	if need, least, _ := m.Tables.Floor(cuda, m.WindowsNumbers()); cuda.Known() && least.Known() {
		why = fmt.Sprintf("%s; any %s is enough", why, need)
	}
	return []verdict.Pin{DriverPin(m, *branch, why)}
}

// DriverPin returns the newest driver of a branch, as installed on the machine that was read.
func DriverPin(m *model.Machine, b tables.Branch, why string) verdict.Pin {
	if m.Policy.NoPins {
		return verdict.Pin{Package: "driver", Version: b.Newest.String(), Why: why}
	}
	p := verdict.Pin{Package: "driver", Version: b.Newest.String(), Why: why, Commands: driverCommands(m, b), Steps: driverSteps(m, b)}
	// An image at rest boots anyway, and the machine that builds it must not be rebooted.
	if s := HostSystem(m); s.Family != "" && m.Here() {
		for tool, command := range p.Commands {
			p.Commands[tool] = pin.Sequence(command, s.AsRoot("reboot"))
		}
	}
	return p
}

// Reboot says what a driver change costs here.
func Reboot(m *model.Machine) string {
	if m.Dockerfile() || m.Facts.System.Container != "" && m.Target.Instance == "" {
		return "on the host; needs a reboot"
	}
	return "needs a reboot"
}

// DriverBranch chooses a branch among those that support every GPU here and everything requested: the lowest that is
// not past its end of life, otherwise the highest. A new-feature branch without an end date ends when the next branch
// starts, so it does not count as maintained.
func DriverBranch(m *model.Machine, reaches func(*tables.Branch) bool) *tables.Branch {
	branches := tables.Rows[tables.Branch](m.Tables)
	var last *tables.Branch
	for i := range branches {
		b := &branches[i]
		if !b.Newest.Known() || !BranchFits(m, b) || !reaches(b) {
			continue
		}
		last = b
		if IsMaintained(m, b) {
			return b
		}
	}
	return last
}

// IsMaintained reports whether a branch is not past its end of life.
func IsMaintained(m *model.Machine, b *tables.Branch) bool {
	return b.EndOfLife == "" && b.Type != "NFB" || b.EndOfLife > m.Today()
}

// ExplainBranch says why a set takes a branch: it is the lowest that works, or one past its end of life because no
// other works.
func ExplainBranch(m *model.Machine, b *tables.Branch) string {
	if !IsMaintained(m, b) {
		return "branch " + b.Branch + " is past its end of life, and no maintained branch runs it"
	}
	return "branch " + b.Branch + " is the oldest maintained branch that runs it"
}

// DescribeNewest describes the branch of the set with the newest release.
func DescribeNewest(m *model.Machine, b *tables.Branch) string {
	if !IsMaintained(m, b) {
		return "on the last driver branch that supports the GPU, which is past its end of life"
	}
	return "on the newest maintained driver branch that supports the GPU"
}

// BranchFits reports whether a branch supports every GPU here.
func BranchFits(m *model.Machine, b *tables.Branch) bool {
	for _, g := range m.Present {
		if g.Chip == nil {
			continue
		}
		if !m.DrivenBy(g, b.Newest) {
			return false
		}
		if g.Chip.OpenModule == "unsupported" && b.Module == "open" ||
			g.Chip.OpenModule == "required" && b.Module == "proprietary" {
			return false
		}
	}
	return true
}

// reaches reports whether a branch meets the minimum for a CUDA, if one is given.
func reaches(m *model.Machine, b *tables.Branch, cuda version.Number) bool {
	if !cuda.Known() {
		return true
	}
	_, least, _ := m.Tables.Floor(cuda, m.WindowsNumbers())
	if least.Known() {
		return !b.Newest.Less(least)
	}
	return b.CUDA.Known() && !b.CUDA.LessShort(cuda)
}

// openModule reports which kernel module to install: open if a GPU needs it or the branch has no other, proprietary if
// a GPU cannot use the open one. If both work it is open, NVIDIA's default since branch 560.
func openModule(m *model.Machine, b tables.Branch) bool {
	for _, g := range m.Present {
		if g.Chip != nil && g.Chip.OpenModule == "required" {
			return true
		}
		if g.Chip != nil && g.Chip.OpenModule == "unsupported" {
			return false
		}
	}
	return b.Module == "open" || b.Module == "both" && b.Number() >= 560
}
