// Package version holds the numbers by which drivers, toolkits, GPUs and Python packages are named, and what compares
// them: dotted numbers and ranges of them, PEP 440, compute capabilities and targets of machine code, and the
// requirements that container images state.
package version

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/Masterminds/semver/v3"

	"cudacompat/internal/lazyregexp"
)

// Number is a dotted number with up to four parts, as drivers (535.183.01), CUDA (12.4), NCCL (2.27.5) and cuDNN
// (9.10.2.21) have. Parts compare as integers; missing ones count as 0. The zero Number is "not known".
type Number struct {
	text  string
	parts [4]uint64
	count int
}

// Parse reads a version; what follows the number ("-1+cuda12.4" of a package) is left out.
func Parse(text string) (Number, error) {
	v := Number{text: text}
	for rest, more := numberOf(text), true; more; {
		var part string
		part, rest, more = strings.Cut(rest, ".")
		n, err := strconv.ParseUint(part, 10, 32)
		if err != nil || v.count == len(v.parts) {
			return Number{}, fmt.Errorf("%q is not a version", text)
		}
		v.parts[v.count] = n
		v.count++
	}
	return v, nil
}

// numberOf returns the leading digits and dots; "13.x" is 13.
func numberOf(text string) string {
	end := 0
	for end < len(text) && (text[end] == '.' || '0' <= text[end] && text[end] <= '9') {
		end++
	}
	return strings.TrimRight(text[:end], ".")
}

// ParseOrZero parses text as Parse does. It returns the zero Number if text is not a number.
func ParseOrZero(text string) Number {
	v, err := Parse(text)
	if err != nil {
		return Number{}
	}
	return v
}

func (v Number) String() string { return v.text }

// Known reports whether there is a version at all.
func (v Number) Known() bool { return v.count > 0 }

// Major returns the first part: a driver's branch, CUDA's family.
func (v Number) Major() int { return int(v.parts[0]) }

// Minor returns the second part.
func (v Number) Minor() int { return int(v.parts[1]) }

// Patch returns the third part.
func (v Number) Patch() int { return int(v.parts[2]) }

// Parts returns how many parts were written, 0 where there is no version.
func (v Number) Parts() int { return v.count }

// Short returns the first two parts, "12.6" of 12.6.3: what names a CUDA release.
func (v Number) Short() string {
	if v.count < 2 {
		return fmt.Sprint(v.parts[0])
	}
	return fmt.Sprintf("%d.%d", v.parts[0], v.parts[1])
}

// Compare orders by the parts; the text does not matter.
func (v Number) Compare(w Number) int {
	for i := range v.parts {
		if c := cmp.Compare(v.parts[i], w.parts[i]); c != 0 {
			return c
		}
	}
	return 0
}

// Less reports whether v comes before w.
func (v Number) Less(w Number) bool { return v.Compare(w) < 0 }

// LessShort compares the first two parts only: 12.8.1 is not newer than 12.8.
func (v Number) LessShort(w Number) bool { return slices.Compare(v.parts[:2], w.parts[:2]) < 0 }

// AtLeastShort reports whether the first two parts are those of a release or of a later one.
func (v Number) AtLeastShort(major, minor int) bool {
	return v.count > 0 && (v.Major() > major || v.Major() == major && v.Minor() >= minor)
}

// SamePatch reports whether the first three parts are equal: 9.10.2.21 and 9.10.2 are the same release of cuDNN.
func (v Number) SamePatch(w Number) bool { return [3]uint64(v.parts[:3]) == [3]uint64(w.parts[:3]) }

// Next returns the lowest version of three parts after it; nothing comes after what is not known.
func (v Number) Next() Number {
	if !v.Known() {
		return v
	}
	return ParseOrZero(fmt.Sprintf("%d.%d.%02d", v.parts[0], v.parts[1], v.parts[2]+1))
}

// Read reads a table's cell; an empty one is not known.
func (v *Number) Read(cell string) (err error) {
	if cell != "" {
		*v, err = Parse(cell)
	}
	return err
}

// UnmarshalText does what Read does for text that is bytes.
func (v *Number) UnmarshalText(text []byte) error { return v.Read(string(text)) }

// MarshalText writes the version as it was read.
func (v Number) MarshalText() ([]byte, error) { return []byte(v.text), nil }

// fourthPart is what semver cannot take of cuDNN's versions in a range.
var fourthPart = lazyregexp.New(`(\d+\.\d+\.\d+)\.\d+`)

// leadingZero is what semver does not take either, and drivers have: 525.60.02.
var leadingZero = lazyregexp.New(`\b0+(\d)`)

// Range is a range of versions, such as ">=9.8,<10.0", of drivers, CUDA and what else is no Python package; three parts
// count. The zero Range has every version.
type Range struct {
	text        string
	constraints func() (*semver.Constraints, error) // read when a version is first compared: few rows' ever are
}

// rangeOf returns a range that is not known to be one.
func rangeOf(text string) Range {
	return Range{text, sync.OnceValues(func() (*semver.Constraints, error) {
		plain := leadingZero.ReplaceAllString(fourthPart.ReplaceAllString(text, "$1"), "$1")
		return semver.NewConstraint(strings.ReplaceAll(plain, "==", "="))
	})}
}

// ParseRange reads a range as the tables write it, ">=9.8,<10.0".
func ParseRange(text string) (Range, error) {
	r := rangeOf(text)
	return r, r.Valid()
}

// Valid says what is wrong with a range that was read from a cell.
func (r Range) Valid() error {
	if r.constraints == nil {
		return nil
	}
	if _, err := r.constraints(); err != nil {
		return fmt.Errorf("range %q: %w", r.text, err)
	}
	return nil
}

// Has reports whether a version is in the range.
func (r Range) Has(v Number) bool {
	if r.constraints == nil {
		return true
	}
	c, err := r.constraints()
	return err == nil && c.Check(semver.New(v.parts[0], v.parts[1], v.parts[2], "", ""))
}

// UnmarshalText reads a table's cell; an empty one is every version. Valid says what is wrong with it.
func (r *Range) UnmarshalText(text []byte) error {
	if *r = (Range{}); len(text) > 0 {
		*r = rangeOf(string(text))
	}
	return nil
}

// MarshalText writes the range as it was read.
func (r Range) MarshalText() ([]byte, error) { return []byte(r.text), nil }

// CompareTexts orders dotted numbers that are still text.
func CompareTexts(a, b string) int { return ParseOrZero(a).Compare(ParseOrZero(b)) }
