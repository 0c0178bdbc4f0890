package request

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/version"
	"cudacompat/probe/internal/distname"
)

// The minor releases of Python 3 that markers may distinguish. Earlier ones are older than any framework in the tables,
// and later ones are not released.
const (
	oldestMinor = 5
	newestMinor = 20
)

// maxPatches is how many patch releases of Python a file's markers may name.
const maxPatches = 50

// maxForked limits the packages of a file that is split by Python. The largest of 65 public locks has 336.
const maxForked = 20_000

// fork is what a file installs on some of the Pythons for which it names different releases: torch 2.8.0 below 3.10,
// torch 2.9.0 from 3.10 on. Two forks are never installed together, so they are judged separately.
type fork struct {
	list        []Package
	names       []string // of what differs, with its version
	pythons     []python // all that are told apart; none where the file is for any Python
	first, last int      // of pythons
}

// python is a release from which on, up to the next one, markers say the same.
type python struct{ minor, patch int }

func (p python) String() string { return fmt.Sprintf("3.%d.%d", p.minor, p.patch) }

// short returns the release as ranges write it, "3.12" of 3.12.0.
func (p python) short() string { return strings.TrimSuffix(p.String(), ".0") }

// host returns a machine with this Python.
func (p python) host(machine string) Host {
	return Host{Machine: machine, Python: fmt.Sprintf("3.%d", p.minor), Full: p.String(), MarkerAnswers: map[string]bool{}}
}

// patchRelease matches the releases of Python 3 that a marker compares in full.
var patchRelease = lazyregexp.New(`python_full_version[^'"]*['"]3\.(\d{1,2})(?:\.(\d{1,3}))?`)

// pythonsOf returns the Python releases that a file's markers may distinguish: each minor release, and those that a
// marker names in full, with the next patch.
func pythonsOf(list []Package) []python {
	named := map[python]bool{}
	for i := range list {
		for _, marker := range list[i].Markers {
			for _, m := range patchRelease.FindAllStringSubmatch(marker, -1) {
				p := python{version.Int(m[1]), version.Int(m[2])}
				if p.minor >= oldestMinor && p.minor <= newestMinor && len(named) < maxPatches {
					named[p], named[python{p.minor, p.patch + 1}] = true, true
				}
			}
		}
	}
	for minor := oldestMinor; minor <= newestMinor; minor++ {
		named[python{minor, 0}] = true
	}
	return slices.SortedFunc(maps.Keys(named), func(a, b python) int {
		return cmp.Or(cmp.Compare(a.minor, b.minor), cmp.Compare(a.patch, b.patch))
	})
}

// forks returns the package sets of a file for different Pythons. Only frameworks, and what must fit them, make a
// separate set: most locks fork over numpy, and each build would appear twice.
func forks(list []Package) []fork {
	split := splitNames(list)
	if len(split) == 0 || len(list) > maxForked {
		return []fork{{list: list}}
	}
	var found []fork
	pythons := pythonsOf(list)
	on := make([]chooses, len(pythons))
	for at, python := range pythons {
		f := fork{pythons: pythons, first: at, last: at}
		on[at] = choosesOn(python)
		for i := range list {
			if p := &list[i]; split[p.Name] && on[at](p) {
				f.names = append(f.names, p.Name+" "+p.Full()+p.Specifier)
			}
		}
		switch n := len(found); {
		case len(f.names) == 0: // the project is not for this Python
		case n > 0 && found[n-1].last == at-1 && slices.Equal(found[n-1].names, f.names):
			found[n-1].last = at
		default:
			found = append(found, f)
		}
	}
	if len(found) < 2 {
		return []fork{{list: list}}
	}
	for i := range found {
		found[i].take(list, on)
	}
	return found
}

// splitNames returns the packages with several releases among which markers choose by Python.
func splitNames(list []Package) map[string]bool {
	split, met := map[string]bool{}, map[string]string{}
	for i := range list {
		p := &list[i]
		version := p.Full() + p.Specifier
		if before, ok := met[p.Name]; ok && before != version && p.forks() {
			split[p.Name] = true
		}
		met[p.Name] = version
	}
	return split
}

// forks reports whether two releases of a package make two sets.
func (p *Package) forks() bool {
	return p.Name != "numpy" && p.Name != "protobuf" && (distname.Companions.Match(p.Name) || distname.JAXPart.MatchString(p.Name))
}

// chooses reports whether a package is installed on one Python, on the machine that it is for.
type chooses func(p *Package) bool

func choosesOn(p python) chooses {
	anyPython, x86, arm := Host{Machine: "x86_64", MarkerAnswers: map[string]bool{}}, p.host("x86_64"), p.host("aarch64")
	return func(p *Package) bool {
		h := arm
		if anyPython.Takes(p) {
			h = x86
		}
		return h.Takes(p) && (p.Needed == nil || p.Needed(h))
	}
}

// take leaves of a file's packages those that one of the fork's Pythons gets.
func (f *fork) take(list []Package, on []chooses) {
	for i := range list {
		if slices.ContainsFunc(on[f.first:f.last+1], func(has chooses) bool { return has(&list[i]) }) {
			f.list = append(f.list, list[i])
		}
	}
}

// specifiers returns the fork's range, as packages write it.
func (f *fork) specifiers() string {
	var list []string
	if f.first > 0 {
		list = append(list, ">="+f.pythons[f.first].short())
	}
	if f.last+1 < len(f.pythons) {
		list = append(list, "<"+f.pythons[f.last+1].short())
	}
	return strings.Join(list, ",")
}

// label returns the range in words.
func (f *fork) label() string {
	if len(f.pythons) == 0 {
		return ""
	}
	first, last := f.pythons[f.first].short(), f.pythons[f.last]
	until := fmt.Sprintf("3.%d", last.minor) // the last one that it has
	if f.last+1 < len(f.pythons) {
		if next := f.pythons[f.last+1]; next.patch > 0 {
			until = python{next.minor, next.patch - 1}.String()
		}
	}
	switch {
	case f.first == 0:
		return "Python " + until + " or older"
	case f.last+1 == len(f.pythons):
		return "Python " + first + " or newer"
	case first == until:
		return "Python " + first
	}
	return "Python " + first + " to " + until
}
