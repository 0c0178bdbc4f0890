package loader

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/ldso"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/pyenv"
)

// TorchLoads maps torch as Python does: the global dependencies first, for all, then the CUDA half; and notes which
// CUDA libraries that takes, which are nowhere, and which functions of NCCL are.
func TorchLoads(b *facts.Build, h *host.Host, s *pyenv.Site) error {
	p, err := PythonProcess(h, s)
	if err != nil {
		return err
	}
	lib := b.Path + "/lib/"
	if _, err := p.Open(lib+globalDeps, nil, ldso.Global); err != nil {
		return err
	}
	fell, err := fallBack(s, h, p)
	if err != nil {
		return err
	}
	if err := torchPreloads(b, h, p, s); err != nil {
		return err
	}
	main, err := torchCUDA(b, h, p)
	if fell && err == nil {
		err = preloadListedLibraries(s, b, h, p)
	}
	if main == nil && err == nil {
		b.Missing, b.Looked = ownLost(b, h, p, s), true
		NoteUnloadable(b, h, p)
	}
	if main == nil || err != nil {
		return err
	}
	recordTorch(s.Torch, b, p)
	if err := torchModule(b, h, p, s, main); err != nil {
		return err
	}
	if err := findShadows(b, h, p, s); err != nil {
		return err
	}
	b.Missing = append(b.Missing, torchMissing(b, h, p, s)...)
	NoteUnloadable(b, h, p)
	recordLoaded(b, h, p, s)
	if err := standardLibrary(b, p); err != nil {
		return err
	}
	if isUnpinned(b, s, "nccl") && p.Loaded("libnccl.so.2") != nil {
		return ncclMissing(b, p, main)
	}
	return nil
}

// ncclMissing records the NCCL functions that torch's CUDA half needs and no library has. If NCCL is not loaded, the
// library itself is what is missing.
func ncclMissing(b *facts.Build, p *ldso.Process, main *ldso.Object) error {
	missing, err := p.MissingSymbols(main, func(sym ldso.Symbol) bool { return strings.HasPrefix(sym.Name, "nccl") })
	for _, sym := range missing {
		b.Missing = append(b.Missing, sym.Name)
	}
	return err
}

// fallBack opens the CUDA libraries that the loader did not find where torch's __init__.py looks for them then: in the
// wheels of the whole import path, since torch may lie before these. It reports whether it opened any.
func fallBack(s *pyenv.Site, h *host.Host, p *ldso.Process) (opened bool, err error) {
	for i := 0; i < len(p.Missing); i++ { // what is loaded can miss more
		name := path.Base(p.Missing[i].Name)
		if CUDAStem(name) == "" || p.Loaded(name) != nil || unloadable(p, name) {
			continue
		}
		for _, file := range s.InWheels(h, "*/lib/"+name) {
			if _, err := p.Open(file, nil, ldso.Global); err != nil {
				return opened, err
			}
			opened = true
			break
		}
	}
	return opened, nil
}

// preloadListed matches what torch's __init__.py lists for this, as 2.9 and 2.15 have it:
//
//	"cublas": "libcublas.so.*[0-9]",
//	("cublas", "libcublas.so.*[0-9]"),
var preloadListed = lazyregexp.New(`(?m)^\s*\(?"(\w+)"[:,]\s*"(lib[\w-]+\.so)\.\*\[0-9\]"`)

// preloadListedLibraries opens everything that torch opens after one of its libraries was not found, including those
// needed only later, such as cuSOLVER and NVRTC. If one is in no wheel the import ends, wherever else the loader would
// find it.
func preloadListedLibraries(s *pyenv.Site, b *facts.Build, h *host.Host, p *ldso.Process) error {
	init := b.Path + "/__init__.py"
	data := h.ReadQuietly(init)
	beside := bytes.Contains(data, []byte("os.path.exists(nvidia_path)")) // up to 2.6: only beside a nvidia/
	for _, m := range preloadListed.FindAllSubmatch(data, pyenv.MaxMatches) {
		files := s.InWheels(h, "*/lib/"+string(m[2])+".*[0-9]")
		for _, dir := range s.Path {
			if !beside || h.Exists(dir+"/nvidia") {
				files = append(files, h.GlobIn(dir, string(m[1])+"/lib/"+string(m[2])+".*[0-9]")...)
			}
		}
		if len(files) == 0 && slices.ContainsFunc(p.Missing, func(miss ldso.Missing) bool { return strings.HasPrefix(miss.Name, string(m[2])) }) {
			continue // which is said of the loader
		}
		if len(files) == 0 {
			b.Hindrances = append(b.Hindrances, facts.Hindrance{Kind: facts.HindranceLibrary, Of: b.Name + " " + b.Version,
				Path: init, By: string(m[2])})
			return nil
		}
		if _, err := p.Open(files[0], nil, ldso.Global); err != nil {
			return err
		}
	}
	return nil
}

// torchMissing returns the libraries that the loader does not find for torch: its own, CUDA's, and what those open by
// name. torch itself searches the wheels for some needed ones, which fallBack has done. Nothing leads to any other
// library in a wheel, such as cuSPARSELt 0.7 for torch 2.6, whose run path names the directory of 0.6; it is recorded
// as Beside. A part that cuDNN's wheel never contained is not needed.
func torchMissing(b *facts.Build, h *host.Host, p *ldso.Process, s *pyenv.Site) []string {
	b.Looked = true
	list := slices.DeleteFunc(NotLoaded(p, func(name string) bool {
		return CUDAStem(name) != "" || ownOf(b, h, s, name) || strings.HasPrefix(name, nvrtcBuiltins)
	}), func(name string) bool {
		return onlyOpened(p, name) && len(s.InWheels(h, "*/lib/"+name)) > 0 && !unloadable(p, name) || doesWithout(s, h, name) ||
			strings.HasPrefix(name, nvrtcBuiltins) && !WheelHeld(s, h, "cuda-nvrtc", name)
	})
	for _, name := range list {
		if !onlyOpened(p, name) {
			b.Linked = append(b.Linked, name)
		}
		if files := s.InWheels(h, "*/lib/"+name); len(files) > 0 && !unloadable(p, name) {
			b.Beside = append(b.Beside, files[0])
		}
	}
	return list
}

// onlyOpened reports whether a library that is missing is opened by name, and linked by none that is there.
func onlyOpened(p *ldso.Process, name string) bool {
	return !slices.ContainsFunc(p.Missing, func(m ldso.Missing) bool {
		return path.Base(m.Name) == name && m.Via == ldso.Needed
	})
}

// ownOf reports whether a library is one that torch's wheel brought, which is there or was: it does without none that
// its import opens, or that one of these links. Without libcaffe2_nvrtc.so it does: libtorch_cuda.so has opened NVRTC
// itself since 1.8 (aten/src/ATen/cuda/detail/LazyNVRTC.cpp), and all that was tried on a GPU ran.
func ownOf(b *facts.Build, h *host.Host, s *pyenv.Site, name string) bool {
	if name == carriesNVRTC {
		return false
	}
	if torchOwn.MatchString(name) && name != globalDeps || h.Exists(path.Join(b.Path, "lib", name)) {
		return true
	}
	dist := s.Dist("torch")
	return dist != nil && s.Index(h).At(dist.Path).Record().Has("torch/lib/"+name)
}

// globalDeps is what torch opens first, by its path; no library links it, and not every build has it.
const globalDeps = "libtorch_global_deps.so"

// torchOwn matches the names of torch's own libraries, for builds without a RECORD.
var torchOwn = lazyregexp.New(`^lib(torch|c10|shm)\w*\.so$`)

// ownLost returns torch's CUDA half if the wheel's RECORD lists it, or a file exists, and the loader cannot map it.
func ownLost(b *facts.Build, h *host.Host, p *ldso.Process, s *pyenv.Site) []string {
	const main = "torch/lib/libtorch_cuda.so"
	dist := s.Dist("torch")
	if !unloadable(p, path.Base(main)) && (dist == nil || !s.Index(h).At(dist.Path).Record().Has(main)) {
		return nil
	}
	return []string{path.Base(main)}
}

// torchModule maps torch's module, which `import torch` does last, and what its CUDA half opens to solve equations.
func torchModule(b *facts.Build, h *host.Host, p *ldso.Process, s *pyenv.Site, main *ldso.Object) error {
	modules := h.GlobIn(b.Path, "_C.*.so")
	if dist := s.Dist("torch"); len(modules) == 0 && dist != nil && s.Index(h).At(dist.Path).Record().HasPrefix("torch/_C.") {
		b.Missing = append(b.Missing, "torch/_C")
	}
	for _, module := range modules {
		o, err := p.Open(module, nil, ldso.Local)
		if err != nil {
			return err
		}
		if o == nil {
			addUnloadableModule(b, h, p, module)
		}
	}
	opens, err := p.Defines(main, RegistersLinalg)
	if opens && err == nil {
		_, err = p.Open("libtorch_cuda_linalg.so", main, ldso.Local)
	}
	return err
}

// RegistersLinalg is the function with which libtorch_cuda_linalg.so registers itself in the library that opens it,
// at::native::cuda::detail::registerLinalgDispatch. It does not exist if the solvers are linked in
// (aten/src/ATen/native/cuda/linalg/BatchLinearAlgebra.cpp, BUILD_LAZY_CUDA_LINALG).
const RegistersLinalg = "_ZN2at6native4cuda6detail22registerLinalgDispatchERKNS2_14LinalgDispatchE"

// torchCUDA maps torch's CUDA half. Debian's is among the system's libraries, where libtorch.so needs it, and its code
// is read there.
func torchCUDA(b *facts.Build, h *host.Host, p *ldso.Process) (*ldso.Object, error) {
	lib := b.Path + "/lib/"
	if main, err := p.Open(lib+"libtorch_cuda.so", nil, ldso.Global); main != nil || err != nil ||
		!h.Exists(lib+"libtorch.so") {
		return main, err
	}
	if _, err := p.Open(lib+"libtorch.so", nil, ldso.Global); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(p.Objects, func(o *ldso.Object) bool {
		return strings.HasPrefix(path.Base(o.Path), "libtorch_cuda.so.")
	})
	if i < 0 {
		return nil, nil
	}
	return p.Objects[i], AddCode(b, h, p.Objects[i].Real)
}
