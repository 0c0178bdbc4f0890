package version

import (
	"strconv"
	"strings"

	"cudacompat/internal/lazyregexp"
)

// Release is a Python version by PEP 440, of which semver can say too little: "2.10.0a0+git1" and
// "2.7.0.dev20250101+cu128" are not semver, and semver takes "+cu124" and "+cu126" for the same.
type Release struct {
	Number Number // "2.7.0"
	Pre    string // "a0", "rc1", ".dev20250101"; empty for a final release
	Local  string // "cu128", "cpu", "rocm6.4"
}

var releaseText = lazyregexp.New(`^v?(\d+(?:\.\d+)*)((?:[-_.]?(?:a|b|rc|alpha|beta|c|pre)\d*)?)((?:[-_.]?post\d*)?)((?:\.?dev\d*)?)(?:\+([A-Za-z0-9._-]+))?$`)

// ParseRelease reads a PEP 440 version; ok is false for anything else.
func ParseRelease(text string) (r Release, ok bool) {
	m := releaseText.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return Release{}, false
	}
	number, err := Parse(m[1])
	if err != nil {
		return Release{}, false
	}
	return Release{Number: number, Pre: m[2] + m[4], Local: strings.TrimSuffix(m[5], ".with.pypi.cudnn")}, true
}

// Final reports whether it is a release that the tables can know, not a nightly, an alpha or a candidate.
func (r Release) Final() bool { return r.Pre == "" }

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

var cudaLocal = lazyregexp.New(`^cu(\d{2,3})$`)

// LocalCUDA returns the CUDA that a wheel's local version names: cu118 is 11.8, cu130 is 13.0. False when it names
// none.
func (r Release) LocalCUDA() (Number, bool) {
	m := cudaLocal.FindStringSubmatch(r.Local)
	if m == nil {
		return Number{}, false
	}
	digits := m[1]
	return ParseOrZero(digits[:len(digits)-1] + "." + digits[len(digits)-1:]), true
}

var (
	compiledCUDA  = lazyregexp.New(`cu(\d\d)(\d?)(?:\D|$)`)
	compiledTorch = lazyregexp.New(`torch(\d+)\.(\d+)|pt(\d)(\d+)|torch(\d)(\d+)\d(?:\D|$)`)
)

// Compiled returns the CUDA and the PyTorch for which a wheel's local version says that it was compiled, each unknown
// where it is not named: 12 and 2.8 of cu12torch2.8cxx11abiTRUE (flash-attn), 12.8 and 2.8 of pt28cu128 (PyG) and of
// torch280cu128 (NATTEN).
func (r Release) Compiled() (cuda, torch Number) {
	m := compiledTorch.FindStringSubmatch(r.Local)
	if m == nil {
		return Number{}, Number{}
	}
	torch = ParseOrZero(m[1] + m[3] + m[5] + "." + m[2] + m[4] + m[6])
	if m := compiledCUDA.FindStringSubmatch(r.Local); m != nil {
		cuda = ParseOrZero(strings.TrimSuffix(m[1]+"."+m[2], "."))
	}
	return cuda, torch
}

// ShortPython returns "3.12" of "3.12.3", and "3.13t" of itself.
func ShortPython(full string) string {
	parts := strings.SplitN(full, ".", 3)
	if len(parts) < 2 {
		return full
	}
	return parts[0] + "." + parts[1]
}

// Int returns the number that text spells, 0 where it spells none: a branch, a count of a job's variable.
func Int(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}
