package given

import (
	"fmt"
	"slices"

	"cudacompat/probe/internal/distname"
)

// The minor releases of Python 3 that markers may tell apart. Those before are older than any framework that the tables
// have, those behind are not released.
const (
	oldestMinor = 5
	newestMinor = 20
)

// maxForked is how many packages a file may name that is taken apart: the largest of 65 public locks names 336.
const maxForked = 20_000

// fork is what a file installs on some of the Pythons for which it names different releases: torch 2.8.0 below 3.10,
// torch 2.9.0 from 3.10 on. No two forks are ever installed together, so they are not judged together.
type fork struct {
	list        []locked
	names       []string // of what differs, with its version
	first, last int      // minor releases; both zero where the file is for any Python
}

// forks are the sets of packages that a file names for different Pythons. Only frameworks, and what has to fit them,
// make a set of its own: most locks fork over numpy, and each build would stand there twice.
func forks(list []locked) []fork {
	split := splitNames(list)
	if len(split) == 0 || len(list) > maxForked {
		return []fork{{list: list}}
	}
	var found []fork
	var on [newestMinor + 1]chooses
	for minor := oldestMinor; minor <= newestMinor; minor++ {
		f := fork{first: minor, last: minor}
		on[minor] = choosesOn(minor)
		for i := range list {
			if p := &list[i]; split[p.name] && on[minor](p) {
				f.names = append(f.names, p.name+" "+p.full()+p.specifier)
			}
		}
		switch n := len(found); {
		case len(f.names) == 0: // the project is not for this Python
		case n > 0 && found[n-1].last == minor-1 && slices.Equal(found[n-1].names, f.names):
			found[n-1].last = minor
		default:
			found = append(found, f)
		}
	}
	if len(found) < 2 {
		return []fork{{list: list}}
	}
	for i := range found {
		found[i].take(list, on[:])
	}
	return found
}

// splitNames are the packages of several releases, of which markers choose one by the Python.
func splitNames(list []locked) map[string]bool {
	split, met := map[string]bool{}, map[string]string{}
	for i := range list {
		p := &list[i]
		version := p.full() + p.specifier
		if before, ok := met[p.name]; ok && before != version && p.forks() {
			split[p.name] = true
		}
		met[p.name] = version
	}
	return split
}

// forks reports whether two releases of a package make two sets.
func (p *locked) forks() bool {
	return p.name != "numpy" && p.name != "protobuf" && (distname.Companions.Match(p.name) || distname.JAXPart.MatchString(p.name))
}

// chooses reports whether a package is installed on one Python, on the machine that it is for.
type chooses func(p *locked) bool

func choosesOn(minor int) chooses {
	python := fmt.Sprintf("3.%d", minor)
	anyPython := host{machine: "x86_64", met: map[string]bool{}}
	x86 := host{machine: "x86_64", python: python, met: map[string]bool{}}
	arm := host{machine: "aarch64", python: python, met: map[string]bool{}}
	return func(p *locked) bool {
		h := arm
		if anyPython.takes(p) {
			h = x86
		}
		return h.takes(p) && (p.needed == nil || p.needed(python))
	}
}

// take leaves of a file's packages those that one of the fork's Pythons gets.
func (f *fork) take(list []locked, on []chooses) {
	for i := range list {
		if slices.ContainsFunc(on[f.first:f.last+1], func(has chooses) bool { return has(&list[i]) }) {
			f.list = append(f.list, list[i])
		}
	}
}

// pythons is the fork's range, as packages write it.
func (f *fork) pythons() string {
	switch {
	case f.last == 0:
		return ""
	case f.first == oldestMinor:
		return fmt.Sprintf("<3.%d", f.last+1)
	case f.last == newestMinor:
		return fmt.Sprintf(">=3.%d", f.first)
	}
	return fmt.Sprintf(">=3.%d,<3.%d", f.first, f.last+1)
}

// label is the range in words.
func (f *fork) label() string {
	switch {
	case f.last == 0:
		return ""
	case f.first == oldestMinor:
		return fmt.Sprintf("Python 3.%d or older", f.last)
	case f.last == newestMinor:
		return fmt.Sprintf("Python 3.%d or newer", f.first)
	case f.first == f.last:
		return fmt.Sprintf("Python 3.%d", f.first)
	}
	return fmt.Sprintf("Python 3.%d to 3.%d", f.first, f.last)
}
