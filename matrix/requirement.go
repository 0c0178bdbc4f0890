package matrix

import (
	"fmt"
	"slices"
	"strings"
)

// truth is an answer that may be missing.
type truth int

const (
	unmet truth = iota
	unsaid
	met
)

// requirement is an expression in NVIDIA's language of constraints, such as
// "cuda>=12.4 brand=tesla,driver>=535,driver<536": one of the terms must hold, and in a term every constraint.
type requirement [][]constraint

type constraint struct {
	property string // "cuda", "driver", "arch", "brand", in lower case
	operator string // "=", "!=", "<", "<=", ">", ">="
	value    string
}

// properties are what constraints are about: one GPU and its driver. What is not known makes an answer unsure.
type properties struct {
	cuda, driver, arch Version
	brand              string
	noGPU              bool // NVIDIA's tool takes arch and brand for granted then
	anyBrand           bool
}

// parseRequirement reads an expression as libnvidia-container's src/cli/dsl.c does: names in any case.
func parseRequirement(text string) (requirement, error) {
	var r requirement
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
		return constraint{}, fmt.Errorf("%q is no constraint", text)
	}
	value := strings.TrimLeft(text[at:], "<>=!")
	c := constraint{strings.ToLower(text[:at]), strings.TrimSuffix(text[at:], value), value}
	if value == "" || !slices.Contains([]string{"=", "!=", "<", "<=", ">", ">="}, c.operator) {
		return constraint{}, fmt.Errorf("%q is no constraint", text)
	}
	return c, nil
}

// on judges the expression; the empty one holds.
func (r requirement) on(p properties) truth {
	best := unmet
	for _, term := range r {
		all := met
		for _, c := range term {
			all = min(all, c.on(p))
		}
		best = max(best, all)
	}
	if len(r) == 0 {
		return met
	}
	return best
}

func (c constraint) on(p properties) truth {
	switch c.property {
	case "cuda":
		return c.compare(p.cuda)
	case "driver":
		return c.compare(p.driver)
	case "arch":
		if p.noGPU {
			return met
		}
		return c.compare(p.arch)
	case "brand":
		return c.brand(p)
	}
	return unsaid
}

func (c constraint) brand(p properties) truth {
	same := strings.EqualFold(p.brand, c.value)
	switch {
	case p.noGPU || p.anyBrand:
		return met
	case p.brand == "" || c.operator != "=" && c.operator != "!=":
		return unsaid
	case same == (c.operator == "="):
		return met
	}
	return unmet
}

// compare holds a version against the constraint's, part by part.
func (c constraint) compare(have Version) truth {
	want := version(c.value)
	if !have.Known() || !want.Known() {
		return unsaid
	}
	order := have.Compare(want)
	holds := map[string]bool{"=": order == 0, "!=": order != 0, "<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0}
	if holds[c.operator] {
		return met
	}
	return unmet
}
