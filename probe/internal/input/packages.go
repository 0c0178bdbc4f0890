package input

import (
	"cmp"
	"net/url"
	"path"
	"reflect"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/internal/distname"
)

// lockedRelease is one package that a requirements file or a lock names.
type lockedRelease struct {
	name      string
	extras    []string
	version   string            // the exact one; empty when the file leaves a choice
	specifier string            // what it asks for instead, ">=2.5"
	index     string            // as Build.Index
	wheels    []string          // file names
	markers   []string          // any of which must be true
	needed    func(h host) bool // whether what needs it is installed there; nil: it is
	direct    bool              // an address stands in place of an index
	from      string            // "line 3", "package torch"

	// what conda's builds tell beside the version
	cuda, accelerator, origin string
}

// lockedFacts are the builds that a file's packages would install, in one environment that counts, or in one for each
// fork; left is what the file refers to and was not read.
func lockedFacts(kind string, list []lockedRelease, left []facts.Unread) facts.Facts {
	f := facts.Facts{Unread: left, Environments: lockedEnvironments(kind, "", list)}
	if len(f.Environments) == 1 {
		f.Environments[0].Active = true
	}
	return f
}

// lockedEnvironments are what a file's packages, or one of its extras, would make on different Pythons; nothing where
// no package is worth knowing.
func lockedEnvironments(kind, part string, list []lockedRelease) []facts.Environment {
	var environments []facts.Environment
	for _, f := range forks(forOneMachine(list)) {
		env := lockedEnvironment(kind, f.list)
		if len(env.Builds)+len(env.Packages)+len(env.Requested) == 0 {
			continue
		}
		env.Pythons = f.specifiers()
		env.Path = strings.Trim(part+", "+f.label(), ", ")
		environments = append(environments, env)
	}
	return environments
}

// lockedEnvironment is what packages make that are installed together.
func lockedEnvironment(kind string, list []lockedRelease) facts.Environment {
	env := facts.Environment{Kind: kind}
	met := map[string]facts.Build{} // by package
	for _, p := range list {
		if !p.linux() {
			continue
		}
		if distname.Companions.Match(p.name) && p.version != "" {
			env.Packages = append(env.Packages, facts.Package{Name: p.name, Version: p.full()})
		}
		switch b, ok := p.build(); {
		case p.name == "python":
			env.Python = leadVersion.FindString(p.version + strings.TrimLeft(p.specifier, "=~"))
		case ok && same(met[p.name], b):
		case ok:
			env.Builds = append(env.Builds, b)
			met[p.name] = b
		case !distname.JAXPart.MatchString(p.name):
			env.Requested = append(env.Requested, p.wanted())
		}
	}
	if b, ok := lockedJAX(list); ok {
		env.Builds = append(env.Builds, b)
	}
	return env
}

// same reports whether two lines of a file say the same of a framework, as generated ones do.
func same(a, b facts.Build) bool {
	a.From = b.From
	return reflect.DeepEqual(a, b)
}

// wanted is the package as a fact of its own, where it is no framework.
func (p lockedRelease) wanted() facts.Requested {
	return facts.Requested{Name: p.name, Version: p.version, Specifier: p.specifier, Extras: p.extras, Index: p.index,
		CUDA: p.cuda, Accelerator: p.accelerator, Origin: p.origin, From: p.from}
}

// linux reports whether a package has something for Linux: a lock lists the wheels of every platform.
func (p lockedRelease) linux() bool {
	return len(p.wheels) == 0 || slices.ContainsFunc(p.wheels, func(name string) bool {
		return strings.Contains(name, "linux") || strings.HasSuffix(name, "-any.whl")
	})
}

// full is the version with the local one that PyTorch's index of a variant gives it; every build there has one.
func (p lockedRelease) full() string {
	if p.version == "" || p.index == "" || p.index == defaultIndex || strings.Contains(p.version, "+") ||
		!withLocalVersion.MatchString(p.name) {
		return p.version
	}
	return p.version + "+" + p.index
}

// withLocalVersion are the packages that PyTorch's indexes have under a local version.
var withLocalVersion = lazyregexp.New(`^torch(vision|audio)?$`)

// build is the framework that a package is, ok is false when it is none. JAX's is in several packages.
func (p lockedRelease) build() (b facts.Build, ok bool) {
	b = facts.Build{Version: p.full(), Specifier: p.specifier, Origin: cmp.Or(p.origin, "wheel"), Index: p.index,
		CUDA: p.cuda, Accelerator: p.accelerator, From: p.from}
	switch p.name {
	case "torch":
		b.Name = "torch"
		if b.Version == "" && p.origin == "" {
			b.Accelerator, b.CUDA = variantCUDA(p.index)
		}
	case "tensorflow", "tensorflow-gpu":
		b.Name, b.Extras = "tensorflow", p.extras
	case "tensorflow-cpu":
		b.Name, b.Accelerator = "tensorflow", "cpu"
	default:
		return b, false
	}
	return b, true
}

// variantCUDA is what an index of one variant holds: whatever the release, it is of that CUDA.
func variantCUDA(index string) (accelerator, cuda string) {
	switch digits, isCUDA := strings.CutPrefix(index, "cu"); {
	case isCUDA && len(digits) > 1:
		return "cuda", digits[:len(digits)-1] + "." + digits[len(digits)-1:]
	case index == "cpu" || index == "xpu":
		return index, ""
	case strings.HasPrefix(index, "rocm"):
		return "rocm", ""
	}
	return "", ""
}

var jaxExtra = lazyregexp.New(`^cuda(\d*)(?:[-_](?:pip|local))?$`)

// jaxLocal matches the local version of a jaxlib that carries CUDA, as all for CUDA did before 0.4.26: +cuda111,
// +cuda11.cudnn82, +cuda12.cudnn89.
var jaxLocal = lazyregexp.New(`\+cuda(\d\d)\.?(\d?)(?:\.?cudnn\d+)?$`)

// jaxFor says for what a jax or jaxlib is built, where it tells more than is known. One from an address, or from a page
// of links, on which those for CUDA stand beside those for CPUs, may be either.
func (p lockedRelease) jaxFor(accelerator, cuda string) (string, string) {
	if m := jaxLocal.FindStringSubmatch(p.version); m != nil {
		return "cuda", strings.TrimSuffix(m[1]+"."+m[2], ".")
	}
	if accelerator == "cpu" && (p.direct || p.index == "") {
		return "", cuda
	}
	return accelerator, cuda
}

// lockedJAX is the JAX of a file: for CUDA where a plugin, an extra or jaxlib's local version says so, else for CPUs. Of two
// plugins JAX takes the one for the newer CUDA.
func lockedJAX(list []lockedRelease) (b facts.Build, ok bool) {
	b = facts.Build{Name: "jax", Accelerator: "cpu", Origin: "wheel", Index: defaultIndex}
	for _, p := range list {
		switch plugin := distname.JAXPlugin.FindStringSubmatch(p.name); {
		case plugin != nil:
			b.Accelerator, b.CUDA = "cuda", max(b.CUDA, plugin[1])
		case p.name != "jax" && p.name != "jaxlib":
			continue
		}
		ok = true
		b.Version, b.Specifier, b.From = cmp.Or(b.Version, p.version), cmp.Or(b.Specifier, p.specifier),
			cmp.Or(b.From, p.from)
		b.Accelerator, b.CUDA = p.jaxFor(b.Accelerator, b.CUDA)
		if p.origin != "" {
			b.Origin, b.Index = p.origin, ""
			b.Accelerator, b.CUDA = cmp.Or(p.accelerator, b.Accelerator), cmp.Or(p.cuda, b.CUDA)
		}
		for _, extra := range p.extras {
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

// defaultIndex is Build.Index of the installer's own index, or of a mirror of it.
const defaultIndex = "default"

var variantDir = lazyregexp.New(`^(cu\d{2,3}|cpu|xpu|rocm\d+(\.\d+)*)$`)

// indexOf is Build.Index of one index address: the variant at its end, or the default for one that serves the simple
// API of every package; empty for any other.
func indexOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	switch last := path.Base(strings.TrimRight(u.Path, "/")); {
	case variantDir.MatchString(last):
		return last
	case last == "simple":
		return defaultIndex
	}
	return ""
}

// wheelFile is the file name of a wheel's address, its escapes undone; empty for anything else.
func wheelFile(address string) string {
	address, _, _ = strings.Cut(address, "#")
	name, err := url.PathUnescape(path.Base(address))
	if err != nil || !strings.HasSuffix(name, ".whl") {
		return ""
	}
	return name
}
