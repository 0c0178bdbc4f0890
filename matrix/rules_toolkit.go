package matrix

import (
	"fmt"
	"slices"

	"cudacompat/internal/version"
	"cudacompat/pin"
)

// otherToolkit reports whether another installed toolkit would do. Deep Learning AMIs carry five, so the one that is
// picked is seldom the only one.
func (m *machine) otherToolkit(does func(version.Number) bool) bool {
	return slices.ContainsFunc(m.toolkits, func(t toolkit) bool { return does(t.version) })
}

// toolkitFramework: torch refuses to build extensions with a toolkit of another major version than its own CUDA. It
// brings its CUDA along and never looks at the toolkit when it runs: a note.
func toolkitFramework(m *machine, b *build) []*result {
	picked, asked := m.toolkit()
	if b.Name != "torch" || b.accelerator != "cuda" || !b.cuda.Known() || picked == nil {
		return nil
	}
	have := picked.version
	switch {
	case have.Major() == b.cuda.Major():
		return holds(b.subject)
	// torch.utils.cpp_extension compares majors only, and warns of another minor. Where a variable names the wrong
	// toolkit, the right one beside it is not picked.
	case m.otherToolkit(func(v version.Number) bool { return v.Major() == b.cuda.Major() }) && !asked:
		return nil
	}
	f := Finding{Severity: Note, Subject: b.subject, Need: fmt.Sprintf("a CUDA %d toolkit", b.cuda.Major()),
		Message:  fmt.Sprintf("extensions would be built with the CUDA %s toolkit, but torch uses CUDA %s: running is not affected, building fails", have, b.cuda.Short()),
		Evidence: append(b.evidence(), Evidence{Fact: "toolkit", Value: picked.Version, From: picked.Path}),
		Source:   []string{"https://github.com/pytorch/pytorch/blob/v2.9.0/torch/utils/cpp_extension.py"},
		Steps:    []pin.Step{pin.Say(fmt.Sprintf("to build extensions: install the CUDA %s toolkit beside this one and point CUDA_HOME to it", b.cuda.Short()))}}
	// Somebody chose this toolkit (CUDA_HOME), or building is what this machine is for (--require build).
	if asked || m.building() {
		f.Severity = Warning
	}
	return found(f)
}

// toolkitTooOldForGPU: the toolkit knows no such GPU, so nothing built with it has machine code for it. What is
// installed ready-made is not affected: a note.
func toolkitTooOldForGPU(m *machine) []*result {
	picked, _ := m.toolkit()
	if picked == nil || len(m.gpus) == 0 {
		return nil
	}
	have := picked.version
	old := func(g gpu, v version.Number) bool {
		return g.chip != nil && g.chip.FirstCUDA.Known() && v.LessShort(g.chip.FirstCUDA)
	}
	i := slices.IndexFunc(m.gpus, func(g gpu) bool { return old(g, have) })
	switch {
	case i < 0:
		return holds("toolkit")
	// Deep Learning AMIs carry five toolkits; one that knows the GPU is enough to build with.
	case m.otherToolkit(func(v version.Number) bool { return !old(m.gpus[i], v) }):
		return nil
	}
	g := m.gpus[i]
	f := Finding{Severity: Note, Subject: "toolkit", Need: "CUDA >= " + g.chip.FirstCUDA.Short() + " to build",
		Source:  g.chip.Source,
		Message: fmt.Sprintf("the CUDA %s toolkit cannot compile code for %s: running is not affected", have, g.label),
		Evidence: []Evidence{{Fact: "toolkit", Value: picked.Version, From: picked.Path},
			{Fact: "GPU", Value: g.label, From: g.from}},
		Steps: []pin.Step{pin.Say("to build for this GPU: install the CUDA " + g.chip.FirstCUDA.Short() +
			" toolkit or a newer one beside this one")}}
	// With --require build, building is what this machine is for.
	if m.building() {
		f.Severity = Warning
	}
	return found(f)
}
