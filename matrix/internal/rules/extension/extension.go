// Package extension contains the rules about packages that were compiled for a framework: PyTorch's companions, such as
// torchvision, extensions, such as flash-attn and vLLM, and the plugins of JAX.
//
// Package environment compares the versions. What the loader found in the files proves more than a comparison of
// versions, so it is judged first.
package extension

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
	"cudacompat/matrix/internal/rules/environment"
	"cudacompat/matrix/internal/rules/library"
	"cudacompat/matrix/internal/rules/python"
	"cudacompat/matrix/internal/rules/rule"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// offGPU reports whether nothing in a package runs on a GPU: it raises an error or uses the CPU.
func offGPU(b *model.Build) bool {
	severity, _, _ := b.FailureWithout(b.Missing)
	return b.Extension && b.Looked && len(b.Missing) > 0 && (severity == verdict.Error || b.Name == "onnxruntime-gpu")
}

// Mismatch reports a package beside torch that was compiled for another torch or another CUDA, or that uses
// CUDA by itself and does not find its libraries. Files prove more than tables, so they are checked first. The finding
// belongs to the extension: torch is judged separately.
func Mismatch(m *model.Machine, b *model.Build) []*rule.Result {
	results := judgeExtension(m, b)
	for _, r := range results {
		r.Without = r.Finding != nil && slices.ContainsFunc(m.Builds, func(o *model.Build) bool {
			return o.Subject == r.Subject && (offGPU(o) || m.Tables.Trait("same-cuda-minor", o.Name, o.Release.Number))
		})
	}
	return results
}

// judgeExtension checks whether an extension loads with the installed packages, or which extensions do not fit a
// torch. An extension that cannot load breaks no other. A bitsandbytes without a library for torch's CUDA uses the CPU.
func judgeExtension(m *model.Machine, b *model.Build) []*rule.Result {
	over := slices.IndexFunc(b.Hindrances, func(h facts.Hindrance) bool { return h.Kind == facts.HindranceOverwritten })
	release := slices.IndexFunc(b.Hindrances, func(h facts.Hindrance) bool { return h.Kind == facts.HindranceRelease })
	switch {
	// RECORD and the bytes show which of two packages Python imports. The other package's own metadata then means
	// nothing.
	case over >= 0:
		return rule.ReportFinding(reportOverwritten(b, b.Hindrances[over]))
	// jax compares jaxlib's release before it loads a plugin, so a plugin beside a jaxlib that jax refuses is not
	// judged (jax/_src/lib/__init__.py).
	case release >= 0 && b.Name == "jax":
		return rule.ReportFinding(reportOtherJaxlib(b, b.Hindrances[release]))
	case refusedJaxlib(m, b) != nil:
		return rule.ReportFinding(reportOtherJaxlib(b, *refusedJaxlib(m, b)))
	case release >= 0 && b.Extension:
		return rule.ReportFinding(reportStaleRelease(b, b.Hindrances[release]))
	// A file does not show the order of installation. On disk, RECORD shows which files survived.
	case slices.Contains(library.CompleteFiles, b.Env.Kind) && model.TwinNamed(b.Env.Environment, b.Name) != "":
		return rule.ReportFinding(reportTwin(b, model.TwinNamed(b.Env.Environment, b.Name)))
	case comingTwin(m, b) != "":
		return reportComingTwin(m, b)
	// What the loader cannot find takes precedence over the table: it also holds for builds from source.
	case b.Extension && len(b.Unmet) > 0 && !m.Tables.Trait("companion", b.Name, version.Number{}):
		return reportUnmetSymbols(m, b)
	case b.Extension:
		if open := reportUnknownPairing(m, b); open != nil {
			return open
		}
		return library.JudgeOpenedLibraries(m, b)
	}
	switch {
	// jax[cuda12-local] uses the CUDA libraries of the machine.
	case b.Name == "jax" && slices.ContainsFunc(b.Extras, func(e string) bool { return strings.HasSuffix(e, "local") }):
		return library.JudgeRequestedLibraries(m, b)
	case b.Name == "jax":
		return reportOtherPlugin(b)
	}
	return judgeCompiled(m, b)
}

// judgeCompiled returns the results for packages that were compiled for another torch than this one.
func judgeCompiled(m *model.Machine, b *model.Build) []*rule.Result {
	if b.Name != "torch" {
		return nil
	}
	return judgeNeighbours(m, b, false, extensionFinding)
}

// extensionFinding says why a package does not fit torch, and what makes the two fit.
func extensionFinding(m *model.Machine, torch *model.Build, n environment.Neighbour, k fit.Key) verdict.Finding {
	f := newNeighbourFinding(torch, n, k)
	a := n.Fit[k]
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
		if all := n.Package.CUDA.CUDAs; len(all) > 0 {
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
		f.Pins = environment.FitEngine(m, n.Installed, torch)
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
	if e := environment.FindExtension(m, p, b); e != nil {
		if install, ok := environment.InstallExtension(m, p, *e, b); ok {
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

// reportTwin reports a file that also names the CPU package of the same modules. Which one is installed last is not
// known, so it is a warning.
func reportTwin(b *model.Build, twin string) verdict.Finding {
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

// reportStaleRelease reports a distribution that requires another release of an installed one. It is an error if its
// library needs a symbol that the installed one does not define. Otherwise it may run.
func reportStaleRelease(b *model.Build, h facts.Hindrance) verdict.Finding {
	name, have, _ := strings.Cut(h.Of, " ")
	f := verdict.Finding{Severity: verdict.Warning, Subject: b.Subject, Need: h.By, Pins: environment.AddLibraries(b),
		Message:  fmt.Sprintf("%s %s requires %s; %s is installed", b.Name, b.Version, h.By, have),
		Evidence: append(b.Evidence(), verdict.Evidence{Fact: name, Value: have, From: h.Path}),
		Source:   []string{"https://packaging.python.org/en/latest/specifications/core-metadata/#requires-dist-multiple-use"}}
	f.Pins[0].Why = "installs the " + name + " that it requires; keeps the driver"
	if required := python.NamePattern.FindString(h.By); required != name { // of another CUDA family: removing it deletes the files of both
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

// reportOverwritten reports that Python imports another distribution's file instead of the build's: onnxruntime
// installed over onnxruntime-gpu, or faiss-cpu's _swigfaiss.abi3.so, which Python prefers whichever is installed last.
// pip list still names the GPU package. Removing the other package deletes the shared files, so the build must be
// installed again.
func reportOverwritten(b *model.Build, h facts.Hindrance) verdict.Finding {
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
