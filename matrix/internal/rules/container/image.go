package container

import (
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/version"
	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/rules/rule"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
)

// JudgeBaseImage reports an image whose own CUDA libraries and compiler no longer support a GPU. What else runs in the
// image is unknown.
func JudgeBaseImage(m *model.Machine, b *model.Build) []*rule.Result {
	for _, g := range m.GPUs {
		if g.Chip != nil && g.Chip.LastCUDA.Known() && g.Chip.LastCUDA.LessShort(b.CUDANumber) {
			return rule.ReportUndecided(b.Subject, verdict.Question(fmt.Sprintf("whether what runs in the image has code for %s: CUDA %s itself has none, %s was the last that did", g.Label, b.CUDANumber.Short(), g.Chip.LastCUDA)))
		}
	}
	return nil
}

// imageRequirements returns the driver requirements of the images in a file, judged as Requirements judges a
// running image.
func imageRequirements(m *model.Machine) []*rule.Result {
	var results []*rule.Result
	for _, n := range m.Requested {
		require := n.Require()
		if require == nil || n.Origin != "image" || !m.Driver().Version.Known() || m.WindowsNumbers() || refusedImage(m, n) {
			continue
		}
		r := requirement{name: "NVIDIA_REQUIRE_CUDA of " + n.Name + ":" + n.Version, text: require.Text,
			from: n.From, source: n.RequireRow().Source, host: m.TargetWords(), of: m.TargetProperties()}
		results = append(results, r.judge(m, require.Expression, require.Err)...)
	}
	return results
}

// refusedImage reports whether the image's CUDA needs a newer driver, which driver-too-old already reports.
func refusedImage(m *model.Machine, n *model.Requested) bool {
	return slices.ContainsFunc(m.Builds, func(b *model.Build) bool {
		if b.Named != n {
			return false
		}
		state, _, _ := m.Floor(b.CUDANumber)
		return state == hardware.FloorBelow && !m.LetIn(b)
	})
}

// requirement is one NVIDIA_REQUIRE_* variable, with the properties of each GPU that it is compared with.
type requirement struct {
	name, text, from string
	source           []string
	host             string // for a sentence
	of               [][]version.Properties
}

// judge compares one variable with every GPU. It returns an error if expression cannot be parsed.
func (r requirement) judge(m *model.Machine, expression version.Requirement, err error) []*rule.Result {
	if err != nil {
		return rule.ReportMissing(r.name, verdict.Statement("an expression that can be read: "+err.Error()))
	}
	worst, but := version.Met, version.Properties{}
	for _, alternatives := range r.of {
		if got := hardware.OnEither(expression, alternatives); got < worst {
			worst, but = got, alternatives[0]
		}
	}
	switch worst {
	case version.Met:
		return rule.Pass(r.name)
	case version.Unsaid:
		return rule.ReportMissing(r.name, unsureWhy(m, but))
	}
	return rule.ReportFinding(r.reportUnmet(m, expression, but))
}

func (r requirement) reportUnmet(m *model.Machine, expression version.Requirement, but version.Properties) verdict.Finding {
	first, _, _ := strings.Cut(strings.TrimSpace(r.text), " ")
	f := verdict.Finding{Severity: verdict.Warning, Subject: r.name, Need: first, Source: append([]string{
		"https://github.com/NVIDIA/libnvidia-container/blob/5823754b8577d16fabf25a6ef6a1d58f7ff1e5dd/src/cli/dsl.c"},
		r.source...),
		Message: fmt.Sprintf("the image requires %s, but this is %s: a runtime in legacy mode refuses to start it", first,
			r.host),
		Evidence: []verdict.Evidence{{Fact: r.name, Value: r.text, From: r.from}, m.EvidenceDriver()},
		Steps: []pin.Step{pin.Say("update the host's driver"), pin.Say("use an image of an earlier CUDA").Instead(),
			pin.Say("start it with NVIDIA_DISABLE_REQUIRE=1, which skips the check").Instead()}}
	if r.from == "environment" {
		f.Evidence = append(f.Evidence, verdict.Evidence{Fact: "brand", Value: but.Brand, From: m.NVMLFrom()})
	}
	but.AnyBrand = true
	if expression.On(but) == version.Met {
		if r.from == "environment" { // this container was started
			f.Severity = verdict.Note
		}
		f.Message += "; it accepts this driver with GPUs of other brands, and the builds in the image are judged separately"
	}
	return f
}

// unsureWhy names the property that is not known.
func unsureWhy(m *model.Machine, p version.Properties) verdict.MissingFact {
	switch {
	case !p.Driver.Known():
		return verdict.NoDriver
	case !p.CUDA.Known():
		return verdict.Value("the driver's CUDA")
	case !p.NoGPU && p.Brand == "":
		return verdict.Statement("the GPU's brand, which NVML tells")
	}
	return verdict.Statement("a property that the requirement names")
}
