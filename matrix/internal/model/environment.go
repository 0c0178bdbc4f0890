package model

import (
	"cudacompat/internal/tables"
	"cudacompat/probe/facts"
)

// Environment is a Python environment in the form that the rules need.
type Environment struct {
	*facts.Environment
	t        *tables.Tables
	plan     *facts.Plan // what is about to change in it; nil where nothing is
	packages map[string]*facts.Package
	read     map[string]*Installed // of packages those that were asked for
	shared   []SharedFiles         // nil until it is asked for; see SharedFiles
}

// NewEnvironment indexes the packages of an environment by name.
func NewEnvironment(t *tables.Tables, e *facts.Environment) *Environment {
	env := &Environment{Environment: e, t: t, packages: map[string]*facts.Package{},
		read: map[string]*Installed{}}
	for i := range e.Packages {
		if p := &e.Packages[i]; env.packages[p.Name] == nil {
			env.packages[p.Name] = p
		}
	}
	return env
}

// NotYet reports whether a plan brings a distribution that is not installed now in any release.
func (e *Environment) NotYet(name string) bool {
	if e.plan == nil {
		return false
	}
	_, comes := e.plan.Installed(name)
	_, replaces := e.plan.Removed(name)
	return comes && !replaces
}

// Environment returns one of the facts' environments in the form that the rules need.
func (m *Machine) Environment(e *facts.Environment) *Environment {
	if m.environments[e] == nil {
		m.environments[e] = NewEnvironment(m.Tables, e)
		m.environments[e].plan = m.Facts.Plan
	}
	return m.environments[e]
}

// Package returns the installed package with a name, or nil.
func (e *Environment) Package(name string) *Installed {
	if p := e.packages[name]; p != nil && e.read[name] == nil {
		e.read[name] = NewInstalled(p)
	}
	return e.read[name]
}
