package matrix

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/version"
	"cudacompat/pin"
	"cudacompat/probe/facts"
)

// jitTooOldForGPU: what the build compiles at run time is for GPUs that its own compiler does not know. Prebuilt
// kernels of the same major run (8.6 on 8.9), so it is a warning and no error; only NVRTC too old is a note, since
// torch has it write PTX of the newest kind that it knows, though not yet in 1.7
// (https://github.com/pytorch/pytorch/issues/48200). The compiler is read and not inferred from torch's CUDA: torch
// 2.9.0+cu130 brings Triton 3.5.0, whose ptxas is of CUDA 12.8 and knows neither 10.3 nor 12.1.
func jitTooOldForGPU(m *machine, b *build) []*result {
	if b.accelerator != "cuda" || !b.framework() || len(m.gpus) == 0 {
		return nil
	}
	judged := false
	// ptxas goes first: without it every kernel of Triton fails, while NVRTC is used by a few operators only.
	for _, g := range m.gpus {
		if c := m.assembler(b, g); c != nil {
			if judged = true; c.older(g) {
				return found(m.jitFinding(b, g, *c, Warning))
			}
		}
	}
	for _, g := range m.gpus {
		if c := b.nvrtc(); c != nil {
			if judged = true; c.older(g) {
				severity := Note
				// Releases that ask NVRTC for the GPU's own capability, which it refuses (trait.csv).
				if m.t.Trait("nvrtc-fails", b.Name, b.release.Number) {
					severity = Warning
				}
				return found(m.jitFinding(b, g, *c, severity))
			}
		}
	}
	if !judged {
		return nil
	}
	return holds(b.subject)
}

// jitFinding is about a compiler that is older than the GPU's first CUDA, which is known then.
func (m *machine) jitFinding(b *build, g gpu, c jitCompiler, severity Severity) Finding {
	first := g.chip.FirstCUDA
	f := Finding{Severity: severity, Subject: b.subject, Source: g.chip.Source,
		Need:    c.name + " from CUDA >= " + first.Short(),
		Message: fmt.Sprintf("%s comes from CUDA %s, which does not support %s: prebuilt kernels run, but code that is compiled at run time fails", c.name, c.version.Short(), g.label),
		Evidence: append(b.evidence(), Evidence{Fact: c.name, Value: c.version.String(), From: c.from},
			Evidence{Fact: "GPU", Value: g.label, From: g.from})}
	if severity == Note {
		f.Message = fmt.Sprintf("%s comes from CUDA %s, which does not support %s: what torch compiles with it is made for an older GPU, or fails", c.name, c.version.Short(), g.label)
	}
	// Only releases that compile for every GPU here: another one would end at the same warning.
	f.Pins = m.pinsAmong(b, slices.DeleteFunc(slices.Clone(m.ranked(b)), func(r row) bool {
		return !m.assembles(r) || r.CUDA.LessShort(first)
	}))
	f.Steps = []pin.Step{pin.Say("do not use torch.compile, Triton or other code that is compiled at run time").Instead()}
	// No variable names another NVRTC.
	if strings.HasPrefix(c.name, "Triton") {
		_, variable := m.tritonTool(b, g)
		f.Steps = append(f.Steps, pin.Run(fmt.Sprintf("export %s=/usr/local/cuda-%s/bin/ptxas", variable, first.Short())).That(
			"points to the one of that toolkit").Instead())
	}
	return f
}

// tritonTool is the name of the ptxas that Triton takes for a GPU, and the variable that names another in its place
// (python/triton/knobs.py).
func (m *machine) tritonTool(b *build, g gpu) (name, variable string) {
	// Triton 3.3, and 3.6 and newer, bring a second ptxas for capability 10 and up (table triton).
	if g.capability.Major >= blackwell && m.twoAssemblers(b) {
		return "ptxas-blackwell", "TRITON_PTXAS_BLACKWELL_PATH"
	}
	return "ptxas", "TRITON_PTXAS_PATH"
}

// assembler is the ptxas that the build starts for a GPU: Triton's for torch, that of NVIDIA's wheel for the others.
// Its bytes go before its wheel's version; nil where neither is known. Nobody else's matters: the toolkit's ptxas is
// not started.
func (m *machine) assembler(b *build, g gpu) *jitCompiler {
	if b.Name != "torch" {
		return b.nvcc()
	}
	name, variable := m.tritonTool(b, g)
	for _, by := range []struct{ by, words string }{{variable, variable}, {"triton", "Triton's " + name}} {
		if a := b.env.assembler(name, by.by); a != nil {
			return assembled(by.words, a)
		}
	}
	release, from := m.triton(b)
	row := m.t.Triton(release)
	switch {
	case row == nil:
		return nil
	// Releases with a single ptxas use it for every GPU, the others for capabilities below 10.
	case name == "ptxas":
		return known(jitCompiler{"Triton's ptxas", row.PTXAS, from})
	}
	return known(jitCompiler{"Triton's " + name, row.PTXASBlackwell, from})
}

// known gives a compiler whose version was read, else nil.
func known(c jitCompiler) *jitCompiler {
	if !c.version.Known() {
		return nil
	}
	return &c
}

// assembler finds one by its name and who brings it.
func (e *environment) assembler(name, by string) *facts.Assembler {
	i := slices.IndexFunc(e.Assemblers, func(a facts.Assembler) bool { return a.Name == name && a.By == by })
	if i < 0 {
		return nil
	}
	return &e.Assemblers[i]
}

// twoAssemblers reports whether the build's Triton has another ptxas for capability 10 and newer. Its files go before
// the table, which has releases only.
func (m *machine) twoAssemblers(b *build) bool {
	if slices.ContainsFunc(b.env.Assemblers, func(a facts.Assembler) bool { return a.By == "triton" }) {
		return b.env.assembler("ptxas-blackwell", "triton") != nil
	}
	release, _ := m.triton(b)
	row := m.t.Triton(release)
	return row != nil && row.PTXASBlackwell.Known()
}

// triton is the release of Triton beside a torch: the installed one's, else, where a file names torch, the one that
// torch brings. An installed torch without one has no Triton, whatever its release brings.
func (m *machine) triton(b *build) (release version.Number, from string) {
	for _, name := range []string{"triton", "pytorch-triton"} {
		if p := b.env.Package(name); p != nil {
			return p.version, p.Path
		}
	}
	if b.Path != "" || len(b.rows) == 0 {
		return version.Number{}, ""
	}
	for _, c := range b.rows[0].companions {
		if c.Package == "triton" {
			return version.Of(c.Version), "table row " + b.rows[0].Release + " " + b.rows[0].Variant
		}
	}
	return version.Number{}, ""
}

// nvcc is the ptxas of NVIDIA's wheel, which JAX and TensorFlow start: the XLA of JAX's wheels (0.5 to 0.8 were looked
// at) is built without nvJitLink and without a compiler of its own.
func (b *build) nvcc() *jitCompiler {
	if a := b.env.assembler("ptxas", "nvcc"); a != nil {
		return assembled("the ptxas of NVIDIA's wheel", a)
	}
	return b.wheel("nvidia-cuda-nvcc", "the ptxas of NVIDIA's wheel")
}

// nvrtc is torch's other run-time compiler: the one that the loader takes, else the wheel's, which is often newer than
// the build, else that of its own CUDA.
func (b *build) nvrtc() *jitCompiler {
	if b.Name != "torch" {
		return nil
	}
	// NVRTC 11.2 to 11.8 all have the soname of 11.2, so only a version that was read is believed.
	for _, t := range b.taken {
		if strings.HasPrefix(t.Name, "libnvrtc") && t.version.Known() {
			return &jitCompiler{"NVRTC", t.version, t.Path + ", taken by " + t.Reason}
		}
	}
	if c := b.wheel("nvidia-cuda-nvrtc", "NVRTC"); c != nil {
		return c
	}
	// NGC's and source builds may stand beside the NVRTC of any toolkit.
	if b.cuda.Parts() < 2 || !b.official() && b.Origin != "conda" {
		return nil
	}
	return &jitCompiler{"NVRTC", b.cuda, cmp.Or(b.From, b.Path)}
}

// wheel is a compiler that one of NVIDIA's wheels brings.
func (b *build) wheel(name, words string) *jitCompiler {
	for _, wheel := range []string{fmt.Sprintf("%s-cu%d", name, b.cuda.Major()), name} {
		if p := b.env.Package(wheel); p != nil {
			return &jitCompiler{words, p.version, p.Path}
		}
	}
	return nil
}
