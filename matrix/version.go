package matrix

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/Masterminds/semver/v3"

	"cudacompat/internal/lazyregexp"
)

// Version is a dotted number with up to four parts, as drivers (535.183.01), CUDA (12.4), NCCL (2.27.5) and cuDNN
// (9.10.2.21) have. Parts compare as integers; missing ones count as 0. The zero Version is "not known".
type Version struct {
	text  string
	parts [4]uint64
	count int
}

// ParseVersion reads a version; what follows the number ("-1+cuda12.4" of a package) is left out.
func ParseVersion(text string) (Version, error) {
	v := Version{text: text}
	for part := range strings.SplitSeq(numberOf(text), ".") {
		n, err := strconv.ParseUint(part, 10, 32)
		if err != nil || v.count == len(v.parts) {
			return Version{}, fmt.Errorf("%q is not a version", text)
		}
		v.parts[v.count] = n
		v.count++
	}
	return v, nil
}

// numberOf is the leading digits and dots; "13.x" is 13.
func numberOf(text string) string {
	end := strings.IndexFunc(text, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if end >= 0 {
		text = text[:end]
	}
	return strings.TrimRight(text, ".")
}

// version is ParseVersion for text that may be anything: the zero Version then.
func version(text string) Version {
	v, err := ParseVersion(text)
	if err != nil {
		return Version{}
	}
	return v
}

func (v Version) String() string { return v.text }

// Known says whether there is a version at all.
func (v Version) Known() bool { return v.count > 0 }

// Major is the first part: a driver's branch, CUDA's family.
func (v Version) Major() int { return int(v.parts[0]) }

// Minor is the second part.
func (v Version) Minor() int { return int(v.parts[1]) }

// short is the first two parts, "12.6" of 12.6.3: what names a CUDA release.
func (v Version) short() string {
	if v.count < 2 {
		return fmt.Sprint(v.parts[0])
	}
	return fmt.Sprintf("%d.%d", v.parts[0], v.parts[1])
}

// Compare orders by the parts; the text does not matter.
func (v Version) Compare(w Version) int {
	for i := range v.parts {
		if c := cmp.Compare(v.parts[i], w.parts[i]); c != 0 {
			return c
		}
	}
	return 0
}

// Less says whether v comes before w.
func (v Version) Less(w Version) bool { return v.Compare(w) < 0 }

// UnmarshalText reads a table's cell; an empty one is not known.
func (v *Version) UnmarshalText(text []byte) (err error) {
	if len(text) > 0 {
		*v, err = ParseVersion(string(text))
	}
	return err
}

// MarshalText writes the version as it was read.
func (v Version) MarshalText() ([]byte, error) { return []byte(v.text), nil }

// fourthPart is what semver cannot take of cuDNN's versions in a range.
var fourthPart = lazyregexp.New(`(\d+\.\d+\.\d+)\.\d+`)

// leadingZero is what semver does not take either, and drivers have: 525.60.02.
var leadingZero = lazyregexp.New(`\b0+(\d)`)

// versionRange is a semver range, such as ">=9.8,<10.0"; three parts count.
type versionRange struct{ constraints *semver.Constraints }

func parseRange(text string) (versionRange, error) {
	c, err := semver.NewConstraint(leadingZero.ReplaceAllString(fourthPart.ReplaceAllString(text, "$1"), "$1"))
	if err != nil {
		return versionRange{}, fmt.Errorf("range %q: %w", text, err)
	}
	return versionRange{c}, nil
}

func (r versionRange) has(v Version) bool {
	return r.constraints.Check(semver.New(v.parts[0], v.parts[1], v.parts[2], "", ""))
}

// allows says whether a version fits a range.
func allows(constraint string, v Version) (bool, error) {
	r, err := parseRange(constraint)
	return err == nil && r.has(v), err
}
