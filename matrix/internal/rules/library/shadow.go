package library

import (
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
	"cudacompat/probe/facts"
)

// Stub reports that the loader takes a toolkit's link-time stub for the driver's libcuda. Its functions are
// empty, so every CUDA program ends in error 34: an error. stubs/libcuda.so without the .1, and LIBRARY_PATH, concern
// only the linker and are harmless.
func Stub(m *model.Machine) []*rule.Result {
	taken := m.Facts.Driver.Taken
	if taken.Path == "" {
		return nil
	}
	if !m.Facts.Driver.Stub {
		return rule.Pass("libcuda.so.1")
	}
	return rule.ReportFinding(verdict.Finding{Severity: verdict.Error, Subject: "libcuda.so.1", Need: "the driver's own libcuda.so.1",
		Message: fmt.Sprintf("%s is a stub, made for linking only: CUDA will not start (error 34)",
			taken.Path),
		Evidence: []verdict.Evidence{{Fact: "libcuda.so.1", Value: "stub", From: taken.Path + ", taken by " + taken.Reason}},
		Steps:    []pin.Step{pin.Say(model.Removal(taken.Path, taken.Reason)), pin.Say("add the stubs directory to LIBRARY_PATH if something is linked with it")},
		Source:   []string{"https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html"}})
}

// Shadowed reports a CUDA library that the loader takes instead of the build's own and that lacks something
// another library needs, or a library that is not there at all. Symbols decide and never versions, because images put
// other libraries first on purpose (SGLang, NGC, EFA). nccl-shadowed reports NCCL's functions.
func Shadowed(m *model.Machine, b *model.Build) []*rule.Result {
	halfGone := b.Device == "" && len(ownMissing(b, b.Missing)) > 0 // nothing is left that tells its CUDA
	if b.Device != "cuda" && !halfGone {
		return nil
	}
	if missing := b.Nowhere(); len(missing) > 0 {
		results := missingLibrary(m, b, missing)
		for _, r := range results {
			r.EndsImport = r.Finding != nil && failsWithout(b, missing) == doesNotStart(b)
		}
		return results
	}
	if open := ReportReplacedLibraries(m, b); open != nil {
		return open
	}
	// Symbols were not compared, because the libraries could not all be resolved. The rule neither passes nor fails.
	if !b.Compared {
		return nil
	}
	lacks := slices.DeleteFunc(slices.Clone(b.Unresolved),
		func(u facts.Unresolved) bool { return strings.HasPrefix(u.Library, "libnccl.") })
	if len(lacks) == 0 {
		return rule.Pass(b.Subject)
	}
	// A wrong file that is loaded breaks the import. A missing part fails when it is used.
	i := slices.IndexFunc(lacks, func(u facts.Unresolved) bool { return u.Path != "" })
	if i < 0 {
		return rule.ReportFinding(reportMissingPart(b, lacks[0]))
	}
	u := lacks[i]
	f := verdict.Finding{Severity: verdict.Error, Subject: b.Subject, Need: fmt.Sprintf("a %s with %s", u.Library, model.MissingSymbolWords(u)),
		Message: fmt.Sprintf("%s is loaded as %s (found through %s) but lacks %s, which %s needs", u.Path, u.Library, u.Reason,
			model.MissingSymbolWords(u), path.Base(u.By)),
		Source: []string{model.LoaderSource}}
	f.Evidence = append(b.Evidence(), verdict.Evidence{Fact: "missing in " + u.Library, Value: verdict.Some(lackedOf(lacks, u)),
		From: u.Path + ", needed by " + u.By})
	if wheel, pinned := wheelReplaced(b, u.By); wheel != nil {
		f.Evidence = append(f.Evidence, verdict.Evidence{Fact: wheel.Name, Value: wheel.Version + ", in the place of " + pinned, From: wheel.Path})
	}
	f.Pins, f.Steps = unshadow(m, b, u)
	return []*rule.Result{{Subject: b.Subject, Finding: &f, EndsImport: true}}
}

// reportMissingPart reports a missing library that another one opens by name when it is used (NVRTC's builtins: pytorch
// issue 58101). Everything else runs, so it is a warning.
func reportMissingPart(b *model.Build, u facts.Unresolved) verdict.Finding {
	return verdict.Finding{Severity: verdict.Warning, Subject: b.Subject, Need: u.Library,
		Source:   []string{"https://github.com/pytorch/pytorch/issues/58101"},
		Message:  fmt.Sprintf("%s opens %s to compile kernels, but the loader cannot find it: what is compiled at run time fails", u.By, u.Library),
		Evidence: append(b.Evidence(), verdict.Evidence{Fact: path.Base(u.By), Value: "taken", From: u.By + ", by " + u.Reason}),
		Steps:    []pin.Step{pin.Say("put " + pin.Quoted(u.Library) + " next to " + pin.Word(u.By)), pin.Say(model.Removal(u.By, u.Reason)).Instead()}}
}

// lackedOf names everything that one file lacks for one library. It is one cause, however many symbols are missing.
func lackedOf(list []facts.Unresolved, u facts.Unresolved) []string {
	var names []string
	for _, other := range list {
		if other.Path == u.Path && other.By == u.By {
			names = append(names, model.MissingSymbolWords(other))
		}
	}
	return names
}

// unshadow returns what makes the loader take a working library: the wheel that the build pins, or the removal of
// another one.
func unshadow(m *model.Machine, b *model.Build, u facts.Unresolved) ([]verdict.Pin, []pin.Step) {
	// A wheel corrects a file that belongs to a wheel. Any other file is outside this environment.
	if strings.HasPrefix(u.Path, path.Dir(b.Path)+"/nvidia/") {
		if environment.HasMixedWheels(b) {
			return environment.RequirementPins(m, b), nil
		}
		if wheel, pinned := wheelReplaced(b, u.By); wheel != nil {
			return pins.PackagePin(b.Env, wheel.Name, pinned), nil
		}
		for _, wheel := range b.WheelsOf(u.Library) {
			own, pinned := b.Env.Package(wheel), b.Requires[wheel]
			switch {
			case pinned != "" && own != nil && own.Version == pinned:
				return environment.ReinstallPins(b.Place(), pin.Package{Package: wheel, Version: pinned}), nil // it is the pinned one, and its file is not
			case pinned != "":
				return pins.PackagePin(b.Env, wheel, pinned), nil
			// Nothing pins this wheel, as under JAX, so it is upgraded to its newest release.
			case own != nil:
				return nil, []pin.Step{pins.InstallStep(b.Place(), pin.Install{Packages: []string{wheel}, NoDeps: true, Upgrade: true, Again: true})}
			}
		}
	}
	return nil, []pin.Step{pin.Say(model.Removal(u.Path, u.Reason))}
}

// wheelReplaced returns the wheel of a library with a missing symbol, if its release is not the one that the build
// pins.
func wheelReplaced(b *model.Build, by string) (wheel *model.Installed, pinned string) {
	if wheel = b.Installed(path.Base(by)); wheel == nil {
		return nil, ""
	}
	if pinned = b.Requires[wheel.Name]; pinned == "" || pinned == wheel.Version {
		return nil, ""
	}
	return wheel, pinned
}

// NCCLShadowed reports an NCCL that is not the build's own. It judges as nccl-mismatch does. A platform's own NCCL is
// there on purpose and gets no note.
func NCCLShadowed(m *model.Machine, b *model.Build) []*rule.Result {
	lib, _ := b.Takes("nccl")
	if !b.Shadowed(lib) {
		return nil
	}
	results := judgeNCCL(m, b, lib)
	if len(results) == 1 && results[0].Finding != nil && results[0].Finding.Severity == verdict.Note && onPurpose(lib.From) {
		return rule.Pass(b.Subject)
	}
	return results
}

// onPurpose reports whether a file is in a place where AWS or NGC images keep an NCCL that should come before the
// wheels'.
func onPurpose(file string) bool {
	return slices.ContainsFunc([]string{"/opt/amazon/", "/opt/nccl", "/opt/aws-ofi-nccl", "/usr/local/nccl"},
		func(dir string) bool { return strings.HasPrefix(file, dir) })
}
