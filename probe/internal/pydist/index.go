package pydist

import (
	"io/fs"
	"path"
	"slices"

	"cudacompat/internal/version"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/distname"
)

// Index holds the distributions of an import path.
type Index struct {
	Path []string // the package directories, in the order of sys.path

	h      *host.Host
	dirs   map[string]*directory
	failed map[string]error // by package directory that could not be listed
}

// directory is what stands in one package directory.
type directory struct {
	list   []*Distribution
	byName map[string]*Distribution
	byPath map[string]*Distribution
}

// NewIndex returns the index of an import path. It reads nothing yet.
func NewIndex(h *host.Host, path []string) *Index {
	return &Index{Path: path, h: h, dirs: map[string]*directory{}, failed: map[string]error{}}
}

// In returns the distributions of one package directory, one for each name, and why it could not be listed. Of two that a
// broken upgrade left, the one whose files are there counts.
func (x *Index) In(dir string) ([]*Distribution, error) { return x.directory(dir).list, x.failed[dir] }

// Find returns the first distribution of that name on the import path, or nil.
func (x *Index) Find(name string) *Distribution {
	for _, dir := range x.Path {
		if d := x.FindIn(dir, name); d != nil {
			return d
		}
	}
	return nil
}

// FindIn returns the distribution of that name in one package directory, or nil. One in the form of eggs lists no files
// and is not found.
func (x *Index) FindIn(dir, name string) *Distribution {
	if d := x.directory(dir).byName[name]; d != nil && !d.Egg {
		return d
	}
	return nil
}

// HasEgg reports whether a distribution is there in the form of eggs, whose release is not read.
func (x *Index) HasEgg(name string) bool {
	return slices.ContainsFunc(x.Path, func(dir string) bool {
		d := x.directory(dir).byName[name]
		return d != nil && d.Egg
	})
}

// At returns the distribution with a metadata directory. One that the listing of its parent does not show, such as a
// build's that is known from elsewhere, has the name and the version of its directory.
func (x *Index) At(info string) *Distribution {
	in := x.directory(path.Dir(info))
	if d := in.byPath[info]; d != nil {
		return d
	}
	name, version, egg, _ := splitInfo(path.Base(info))
	d := &Distribution{Name: name, Version: version, Path: info, Egg: egg, h: x.h}
	in.byPath[info] = d
	return d
}

// Owner returns the distribution that a file belongs to: of those that list it, the one whose RECORD matches, otherwise
// the first. It returns nil if none lists it.
func (x *Index) Owner(file string) *Distribution {
	var first *Distribution
	for _, d := range x.owners(file) {
		if x.Intact(d, d.relative(file)).State == Intact {
			return d
		}
		if first == nil {
			first = d
		}
	}
	return first
}

// owners returns the distributions that list a file.
func (x *Index) owners(file string) []*Distribution {
	var list []*Distribution
	for _, dir := range x.Path {
		if len(file) <= len(dir) || file[:len(dir)] != dir || file[len(dir)] != '/' {
			continue
		}
		for _, d := range x.directory(dir).list {
			if d.Record().Has(file[len(dir)+1:]) {
				list = append(list, d)
			}
		}
	}
	return list
}

// relative returns a file's name as RECORD has it.
func (d *Distribution) relative(file string) string {
	if dir := d.Dir() + "/"; len(file) > len(dir) && file[:len(dir)] == dir {
		return file[len(dir):]
	}
	return file
}

// directory lists a package directory once.
func (x *Index) directory(dir string) *directory {
	if in, ok := x.dirs[dir]; ok {
		return in
	}
	in := &directory{byName: map[string]*Distribution{}, byPath: map[string]*Distribution{}}
	x.dirs[dir] = in
	entries, err := x.h.ReadDir(dir)
	if err != nil {
		x.failed[dir] = err
		return in
	}
	for _, e := range entries {
		name, version, egg, ok := splitInfo(e.Name())
		if !ok {
			continue
		}
		d := &Distribution{Name: name, Version: version, Path: path.Join(dir, e.Name()), Egg: egg, Linked: e.Type()&fs.ModeSymlink != 0, h: x.h}
		in.add(d)
	}
	return in
}

// add adds a distribution, or decides between it and another one of its name.
func (in *directory) add(d *Distribution) {
	in.byPath[d.Path] = d
	i := -1
	if known := in.byName[d.Name]; known != nil {
		i = slices.Index(in.list, known)
	}
	switch {
	case i < 0:
		in.list = append(in.list, d)
	case in.list[i].Egg == d.Egg && !d.Egg:
		d = moreIntact(in.list[i], d)
		in.list[i] = d
	case d.Egg:
		d = in.list[i]
	default:
		in.list[i] = d
	}
	in.byName[d.Name] = d
}

// moreIntact returns the one of two distributions whose RECORD matches more of the files on disk, the newer one on a
// tie. The version is that of METADATA, because a directory may have been copied.
func moreIntact(a, b *Distribution) *Distribution {
	for _, one := range []*Distribution{a, b} {
		if v := one.Metadata().Version; v != "" {
			one.Version = v
		}
	}
	wrongA, wrongB := a.mismatches(), b.mismatches()
	if wrongB < wrongA || wrongB == wrongA && version.ParseOrZero(a.Version).Less(version.ParseOrZero(b.Version)) {
		return b
	}
	return a
}

// Companions returns the distributions of a package directory that are worth naming beside a framework, as facts.
func (x *Index) Companions(dir string, failed *host.Errors) []facts.Package {
	list, err := x.In(dir)
	if err != nil {
		failed.Add(err)
		return nil
	}
	var named []facts.Package
	for _, d := range list {
		if d.Version != "" && distname.Companions.Match(d.Name) {
			named = append(named, facts.Package{Name: d.Name, Version: d.Version, Path: d.Path})
		}
	}
	return named
}
