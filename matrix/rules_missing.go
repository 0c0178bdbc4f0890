package matrix

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// missingLibrary: libraries are nowhere. A tree at rest does not tell the LD_LIBRARY_PATH that a process will have,
// unless a wheel is there and its file is not.
func (m *machine) missingLibrary(b *build, missing []string) []*result {
	if own := b.ownMissing(missing); len(own) > 0 {
		return found(b.incomplete(own))
	}
	lost := slices.DeleteFunc(slices.Clone(missing), func(library string) bool { return b.installed(library) == nil })
	if m.f.System.Rest && len(lost) == 0 {
		return unknown(b.subject, "the LD_LIBRARY_PATH of the process, which has to lead to "+some(missing))
	}
	fails := b.failsWithout(missing)
	f := Finding{Severity: Error, Subject: b.subject, Need: strings.Join(missing, ", "),
		Source:   []string{"https://man7.org/linux/man-pages/man8/ld.so.8.html"},
		Message:  nowhereWords(missing) + ": " + fails,
		Evidence: append(b.evidence(), Evidence{Fact: "missing libraries", Value: strings.Join(missing, " "), From: b.Path})}
	for _, library := range lost {
		wheel := b.installed(library)
		f.Evidence = append(f.Evidence, Evidence{Fact: wheel.Name,
			Value: wheel.Version + " is installed, its " + library + " is gone", From: wheel.Path})
		f.Pins = append(f.Pins, forcedPin(wheel.Name, cmp.Or(b.Requires[wheel.Name], wheel.Version))...)
	}
	if len(lost) < len(missing) {
		f.Pins = append(f.Pins, b.withLibraries()...)
	}
	return found(f)
}

// failsWithout is what becomes of a build without some libraries.
func (b *build) failsWithout(missing []string) string {
	opened := func(prefix string) bool {
		return !slices.ContainsFunc(missing, func(s string) bool { return !strings.HasPrefix(s, prefix) })
	}
	switch {
	case b.Name == "jax":
		return "it runs on the CPU"
	case opened("libcudnn_"):
		return "convolutions and other functions of cuDNN fail"
	case opened("libnvrtc"), opened("libnvJitLink"):
		return "what is compiled at run time fails"
	}
	return b.Name + " does not start"
}

// ownMissing are the libraries among those missing that the build's own package brings.
func (b *build) ownMissing(missing []string) []string {
	return slices.DeleteFunc(slices.Clone(missing), func(s string) bool { return !b.ownLibrary(s) })
}

// incomplete: files of the build's own package are gone, so an installation stopped half-way or somebody deleted them.
func (b *build) incomplete(lost []string) Finding {
	f := Finding{Severity: Error, Subject: b.subject, Need: some(lost),
		Message:  b.Name + " is incomplete: " + some(lost) + " is gone",
		Evidence: append(b.evidence(), Evidence{Fact: "missing libraries", Value: strings.Join(lost, " "), From: b.Path}),
		Source:   []string{"https://packaging.python.org/en/latest/specifications/recording-installed-packages/"}}
	if len(lost) > 1 {
		f.Message = b.Name + " is incomplete: " + some(lost) + " are gone"
	}
	installed := b.Version
	if p := b.env.Package(b.Name); p != nil {
		installed = p.Version // without a local version it came from the default index
	}
	f.Pins = forcedPin(b.Name, installed)
	if _, local, found := strings.Cut(installed, "+"); found {
		for tool := range f.Pins[0].Commands {
			f.Pins[0].Commands[tool] += " --index-url " + torchIndex(local)
		}
	}
	return f
}

// withLibraries installs what the build asks for beside it: pip and uv look at the requirements of what is there, too.
func (b *build) withLibraries() []Pin {
	name, version := b.Name, b.Version
	if own := b.env.Package(name); own != nil {
		version = own.Version
	}
	if name == "jax" {
		name = fmt.Sprintf("jax[cuda%d]", b.cuda.Major())
	}
	spec := strconv.Quote(name + "==" + version)
	return []Pin{{Package: name, Version: version, Why: "adds the CUDA libraries as wheels; keeps the driver",
		Commands: map[string]string{"pip": "pip install " + spec, "uv": "uv pip install " + spec}}}
}

// forcedPin writes a wheel's files anew, where pip would say that it is installed already.
func forcedPin(name, version string) []Pin {
	spec := name + "==" + version
	return []Pin{{Package: name, Version: version, Why: "puts its files back; keeps the driver",
		Commands: map[string]string{"pip": "pip install --no-deps --force-reinstall " + spec,
			"uv": "uv pip install --no-deps --reinstall " + spec}}}
}
