package model

import (
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/probe/facts"
)

// oldestPython is the oldest Python for which a range without a Python is judged. Python 3.8 ended in 2024, and what
// its installers still find predates the GPUs that are sold now.
const oldestPython = "3.9"

// rowsOfRange returns the rows of the torch releases that an installer may take for a file's range: on each Python, the
// newest release with a wheel for it. If they all agree, the answer holds for whichever it takes. If every release of a
// range is in the tables, all of them count, because another package may hold back the newest.
func (m *Machine) rowsOfRange(b *Build) []Row {
	wanted, err := version.ParseSpecifiers(b.Specifier)
	if b.Specifier == facts.Unspecified {
		wanted, err = version.Specifiers{}, nil
	}
	if b.Name != "torch" || b.Version != "" || b.Specifier == "" || err != nil {
		return nil
	}
	var all, fitting []Row
	for _, t := range tables.Rows[tables.Torch](m.Tables) {
		if t.Platform != m.Platform {
			continue
		}
		all = append(all, torchRow(&t))
		if m.serves(b.Index, &t) && wanted.Has(t.Release) {
			fitting = append(fitting, torchRow(&t))
		}
	}
	slices.SortStableFunc(fitting, func(x, y Row) int { return y.Number.Compare(x.Number) }) // pip takes the newest
	switch {
	case m.rangeIsClosed(wanted, b.Index, all):
		return fitting
	case m.heldBack(b.Env.Environment):
		return nil
	}
	taken := newestOn(fitting, b.Interpreter, b.Env.Pythons)
	b.byPython = b.Interpreter == "" && len(taken) > 1
	return taken
}

// ownLibrary matches the library wheels that each torch pins exactly.
var ownLibrary = lazyregexp.New(`^nvidia-.*-cu\d+$`)

// heldBack reports whether another package in a file determines the torch: an engine or companion made for one release,
// or a pinned CUDA library.
func (m *Machine) heldBack(env *facts.Environment) bool {
	return slices.ContainsFunc(env.Requested, func(w facts.Requested) bool {
		if ownLibrary.MatchString(w.Name) {
			return true
		}
		n := m.requestedPackage(env, &w)
		return n != nil && (n.Torch != "" || n.Companion && w.Version != "" || len(n.Rows) > 0 && len(n.Rows[0].Torch) > 0)
	}) || slices.ContainsFunc(env.Packages, func(p facts.Package) bool { return ownLibrary.MatchString(p.Name) })
}

// newestOn returns the newest rows with a wheel for each Python: for the named Python, otherwise for those of a range,
// otherwise for all.
func newestOn(rows []Row, python, pythons string) []Row {
	allowed, err := version.ParseSpecifiers(pythons)
	var taken []Row
	met := map[string]bool{}
	for _, r := range rows {
		news := false
		for _, p := range r.Python {
			p = strings.TrimSuffix(p, "t")
			switch {
			case met[p], python != "" && version.ParseOrZero(python).Short() != p,
				python == "" && version.ParseOrZero(p).Less(version.ParseOrZero(oldestPython)),
				python == "" && pythons != "" && err == nil && !allowed.Has(p+".0") && !allowed.Has(p+".99"):
			default:
				met[p], news = true, true
			}
		}
		if same := len(taken) > 0 && taken[len(taken)-1].Number == r.Number; news || same {
			taken = append(taken, r) // of an index that has several variants any may be taken
		}
	}
	return taken
}

// serves reports whether an index has the wheel of a row: a variant's index, or the installer's own.
func (m *Machine) serves(index string, t *tables.Torch) bool {
	if index == "default" {
		release, _ := version.ParseRelease(t.Release)
		variant := m.DefaultVariant("torch", release)
		return variant == "" || variant == t.Variant
	}
	return index == "" || index == t.Variant
}

// rangeIsClosed reports whether the tables contain every release in a range: none is older than their first, and none
// newer than their last, unless the index stopped before that.
func (m *Machine) rangeIsClosed(wanted version.Specifiers, index string, all []Row) bool {
	var first, last version.Number // of the tables
	var lastHere version.Number    // of this index
	for _, r := range all {
		if !first.Known() || r.Number.Less(first) {
			first = r.Number
		}
		if last.Less(r.Number) {
			last = r.Number
		}
		if r.Variant == index && lastHere.Less(r.Number) {
			lastHere = r.Number
		}
	}
	if lastHere.Known() && lastHere.Short() != last.Short() {
		return true
	}
	next := []string{fmt.Sprintf("%d.%d.%d", last.Major(), last.Minor(), last.Patch()+1),
		fmt.Sprintf("%d.%d.0", last.Major(), last.Minor()+1), fmt.Sprintf("%d.0.0", last.Major()+1)}
	return !slices.ContainsFunc(append(next, "0.1", first.Short()+".dev0"), wanted.Has)
}
