package python

import (
	"path"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
)

// tritonAlone is a Triton that compiles nothing, because its library or its ptxas is not as it was installed, in an
// environment without torch. Of a sound one there is nothing to compare, and a torch is judged in its stead.
func tritonAlone(h *host.Host, s *site, env *facts.Environment) (*facts.Build, error) {
	dist := s.dist("triton")
	if dist == nil || path.Dir(dist.Path) != s.dir || has(env.Builds, "torch") {
		return nil, nil
	}
	b := &facts.Build{Name: "triton", Version: dist.Version, Accelerator: "cuda", Extension: true, Standalone: true,
		Path: dist.Path, From: dist.Path + "/RECORD"}
	record := h.ReadQuietly(b.From)
	bad, err := s.spoiled(h, record, librariesIn(record))
	for _, p := range assemblerPlaces {
		file := path.Join(s.dir, p.file)
		if bad == nil && p.by == "triton" && recorded(h, dist.Path, p.file) {
			if why := notStarted(h, file); why != "" {
				bad = &facts.Hindrance{Kind: facts.HindranceTool, Path: file, By: why}
			}
		}
	}
	if bad == nil {
		return nil, err
	}
	bad.Of = b.Name + " " + b.Version
	b.Hindrances = append(b.Hindrances, *bad)
	return b, err
}

// notStarted is why a program cannot be started, empty where it can be or where that is not known.
func notStarted(h *host.Host, file string) string {
	f, err := h.Open(file)
	if host.Absent(err) {
		return "gone"
	}
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Mode()&0o111 == 0 {
		return "not executable"
	}
	return ""
}
