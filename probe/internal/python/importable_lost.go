package python

import (
	"path"
	"strings"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/distname"
)

// frameworkDists are the distributions that bring a framework.
var frameworkDists = map[string][]string{"torch": {"torch"}, "tensorflow": tensorflowDists, "jax": {"jaxlib"}}

// tensorflowDists are the distributions that bring a tensorflow/ directory; the last one written wins.
var tensorflowDists = []string{"tensorflow", "tensorflow-gpu", "tensorflow-cpu", "tf-nightly", "tensorflow-intel",
	"tensorflow-cpu-aws"}

// frameworkInfo is the dist-info directory that a framework came with, empty where there is none.
func (s *site) frameworkInfo(framework string) string {
	for _, name := range frameworkDists[framework] {
		if d := s.dist(name); d != nil {
			return d.Path
		}
	}
	return ""
}

// lostFiles is that a file without which a framework is not imported is gone, though the RECORD of its distribution lists
// it.
func (s *site) lostFiles(h *host.Host, framework, file string) []facts.Hindrance {
	info := s.frameworkInfo(framework)
	if info == "" || !absent(h, path.Join(s.dir, file)) || s.elsewhere(h, file) || !isRecorded(h, info, file) {
		return nil
	}
	return []facts.Hindrance{{Kind: facts.HindranceGone, Of: distOf(info), Path: path.Join(s.dir, file)}}
}

// distOf is "numpy 2.3.1" of "/opt/venv/…/numpy-2.3.1.dist-info".
func distOf(info string) string {
	name, version, _ := strings.Cut(strings.TrimSuffix(path.Base(info), ".dist-info"), "-")
	return distname.Normal(name) + " " + version
}
