package version

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Capability is a GPU's compute capability, 8.9. The zero Capability is "not known".
type Capability struct{ Major, Minor int }

// ParseCapability reads "8.9".
func ParseCapability(text string) (Capability, error) {
	major, minor, _ := strings.Cut(text, ".")
	if len(major) < 1 || len(major) > 2 || len(minor) != 1 || !allDigits(major) || !allDigits(minor) {
		return Capability{}, fmt.Errorf("%q is not a compute capability", text)
	}
	return Capability{Int(major), Int(minor)}, nil
}

// Number returns the capability as a dotted number, for ranges; not known where it is not.
func (c Capability) Number() Number { return ParseOrZero(c.String()) }

func (c Capability) String() string {
	if !c.Known() {
		return ""
	}
	return fmt.Sprintf("%d.%d", c.Major, c.Minor)
}

// Known reports whether there is a capability at all.
func (c Capability) Known() bool { return c.Major > 0 }

// SM returns the target of machine code that is exactly for it, "sm_89".
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

// ParseCode reads "sm_90a" or "compute_90"; false for anything else. It is asked of every library of every build for
// every GPU, so it uses no pattern.
func ParseCode(text string) (Code, bool) {
	digits, ptx := strings.CutPrefix(text, "compute_")
	if !ptx {
		var sass bool
		if digits, sass = strings.CutPrefix(text, "sm_"); !sass {
			return Code{}, false
		}
	}
	c := Code{PTX: ptx}
	if last := len(digits) - 1; last >= 0 && (digits[last] == 'a' || digits[last] == 'f') {
		digits, c.Suffix = digits[:last], digits[last:]
	}
	if len(digits) < 2 || len(digits) > 3 || !allDigits(digits) {
		return Code{}, false
	}
	c.Capability = Capability{Int(digits[:len(digits)-1]), Int(digits[len(digits)-1:])}
	return c, true
}

func allDigits(text string) bool { return strings.Trim(text, "0123456789") == "" }

func (c Code) String() string {
	kind := "sm"
	if c.PTX {
		kind = "compute"
	}
	return fmt.Sprintf("%s_%d%d%s", kind, c.Major, c.Minor, c.Suffix)
}

// CompareCodes puts machine code before PTX, then the lower capability first.
func CompareCodes(x, y Code) int {
	return cmp.Or(cmp.Compare(boolInt(x.PTX), boolInt(y.PTX)), cmp.Compare(x.Major, y.Major),
		cmp.Compare(x.Minor, y.Minor), cmp.Compare(x.Suffix, y.Suffix))
}

var tegra = []Capability{{3, 2}, {5, 3}, {6, 2}, {7, 2}, {8, 7}, {10, 1}, {11, 0}}

// Tegra reports whether it is of a Jetson or DRIVE module: desktop machine code is not known to run there, even of
// the same major. 12.1 (GB10, DGX Spark) is not among them.
func (c Capability) Tegra() bool { return slices.Contains(tegra, c) }

// Serves reports whether the code runs on a GPU. An `f` target serves the capabilities of its family from itself on
// (CUDA C++ Programming Guide, family-specific features): 100f is for 10.0 and 10.3, 120f for 12.0 and 12.1. Thor, once 10.1, is no
// member of the family of 10.0: on a Tegra module only its own code counts.
func (c Code) Serves(gpu Capability) bool {
	switch {
	case c.Suffix == "a":
		return c.Capability == gpu
	case c.Suffix == "f":
		return c.Capability == gpu || !gpu.Tegra() && c.Major == gpu.Major && gpu.Minor >= c.Minor
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
