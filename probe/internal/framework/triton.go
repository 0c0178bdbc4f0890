package framework

import (
	"cmp"
	"path"
	"slices"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/pyenv"
	"cudacompat/probe/internal/pyimport"
)

// tritonAlone returns a Triton in an environment without a torch, which would otherwise be judged, and what keeps it
// from compiling: a damaged library or ptxas.
func tritonAlone(h *host.Host, s *pyenv.Site, env *facts.Environment) (*facts.Build, error) {
	dist := s.Dist("triton")
	if dist == nil || path.Dir(dist.Path) != s.Dir || pyenv.Has(env.Builds, "torch") {
		return nil, nil
	}
	b := &facts.Build{Name: "triton", Version: dist.Version, Accelerator: "cuda", Extension: true, Standalone: true,
		Path: dist.Path, From: dist.Path + "/RECORD"}
	d := s.Index(h).At(b.Path)
	b.Arch = d.Tags().Arch
	bad, err := pyimport.SpoiledLibrary(s, h, d, d.Record().LargeLibraries())
	if bad == nil {
		bad = findMissingAssembler(s, h, dist)
	}
	if bad != nil {
		bad.Of = b.Name + " " + b.Version
		b.Hindrances = append(b.Hindrances, *bad)
	}
	return b, err
}

// findMissingAssembler returns the first assembler that Triton would start and cannot: one that a variable names,
// otherwise its own.
func findMissingAssembler(s *pyenv.Site, h *host.Host, dist *facts.Package) *facts.Hindrance {
	named := assemblersNamed(h, &host.Errors{}) // readEnvironment tells of what cannot be read
	for _, a := range append(slices.Clone(named), faulty(s, h, dist)...) {
		instead := slices.ContainsFunc(named, func(n facts.Assembler) bool { return n.Name == a.Name && n.Fault == "" })
		if a.Fault != "" && !instead {
			return &facts.Hindrance{Kind: facts.HindranceTool, Path: a.Path, By: a.Fault}
		}
	}
	return nil
}

// addFaults adds to a directory's assemblers the faults of those that its Triton lists. conda's package may omit files
// that are in its RECORD, which is the wheel's.
func addFaults(s *pyenv.Site, h *host.Host, list []facts.Assembler) []facts.Assembler {
	dist := cmp.Or(s.Dist("triton"), s.Dist("pytorch-triton"))
	if dist == nil || path.Dir(dist.Path) != s.Dir {
		return list
	}
	if by, _ := s.Index(h).At(dist.Path).Installer(); by == "conda" {
		return list
	}
	for _, f := range faulty(s, h, dist) {
		i := slices.IndexFunc(list, func(a facts.Assembler) bool { return a.Path == f.Path })
		if i < 0 {
			list = append(list, f)
		} else {
			list[i].Fault = f.Fault
		}
	}
	return list
}

// faulty returns the assemblers that a Triton's RECORD lists and that cannot be started.
func faulty(s *pyenv.Site, h *host.Host, dist *facts.Package) []facts.Assembler {
	var list []facts.Assembler
	for _, p := range assemblerPlaces {
		if p.by != "triton" || !s.Index(h).At(dist.Path).Record().Has(p.file) {
			continue
		}
		file := path.Join(s.Dir, p.file)
		if why := notStarted(h, file); why != "" {
			list = append(list, facts.Assembler{Name: path.Base(file), Path: file, By: p.by, Fault: why})
		}
	}
	return list
}

const notExecutable = "not executable"

// notStarted returns why a program cannot be started, or "" if it can or nobody knows.
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
		return notExecutable
	}
	return ""
}
