package pins

import (
	"fmt"

	"cudacompat/internal/version"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/pin"
)

// inWSL is what Windows' users of a package for Linux alone can do.
const inWSL = "WSL2 runs the wheels for Linux"

// windowsFloor returns the lowest driver of Windows that runs a row on every GPU here: the floor of its CUDA, or the
// first branch that knows a GPU. It is unknown where none does.
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

// inWindows writes down a set with its driver for Windows, which NVIDIA's page has and no package manager.
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
