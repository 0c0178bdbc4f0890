package container

import (
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"

	"go.yaml.in/yaml/v4"
)

// maxMissing bounds how many missing files are kept; a stale specification misses about fifty.
const maxMissing = 8

// cdiSpecs reads the CDI specifications in order of priority: a device in /var/run/cdi hides one of the same name in
// /etc/cdi.
func cdiSpecs(h *host.Host, failed *host.Errors) []facts.CDISpec {
	var specs []facts.CDISpec
	var all []cdiFile
	for _, pattern := range []string{"/etc/cdi/*.yaml", "/etc/cdi/*.yml", "/etc/cdi/*.json", "/var/run/cdi/*.yaml",
		"/var/run/cdi/*.yml", "/var/run/cdi/*.json"} {
		for _, name := range h.Glob(pattern) {
			data, err := h.ReadFile(name)
			failed.Add(err)
			spec := parseCDI(name, string(data))
			if spec == nil {
				continue
			}
			checkSpec(spec, h, string(data))
			written := decodeCDI(data)
			spec.Majors, spec.CDI = written.majors(), written.Version
			specs, all = append(specs, *spec), append(all, written)
		}
	}
	for i := range specs {
		specs[i].By = hidingSpec(specs, all, i)
	}
	return specs
}

// hidingSpec returns the specification in a directory of higher priority that has a device of the same name, and so
// hides it.
func hidingSpec(specs []facts.CDISpec, all []cdiFile, i int) string {
	for j := len(specs) - 1; j > i; j-- {
		if path.Dir(specs[j].Path) == path.Dir(specs[i].Path) {
			continue
		}
		for _, d := range all[i].Devices {
			if slices.ContainsFunc(all[j].Devices, func(other cdiDevice) bool { return other.Name == d.Name }) {
				return specs[j].Path
			}
		}
	}
	return ""
}

// cdiFile is what is read of a CDI specification. JSON is valid YAML:
//
//	cdiVersion: 0.7.0
//	devices:
//	  - name: "0"
//	    containerEdits:
//	      deviceNodes:
//	        - path: /dev/nvidia0
//	          major: 195
type cdiFile struct {
	Version string      `yaml:"cdiVersion"`
	Devices []cdiDevice `yaml:"devices"`
	Edits   cdiEdits    `yaml:"containerEdits"`
}

type cdiDevice struct {
	Name  string   `yaml:"name"`
	Edits cdiEdits `yaml:"containerEdits"`
}

type cdiEdits struct {
	Nodes []struct {
		Path  string `yaml:"path"`
		Major int    `yaml:"major"`
	} `yaml:"deviceNodes"`
}

// decodeCDI decodes a specification. It returns an empty one for damaged YAML, which the container engine reports
// itself.
func decodeCDI(data []byte) cdiFile {
	var f cdiFile
	if yaml.Unmarshal(data, &f) != nil {
		return cdiFile{}
	}
	return f
}

// majors returns the major numbers that a specification fixes, by the driver's name for such nodes in /proc/devices.
func (f cdiFile) majors() map[string]int {
	var majors map[string]int
	add := func(edits cdiEdits) {
		for _, node := range edits.Nodes {
			kind := nodeKind(node.Path)
			if kind == "" || node.Major <= 0 {
				continue
			}
			if majors == nil {
				majors = map[string]int{}
			}
			majors[kind] = node.Major
		}
	}
	add(f.Edits)
	for _, d := range f.Devices {
		add(d.Edits)
	}
	return majors
}

// nodeKind returns the driver's name in /proc/devices for a device node.
func nodeKind(node string) string {
	name, ok := strings.CutPrefix(node, "/dev/nvidia")
	switch {
	case !ok:
		return ""
	case name == "ctl", name != "" && strings.Trim(name, "0123456789") == "":
		return "nvidia"
	case name == "-uvm", name == "-uvm-tools":
		return "nvidia-uvm"
	case strings.HasPrefix(name, "-caps/"):
		return "nvidia-caps"
	}
	return ""
}

var (
	cdiKind = lazyregexp.New(`(?m)^\s*"?kind"?\s*:\s*"?nvidia\.com/gpu"?`)
	// cdiLibrary matches `- hostPath: /usr/lib/x86_64-linux-gnu/libcuda.so.535.183.01`, in YAML and in JSON.
	cdiLibrary    = lazyregexp.New(`"?hostPath"?\s*:\s*"?(/[^"\s,}]*/lib[^"\s,}/]*\.so\.(\d{3,4}\.\d+(?:\.\d+)?))"?`)
	cdiKindInLine = lazyregexp.New(`"kind"\s*:\s*"nvidia\.com/gpu"`)
)

// parseCDI lists the driver versions in a specification of nvidia.com/gpu. It returns nil for other kinds.
func parseCDI(name, text string) *facts.CDISpec {
	if !cdiKind.MatchString(text) && !cdiKindInLine.MatchString(text) {
		return nil
	}
	spec := &facts.CDISpec{Path: name}
	for _, m := range cdiLibrary.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(spec.Versions, m[2]) {
			spec.Versions = append(spec.Versions, m[2])
		}
	}
	return spec
}

// checkSpec records the libraries that a specification mounts and that do not exist.
func checkSpec(s *facts.CDISpec, h *host.Host, text string) {
	for _, m := range cdiLibrary.FindAllStringSubmatch(text, -1) {
		if len(s.Missing) < maxMissing && !slices.Contains(s.Missing, m[1]) && !h.Exists(strings.TrimSpace(m[1])) {
			s.Missing = append(s.Missing, m[1])
		}
	}
}
