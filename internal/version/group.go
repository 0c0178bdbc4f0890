package version

import (
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
)

// Group is what one section of a library was built for: a GPU that it does not serve finds kernels missing there,
// whatever the library holds elsewhere. TensorFlow 2.20's MLIR kernels stand in .rodata, for fewer GPUs than
// .nv_fatbin.
type Group struct {
	Section string // ".rodata"
	SASS    []string
	PTX     []string
	ISA     map[string]Number // the PTX version of each target in PTX
}

// Cover judges the group for a GPU.
func (g Group) Cover(gpu Capability) Coverage { return Cover(g.SASS, g.PTX, gpu) }

// Special reports whether all of it is for certain GPUs alone: a part that others do without.
func (g Group) Special() bool {
	return !slices.ContainsFunc(slices.Concat(g.SASS, g.PTX), func(text string) bool {
		c, ok := ParseCode(text)
		return ok && c.Suffix == ""
	})
}

// PTXFor returns the version of the PTX that the driver would compile for a GPU, that of the nearest target; the zero
// Number when it is not known.
func (g Group) PTXFor(gpu Capability) Number {
	var nearest Capability
	var isa Number
	for _, text := range g.PTX {
		if c, ok := ParseCode(text); ok && c.Serves(gpu) && c.AtLeast(nearest) {
			nearest, isa = c.Capability, g.ISA[text]
		}
	}
	return isa
}

// GroupText is the form of a group in a cell.
var GroupText = lazyregexp.New(`^\.?\w[\w.]*=` + targetText + `(\+` + targetText + `)*$`)

const targetText = `(sm_\d{2,3}[af]?|compute_\d{2,3}[af]?@\d+\.\d+)`

// Groups is a table's cell of groups.
type Groups []Group

// UnmarshalText reads ".nv_fatbin=sm_80+sm_90 .rodata=sm_80+compute_90a@8.5".
func (list *Groups) UnmarshalText(text []byte) error {
	for word := range strings.FieldsSeq(string(text)) {
		if !GroupText.MatchString(word) {
			return fmt.Errorf("%q is not of the form %s", word, GroupText)
		}
		section, targets, _ := strings.Cut(word, "=")
		g := Group{Section: section, ISA: map[string]Number{}}
		for target := range strings.SplitSeq(targets, "+") {
			g.add(target)
		}
		*list = append(*list, g)
	}
	return nil
}

// add takes "sm_80", or "compute_90a@8.5" with its PTX version.
func (g *Group) add(target string) {
	name, isa, ptx := strings.Cut(target, "@")
	if !ptx {
		g.SASS = append(g.SASS, name)
		return
	}
	g.PTX = append(g.PTX, name)
	g.ISA[name] = ParseOrZero(isa)
}

// MarshalText writes them back.
func (list Groups) MarshalText() ([]byte, error) {
	var words []string
	for _, g := range list {
		targets := slices.Clone(g.SASS)
		for _, name := range g.PTX {
			targets = append(targets, name+"@"+g.ISA[name].String())
		}
		words = append(words, g.Section+"="+strings.Join(targets, "+"))
	}
	return []byte(strings.Join(words, " ")), nil
}
