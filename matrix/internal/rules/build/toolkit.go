package build

import (
	"fmt"
	"slices"

	"cudacompat/internal/version"
	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/rules/rule"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
)

// otherToolkit reports whether another installed toolkit has a property. Deep Learning AMIs carry five, so the selected
// one is seldom the only one.
func otherToolkit(m *model.Machine, does func(version.Number) bool) bool {
	return slices.ContainsFunc(m.Toolkits, func(t hardware.Toolkit) bool { return does(t.Number) })
}

// ToolkitFramework notes a toolkit of another major version than torch's CUDA. torch refuses to compile extensions with
// it. It is a note, because torch brings its own CUDA and never uses the toolkit when it runs.
func ToolkitFramework(m *model.Machine, b *model.Build) []*rule.Result {
	picked, asked := m.Toolkit()
	if b.Name != "torch" || b.Device != "cuda" || !b.CUDANumber.Known() || picked == nil {
		return nil
	}
	have := picked.Number
	switch {
	case have.Major() == b.CUDANumber.Major():
		return rule.Pass(b.Subject)
	// torch.utils.cpp_extension rejects another major version and warns of another minor. If a variable names the wrong
	// toolkit, torch does not use the right one beside it.
	case otherToolkit(m, func(v version.Number) bool { return v.Major() == b.CUDANumber.Major() }) && !asked:
		return nil
	}
	f := verdict.Finding{Severity: verdict.Note, Subject: b.Subject, Need: fmt.Sprintf("a CUDA %d toolkit", b.CUDANumber.Major()),
		Message:  fmt.Sprintf("extensions would be built with the CUDA %s toolkit, but torch uses CUDA %s: running is not affected, building fails", have, b.CUDANumber.Short()),
		Evidence: append(b.Evidence(), verdict.Evidence{Fact: "toolkit", Value: picked.Version, From: picked.Path}),
		Source:   []string{"https://github.com/pytorch/pytorch/blob/v2.9.0/torch/utils/cpp_extension.py"},
		Steps:    []pin.Step{pin.Say(fmt.Sprintf("to build extensions: install the CUDA %s toolkit beside this one and point CUDA_HOME to it", b.CUDANumber.Short()))}}
	// Somebody chose this toolkit (CUDA_HOME), or this machine exists to build (--require build).
	if asked || m.Building() {
		f.Severity = verdict.Warning
	}
	return rule.ReportFinding(f)
}

// ToolkitTooOldForGPU notes a toolkit that does not know the GPU, so that nothing built with it has machine code for
// the GPU. It is a note, because ready-made packages are not affected.
func ToolkitTooOldForGPU(m *model.Machine) []*rule.Result {
	picked, _ := m.Toolkit()
	if picked == nil || len(m.GPUs) == 0 {
		return nil
	}
	have := picked.Number
	old := func(g hardware.GPU, v version.Number) bool {
		return g.Chip != nil && g.Chip.FirstCUDA.Known() && v.LessShort(g.Chip.FirstCUDA)
	}
	i := slices.IndexFunc(m.GPUs, func(g hardware.GPU) bool { return old(g, have) })
	switch {
	case i < 0:
		return rule.Pass("toolkit")
	// Deep Learning AMIs carry five toolkits. One that knows the GPU is enough to build with.
	case otherToolkit(m, func(v version.Number) bool { return !old(m.GPUs[i], v) }):
		return nil
	}
	g := m.GPUs[i]
	f := verdict.Finding{Severity: verdict.Note, Subject: "toolkit", Need: "CUDA >= " + g.Chip.FirstCUDA.Short() + " to build",
		Source:  g.Chip.Source,
		Message: fmt.Sprintf("the CUDA %s toolkit cannot compile code for %s: running is not affected", have, g.Label),
		Evidence: []verdict.Evidence{{Fact: "toolkit", Value: picked.Version, From: picked.Path},
			{Fact: "GPU", Value: g.Label, From: g.From}},
		Steps: []pin.Step{pin.Say("to build for this GPU: install the CUDA " + g.Chip.FirstCUDA.Short() +
			" toolkit or a newer one beside this one")}}
	// With --require build, this machine exists to build.
	if m.Building() {
		f.Severity = verdict.Warning
	}
	return rule.ReportFinding(f)
}
