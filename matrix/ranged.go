package matrix

import (
	"fmt"
	"slices"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/probe/facts"
)

// ranged are the rows of every torch that a file's range lets an installer take, where the tables hold all of them: the
// range ends before what is yet to be released, or its index gets no more releases. What all of them say is true of
// whichever is taken.
func (m *machine) ranged(b *build) []row {
	wanted, err := version.ParseSpecifiers(b.Specifier)
	if b.Specifier == facts.Unspecified {
		wanted, err = version.Specifiers{}, nil
	}
	if b.Name != "torch" || b.Version != "" || b.Specifier == "" || err != nil {
		return nil
	}
	var all, fitting []row
	for _, t := range tables.Rows[tables.Torch](m.t) {
		if t.Platform != m.platform {
			continue
		}
		all = append(all, torchRow(&t))
		if m.serves(b.Index, &t) && wanted.Has(t.Release) {
			fitting = append(fitting, torchRow(&t))
		}
	}
	if len(fitting) == 0 || !m.closed(wanted, b.Index, all) {
		return nil
	}
	slices.SortStableFunc(fitting, func(x, y row) int { return y.number.Compare(x.number) }) // pip takes the newest
	return fitting
}

// serves reports whether an index has a row's wheel: that of a variant, or the installer's own.
func (m *machine) serves(index string, t *tables.Torch) bool {
	if index == "default" {
		release, _ := version.ParseRelease(t.Release)
		variant := m.defaultVariant("torch", release)
		return variant == "" || variant == t.Variant
	}
	return index == "" || index == t.Variant
}

// closed reports whether a range has no release but those of the tables: none older than the first, and none newer than
// the last, unless its index stopped before that one.
func (m *machine) closed(wanted version.Specifiers, index string, all []row) bool {
	var first, last version.Number // of the tables
	var lastHere version.Number    // of this index
	for _, r := range all {
		if !first.Known() || r.number.Less(first) {
			first = r.number
		}
		if last.Less(r.number) {
			last = r.number
		}
		if r.Variant == index && lastHere.Less(r.number) {
			lastHere = r.number
		}
	}
	if lastHere.Known() && lastHere.Short() != last.Short() {
		return true
	}
	next := []string{fmt.Sprintf("%d.%d.%d", last.Major(), last.Minor(), last.Patch()+1),
		fmt.Sprintf("%d.%d.0", last.Major(), last.Minor()+1), fmt.Sprintf("%d.0.0", last.Major()+1)}
	return !slices.ContainsFunc(append(next, "0.1", first.Short()+".dev0"), wanted.Has)
}
