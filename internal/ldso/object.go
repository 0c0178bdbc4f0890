package ldso

import (
	"errors"
	"strings"
)

// Via is what made the process ask for an object.
type Via int

const (
	Started   Via = iota // the program and its interpreter
	Preloaded            // LD_PRELOAD and /etc/ld.so.preload; an absent one is ignored
	Needed               // DT_NEEDED; an absent one fails the start or the dlopen that it belongs to
	Opened               // dlopen; the program decides what an absent one means
)

// Object is a file that the process has mapped.
type Object struct {
	Path   string // as the loader names it
	Real   string // without symlinks
	ELF    *ELF
	Reason Reason // why this file was taken
	Via    Via
	By     *Object // who first asked for it; nil for the program, its interpreter and an unknown caller

	loader         *Object // whose DT_RPATH is inherited next: By, or nil after a dlopen
	rpath, runpath []string
	placed         bool // in Process.Objects
}

// Missing is an object that was asked for and that the loader would not map.
type Missing struct {
	Name string // as asked for
	Via  Via
	By   *Object // who asked; nil for an unknown caller
	Err  error   // ErrNotFound, or why the file found cannot be loaded
}

// Unloadable returns a file with the name that the loader does not take, and the reason: it is truncated, not a
// library, for another machine, or Closed. In the last two cases the loader has searched on and found nothing. It
// returns "" if there is no such file or it could not be opened.
func (m Missing) Unloadable() (file, reason string) {
	err := m.Err
	if absent, ok := errors.AsType[*notFound](err); ok {
		err = absent.passed
	}
	bad, ok := errors.AsType[*fileError](err)
	if !ok {
		return "", ""
	}
	return bad.path, bad.err.Error()
}

// Closed reports whether the file with the name may not be read, or may be in a directory that may not be searched.
func (m Missing) Closed() bool {
	absent, ok := errors.AsType[*notFound](m.Err)
	return ok && errors.Is(absent.passed, errClosed)
}

// tokens returns the values of the string tokens of an object; nil is an unknown one.
func (p *Process) tokens(o *Object) tokens {
	t := tokens{lib: p.lib, platform: p.r.Platform}
	if t.platform == "" {
		t.platform = machineName(p.r.Machine)
	}
	switch {
	case o == nil:
	case o == p.main:
		t.origin = parent(o.Real)
	default:
		t.origin = parent(o.Path)
	}
	return t
}

// parent returns the directory part of a path as written: with symlinks, "a/../b" is not "b".
func parent(file string) string {
	dir := file[:strings.LastIndexByte(file, '/')+1]
	if dir == "/" {
		return dir
	}
	return strings.TrimRight(dir, "/")
}

// loaders returns an object and those that its DT_RPATH is joined by, nearest first.
func (o *Object) loaders() []*Object {
	var chain []*Object
	for ; o != nil; o = o.loader {
		chain = append(chain, o)
	}
	return chain
}

// again returns the answer of a search that ends at an object already loaded.
func (o *Object) again() Found {
	f := Found{Path: o.Path, Real: o.Real, Reason: o.Reason, Loaded: o}
	switch o.Via {
	case Preloaded:
		f.Reason = Reason{How: AlreadyPreloaded}
	case Opened:
		f.Reason = Reason{How: AlreadyOpened}
	case Needed:
		f.Reason = Reason{How: AlreadyNeeded, Of: o.By.Path}
	}
	return f
}
