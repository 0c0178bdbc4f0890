package input

import (
	"slices"

	"cudacompat/probe/facts"
	"cudacompat/probe/internal/distname"
)

// JAXPart reports whether a distribution is one of those that a JAX is made of.
func JAXPart(name string) bool { return distname.JAXPart.MatchString(name) }

// Coming is what a plan installs, as one environment. A JAX is made of several distributions: those of them that stay
// are named with the others.
func Coming(plan facts.Facts, jax []facts.Package) facts.Environment {
	var env facts.Environment
	if len(plan.Environments) > 0 {
		env = plan.Environments[0]
	}
	var parts []lockedRelease
	moves := false
	for _, p := range plan.Plan.Installs {
		if JAXPart(p.Name) {
			parts, moves = append(parts, lockedPackage(p.Name, p.Version, "", nil)), true
		}
	}
	if !moves {
		return env
	}
	stays := len(jax) > 0
	for _, p := range jax {
		parts = append(parts, lockedPackage(p.Name, p.Version, "", nil))
	}
	library := func(p lockedRelease) bool { return p.name == "jaxlib" }
	slices.SortStableFunc(parts, func(a, b lockedRelease) int { return rankJAX(a) - rankJAX(b) })
	var builds []facts.Build
	for _, b := range env.Builds {
		if b.Name != "jax" {
			builds = append(builds, b)
		}
	}
	if b, ok := lockedJAX(parts); ok && slices.ContainsFunc(parts, library) {
		for _, p := range parts { // each refuses the others of another release, with exceptions
			if p.version != b.Version && stays {
				b.Open = map[string]string{p.name: p.version}
			}
		}
		builds = append(builds, b)
	}
	env.Builds = builds
	return env
}

// rankJAX puts jaxlib first, whose release is a JAX's where it is installed.
func rankJAX(p lockedRelease) int {
	if p.name == "jaxlib" {
		return 0
	}
	return 1
}
