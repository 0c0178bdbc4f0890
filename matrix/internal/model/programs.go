package model

import (
	"slices"

	"cudacompat/internal/version"
	"cudacompat/matrix/internal/hardware"
	"cudacompat/probe/facts"
)

// layPrograms adds the CUDA programs outside Python. Each becomes one build: the backend that it would use.
func (m *Machine) layPrograms() {
	for i := range m.Facts.Programs {
		program := &m.Facts.Programs[i]
		if b := m.backendOf(program); b != nil {
			m.Builds = append(m.Builds, newBuild(m, m.Environment(program), b, Chosen, nil))
		}
	}
}

// backendOf returns the newest backend of a program that runs here, as Ollama chooses by driver and GPU, otherwise the
// oldest one, which needs the least.
func (m *Machine) backendOf(program *facts.Environment) *facts.Build {
	list := slices.Clone(program.Builds)
	slices.SortStableFunc(list, func(x, y facts.Build) int { return version.ParseOrZero(y.CUDA).Compare(version.ParseOrZero(x.CUDA)) })
	runs := func(b facts.Build) bool {
		return len(b.Missing) == 0 && m.Reached(version.ParseOrZero(b.CUDA)) && !slices.ContainsFunc(m.Kinds, func(g hardware.GPU) bool {
			return g.Capability.Known() && version.Cover(b.SASS, b.PTX, g.Capability) == version.Uncovered
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

// Program reports whether a build is a program outside Python.
func (b *Build) Program() bool { return b.Origin == "program" }
