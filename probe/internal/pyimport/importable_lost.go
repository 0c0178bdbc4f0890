package pyimport

import (
	"path"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/pyenv"
)

// FrameworkDists are the distributions that bring a framework.
var FrameworkDists = map[string][]string{"torch": {"torch"}, "tensorflow": TensorflowDists, "jax": {"jaxlib"}}

// TensorflowDists are the distributions that bring a tensorflow/ directory; the last one written wins.
var TensorflowDists = []string{"tensorflow", "tensorflow-gpu", "tensorflow-cpu", "tf-nightly", "tensorflow-intel",
	"tensorflow-cpu-aws"}

// FrameworkInfo returns the dist-info directory of a framework, or "".
func FrameworkInfo(s *pyenv.Site, framework string) string {
	for _, name := range FrameworkDists[framework] {
		if d := s.Dist(name); d != nil {
			return d.Path
		}
	}
	return ""
}

// LostFiles returns the hindrance that a file which a framework needs for its import is gone although its
// distribution's RECORD lists it.
func LostFiles(s *pyenv.Site, h *host.Host, framework, file string) []facts.Hindrance {
	info := FrameworkInfo(s, framework)
	if info == "" || !pyenv.Absent(h, path.Join(s.Dir, file)) || s.Elsewhere(h, file) || !s.Index(h).At(info).Record().Has(file) {
		return nil
	}
	return []facts.Hindrance{{Kind: facts.HindranceGone, Of: s.Index(h).At(info).String(), Path: path.Join(s.Dir, file)}}
}
