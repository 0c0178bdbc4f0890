package matrix

import (
	"cmp"
	"fmt"
	"slices"

	"cudacompat/internal/lazyregexp"
)

// Capability is a GPU's compute capability, 8.9. The zero Capability is "not known".
type Capability struct{ Major, Minor int }

var capabilityText = lazyregexp.New(`^(\d{1,2})\.(\d)$`)

// ParseCapability reads "8.9".
func ParseCapability(text string) (Capability, error) {
	m := capabilityText.FindStringSubmatch(text)
	if m == nil {
		return Capability{}, fmt.Errorf("%q is not a compute capability", text)
	}
	return Capability{atoi(m[1]), atoi(m[2])}, nil
}

func (c Capability) String() string {
	if !c.Known() {
		return ""
	}
	return fmt.Sprintf("%d.%d", c.Major, c.Minor)
}

// Known says whether there is a capability at all.
func (c Capability) Known() bool { return c.Major > 0 }

func (c Capability) sm() string { return fmt.Sprintf("sm_%d%d", c.Major, c.Minor) }

func (c Capability) atLeast(d Capability) bool {
	return c.Major > d.Major || c.Major == d.Major && c.Minor >= d.Minor
}

// UnmarshalText reads a table's cell; an empty one is not known.
func (c *Capability) UnmarshalText(text []byte) (err error) {
	if len(text) > 0 {
		*c, err = ParseCapability(string(text))
	}
	return err
}

// MarshalText writes "8.9".
func (c Capability) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// code is one target in a library: SASS "sm_90a" or PTX "compute_90".
type code struct {
	Capability
	ptx    bool
	suffix string // "", "a" (exactly this capability) or "f" (this family)
}

var codeText = lazyregexp.New(`^(sm|compute)_(\d{1,2})(\d)([af]?)$`)

func parseCode(text string) (code, bool) {
	m := codeText.FindStringSubmatch(text)
	if m == nil {
		return code{}, false
	}
	return code{Capability{atoi(m[2]), atoi(m[3])}, m[1] == "compute", m[4]}, true
}

func (c code) String() string {
	kind := "sm"
	if c.ptx {
		kind = "compute"
	}
	return fmt.Sprintf("%s_%d%d%s", kind, c.Major, c.Minor, c.suffix)
}

// compareCode puts machine code before PTX, then the lower capability first.
func compareCode(x, y code) int {
	return cmp.Or(cmp.Compare(boolInt(x.ptx), boolInt(y.ptx)), cmp.Compare(x.Major, y.Major), cmp.Compare(x.Minor, y.Minor), cmp.Compare(x.suffix, y.suffix))
}

// tegra are the capabilities of Jetson and DRIVE modules: desktop machine code is not known to run there, even of
// the same major. 12.1 (GB10, DGX Spark) is not among them.
var tegra = []Capability{{3, 2}, {5, 3}, {6, 2}, {7, 2}, {8, 7}, {10, 1}, {11, 0}}

// family are the capabilities that an `f` target serves from itself on (CUDA C++ Programming Guide, family-specific
// features): 100f is for 10.0 and 10.3, 120f for 12.0 and 12.1.
func (c code) serves(gpu Capability) bool {
	switch {
	case c.suffix == "a":
		return c.Capability == gpu
	case c.suffix == "f":
		return c.Major == gpu.Major && gpu.Minor >= c.Minor
	case c.ptx:
		return gpu.atLeast(c.Capability)
	case slices.Contains(tegra, gpu):
		return c.Capability == gpu
	default:
		return c.Major == gpu.Major && gpu.Minor >= c.Minor
	}
}

// coverage is how a build's code serves one GPU.
type coverage int

const (
	uncovered coverage = iota // no code for it
	unsure                    // not known
	byPTX                     // only PTX, which the driver must compile at the first start
	bySASS                    // machine code
)

// cover judges the code lists of a build for a GPU. Desktop machine code on a Tegra module is unsure, not absent.
func cover(sass, ptx []string, gpu Capability) coverage {
	best := uncovered
	for _, text := range slices.Concat(sass, ptx) {
		c, ok := parseCode(text)
		switch {
		case !ok:
		case c.serves(gpu) && !c.ptx:
			return bySASS
		case c.serves(gpu):
			best = max(best, byPTX)
		case !c.ptx && c.suffix == "" && c.Major == gpu.Major && slices.Contains(tegra, gpu):
			best = max(best, unsure)
		}
	}
	return best
}
