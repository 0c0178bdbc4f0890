package ldso

import (
	"cmp"
	"fmt"
	"slices"
)

// MissingSymbols returns the symbols that an object needs and that no searched library defines, sorted by name. It
// considers those that want accepts; nil accepts all. It searches the program with its dependencies and preloads, what
// was opened globally ([Global]), and what came with the object. Libraries from a dlopen that the process does not know
// of are not searched.
//
// It reads the object's undefined symbols, looks each up in the hash tables, and reads the object's relocations if any
// is left.
func (p *Process) MissingSymbols(o *Object, want func(Symbol) bool) ([]Symbol, error) {
	w, missing := new(work), []reference(nil)
	err := p.readSymbols(o, w, func(t *symbols) (err error) {
		missing, err = t.undefined(want)
		return err
	})
	for _, lib := range p.scope(o) {
		if err != nil || len(missing) == 0 {
			return nil, err
		}
		err = p.readSymbols(lib, w, func(t *symbols) (err error) {
			missing, err = t.dropDefined(missing)
			return err
		})
	}
	if err != nil || len(missing) == 0 {
		return nil, err
	}
	return p.boundReferences(o, w, missing)
}

// boundReferences returns the references that a relocation of the object makes, sorted.
func (p *Process) boundReferences(o *Object, w *work, references []reference) ([]Symbol, error) {
	set := map[uint32]bool{}
	for _, ref := range references {
		set[ref.index] = true
	}
	err := p.readSymbols(o, w, func(t *symbols) (err error) {
		set, err = t.relocatedSymbols(set)
		return err
	})
	var list []Symbol
	for _, ref := range references {
		if set[ref.index] {
			list = append(list, ref.Symbol)
		}
	}
	slices.SortFunc(list, func(a, b Symbol) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version))
	})
	return list, err
}

// Defines reports whether an object defines a symbol, of whatever version.
func (p *Process) Defines(o *Object, name string) (bool, error) {
	left := []reference{{Symbol: Symbol{Name: name}}}
	err := p.readSymbols(o, new(work), func(t *symbols) (err error) {
		left, err = t.dropDefined(left)
		return err
	})
	return len(left) == 0 && err == nil, err
}

// MissingVersion is a symbol version that an object needs and the library does not define. The loader then rejects the
// object, whatever symbols it uses: "version `GLIBC_2.38' not found".
type MissingVersion struct {
	Version string
	Library *Object
}

// MissingVersions returns the versions that an object needs of libraries that define only others. A library without any
// version passes, as in the loader.
func (p *Process) MissingVersions(o *Object) ([]MissingVersion, error) {
	w, needs := new(work), map[uint16]need(nil)
	err := p.readSymbols(o, w, func(t *symbols) (err error) {
		needs, err = t.needs()
		return err
	})
	if err != nil {
		return nil, err
	}
	var missing []MissingVersion
	defined := map[*Object]map[string]bool{}
	for _, n := range needs {
		lib := p.names[n.library]
		if lib == nil || n.weak {
			continue
		}
		if defined[lib] == nil {
			if defined[lib], err = p.definedVersions(lib, w); err != nil {
				return nil, err
			}
		}
		if len(defined[lib]) > 0 && !defined[lib][n.version] {
			missing = append(missing, MissingVersion{n.version, lib})
		}
	}
	slices.SortFunc(missing, func(a, b MissingVersion) int {
		return cmp.Or(cmp.Compare(a.Library.Path, b.Library.Path), cmp.Compare(a.Version, b.Version))
	})
	return missing, nil
}

// definedVersions returns the versions that an object defines; they are read once.
func (p *Process) definedVersions(o *Object, w *work) (map[string]bool, error) {
	if names := p.defined[o]; names != nil {
		return names, nil
	}
	names := map[string]bool{}
	err := p.readSymbols(o, w, func(t *symbols) error {
		list, err := t.definitions()
		for _, d := range list {
			names[d.version] = true
		}
		return err
	})
	if err == nil {
		p.defined[o] = names
	}
	return names, err
}

// readSymbols opens an object's file, calls do with its symbols, and closes the file.
func (p *Process) readSymbols(o *Object, w *work, do func(*symbols) error) error {
	f, err := p.r.FS.Open(o.Real)
	if err != nil {
		return err
	}
	defer f.Close()
	t, err := openSymbols(o.ELF, f, w)
	if err == nil {
		err = do(t)
	}
	if err != nil {
		return fmt.Errorf("symbols of %q: %w", o.Path, err)
	}
	return nil
}

// scope returns the objects whose symbols the loader can bind an object's to, in its order.
func (p *Process) scope(o *Object) []*Object {
	var list []*Object
	seen := map[*Object]bool{}
	for _, g := range p.groups {
		if !bool(g.scope) && !slices.Contains(g.objects, o) {
			continue
		}
		for _, lib := range g.objects {
			if !seen[lib] {
				seen[lib] = true
				list = append(list, lib)
			}
		}
	}
	return list
}

// dropDefined drops the symbols that this file defines from a list.
func (t *symbols) dropDefined(list []reference) ([]reference, error) {
	if t.symtab == 0 {
		return list, nil
	}
	table, err := t.hash()
	if err != nil {
		return nil, err
	}
	if table == nil {
		return list, nil
	}
	versions, err := t.definitions()
	if err != nil {
		return nil, err
	}
	left := list[:0]
	for _, s := range list {
		found, err := table.find(s.Name, func(i uint32) (bool, error) { return t.defines(s.Symbol, i, versions) })
		if err != nil {
			return nil, err
		}
		if !found {
			left = append(left, s)
		}
	}
	return left, nil
}

// defines reports whether symbol i of the file is one that want can be bound to.
func (t *symbols) defines(want Symbol, i uint32, versions map[uint16]definition) (bool, error) {
	s, err := t.symbol(i)
	if err != nil || !s.defined() {
		return false, err
	}
	name, err := t.name(s.name, maxSymbolName)
	if err != nil || name != want.Name {
		return false, err
	}
	mark, err := t.mark(i)
	return t.versym == 0 || serves(want.Version, mark, versions), err
}

// serves reports whether a definition with a version mark serves a reference to a version, or to none: a
// reference to a version is served by that version, or by a definition outside all versions; one to none
// by the base and the first version, and by any that is not hidden.
func serves(version string, mark uint16, versions map[uint16]definition) bool {
	hidden := mark&versionHidden != 0
	index := mark & versionIndex
	if version == "" {
		return index <= firstVersion || !hidden
	}
	if d, ok := versions[index]; ok && !d.base {
		return d.version == version
	}
	return !hidden
}
