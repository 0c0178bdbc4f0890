package matrix

import "cudacompat/internal/version"

// floorState is how a driver stands to what a build's CUDA needs.
type floorState int

// The states.
const (
	floorUnknown floorState = iota // a fact is missing
	floorFull                      // the driver speaks this CUDA itself
	floorMinor                     // by minor-version compatibility
	floorBelow                     // too old
)

// floor compares the driver with what a CUDA version needs; need is the requirement in words. The user-mode driver's
// CUDA decides where it is known, since a cuda-compat library can lift it above the module; else the module's version.
func (m *machine) floor(cuda version.Number) (state floorState, need string, source []string) {
	return m.floorOn(m.driver(), cuda)
}

// floorOn is floor for another driver than the machine's.
func (m *machine) floorOn(d driver, cuda version.Number) (state floorState, need string, source []string) {
	if d.user.Known() {
		d.version = d.user
	}
	need, least, source := m.t.Floor(cuda, m.windowsNumbers())
	below := d.version.Known() && least.Known() && d.version.Less(least)
	if d.cuda.Known() && !d.cuda.LessShort(cuda) && (cuda.Parts() > 1 || !below) { // a family alone is no CUDA to speak
		return floorFull, need, source
	}
	family := m.t.Family(cuda)
	switch {
	case family == nil && d.cuda.Known(): // no minor-version compatibility before 11, none known for what is newer
		return floorBelow, need, source
	case below:
		return floorBelow, need, source
	case d.version.Known() && least.Known():
		return floorMinor, need, source
	case d.cuda.Known() && d.cuda.Major() < cuda.Major():
		return floorBelow, need, source
	case d.cuda.Known() && d.cuda.Major() == cuda.Major():
		return floorMinor, need, source
	}
	return floorUnknown, need, source
}
