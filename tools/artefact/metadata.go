package artefact

import (
	"regexp"
	"slices"
	"strings"
)

// requirement is one Requires-Dist of METADATA.
type requirement struct {
	name   string // normalised, "nvidia-nccl-cu12"
	spec   string // "==2.27.5", ">=9.8,<10.0"; empty for any version
	marker string // `extra == "and-cuda"`
}

// requirementLine matches both of setuptools' forms:
//
//	Requires-Dist: nvidia-nccl-cu12<3.0,>=2.25.1; extra == "and-cuda"
//	Requires-Dist: numpy (>=1.20)
//	Requires-Dist: cuda-toolkit[cublas,cudart]==13.0.2; platform_system == "Linux"
var requirementLine = regexp.MustCompile(
	`(?m)^Requires-Dist: *([A-Za-z0-9._-]+)(?:\[[^\]]*\])? *\(?([^;)\n]*)\)? *(?:;(.*))?$`)

// requires lists what METADATA asks for, in its order.
func (r *Reading) requires() []requirement {
	var list []requirement
	for _, m := range requirementLine.FindAllStringSubmatch(r.Metadata, -1) {
		name := nameSeparators.ReplaceAllString(strings.ToLower(m[1]), "-")
		list = append(list, requirement{name, strings.ReplaceAll(m[2], " ", ""), strings.TrimSpace(m[3])})
	}
	return list
}

// pin returns the version that METADATA names exactly for a package; empty when it does not.
func (r *Reading) pin(name string) string {
	for _, q := range r.requires() {
		if version, ok := strings.CutPrefix(q.spec, "=="); ok && q.name == name && !strings.Contains(q.marker, "extra") {
			return version
		}
	}
	return ""
}

// exactly returns the version of a specifier that names one: "==2.15.0", or "~=2.15.0" and its patches.
func exactly(spec string) (version string, ok bool) {
	if version, ok = strings.CutPrefix(spec, "=="); !ok {
		version, ok = strings.CutPrefix(spec, "~=")
	}
	return version, ok
}

// takes reports whether METADATA requires a package with only a lower bound, which this release meets: ">=2.14.0".
func (r *Reading) takes(name, release string) bool {
	return slices.ContainsFunc(r.requires(), func(q requirement) bool {
		least, ok := strings.CutPrefix(q.spec, ">=")
		return ok && q.name == name && !strings.Contains(least, ",") && compareVersions(least, release) <= 0
	})
}

// extra lists what an extra asks for, "nvidia-nccl-cu12<3.0,>=2.25.1".
func (r *Reading) extra(name string) []string {
	var list []string
	for _, q := range r.requires() {
		if strings.Contains(strings.ReplaceAll(q.marker, `'`, `"`), `"`+name+`"`) {
			list = append(list, q.name+q.spec)
		}
	}
	return list
}

var lowerBound = regexp.MustCompile(`>=([\d.]+)`)

// loosest returns the version range of a package in METADATA. If it differs by Python, loosest returns the one that
// reaches back furthest. It returns "" if there is none.
func (r *Reading) loosest(name string) string {
	var found *requirement
	least := func(q *requirement) string { return strings.TrimPrefix(lowerBound.FindString(q.spec), ">=") }
	for _, q := range r.requires() {
		if q.name == name && (found == nil || compareVersions(least(&q), least(found)) < 0) {
			found = &q
		}
	}
	if found == nil {
		return ""
	}
	return found.spec
}

// saidFamily returns the files that tell the CUDA family beside METADATA.
func (r *Reading) saidFamily() []string {
	if r.Paddle != "" {
		return []string{"version/__init__.py"}
	}
	var list []string
	for _, name := range r.Libraries {
		list = append(list, name[strings.LastIndex(name, "/")+1:])
	}
	return list
}

// wants returns the version of a package that METADATA requires, directly or for an extra: "2.14.1" if it names one,
// otherwise the range. It returns "" if any version will do.
func (r *Reading) wants(name, extra string) string {
	for _, q := range r.requires() {
		marker := strings.ReplaceAll(q.marker, `'`, `"`)
		asked := extra == "" && !strings.Contains(marker, "extra") || extra != "" && strings.Contains(marker, `"`+extra+`"`)
		if q.name == name && asked && !elsewhere(marker) {
			return strings.TrimPrefix(q.spec, "==")
		}
	}
	return ""
}

// elsewhere reports whether a marker is that of another platform than x86-64 Linux.
func elsewhere(marker string) bool {
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
	localCUDA     = regexp.MustCompile(`^cu(\d\d)(\d)$`)
	packageFamily = regexp.MustCompile(`-cu(\d\d)$|-cuda(\d\d)x$`)
	extraFamily   = regexp.MustCompile(`(?m)^Requires-Dist: *[A-Za-z0-9._-]+\[[^\]]*\bcu(\d\d)\b[^\]]*\] *[^;\n]*$`)
	majorBound    = regexp.MustCompile(`[=>~]=(\d\d)\.`)
)

// requiredFamily returns the CUDA family of the NVIDIA packages that METADATA asks for: nvidia-cublas-cu12,
// cuda-toolkit==13.0.2, flashinfer_python[cu13].
func (r *Reading) requiredFamily() string {
	for _, q := range r.requires() {
		if strings.Contains(q.marker, "extra") || elsewhere(q.marker) {
			continue
		}
		if m := packageFamily.FindStringSubmatch(q.name); m != nil {
			return m[1] + m[2]
		}
		if m := majorBound.FindStringSubmatch(q.spec); m != nil &&
			(q.name == "cuda-toolkit" || q.name == "nvidia-cuda-runtime") {
			return m[1]
		}
	}
	if m := extraFamily.FindStringSubmatch(r.Metadata); m != nil {
		return m[1]
	}
	return ""
}
