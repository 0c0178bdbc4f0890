package given

import (
	"cmp"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/version"
)

// markerPart matches what an environment marker is made of: a comparison, a bracket, "and", "or".
var markerPart = lazyregexp.New(`(\w+)\s*(===?|!=|~=|[<>]=?|not in|in)\s*(?:'([^']*)'|"([^"]*)")|[()]|\band\b|\bor\b`)

// maxMarker bounds how deep the brackets of a marker are followed.
const maxMarker = 4 << 10 // bytes of the marker

// host is where packages are to be installed: a Linux. What of it is empty may be anything.
type host struct {
	machine string          // "x86_64" or "aarch64"
	python  string          // "3.10"
	met     map[string]bool // what markers said, which a lock repeats thousands of times; nil: not kept
}

// marker is an environment marker (PEP 508) that is read part by part.
type marker struct {
	parts [][]string
	host  host
}

// holds reports whether a marker can be true on a host. Which extras are asked for, nobody said; a marker has no "not",
// so a comparison that nobody answers may be taken as true.
func (h host) holds(text string) bool {
	if len(text) > maxMarker {
		return true
	}
	value, known := h.met[text]
	if !known {
		m := &marker{parts: markerPart.FindAllStringSubmatch(text, -1), host: h}
		value = m.either()
	}
	if h.met != nil {
		h.met[text] = value
	}
	return value
}

func (m *marker) next(word string) bool {
	if len(m.parts) == 0 || m.parts[0][0] != word {
		return false
	}
	m.parts = m.parts[1:]
	return true
}

func (m *marker) either() bool {
	value := m.both()
	for m.next("or") {
		right := m.both()
		value = value || right
	}
	return value
}

func (m *marker) both() bool {
	value := m.one()
	for m.next("and") {
		right := m.one()
		value = value && right
	}
	return value
}

func (m *marker) one() bool {
	if m.next("(") {
		value := m.either()
		m.next(")")
		return value
	}
	if len(m.parts) == 0 {
		return true
	}
	part := m.parts[0]
	m.parts = m.parts[1:]
	return m.compared(part[1], part[2], part[3]+part[4])
}

// compared answers one comparison.
func (m *marker) compared(name, operator, value string) bool {
	have := map[string]string{"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix",
		"platform_machine": m.host.machine, "python_version": m.host.python, "python_full_version": m.host.python}[name]
	in := strings.HasSuffix(operator, "in")
	switch {
	case have == "":
		return true
	case have == m.host.python && !in:
		return onPython(operator+value, have)
	case operator == "==":
		return have == value
	case operator == "!=":
		return have != value
	case in:
		return slices.Contains(strings.FieldsFunc(value, func(r rune) bool { return r == ' ' || r == ',' }), have) ==
			(operator == "in")
	}
	return true
}

// onPython reports whether a range has a patch release of a Python: of a range that begins within a minor release,
// python_full_version >= '3.11.4', that release has one that it holds.
func onPython(text, minor string) bool {
	asked, err := version.ParseRange(text)
	return err != nil || asked.Has(version.Of(minor+".0")) || asked.Has(version.Of(minor+".99"))
}

// takes reports whether a package is for a host: one of its markers can be true there, or it has none.
func (h host) takes(p *locked) bool {
	return len(p.markers) == 0 || slices.ContainsFunc(p.markers, h.holds)
}

// accelerated matches what tells a package for CPUs from its twin: tensorflow-cpu.
var accelerated = lazyregexp.New(`-(?:cpu|gpu)$`)

// forOneMachine leaves of each package what is for Linux on x86_64, or where nothing is, what is for aarch64: of one
// that a lock resolves for each machine, one is installed.
func forOneMachine(list []locked) []locked {
	if !slices.ContainsFunc(list, func(p locked) bool { return len(p.markers) > 0 }) {
		return list
	}
	machine := map[string]string{}
	for _, p := range list {
		if (host{machine: "x86_64"}).takes(&p) {
			machine[accelerated.ReplaceAllString(p.name, "")] = "x86_64"
		}
	}
	kept := make([]locked, 0, len(list))
	for _, p := range list {
		if (host{machine: cmp.Or(machine[accelerated.ReplaceAllString(p.name, "")], "aarch64")}).takes(&p) {
			kept = append(kept, p)
		}
	}
	return kept
}
