package version

import (
	"fmt"
	"slices"
	"strings"
)

// Truth is an answer that may be missing.
type Truth int

const (
	Unmet Truth = iota
	Unsaid
	Met
)

// Requirement is an expression in NVIDIA's language of constraints, such as
// "cuda>=12.4 brand=tesla,driver>=535,driver<536": one of the terms must hold, and in a term every constraint.
type Requirement struct {
	anyBrand []term
	byBrand  map[string][]term // by brand, in lower case: the terms that hold for no other
}

// term is a list of constraints that must all hold.
type term []constraint

type constraint struct {
	property string // "cuda", "driver", "arch", "brand", in lower case
	operator string // "=", "!=", "<", "<=", ">", ">="
	value    string
	number   Number // value as a version; unknown if it is not one
}

// Properties are what constraints are about: one GPU and its driver. What is not known makes an answer unsure.
type Properties struct {
	CUDA, Driver, Arch Number
	Brand              string
	NoGPU              bool // NVIDIA's tool takes arch and brand for granted then
	AnyBrand           bool
}

// ParseRequirement reads an expression as libnvidia-container's src/cli/dsl.c does: names in any case.
func ParseRequirement(text string) (Requirement, error) {
	r := Requirement{byBrand: map[string][]term{}}
	for _, word := range strings.Fields(text) {
		var t term
		for part := range strings.SplitSeq(word, ",") {
			if part == "" {
				continue
			}
			c, err := parseConstraint(part)
			if err != nil {
				return Requirement{}, err
			}
			t = append(t, c)
		}
		if brand, ok := t.brand(); ok {
			r.byBrand[brand] = append(r.byBrand[brand], t)
		} else {
			r.anyBrand = append(r.anyBrand, t)
		}
	}
	return r, nil
}

// brand returns the brand, in lower case, without which the term cannot hold. It returns false if there is none.
func (t term) brand() (string, bool) {
	for _, c := range t {
		if c.property == "brand" && c.operator == "=" {
			return strings.ToLower(c.value), true
		}
	}
	return "", false
}

func parseConstraint(text string) (constraint, error) {
	at := strings.IndexAny(text, "<>=!")
	if at <= 0 {
		return constraint{}, fmt.Errorf("%q is not a constraint", text)
	}
	value := strings.TrimLeft(text[at:], "<>=!")
	c := constraint{strings.ToLower(text[:at]), strings.TrimSuffix(text[at:], value), value, ParseOrZero(value)}
	if value == "" || !slices.Contains([]string{"=", "!=", "<", "<=", ">", ">="}, c.operator) {
		return constraint{}, fmt.Errorf("%q is not a constraint", text)
	}
	return c, nil
}

// On judges the expression; the empty one holds.
func (r Requirement) On(p Properties) Truth {
	if len(r.anyBrand)+len(r.byBrand) == 0 {
		return Met
	}
	best := anyOf(r.anyBrand, p)
	if p.Brand != "" && !p.NoGPU && !p.AnyBrand {
		return max(best, anyOf(r.byBrand[strings.ToLower(p.Brand)], p))
	}
	for _, terms := range r.byBrand {
		best = max(best, anyOf(terms, p))
	}
	return best
}

// anyOf returns the best of what the terms say.
func anyOf(terms []term, p Properties) Truth {
	best := Unmet
	for _, t := range terms {
		if best = max(best, t.on(p)); best == Met {
			break
		}
	}
	return best
}

func (t term) on(p Properties) Truth {
	all := Met
	for _, c := range t {
		if all = min(all, c.on(p)); all == Unmet {
			break
		}
	}
	return all
}

func (c constraint) on(p Properties) Truth {
	switch c.property {
	case "cuda":
		return c.compare(p.CUDA)
	case "driver":
		return c.compare(p.Driver)
	case "arch":
		if p.NoGPU {
			return Met
		}
		return c.compare(p.Arch)
	case "brand":
		return c.brand(p)
	}
	return Unsaid
}

func (c constraint) brand(p Properties) Truth {
	same := strings.EqualFold(p.Brand, c.value)
	switch {
	case p.NoGPU || p.AnyBrand:
		return Met
	case p.Brand == "" || c.operator != "=" && c.operator != "!=":
		return Unsaid
	case same == (c.operator == "="):
		return Met
	}
	return Unmet
}

// compare compares a version with the constraint's, part by part.
func (c constraint) compare(have Number) Truth {
	if !have.Known() || !c.number.Known() {
		return Unsaid
	}
	order := have.Compare(c.number)
	holds := false
	switch c.operator {
	case "=":
		holds = order == 0
	case "!=":
		holds = order != 0
	case "<":
		holds = order < 0
	case "<=":
		holds = order <= 0
	case ">":
		holds = order > 0
	case ">=":
		holds = order >= 0
	}
	if holds {
		return Met
	}
	return Unmet
}
