package version

import (
	"fmt"
	"strings"

	pep440 "github.com/aquasecurity/go-pep440-version"

	"cudacompat/internal/lazyregexp"
)

// Specifiers are what a Python requirement says of a version (PEP 440), ">=2.5,<3", "==2.6.*", "~=2.8.0". Empty ones
// have every version. Ranges of drivers, CUDA and what else is no Python package are a [Range].
type Specifiers struct{ list []specifier }

// specifier is one comparison.
type specifier struct {
	set    *pep440.Specifiers // what the library compares; nil: the prefix alone decides
	prefix string             // "1!2.6" of ==1!2.6.* and ~=1!2.6.0; empty: none
	not    bool               // !=
}

var (
	oneSpecifier = lazyregexp.New(`^\s*(===|==|~=|!=|<=|>=|<|>)\s*([A-Za-z0-9.!*+_-]+)\s*$`)
	// numericRelease matches a version without pre- and post-releases. The library's own prefixes fail where a version
	// is shorter than they are, or has an epoch.
	numericRelease = lazyregexp.New(`^(?:\d+!)?\d+(?:\.\d+)*$`)
)

// ParseSpecifiers reads them.
func ParseSpecifiers(text string) (Specifiers, error) {
	var s Specifiers
	if strings.TrimSpace(text) == "" {
		return s, nil
	}
	for part := range strings.SplitSeq(strings.TrimSuffix(strings.TrimSpace(text), ","), ",") {
		one, ok := parseSpecifier(part)
		if !ok {
			return Specifiers{}, fmt.Errorf("%q is not a range of versions such as >=2.5,<3", text)
		}
		s.list = append(s.list, one)
	}
	return s, nil
}

func parseSpecifier(text string) (s specifier, ok bool) {
	m := oneSpecifier.FindStringSubmatch(text)
	if m == nil {
		return s, false
	}
	release, starred := strings.CutSuffix(m[2], ".*")
	set, err := pep440.NewSpecifiers(m[1] + m[2])
	if err != nil {
		return s, false
	}
	s = specifier{set: &set, not: m[1] == "!="}
	switch numeric := numericRelease.MatchString(release); {
	case numeric && starred:
		s.set, s.prefix = nil, release
	case numeric && m[1] == "~=":
		least, err := pep440.NewSpecifiers(">=" + release)
		if err != nil {
			return s, false
		}
		s.set, s.prefix = &least, release[:strings.LastIndexByte(release, '.')]
	}
	return s, true
}

// Has reports whether a version is among them; what is none is not.
func (s Specifiers) Has(text string) bool {
	if len(s.list) == 0 {
		return true
	}
	v, err := pep440.Parse(text)
	if err != nil {
		return false
	}
	for _, one := range s.list {
		if one.set != nil && !one.set.Check(v) || one.prefix != "" && begins(v.BaseVersion(), one.prefix) == one.not {
			return false
		}
	}
	return true
}

// begins reports whether a release is one of a prefix's; missing parts are zeros.
func begins(release, prefix string) bool {
	have, want := epochAndParts(release), epochAndParts(prefix)
	for i, part := range want {
		if i >= len(have) {
			have = append(have, "0")
		}
		if strings.TrimLeft(have[i], "0") != strings.TrimLeft(part, "0") {
			return false
		}
	}
	return true
}

// epochAndParts returns "1!2.6" in its parts, without an epoch "0".
func epochAndParts(release string) []string {
	if epoch, rest, ok := strings.Cut(release, "!"); ok {
		return append([]string{epoch}, strings.Split(rest, ".")...)
	}
	return append([]string{"0"}, strings.Split(release, ".")...)
}

// Allows reports whether a version is in the range that a Python package asks for. Of one whose fourth part is not known,
// as a library's file tells cuDNN's, none is asked.
func Allows(specifiers string, v Number) (bool, error) {
	if v.count < 4 {
		specifiers = fourthPart.ReplaceAllString(specifiers, "$1")
	}
	s, err := ParseSpecifiers(specifiers)
	return err == nil && s.Has(numberOf(v.text)), err
}

// cutZeros returns a release without the parts that say nothing, in two pieces: 2.7.0rc1 is "2.7" and "rc1". A regular
// expression for it took a seventh of the time of `requires`.
func cutZeros(release string) (number, rest string) {
	end := 0
	for at := 0; ; at++ {
		start := at
		for at < len(release) && release[at] >= '0' && release[at] <= '9' {
			at++
		}
		if at == start {
			break
		}
		if end = at; at == len(release) || release[at] != '.' {
			break
		}
	}
	number, rest = release[:end], release[end:]
	if rest == "." {
		return release, ""
	}
	for {
		dot := strings.LastIndexByte(number, '.')
		if dot < 0 || strings.Trim(number[dot+1:], "0") != "" {
			return number, rest
		}
		number = number[:dot]
	}
}

// SameRelease reports whether two texts name one release, "2.7" and "2.7.0".
func SameRelease(a, b string) bool {
	if a == b || a == "" || b == "" || a[0] != b[0] {
		return a == b
	}
	numberA, restA := cutZeros(a)
	numberB, restB := cutZeros(b)
	return numberA == numberB && restA == restB
}
