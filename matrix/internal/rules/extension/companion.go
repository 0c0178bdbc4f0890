package extension

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/version"
	"cudacompat/matrix/internal/fit"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/internal/rules/environment"
	"cudacompat/matrix/internal/rules/rule"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// CompanionMismatch judges the packages that PyTorch releases together with torch: torchvision, torchaudio, torchcodec
// and Triton. Symbols that their libraries need and cannot find decide. If only versions are known, package fit
// compares them.
func CompanionMismatch(m *model.Machine, b *model.Build) []*rule.Result {
	switch {
	case b.Extension && m.Tables.Trait("companion", b.Name, version.Number{}):
		if open := reportUnknownPairing(m, b); open != nil {
			return open
		}
		return reportUnmetSymbols(m, b)
	case b.Name == "torch":
		return judgeNeighbours(m, b, true, companionFinding)
	}
	return nil
}

// companionFinding says why a companion does not fit. For torchvision and torchaudio the companion is wrong, not torch.
// A wrong Triton breaks torch when it compiles.
func companionFinding(m *model.Machine, torch *model.Build, n environment.Neighbour, k fit.Key) verdict.Finding {
	a := n.Fit[k]
	want, index := environment.FindCompanion(m, torch, n.Name)
	f := newNeighbourFinding(torch, n, k)
	f.Source = []string{"https://github.com/pytorch/vision#installation"}
	public, _, _ := strings.Cut(want, "+")
	f.Need = strings.TrimSpace(n.Name + " " + public)
	switch {
	case n.Name == "triton":
		f.Subject = torch.Subject
		f.Message = fmt.Sprintf("triton %s was built for another torch; %s needs %s", n.Version, torch.Version, public)
	case k == fit.CUDA && a.State == fit.Lesser:
		f.Need = "a " + n.Name + " for " + a.Want
		f.Message = fmt.Sprintf("%s %s was built for %s, torch %s for %s: its operators do not run on the GPU", n.Name, n.Version,
			a.Have, torch.Version, a.Want)
	case k == fit.CUDA:
		f.Need = "a " + n.Name + " for " + a.Want
		f.Message = fmt.Sprintf("%s %s was built for %s, torch %s for %s: importing %[1]s fails", n.Name, n.Version, a.Have,
			torch.Version, a.Want)
		f.Source = importCheck[n.Name]
	case k == fit.Release && want != "":
		f.Message = fmt.Sprintf("%s %s was built for another torch; %s needs %s", n.Name, n.Version, torch.Version, public)
	}
	f.Source = append(slices.Clone(f.Source), a.Source...)
	switch {
	case k == fit.Python || k == fit.Platform:
		f.Need, f.Steps = a.Want, []pin.Step{pin.Say("name the wheel of " + pin.Quoted(n.Name) + " for " + pin.Quoted(a.Want))}
	case want != "":
		f.Pins = companionPins(m, n.Name, want, index, torch)
	default:
		f.Steps = []pin.Step{pin.Say("install a torch for which there is a " + n.Name + " of its CUDA (cudacompat matrix torch)"),
			pin.Say("do without " + n.Name).Instead()}
	}
	return f
}

// importCheck names the file in which a companion compares its CUDA with torch's during import.
var importCheck = map[string][]string{
	"torchaudio":  {"https://github.com/pytorch/audio/blob/v2.8.0/src/torchaudio/_extension/utils.py"},
	"torchvision": {"https://github.com/pytorch/vision/blob/v0.16.0/torchvision/extension.py"},
}

// companionPins returns the companion for the installed torch. If torch stands beside libraries of another release, or
// an engine needs another torch, it returns a set that fits together.
func companionPins(m *model.Machine, name, want, index string, b *model.Build) []verdict.Pin {
	if name != "triton" {
		if environment.HasMixedWheels(b) {
			return environment.RequirementPins(m, b)
		}
		if pins := environment.EnginePins(m, b); len(pins) > 0 {
			return pins
		}
	}
	install := pin.Install{Packages: []string{name + "==" + want}, Index: index, NoDeps: index == "" && name != "triton"}
	if have := b.Env.Package(name); have != nil && strings.HasPrefix(have.Version, want+"+") {
		install.Again = true // an installer takes 2.11.1+cu126 for 2.11.1 and would leave it
	}
	return []verdict.Pin{{Package: name, Version: want, Why: "keeps torch and the driver", Commands: pins.Install(b.Place(), install)}}
}

// reportUnmetSymbols reports an extension whose libraries need another CUDA's runtime, or symbols of another release,
// than the installed torch has. It does not load on any GPU. Symbols that the loader cannot find are proof, so this is
// an error whatever the tables say, also for builds from source.
func reportUnmetSymbols(m *model.Machine, b *model.Build) []*rule.Result {
	if len(b.Unmet) == 0 {
		return nil
	}
	u := b.Unmet[0]
	f := verdict.Finding{Severity: verdict.Error, Subject: b.Subject, Need: u.Library + u.Symbol,
		Source:  []string{model.LoaderSource},
		Message: fmt.Sprintf("%s needs %s, which is missing: it was built for another CUDA", path.Base(u.By), u.Library),
		Steps:   []pin.Step{pin.Say("install the " + pin.Quoted(b.Name) + " that is made for the torch in " + pin.Word(b.Env.Path))}}
	if u.Library == "" {
		f.Message = fmt.Sprintf("%s needs %s: it was built for another torch", path.Base(u.By), u.Symbol)
	}
	f.Evidence = append(b.Evidence(), verdict.Evidence{Fact: "not found", Value: verdict.Some(namesNotFound(b.Unmet)), From: u.By})
	torch := m.FrameworkOf(b)
	if u.Library != "" && torch != nil && torch.CUDANumber.Major() == b.CUDANumber.Major() { // NVIDIA's, and none of torch's
		f.Message = fmt.Sprintf("%s needs %s, which is missing", path.Base(u.By), u.Library)
		f.Steps = []pin.Step{pin.Say("install " + pin.Quoted(u.Library) + ", and start the program with an LD_LIBRARY_PATH that leads there")}
		return rule.ReportFinding(f)
	}
	if torch != nil {
		f.Message += " than torch " + torch.Version
		f.Evidence = append(f.Evidence, torch.Evidence()...)
		if want, index := environment.FindCompanion(m, torch, b.Name); want != "" && m.Tables.Trait("companion", b.Name, version.Number{}) {
			f.Pins, f.Steps = companionPins(m, b.Name, want, index, torch), nil
		} else if p := b.Env.Package(b.Name); p != nil {
			f.Steps = extensionSteps(m, p, torch)
		}
	}
	// torchao skips the libraries that were compiled for another torch and imports without them (its wheel, trait.csv).
	if m.Tables.Trait("skips-libraries", b.Name, version.Number{}) {
		f.Severity, f.Message = verdict.Note, f.Message+"; "+b.Name+" is imported without it"
	}
	return rule.ReportFinding(f)
}

// namesNotFound names what was not found, each once.
func namesNotFound(list []facts.Unresolved) []string {
	var names []string
	for _, u := range list {
		if name := u.Library + u.Symbol; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
