package version

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
	return Capability{Int(m[1]), Int(m[2])}, nil
}

func (c Capability) String() string {
	if !c.Known() {
		return ""
	}
	return fmt.Sprintf("%d.%d", c.Major, c.Minor)
}

// Known reports whether there is a capability at all.
func (c Capability) Known() bool { return c.Major > 0 }

// SM is the target of machine code that is exactly for it, "sm_89".
func (c Capability) SM() string { return fmt.Sprintf("sm_%d%d", c.Major, c.Minor) }

// AtLeast reports whether it is d or newer.
func (c Capability) AtLeast(d Capability) bool {
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

// Code is one target in a library: SASS "sm_90a" or PTX "compute_90".
type Code struct {
	Capability
	PTX    bool
	Suffix string // "", "a" (exactly this capability) or "f" (this family)
}

var codeText = lazyregexp.New(`^(sm|compute)_(\d{1,2})(\d)([af]?)$`)

// ParseCode reads "sm_90a" or "compute_90"; false for anything else.
func ParseCode(text string) (Code, bool) {
	m := codeText.FindStringSubmatch(text)
	if m == nil {
		return Code{}, false
	}
	return Code{Capability{Int(m[2]), Int(m[3])}, m[1] == "compute", m[4]}, true
}

func (c Code) String() string {
	kind := "sm"
	if c.PTX {
		kind = "compute"
	}
	return fmt.Sprintf("%s_%d%d%s", kind, c.Major, c.Minor, c.Suffix)
}

// CompareCodes puts machine code before PTX, then the lower capability first.
func CompareCodes(x, y Code) int {
	return cmp.Or(cmp.Compare(boolInt(x.PTX), boolInt(y.PTX)), cmp.Compare(x.Major, y.Major), cmp.Compare(x.Minor, y.Minor), cmp.Compare(x.Suffix, y.Suffix))
}

var tegra = []Capability{{3, 2}, {5, 3}, {6, 2}, {7, 2}, {8, 7}, {10, 1}, {11, 0}}

// Tegra reports whether it is of a Jetson or DRIVE module: desktop machine code is not known to run there, even of
// the same major. 12.1 (GB10, DGX Spark) is not among them.
func (c Capability) Tegra() bool { return slices.Contains(tegra, c) }

// Serves reports whether the code runs on a GPU. An `f` target serves the capabilities of its family from itself on
// (CUDA C++ Programming Guide, family-specific features): 100f is for 10.0 and 10.3, 120f for 12.0 and 12.1.
func (c Code) Serves(gpu Capability) bool {
	switch {
	case c.Suffix == "a":
		return c.Capability == gpu
	case c.Suffix == "f":
		return c.Major == gpu.Major && gpu.Minor >= c.Minor
	case c.PTX:
		return gpu.AtLeast(c.Capability)
	case gpu.Tegra():
		return c.Capability == gpu
	default:
		return c.Major == gpu.Major && gpu.Minor >= c.Minor
	}
}

// Coverage is how a build's code serves one GPU.
type Coverage int

const (
	Uncovered Coverage = iota // no code for it
	Unsure                    // not known
	ByPTX                     // only PTX, which the driver must compile at the first start
	BySASS                    // machine code
)

// Cover judges the code lists of a build for a GPU. Desktop machine code on a Tegra module is unsure, not absent.
func Cover(sass, ptx []string, gpu Capability) Coverage {
	best := Uncovered
	for _, text := range slices.Concat(sass, ptx) {
		c, ok := ParseCode(text)
		switch {
		case !ok:
		case c.Serves(gpu) && !c.PTX:
			return BySASS
		case c.Serves(gpu):
			best = max(best, ByPTX)
		case !c.PTX && c.Suffix == "" && c.Major == gpu.Major && gpu.Tegra():
			best = max(best, Unsure)
		}
	}
	return best
}
