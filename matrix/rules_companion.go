package matrix

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/pin"
	"cudacompat/probe/facts"
)

// companionMismatch: torchvision, torchaudio, torchcodec and Triton are made for one torch. What their libraries want
// and do not find beside torch decides; where only versions are known, the tables do. torch's C++ interface changes
// with every minor release, and pip lets any pair in: neither torchaudio nor torchcodec requires a version of torch.
func companionMismatch(m *machine, b *build) []*result {
	if b.Extension && m.t.Trait("companion", b.Name, version.Number{}) {
		if open := m.untold(b); open != nil {
			return open
		}
		return m.unmet(b)
	}
	// The table pairs official releases only; NGC's and source builds may have been built with their companions.
	if b.Name != "torch" || !b.official() || len(b.rows) == 0 {
		return nil
	}
	table := m.t.Torch(b.rows[0].Release, m.platform)[0]
	var results []*result
	for _, c := range []struct{ name, want string }{{"torchvision", table.Torchvision}, {"torchaudio", table.Torchaudio},
		{"triton", table.Triton}} {
		have := b.env.Package(c.name)
		// torchaudio ended with 2.11.0: no row of torch 2.15 names one, but its own check of CUDA still applies. Where its
		// files show that it does not load, that was said already.
		if have == nil || c.want == "" && c.name != "torchaudio" || b.env.unmet(c.name) {
			continue
		}
		if f, bad := m.companion(b, have, c.want); bad {
			results = append(results, found(f)...)
		} else {
			results = append(results, holds(f.Subject)...)
		}
	}
	return append(results, m.codec(b)...)
}

// codec: the torch for which a torchcodec that a file names was built, as its own page pairs them. A warning, since some
// releases load beside the next torch, too: 0.7.0, of torch 2.8, lacks no symbol of torch 2.9.0, 0.1.0 lacks nine. Of an
// installed one its files tell (unmet).
func (m *machine) codec(b *build) []*result {
	i := slices.IndexFunc(m.names, func(n *named) bool {
		return n.Name == "torchcodec" && n.env == b.env.Environment && len(n.rows) > 0 && len(n.rows[0].Torch) > 0
	})
	if i < 0 {
		return nil
	}
	codec := m.names[i]
	row := codec.rows[0]
	if codec.cuda.Known() && b.cuda.Known() && codec.cuda.Major() != b.cuda.Major() {
		return found(m.codecCUDA(codec, b))
	}
	if !otherTorch(row.Torch, b.release.Number) {
		return holds(codec.subject())
	}
	want := strings.Join(row.Torch, " or ")
	return found(Finding{Severity: Warning, Subject: codec.subject(), Need: "torch " + want, Source: row.Source,
		Message:  fmt.Sprintf("%s was built for torch %s; beside torch %s it may not load", codec.subject(), want, b.Version),
		Evidence: append(b.evidence(), Evidence{Fact: codec.Name, Value: codec.Version, From: codec.From}),
		Steps:    m.codecSteps(b)})
}

// codecCUDA: a torchcodec opens the runtime of its own CUDA, which a torch of another one does not bring.
func (m *machine) codecCUDA(codec *named, b *build) Finding {
	return Finding{Severity: Error, Subject: codec.subject(), Need: "a torchcodec for CUDA " + b.cuda.Short(),
		Source: codec.rows[0].Source, Steps: m.codecSteps(b),
		Message: fmt.Sprintf("torchcodec %s was built for CUDA %s, torch %s for CUDA %s: it does not load", codec.Version,
			codec.cuda, b.Version, b.cuda.Short()),
		Evidence: append(b.evidence(), Evidence{Fact: codec.Name, Value: codec.Version, From: codec.From})}
}

// codecSteps names the newest torchcodec for a torch.
func (m *machine) codecSteps(b *build) []pin.Step {
	for _, e := range slices.Backward(tables.RowsOf[tables.Extension](m.t, "torchcodec")) {
		if len(e.Torch) > 0 && !otherTorch(e.Torch, b.release.Number) {
			return []pin.Step{b.env.installStep(pin.Install{Packages: []string{"torchcodec==" + e.Release}, NoDeps: true}).That(
				"fits torch " + b.release.Number.Short())}
		}
	}
	return []pin.Step{pin.Say("install the torch that it was made for")}
}

// companion compares one of them by its version. torchvision's and torchaudio's is the mistake, not torch's; Triton's
// is felt where torch compiles.
func (m *machine) companion(b *build, have *installed, want string) (Finding, bool) {
	r := have.release()
	f := Finding{Severity: Warning, Subject: b.subject, Need: have.Name + " " + want,
		Source:   []string{"https://github.com/pytorch/vision#installation"},
		Message:  fmt.Sprintf("%s %s was built for another torch; %s needs %s", have.Name, have.Version, b.Version, want),
		Evidence: append(b.evidence(), Evidence{Fact: have.Name, Value: have.Version, From: have.Path})}
	// torch itself works without its companion, so the companion's answer is the one that breaks.
	if have.Name != "triton" {
		f.Subject = Subject(&facts.Build{Name: have.Name, Version: have.Version}, b.env.Environment)
	}
	switch {
	// A companion's nightly or pre-release is for a torch that the table does not pair with it.
	case !r.Number.Known() || !r.Final():
		return f, false
	// Its own check at import decides before any version is compared.
	case have.Name == "torchaudio" && m.otherAudio(b, r).Known():
		return m.audio(b, have, want, f), true
	// torchaudio 2.11.0 is the companion of torch 2.12 to 2.14: it is built on torch's stable ABI.
	case want == "" || m.t.Trait("stable-abi", have.Name, r.Number) &&
		m.t.Trait("stable-abi", have.Name, version.Of(want)):
		return f, false
	// A patch does not matter. Another release of torchaudio is only a warning, because unmet judges its libraries where
	// they were read; one of Triton, because it fails only where torch compiles.
	case r.Number.Short() != version.Of(want).Short():
		// Its operators are registered for one torch (`operator torchvision::nms does not exist`).
		if have.Name == "torchvision" {
			f.Severity = Error
		}
	// Of the right release, for another CUDA: torchvision raises RuntimeError when it is imported.
	case have.Name == "torchvision" && m.differentCUDA(r, b):
		f.Severity = Error
		f.Message = fmt.Sprintf("torchvision %s was built for another CUDA than torch %s", have.Version, b.Version)
	default:
		return f, false
	}
	f.Pins = m.companionPins(have.Name, want, b)
	return f, true
}

// differentCUDA compares as torchvision itself does when it is imported: minor versions up to 0.15, majors since
// (torchvision/extension.py of v0.15.2 and v0.16.0). So cu126 beside cu128 is sound from 0.16 on.
func (m *machine) differentCUDA(vision version.Release, b *build) bool {
	cuda, ok := vision.LocalCUDA()
	if !ok || !b.cuda.Known() {
		return false
	}
	if m.t.Trait("same-cuda-minor", "torchvision", vision.Number) {
		return cuda.Short() != b.cuda.Short()
	}
	return cuda.Major() != b.cuda.Major()
}

// companionPins is the companion of the torch that is there; or, where torch itself stands beside another release's
// libraries, or an engine is made for another torch, what puts all of them together again.
func (m *machine) companionPins(name, want string, b *build) []Pin {
	if name != "triton" {
		if b.besideOwn() {
			return m.required(b)
		}
		if pins := m.engineFirst(b); len(pins) > 0 {
			return pins
		}
	}
	return companionPin(name, want, b)
}

// companionPin is the companion of the torch that is there, from the index that its variant is on. Triton has no
// variants.
func companionPin(name, want string, b *build) []Pin {
	spec := name + "==" + want
	index := ""
	if variant := b.rows[0].Variant; name != "triton" && len(b.rows) == 1 {
		spec += "+" + variant
		index = torchIndex(variant)
	}
	return []Pin{{Package: name, Version: strings.TrimPrefix(spec, name+"=="), Why: "keeps torch and the driver",
		Commands: b.env.install(pin.Install{Packages: []string{spec}, Index: index})}}
}

// audio: torchaudio compares its CUDA with torch's when it is imported, minor versions too, and raises RuntimeError.
func (m *machine) audio(b *build, have *installed, want string, f Finding) Finding {
	r := have.release()
	f.Severity, f.Need = Error, "a torchaudio for CUDA "+b.cuda.Short()
	f.Message = fmt.Sprintf("torchaudio %s was built for CUDA %s, torch %s for CUDA %s: importing torchaudio "+
		"fails", have.Version,
		m.otherAudio(b, r).Short(), b.Version, b.cuda.Short())
	f.Source = []string{"https://github.com/pytorch/audio/blob/v2.8.0/src/torchaudio/_extension/utils.py"}
	if want != "" {
		f.Pins = m.companionPins(have.Name, want, b)
	} else {
		f.Steps = []pin.Step{pin.Say("install a torch for which there is a torchaudio of its CUDA (cudacompat matrix torch)"),
			pin.Say("do without torchaudio").Instead()}
	}
	return f
}

// otherAudio is the CUDA of a torchaudio that is not torch's: by what the installed one says of itself (version.py), by
// its local version, or, without one, by the default of the release of torch that it came out with, because only the
// default index has it so. PyPI's torch 2.15.0 is for CUDA 13.2 and its torchaudio 2.11.0 for 13.0. Not known where it
// is torch's, or where nothing tells.
func (m *machine) otherAudio(b *build, audio version.Release) version.Number {
	if audio.Local == "" && (b.Index == "" || b.Index == "default") {
		audio.Local = m.defaultVariant("torch", audio)
	}
	cuda, _ := audio.LocalCUDA()
	for _, o := range b.env.Builds {
		if own := version.Of(o.CUDA); o.Name == "torchaudio" && own.Parts() > 1 {
			cuda = own
		}
	}
	if !m.t.Trait("same-cuda-minor", "torchaudio", audio.Number) || b.cuda.Parts() < 2 || cuda.Short() == b.cuda.Short() {
		return version.Number{}
	}
	return cuda
}

// companionOf is the release of a companion that a torch's row names; empty where none does.
func (m *machine) companionOf(torch *build, name string) string {
	if len(torch.rows) == 0 {
		return ""
	}
	table := m.t.Torch(torch.rows[0].Release, m.platform)[0]
	return map[string]string{"torchvision": table.Torchvision, "torchaudio": table.Torchaudio}[name]
}

// unmet: what an extension's libraries need is not of the torch that is there: the runtime of another CUDA, or symbols
// of another release. It does not load, on any GPU. Symbols that the loader misses are proof, so this is an error
// whatever the tables say, and for builds from source, too.
func (m *machine) unmet(b *build) []*result {
	if len(b.Unmet) == 0 {
		return nil
	}
	u := b.Unmet[0]
	f := Finding{Severity: Error, Subject: b.subject, Need: u.Library + u.Symbol,
		Source:  []string{loaderSource},
		Message: fmt.Sprintf("%s needs %s, which is missing: it was built for another CUDA", path.Base(u.By), u.Library),
		Steps:   []pin.Step{pin.Say("install the " + pin.Said(b.Name) + " that is made for the torch in " + pin.Word(b.env.Path))}}
	if u.Library == "" {
		f.Message = fmt.Sprintf("%s needs %s: it was built for another torch", path.Base(u.By), u.Symbol)
	}
	f.Evidence = append(b.evidence(), Evidence{Fact: "not found", Value: some(notFound(b.Unmet)), From: u.By})
	if torch := m.frameworkOf(b); torch != nil {
		f.Message += " than torch " + torch.Version
		f.Evidence = append(f.Evidence, torch.evidence()...)
		if want := m.companionOf(torch, b.Name); want != "" {
			f.Pins, f.Steps = m.companionPins(b.Name, want, torch), nil
		} else if p := b.env.Package(b.Name); p != nil {
			f.Steps = m.extensionSteps(p, torch)
		}
	}
	// torchao does not load what was compiled for another torch, and is imported without it (its wheel, trait.csv).
	if m.t.Trait("skips-libraries", b.Name, version.Number{}) {
		f.Severity, f.Message = Note, f.Message+"; "+b.Name+" is imported without it"
	}
	return found(f)
}

// unmet reports whether a package's own libraries say that they do not load beside torch.
func (e *environment) unmet(name string) bool {
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
