package reading

import (
	"regexp"
	"slices"
	"strings"

	"cudacompat/tools/artefact/wheel"
)

// Requirement is one Requires-Dist of METADATA.
type Requirement struct {
	Name   string // normalised, "nvidia-nccl-cu12"
	Spec   string // "==2.27.5", ">=9.8,<10.0"; empty for any version
	Marker string // `extra == "and-cuda"`
}

// requirementLine matches both of setuptools' forms:
//
//	Requires-Dist: nvidia-nccl-cu12<3.0,>=2.25.1; extra == "and-cuda"
//	Requires-Dist: numpy (>=1.20)
//	Requires-Dist: cuda-toolkit[cublas,cudart]==13.0.2; platform_system == "Linux"
var requirementLine = regexp.MustCompile(
	`(?m)^Requires-Dist: *([A-Za-z0-9._-]+)(?:\[[^\]]*\])? *\(?([^;)\n]*)\)? *(?:;(.*))?$`)

// ListRequirements lists what METADATA asks for, in its order.
func (r *Reading) ListRequirements() []Requirement {
	var list []Requirement
	for _, m := range requirementLine.FindAllStringSubmatch(r.Metadata, -1) {
		name := wheel.NameSeparators.ReplaceAllString(strings.ToLower(m[1]), "-")
		list = append(list, Requirement{name, strings.ReplaceAll(m[2], " ", ""), strings.TrimSpace(m[3])})
	}
	return list
}

// FindPin returns the version that METADATA names exactly for a package; empty when it does not.
func (r *Reading) FindPin(name string) string {
	for _, q := range r.ListRequirements() {
		if version, ok := strings.CutPrefix(q.Spec, "=="); ok && q.Name == name && !strings.Contains(q.Marker, "extra") {
			return version
		}
	}
	return ""
}

// ParseExact returns the version of a specifier that names one: "==2.15.0", or "~=2.15.0" and its patches.
func ParseExact(spec string) (version string, ok bool) {
	if version, ok = strings.CutPrefix(spec, "=="); !ok {
		version, ok = strings.CutPrefix(spec, "~=")
	}
	return version, ok
}

// Accepts reports whether METADATA requires a package with only a lower bound, which this release meets: ">=2.14.0".
func (r *Reading) Accepts(name, release string) bool {
	return slices.ContainsFunc(r.ListRequirements(), func(q Requirement) bool {
		least, ok := strings.CutPrefix(q.Spec, ">=")
		return ok && q.Name == name && !strings.Contains(least, ",") && CompareVersions(least, release) <= 0
	})
}

// ListExtra lists what an extra asks for, "nvidia-nccl-cu12<3.0,>=2.25.1".
func (r *Reading) ListExtra(name string) []string {
	var list []string
	for _, q := range r.ListRequirements() {
		if strings.Contains(strings.ReplaceAll(q.Marker, `'`, `"`), `"`+name+`"`) {
			list = append(list, q.Name+q.Spec)
		}
	}
	return list
}

var lowerBound = regexp.MustCompile(`>=([\d.]+)`)

// FindLoosest returns the version range of a package in METADATA. If it differs by Python, loosest returns the one that
// reaches back furthest. It returns "" if there is none.
func (r *Reading) FindLoosest(name string) string {
	var found *Requirement
	least := func(q *Requirement) string { return strings.TrimPrefix(lowerBound.FindString(q.Spec), ">=") }
	for _, q := range r.ListRequirements() {
		if q.Name == name && (found == nil || CompareVersions(least(&q), least(found)) < 0) {
			found = &q
		}
	}
	if found == nil {
		return ""
	}
	return found.Spec
}

// NameFamilyFiles returns the files that tell the CUDA family beside METADATA.
func (r *Reading) NameFamilyFiles() []string {
	if r.Paddle != "" {
		return []string{"version/__init__.py"}
	}
	var list []string
	for _, name := range r.Libraries {
		list = append(list, name[strings.LastIndex(name, "/")+1:])
	}
	return list
}

// FindWanted returns the version of a package that METADATA requires, directly or for an extra: "2.14.1" if it names
// one, otherwise the range. It returns "" if any version will do.
func (r *Reading) FindWanted(name, extra string) string {
	for _, q := range r.ListRequirements() {
		marker := strings.ReplaceAll(q.Marker, `'`, `"`)
		asked := extra == "" && !strings.Contains(marker, "extra") || extra != "" && strings.Contains(marker, `"`+extra+`"`)
		if q.Name == name && asked && !IsElsewhere(marker) {
			return strings.TrimPrefix(q.Spec, "==")
		}
	}
	return ""
}

// IsElsewhere reports whether a marker is that of another platform than x86-64 Linux.
func IsElsewhere(marker string) bool {
	marker = strings.ReplaceAll(strings.ReplaceAll(marker, `'`, `"`), " ", "")
	for _, other := range []string{`sys_platform=="win32"`, `sys_platform=="darwin"`, `platform_machine=="aarch64"`,
		`sys_platform!="linux"`} {
		if strings.HasPrefix(marker, other) || strings.HasPrefix(marker, "("+other) {
			return true
		}
	}
	return false
}

var (
	LocalCUDA     = regexp.MustCompile(`^cu(\d\d)(\d)$`)
	packageFamily = regexp.MustCompile(`-cu(\d\d)$|-cuda(\d\d)x$`)
	extraFamily   = regexp.MustCompile(`(?m)^Requires-Dist: *[A-Za-z0-9._-]+\[[^\]]*\bcu(\d\d)\b[^\]]*\] *[^;\n]*$`)
	majorBound    = regexp.MustCompile(`[=>~]=(\d\d)\.`)
)

// FindRequiredFamily returns the CUDA family of the NVIDIA packages that METADATA asks for: nvidia-cublas-cu12,
// cuda-toolkit==13.0.2, flashinfer_python[cu13].
func (r *Reading) FindRequiredFamily() string {
	for _, q := range r.ListRequirements() {
		if strings.Contains(q.Marker, "extra") || IsElsewhere(q.Marker) {
			continue
		}
		if m := packageFamily.FindStringSubmatch(q.Name); m != nil {
			return m[1] + m[2]
		}
		if m := majorBound.FindStringSubmatch(q.Spec); m != nil &&
			(q.Name == "cuda-toolkit" || q.Name == "nvidia-cuda-runtime") {
			return m[1]
		}
	}
	if m := extraFamily.FindStringSubmatch(r.Metadata); m != nil {
		return m[1]
	}
	return ""
}
