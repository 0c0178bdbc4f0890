package version

import (
	"fmt"
	"slices"
	"strings"
)

// Range is a range of versions, such as ">=9.8,<10.0": bounds, all of which must hold, or lists of them, ">=1,<2 || >=3",
// of which one must. Three parts count. A bound is about as many parts as it names, by which Masterminds' semver went
// too: 12.4.1 is in "<=12.4" and in "=12.*", and not in ">12.4". The zero Range has every version.
type Range struct{ text string }

// ParseRange reads a range as the tables and packages write it, ">=9.8,<10.0".
func ParseRange(text string) (Range, error) {
	_, err := Allows(text, Number{})
	return Range{text}, err
}

// Valid says what is wrong with a range that was read from a cell.
func (r Range) Valid() (err error) {
	if r.text != "" {
		_, err = Allows(r.text, Number{})
	}
	return err
}

// Has reports whether a version is in the range.
func (r Range) Has(v Number) bool {
	ok, err := Allows(r.text, v)
	return r.text == "" || err == nil && ok
}

// UnmarshalText reads a table's cell; an empty one is every version. Valid says what is wrong with it.
func (r *Range) UnmarshalText(text []byte) error {
	r.text = string(text)
	return nil
}

// MarshalText writes the range as it was read.
func (r Range) MarshalText() ([]byte, error) { return []byte(r.text), nil }

// Allows reports whether a version fits a range.
func Allows(ranges string, v Number) (ok bool, err error) {
	for list := range strings.SplitSeq(ranges, "||") {
		all, err := v.within(list)
		if err != nil {
			return false, fmt.Errorf("range %q: %w", ranges, err)
		}
		ok = ok || all
	}
	return ok, nil
}

// within reports whether all bounds of a list hold, between which commas or spaces stand.
func (v Number) within(list string) (all bool, err error) {
	all = true
	for more := true; more; {
		list = strings.TrimLeft(list, " ")
		number := strings.TrimLeft(list, "=!<>~^")
		operator := list[:len(list)-len(number)]
		number = strings.TrimLeft(number, " ")
		end := strings.IndexAny(number+" ", " ,")
		number, list = number[:end], strings.TrimLeft(number[end:], " ")
		holds, err := v.bounded(operator, number)
		if err != nil {
			return false, err
		}
		all, more = all && holds, list != ""
		list = strings.TrimPrefix(list, ",")
	}
	return all, nil
}

// bounded reports whether one bound holds. What follows a plus sign does not count, as of "2.8.0+cu128".
func (v Number) bounded(operator, text string) (bool, error) {
	b, err := parseBound(text)
	if err != nil {
		return false, err
	}
	named := min(b.count, 3)
	order := slices.Compare(v.parts[:named], b.parts[:named])
	same := func(parts int) bool { return order >= 0 && slices.Equal(v.parts[:parts], b.parts[:parts]) }
	switch operator {
	case "", "=":
		return order == 0, nil
	case "!=":
		return order != 0, nil
	case "<":
		return order < 0, nil
	case "<=":
		return order <= 0, nil
	case ">":
		return order > 0, nil
	case ">=":
		return order >= 0, nil
	case "~": // Poetry's: the same minor version
		return same(min(named, 2)), nil
	case "^": // Poetry's: the same up to the first part that is not 0
		first := slices.IndexFunc(b.parts[:named], func(part uint64) bool { return part != 0 })
		if first < 0 {
			return same(named), nil
		}
		return same(first + 1), nil
	}
	return false, fmt.Errorf("%q is no comparison", operator)
}

// parseBound reads "12.4" and "12.4.*"; "*" is the zero Number, which names no part.
func parseBound(text string) (Number, error) {
	if text == "*" {
		return Number{}, nil
	}
	number, _, _ := strings.Cut(strings.TrimPrefix(text, "v"), "+")
	for strings.HasSuffix(number, ".*") || strings.HasSuffix(number, ".x") {
		number = number[:len(number)-2]
	}
	if number != numberOf(number) {
		return Number{}, fmt.Errorf("%q is not a version", text)
	}
	return Parse(number)
}
