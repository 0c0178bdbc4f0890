package rules

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
)

// missingLibrary reports libraries that are neither where the loader looks nor in the wheels, which torch searches by
// itself. A tree at rest does not show the LD_LIBRARY_PATH of the later process, so there it needs more proof: a wheel
// that is installed and lacks its file.
func missingLibrary(m *model.Machine, b *model.Build, missing []string) []*Result {
	// No other package brings the files of the build's own package. The package is damaged, whatever LD_LIBRARY_PATH
	// is.
	if own := ownMissing(b, missing); len(own) > 0 {
		return oneFinding(incomplete(b, own))
	}
	// JAX opens NCCL late. Without any of its other libraries, the plugin does not load.
	if b.Name == "jax" && !slices.ContainsFunc(missing, func(s string) bool { return !strings.HasPrefix(s, "libnccl.") }) {
		return oneFinding(withoutCollectives(m, b, missing))
	}
	// lost are the libraries whose wheel is installed. The file was deleted, or overwritten by a wheel that was then
	// removed.
	lost := slices.DeleteFunc(slices.Clone(missing), func(library string) bool { return b.Installed(library) == nil })
	if m.Facts.System.Rest && len(lost) == 0 && len(b.CannotLoad(missing)) == 0 {
		return unknown(b.Subject, verdict.Statement("the LD_LIBRARY_PATH of the process, which must lead to "+verdict.Some(missing)))
	}
	fails := failsWithout(b, missing)
	f := verdict.Finding{Severity: verdict.Error, Subject: b.Subject, Need: strings.Join(missing, ", "),
		Source:   []string{model.LoaderSource},
		Message:  b.LostWords(missing) + ": " + fails,
		Evidence: b.EvidenceLost(missing)}
	// Install a single lost library again. Several of another release are the result of --no-deps; install the whole
	// set.
	if !hasMixedWheels(b) {
		reinstallLostWheels(b, &f, lost)
	}
	if len(lost) < len(missing) || hasMixedWheels(b) {
		f.Pins = append(f.Pins, requirementPins(m, b)...)
	}
	return oneFinding(f)
}

// reinstallLostWheels adds the pins that reinstall the wheels whose libraries are missing, and the steps that remove
// other files which the loader finds instead. pip skips a wheel whose metadata is present, so the pins force it.
func reinstallLostWheels(b *model.Build, f *verdict.Finding, lost []string) {
	var wheels []pin.Package
	for _, library := range lost {
		wheel := b.Installed(library)
		bad := b.CannotLoad([]string{library})
		// The library has another release than the build's, and lies where the build does not look.
		if file := findOffRunPath(b, library); file != "" && b.Requires[wheel.Name] != "" {
			f.Evidence = append(f.Evidence, verdict.Evidence{Fact: wheel.Name,
				Value: wheel.Version + " is installed, and has it where " + b.Name + " does not look", From: file})
			f.Pins = append(f.Pins, pins.PackagePin(b.Env, wheel.Name, b.Requires[wheel.Name])...)
			continue
		}
		if len(bad) == 0 {
			f.Evidence = append(f.Evidence, verdict.Evidence{Fact: wheel.Name,
				Value: wheel.Version + " is installed, its " + library + " is gone", From: wheel.Path})
		}
		// Reinstalling rewrites a bad file in the wheel's own directory. One in another directory must be removed.
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
		f.Pins = append(f.Pins, forcedPin(b.Place(), wheels...)...)
	}
}

// findOffRunPath returns the path of an installed library in a directory that the loader does not search for the build,
// or "" if the library is not installed.
func findOffRunPath(b *model.Build, library string) string {
	i := slices.IndexFunc(b.Beside, func(file string) bool { return path.Base(file) == library })
	if i < 0 {
		return ""
	}
	return b.Beside[i]
}

// withoutCollectives reports a missing NCCL for JAX, which opens it only when a computation spans several GPUs. With
// one GPU it is a note, because the program runs.
func withoutCollectives(m *model.Machine, b *model.Build, missing []string) verdict.Finding {
	f := verdict.Finding{Severity: verdict.Note, Subject: b.Subject, Need: verdict.Some(missing), Evidence: b.EvidenceLost(missing),
		Source: []string{
			"https://github.com/openxla/xla/blob/80c095fc2f5ba8b1e8c8b7df79c0be532416dd69/xla/tsl/cuda/nccl_stub.cc"},
		Message: b.LostWords(missing) + ": programs that use several GPUs fail"}
	if len(m.GPUs) > 1 {
		f.Severity = verdict.Warning
	}
	if b.Installed(missing[0]) != nil {
		reinstallLostWheels(b, &f, missing)
	} else {
		f.Pins = addLibraries(b)
	}
	return f
}

// failsWithout describes what happens to a build without some libraries. Libraries that are opened by name fail when
// they are used. Libraries that are linked keep the build from starting, and other rules depend on whether it starts
// (starts).
func failsWithout(b *model.Build, missing []string) string {
	opened := func(prefix string) bool {
		return !slices.ContainsFunc(missing, func(s string) bool { return !strings.HasPrefix(s, prefix) })
	}
	switch {
	// libcudnn.so.9 is there and opens its parts when they are first used.
	case opened("libcudnn_"):
		return "convolutions and other functions of cuDNN fail"
	// The plugin does not load, and JAX falls back to the CPU with a warning of its own.
	case b.Name == "jax":
		return "it runs on the CPU"
	case opened("libnvrtc"), opened("libnvJitLink") && b.Name != "torch": // whose libcusparse is linked to it
		return "code that is compiled at run time fails"
	// torch opens this library at the first call that needs it.
	case opened("libtorch_cuda_linalg."):
		return "solving equations on the GPU fails"
	}
	return doesNotStart(b)
}

// doesNotStart returns the sentence for a build that does not start. starts compares failsWithout's result with it.
func doesNotStart(b *model.Build) string { return b.Name + " does not start" }

// ownMissing returns those of the missing libraries that belong to the build's own package.
func ownMissing(b *model.Build, missing []string) []string {
	return slices.DeleteFunc(slices.Clone(missing), func(s string) bool { return !b.OwnLibrary(s) })
}

// incomplete reports that files of the build's own package are gone: an installation was interrupted, or somebody
// deleted them. It is an error also at rest, because no other package brings them.
func incomplete(b *model.Build, lost []string) verdict.Finding {
	f := verdict.Finding{Severity: verdict.Error, Subject: b.Subject, Need: verdict.Some(lost), Evidence: b.EvidenceLost(lost),
		Message: b.Name + " is incomplete: " + verdict.Some(lost) + verdict.Plural(len(lost), " is gone", " are gone"),
		Source:  []string{"https://packaging.python.org/en/latest/specifications/recording-installed-packages/"}}
	if len(b.CannotLoad(lost)) > 0 {
		f.Message = b.Name + " is damaged: " + b.LostWords(lost)
	}
	name := b.Name
	// JAX's CUDA code is in two packages beside jaxlib. The pin depends on which of them lost its file.
	if name == "jax" {
		f.Message += ": it runs on the CPU"
		part := map[bool]string{true: "pjrt", false: "plugin"}[lost[0] == "xla_cuda_plugin.so"]
		name = fmt.Sprintf("jax-cuda%d-%s", b.CUDANumber.Major(), part)
		if b.Env.Package(name) == nil {
			f.Pins = addLibraries(b)
			return f
		}
	}
	installed := b.Version
	if p := b.Env.Package(name); p != nil {
		installed = p.Version // without a local version it came from the default index
	}
	index := "" // a release with a local version is on PyTorch's index of that variant and not on PyPI
	if _, local, found := strings.Cut(installed, "+"); found {
		index = pins.TorchIndex(local)
	}
	f.Pins = forcedPinFrom(b.Env, index, pin.Package{Package: name, Version: installed})
	return f
}

// addLibraries installs the packages that the build requires. pip and uv check the requirements of an installed
// package, too. The release stays the same, so nothing that works is replaced.
func addLibraries(b *model.Build) []verdict.Pin {
	own := distribution(b)
	return []verdict.Pin{{Package: own.Package, Version: own.Version, Why: "adds the CUDA libraries as wheels; keeps the driver",
		Commands: pins.Install(b.Place(), pin.Install{Packages: []string{own.Spec()}})}}
}

// distribution returns the build's own package in its installed release, with the extra that brings the CUDA libraries.
func distribution(b *model.Build) pin.Package {
	p := pin.Package{Package: b.Name, Version: b.Version}
	if installed := b.Env.Package(b.Name); installed != nil {
		p.Version = installed.Version
	}
	switch b.Name {
	case "jax":
		p.Package = fmt.Sprintf("jax[cuda%d]", b.CUDANumber.Major())
	case "numba-cuda":
		p.Package = fmt.Sprintf("numba-cuda[cu%d]", b.CUDANumber.Major())
	}
	return p
}

// forcedPin returns a pin that reinstalls wheels whose files are damaged or missing. pip considers such a wheel
// installed, so the command uses --force-reinstall, and --no-deps to leave the dependencies untouched. One command
// reinstalls all wheels, because a command for one wheel would leave the others damaged.
func forcedPin(e *model.Environment, wheels ...pin.Package) []verdict.Pin {
	install := pin.Install{NoDeps: true, Again: true}
	for _, w := range wheels {
		if spec := w.Spec(); !slices.Contains(install.Packages, spec) {
			install.Packages = append(install.Packages, spec)
		}
	}
	return []verdict.Pin{{Package: wheels[0].Package, Version: wheels[0].Version, Why: "puts its files back; keeps the driver",
		Commands: pins.Install(e, install)}}
}

// forcedPinFrom returns the pin that reinstalls one wheel from the given index.
func forcedPinFrom(e *model.Environment, index string, wheel pin.Package) []verdict.Pin {
	list := forcedPin(e, wheel)
	list[0].Commands = pins.Install(e, pin.Install{Packages: []string{wheel.Spec()}, Index: index, NoDeps: true, Again: true})
	return list
}
