package rules

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/fit"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// offGPU reports whether nothing in a package runs on a GPU: it raises an error or uses the CPU.
func offGPU(b *model.Build) bool {
	severity, _, _ := b.Without(b.Missing)
	return b.Extension && b.Looked && len(b.Missing) > 0 && (severity == verdict.Error || b.Name == "onnxruntime-gpu")
}

// engineMends returns the fixes for an engine and a torch that do not fit: the torch that the engine requires, and the
// engine release for the installed torch, if these run here. Each also installs the other engines of the environment.
func engineMends(m *model.Machine, p *model.Installed, b *model.Build) []verdict.Pin {
	var list []verdict.Pin
	engines := enginesFrom(m, b, p.Name)
	if len(engines) == 0 {
		return nil
	}
	for _, keep := range []func(model.Row, []pin.Package) bool{
		func(_ model.Row, set []pin.Package) bool { return set[0].Version == p.Version },
		func(r model.Row, _ []pin.Package) bool { return r.Number.Short() == b.Release.Number.Short() },
	} {
		for _, r := range pins.Ranked(m, b) {
			set := pins.EngineSet(m, b, engines, r)
			if set == nil || !keep(r, set) {
				continue
			}
			pin := pins.EnginePin(m, b, r, set)
			if !slices.ContainsFunc(list, func(have verdict.Pin) bool { return have.Commands["pip"] == pin.Commands["pip"] }) {
				list = append(list, pin)
			}
			break
		}
	}
	return list
}

// ncclTooOldForGPU reports an NCCL that has neither machine code nor PTX for a GPU. With one GPU NCCL is seldom called,
// so that is a note. With several it is an error, because the first collective fails.
func ncclTooOldForGPU(m *model.Machine, b *model.Build) []*Result {
	lib, known := b.Takes("nccl")
	if b.Device != "cuda" || !b.IsFramework() || !known || len(m.GPUs) == 0 {
		return nil
	}
	n := m.Tables.NCCL(lib.Version, b.CUDANumber)
	// The table was read from the wheels of each release. It says nothing about the code of any other NCCL.
	if n == nil {
		return nil
	}
	for _, g := range m.GPUs {
		if !g.Capability.Known() || version.Cover(n.SASS, n.PTX, g.Capability) != version.Uncovered {
			continue
		}
		f := verdict.Finding{Severity: verdict.Error, Subject: b.Subject, Need: "an NCCL with code for " + g.Capability.SM(),
			Source:  n.Source,
			Message: fmt.Sprintf("NCCL %s has no code for %s", n.Release, g.Label),
			Evidence: append(b.Evidence(), lib.Evidence("NCCL"), verdict.Evidence{Fact: "GPU", Value: g.Label, From: g.From},
				verdict.Evidence{Fact: "machine code", Value: strings.Join(n.SASS, " "), From: "nccl.csv"})}
		if len(m.GPUs) == 1 {
			f.Severity = verdict.Note
		}
		if other := ncclFor(m, b.CUDANumber); other.Known() {
			f.Pins = pins.PackagePin(b.Env, lib.Wheel, other.String())
			f.Pins[0].Why = "has code for every GPU here; keeps the driver"
		} else {
			f.Pins, f.Steps = pins.ForBuild(m, b)
		}
		return oneFinding(f)
	}
	return holds(b.Subject)
}

// ncclFor returns the newest NCCL of a CUDA major version with machine code for every GPU here, or an unknown version.
// It ignores PTX, which works only if the driver knows its version.
func ncclFor(m *model.Machine, cuda version.Number) version.Number {
	for _, n := range slices.Backward(tables.Rows[tables.NCCL](m.Tables)) {
		bad := func(g model.GPU) bool { return version.Cover(n.SASS, nil, g.Capability) != version.BySASS }
		if n.CUDA.Major() == cuda.Major() && len(n.SASS) > 0 && !slices.ContainsFunc(m.GPUs, bad) {
			return n.Release
		}
	}
	return version.Number{}
}

// extensionMismatch reports a package beside torch that was compiled for another torch or another CUDA, or that uses
// CUDA by itself and does not find its libraries. Files prove more than tables, so they are checked first. The finding
// belongs to the extension: torch is judged separately.
func extensionMismatch(m *model.Machine, b *model.Build) []*Result {
	results := extensionMismatches(m, b)
	for _, r := range results {
		r.Without = r.Finding != nil && slices.ContainsFunc(m.Builds, func(o *model.Build) bool {
			return o.Subject == r.Subject && (offGPU(o) || m.Tables.Trait("same-cuda-minor", o.Name, o.Release.Number))
		})
	}
	return results
}

// extensionMismatches checks whether an extension loads with the installed packages, or which extensions do not fit a
// torch. An extension that cannot load breaks no other. A bitsandbytes without a library for torch's CUDA uses the CPU.
func extensionMismatches(m *model.Machine, b *model.Build) []*Result {
	over := slices.IndexFunc(b.Hindrances, func(h facts.Hindrance) bool { return h.Kind == facts.HindranceOverwritten })
	release := slices.IndexFunc(b.Hindrances, func(h facts.Hindrance) bool { return h.Kind == facts.HindranceRelease })
	switch {
	// RECORD and the bytes show which of two packages Python imports. The other package's own metadata then means
	// nothing.
	case over >= 0:
		return oneFinding(overwritten(b, b.Hindrances[over]))
	// jax compares jaxlib's release before it loads a plugin, so a plugin beside a jaxlib that jax refuses is not
	// judged (jax/_src/lib/__init__.py).
	case release >= 0 && b.Name == "jax":
		return oneFinding(otherJaxlib(b, b.Hindrances[release]))
	case refusedJaxlib(m, b) != nil:
		return oneFinding(otherJaxlib(b, *refusedJaxlib(m, b)))
	case release >= 0 && b.Extension:
		return oneFinding(staleHindrance(b, b.Hindrances[release]))
	// A file does not show the order of installation. On disk, RECORD shows which files survived.
	case slices.Contains(installsWhole, b.Env.Kind) && model.TwinNamed(b.Env.Environment, b.Name) != "":
		return oneFinding(besideTwin(b, model.TwinNamed(b.Env.Environment, b.Name)))
	case comingTwin(m, b) != "":
		return underTwin(m, b)
	// What the loader cannot find takes precedence over the table: it also holds for builds from source.
	case b.Extension && len(b.Unmet) > 0 && !m.Tables.Trait("companion", b.Name, version.Number{}):
		return unmet(m, b)
	case b.Extension:
		if open := pairingUnknown(m, b); open != nil {
			return open
		}
		return opens(m, b)
	}
	switch {
	// jax[cuda12-local] uses the CUDA libraries of the machine.
	case b.Name == "jax" && slices.ContainsFunc(b.Extras, func(e string) bool { return strings.HasSuffix(e, "local") }):
		return librariesNotRequested(m, b)
	case b.Name == "jax":
		return otherPlugin(b)
	}
	return compiledMismatches(m, b)
}

// compiledMismatches returns the results for packages that were compiled for another torch than this one.
func compiledMismatches(m *model.Machine, b *model.Build) []*Result {
	if b.Name != "torch" {
		return nil
	}
	return judgeNeighbours(m, b, false, extensionFinding)
}

// extensionFinding says why a package does not fit torch, and what makes the two fit.
func extensionFinding(m *model.Machine, torch *model.Build, n neighbour, k fit.Key) verdict.Finding {
	f := neighbourFinding(torch, n, k)
	a := n.fit[k]
	switch {
	case k == fit.Release && m.Tables.Trait("pins-torch", n.Name, n.Number) && !m.Tables.Trait("compiled", n.Name, n.Number):
		f.Message = fmt.Sprintf("%s %s asks for torch %s, but torch is %s", n.Name, n.Version, a.Have, torch.Version)
	// bitsandbytes has one library for each CUDA minor version. Before 0.50 it opens only the one for torch's CUDA, and
	// otherwise uses its CPU library: a warning.
	case k == fit.CUDA && a.State == fit.Lesser && n.Name == "bitsandbytes":
		cuda := torch.CUDANumber.Short()
		f.Need = "a library for CUDA " + cuda
		f.Message = fmt.Sprintf("%s %s has no library for CUDA %s; from 0.50 on it falls back within the major", n.Name, n.Version, cuda)
		f.Steps = []pin.Step{pins.InstallStep(torch.Env, pin.Install{Packages: []string{"bitsandbytes"}, Upgrade: true})}
		if all := n.p.CUDA.CUDAs; len(all) > 0 {
			f.Steps = append(f.Steps, pin.Run("export BNB_CUDA_VERSION="+strings.ReplaceAll(all[len(all)-1].String(), ".", "")).Explained(
				"names a library that it has").Instead())
		}
		return f
	case k == fit.Python || k == fit.Platform:
		f.Steps = []pin.Step{pin.Say("name the wheel of " + pin.Quoted(n.Name) + " for " + pin.Quoted(a.Want))}
		return f
	}
	if len(f.Source) == 0 {
		f.Source = []string{"https://github.com/Dao-AILab/flash-attention/blob/v2.8.3/.github/workflows/publish.yml"}
	}
	// The metadata of vLLM, SGLang and others pins one torch, so the engine chooses the pair.
	if m.Tables.Trait("pins-torch", n.Name, n.Number) {
		f.Pins = engineMends(m, n.Installed, torch)
	}
	switch {
	case len(f.Pins) > 0:
	case k == fit.Code: // another release for this torch need not have it either
		f.Steps = []pin.Step{pin.Say("install a build of " + pin.Quoted(n.Name) + " that has machine code for these GPUs")}
	default:
		f.Steps = extensionSteps(m, n.Installed, torch)
	}
	return f
}

// extensionSteps installs the newest release of a package that fits a torch, and says what else helps.
func extensionSteps(m *model.Machine, p *model.Installed, b *model.Build) []pin.Step {
	torch := "torch " + b.Release.Number.Short()
	if e := extensionFor(m, p, b); e != nil {
		if install, ok := extensionInstall(m, p, *e, b); ok {
			return []pin.Step{pins.InstallStep(b.Place(), install).Explained(fmt.Sprintf("installs %s %s, which is made for %s", p.Name, e.Release, torch))}
		}
		return []pin.Step{pin.Say(fmt.Sprintf("install %s %s by the address of its wheel for %s and your Python, which the page of its project's releases has",
			pin.Quoted(p.Name), e.Release, torch))}
	}
	newer := "install the " + pin.Quoted(p.Name) + " that is made for " + torch + " and its CUDA"
	rows := tables.RowsOf[tables.Extension](m.Tables, p.Name)
	if len(rows) > 0 && !slices.ContainsFunc(rows, func(e tables.Extension) bool { return len(e.Torch) == 0 }) {
		return []pin.Step{pin.Say("install the torch that " + pin.Quoted(p.Name+" "+p.Version) + " was made for"), pin.Say("install a newer " + pin.Quoted(p.Name) +
			": none in the tables is made for " + torch + " and its CUDA").Instead()}
	}
	return []pin.Step{pin.Say(newer), pin.Say("install the torch that it was made for").Instead()}
}

// extensionFor returns the newest release of a package that is made for a torch, has code for the GPUs, and can be installed
// into its Python; nil if there is none. Only a release made for exactly this minor is taken: one on torch's stable ABI
// would have fitted already.
func extensionFor(m *model.Machine, p *model.Installed, b *model.Build) *tables.Extension {
	python := version.ShortPython(b.Interpreter)
	for _, e := range slices.Backward(tables.RowsOf[tables.Extension](m.Tables, p.Name)) {
		exact := slices.ContainsFunc(e.Torch, func(text string) bool {
			return model.Exactly(text).Short() == b.Release.Number.Short()
		})
		if !exact || model.OtherFamily(e.CUDA, b.CUDANumber) || !e.IsFor(m.Platform) || len(e.SASS) > 0 && !pins.Covers(m, e) {
			continue
		}
		_, _, url := pins.ReleaseWheel(m, e, b.Release, python)
		if e.Variant == "pypi" || url != "" || pins.OnReleases(e) && python == "" || e.Variant == b.Release.Local {
			return &e
		}
	}
	return nil
}

// extensionInstall installs one release: from the package index, from the index of PyTorch's variant, or the wheel on the
// page of its project's releases. false is a wheel on such a page, of which the Python is not known.
func extensionInstall(m *model.Machine, p *model.Installed, e tables.Extension, b *model.Build) (pin.Install, bool) {
	install := pin.Install{Packages: []string{p.Name + "==" + e.Release}, NoDeps: true}
	_, _, url := pins.ReleaseWheel(m, e, b.Release, version.ShortPython(b.Interpreter))
	switch {
	case e.Variant == "pypi":
	case url != "":
		install.Packages = []string{p.Name + " @ " + url}
	case pins.OnReleases(e):
		return install, false
	default:
		install.Index = pins.TorchIndex(e.Variant)
	}
	public, _, _ := strings.Cut(p.Version, "+")
	install.Again = url == "" && version.SameRelease(e.Release, public) // an installer takes the one that is there for it
	return install, true
}

// numpyABI reports code that was compiled before NumPy 2 and does not load with it. Conda's builds and those from
// source are compiled for their own NumPy, so only the wheels in the tables are judged.
func numpyABI(m *model.Machine, b *model.Build) []*Result {
	p := b.Env.Package("numpy")
	if p == nil || b.Name != "tensorflow" && b.Name != "torch" || !b.Release.Number.Known() || !b.Official() {
		return nil
	}
	// Code compiled for NumPy 2 also loads with NumPy 1 (NumPy's migration guide).
	if p.Number.Major() < 2 || !m.Tables.Trait("before-numpy-2", b.Name, b.Release.Number) {
		return holds(b.Subject)
	}
	f := verdict.Finding{Severity: verdict.Warning, Subject: b.Subject, Need: "numpy < 2",
		Source:   []string{"https://numpy.org/devdocs/numpy_2_0_migration_guide.html"},
		Message:  fmt.Sprintf("%s %s was compiled before NumPy 2; numpy %s is installed", b.Name, b.Version, p.Version),
		Evidence: append(b.Evidence(), verdict.Evidence{Fact: "numpy", Value: p.Version, From: p.Path}),
		Pins: []verdict.Pin{{Package: "numpy", Version: "<2", Why: "keeps " + b.Name + " and the driver",
			Commands: pins.Install(b.Place(), pin.Install{Packages: []string{"numpy<2"}})}}}
	// TensorFlow fails to import, up to 2.17. torch imports but cannot convert between tensors and arrays (pytorch
	// issue 107302), up to 2.2 (trait.csv).
	if b.Name == "tensorflow" {
		f.Severity = verdict.Error
	}
	return oneFinding(f)
}

// besideTwin reports a file that also names the CPU package of the same modules. Which one is installed last is not
// known, so it is a warning.
func besideTwin(b *model.Build, twin string) verdict.Finding {
	other, release, _ := strings.Cut(twin, " ")
	named, step := "named", pin.Say("remove "+pin.Word(other)+" from the file")
	if b.Env.Kind == "pip list" {
		named, step = "installed", pin.Say("uninstall both, then install "+pin.Word(b.Name)+" again")
	}
	return verdict.Finding{Severity: verdict.Warning, Subject: b.Subject, Need: "one of " + b.Name + " and " + other,
		Message: fmt.Sprintf("%s is %s too and has the same files: Python imports the one that is installed last, and %[1]s does not use the GPU", other, named),
		Evidence: append(b.Evidence(), verdict.Evidence{Fact: other, Value: cmp.Or(release, named+" without a version"),
			From: b.From}),
		Source: []string{"https://packaging.python.org/en/latest/specifications/recording-installed-packages/"},
		Steps:  []pin.Step{step}}
}

// staleHindrance reports a distribution that requires another release of an installed one. It is an error if its
// library needs a symbol that the installed one does not define. Otherwise it may run.
func staleHindrance(b *model.Build, h facts.Hindrance) verdict.Finding {
	name, have, _ := strings.Cut(h.Of, " ")
	f := verdict.Finding{Severity: verdict.Warning, Subject: b.Subject, Need: h.By, Pins: addLibraries(b),
		Message:  fmt.Sprintf("%s %s requires %s; %s is installed", b.Name, b.Version, h.By, have),
		Evidence: append(b.Evidence(), verdict.Evidence{Fact: name, Value: have, From: h.Path}),
		Source:   []string{"https://packaging.python.org/en/latest/specifications/core-metadata/#requires-dist-multiple-use"}}
	f.Pins[0].Why = "installs the " + name + " that it requires; keeps the driver"
	if required := nameText.FindString(h.By); required != name { // of another CUDA family: removing it deletes the files of both
		f.Message = fmt.Sprintf("%s %s requires %s; %s %s was installed over it", b.Name, b.Version, h.By, name, have)
		f.Pins[0].Why = "puts the files of " + required + " back; keeps the driver"
		f.Pins[0].Commands = pins.Install(b.Place(), pin.Install{Remove: []string{name}, Packages: []string{h.By, b.Name + "==" + b.Version},
			NoDeps: true, Again: true})
	}
	// If no library defines a symbol, the loader refuses the library that needs it: libcudf 26.10 over librmm 25.10.
	if h.Symbol != "" {
		f.Severity, f.Source = verdict.Error, []string{model.LoaderSource}
		f.Message += fmt.Sprintf(", and lacks %s: %s cannot be loaded", h.Symbol, path.Base(h.Path))
	}
	return f
}

// overwritten reports that Python imports another distribution's file instead of the build's: onnxruntime installed
// over onnxruntime-gpu, or faiss-cpu's _swigfaiss.abi3.so, which Python prefers whichever is installed last. pip list
// still names the GPU package. Removing the other package deletes the shared files, so the build must be installed
// again.
func overwritten(b *model.Build, h facts.Hindrance) verdict.Finding {
	other, _, _ := strings.Cut(h.By, " ")
	spec := b.Name + "==" + b.Version
	return verdict.Finding{Severity: verdict.Error, Subject: b.Subject, Need: "one of " + b.Name + " and " + other,
		Message: fmt.Sprintf("%s takes the place of %s: Python imports its %s", h.By, b.Name,
			strings.TrimPrefix(h.Path, path.Dir(b.Path)+"/")),
		Evidence: append(b.Evidence(), verdict.Evidence{Fact: path.Base(h.Path), Value: "as " + h.By + " lists it", From: h.Path}),
		Source:   []string{"https://packaging.python.org/en/latest/specifications/recording-installed-packages/"},
		Pins: []verdict.Pin{{Package: b.Name, Version: b.Version, Why: "puts its files back; keeps the driver",
			Commands: pins.Install(b.Place(), pin.Install{Remove: []string{other}, Packages: []string{spec}, NoDeps: true, Again: true})}}}
}
