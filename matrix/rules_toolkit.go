package matrix

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/version"
	"cudacompat/probe"
)

var toolkitName = lazyregexp.New(`^cuda-(\d+\.\d+)$`)

// toolkit is the one that torch's extension builder would pick: CUDA_HOME's, CUDA_PATH's, that of the nvcc on PATH,
// else /usr/local/cuda. asked says that a variable names it. Nil when none would be found. A report names what nvcc
// answered, one toolkit without a place.
func (m *machine) toolkit() (picked *probe.Toolkit, asked bool) {
	for _, name := range []string{"CUDA_HOME", "CUDA_PATH"} {
		if dir := strings.TrimRight(m.f.Variables[name], "/"); dir != "" {
			return m.toolkitAt(dir, name), true
		}
	}
	for i, t := range m.f.Toolkits {
		if t.OnPath || t.Path == "" && len(m.f.Toolkits) == 1 {
			return &m.f.Toolkits[i], false
		}
	}
	return m.toolkitAt("/usr/local/cuda", ""), false
}

// toolkitAt is the toolkit of a directory, by its name where the probe has it under another one.
func (m *machine) toolkitAt(dir, from string) *probe.Toolkit {
	for i := range m.f.Toolkits {
		if m.f.Toolkits[i].Path == dir {
			return &m.f.Toolkits[i]
		}
	}
	if v := toolkitName.FindStringSubmatch(path.Base(dir)); v != nil && from != "" {
		return &probe.Toolkit{Version: v[1], Path: dir, From: from}
	}
	return nil
}

// otherToolkit says that another installed toolkit would do.
func (m *machine) otherToolkit(does func(version.Number) bool) bool {
	return slices.ContainsFunc(m.f.Toolkits, func(t probe.Toolkit) bool { return does(version.Of(t.Version)) })
}

// building says that extensions are to be built here.
func (m *machine) building() bool { return slices.Contains(m.policy.Require, "build") }

// toolkitFramework: torch refuses to build extensions with a toolkit of another major version than its own CUDA.
func toolkitFramework(m *machine, b *build) []*result {
	picked, asked := m.toolkit()
	if b.Name != "torch" || b.accelerator != "cuda" || !b.cuda.Known() || picked == nil {
		return nil
	}
	have := version.Of(picked.Version)
	switch {
	case have.Major() == b.cuda.Major():
		return holds(b.subject)
	case m.otherToolkit(func(v version.Number) bool { return v.Major() == b.cuda.Major() }) && !asked:
		return nil
	}
	f := Finding{Severity: Note, Subject: b.subject, Need: fmt.Sprintf("a CUDA %d toolkit", b.cuda.Major()),
		Message: fmt.Sprintf("extensions would be built with the CUDA %s toolkit, torch is of CUDA %s: running is not "+
			"affected, building fails", have, b.cuda.Short()),
		Evidence: append(b.evidence(), Evidence{Fact: "toolkit", Value: picked.Version, From: picked.Path}),
		Source:   []string{"https://github.com/pytorch/pytorch/blob/v2.9.0/torch/utils/cpp_extension.py"},
		Do: []string{fmt.Sprintf("to build extensions: install the CUDA %s toolkit beside this one and point "+
			"CUDA_HOME to it", b.cuda.Short())}}
	if asked || m.building() {
		f.Severity = Warning
	}
	return found(f)
}

// toolkitTooOldForGPU: the toolkit knows no such GPU, so nothing built with it has machine code for it.
func toolkitTooOldForGPU(m *machine) []*result {
	picked, _ := m.toolkit()
	if picked == nil || len(m.gpus) == 0 {
		return nil
	}
	have := version.Of(picked.Version)
	old := func(g gpu, v version.Number) bool {
		return g.chip != nil && g.chip.FirstCUDA.Known() && v.LessShort(g.chip.FirstCUDA)
	}
	i := slices.IndexFunc(m.gpus, func(g gpu) bool { return old(g, have) })
	switch {
	case i < 0:
		return holds("toolkit")
	case m.otherToolkit(func(v version.Number) bool { return !old(m.gpus[i], v) }):
		return nil
	}
	g := m.gpus[i]
	f := Finding{Severity: Note, Subject: "toolkit", Need: "CUDA >= " + g.chip.FirstCUDA.Short() + " to build",
		Source:  g.chip.Source,
		Message: fmt.Sprintf("the CUDA %s toolkit compiles no code for %s: running is not affected", have, g.label),
		Evidence: []Evidence{{Fact: "toolkit", Value: picked.Version, From: picked.Path},
			{Fact: "GPU", Value: g.label, From: g.from}},
		Do: []string{"to build for this GPU: install the CUDA " + g.chip.FirstCUDA.Short() +
			" toolkit or a newer one beside this one"}}
	if m.building() {
		f.Severity = Warning
	}
	return found(f)
}
