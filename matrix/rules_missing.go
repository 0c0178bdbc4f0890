package matrix

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"cudacompat/pin"
)

// missingLibrary: libraries are nowhere: neither where the loader looks nor in the wheels, which torch searches by
// itself. A tree at rest does not tell the LD_LIBRARY_PATH that a process will have, unless a wheel is there and its
// file is not.
func (m *machine) missingLibrary(b *build, missing []string) []*result {
	// Files of the build's own package are not to be found elsewhere: the package is damaged, whatever LD_LIBRARY_PATH
	// is.
	if own := b.ownMissing(missing); len(own) > 0 {
		return found(b.incomplete(own))
	}
	// Of JAX's libraries NCCL is opened late; any other keeps its plugin from loading.
	if b.Name == "jax" && !slices.ContainsFunc(missing, func(s string) bool { return !strings.HasPrefix(s, "libnccl.") }) {
		return found(m.withoutCollectives(b, missing))
	}
	// lost are those whose wheel is installed: its file was deleted, or overwritten by a wheel that was removed again.
	lost := slices.DeleteFunc(slices.Clone(missing), func(library string) bool { return b.installed(library) == nil })
	if m.f.System.Rest && len(lost) == 0 && len(b.unloadable(missing)) == 0 {
		return unknown(b.subject, "the LD_LIBRARY_PATH of the process, which must lead to "+some(missing))
	}
	fails := b.failsWithout(missing)
	f := Finding{Severity: Error, Subject: b.subject, Need: strings.Join(missing, ", "),
		Source:   []string{loaderSource},
		Message:  b.lostWords(missing) + ": " + fails,
		Evidence: b.evidenceLost(missing)}
	// One lost library is put back by itself. Several of another release are what --no-deps leaves: the whole set is
	// installed.
	if !b.besideOwn() {
		b.putBack(&f, lost)
	}
	if len(lost) < len(missing) || b.besideOwn() {
		f.Pins = append(f.Pins, m.required(b)...)
	}
	return found(f)
}

// putBack installs the wheels again whose libraries are lost, and removes other files that the loader finds in their
// place. pip does nothing for a wheel whose metadata is there, so the files are forced.
func (b *build) putBack(f *Finding, lost []string) {
	var wheels []pin.Package
	for _, library := range lost {
		wheel := b.installed(library)
		bad := b.unloadable([]string{library})
		// Of another release than the build's, it lies where the build does not look.
		if file := b.besides(library); file != "" && b.Requires[wheel.Name] != "" {
			f.Evidence = append(f.Evidence, Evidence{Fact: wheel.Name,
				Value: wheel.Version + " is installed, and has it where " + b.Name + " does not look", From: file})
			f.Pins = append(f.Pins, b.env.packagePin(wheel.Name, b.Requires[wheel.Name])...)
			continue
		}
		if len(bad) == 0 {
			f.Evidence = append(f.Evidence, Evidence{Fact: wheel.Name,
				Value: wheel.Version + " is installed, its " + library + " is gone", From: wheel.Path})
		}
		// A bad file in the wheel's own directory is written again; one from elsewhere has to go.
		own := len(bad) == 0
		for _, u := range bad {
			if strings.HasPrefix(u.Path, path.Dir(wheel.Path)+"/") {
				own = true
			} else {
				f.Steps = append(f.Steps, pin.Say("remove "+pin.Word(u.Path)+" from the loader's path"))
			}
		}
		if own {
			wheels = append(wheels, pin.Package{Package: wheel.Name, Version: cmp.Or(b.Requires[wheel.Name], wheel.Version)})
		}
	}
	if len(wheels) > 0 {
		f.Pins = append(f.Pins, b.env.forcedPin(wheels...)...)
	}
}

// besides is where a library lies that the loader does not find for the build; empty where it is nowhere.
func (b *build) besides(library string) string {
	i := slices.IndexFunc(b.Beside, func(file string) bool { return path.Base(file) == library })
	if i < 0 {
		return ""
	}
	return b.Beside[i]
}

// withoutCollectives: JAX opens NCCL when a computation spans several GPUs, and not before. With one GPU it is a note:
// that program runs.
func (m *machine) withoutCollectives(b *build, missing []string) Finding {
	f := Finding{Severity: Note, Subject: b.subject, Need: some(missing), Evidence: b.evidenceLost(missing),
		Source: []string{
			"https://github.com/openxla/xla/blob/80c095fc2f5ba8b1e8c8b7df79c0be532416dd69/xla/tsl/cuda/nccl_stub.cc"},
		Message: b.lostWords(missing) + ": programs that use several GPUs fail"}
	if len(m.gpus) > 1 {
		f.Severity = Warning
	}
	if b.installed(missing[0]) != nil {
		b.putBack(&f, missing)
	} else {
		f.Pins = b.withLibraries()
	}
	return f
}

// failsWithout is what becomes of a build without some libraries. Those that are opened by name are felt when they are
// used; those that are linked keep the build from starting. Whether it starts decides what else is broken (starts).
func (b *build) failsWithout(missing []string) string {
	opened := func(prefix string) bool {
		return !slices.ContainsFunc(missing, func(s string) bool { return !strings.HasPrefix(s, prefix) })
	}
	switch {
	// libcudnn.so.9 is there and opens its parts when they are first used.
	case opened("libcudnn_"):
		return "convolutions and other functions of cuDNN fail"
	// Its plugin does not load then, and JAX falls back with a warning of its own.
	case b.Name == "jax":
		return "it runs on the CPU"
	case opened("libnvrtc"), opened("libnvJitLink") && b.Name != "torch": // whose libcusparse is linked to it
		return "code that is compiled at run time fails"
	// torch opens this library of its own at the first call that needs it.
	case opened("libtorch_cuda_linalg."):
		return "solving equations on the GPU fails"
	}
	return b.doesNotStart()
}

// doesNotStart is compared with failsWithout's answer, too (starts).
func (b *build) doesNotStart() string { return b.Name + " does not start" }

// ownMissing are the libraries among those missing that the build's own package brings.
func (b *build) ownMissing(missing []string) []string {
	return slices.DeleteFunc(slices.Clone(missing), func(s string) bool { return !b.ownLibrary(s) })
}

// incomplete: files of the build's own package are gone, so an installation stopped half-way or somebody deleted them.
// An error at rest, too: they are found nowhere else.
func (b *build) incomplete(lost []string) Finding {
	f := Finding{Severity: Error, Subject: b.subject, Need: some(lost), Evidence: b.evidenceLost(lost),
		Message: b.Name + " is incomplete: " + some(lost) + plural(len(lost), " is gone", " are gone"),
		Source:  []string{"https://packaging.python.org/en/latest/specifications/recording-installed-packages/"}}
	if len(b.unloadable(lost)) > 0 {
		f.Message = b.Name + " is damaged: " + b.lostWords(lost)
	}
	name := b.Name
	// JAX's code for CUDA is two packages beside jaxlib; which one lost its file decides the pin.
	if name == "jax" {
		f.Message += ": it runs on the CPU"
		part := map[bool]string{true: "pjrt", false: "plugin"}[lost[0] == "xla_cuda_plugin.so"]
		name = fmt.Sprintf("jax-cuda%d-%s", b.cuda.Major(), part)
		if b.env.Package(name) == nil {
			f.Pins = b.withLibraries()
			return f
		}
	}
	installed := b.Version
	if p := b.env.Package(name); p != nil {
		installed = p.Version // without a local version it came from the default index
	}
	index := "" // a release with a local version is on PyTorch's index of that variant and not on PyPI
	if _, local, found := strings.Cut(installed, "+"); found {
		index = torchIndex(local)
	}
	f.Pins = b.env.forcedPinFrom(index, pin.Package{Package: name, Version: installed})
	return f
}

// withLibraries installs what the build asks for beside it: pip and uv look at the requirements of what is there, too.
// The release stays the same, so nothing that works is replaced.
func (b *build) withLibraries() []Pin {
	own := b.distribution()
	return []Pin{{Package: own.Package, Version: own.Version, Why: "adds the CUDA libraries as wheels; keeps the driver",
		Commands: b.env.install(pin.Install{Packages: []string{own.Spec()}})}}
}

// distribution is the build's own one of the release that is installed, with the extra that asks for CUDA's libraries.
func (b *build) distribution() pin.Package {
	p := pin.Package{Package: b.Name, Version: b.Version}
	if installed := b.env.Package(b.Name); installed != nil {
		p.Version = installed.Version
	}
	switch b.Name {
	case "jax":
		p.Package = fmt.Sprintf("jax[cuda%d]", b.cuda.Major())
	case "numba-cuda":
		p.Package = fmt.Sprintf("numba-cuda[cu%d]", b.cuda.Major())
	}
	return p
}

// forcedPin writes the files of wheels again, where pip would say that they are installed already: all of them at once,
// because each by itself leaves the rest as it is. --no-deps, or it would write every wheel below them again, too.
func (e *environment) forcedPin(wheels ...pin.Package) []Pin {
	install := pin.Install{NoDeps: true, Again: true}
	for _, w := range wheels {
		if spec := w.Spec(); !slices.Contains(install.Packages, spec) {
			install.Packages = append(install.Packages, spec)
		}
	}
	return []Pin{{Package: wheels[0].Package, Version: wheels[0].Version, Why: "puts its files back; keeps the driver",
		Commands: e.install(install)}}
}

// forcedPinFrom is forcedPin of one wheel from an index.
func (e *environment) forcedPinFrom(index string, wheel pin.Package) []Pin {
	pins := e.forcedPin(wheel)
	pins[0].Commands = e.install(pin.Install{Packages: []string{wheel.Spec()}, Index: index, NoDeps: true, Again: true})
	return pins
}
