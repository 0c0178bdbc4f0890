package pydist

import (
	"bytes"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/version"
	"cudacompat/probe/internal/distname"
	pip "cudacompat/probe/internal/input/requirements"
)

// Metadata is the header of a METADATA.
type Metadata struct {
	Version  string
	Requires []Requirement
	err      error
}

// Err tells why METADATA could not be read.
func (m *Metadata) Err() error { return m.err }

// Requirement is one line of Requires-Dist (PEP 508), in both of setuptools' forms:
//
//	Requires-Dist: nvidia-nccl-cu12==2.27.5; platform_system == "Linux" and platform_machine == "x86_64"
//	Requires-Dist: nvidia-cudnn-cu12 (==8.9.2.26) ; platform_system == "Linux"
//	Requires-Dist: cuda-toolkit[cublas,cudart]==13.0.2; platform_system == "Linux"
type Requirement struct {
	Name string // normalised as pip does
	Text string // all that stands behind "Requires-Dist:"
}

// maxHeader limits what is read of METADATA above its description, in bytes: thousands of requirements.
const maxHeader = 1 << 20

var (
	versionField  = []byte("Version:")
	requiresField = []byte("Requires-Dist:")
)

// ParseMetadata reads METADATA's header, which an empty line ends: the description below it may hold anything.
func ParseMetadata(data []byte) Metadata {
	var m Metadata
	for line := range bytes.Lines(data[:min(len(data), maxHeader)]) {
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		if rest, ok := bytes.CutPrefix(line, requiresField); ok {
			if r, ok := newRequirement(string(bytes.TrimSpace(rest))); ok {
				m.Requires = append(m.Requires, r)
			}
			continue
		}
		if rest, ok := bytes.CutPrefix(line, versionField); ok && m.Version == "" {
			if fields := strings.Fields(string(rest)); len(fields) == 1 {
				m.Version = fields[0]
			}
		}
	}
	return m
}

// newRequirement takes the name out of a requirement.
func newRequirement(text string) (Requirement, bool) {
	end := strings.IndexFunc(text, func(r rune) bool { return strings.ContainsRune(" ;[(<>=!~@", r) })
	if end < 0 {
		end = len(text)
	}
	return Requirement{distname.Normal(text[:end]), text}, end > 0
}

// Parse reads the whole requirement.
func (r Requirement) Parse() (pip.Requirement, bool) { return pip.ParseRequirement(r.Text) }

// Marker returns what stands behind the semicolon.
func (r Requirement) Marker() string {
	_, marker, _ := strings.Cut(r.Text, ";")
	return strings.TrimSpace(marker)
}

// elsewhere matches markers of requirements that do not hold for a plain installation on Linux.
var elsewhere = lazyregexp.New(`\bextra\s*==|==\s*['"](?i:windows|win32|darwin|cygwin)['"]`)

// Elsewhere reports whether a requirement is for another system or for an extra.
func (r Requirement) Elsewhere() bool {
	marker := r.Marker()
	return strings.Contains(marker, "==") && elsewhere.MatchString(marker)
}

// Plain returns the version range of a requirement without an extra and a marker. It returns "" if there is one of
// these, or no range.
func (r Requirement) Plain() string {
	parsed, ok := r.Parse()
	if !ok || len(parsed.Extras) > 0 || strings.Contains(r.Text, ";") {
		return ""
	}
	return parsed.Range
}

// Pins returns the exact pins that hold on Linux without an extra, name to version.
func (m *Metadata) Pins() map[string]string {
	pins := map[string]string{}
	for _, r := range m.Requires {
		if !strings.Contains(r.Text, "==") || r.Elsewhere() {
			continue
		}
		parsed, _ := r.Parse()
		if pin, ok := strings.CutPrefix(parsed.Range, "=="); ok {
			pin, _, _ = strings.Cut(pin, ",")
			pins[r.Name] = pin
		}
	}
	return pins
}

// Names reports whether a distribution is required. With extras it also reports one that only an extra requires.
func (m *Metadata) Names(name string, extras bool) bool {
	return slices.ContainsFunc(m.Requires, func(r Requirement) bool { return r.Name == name && (extras || !r.Elsewhere()) })
}

// NamesCUDA reports whether one of NVIDIA's libraries is required, or named for an extra.
func (m *Metadata) NamesCUDA() bool {
	return slices.ContainsFunc(m.Requires, func(r Requirement) bool {
		return strings.HasPrefix(r.Name, "nvidia-") || strings.HasPrefix(r.Name, "cuda-")
	})
}

// Accepts reports whether a release is in a range as METADATA writes it. It returns true if that cannot be decided.
func Accepts(specifiers, have string) bool {
	for _, one := range strings.Split(specifiers, ",") {
		fits, err := version.Allows(strings.TrimSpace(one), version.ParseOrZero(have))
		if err == nil && !fits {
			return false
		}
	}
	return true
}
