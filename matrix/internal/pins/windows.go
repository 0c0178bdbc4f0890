package pins

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/pin"
)

// windowsFloor returns the lowest Windows driver that runs a row on every GPU here: the minimum of its CUDA, or the
// first branch that knows a GPU. It is unknown if a GPU has no such branch.
func windowsFloor(m *model.Machine, r model.Row) version.Number {
	_, least, _ := m.Tables.Floor(r.CUDA, true)
	if !least.Known() {
		return least
	}
	for _, g := range m.GPUs {
		if g.Chip != nil && g.Chip.FirstBranch.Major() > least.Major() {
			least = version.ParseOrZero(fmt.Sprint(g.Chip.FirstBranch.Major()))
		}
	}
	if !DrivesGPUs(m, least) {
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
	return inWindows(m, b, chosen, mentionRelease(m, b, chosen, "the lowest driver that runs it")), true
}

// inWindows returns a set with its Windows driver, which is on NVIDIA's page and in no package manager.
func inWindows(m *model.Machine, b *model.Build, r model.Row, why string) pin.Set {
	floor := windowsFloor(m, r)
	_, _, source := m.Tables.Floor(r.CUDA, true)
	s := set(m, b, r, nil, why)
	s.Driver = floor.String()
	s.Steps = []pin.Step{installInWindows(m, floor)}
	s.Source = append(s.Source, source...)
	return s
}

// DriverSteps returns the smallest driver change that would do where no package manager has the driver: in Windows, and
// in WSL2, which runs on Windows' driver. It returns none elsewhere, where DriverPins has pins, and none if no driver
// of Windows reaches the CUDA (when one is given) and drives every GPU here.
func DriverSteps(m *model.Machine, cuda version.Number) []pin.Step {
	if !m.WindowsNumbers() || m.Policy.NoPins {
		return nil
	}
	var least version.Number
	if cuda.Known() {
		if _, least, _ = m.Tables.Floor(cuda, true); !least.Known() {
			return nil
		}
	}
	return installAtLeast(m, least)
}

// SpeakingSteps returns DriverSteps for a driver that supports a CUDA itself, not by minor-version compatibility: the
// one that NVIDIA shipped with the toolkit.
func SpeakingSteps(m *model.Machine, cuda version.Number) []pin.Step {
	toolkit := m.Tables.Toolkit(cuda)
	if !m.WindowsNumbers() || m.Policy.NoPins || toolkit == nil || !toolkit.DriverWindows.Known() {
		return nil
	}
	return installAtLeast(m, toolkit.DriverWindows)
}

// installAtLeast returns the step that installs a driver of Windows, at least one and one that every GPU here has.
func installAtLeast(m *model.Machine, least version.Number) []pin.Step {
	if !least.Known() && afterLast(m) != "" { // the newest that still has them has all
		return []pin.Step{installInWindows(m, least)}
	}
	for _, g := range m.GPUs {
		if g.Chip != nil && g.Chip.FirstBranch.Major() > least.Major() {
			least = version.ParseOrZero(fmt.Sprint(g.Chip.FirstBranch.Major()))
		}
	}
	if least.Known() && !DrivesGPUs(m, least) {
		return nil
	}
	return []pin.Step{installInWindows(m, least)}
}

// installInWindows says which driver of Windows to install, by NVIDIA's names for it, and that WSL2 has none of its
// own.
func installInWindows(m *model.Machine, least version.Number) pin.Step {
	after := afterLast(m)
	edition := windowsEdition(m)
	if edition == gameReady && !least.Known() && areOn580(m) {
		edition = "GeForce Security Update Driver"
	}
	words := "install NVIDIA's " + edition + " for Windows"
	if m.Facts.System.WSL {
		words = "in Windows, not in WSL2, install NVIDIA's " + edition
	}
	switch {
	case !least.Known() && after != "":
		words += ", the newest below " + after
	case after != "":
		words += ", " + least.String() + " or newer and below " + after
	case least.Known():
		words += ", " + least.String() + " or newer"
	}
	return pin.Say(words + ", from https://www.nvidia.com/drivers")
}

// afterLast returns the first branch of the tables that no longer drives a GPU here; empty where all do.
func afterLast(m *model.Machine) string {
	for _, b := range tables.Rows[tables.Branch](m.Tables) {
		for _, g := range m.GPUs {
			if last, _ := m.LastBranch(g); last.Known() && b.Number() > last.Major() {
				return b.Branch
			}
		}
	}
	return ""
}

// areOn580 reports whether branch 580 is the last for all GPUs here: Maxwell, Pascal and Volta. For GeForce, NVIDIA now
// publishes only security updates of it (bulletin 5821), which do not list newer GPUs.
func areOn580(m *model.Machine) bool {
	return len(m.GPUs) > 0 && !slices.ContainsFunc(m.GPUs, func(g hardware.GPU) bool {
		last, _ := m.LastBranch(g)
		return !last.Known() || last.Major() != 580
	})
}

// gameReady is what NVIDIA calls the drivers that it maintains for GeForce.
const gameReady = "Game Ready or Studio driver"

// WindowsEdition returns what NVIDIA calls its driver of Windows for a GPU.
func WindowsEdition(g hardware.GPU) string {
	switch {
	case g.DataCentre() == hardware.No:
		return gameReady
	case g.DataCentre() == hardware.Yes:
		return "data centre driver"
	case strings.Contains(g.Name, "RTX") || strings.Contains(g.Name, "Quadro"):
		return "RTX Enterprise driver"
	}
	return "driver"
}

// windowsEdition returns what NVIDIA calls its driver for the GPUs here.
func windowsEdition(m *model.Machine) string {
	edition := ""
	for _, g := range m.GPUs {
		one := WindowsEdition(g)
		if !g.Capability.Known() || edition != "" && edition != one {
			return "driver"
		}
		edition = one
	}
	return cmp.Or(edition, "driver")
}
