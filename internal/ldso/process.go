package ldso

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Bounds on one process. "import torch" maps 74 objects; libtorch_python.so with its 30 takes 700 steps.
const (
	maxObjects = 1 << 12
	maxSteps   = 1 << 17 // names asked for and paths looked at
)

var errTooMany = fmt.Errorf("more than %d objects, or %d names and paths, to load", maxObjects, maxSteps)

// Scope says whose symbols can be bound to those of a dlopened library.
type Scope bool

const (
	Local  Scope = false // RTLD_LOCAL, the default: those of the libraries that came with it
	Global Scope = true  // RTLD_GLOBAL: those of every object
)

// Process is the list of what is mapped into a process, in the loader's order. It is not safe for concurrent use.
type Process struct {
	Objects []*Object
	Missing []Missing

	r           *Resolver
	main        *Object // the program; nil if it is not known
	lib         string  // $LIB
	libraryPath []string
	names       map[string]*Object // by every name that an object answers to
	files       map[string]*Object // by Real
	dirs        map[string]*directory
	defined     map[*Object]map[string]bool // what definedVersions has read
	groups      []group
	steps       int
}

// group is what one start or dlopen brought together, in the order of symbol search.
type group struct {
	objects []*Object
	scope   Scope
}

// Start returns a process that has just started the program at file: the program, the preloads, and all dependencies.
// Libraries that cannot be loaded are in Missing; the real loader would have stopped at the first needed one, and would
// have unmapped what a failed dlopen brought in. An error means that the program itself cannot start, or that a limit
// was exceeded.
func (r *Resolver) Start(file string) (*Process, error) {
	p := r.process()
	real, e, err := p.read(file)
	if err != nil {
		return nil, pathError(file, err)
	}
	p.main = &Object{Path: file, Real: real, ELF: e, Reason: Reason{How: Executable}}
	p.place(p.object(p.main))
	if !e.dynamic {
		return p, nil
	}
	interp, err := p.interpreter(e.Interp)
	if err != nil {
		return nil, err
	}
	if err := p.preload([]*Object{p.main}); err != nil {
		return nil, err
	}
	p.place(interp)
	return p, nil
}

// Host returns a process with an unknown program, for opening a library: it contains only the preloads. No program's
// DT_RPATH applies.
func (r *Resolver) Host() (*Process, error) {
	p := r.process()
	return p, p.preload(nil)
}

func (r *Resolver) process() *Process {
	return &Process{
		r:     r,
		lib:   libToken(r.SystemDirs, r.Machine),
		names: map[string]*Object{}, files: map[string]*Object{}, dirs: map[string]*directory{},
		defined: map[*Object]map[string]bool{},
	}
}

// Open returns dlopen(name) by an object, nil for an unknown caller: it maps the library and its
// dependencies, and returns it. If it cannot be loaded it is in Missing, and the result is nil; an
// error means that a bound was passed.
func (p *Process) Open(name string, by *Object, scope Scope) (*Object, error) {
	o, err := p.load(name, by, Opened)
	if o == nil || err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(p.groups, func(g group) bool { return g.objects[0] == o }); i >= 0 {
		p.groups[i].scope = p.groups[i].scope || scope
		return o, nil
	}
	return o, p.complete([]*Object{o}, scope)
}

// OpenKnown opens for every object what dlopens says that it opens by itself, as cuDNN opens its parts, and repeats
// this for the new objects.
func (p *Process) OpenKnown(dlopens func(*Object) []string) error {
	for i := 0; i < len(p.Objects); i++ {
		for _, name := range dlopens(p.Objects[i]) {
			if _, err := p.Open(name, p.Objects[i], Local); err != nil {
				return err
			}
		}
	}
	return nil
}

// Loaded returns the object that answers to a soname, or to another name that was asked for; nil if none does.
func (p *Process) Loaded(name string) *Object { return p.names[name] }

// interpreter knows the program's interpreter by its names; its place in the order is where a library
// first needs it, else last.
func (p *Process) interpreter(file string) (*Object, error) {
	if file == "" {
		return nil, nil // a static position-independent program
	}
	if !strings.HasPrefix(path.Base(file), "ld-linux") {
		return nil, fmt.Errorf("the program interpreter %q is not glibc's", file)
	}
	real, e, err := p.read(file)
	if err != nil {
		return nil, fmt.Errorf("program interpreter: %w", pathError(file, err))
	}
	o := p.object(&Object{Path: file, Real: real, ELF: e, Reason: Reason{How: Interpreter}})
	p.index(file, o)
	return o, nil
}

// preload maps what is preloaded after the objects given, and completes this first group.
func (p *Process) preload(first []*Object) error {
	p.libraryPath = p.tokens(p.main).directories(p.r.LibraryPath, p.r.WorkDir)
	names := slices.Concat(p.r.Preload, p.r.PreloadFile)
	for i, name := range names {
		o, err := p.load(name, p.main, Preloaded)
		if err != nil {
			return err
		}
		if o == nil || o.Via != Preloaded || slices.Contains(first, o) {
			continue
		}
		if o.Reason = (Reason{How: Preload}); i >= len(p.r.Preload) {
			o.Reason.How = PreloadFile
		}
		first = append(first, o)
	}
	if len(first) == 0 {
		return nil
	}
	return p.complete(first, Global)
}

// complete maps the dependencies of a group breadth first, which is the loader's order.
func (p *Process) complete(objects []*Object, scope Scope) error {
	member := map[*Object]bool{}
	for _, o := range objects {
		member[o] = true
	}
	for i := 0; i < len(objects); i++ {
		for _, name := range objects[i].ELF.Needed {
			name = p.tokens(objects[i]).expand(name)
			o, err := p.load(name, objects[i], Needed)
			if err != nil {
				return err
			}
			if o != nil && !member[o] {
				member[o] = true
				objects = append(objects, o)
			}
		}
	}
	p.groups = append(p.groups, group{objects, scope})
	return nil
}

// load returns the object for a name, mapping it if necessary, or nil if it is missing.
func (p *Process) load(name string, by *Object, via Via) (*Object, error) {
	found, e, err := p.find(name, by)
	if errors.Is(err, errTooMany) || len(p.Objects) == maxObjects {
		return nil, errTooMany
	}
	if err == nil && e != nil && !e.dynamic {
		err = &fileError{found.Path, errors.New("object file has no dynamic section")}
	}
	if err != nil {
		p.Missing = append(p.Missing, Missing{Name: name, Via: via, By: by, Err: err})
		return nil, nil
	}
	o := found.Loaded
	if o == nil {
		o = &Object{Path: found.Path, Real: found.Real, ELF: e, Reason: found.Reason, Via: via, By: by}
		if via != Opened {
			o.loader = by
		}
		p.index(o.Path, p.object(o))
	}
	p.index(name, o)
	p.place(o)
	return o, nil
}

// object prepares an object for searches on its behalf, and for being found by its soname and file.
func (p *Process) object(o *Object) *Object {
	o.rpath = p.tokens(o).directories(splitPath(o.ELF.RPath), p.r.WorkDir)
	o.runpath = p.tokens(o).directories(splitPath(o.ELF.RunPath), p.r.WorkDir)
	p.files[o.Real] = o
	if o.ELF.Soname != "" {
		p.index(o.ELF.Soname, o)
	}
	return o
}

// index makes an object answer to a name, unless an earlier one does.
func (p *Process) index(name string, o *Object) {
	if p.names[name] == nil {
		p.names[name] = o
	}
}

// place appends an object to the order, unless it is there.
func (p *Process) place(o *Object) {
	if o != nil && !o.placed {
		o.placed = true
		p.Objects = append(p.Objects, o)
	}
}
