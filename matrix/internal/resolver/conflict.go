package resolver

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/fit"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/verdict"
)

// conflict returns the smallest part of the wishes and of the machine's properties that has no set, as one sentence
// with sources.
func (w *wishes) conflict() (why string, source []string) {
	for size := range len(w.list) + len(properties) {
		for _, some := range subsets(len(w.list), size+1) {
			for _, held := range subsets(len(properties), size+1-len(some)) {
				if len(some)+len(held) == size+1 && !w.possible(some, held) {
					return w.tell(some, held)
				}
			}
		}
	}
	return "no set of the rows has all of them", nil
}

// subsets returns the sets of at most most of the first n numbers, larger ones first.
func subsets(n, most int) [][]int {
	var list [][]int
	for set := range 1 << n {
		if bits.OnesCount(uint(set)) > most {
			continue
		}
		some := []int{}
		for i := range n {
			if set&(1<<i) != 0 {
				some = append(some, i)
			}
		}
		list = append(list, some)
	}
	slices.SortStableFunc(list, func(a, b []int) int { return len(b) - len(a) })
	return list
}

// mask combines properties.
func mask(held []int) (list property) {
	for _, i := range held {
		list |= properties[i]
	}
	return list
}

// possible reports whether some wishes have a set if only some of the machine's properties count.
func (w *wishes) possible(some, held []int) bool {
	counts := mask(held)
	return slices.ContainsFunc(w.combinations(w.frameworks(some)), func(c combination) bool {
		for _, f := range c {
			if f.not&counts != 0 {
				return false
			}
		}
		return !slices.ContainsFunc(some, func(i int) bool {
			return !slices.ContainsFunc(w.optionsOf(w.list[i], c), func(o option) bool { return o.not&counts == 0 })
		})
	})
}

// tell describes a conflict: what each wish needs and the others, or the machine, do not have.
func (w *wishes) tell(some, held []int) (string, []string) {
	var needs, has, source []string
	for _, i := range some {
		text, from := w.needsOf(w.list[i], held, len(some) > 1)
		needs = append(needs, text)
		source = append(source, from...)
	}
	for _, i := range held {
		text, from := w.propertyWords(properties[i])
		has = append(has, text)
		source = append(source, from...)
	}
	slices.Sort(source)
	source = slices.Compact(source)
	if len(has) == 0 {
		return strings.Join(needs, ", but "), source
	}
	return verdict.JoinAnd(needs) + ", but " + verdict.JoinAnd(has), source
}

// propertyWords returns a property of the machine in words.
func (w *wishes) propertyWords(p property) (string, []string) {
	m := w.m
	switch p {
	case byDriver:
		most, source := "no CUDA that the tables have", []string(nil)
		for _, f := range tables.Rows[tables.Minor](m.Tables) {
			if m.Reached(f.Family) {
				most, source = fmt.Sprintf("CUDA %d and older", f.Family.Major()), f.Source[:1]
			}
		}
		return m.DriverWords() + " runs " + most, source
	case byGPU:
		return "the GPU is " + pins.GPUWords(m), nil
	case byPython:
		if w.b.Interpreter == "" {
			return "the Python is unknown (add --python)", nil
		}
		return "this is Python " + version.ShortPython(w.b.Interpreter), nil
	}
	return "the C library is glibc " + m.Facts.System.Libc, nil
}

// facets are the needs of a wish's releases, one text for each release.
type facets struct {
	torch, cuda, code, python []string
	source                    []string
}

func (f *facets) add(torch, cuda, code, python, source []string) {
	f.torch, f.cuda = append(f.torch, torch...), append(f.cuda, cuda...)
	f.python = append(f.python, python...)
	if f.code == nil {
		f.code = code
	}
	if f.source == nil && len(source) > 0 {
		f.source = source[:1]
	}
}

// needsOf returns what a wish needs that the rest of a conflict lacks. It looks only at releases that no other property
// of the machine excludes.
func (w *wishes) needsOf(one *wish, held []int, others bool) (string, []string) {
	name := one.String()
	if len(w.facetsOf(one, 0).source) == 0 {
		return w.noRelease(one)
	}
	var parts []string
	all := w.facetsOf(one, 0)
	if others && one.Package == one.needs {
		parts = append(parts, "is wanted")
	} else if others && len(all.torch) > 0 {
		f := w.facetsOf(one, mask(held))
		if len(f.torch) == 0 {
			f = all
		}
		words := "is made for " + one.needs + " " + span(f.torch)
		if w.differsByCUDA(one) {
			words += " and CUDA " + span(all.cuda)
		}
		parts = append(parts, words)
	} else if others && len(all.cuda) > 0 {
		parts = append(parts, "is built for CUDA "+span(all.cuda))
	}
	for _, i := range held {
		f := w.facetsOf(one, mask(held)&^properties[i])
		if len(f.source) == 0 {
			f = all
		}
		parts = append(parts, w.lackOf(one, properties[i], f))
	}
	if len(parts) == 0 {
		parts = []string{"has none for the rest"}
	}
	return name + " " + verdict.JoinAnd(parts), all.source
}

// differsByCUDA reports whether a wish's releases are made for the wanted torch, but for another CUDA.
func (w *wishes) differsByCUDA(one *wish) bool {
	i := slices.IndexFunc(w.list, func(o *wish) bool { return o.Package == one.needs })
	found, alone := false, w.m.Tables.Trait("pins-torch", one.Package, version.Number{})
	for _, f := range w.rows[one.needs] {
		if i < 0 || f.Framework != "torch" || alone && !w.isDefault(f.Row) || len(w.inside(w.list[i], f.Row)) == 0 {
			continue
		}
		for _, e := range one.rows {
			r := pins.FitRow(w.m, e, f.Row)
			if !r[fit.Release].Fits() {
				continue
			}
			if r[fit.CUDA].State != fit.Differs {
				return false
			}
			found = true
		}
	}
	return found
}

// lackOf returns what a wish's releases need of one property of the machine. If their framework needs it, it says so.
func (w *wishes) lackOf(one *wish, p property, f facets) string {
	itself := one.Package == one.needs || one.needs == "" || len(one.rows) > 0 && !slices.ContainsFunc(one.rows,
		func(e tables.Extension) bool { return w.exclusion(e)&p == 0 })
	switch {
	case p == byDriver && len(f.cuda) > 0:
		return "needs CUDA " + span(f.cuda)
	case !itself && len(f.torch) > 0:
		return fmt.Sprintf("is made for %s %s, of which no wheel %s", one.needs, span(f.torch), map[property]string{
			byDriver: "runs on this driver", byGPU: "has code for this GPU", byPython: "is for this Python",
			byGlibc: "loads with this C library"}[p])
	case p == byGPU && len(f.code) > 0:
		return "has code for " + strings.Join(f.code, " ")
	case p == byPython && len(f.python) > 0:
		return "has wheels for Python " + span(f.python)
	}
	return "has no release for this"
}

// noRelease says that the tables have no allowed release, or no wheel of it.
func (w *wishes) noRelease(one *wish) (string, []string) {
	for _, e := range tables.RowsOf[tables.Extension](w.m.Tables, one.Package) {
		if one.allowed.Has(e.Release) && e.Variant == "sdist" {
			return fmt.Sprintf("%s is on the package index as a source only: what it will be compiled for is not known", one), e.Source[:1]
		}
	}
	return fmt.Sprintf("the tables have no wheel of %s for %s", one, w.m.Platform), nil
}

// facetsOf returns the needs of a wish's releases, without those that some properties of the machine exclude.
func (w *wishes) facetsOf(one *wish, counts property) facets {
	var all facets
	if one.needs != "" && (one.Package == one.needs || one.rows == nil) {
		for _, f := range w.rows[one.needs] {
			if f.not&counts == 0 && len(w.inside(one, f.Row)) > 0 {
				all.add([]string{f.Number.Short()}, []string{fmt.Sprint(f.CUDA.Major())}, f.SASS, f.Python, f.Source)
			}
		}
		return all
	}
	for _, e := range one.rows {
		if w.exclusion(e)&counts != 0 || counts&byDriver != 0 && e.Family().Known() && !w.m.Reached(e.Family()) {
			continue
		}
		var torch, cuda []string
		for _, text := range e.Torch {
			torch = append(torch, short(text))
		}
		for _, text := range e.CUDA {
			if v := version.ParseOrZero(text); v.Known() {
				cuda = append(cuda, fmt.Sprint(v.Major()))
			}
		}
		all.add(torch, cuda, e.SASS, e.Python, e.Source)
	}
	return all
}

// short returns the first two parts of a release, and a range unchanged.
func short(text string) string {
	if v := model.Exactly(text); v.Known() {
		return v.Short()
	}
	return text
}

// span formats a list of versions for a sentence: "2.4 to 2.8", "12 or 13".
func span(list []string) string {
	list = slices.Clone(list)
	slices.SortFunc(list, version.CompareTexts)
	list = slices.Compact(list)
	plain := !slices.ContainsFunc(list, func(text string) bool { return !version.ParseOrZero(text).Known() })
	switch {
	case len(list) > 2 && plain:
		return list[0] + " to " + list[len(list)-1]
	case len(list) > 3:
		list = list[len(list)-3:]
	}
	return strings.Join(list, " or ")
}
