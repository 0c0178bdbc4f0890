package build

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
	"cudacompat/probe/facts"
)

// CompiledCacheMismatch reports an image that brings extensions which were compiled for another GPU than the one it is
// meant for. DeepSpeed, FlashInfer and others compile them again at the first start, which takes a compiler and
// minutes. It is a warning, because it is slow and fails only if a slim image has no nvcc. On a running machine many
// may share a home, so it is a note.
func CompiledCacheMismatch(m *model.Machine) []*rule.Result {
	if len(m.Facts.Caches) == 0 || len(m.GPUs) == 0 {
		return nil
	}
	var results []*rule.Result
	// Facts list a cache's extensions one after another, each with the code of all its copies. Report one finding for
	// each cache.
	for rest := m.Facts.Caches; len(rest) > 0; {
		n := slices.IndexFunc(rest, func(c facts.Cache) bool { return c.Path != rest[0].Path })
		if n < 0 {
			n = len(rest)
		}
		if f, bad := cacheFor(m, rest[:n]); bad {
			results = append(results, rule.ReportFinding(f)...)
		} else {
			results = append(results, rule.Pass(rest[0].Path)...)
		}
		rest = rest[n:]
	}
	return results
}

// cacheFor returns a finding for the extensions of one cache that have no code for any GPU.
func cacheFor(m *model.Machine, cache []facts.Cache) (verdict.Finding, bool) {
	served := func(c facts.Cache) bool {
		return slices.ContainsFunc(m.GPUs, func(g hardware.GPU) bool {
			// The tables lack this GPU, so the cache may have code for it. Report nothing.
			return !g.Capability.Known() || version.Cover(c.SASS, c.PTX, g.Capability) != version.Uncovered
		})
	}
	// One supported GPU is enough: the program may be meant for it.
	other := slices.DeleteFunc(slices.Clone(cache), served)
	if len(other) == 0 {
		return verdict.Finding{}, false
	}
	var names []string
	for _, c := range other {
		names = append(names, c.Name)
	}
	f := verdict.Finding{Severity: verdict.Warning, Subject: other[0].Path, Need: "code for " + m.GPUs[0].Capability.SM(),
		Message: fmt.Sprintf("%s's cache has %s only for %s: code for %s is compiled at the first start, which needs nvcc and takes minutes", other[0].Of, verdict.Some(names), strings.Join(other[0].SASS, " "), m.GPUs[0].Label),
		Evidence: []verdict.Evidence{{Fact: "machine code", Value: strings.Join(slices.Concat(other[0].SASS, other[0].PTX), " "),
			From: other[0].Path}, {Fact: "GPU", Value: m.GPUs[0].Label, From: m.GPUs[0].From}},
		Steps: []pin.Step{pin.Say("build the image on a machine with such a GPU, or name the GPU when the cache is filled (TORCH_CUDA_ARCH_LIST=" +
			m.GPUs[0].Capability.String() + ", FLASHINFER_CUDA_ARCH_LIST)"), pin.Say("leave the cache out of the image").Instead()},
		Source: []string{"https://docs.pytorch.org/docs/stable/cpp_extension.html"}}
	// A cache in a shared home serves other machines, too. On a running machine, only the home of the calling user is
	// read.
	if !m.Facts.System.Rest {
		f.Severity = verdict.Note
	}
	return f, true
}
