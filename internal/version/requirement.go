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
type Requirement [][]constraint

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
	var r Requirement
	for _, word := range strings.Fields(text) {
		var term []constraint
		for part := range strings.SplitSeq(word, ",") {
			if part == "" {
				continue
			}
			c, err := parseConstraint(part)
			if err != nil {
				return nil, err
			}
			term = append(term, c)
		}
		r = append(r, term)
	}
	return r, nil
}

func parseConstraint(text string) (constraint, error) {
	at := strings.IndexAny(text, "<>=!")
	if at <= 0 {
		return constraint{}, fmt.Errorf("%q is not a constraint", text)
	}
	value := strings.TrimLeft(text[at:], "<>=!")
	c := constraint{strings.ToLower(text[:at]), strings.TrimSuffix(text[at:], value), value, Of(value)}
	if value == "" || !slices.Contains([]string{"=", "!=", "<", "<=", ">", ">="}, c.operator) {
		return constraint{}, fmt.Errorf("%q is not a constraint", text)
	}
	return c, nil
}

// On judges the expression; the empty one holds.
func (r Requirement) On(p Properties) Truth {
	best := Unmet
	for _, term := range r {
		all := Met
		for _, c := range term {
			if all = min(all, c.on(p)); all == Unmet {
				break
			}
		}
		if best = max(best, all); best == Met {
			return Met
		}
	}
	if len(r) == 0 {
		return Met
	}
	return best
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
