package sheet

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/version"
)

// Filter keeps the rows of a Grid whose column stands so to a value.
type Filter struct {
	Column string // empty: any column of the key
	Op     string // "=", "!=", or, for versions and dates, "<", "<=", ">", ">="; a range goes on after a comma
	Value  string
}

var filterText = lazyregexp.New(`^([a-z0-9_]+)(!=|<=|>=|=|<|>)(.*)$`)

// ParseFilter reads "cuda=12.6", "driver>=550,<580", or a word of the row's key or names: "2.9.0", "2.9.0+cu130", "L4".
func ParseFilter(text string) Filter {
	if m := filterText.FindStringSubmatch(text); m != nil {
		return Filter{m[1], m[2], m[3]}
	}
	return Filter{Op: "=", Value: text}
}

// Where keeps the rows that every filter keeps. An error says which filter cannot be asked of this table.
func (g Grid) Where(filters ...Filter) (Grid, error) {
	for _, f := range filters {
		keep, err := g.keep(f)
		if err != nil {
			return g, err
		}
		kept := g
		kept.Rows, kept.Places = nil, nil
		for i, row := range g.Rows {
			if keep(row) {
				kept.Rows, kept.Places = append(kept.Rows, row), append(kept.Places, g.Places[i])
			}
		}
		g = kept
	}
	return g, nil
}

// keep returns the filter as a question to a row.
func (g Grid) keep(f Filter) (func(row []string) bool, error) {
	if f.Column == "" {
		return func(row []string) bool { return g.keyHas(row, f.Value) }, nil
	}
	i := g.Column(f.Column)
	if i < 0 {
		return nil, fmt.Errorf("the table %s has no column %q", g.Table, f.Column)
	}
	switch f.Op {
	case "=":
		return func(row []string) bool { return g.equals(i, row[i], f.Value) }, nil
	case "!=":
		return func(row []string) bool { return !g.equals(i, row[i], f.Value) }, nil
	}
	if _, isList := g.SplitCell(i, ""); isList {
		return nil, fmt.Errorf("the column %q of %s is a list: only = and != can be asked of it", f.Column, g.Table)
	}
	in, err := inRange(f)
	return func(row []string) bool { return in(row[i]) }, err
}

var isoDate = lazyregexp.New(`^\d{4}-\d\d(-\d\d)?$`)

// inRange returns a test for cells: a range of dates if the value is a date, otherwise of versions. A cell that is
// empty or neither is outside every range.
func inRange(f Filter) (func(cell string) bool, error) {
	if isoDate.MatchString(f.Value) {
		return func(cell string) bool {
			return isoDate.MatchString(cell) && fitsOperator(strings.Compare(cell, f.Value), f.Op)
		}, nil
	}
	allowed, err := version.ParseRange(f.Op + f.Value)
	if err != nil {
		return nil, fmt.Errorf("%s%s is not a range of versions such as >=12.4,<13", f.Op, f.Value)
	}
	return func(cell string) bool {
		v, err := version.Parse(cell)
		return err == nil && !isoDate.MatchString(cell) && allowed.Has(v)
	}, nil
}

// fitsOperator reports whether a comparison's result fits its operator.
func fitsOperator(c int, op string) bool {
	return c == 0 && strings.HasSuffix(op, "=") || c < 0 && op[0] == '<' || c > 0 && op[0] == '>'
}

// keyHas reports whether a word is one of the key's cells or of the row's names, or names it as pip names a build:
// "2.9.0+cu130".
func (g Grid) keyHas(row []string, word string) bool {
	for i, kind := range g.kinds {
		if kind == reflect.TypeFor[NameList]() && g.equals(i, row[i], word) {
			return true
		}
	}
	return slices.Contains(row[:g.Keys], word) || g.Keys > 1 && row[0]+"+"+row[1] == word
}

// equals compares a cell with a value: a list has it, a version begins with its parts (12.6.3 is 12.6), text is it.
func (g Grid) equals(column int, cell, value string) bool {
	if items, isList := g.SplitCell(column, cell); isList {
		return slices.ContainsFunc(items, func(item string) bool { return strings.EqualFold(item, value) })
	}
	if g.kinds[column] == reflect.TypeFor[version.Number]() && cell != "" {
		return cell == value || strings.HasPrefix(cell, value+".")
	}
	return strings.EqualFold(cell, value)
}
