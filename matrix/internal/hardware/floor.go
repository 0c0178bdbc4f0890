package hardware

import "cudacompat/internal/version"

// FloorState is the result of comparing a driver with the minimum for a CUDA.
type FloorState int

// The values of a FloorState.
const (
	FloorUnknown FloorState = iota // a fact is missing
	FloorFull                      // the driver speaks this CUDA itself
	FloorMinor                     // by minor-version compatibility
	FloorBelow                     // too old
)

// Floor compares the driver with what a CUDA version needs. need is the requirement in words. The CUDA version of the
// user-mode driver decides if it is known, because a cuda-compat library can raise it above the module's. Otherwise the
// module's version decides.
func (m *Machine) Floor(cuda version.Number) (state FloorState, need string, source []string) {
	return m.FloorOn(m.Driver(), cuda)
}

// FloorOn is Floor for another driver than the machine's.
func (m *Machine) FloorOn(d Driver, cuda version.Number) (state FloorState, need string, source []string) {
	if d.user.Known() {
		d.Version = d.user
	}
	need, least, source := m.Tables.Floor(cuda, m.WindowsNumbers())
	below := d.Version.Known() && least.Known() && d.Version.Less(least)
	if d.CUDA.Known() && !d.CUDA.LessShort(cuda) && (cuda.Parts() > 1 || !below) { // a family alone is no CUDA to speak
		return FloorFull, need, source
	}
	family := m.Tables.Family(cuda)
	switch {
	case family == nil && d.CUDA.Known(): // no minor-version compatibility before 11, none known for what is newer
		return FloorBelow, need, source
	case below:
		return FloorBelow, need, source
	case d.Version.Known() && least.Known():
		return FloorMinor, need, source
	case d.CUDA.Known() && d.CUDA.Major() < cuda.Major():
		return FloorBelow, need, source
	case d.CUDA.Known() && d.CUDA.Major() == cuda.Major():
		return FloorMinor, need, source
	}
	return FloorUnknown, need, source
}

// Reached reports whether the driver meets the minimum for a CUDA.
func (m *Machine) Reached(cuda version.Number) bool {
	state, _, _ := m.Floor(cuda)
	return state == FloorFull || state == FloorMinor
}
