package ldso

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"
)

// Resolver contains what the search for libraries depends on, apart from the libraries. Searches do not change it.
type Resolver struct {
	FS      FS
	Machine elf.Machine // EM_X86_64 or EM_AARCH64

	LibraryPath []string // LD_LIBRARY_PATH; see SplitLibraryPath
	Preload     []string // LD_PRELOAD; see SplitPreload
	PreloadFile []string // /etc/ld.so.preload; see ReadPreload
	Cache       *Cache   // /etc/ld.so.cache; nil if there is none
	SystemDirs  []string // compiled into the loader; see SystemDirs
	Hwcaps      []string // glibc-hwcaps subdirectories that the CPU uses, best first; see X86Hwcaps
	WorkDir     string   // of the process, for relative paths, which are passed over if it is empty
	Platform    string   // $PLATFORM; empty for the machine's name, which "haswell" replaces on some Intel CPUs
}

// Found is the answer to a search.
type Found struct {
	Path   string // as the loader names it: by the directory that was searched
	Real   string // without symlinks
	Reason Reason
	Loaded *Object // the object it is, if it is loaded already
}

// ErrNotFound is the loader's "cannot open shared object file".
var ErrNotFound = errors.New("not found in any directory that the loader searches")

// notFound is a name for which the loader finds nothing.
type notFound struct {
	name   string
	passed error // of the first file of that name which is for another machine, so that the loader looked further
}

func (e *notFound) Error() string { return fmt.Sprintf("%q: %v", e.name, ErrNotFound) }
func (e *notFound) Unwrap() error { return ErrNotFound }

// fileError is why a file cannot be loaded.
type fileError struct {
	path string
	err  error
}

func (e *fileError) Error() string { return fmt.Sprintf("load %q: %v", e.path, e.err) }
func (e *fileError) Unwrap() error { return e.err }

// Find returns the file that the process would map for name, a soname or a path, if the object by needed or opened it
// now. by is nil for an unknown caller. An ErrNotFound means that the loader finds nothing. Any other error means that
// it stops at a file which is not a library, or that a file could not be examined.
func (p *Process) Find(name string, by *Object) (Found, error) {
	found, _, err := p.find(name, by)
	return found, err
}

// find does what Find does, and hands over what it read of a file not loaded yet.
func (p *Process) find(name string, by *Object) (Found, *ELF, error) {
	if p.steps++; p.steps > maxSteps {
		return Found{}, nil, errTooMany
	}
	if o := p.names[name]; o != nil {
		return o.again(), nil, nil
	}
	var passed error
	for reason, file := range p.candidates(name, by) {
		real, e, err := p.read(file)
		if passedOver(err) {
			passed = telling(passed, file, err)
			continue
		}
		if err != nil {
			return Found{}, nil, pathError(file, err)
		}
		if o := p.files[real]; o != nil {
			return o.again(), nil, nil
		}
		return Found{Path: file, Real: real, Reason: reason}, e, nil
	}
	return Found{}, nil, &notFound{name, passed}
}

// telling returns the most useful reason why a name was not found: a file for another machine, otherwise one that may
// not be read.
func telling(passed error, file string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist), passed != nil && !errors.Is(passed, errClosed):
		return passed
	case !errors.Is(err, fs.ErrPermission):
		return &fileError{file, err}
	case passed != nil:
		return passed
	}
	return &fileError{file, errClosed}
}

// errClosed is that the process may not read a file, or look into its directory.
var errClosed = errors.New("this user may not read it")

// passedOver reports whether the loader looks further after an error.
func passedOver(err error) bool {
	for _, e := range []error{fs.ErrNotExist, fs.ErrPermission, errOtherClass, errOtherMachine} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// candidates yields the paths that the loader tries for a name, in its order.
func (p *Process) candidates(name string, by *Object) iter.Seq2[Reason, string] {
	return func(yield func(Reason, string) bool) {
		if strings.Contains(name, "/") {
			if file := absolute(p.tokens(by).expand(name), p.r.WorkDir); file != "" {
				yield(Reason{How: Named}, file)
			}
			return
		}
		_ = p.inPlaces(p.placesBeforeCache(by), name, yield) &&
			p.inCache(name, by, yield) &&
			p.inPlaces(p.standard(by), name, yield)
	}
}

// place is a list of directories, and why these are searched.
type place struct {
	reason Reason
	dirs   []string
}

// placesBeforeCache returns the places searched before the cache.
func (p *Process) placesBeforeCache(by *Object) []place {
	var places []place
	if by == nil || !by.ELF.hasRunPath {
		chain := by.loaders()
		if p.main != nil && !slices.Contains(chain, p.main) {
			chain = append(chain, p.main)
		}
		for _, o := range chain {
			places = append(places, place{Reason{RPath, o.Path}, o.rpath})
		}
	}
	places = append(places, place{Reason{How: LibraryPath}, p.libraryPath})
	if by != nil {
		places = append(places, place{Reason{RunPath, by.Path}, by.runpath})
	}
	return places
}

// standard returns the places searched last.
func (p *Process) standard(by *Object) []place {
	if by != nil && by.ELF.noSystemDir {
		return nil
	}
	return []place{{Reason{How: SystemDir}, p.r.SystemDirs}}
}

// inPlaces yields a name in each directory, its glibc-hwcaps subdirectories first.
func (p *Process) inPlaces(places []place, name string, yield func(Reason, string) bool) bool {
	for _, place := range places {
		for _, dir := range place.dirs {
			for _, hwcap := range p.hwcapsIn(dir + "/glibc-hwcaps/") {
				if !yield(place.reason, dir+"/glibc-hwcaps/"+hwcap+"/"+name) {
					return false
				}
			}
			if !yield(place.reason, dir+"/"+name) {
				return false
			}
		}
	}
	return true
}

// hwcapsIn returns the subdirectories to look into: none, if there is no such directory at all.
func (p *Process) hwcapsIn(dir string) []string {
	if len(p.r.Hwcaps) == 0 || p.directory(dir).real == "" {
		return nil
	}
	return p.r.Hwcaps
}

func (p *Process) inCache(name string, by *Object, yield func(Reason, string) bool) bool {
	if p.r.Cache == nil {
		return true
	}
	file := p.r.Cache.Lookup(name, p.r.Machine, p.r.Hwcaps)
	inSystemDir := func(dir string) bool { return strings.HasPrefix(file, dir+"/") }
	if by != nil && by.ELF.noSystemDir && slices.ContainsFunc(p.r.SystemDirs, inSystemDir) {
		return true
	}
	return file == "" || yield(Reason{How: InCache}, file)
}

// read reads the file that a path names, unless it is one that is loaded already.
func (p *Process) read(file string) (real string, e *ELF, err error) {
	if p.steps++; p.steps > maxSteps {
		return "", nil, errTooMany
	}
	dir, base := path.Split(file)
	d := p.directory(dir)
	if d.closed {
		return "", nil, fs.ErrPermission
	}
	if d.lacks(base) {
		return "", nil, fs.ErrNotExist
	}
	f, err := p.r.FS.Open(d.real + base)
	if err != nil {
		d.miss(p.r.FS)
		return "", nil, err
	}
	defer f.Close()
	if real, err = p.r.FS.Resolve(d.real + base); err != nil || p.files[real] != nil {
		return real, nil, err
	}
	if e, err = read(f, p.r.Machine); err != nil {
		return "", nil, err
	}
	p.steps += len(e.Needed)
	return real, e, nil
}

// pathError names the file in an error that does not.
func pathError(file string, err error) error {
	if _, named := errors.AsType[*fs.PathError](err); named || errors.Is(err, errTooMany) {
		return err
	}
	return &fileError{file, err}
}
