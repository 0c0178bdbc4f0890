package build

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/internal/rules/rule"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// JITTooOldForGPU reports a run-time compiler that does not know the GPU. Prebuilt kernels of the same major version
// run (8.6 on 8.9), so it is a warning. If only NVRTC is too old it is a note, because torch then asks it for PTX of
// the newest kind that it knows, though not yet in 1.7 (https://github.com/pytorch/pytorch/issues/48200). The
// compiler's version is read and not inferred from torch's CUDA: torch 2.9.0+cu130 brings Triton 3.5.0, whose ptxas is
// from CUDA 12.8 and knows neither 10.3 nor 12.1.
func JITTooOldForGPU(m *model.Machine, b *model.Build) []*rule.Result {
	if b.Device != "cuda" || !b.IsFramework() || len(m.GPUs) == 0 {
		return nil
	}
	judged := false
	// Check ptxas first: without it every kernel of Triton fails, while only a few operators use NVRTC.
	for _, g := range m.GPUs {
		if c := assembler(m, b, g); c != nil {
			if judged = true; c.Older(g) {
				return rule.ReportFinding(jitFinding(m, b, g, *c, verdict.Warning))
			}
		}
	}
	for _, g := range m.GPUs {
		if c := nvrtc(b); c != nil {
			if judged = true; c.Older(g) {
				severity := verdict.Note
				// These releases ask NVRTC for the GPU's own capability, which it refuses (trait.csv).
				if m.Tables.Trait("nvrtc-fails", b.Name, b.Release.Number) {
					severity = verdict.Warning
				}
				return rule.ReportFinding(jitFinding(m, b, g, *c, severity))
			}
		}
	}
	switch {
	case slices.ContainsFunc(m.GPUs, func(g hardware.GPU) bool { return unreadTriton(m, b, g) }):
		return rule.ReportMissing(b.Subject, verdict.Question("which Triton it brings on "+m.Platform))
	case !judged:
		return nil
	}
	return rule.Pass(b.Subject)
}

// unreadTriton reports whether torch's row names no Triton, and the Triton of the same release on x86-64 is too old for
// a GPU. A row without a Triton does not prove that the wheel brings none.
func unreadTriton(m *model.Machine, b *model.Build, g hardware.GPU) bool {
	if release, _ := triton(m, b); b.Name != "torch" || b.Path != "" || len(b.Rows) == 0 || release.Known() || m.Platform != "linux_aarch64" {
		return false
	}
	return slices.ContainsFunc(m.Tables.Torch(b.Rows[0].Release, "linux_x86_64"), func(twin tables.Torch) bool {
		row := m.Tables.Triton(version.ParseOrZero(twin.Triton))
		if row == nil {
			return false
		}
		ptxas := row.PTXAS
		if g.Capability.Major >= hardware.Blackwell && row.PTXASBlackwell.Known() {
			ptxas = row.PTXASBlackwell
		}
		c := hardware.JITCompiler{Version: ptxas}
		return c.Older(g)
	})
}

// jitFinding returns the finding about a compiler that is older than the first CUDA for the GPU. That CUDA must be
// known.
func jitFinding(m *model.Machine, b *model.Build, g hardware.GPU, c hardware.JITCompiler, severity verdict.Severity) verdict.Finding {
	first := g.Chip.FirstCUDA
	f := verdict.Finding{Severity: severity, Subject: b.Subject, Source: g.Chip.Source,
		Need:    c.Name + " from CUDA >= " + first.Short(),
		Message: fmt.Sprintf("%s comes from CUDA %s, which does not support %s: prebuilt kernels run, but code that is compiled at run time fails", c.Name, c.Version.Short(), g.Label),
		Evidence: append(b.Evidence(), verdict.Evidence{Fact: c.Name, Value: c.Version.String(), From: c.From},
			verdict.Evidence{Fact: "GPU", Value: g.Label, From: g.From})}
	if severity == verdict.Note {
		f.Message = fmt.Sprintf("%s comes from CUDA %s, which does not support %s: what torch compiles with it is made for an older GPU, or fails", c.Name, c.Version.Short(), g.Label)
	}
	// Offer only releases that compile for every GPU here. Another release would get the same warning.
	f.Pins = pins.Among(m, b, slices.DeleteFunc(slices.Clone(pins.Ranked(m, b)), func(r model.Row) bool {
		return !m.Assembles(r) || r.CUDA.LessShort(first)
	}))
	f.Steps = []pin.Step{pin.Say("do not use torch.compile, Triton or other code that is compiled at run time").Instead()}
	// No variable selects another NVRTC.
	if strings.HasPrefix(c.Name, "Triton") {
		_, variable := tritonTool(m, b, g)
		f.Steps = append(f.Steps, pin.Run(fmt.Sprintf("export %s=/usr/local/cuda-%s/bin/ptxas", variable, first.Short())).Explained(
			"points to the one of that toolkit").Instead())
	}
	return f
}

// tritonTool returns the name of the ptxas that Triton uses for a GPU, and the variable that selects another
// (python/triton/knobs.py).
func tritonTool(m *model.Machine, b *model.Build, g hardware.GPU) (name, variable string) {
	// Triton 3.3, and 3.6 and newer, bring a second ptxas for capability 10 and up (table triton).
	if g.Capability.Major >= hardware.Blackwell && twoAssemblers(m, b) {
		return "ptxas-blackwell", "TRITON_PTXAS_BLACKWELL_PATH"
	}
	return "ptxas", "TRITON_PTXAS_PATH"
}

// assembler returns the ptxas that the build starts for a GPU: Triton's for torch, that of NVIDIA's wheel for the
// others. Its bytes take precedence over its wheel's version. It returns nil if neither is known. The toolkit's ptxas
// is never started.
func assembler(m *model.Machine, b *model.Build, g hardware.GPU) *hardware.JITCompiler {
	if b.Name != "torch" {
		return nvcc(b)
	}
	name, variable := tritonTool(m, b, g)
	for _, by := range []struct{ by, words string }{{variable, variable}, {"triton", "Triton's " + name}} {
		if a := assemblerNamed(b.Env, name, by.by); a != nil {
			return assemblerIfRead(by.words, a)
		}
	}
	release, from := triton(m, b)
	row := m.Tables.Triton(release)
	switch {
	case row == nil:
		return nil
	// Releases with a single ptxas use it for every GPU. The others use it for capabilities below 10.
	case name == "ptxas":
		return compilerIfRead(hardware.JITCompiler{Name: "Triton's ptxas", Version: row.PTXAS, From: from})
	}
	return compilerIfRead(hardware.JITCompiler{Name: "Triton's " + name, Version: row.PTXASBlackwell, From: from})
}

// compilerIfRead returns a compiler if its version was read, otherwise nil.
func compilerIfRead(c hardware.JITCompiler) *hardware.JITCompiler {
	if !c.Version.Known() {
		return nil
	}
	return &c
}

// assemblerNamed returns the assembler with a given name and package, or nil.
func assemblerNamed(e *model.Environment, name, by string) *facts.Assembler {
	i := slices.IndexFunc(e.Assemblers, func(a facts.Assembler) bool { return a.Name == name && a.By == by })
	if i < 0 {
		return nil
	}
	return &e.Assemblers[i]
}

// twoAssemblers reports whether the build's Triton has a second ptxas for capability 10 and newer. Its files take
// precedence over the table, which only knows releases.
func twoAssemblers(m *model.Machine, b *model.Build) bool {
	if slices.ContainsFunc(b.Env.Assemblers, func(a facts.Assembler) bool { return a.By == "triton" }) {
		return assemblerNamed(b.Env, "ptxas-blackwell", "triton") != nil
	}
	release, _ := triton(m, b)
	row := m.Tables.Triton(release)
	return row != nil && row.PTXASBlackwell.Known()
}

// triton returns the Triton release beside a torch: the installed one, or, if a file names torch, the one that torch
// brings. An installed torch without Triton has none, whatever its release brings.
func triton(m *model.Machine, b *model.Build) (release version.Number, from string) {
	for _, name := range []string{"triton", "pytorch-triton"} {
		if p := b.Env.Package(name); p != nil {
			return p.Number, p.Path
		}
	}
	if b.Path != "" || len(b.Rows) == 0 {
		return version.Number{}, ""
	}
	for _, c := range b.Rows[0].Companions {
		if c.Package == "triton" {
			return version.ParseOrZero(c.Version), "table row " + b.Rows[0].Release + " " + b.Rows[0].Variant
		}
	}
	return version.Number{}, ""
}

// nvcc returns the ptxas of NVIDIA's wheel, which JAX and TensorFlow start. The XLA in JAX's wheels (0.5 to 0.8 were
// examined) has neither nvJitLink nor a compiler of its own.
func nvcc(b *model.Build) *hardware.JITCompiler {
	if a := assemblerNamed(b.Env, "ptxas", "nvcc"); a != nil {
		return assemblerIfRead("the ptxas of NVIDIA's wheel", a)
	}
	return wheel(b, "nvidia-cuda-nvcc", "the ptxas of NVIDIA's wheel")
}

// nvrtc returns torch's other run-time compiler: the one that the loader takes, otherwise the wheel's, which is often
// newer than the build, otherwise that of torch's own CUDA.
func nvrtc(b *model.Build) *hardware.JITCompiler {
	if b.Name != "torch" {
		return nil
	}
	// NVRTC 11.2 to 11.8 all have the soname of 11.2, so only a version that was read counts.
	for _, t := range b.TakenFiles {
		if strings.HasPrefix(t.Name, "libnvrtc") && t.Number.Known() {
			return &hardware.JITCompiler{Name: "NVRTC", Version: t.Number, From: t.Path + ", taken by " + t.Reason}
		}
	}
	if c := wheel(b, "nvidia-cuda-nvrtc", "NVRTC"); c != nil {
		return c
	}
	// NGC's builds and builds from source may stand beside the NVRTC of any toolkit.
	if b.CUDANumber.Parts() < 2 || !b.Official() && b.Origin != "conda" {
		return nil
	}
	return &hardware.JITCompiler{Name: "NVRTC", Version: b.CUDANumber, From: cmp.Or(b.From, b.Path)}
}

// wheel returns a compiler that one of NVIDIA's wheels brings.
func wheel(b *model.Build, name, words string) *hardware.JITCompiler {
	for _, wheel := range []string{fmt.Sprintf("%s-cu%d", name, b.CUDANumber.Major()), name} {
		if p := b.Env.Package(wheel); p != nil {
			return &hardware.JITCompiler{Name: words, Version: p.Number, From: p.Path}
		}
	}
	return nil
}

// assemblerIfRead returns a compiler whose version was read, otherwise nil.
func assemblerIfRead(words string, a *facts.Assembler) *hardware.JITCompiler {
	return compilerIfRead(hardware.JITCompiler{Name: words, Version: version.ParseOrZero(a.Version), From: a.Path})
}
