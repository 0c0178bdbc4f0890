package pins

import (
	"fmt"

	"cudacompat/internal/version"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/pin"
)

// inWSL is the advice to Windows users for a package that exists only for Linux.
const inWSL = "WSL2 runs the wheels for Linux"

// windowsFloor returns the lowest Windows driver that runs a row on every GPU here: the minimum of its CUDA, or the
// first branch that knows a GPU. It is unknown if a GPU has no such branch.
func windowsFloor(m *model.Machine, r model.Row) version.Number {
	_, least, _ := m.Tables.Floor(r.CUDA, true)
	if !least.Known() {
		return least
	}
	for _, g := range m.GPUs {
		if g.Chip != nil && g.Chip.FirstBranch.Major() > least.Major() {
			least = version.Of(fmt.Sprint(g.Chip.FirstBranch.Major()))
		}
	}
	if !drives(m, least) {
		return version.Number{}
	}
	return least
}

// onLowestInWindows returns the variant of one release that needs the lowest driver, or of those that need the same one
// the variant of the newest CUDA.
func onLowestInWindows(m *model.Machine, b *model.Build, variants []model.Row) (pin.Set, bool) {
	var lowest version.Number
	var chosen model.Row
	for _, r := range variants {
		floor := windowsFloor(m, r)
		if !floor.Known() || lowest.Known() && (lowest.Less(floor) || floor == lowest && !chosen.CUDA.Less(r.CUDA)) {
			continue
		}
		lowest, chosen = floor, r
	}
	if !lowest.Known() {
		return pin.Set{}, false
	}
	return inWindows(m, b, chosen, withRelease(m, b, chosen, "the lowest driver that runs it")), true
}

// inWindows returns a set with its Windows driver, which is on NVIDIA's page and in no package manager.
func inWindows(m *model.Machine, b *model.Build, r model.Row, why string) pin.Set {
	floor := windowsFloor(m, r)
	_, _, source := m.Tables.Floor(r.CUDA, true)
	s := set(m, b, r, nil, why)
	words := floor.String() + " or newer"
	for _, g := range m.GPUs {
		if last, _ := m.LastBranch(g); last.Known() {
			words += fmt.Sprintf(", up to branch %s", last)
			break
		}
	}
	s.Driver = floor.String()
	s.Steps = []pin.Step{pin.Say("install NVIDIA's driver for Windows, " + words + ", from https://www.nvidia.com/drivers")}
	s.Source = append(s.Source, source...)
	return s
}
