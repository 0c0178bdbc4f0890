// Package library contains the rules about the CUDA libraries that a build loads: cuDNN, NCCL, cuBLAS and the others.
// Libraries may be missing, may have another release than the build needs, or may be hidden by a file that the loader
// finds first.
//
// What the loader found on disk takes precedence. For a file or a plan, the wheels that it names decide.
package library

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/internal/rules/environment"
	"cudacompat/matrix/internal/rules/rule"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
)

// missingLibrary reports libraries that are neither where the loader looks nor in the wheels, which torch searches by
// itself. A tree at rest does not show the LD_LIBRARY_PATH of the later process, so there it needs more proof: a wheel
// that is installed and lacks its file.
func missingLibrary(m *model.Machine, b *model.Build, missing []string) []*rule.Result {
	// No other package brings the files of the build's own package. The package is damaged, whatever LD_LIBRARY_PATH
	// is.
	if own := ownMissing(b, missing); len(own) > 0 {
		return rule.ReportFinding(reportIncomplete(b, own))
	}
	// JAX opens NCCL late. Without any of its other libraries, the plugin does not load.
	if b.Name == "jax" && !slices.ContainsFunc(missing, func(s string) bool { return !strings.HasPrefix(s, "libnccl.") }) {
		return rule.ReportFinding(reportMissingCollectives(m, b, missing))
	}
	// lost are the libraries whose wheel is installed. The file was deleted, or overwritten by a wheel that was then
	// removed.
	lost := slices.DeleteFunc(slices.Clone(missing), func(library string) bool { return b.Installed(library) == nil })
	if m.Facts.System.Rest && len(lost) == 0 && len(b.CannotLoad(missing)) == 0 {
		return rule.ReportMissing(b.Subject, verdict.Statement("the LD_LIBRARY_PATH of the process, which must lead to "+verdict.Some(missing)))
	}
	fails := failsWithout(b, missing)
	f := verdict.Finding{Severity: verdict.Error, Subject: b.Subject, Need: strings.Join(missing, ", "),
		Source:   []string{model.LoaderSource},
		Message:  b.LostWords(missing) + ": " + fails,
		Evidence: b.EvidenceLost(missing)}
	// Install a single lost library again. Several of another release are the result of --no-deps; install the whole
	// set.
	if !environment.HasMixedWheels(b) {
		reinstallLostWheels(b, &f, lost)
	}
	if len(lost) < len(missing) || environment.HasMixedWheels(b) {
		f.Pins = append(f.Pins, environment.RequirementPins(m, b)...)
	}
	return rule.ReportFinding(f)
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
		f.Pins = append(f.Pins, environment.ReinstallPins(b.Place(), wheels...)...)
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

// reportMissingCollectives reports a missing NCCL for JAX, which opens it only when a computation spans several GPUs.
// With one GPU it is a note, because the program runs.
func reportMissingCollectives(m *model.Machine, b *model.Build, missing []string) verdict.Finding {
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
		f.Pins = environment.AddLibraries(b)
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

// reportIncomplete reports that files of the build's own package are gone: an installation was interrupted, or somebody
// deleted them. It is an error also at rest, because no other package brings them.
func reportIncomplete(b *model.Build, lost []string) verdict.Finding {
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
			f.Pins = environment.AddLibraries(b)
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
	f.Pins = environment.ReinstallPinsFrom(b.Env, index, pin.Package{Package: name, Version: installed})
	return f
}
