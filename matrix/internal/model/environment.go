package model

import (
	"slices"
	"strings"

	"cudacompat/internal/tables"
	"cudacompat/probe/facts"
)

// Environment is a Python environment with what the rules ask of it.
type Environment struct {
	*facts.Environment
	t        *tables.Tables
	plan     *facts.Plan // what is about to change in it; nil where nothing is
	packages map[string]*facts.Package
	read     map[string]*Installed // of packages those that were asked for
	Shared   []SharedFiles         // libraries of NVIDIA of which several wheels own the same files
}

// SharedFiles is a library of which wheels are installed that own the same files, whatever CUDA family they are for.
type SharedFiles struct {
	Library string       // "nccl" of nvidia-nccl-cu12
	Wheels  []*Installed // those that are there
}

// NewEnvironment finds the packages of an environment by their names.
func NewEnvironment(t *tables.Tables, e *facts.Environment) *Environment {
	env := &Environment{Environment: e, t: t, packages: map[string]*facts.Package{},
		read: map[string]*Installed{}}
	for i := range e.Packages {
		if p := &e.Packages[i]; env.packages[p.Name] == nil {
			env.packages[p.Name] = p
		}
		env.addShared(&e.Packages[i])
	}
	return env
}

// addShared notes a wheel of NVIDIA's whose files wheels of other CUDA families own, too (trait same-files).
func (e *Environment) addShared(found *facts.Package) {
	name, ofNVIDIA := strings.CutPrefix(found.Name, "nvidia-")
	if !ofNVIDIA {
		return
	}
	p := NewInstalled(found)
	if !e.t.Trait("same-files", p.Name, p.Number) {
		return
	}
	library := FamilySuffix.ReplaceAllString(name, "")
	i := slices.IndexFunc(e.Shared, func(s SharedFiles) bool { return s.Library == library })
	if i < 0 {
		i, e.Shared = len(e.Shared), append(e.Shared, SharedFiles{Library: library})
	}
	// A lock has one package once for each Python that it was resolved for.
	if !slices.ContainsFunc(e.Shared[i].Wheels, func(o *Installed) bool { return o.Name == p.Name }) {
		e.Shared[i].Wheels = append(e.Shared[i].Wheels, p)
	}
}

// NotYet reports whether a plan brings a distribution of which no release is there now.
func (e *Environment) NotYet(name string) bool {
	if e.plan == nil {
		return false
	}
	_, comes := e.plan.Installed(name)
	_, replaces := e.plan.Removed(name)
	return comes && !replaces
}

// Twins are the installed wheels of one library that own the same files, one for each CUDA family.
func (e *Environment) Twins(library string) []*Installed {
	for _, s := range e.Shared {
		if s.Library == library {
			return s.Wheels
		}
	}
	return nil
}

// Environment is what the rules ask of one of the facts' environments.
func (m *Machine) Environment(e *facts.Environment) *Environment {
	if m.environments[e] == nil {
		m.environments[e] = NewEnvironment(m.Tables, e)
		m.environments[e].plan = m.Facts.Plan
	}
	return m.environments[e]
}

// Package is the package of a name that is installed, nil where none is.
func (e *Environment) Package(name string) *Installed {
	if p := e.packages[name]; p != nil && e.read[name] == nil {
		e.read[name] = NewInstalled(p)
	}
	return e.read[name]
}
