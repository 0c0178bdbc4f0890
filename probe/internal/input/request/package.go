// Package request turns the packages that a file names into facts: builds, packages and requests.
package request

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
	"cudacompat/probe/internal/input/document"
)

// Package is one package that a requirements file or a lock names.
type Package struct {
	Name      string
	Extras    []string
	Version   string            // the exact one; empty when the file leaves a choice
	Specifier string            // what it asks for instead, ">=2.5"
	Index     string            // as Build.Index
	Wheels    []string          // file names
	Markers   []string          // any of which must be true
	Needed    func(h Host) bool // whether what needs it is installed there; nil: it is
	Direct    bool              // an address stands in place of an index
	NoDeps    bool              // what it needs is not installed: --no-deps
	Overrides bool              // it replaces what other packages require of it
	From      string            // "line 3", "package torch"

	IndexCUDA string // as facts.Requested.IndexCUDA

	// what conda's builds tell beside the version
	CUDA, Accelerator, Origin string
}

// Facts returns the builds that a file's packages would install, in one environment, or in one for each fork. left
// lists what the file refers to and was not read.
func Facts(kind string, list []Package, left []facts.Unread) facts.Facts {
	f := facts.Facts{Unread: left, Environments: Environments(kind, "", list)}
	f.System.Arch = archOf(list)
	if len(f.Environments) == 1 {
		f.Environments[0].Active = true
	}
	return f
}

// Environments returns the environments that a file's packages, or one of its extras, would make on different Pythons.
// It returns none if no package matters.
func Environments(kind, part string, list []Package) []facts.Environment {
	var environments []facts.Environment
	for _, f := range forks(ForOneMachine(list)) {
		env := Environment(kind, f.list)
		if len(env.Builds)+len(env.Packages)+len(env.Requested) == 0 {
			continue
		}
		env.Pythons = f.specifiers()
		env.Path = strings.Trim(part+", "+f.label(), ", ")
		environments = append(environments, env)
	}
	return environments
}

// resolvedTogether lists the kinds of file whose packages an installer resolves together. It refuses such a file if two
// of its packages exclude each other. A lock or a list may have got past that with an override or --no-deps.
var resolvedTogether = []string{"requirements", "pyproject.toml"}

// broughtByTorch lists what each release of PyTorch since 2.0 requires on every system.
var broughtByTorch = []string{"filelock", "fsspec", "jinja2", "networkx", "sympy", "typing-extensions"}

// isRecord reports whether a list records an environment, as `pip freeze` does. Nobody else pins all that torch brings.
// Such an environment exists, whatever an installer thinks of it.
func isRecord(list []Package) bool {
	pinned := map[string]bool{}
	for _, p := range list {
		pinned[p.Name] = pinned[p.Name] || p.Version != ""
	}
	return !slices.ContainsFunc(broughtByTorch, func(name string) bool { return !pinned[name] })
}

// Environment returns what packages make that are installed together.
func Environment(kind string, list []Package) facts.Environment {
	env := facts.Environment{Kind: kind}
	required := slices.Contains(resolvedTogether, kind) && !isRecord(list)
	met := map[string]facts.Build{} // by package
	for _, p := range list {
		if !p.Linux() && !p.Direct { // a line that names one wheel is judged by it
			continue
		}
		if distname.Companions.Match(p.Name) && p.Version != "" {
			env.Packages = append(env.Packages, facts.Package{Name: p.Name, Version: p.Full(),
				Pinned: required && len(p.Markers) == 0 && !p.Overrides && !p.NoDeps})
		}
		switch b, ok := p.build(); {
		case p.Name == "python":
			env.Python = document.LeadVersion.FindString(p.Version + strings.TrimLeft(p.Specifier, "=~"))
		case ok && same(met[p.Name], b):
		case ok:
			env.Builds = append(env.Builds, b)
			met[p.Name] = b
		case !distname.JAXPart.MatchString(p.Name):
			env.Requested = append(env.Requested, p.wanted())
		}
	}
	if b, ok := jaxBuild(list); ok {
		env.Builds = append(env.Builds, b)
	}
	return env
}

// same reports whether two lines of a file say the same of a framework, as generated ones do.
func same(a, b facts.Build) bool {
	a.From = b.From
	return reflect.DeepEqual(a, b)
}

// wanted returns the package as a fact of its own, where it is no framework.
func (p Package) wanted() facts.Requested {
	return facts.Requested{Name: p.Name, Version: p.Version, Specifier: p.Specifier, Extras: p.Extras, Index: p.Index,
		IndexCUDA: p.IndexCUDA, CUDA: p.CUDA, Accelerator: p.Accelerator, Origin: p.Origin, Wheel: p.directWheel(), NoDeps: p.NoDeps, From: p.From}
}

// directWheel returns the wheel that a line names by its address: no other will be installed in its place.
func (p Package) directWheel() string {
	if !p.Direct || len(p.Wheels) != 1 {
		return ""
	}
	return p.Wheels[0]
}

// linuxWheel matches the end of a wheel for Linux on one architecture.
var linuxWheel = lazyregexp.New(`linux\w*_(x86_64|aarch64)\.whl$`)

// directArch returns the architecture of the wheel that a line names by its address, or "".
func (p Package) directArch() string {
	if m := linuxWheel.FindStringSubmatch(p.directWheel()); m != nil {
		return m[1]
	}
	return ""
}

// archOf returns the architecture of the wheels that lines name by their addresses, or "" if there are none or if they
// differ. A line with a marker may be for another machine.
func archOf(list []Package) string {
	arch := ""
	for _, p := range list {
		switch of := p.directArch(); {
		case of == "":
		case len(p.Markers) > 0, arch != "" && arch != of:
			return ""
		default:
			arch = of
		}
	}
	return arch
}

// Linux reports whether a package has something for Linux: a lock lists the wheels of every platform.
func (p Package) Linux() bool {
	return len(p.Wheels) == 0 || slices.ContainsFunc(p.Wheels, func(name string) bool {
		return strings.Contains(name, "linux") || strings.HasSuffix(name, "-any.whl")
	})
}

// Full returns the version with the local one that PyTorch's index of a variant gives it; every build there has one.
func (p Package) Full() string {
	if p.Version == "" || p.Index == "" || p.Index == DefaultIndex || strings.Contains(p.Version, "+") ||
		!withLocalVersion.MatchString(p.Name) {
		return p.Version
	}
	return p.Version + "+" + p.Index
}

// withLocalVersion are the packages that PyTorch's indexes have under a local version.
var withLocalVersion = lazyregexp.New(`^torch(vision|audio)?$`)

// build returns the framework that a package is. ok is false if it is none. JAX consists of several packages.
func (p Package) build() (b facts.Build, ok bool) {
	b = facts.Build{Version: p.Full(), Specifier: p.Specifier, Origin: cmp.Or(p.Origin, "wheel"), Index: p.Index,
		CUDA: p.CUDA, Accelerator: p.Accelerator, Arch: p.directArch(), From: p.From}
	switch p.Name {
	case "torch":
		b.Name = "torch"
		if b.Version == "" && p.Origin == "" {
			b.Accelerator, b.CUDA = variantCUDA(p.Index)
		}
	case "tensorflow", "tensorflow-gpu":
		b.Name, b.Extras = "tensorflow", p.Extras
	case "tensorflow-cpu":
		b.Name, b.Accelerator = "tensorflow", "cpu"
	default:
		return b, false
	}
	return b, true
}

// variantCUDA returns the accelerator and CUDA of an index with one variant, which holds for every release on it.
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

// IndexCUDA returns the CUDA of an index of one variant, "12.6" of "cu126"; empty of any other index.
func IndexCUDA(index string) string {
	_, cuda := variantCUDA(index)
	return cuda
}

// DefaultIndex is Build.Index of the installer's own index, or of a mirror of it.
const DefaultIndex = "default"

var VariantDir = lazyregexp.New(`^(cu\d{2,3}|cpu|xpu|rocm\d+(\.\d+)*)$`)

// IndexOf returns the Build.Index of one index address: the variant at its end, or the default for one that serves the
// simple API of every package; empty for any other.
func IndexOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	switch last := path.Base(strings.TrimRight(u.Path, "/")); {
	case VariantDir.MatchString(last):
		return last
	case last == "simple":
		return DefaultIndex
	}
	return ""
}

// addressCUDA matches the part of an address that names a CUDA: "/cu124", "/cu126/", "-cuda-11/".
var addressCUDA = lazyregexp.New(`(?:^|[/._-])cu(?:da-?)?(\d{2})(\d)?(?:[/._-]|$)`)

// ServedCUDA returns the CUDA of the builds that an index has of a package: the one in its address, if the address has
// the package's name too; empty otherwise. An index that is named for one of its packages may have others beside it.
func ServedCUDA(address, name string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	project := strings.TrimSuffix(strings.TrimSuffix(name, "-gpu"), "-python")
	where := distname.Normal(u.Host + u.Path)
	if m := addressCUDA.FindStringSubmatch(u.Path); m != nil && len(project) > 2 && strings.Contains(where, project) {
		return strings.TrimSuffix(m[1]+"."+m[2], ".")
	}
	return ""
}

// WheelFile returns the file name of a wheel's address, its escapes undone; empty for anything else.
func WheelFile(address string) string {
	address, _, _ = strings.Cut(address, "#")
	name, err := url.PathUnescape(path.Base(address))
	if err != nil || !strings.HasSuffix(name, ".whl") {
		return ""
	}
	return name
}

var exactPin = lazyregexp.New(`^===?\s*([A-Za-z0-9.+!_-]+)$`)

// frameworkName matches packages whose releases all have three parts, and shortRelease a release with two: torch==2.7
// is 2.7.0.
var (
	frameworkName = lazyregexp.New(`^(?:torch(?:vision|audio)?|tensorflow(?:-gpu|-cpu)?|jax(?:lib)?)$`)
	shortRelease  = lazyregexp.New(`^(\d+\.\d+)($|\+)`)
)

// Take sets the version: from a wheel's address, or from the specifiers, of which only a single one can be exact.
func (p *Package) Take(address, specifiers string) {
	if address != "" {
		p.Direct = true
		if name := WheelFile(address); name != "" {
			p.Wheels = []string{name}
			if parts := strings.SplitN(name, "-", 3); len(parts) == 3 {
				p.Version = parts[1]
			}
		}
		switch {
		case p.Version == "":
			p.Specifier = "(from an address)"
		case !strings.Contains(p.Version, "+"): // every build of PyTorch's indexes has a local version
			p.Index = DefaultIndex
		}
		return
	}
	for s := range strings.SplitSeq(specifiers, ",") {
		if m := exactPin.FindStringSubmatch(strings.TrimSpace(s)); m != nil {
			p.Version = m[1]
			if frameworkName.MatchString(p.Name) {
				p.Version = shortRelease.ReplaceAllString(p.Version, "$1.0$2")
			}
			return
		}
	}
	p.Specifier = strings.ReplaceAll(specifiers, " ", "")
	if p.Specifier == "" {
		p.Specifier = facts.Unspecified
	}
}
