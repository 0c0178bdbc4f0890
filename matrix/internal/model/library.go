package model

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/version"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// LoaderSource documents how the loader searches.
const LoaderSource = "https://man7.org/linux/man-pages/man8/ld.so.8.html"

// Library is the CUDA library that a build will load: its version, the CUDA that it is for, and its path.
type Library struct {
	Version, CUDA version.Number // its own, and that of the CUDA it was built for
	Wheel         string         // the wheel to pin instead, "nvidia-cudnn-cu12"
	From, Reason  string         // where its version was read, and why the loader takes it
}

// Takes returns the cuDNN or NCCL that the build will load: the one that the loader maps, if the facts show it,
// otherwise the wheel beside the build, which its run path leads to. It returns false if neither is known.
func (b *Build) Takes(name string) (Library, bool) {
	l := Library{Wheel: fmt.Sprintf("nvidia-%s-cu%d", name, b.CUDANumber.Major())}
	files := []string{"lib" + name + ".so"}
	if name == "cudnn" { // where a part is taken from elsewhere, it is the part that says which cuDNN this is
		files = []string{"libcudnn_graph.so", "libcudnn_ops_infer.so", "libcudnn.so"}
	}
	for _, file := range files {
		i := slices.IndexFunc(b.TakenFiles, func(t Taken) bool { return strings.HasPrefix(t.Name, file) })
		if i >= 0 {
			t := b.TakenFiles[i]
			l.Version, l.CUDA, l.From, l.Reason = t.Number, t.CUDANumber, t.Path, t.Reason
			return l, l.Version.Known()
		}
	}
	if slices.ContainsFunc(b.Missing, func(s string) bool { return strings.HasPrefix(s, "lib"+name+".so") }) {
		return l, false // the wheel that is there is of another release, or empty
	}
	wheel := b.Env.Package(l.Wheel)
	if wheel == nil && b.CUDANumber.Major() >= 13 {
		wheel = b.Env.Package("nvidia-" + name) // from CUDA 13 on most of NVIDIA's wheels have no suffix
	}
	if wheel == nil && name == "cudnn" {
		wheel = b.resolved
	}
	if wheel == nil || len(b.Env.Twins(name)) > 1 {
		return l, false
	}
	l.Version, l.CUDA, l.From = wheel.Number, b.CUDANumber, wheel.Path
	return l, l.Version.Known()
}

// Evidence returns the library as evidence, with the reason why the loader takes it.
func (l Library) Evidence(fact string) verdict.Evidence {
	e := verdict.Evidence{Fact: fact, Value: l.Version.String(), From: l.From}
	if l.Reason != "" {
		e.From += ", taken by " + l.Reason
	}
	return e
}

// Asks returns the version range of a package that the release's row requires, such as ">=9.8,<10.0" or "=8.9.4.25", or
// "".
func (b *Build) Asks(name string) string {
	for _, r := range b.Rows {
		if asked := r.Asks(name); asked != "" {
			return asked
		}
	}
	return ""
}

// Installed returns the installed wheel that should contain a library.
func (b *Build) Installed(library string) *Installed {
	for _, wheel := range b.WheelsOf(library) {
		if p := b.Env.Package(wheel); p != nil && holdsLibrary(p, library) {
			return p
		}
	}
	return nil
}

// holdsLibrary reports whether a wheel's release can contain a library: cuDNN 8 has no libcudnn.so.9, and cuDNN 9 no
// libcudnn.so.8.
func holdsLibrary(p *Installed, library string) bool {
	stem, major, _ := strings.Cut(library, ".so.")
	return !strings.HasPrefix(stem, "libcudnn") || version.Int(major) == p.Number.Major()
}

// Shadowed reports whether a library is outside the directory where the build is installed.
func (b *Build) Shadowed(l Library) bool {
	return l.Reason != "" && !strings.HasPrefix(l.From, path.Dir(b.Path)+"/")
}

// Nowhere returns the CUDA libraries that a build from wheels needs and that the loader does not find. Builds of other
// origins get theirs elsewhere. tensorflow-cuda-libs handles TensorFlow's, and extension-mismatch those of extensions.
func (b *Build) Nowhere() []string {
	if b.Extension || !b.Official() || !b.Looked {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(b.Missing), func(s string) bool {
		return !b.OwnLibrary(s) && (b.Name == "tensorflow" || !strings.HasPrefix(s, "lib") || !b.wants(s) && !slices.Contains(b.Linked, s))
	})
}

// ownLibraries maps a framework to the prefixes of the library names in its own packages. The names are the same in
// every release. They only decide which rule reports a file.
var ownLibraries = map[string][]string{
	"torch":      {"torch/", "libtorch", "libc10", "libcaffe2"},
	"tensorflow": {"libtensorflow", "_pywrap_tensorflow"},
	"jax":        {"xla_cuda_plugin", "jax_cuda"},
}

// OwnLibrary reports whether a library belongs to the framework's own packages.
func (b *Build) OwnLibrary(library string) bool {
	return slices.ContainsFunc(ownLibraries[b.Name], func(start string) bool { return strings.HasPrefix(library, start) })
}

// CannotLoad returns the files of those libraries that the loader refuses.
func (b *Build) CannotLoad(libraries []string) []facts.Unloadable {
	return slices.DeleteFunc(slices.Clone(b.Unloadable), func(u facts.Unloadable) bool {
		return !slices.Contains(libraries, u.Name)
	})
}

// EvidenceLost returns the libraries that a build does not get, and what is wrong with the files that exist.
func (b *Build) EvidenceLost(libraries []string) []verdict.Evidence {
	list := append(b.Evidence(), verdict.Evidence{Fact: "missing libraries", Value: strings.Join(libraries, " "), From: b.Path})
	for _, u := range b.CannotLoad(libraries) {
		list = append(list, verdict.Evidence{Fact: u.Name, Value: "a file that cannot be loaded (" + u.Reason + ")", From: u.Path})
	}
	return list
}

// wants reports whether the build's own wheels would bring a library.
func (b *Build) wants(library string) bool {
	return slices.ContainsFunc(b.WheelsOf(library), func(wheel string) bool {
		return b.Requires[wheel] != "" || b.Asks(wheel) != "" || b.Env.Package(wheel) != nil
	}) || b.Requires["cuda-toolkit"] != ""
}

// WheelsOf returns the possible names of the wheel with a library. From CUDA 13 on most have no suffix.
func (b *Build) WheelsOf(library string) []string {
	middle := b.Env.t.WheelOf(library, b.CUDANumber)
	wheels := []string{fmt.Sprintf("nvidia-%s-cu%d", middle, b.CUDANumber.Major())}
	if b.CUDANumber.Major() >= 13 { // since when most of NVIDIA's wheels have no suffix
		wheels = append(wheels, "nvidia-"+middle)
	}
	return wheels
}

// FamilySuffix matches the CUDA major version in the name of an NVIDIA wheel, "-cu12".
var FamilySuffix = lazyregexp.New(`-cu(\d+)$`)
