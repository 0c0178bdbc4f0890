package matrix

import "cudacompat/probe"

// environment is a Python environment with what the rules ask of it.
type environment struct {
	*probe.Environment
	packages map[string]*probe.Package
	compiled []compiledPackage // nil until they are asked for
}

func newEnvironment(e *probe.Environment) *environment {
	env := &environment{Environment: e, packages: map[string]*probe.Package{}}
	for i := range e.Packages {
		if p := &e.Packages[i]; env.packages[p.Name] == nil {
			env.packages[p.Name] = p
		}
	}
	return env
}

// environment is what the rules ask of one of the facts' environments.
func (m *machine) environment(e *probe.Environment) *environment {
	if m.met[e] == nil {
		m.met[e] = newEnvironment(e)
	}
	return m.met[e]
}

// Package is the package of a name that is installed, nil where none is.
func (e *environment) Package(name string) *probe.Package { return e.packages[name] }
