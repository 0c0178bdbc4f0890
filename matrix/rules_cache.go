package matrix

import (
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/version"
	"cudacompat/pin"
	"cudacompat/probe/facts"
)

// compiledCacheMismatch: an image brings extensions that were compiled for another GPU than the one it is meant for.
// DeepSpeed, FlashInfer and others compile them again at the first start, which takes a compiler and minutes: a
// warning, since it is slow and fails only where a slim image has no nvcc. On a running machine a home may be shared
// among many: a note.
func compiledCacheMismatch(m *machine) []*result {
	if len(m.f.Caches) == 0 || len(m.gpus) == 0 {
		return nil
	}
	var results []*result
	// Facts list a cache's extensions one after another, each with the code of all its copies: one finding a cache.
	for rest := m.f.Caches; len(rest) > 0; {
		n := slices.IndexFunc(rest, func(c facts.Cache) bool { return c.Path != rest[0].Path })
		if n < 0 {
			n = len(rest)
		}
		if f, bad := m.cacheFor(rest[:n]); bad {
			results = append(results, found(f)...)
		} else {
			results = append(results, holds(rest[0].Path)...)
		}
		rest = rest[n:]
	}
	return results
}

// cacheFor finds the extensions of one cache that have no code for any GPU.
func (m *machine) cacheFor(cache []facts.Cache) (Finding, bool) {
	served := func(c facts.Cache) bool {
		return slices.ContainsFunc(m.gpus, func(g gpu) bool {
			// A GPU that the tables lack may be served: nothing is said against the cache.
			return !g.capability.Known() || version.Cover(c.SASS, c.PTX, g.capability) != version.Uncovered
		})
	}
	// One GPU that is served is enough: the program may be meant for it.
	other := slices.DeleteFunc(slices.Clone(cache), served)
	if len(other) == 0 {
		return Finding{}, false
	}
	var names []string
	for _, c := range other {
		names = append(names, c.Name)
	}
	f := Finding{Severity: Warning, Subject: other[0].Path, Need: "code for " + m.gpus[0].capability.SM(),
		Message: fmt.Sprintf("%s's cache has %s only for %s: code for %s is compiled at the first start, which needs nvcc and takes minutes", other[0].Of, some(names), strings.Join(other[0].SASS, " "), m.gpus[0].label),
		Evidence: []Evidence{{Fact: "machine code", Value: strings.Join(slices.Concat(other[0].SASS, other[0].PTX), " "),
			From: other[0].Path}, {Fact: "GPU", Value: m.gpus[0].label, From: m.gpus[0].from}},
		Steps: []pin.Step{pin.Say("build the image on a machine with such a GPU, or name the GPU when the cache is filled (TORCH_CUDA_ARCH_LIST=" +
			m.gpus[0].capability.String() + ", FLASHINFER_CUDA_ARCH_LIST)"), pin.Say("leave the cache out of the image").Instead()},
		Source: []string{"https://docs.pytorch.org/docs/stable/cpp_extension.html"}}
	// A cache in a shared home serves other machines, too; only the home of the user who asks is read on a running
	// machine.
	if !m.f.System.Rest {
		f.Severity = Note
	}
	return f, true
}
