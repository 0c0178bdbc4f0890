package request

import (
	"cmp"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/internal/distname"
)

// JAXPart reports whether a distribution is one of those that a JAX is made of.
func JAXPart(name string) bool { return distname.JAXPart.MatchString(name) }

// Coming returns what a plan installs, as one environment. A JAX consists of several distributions; those that stay are
// listed with the others.
func Coming(plan facts.Facts, jax []facts.Package) facts.Environment {
	var env facts.Environment
	if len(plan.Environments) > 0 {
		env = plan.Environments[0]
	}
	var parts []Package
	moves := false
	for _, p := range plan.Plan.Installs {
		if JAXPart(p.Name) {
			parts, moves = append(parts, New(p.Name, p.Version, "", nil)), true
		}
	}
	if !moves {
		return env
	}
	stays := len(jax) > 0
	for _, p := range jax {
		parts = append(parts, New(p.Name, p.Version, "", nil))
	}
	library := func(p Package) bool { return p.Name == "jaxlib" }
	slices.SortStableFunc(parts, func(a, b Package) int { return rankJAX(a) - rankJAX(b) })
	var builds []facts.Build
	for _, b := range env.Builds {
		if b.Name != "jax" {
			builds = append(builds, b)
		}
	}
	if b, ok := jaxBuild(parts); ok && slices.ContainsFunc(parts, library) {
		for _, p := range parts { // each refuses the others of another release, with exceptions
			if p.Version != b.Version && stays {
				b.Open = map[string]string{p.Name: p.Version}
			}
		}
		builds = append(builds, b)
	}
	env.Builds = builds
	return env
}

// rankJAX puts jaxlib first, whose release is a JAX's where it is installed.
func rankJAX(p Package) int {
	if p.Name == "jaxlib" {
		return 0
	}
	return 1
}

var jaxExtra = lazyregexp.New(`^cuda(\d*)(?:[-_](?:pip|local))?$`)

// jaxLocal matches the local version of a jaxlib that carries CUDA, as all for CUDA did before 0.4.26: +cuda111,
// +cuda11.cudnn82, +cuda12.cudnn89.
var jaxLocal = lazyregexp.New(`\+cuda(\d\d)\.?(\d?)(?:\.?cudnn(\d+))?$`)

// carriedCuDNN returns the cuDNN that a jaxlib's local version names: 8.2 for +cuda11.cudnn82, 8.0.5 for cudnn805. It
// returns "" if it names none.
func carriedCuDNN(version string) string {
	if m := jaxLocal.FindStringSubmatch(version); m != nil {
		return strings.Join(strings.Split(m[3], ""), ".")
	}
	return ""
}

// jaxFor returns what a jax or jaxlib is built for, if it shows more than is known. One from an address, or from a page
// of links to both CUDA and CPU wheels, may be either.
func (p Package) jaxFor(accelerator, cuda string) (string, string) {
	if m := jaxLocal.FindStringSubmatch(p.Version); m != nil {
		return "cuda", strings.TrimSuffix(m[1]+"."+m[2], ".")
	}
	if accelerator == "cpu" && (p.Direct || p.Index == "") {
		return "", cuda
	}
	return accelerator, cuda
}

// jaxBuild returns the JAX of a file: for CUDA where a plugin, an extra or jaxlib's local version says so, else for CPUs. Of two
// plugins JAX takes the one for the newer CUDA.
func jaxBuild(list []Package) (b facts.Build, ok bool) {
	b = facts.Build{Name: "jax", Accelerator: "cpu", Origin: "wheel", Index: DefaultIndex}
	for _, p := range list {
		switch plugin := distname.JAXPlugin.FindStringSubmatch(p.Name); {
		case plugin != nil:
			b.Accelerator, b.CUDA = "cuda", max(b.CUDA, plugin[1])
		case p.Name != "jax" && p.Name != "jaxlib":
			continue
		}
		ok = true
		b.Version, b.Specifier, b.From = cmp.Or(b.Version, p.Version), cmp.Or(b.Specifier, p.Specifier),
			cmp.Or(b.From, p.From)
		b.Accelerator, b.CUDA = p.jaxFor(b.Accelerator, b.CUDA)
		b.CuDNN = cmp.Or(b.CuDNN, carriedCuDNN(p.Version))
		if p.Origin != "" {
			b.Origin, b.Index = p.Origin, ""
			b.Accelerator, b.CUDA = cmp.Or(p.Accelerator, b.Accelerator), cmp.Or(p.CUDA, b.CUDA)
		}
		for _, extra := range p.Extras {
			if m := jaxExtra.FindStringSubmatch(extra); m != nil {
				b.Accelerator, b.CUDA = "cuda", max(b.CUDA, m[1])
				b.Extras = append(b.Extras, extra)
			}
		}
	}
	if b.Version != "" {
		b.Specifier = ""
	}
	return b, ok
}
