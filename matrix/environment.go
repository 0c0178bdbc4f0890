package matrix

import (
	"cudacompat/internal/tables"
	"cudacompat/probe"
)

// environment is a Python environment with what the rules ask of it.
type environment struct {
	*probe.Environment
	packages map[string]*probe.Package
	read     map[string]*installed // of packages those that were asked for
	compiled []compiledPackage     // nil until they are asked for
}

func newEnvironment(e *probe.Environment) *environment {
	env := &environment{Environment: e, packages: map[string]*probe.Package{},
		read: map[string]*installed{}}
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
func (e *environment) Package(name string) *installed {
	if p := e.packages[name]; p != nil && e.read[name] == nil {
		e.read[name] = newInstalled(p)
	}
	return e.read[name]
}

// compiledPackage is a package whose wheel is made for one torch or one CUDA, with the table's rows that may be it.
// flash-attn is none, which is compiled on the spot for the torch that is there, nor onnxruntime and CuPy, which need
// libraries and no torch, nor transformer-engine itself, which asks for one of the two that are.
type compiledPackage struct {
	*installed
	subject string
	rows    []tables.Extension
}
