package matrix

import (
	"slices"
	"strings"

	"cudacompat/internal/tables"
	"cudacompat/probe/facts"
)

// environment is a Python environment with what the rules ask of it.
type environment struct {
	*facts.Environment
	t        *Tables
	packages map[string]*facts.Package
	read     map[string]*installed // of packages those that were asked for
	shared   []shared              // libraries of NVIDIA of which several wheels own the same files
	compiled []compiledPackage     // nil until they are asked for
}

// shared is a library of which wheels are installed that own the same files, whatever CUDA family they are for.
type shared struct {
	library string       // "nccl" of nvidia-nccl-cu12
	wheels  []*installed // those that are there
}

// newEnvironment finds the packages of an environment by their names.
func newEnvironment(t *Tables, e *facts.Environment) *environment {
	env := &environment{Environment: e, t: t, packages: map[string]*facts.Package{},
		read: map[string]*installed{}}
	for i := range e.Packages {
		if p := &e.Packages[i]; env.packages[p.Name] == nil {
			env.packages[p.Name] = p
		}
		env.addShared(&e.Packages[i])
	}
	return env
}

// addShared notes a wheel of NVIDIA's whose files wheels of other CUDA families own, too (trait same-files).
func (e *environment) addShared(found *facts.Package) {
	name, ofNVIDIA := strings.CutPrefix(found.Name, "nvidia-")
	if !ofNVIDIA {
		return
	}
	p := newInstalled(found)
	if !e.t.Trait("same-files", p.Name, p.version) {
		return
	}
	library := familySuffix.ReplaceAllString(name, "")
	i := slices.IndexFunc(e.shared, func(s shared) bool { return s.library == library })
	if i < 0 {
		i, e.shared = len(e.shared), append(e.shared, shared{library: library})
	}
	// A lock has one package once for each Python that it was resolved for.
	if !slices.ContainsFunc(e.shared[i].wheels, func(o *installed) bool { return o.Name == p.Name }) {
		e.shared[i].wheels = append(e.shared[i].wheels, p)
	}
}

// twins are the installed wheels of one library that own the same files, one for each CUDA family.
func (e *environment) twins(library string) []*installed {
	for _, s := range e.shared {
		if s.library == library {
			return s.wheels
		}
	}
	return nil
}

// environment is what the rules ask of one of the facts' environments.
func (m *machine) environment(e *facts.Environment) *environment {
	if m.met[e] == nil {
		m.met[e] = newEnvironment(m.t, e)
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
	subject string             // its name in findings
	rows    []tables.Extension // those of its release
}
