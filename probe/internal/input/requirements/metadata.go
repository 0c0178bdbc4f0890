package requirements

import (
	"cmp"
	"strings"

	"cudacompat/internal/version"
	"cudacompat/probe/facts"
	"cudacompat/probe/internal/distname"
	"cudacompat/probe/internal/input/request"
)

// Requirement is one distribution that another one requires, a line of METADATA's Requires-Dist.
type Requirement struct {
	Name   string // normalised as pip does
	Extras []string
	Range  string // what it accepts, ">=2.5,<3"; empty: every release
	marker string
}

// ParseRequirement reads what stands behind "Requires-Dist:", in setuptools' older form, too:
//
//	numpy>=1.26; python_version >= "3.11"
//	librmm-cu12 (>=26.10,<26.12)
//	fastapi[standard]>=0.115.0 ; extra == 'serve'
func ParseRequirement(line string) (r Requirement, ok bool) {
	text, marker, _ := strings.Cut(line, ";")
	m := requirementLine.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return r, false
	}
	r = Requirement{Name: distname.Normal(m[1]), Range: strings.ReplaceAll(m[4], " ", ""), marker: marker}
	for extra := range strings.SplitSeq(m[2], ",") {
		if extra = strings.TrimSpace(extra); extra != "" {
			r.Extras = append(r.Extras, distname.Normal(extra))
		}
	}
	return r, true
}

// Applies reports whether the marker holds in an environment, on a machine, with the requested extras.
func (r Requirement) Applies(env facts.Environment, arch string, extras []string) bool {
	h := request.Host{Machine: cmp.Or(arch, "x86_64"), Python: version.ShortPython(env.Python), Extras: map[string]bool{}}
	for _, extra := range extras { // in the spellings that markers have
		h.Extras[extra], h.Extras[strings.ReplaceAll(extra, "-", "_")] = true, true
	}
	if strings.Count(env.Python, ".") > 1 {
		h.Full = env.Python
	}
	return r.marker == "" || h.Holds(r.marker)
}

// Accepts reports whether it is content with a release; what cannot be told it is.
func (r Requirement) Accepts(release string) bool {
	if release == "" {
		return true
	}
	asked, err := version.ParseSpecifiers(r.Range)
	return err != nil || asked.Has(release)
}

// String returns the requirement without its marker, "numpy>=1.26".
func (r Requirement) String() string { return r.Name + r.Range }
