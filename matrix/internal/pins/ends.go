package pins

import (
	"fmt"
	"slices"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/pin"
)

// FindEnds lists what ends on a machine: its driver's branch, the branches that support its GPUs, and the framework's
// releases for them.
func FindEnds(m *model.Machine, framework string) []pin.End {
	list := []pin.End{}
	if len(m.GPUs) == 0 {
		return list
	}
	if end, ok := DriverEndOfLife(m.Tables, m.Driver().Version); ok && !m.WindowsNumbers() && !m.Jetson() {
		list = append(list, end)
	}
	return append(list, GPUEnds(m, framework)...)
}

// DriverEndOfLife returns the end of life of a driver's branch; false where none is published.
func DriverEndOfLife(t *tables.Tables, driver version.Number) (pin.End, bool) {
	for _, b := range tables.Rows[tables.Branch](t) {
		if driver.Known() && b.Number() == driver.Major() && b.EndOfLife != "" {
			return pin.End{Kind: pin.EndOfDriver, Last: b.Branch, Date: b.EndOfLife,
				Why: fmt.Sprintf("the end of life of driver branch %s is %s", b.Branch, b.EndOfLife), Source: b.Source}, true
		}
	}
	return pin.End{}, false
}

// GPUEnds lists what ends for the first affected GPU, whatever the driver.
func GPUEnds(m *model.Machine, framework string) []pin.End {
	list := []pin.End{}
	for _, g := range m.GPUs {
		if last, source := m.LastBranch(g); last.Known() && !m.Jetson() {
			if last == g.Chip.LastBranch { // an instance type's row repeats it
				source = g.Chip.Source
			}
			end := pin.End{Kind: pin.EndOfGPU, Last: last.String(), Why: fmt.Sprintf("%s is the last driver branch that drives %s", last, g.Label), Source: source}
			if b, ok := DriverEndOfLife(m.Tables, last); ok {
				end.Date = b.Date
			}
			list = append(list, end)
			break
		}
	}
	rows := m.FrameworkRows(framework) // oldest first
	for _, last := range slices.Backward(rows) {
		if !HasCode(m, last) {
			continue
		}
		newest := rows[len(rows)-1]
		if !last.Number.Less(newest.Number) {
			break
		}
		return append(list, pin.End{Kind: pin.EndOfCode, Last: last.Release, Why: fmt.Sprintf("%s %s is the last release made for %s; %s is not",
			framework, last.Release, GPUWords(m), newest.Release), Source: newest.Source})
	}
	return list
}
