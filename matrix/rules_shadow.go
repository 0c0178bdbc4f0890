package matrix

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"cudacompat/pin"
	"cudacompat/probe/facts"
)

// stubLibrary: the loader takes a toolkit's link-time stub for the driver's libcuda. Its functions hold no code, so
// every CUDA program ends in error 34: an error. stubs/libcuda.so without the .1, and LIBRARY_PATH, are the linker's
// and harmless.
func stubLibrary(m *machine) []*result {
	taken := m.f.Driver.Taken
	if taken.Path == "" {
		return nil
	}
	if !m.f.Driver.Stub {
		return holds("libcuda.so.1")
	}
	return found(Finding{Severity: Error, Subject: "libcuda.so.1", Need: "the driver's own libcuda.so.1",
		Message: fmt.Sprintf("%s is a stub, made for linking only: CUDA will not start (error 34)",
			taken.Path),
		Evidence: []Evidence{{Fact: "libcuda.so.1", Value: "stub", From: taken.Path + ", taken by " + taken.Reason}},
		Steps:    []pin.Step{pin.Say(removal(taken.Path, taken.Reason)), pin.Say("for linking, add the stubs directory to LIBRARY_PATH")},
		Source:   []string{"https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html"}})
}

// libraryShadowed: a CUDA library that is not the build's own is taken, and lacks what another one needs of it; or none
// is there to take. Symbols decide and never versions: images put other libraries first on purpose (SGLang, NGC, EFA).
// NCCL's functions are nccl-shadowed's.
func libraryShadowed(m *machine, b *build) []*result {
	halfGone := b.accelerator == "" && len(b.ownMissing(b.Missing)) > 0 // nothing is left that tells its CUDA
	if b.accelerator != "cuda" && !halfGone {
		return nil
	}
	if missing := b.nowhere(); len(missing) > 0 {
		results := m.missingLibrary(b, missing)
		for _, r := range results {
			r.stops = r.finding != nil && b.failsWithout(missing) == b.doesNotStart()
		}
		return results
	}
	if open := b.untoldLibraries(); open != nil {
		return open
	}
	// Symbols were not compared, because the closure was not resolved: nothing is known, and nothing said to hold.
	if !b.Compared {
		return nil
	}
	lacks := slices.DeleteFunc(slices.Clone(b.Unresolved),
		func(u facts.Unresolved) bool { return strings.HasPrefix(u.Library, "libnccl.") })
	if len(lacks) == 0 {
		return holds(b.subject)
	}
	// A wrong file that is loaded breaks the import; a part that is nowhere fails when it is used.
	i := slices.IndexFunc(lacks, func(u facts.Unresolved) bool { return u.Path != "" })
	if i < 0 {
		return found(b.withoutPart(lacks[0]))
	}
	u := lacks[i]
	f := Finding{Severity: Error, Subject: b.subject, Need: fmt.Sprintf("a %s with %s", u.Library, lacked(u)),
		Message: fmt.Sprintf("%s is loaded as %s (found through %s) but lacks %s, which %s needs", u.Path, u.Library, u.Reason,
			lacked(u), path.Base(u.By)),
		Source: []string{loaderSource}}
	f.Evidence = append(b.evidence(), Evidence{Fact: "missing in " + u.Library, Value: some(lackedOf(lacks, u)),
		From: u.Path + ", needed by " + u.By})
	if wheel, pinned := b.replaced(u.By); wheel != nil {
		f.Evidence = append(f.Evidence, Evidence{Fact: wheel.Name, Value: wheel.Version + ", in the place of " + pinned, From: wheel.Path})
	}
	f.Pins, f.Steps = m.unshadow(b, u)
	return []*result{{subject: b.subject, finding: &f, stops: true}}
}

// withoutPart: a library opens another one by name when it is used, and that one is nowhere (NVRTC's builtins: pytorch
// issue 58101). Everything else runs, so it is a warning.
func (b *build) withoutPart(u facts.Unresolved) Finding {
	return Finding{Severity: Warning, Subject: b.subject, Need: u.Library,
		Source:   []string{"https://github.com/pytorch/pytorch/issues/58101"},
		Message:  fmt.Sprintf("%s opens %s to compile kernels, but the loader cannot find it: what is compiled at run time fails", u.By, u.Library),
		Evidence: append(b.evidence(), Evidence{Fact: path.Base(u.By), Value: "taken", From: u.By + ", by " + u.Reason}),
		Steps:    []pin.Step{pin.Say("put " + pin.Said(u.Library) + " next to " + pin.Word(u.By)), pin.Say(removal(u.By, u.Reason)).Instead()}}
}

// lackedOf names what is missing in the same file for the same library: one cause, however many symbols.
func lackedOf(list []facts.Unresolved, u facts.Unresolved) []string {
	var names []string
	for _, other := range list {
		if other.Path == u.Path && other.By == u.By {
			names = append(names, lacked(other))
		}
	}
	return names
}

// lacked names what is missing: a symbol with its version, or a version as a whole.
func lacked(u facts.Unresolved) string {
	switch {
	case u.Symbol == "":
		return "the version " + u.Version
	case u.Version == "" || u.Version == u.Library:
		return u.Symbol
	}
	return u.Symbol + " of version " + u.Version
}

// unshadow is what makes the loader take a library that serves: the wheel that the build pins, or another one's
// absence.
func (m *machine) unshadow(b *build, u facts.Unresolved) ([]Pin, []pin.Step) {
	// A wheel's file is put right by a wheel; any other is not this environment's to change.
	if strings.HasPrefix(u.Path, path.Dir(b.Path)+"/nvidia/") {
		if b.besideOwn() {
			return m.required(b), nil
		}
		if wheel, pinned := b.replaced(u.By); wheel != nil {
			return b.env.packagePin(wheel.Name, pinned), nil
		}
		for _, wheel := range b.wheelsOf(u.Library) {
			own, pinned := b.env.Package(wheel), b.Requires[wheel]
			switch {
			case pinned != "" && own != nil && own.Version == pinned:
				return b.env.forcedPin(pin.Package{Package: wheel, Version: pinned}), nil // it is the pinned one, and its file is not
			case pinned != "":
				return b.env.packagePin(wheel, pinned), nil
			// A wheel that nothing pins, as under JAX, is brought to its newest release.
			case own != nil:
				return nil, []pin.Step{b.env.installStep(pin.Install{Packages: []string{wheel}, NoDeps: true, Upgrade: true, Again: true})}
			}
		}
	}
	return nil, []pin.Step{pin.Say(removal(u.Path, u.Reason))}
}

// replaced is the wheel of a library that wants something, where it is of another release than the build pins.
func (b *build) replaced(by string) (wheel *installed, pinned string) {
	if wheel = b.installed(path.Base(by)); wheel == nil {
		return nil, ""
	}
	if pinned = b.Requires[wheel.Name]; pinned == "" || pinned == wheel.Version {
		return nil, ""
	}
	return wheel, pinned
}

// ncclShadowed: the NCCL taken is not the build's own. It judges as nccl-mismatch does; a platform's own NCCL, put
// there on purpose, is not worth a note.
func ncclShadowed(m *machine, b *build) []*result {
	lib, _ := b.takes("nccl")
	if !b.shadowed(lib) {
		return nil
	}
	results := m.judgeNCCL(b, lib)
	if len(results) == 1 && results[0].finding != nil && results[0].finding.Severity == Note && onPurpose(lib.from) {
		return holds(b.subject)
	}
	return results
}

// onPurpose tells the places where AWS and NGC images keep an NCCL that is meant to stand before the wheels'.
func onPurpose(file string) bool {
	return slices.ContainsFunc([]string{"/opt/amazon/", "/opt/nccl", "/opt/aws-ofi-nccl", "/usr/local/nccl"},
		func(dir string) bool { return strings.HasPrefix(file, dir) })
}
