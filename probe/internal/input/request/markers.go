package request

import (
	"cmp"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/version"
)

// markerPart matches the elements of an environment marker: a comparison, a bracket, "and", "or".
var markerPart = lazyregexp.New(`([A-Za-z_]+)\s*` + markerOperator + `\s*(?:'([^']*)'|"([^"]*)")|` +
	`(?:'([^']*)'|"([^"]*)")\s*` + markerOperator + `\s*([A-Za-z_]+)|[()]|\band\b|\bor\b`)

const markerOperator = `(===?|!=|~=|[<>]=?|not\s+in\b|in\b)`

// markerText matches a marker that pip reads: strings in quotes, operators, and the variables of PEP 508 with their older
// names.
var markerText = lazyregexp.New(`^(?:\s+|[()]|'[^']*'|"[^"]*"|===?|!=|~=|[<>]=?|(?:and|or|not|in|os_name|sys_platform|platform_machine|` +
	`platform_python_implementation|platform_release|platform_system|platform_version|python_version|python_full_version|` +
	`implementation_name|implementation_version|extras?|dependency_groups|os\.name|sys\.platform|platform\.version|platform\.machine|` +
	`platform\.python_implementation|python_implementation)\b)*$`)

// IsMarker reports whether a text is made of what a marker may have.
func IsMarker(text string) bool { return markerText.MatchString(text) }

// mirrored are the operators of a comparison whose sides are changed.
var mirrored = map[string]string{"<": ">", ">": "<", "<=": ">=", ">=": "<="}

// maxMarker bounds how deep the brackets of a marker are followed.
const maxMarker = 4 << 10 // bytes of the marker

// Host is where packages are to be installed: a Linux. What of it is empty may be anything.
type Host struct {
	Machine       string          // "x86_64" or "aarch64"
	Python        string          // "3.10"
	Full          string          // "3.10.4"
	Extras        map[string]bool // that are installed, in each spelling of a marker; nil: nobody said
	MarkerAnswers map[string]bool // what markers said, which a lock repeats thousands of times; nil: not kept
}

// marker is an environment marker (PEP 508) that is read part by part.
type marker struct {
	parts [][]string
	host  Host
}

// Holds reports whether a marker can be true on a host. A marker has no "not", so a comparison with an unknown result,
// such as one with an extra, counts as true.
func (h Host) Holds(text string) bool {
	if len(text) > maxMarker {
		return true
	}
	value, known := h.MarkerAnswers[text]
	if !known {
		m := &marker{parts: markerPart.FindAllStringSubmatch(text, -1), host: h}
		value = m.either()
	}
	if h.MarkerAnswers != nil {
		h.MarkerAnswers[text] = value
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
	value := m.term()
	for m.next("and") {
		right := m.term()
		value = value && right
	}
	return value
}

func (m *marker) term() bool {
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
	if name := part[8]; name != "" { // '3.9' <= python_version
		if operator := part[7]; strings.HasSuffix(operator, "in") {
			return m.within(part[5]+part[6], name, operator == "in")
		}
		return m.compare(name, cmp.Or(mirrored[part[7]], part[7]), part[5]+part[6])
	}
	return m.compare(part[1], part[2], part[3]+part[4])
}

// value returns the host's value of a marker's variable, or "" if it may be anything.
func (m *marker) value(name string) string {
	return map[string]string{"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix",
		"platform_machine": m.host.Machine, "python_version": m.host.Python, "python_full_version": m.host.Full}[name]
}

// compare answers one comparison.
func (m *marker) compare(name, operator, value string) bool {
	have := m.value(name)
	in := strings.HasSuffix(operator, "in")
	switch {
	case name == "extra" && m.host.Extras != nil:
		return m.host.Extras[value] == (operator == "==")
	case have == "":
		return true
	case in:
		return strings.Contains(value, have) == (operator == "in")
	case strings.HasPrefix(name, "python"):
		asked, err := version.ParseSpecifiers(operator + value)
		return err != nil || asked.Has(have)
	}
	switch operator {
	case "==", "===":
		return have == value
	case "!=":
		return have != value
	case "<":
		return have < value
	case "<=":
		return have <= value
	case ">":
		return have > value
	case ">=":
		return have >= value
	}
	return true
}

// within answers 'linux' in sys_platform.
func (m *marker) within(part, name string, in bool) bool {
	have := m.value(name)
	return have == "" || strings.Contains(have, part) == in
}

// Takes reports whether a package is for a host: one of its markers can be true there, or it has none.
func (h Host) Takes(p *Package) bool {
	return len(p.Markers) == 0 || slices.ContainsFunc(p.Markers, h.Holds)
}

// cpuTwin matches what tells a package for CPUs from its twin: tensorflow-cpu.
var cpuTwin = lazyregexp.New(`-(?:cpu|gpu)$`)

// ForOneMachine keeps of each package what is for Linux on x86_64, or otherwise what is for aarch64. A lock resolves a
// package for each machine, and one of them is installed.
func ForOneMachine(list []Package) []Package {
	if !slices.ContainsFunc(list, func(p Package) bool { return len(p.Markers) > 0 }) {
		return list
	}
	machine := map[string]string{}
	for _, p := range list {
		if (Host{Machine: "x86_64"}).Takes(&p) {
			machine[cpuTwin.ReplaceAllString(p.Name, "")] = "x86_64"
		}
	}
	kept := make([]Package, 0, len(list))
	for _, p := range list {
		if (Host{Machine: cmp.Or(machine[cpuTwin.ReplaceAllString(p.Name, "")], "aarch64")}).Takes(&p) {
			kept = append(kept, p)
		}
	}
	return kept
}
