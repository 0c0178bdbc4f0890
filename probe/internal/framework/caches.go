package framework

import (
	"cmp"
	"path"
	"slices"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/loader"
	"cudacompat/probe/internal/pyenv"
)

// cacheKinds are the caches of extensions that programs compile for the GPU that they meet, each below a home unless a
// variable names another place:
//
//	.cache/torch_extensions/py312_cu128/fused_adam/fused_adam.so  (torch/utils/cpp_extension.py)
//	.cache/flashinfer/0.7.2/90a/cached_ops/norm/norm.so  (flashinfer/jit/env.py; up to 0.2 without the version)
var cacheKinds = []struct {
	of, home, variable, below string
	files                     []string
}{
	{"torch", ".cache/torch_extensions", "TORCH_EXTENSIONS_DIR", "", []string{"*/*.so", "*/*/*.so"}},
	{"FlashInfer", ".cache/flashinfer", "FLASHINFER_WORKSPACE_BASE", ".cache/flashinfer",
		[]string{"*/cached_ops/*/*.so", "*/*/cached_ops/*/*.so"}},
}

// Caches lists the compiled extensions of the caches in a tree's homes, of a running machine in the user's own: each
// with the code of all its copies, which are for different GPUs and releases.
func Caches(h *host.Host) ([]facts.Cache, error) {
	var failed host.Errors
	var list []facts.Cache
	for _, home := range pyenv.Homes(h) {
		for _, kind := range cacheKinds {
			dir := path.Join(home, kind.home)
			if named := h.Var(kind.variable); path.IsAbs(named) {
				dir = path.Join(named, kind.below)
			}
			if path.IsAbs(dir) {
				list = append(list, readCache(h, kind.of, dir, kind.files, &failed)...)
			}
		}
	}
	if len(list)+len(failed) == 0 {
		return nil, host.ErrAbsent
	}
	return list, failed.Err()
}

// readCache reads one cache; libraries without code for a GPU are none of its concern.
func readCache(h *host.Host, of, dir string, patterns []string, failed *host.Errors) []facts.Cache {
	builds := map[string]*facts.Build{}
	for _, pattern := range patterns {
		for _, file := range h.GlobIn(dir, pattern) {
			name := path.Base(path.Dir(file))
			b := cmp.Or(builds[name], &facts.Build{})
			builds[name] = b
			failed.Add(loader.AddCode(b, h, file))
		}
	}
	var list []facts.Cache
	for name, b := range builds {
		if len(b.SASS)+len(b.PTX) > 0 {
			list = append(list, facts.Cache{Of: of, Name: name, Path: dir, SASS: b.SASS, PTX: b.PTX})
		}
	}
	slices.SortFunc(list, func(a, b facts.Cache) int { return cmp.Compare(a.Name, b.Name) })
	return list
}
