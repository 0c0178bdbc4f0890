package treediff

import (
	"context"
	"slices"

	"cudacompat/internal/lazyregexp"
	"cudacompat/matrix"
	"cudacompat/matrix/requires"
	"cudacompat/probe/facts"
)

// ranges maps a package to the range that a file asks for, if that is not one release.
type ranges map[string]string

// variantIndex matches PyTorch's indexes for one variant.
var variantIndex = lazyregexp.New(`^(?:cu\d+|cpu|xpu|rocm[\d.]+)$`)

// takeNewest returns both sides of a file with each range that the change moved replaced by the newest release that the
// tables know, because an installer takes that one. A range that is the same on both sides stays.
func (c *comparison) takeNewest(ctx context.Context, before, after facts.Facts) (was, is facts.Facts, old, now ranges) {
	same := func(path, name, specifier, index string, other facts.Facts) bool {
		for _, e := range other.Environments {
			if e.Path == path && (slices.ContainsFunc(e.Builds, func(b facts.Build) bool {
				return b.Name == name && b.Version == "" && b.Specifier == specifier && b.Index == index
			}) || slices.ContainsFunc(e.Requested, func(r facts.Requested) bool {
				return r.Name == name && r.Version == "" && r.Specifier == specifier && r.Index == index
			})) {
				return true
			}
		}
		return false
	}
	settle := func(f, other facts.Facts) (facts.Facts, ranges) {
		taken := ranges{}
		if len(f.Unread) > 0 { // what was not looked at may pin it
			return f, taken
		}
		f.Environments = slices.Clone(f.Environments)
		for i := range f.Environments {
			e := &f.Environments[i]
			e.Builds, e.Requested = slices.Clone(e.Builds), slices.Clone(e.Requested)
			pinned := func(name string) bool { // on another line, which decides
				return slices.ContainsFunc(e.Builds, func(b facts.Build) bool { return b.Name == name && b.Version != "" }) ||
					slices.ContainsFunc(e.Requested, func(r facts.Requested) bool { return r.Name == name && r.Version != "" })
			}
			e.Builds = slices.DeleteFunc(e.Builds, func(b facts.Build) bool { return b.Version == "" && pinned(b.Name) })
			e.Requested = slices.DeleteFunc(e.Requested, func(r facts.Requested) bool { return r.Version == "" && pinned(r.Name) })
			hasTorch := slices.ContainsFunc(e.Builds, func(b facts.Build) bool { return b.Name == "torch" })
			for j := range e.Builds {
				b := &e.Builds[j]
				if b.Version != "" || b.Index == "" || b.Name != "torch" && b.Name != "tensorflow" || len(b.Extras) > 0 || same(e.Path, b.Name, b.Specifier, b.Index, other) {
					continue
				}
				if v := c.findNewest(ctx, b.Name, b.Specifier, b.Index); v != "" {
					b.Version, taken[b.Name] = v, describeRange(b.Specifier)
				}
			}
			for j := range e.Requested {
				r := &e.Requested[j]
				// Of what stands beside torch an installer takes a release that fits it, which need not be the newest.
				if r.Version != "" || r.Wheel != "" || hasTorch || same(e.Path, r.Name, r.Specifier, r.Index, other) {
					continue
				}
				if v := c.findNewest(ctx, r.Name, r.Specifier, r.Index); v != "" {
					r.Version, taken[r.Name] = v, describeRange(r.Specifier)
				}
			}
		}
		return f, taken
	}
	was, old = settle(before, after)
	is, now = settle(after, before)
	return was, is, old, now
}

func describeRange(specifier string) string {
	if isOpen(specifier) {
		return "any"
	}
	return specifier
}

// isOpen reports whether a specifier allows every release.
func isOpen(specifier string) bool { return specifier == "" || specifier == facts.Unspecified }

// findNewest returns the newest release of a package in a range that an index has and whose needs the tables know, or "".
func (c *comparison) findNewest(ctx context.Context, name, specifier, index string) string {
	if isOpen(specifier) {
		specifier = ""
	}
	for _, release := range slices.Backward(matrix.ReleasesIn(c.Tables, name, specifier)) {
		if ctx.Err() != nil {
			return ""
		}
		if name == "torch" && variantIndex.MatchString(index) {
			release += "+" + index
		}
		if r, known := c.lookUpRequirement(ctx, name+"=="+release); known && (name != "torch" || !r.Undecided()) { // a variant that no release has is not decided
			return release
		}
	}
	return ""
}

// nameRanges records the ranges of the packages that changed.
func nameRanges(list []requires.PackageChange, old, now ranges) {
	for i := range list {
		p := &list[i]
		p.OldRange, p.NewRange = old[p.Name], now[p.Name]
	}
}
