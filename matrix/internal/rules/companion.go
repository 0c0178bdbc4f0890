package rules

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// companionMismatch: torchvision, torchaudio, torchcodec and Triton are made for one torch. What their libraries want
// and do not find beside torch decides; where only versions are known, the tables do. torch's C++ interface changes
// with every minor release, and pip lets any pair in: neither torchaudio nor torchcodec requires a version of torch.
func companionMismatch(m *model.Machine, b *model.Build) []*Result {
	if b.Extension && m.Tables.Trait("companion", b.Name, version.Number{}) {
		if open := untold(m, b); open != nil {
			return open
		}
		return unmet(m, b)
	}
	// The table pairs official releases only; NGC's and source builds may have been built with their companions.
	if b.Name != "torch" || !b.Official() || len(b.Rows) == 0 {
		return nil
	}
	table := m.Tables.Torch(b.Rows[0].Release, m.Platform)[0]
	var results []*Result
	for _, c := range []struct{ name, want string }{{"torchvision", table.Torchvision}, {"torchaudio", table.Torchaudio},
		{"triton", table.Triton}} {
		have := b.Env.Package(c.name)
		// torchaudio ended with 2.11.0: no row of torch 2.15 names one, but its own check of CUDA still applies. Where its
		// files show that it does not load, that was said already.
		if have == nil || c.want == "" && c.name != "torchaudio" || unmetLibraries(b.Env, c.name) {
			continue
		}
		if f, bad := companion(m, b, have, c.want); bad {
			results = append(results, oneFinding(f)...)
		} else {
			results = append(results, holds(f.Subject)...)
		}
	}
	return append(results, codec(m, b)...)
}

// codec: the torch for which a torchcodec that a file names was built, as its own page pairs them. A warning, since some
// releases load beside the next torch, too: 0.7.0, of torch 2.8, lacks no symbol of torch 2.9.0, 0.1.0 lacks nine. Of an
// installed one its files tell (unmet).
func codec(m *model.Machine, b *model.Build) []*Result {
	i := slices.IndexFunc(m.RequestedPackages, func(n *model.RequestedPackage) bool {
		return n.Name == "torchcodec" && n.Environment == b.Env.Environment && len(n.Rows) > 0 && len(n.Rows[0].Torch) > 0
	})
	if i < 0 {
		return nil
	}
	codec := m.RequestedPackages[i]
	row := codec.Rows[0]
	if codec.CUDANumber.Known() && b.CUDANumber.Known() && codec.CUDANumber.Major() != b.CUDANumber.Major() {
		return oneFinding(codecCUDA(m, codec, b))
	}
	if !model.OtherTorch(row.Torch, b.Release.Number) {
		return holds(codec.Subject())
	}
	want := strings.Join(row.Torch, " or ")
	return oneFinding(verdict.Finding{Severity: verdict.Warning, Subject: codec.Subject(), Need: "torch " + want, Source: row.Source,
		Message:  fmt.Sprintf("%s was built for torch %s; beside torch %s it may not load", codec.Subject(), want, b.Version),
		Evidence: append(b.Evidence(), verdict.Evidence{Fact: codec.Name, Value: codec.Version, From: codec.From}),
		Steps:    codecSteps(m, b)})
}

// codecCUDA: a torchcodec opens the runtime of its own CUDA, which a torch of another one does not bring.
func codecCUDA(m *model.Machine, codec *model.RequestedPackage, b *model.Build) verdict.Finding {
	return verdict.Finding{Severity: verdict.Error, Subject: codec.Subject(), Need: "a torchcodec for CUDA " + b.CUDANumber.Short(),
		Source: codec.Rows[0].Source, Steps: codecSteps(m, b),
		Message: fmt.Sprintf("torchcodec %s was built for CUDA %s, torch %s for CUDA %s: it does not load", codec.Version,
			codec.CUDANumber, b.Version, b.CUDANumber.Short()),
		Evidence: append(b.Evidence(), verdict.Evidence{Fact: codec.Name, Value: codec.Version, From: codec.From})}
}

// codecSteps names the newest torchcodec for a torch.
func codecSteps(m *model.Machine, b *model.Build) []pin.Step {
	for _, e := range slices.Backward(tables.RowsOf[tables.Extension](m.Tables, "torchcodec")) {
		if len(e.Torch) > 0 && !model.OtherTorch(e.Torch, b.Release.Number) {
			return []pin.Step{pins.InstallStep(b.Env, pin.Install{Packages: []string{"torchcodec==" + e.Release}, NoDeps: true}).Explained(
				"fits torch " + b.Release.Number.Short())}
		}
	}
	return []pin.Step{pin.Say("install the torch that it was made for")}
}

// companion compares one of them by its version. torchvision's and torchaudio's is the mistake, not torch's; Triton's
// is felt where torch compiles.
func companion(m *model.Machine, b *model.Build, have *model.Installed, want string) (verdict.Finding, bool) {
	r := have.Release()
	f := verdict.Finding{Severity: verdict.Warning, Subject: b.Subject, Need: have.Name + " " + want,
		Source:   []string{"https://github.com/pytorch/vision#installation"},
		Message:  fmt.Sprintf("%s %s was built for another torch; %s needs %s", have.Name, have.Version, b.Version, want),
		Evidence: append(b.Evidence(), verdict.Evidence{Fact: have.Name, Value: have.Version, From: have.Path})}
	// torch itself works without its companion, so the companion's answer is the one that breaks.
	if have.Name != "triton" {
		f.Subject = model.Subject(&facts.Build{Name: have.Name, Version: have.Version}, b.Env.Environment)
	}
	switch {
	// A companion's nightly or pre-release is for a torch that the table does not pair with it.
	case !r.Number.Known() || !r.Final():
		return f, false
	// Its own check at import decides before any version is compared.
	case have.Name == "torchaudio" && otherAudio(m, b, r).Known():
		return audio(m, b, have, want, f), true
	// torchaudio 2.11.0 is the companion of torch 2.12 to 2.14: it is built on torch's stable ABI.
	case want == "" || m.Tables.Trait("stable-abi", have.Name, r.Number) &&
		m.Tables.Trait("stable-abi", have.Name, version.Of(want)):
		return f, false
	// A patch does not matter. Another release of torchaudio is only a warning, because unmet judges its libraries where
	// they were read; one of Triton, because it fails only where torch compiles.
	case r.Number.Short() != version.Of(want).Short():
		// Its operators are registered for one torch (`operator torchvision::nms does not exist`).
		if have.Name == "torchvision" {
			f.Severity = verdict.Error
		}
	// Of the right release, for another CUDA: torchvision raises RuntimeError when it is imported.
	case have.Name == "torchvision" && differentCUDA(m, r, b):
		f.Severity = verdict.Error
		f.Message = fmt.Sprintf("torchvision %s was built for another CUDA than torch %s", have.Version, b.Version)
	case withoutCUDA(r, b, have.Name) != "":
		f.Need = "a " + have.Name + " for CUDA " + b.CUDANumber.Short()
		f.Message = fmt.Sprintf("%s %s was built for %s, torch %s for CUDA %s: its operators do not run on the GPU", have.Name,
			have.Version, withoutCUDA(r, b, have.Name), b.Version, b.CUDANumber.Short())
	default:
		return f, false
	}
	f.Pins = companionPins(m, have.Name, want, b)
	return f, true
}

// differentCUDA reports whether torchvision refuses the CUDA that torch was built for.
func differentCUDA(m *model.Machine, vision version.Release, b *model.Build) bool {
	cuda, ok := vision.LocalCUDA()
	return ok && b.CUDANumber.Known() && refusesCUDA(m, "torchvision", vision.Number, cuda, b.CUDANumber)
}

// refusesCUDA reports whether a companion that was built for one CUDA fails to import beside a torch for another. It
// compares as the companion itself does: torchvision up to 0.15 and torchaudio up to 2.11.0 compare major and minor
// version, later releases the major version alone (torchvision/extension.py, torchaudio/_extension/utils.py). So cu130
// beside cu132 is sound from then on.
func refusesCUDA(m *model.Machine, name string, release, own, torch version.Number) bool {
	if m.Tables.Trait("same-cuda-minor", name, release) {
		return own.Short() != torch.Short()
	}
	return own.Major() != torch.Major()
}

// withoutCUDA is what a companion was built for by its local version, where torch was built for CUDA: its check at import
// passes a build without CUDA, whose operators have no code for the GPU. torchaudio's for CPUs has none that torch lacks.
func withoutCUDA(r version.Release, b *model.Build, name string) string {
	switch {
	case !b.CUDANumber.Known():
	case strings.HasPrefix(r.Local, "rocm"):
		return "ROCm"
	case r.Local == "cpu" && name == "torchvision":
		return "CPUs"
	}
	return ""
}

// companionPins is the companion of the torch that is there; or, where torch itself stands beside another release's
// libraries, or an engine is made for another torch, what puts all of them together again.
func companionPins(m *model.Machine, name, want string, b *model.Build) []verdict.Pin {
	if name != "triton" {
		if besideOwn(b) {
			return requirementPins(m, b)
		}
		if pins := engineFirst(m, b); len(pins) > 0 {
			return pins
		}
	}
	return companionPin(name, want, b)
}

// companionPin is the companion of the torch that is there, from the index that its variant is on. Triton has no
// variants.
func companionPin(name, want string, b *model.Build) []verdict.Pin {
	spec := name + "==" + want
	index := ""
	if variant := b.Rows[0].Variant; name != "triton" && len(b.Rows) == 1 {
		spec += "+" + variant
		index = pins.TorchIndex(variant)
	}
	return []verdict.Pin{{Package: name, Version: strings.TrimPrefix(spec, name+"=="), Why: "keeps torch and the driver",
		Commands: pins.Install(b.Env, pin.Install{Packages: []string{spec}, Index: index})}}
}

// audio returns the finding about a torchaudio that compares its CUDA with torch's at import and raises RuntimeError.
func audio(m *model.Machine, b *model.Build, have *model.Installed, want string, f verdict.Finding) verdict.Finding {
	r := have.Release()
	needed := b.CUDANumber.Short()
	if !m.Tables.Trait("same-cuda-minor", have.Name, r.Number) {
		needed = strconv.Itoa(b.CUDANumber.Major())
	}
	f.Severity, f.Need = verdict.Error, "a torchaudio for CUDA "+needed
	f.Message = fmt.Sprintf("torchaudio %s was built for CUDA %s, torch %s for CUDA %s: importing torchaudio fails", have.Version,
		otherAudio(m, b, r).Short(), b.Version, b.CUDANumber.Short())
	f.Source = []string{"https://github.com/pytorch/audio/blob/v2.8.0/src/torchaudio/_extension/utils.py"}
	if want != "" {
		f.Pins = companionPins(m, have.Name, want, b)
	} else {
		f.Steps = []pin.Step{pin.Say("install a torch for which there is a torchaudio of its CUDA (cudacompat matrix torch)"),
			pin.Say("do without torchaudio").Instead()}
	}
	return f
}

// otherAudio returns the CUDA of a torchaudio that does not fit torch's: by what the installed one says of itself (version.py), by
// its local version, or, without one, by the default of the release of torch that it came out with, because only the
// default index has it so. PyPI's torch 2.15.0 is for CUDA 13.2 and its torchaudio 2.11.0 for 13.0. Not known where it
// is torch's, or where nothing tells: torchaudio 2.11.1 came out with no torch, and is for CUDA 13.2.
func otherAudio(m *model.Machine, b *model.Build, audio version.Release) version.Number {
	if audio.Local == "" && (b.Index == "" || b.Index == "default") && pairedAudio(m, audio.Number) {
		audio.Local = m.DefaultVariant("torch", audio)
	}
	cuda, _ := audio.LocalCUDA()
	for _, o := range b.Env.Builds {
		if own := version.Of(o.CUDA); o.Name == "torchaudio" && own.Parts() > 1 {
			cuda = own
		}
	}
	if cuda.Known() && b.CUDANumber.Parts() > 1 && refusesCUDA(m, "torchaudio", audio.Number, cuda, b.CUDANumber) {
		return cuda
	}
	return version.Number{}
}

// pairedAudio reports whether a release of torchaudio is the companion of some torch: of another one no table tells for
// which torch and CUDA it was built.
func pairedAudio(m *model.Machine, release version.Number) bool {
	return slices.ContainsFunc(tables.Rows[tables.Torch](m.Tables), func(t tables.Torch) bool {
		return version.Of(t.Torchaudio).Compare(release) == 0
	})
}

// companionOf is the release of a companion that a torch's row names; empty where none does.
func companionOf(m *model.Machine, torch *model.Build, name string) string {
	if len(torch.Rows) == 0 {
		return ""
	}
	table := m.Tables.Torch(torch.Rows[0].Release, m.Platform)[0]
	return map[string]string{"torchvision": table.Torchvision, "torchaudio": table.Torchaudio}[name]
}

// unmet: what an extension's libraries need is not of the torch that is there: the runtime of another CUDA, or symbols
// of another release. It does not load, on any GPU. Symbols that the loader misses are proof, so this is an error
// whatever the tables say, and for builds from source, too.
func unmet(m *model.Machine, b *model.Build) []*Result {
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
	f.Evidence = append(b.Evidence(), verdict.Evidence{Fact: "not found", Value: verdict.Some(notFound(b.Unmet)), From: u.By})
	torch := m.FrameworkOf(b)
	if u.Library != "" && torch != nil && torch.CUDANumber.Major() == b.CUDANumber.Major() { // NVIDIA's, and none of torch's
		f.Message = fmt.Sprintf("%s needs %s, which is missing", path.Base(u.By), u.Library)
		f.Steps = []pin.Step{pin.Say("install " + pin.Quoted(u.Library) + ", and start the program with an LD_LIBRARY_PATH that leads there")}
		return oneFinding(f)
	}
	if torch != nil {
		f.Message += " than torch " + torch.Version
		f.Evidence = append(f.Evidence, torch.Evidence()...)
		if want := companionOf(m, torch, b.Name); want != "" {
			f.Pins, f.Steps = companionPins(m, b.Name, want, torch), nil
		} else if p := b.Env.Package(b.Name); p != nil {
			f.Steps = extensionSteps(m, p, torch)
		}
	}
	// torchao does not load what was compiled for another torch, and is imported without it (its wheel, trait.csv).
	if m.Tables.Trait("skips-libraries", b.Name, version.Number{}) {
		f.Severity, f.Message = verdict.Note, f.Message+"; "+b.Name+" is imported without it"
	}
	return oneFinding(f)
}

// unmetLibraries reports whether a package's own libraries say that they do not load beside torch.
func unmetLibraries(e *model.Environment, name string) bool {
	return slices.ContainsFunc(e.Builds, func(b facts.Build) bool { return b.Name == name && len(b.Unmet) > 0 })
}

// notFound names what was not found, each once.
func notFound(list []facts.Unresolved) []string {
	var names []string
	for _, u := range list {
		if name := u.Library + u.Symbol; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
