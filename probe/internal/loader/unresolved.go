package loader

import (
	"path"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/ldso"
	"cudacompat/probe/facts"
)

// maxUnresolved is how many are kept; one is enough for the loader to give up.
const maxUnresolved = 16

// findUnresolved notes what one library misses of the foreign ones.
func findUnresolved(b *facts.Build, p *ldso.Process, o *ldso.Object, foreign map[string]*ldso.Object) error {
	versions, err := p.MissingVersions(o)
	if err != nil {
		return err
	}
	for _, v := range versions {
		if foreign[v.Library.ELF.Soname] == v.Library {
			addUnresolved(b, ldso.Symbol{Version: v.Version}, o, v.Library)
		}
	}
	symbols, err := p.MissingSymbols(o, func(sym ldso.Symbol) bool { return provider(sym, o, foreign) != nil })
	for _, sym := range symbols {
		addUnresolved(b, sym, o, provider(sym, o, foreign))
	}
	return err
}

// provider returns the foreign library that an object takes a symbol of: the one that it names, else, without symbol
// versions, the one whose functions begin so.
func provider(sym ldso.Symbol, o *ldso.Object, foreign map[string]*ldso.Object) *ldso.Object {
	if sym.Library != "" {
		return foreign[sym.Library]
	}
	for _, name := range o.ELF.Needed {
		if lib := foreign[name]; lib != nil && cudaPrefixes[CUDAStem(lib.Path)].MatchString(sym.Name) {
			return lib
		}
	}
	return nil
}

// nameOf returns the name by which a library is requested: its soname, unless it replaces another one.
func nameOf(lib *ldso.Object) string {
	if base := path.Base(lib.Path); CUDAStem(base) != CUDAStem(lib.ELF.Soname) {
		return base
	}
	return lib.ELF.Soname
}

func addUnresolved(b *facts.Build, sym ldso.Symbol, by, lib *ldso.Object) {
	if len(b.Unresolved) < maxUnresolved {
		b.Unresolved = append(b.Unresolved, facts.Unresolved{Symbol: sym.Name, Version: sym.Version, By: by.Path,
			Library: nameOf(lib), Path: lib.Real, Reason: lib.Reason.String()})
	}
}

// cudaPrefixes are the CUDA libraries that other libraries take functions of, and how the names of these begin.
var cudaPrefixes = map[string]*lazyregexp.Regexp{
	"libcudart":       lazyregexp.New(`^(cuda[A-Z]|__cuda)`),
	"libcudnn":        lazyregexp.New(`^cudnn`),
	"libnccl":         lazyregexp.New(`^nccl`),
	"libcublas":       lazyregexp.New(`^cublas`),
	"libcublasLt":     lazyregexp.New(`^cublasLt`),
	"libcufft":        lazyregexp.New(`^cufft`),
	"libcurand":       lazyregexp.New(`^curand`),
	"libcusolver":     lazyregexp.New(`^cusolver`),
	"libcusparse":     lazyregexp.New(`^cusparse`),
	"libnvrtc":        lazyregexp.New(`^nvrtc`),
	"libnvJitLink":    lazyregexp.New(`^(__)?nvJitLink`),
	"libcusparseLt":   lazyregexp.New(`^cusparseLt`),
	"libcupti":        lazyregexp.New(`^cupti`),
	"libcufile":       lazyregexp.New(`^cuFile`),
	"libnvshmem_host": lazyregexp.New(`^nvshmem`),
	"libnvvm":         lazyregexp.New(`^nvvm`),
	"libcudss":        lazyregexp.New(`^cudss`),
	"libcutensor":     lazyregexp.New(`^cutensor`),
	"libnvjpeg":       lazyregexp.New(`^nvjpeg`),
}

// CUDAStem returns "libcudnn" of "libcudnn_ops.so.9", empty for what is no CUDA library.
func CUDAStem(name string) string {
	stem, _, _ := strings.Cut(path.Base(name), ".so")
	if strings.HasPrefix(stem, "libcudnn_") {
		stem = "libcudnn"
	}
	if cudaPrefixes[stem] == nil {
		return ""
	}
	return stem
}

// KnownDlopens are the libraries that CUDA libraries open by name, with the major of their own. They are a part of how
// the loader is followed, as run paths are, and nothing is judged by them: probe reads no tables.
var KnownDlopens = map[string][]string{
	"libcudnn.so.9": {"libcudnn_graph.so.9", "libcudnn_ops.so.9", "libcudnn_cnn.so.9", "libcudnn_adv.so.9",
		"libcudnn_heuristic.so.9",
		"libcudnn_engines_precompiled.so.9", "libcudnn_engines_runtime_compiled.so.9"},
	"libcudnn.so.8": {"libcudnn_ops_infer.so.8", "libcudnn_ops_train.so.8", "libcudnn_cnn_infer.so.8",
		"libcudnn_cnn_train.so.8",
		"libcudnn_adv_infer.so.8", "libcudnn_adv_train.so.8"},
	"libcufft.so.11": {"libnvJitLink.so.12"},
	"libcufft.so.12": {"libnvJitLink.so.13"},
	"libnccl.so.2":   {"libnccl-net.so"},

	"libtorch_cuda.so": {carriesNVRTC},
}

// carriesNVRTC links to the NVRTC that libtorch_cuda.so opens by a computed name, "libnvrtc.so.13", so it represents
// that one.
const carriesNVRTC = "libcaffe2_nvrtc.so"
