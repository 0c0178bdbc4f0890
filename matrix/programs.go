package matrix

import (
	"slices"

	"cudacompat/internal/version"
	"cudacompat/probe/facts"
)

// layPrograms adds the CUDA programs outside Python. Each has one build: the backend that it would take.
func (m *machine) layPrograms() {
	for i := range m.f.Programs {
		program := &m.f.Programs[i]
		if b := m.backendOf(program); b != nil {
			m.builds = append(m.builds, newBuild(m, m.environment(program), b, chosen))
		}
	}
}

// backendOf is the newest of a program's backends that runs here, as Ollama chooses by the driver and the GPU; else the
// oldest, which needs the least.
func (m *machine) backendOf(program *facts.Environment) *facts.Build {
	list := slices.Clone(program.Builds)
	slices.SortStableFunc(list, func(x, y facts.Build) int { return version.Of(y.CUDA).Compare(version.Of(x.CUDA)) })
	runs := func(b facts.Build) bool {
		return len(b.Missing) == 0 && m.reached(version.Of(b.CUDA)) && !slices.ContainsFunc(m.kinds, func(g gpu) bool {
			return g.capability.Known() && version.Cover(b.SASS, b.PTX, g.capability) == version.Uncovered
		})
	}
	if i := slices.IndexFunc(list, runs); i >= 0 {
		return &list[i]
	}
	if len(list) == 0 {
		return nil
	}
	return &list[len(list)-1]
}

// program reports whether a build is a program of its own, outside Python.
func (b *build) program() bool { return b.Origin == "program" }
