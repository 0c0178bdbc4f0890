package matrix

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/version"
	"cudacompat/pin"
	"cudacompat/probe/facts"
)

// loaderSource says how the loader searches.
const loaderSource = "https://man7.org/linux/man-pages/man8/ld.so.8.html"

// library is the CUDA library that a build will take: its version, the CUDA that it is for, and where it lies.
type library struct {
	version, cuda version.Number // its own, and that of the CUDA it was built for
	wheel         string         // the wheel to pin instead, "nvidia-cudnn-cu12"
	from, reason  string         // where its version was read, and why the loader takes it
}

// takes finds the cuDNN or NCCL that the build will take: what the loader maps, where the facts say, else the wheel
// beside the build, which its own run path leads to. False when neither is known.
func (b *build) takes(name string) (library, bool) {
	l := library{wheel: fmt.Sprintf("nvidia-%s-cu%d", name, b.cuda.Major())}
	files := []string{"lib" + name + ".so"}
	if name == "cudnn" { // where a part is taken from elsewhere, it is the part that says which cuDNN this is
		files = []string{"libcudnn_graph.so", "libcudnn_ops_infer.so", "libcudnn.so"}
	}
	for _, file := range files {
		i := slices.IndexFunc(b.taken, func(t taken) bool { return strings.HasPrefix(t.Name, file) })
		if i >= 0 {
			t := b.taken[i]
			l.version, l.cuda, l.from, l.reason = t.version, t.cuda, t.Path, t.Reason
			return l, l.version.Known()
		}
	}
	if slices.ContainsFunc(b.Missing, func(s string) bool { return strings.HasPrefix(s, "lib"+name+".so") }) {
		return l, false // the wheel that is there is of another release, or empty
	}
	wheel := b.env.Package(l.wheel)
	if wheel == nil && b.cuda.Major() >= 13 {
		wheel = b.env.Package("nvidia-" + name) // from CUDA 13 on most of NVIDIA's wheels have no suffix
	}
	if wheel == nil && name == "cudnn" {
		wheel = b.resolved
	}
	if wheel == nil || len(b.env.twins(name)) > 1 {
		return l, false
	}
	l.version, l.cuda, l.from = wheel.version, b.cuda, wheel.Path
	return l, l.version.Known()
}

// evidence is the library as evidence, with the reason why the loader takes it.
func (l library) evidence(fact string) Evidence {
	e := Evidence{Fact: fact, Value: l.version.String(), From: l.from}
	if l.reason != "" {
		e.From += ", taken by " + l.reason
	}
	return e
}

// asks is the range of a package's versions that the release's row asks for, ">=9.8,<10.0" or "=8.9.4.25"; empty when
// it names none.
func (b *build) asks(name string) string {
	for _, r := range b.rows {
		if asked := r.asks(name); asked != "" {
			return asked
		}
	}
	return ""
}

// packagePin is the pin of one wheel that nothing else depends on.
func (e *environment) packagePin(name, version string) []Pin {
	spec := name + version
	if !strings.ContainsAny(version[:1], "<>=") {
		spec = name + "==" + version
	}
	return []Pin{{Package: name, Version: version, Why: "what the build was made with; keeps the driver",
		Commands: e.install(pin.Install{Packages: []string{spec}, NoDeps: true})}}
}

// installed is the wheel that should have a library.
func (b *build) installed(library string) *installed {
	for _, wheel := range b.wheelsOf(library) {
		if p := b.env.Package(wheel); p != nil && holdsLibrary(p, library) {
			return p
		}
	}
	return nil
}

// holdsLibrary reports whether a wheel's release can have a library: cuDNN 8 has no libcudnn.so.9, nor 9 the other.
func holdsLibrary(p *installed, library string) bool {
	stem, major, _ := strings.Cut(library, ".so.")
	return !strings.HasPrefix(stem, "libcudnn") || version.Int(major) == p.version.Major()
}

// shadowed reports whether a library lies outside the directory where the build is installed.
func (b *build) shadowed(l library) bool {
	return l.reason != "" && !strings.HasPrefix(l.from, path.Dir(b.Path)+"/")
}

// mixedCuDNN finds parts of cuDNN that are taken from different releases, which refuse each other. The front library,
// libcudnn.so.9, asks nothing of them.
func (b *build) mixedCuDNN(f *Finding) bool {
	var first *taken
	for i, part := range b.taken {
		v := part.version
		if !strings.HasPrefix(part.Name, "libcudnn_") || !v.Known() {
			continue
		}
		if first == nil {
			first = &b.taken[i]
		}
		if sameShort(v, first.version) {
			continue
		}
		foreign := part
		if !strings.HasPrefix(first.Path, path.Dir(b.Path)+"/") {
			foreign = *first
		}
		f.Severity, f.Need = Error, "all parts of one cuDNN"
		f.Message = fmt.Sprintf("%s is taken of cuDNN %s, and %s of %s: parts of different releases refuse each other",
			first.Name, first.Version, part.Name, v)
		for _, t := range []taken{*first, part} {
			f.Evidence = append(f.Evidence, Evidence{Fact: t.Name, Value: t.Version, From: t.Path + ", taken by " + t.Reason})
		}
		f.Steps = []pin.Step{pin.Say(removal(foreign.Path, foreign.Reason))}
		return true
	}
	return false
}

// nowhere are the CUDA libraries that a build of wheels needs and that the loader finds nowhere. Builds of other
// origins have theirs from elsewhere; TensorFlow's are tensorflow-cuda-libs', and extensions' are extension-mismatch's.
func (b *build) nowhere() []string {
	if b.Extension || !b.official() || !b.Looked {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(b.Missing), func(s string) bool {
		return !b.ownLibrary(s) && (b.Name == "tensorflow" || !strings.HasPrefix(s, "lib") || !b.wants(s) && !slices.Contains(b.Linked, s))
	})
}

// ownLibraries are how the names of files begin that a framework's own packages bring. They are the frameworks' own
// names for themselves, alike in every release, and say no more than which rule speaks of a file.
var ownLibraries = map[string][]string{
	"torch":      {"torch/", "libtorch", "libc10", "libcaffe2"},
	"tensorflow": {"libtensorflow", "_pywrap_tensorflow"},
	"jax":        {"xla_cuda_plugin", "jax_cuda"},
}

// ownLibrary reports whether a library is of the framework's own packages.
func (b *build) ownLibrary(library string) bool {
	return slices.ContainsFunc(ownLibraries[b.Name], func(start string) bool { return strings.HasPrefix(library, start) })
}

// unloadable are the files of libraries that the loader does not take.
func (b *build) unloadable(libraries []string) []facts.Unloadable {
	return slices.DeleteFunc(slices.Clone(b.Unloadable), func(u facts.Unloadable) bool {
		return !slices.Contains(libraries, u.Name)
	})
}

// evidenceLost are libraries that a build does not get, and why the files that are there are none.
func (b *build) evidenceLost(libraries []string) []Evidence {
	list := append(b.evidence(), Evidence{Fact: "missing libraries", Value: strings.Join(libraries, " "), From: b.Path})
	for _, u := range b.unloadable(libraries) {
		list = append(list, Evidence{Fact: u.Name, Value: "a file that cannot be loaded (" + u.Reason + ")", From: u.Path})
	}
	return list
}

// wants reports whether the build's own wheels would bring a library.
func (b *build) wants(library string) bool {
	return slices.ContainsFunc(b.wheelsOf(library), func(wheel string) bool {
		return b.Requires[wheel] != "" || b.asks(wheel) != "" || b.env.Package(wheel) != nil
	}) || b.Requires["cuda-toolkit"] != ""
}

// wheelsOf are the names that the wheel with a library may have: from CUDA 13 on most have no suffix.
func (b *build) wheelsOf(library string) []string {
	middle := b.env.t.WheelOf(library, b.cuda)
	wheels := []string{fmt.Sprintf("nvidia-%s-cu%d", middle, b.cuda.Major())}
	if b.cuda.Major() >= 13 { // since when most of NVIDIA's wheels have no suffix
		wheels = append(wheels, "nvidia-"+middle)
	}
	return wheels
}

// sameShort compares the first two parts, and the third where both have one.
func sameShort(v, w version.Number) bool {
	return v.Short() == w.Short() && (v.Parts() < 3 || w.Parts() < 3 || v.SamePatch(w))
}

// familySuffix is the CUDA family in the name of one of NVIDIA's wheels, "-cu12".
var familySuffix = lazyregexp.New(`-cu(\d+)$`)
