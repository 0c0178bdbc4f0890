package python

import (
	"bytes"
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/ldso"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/libversion"
)

// torchLoads maps torch as Python does: the global dependencies first, for all, then the CUDA half; and notes which
// CUDA libraries that takes, which are nowhere, and which functions of NCCL are.
func torchLoads(b *facts.Build, h *host.Host, s *site) error {
	p, err := pythonProcess(h, s)
	if err != nil {
		return err
	}
	lib := b.Path + "/lib/"
	if _, err := p.Open(lib+"libtorch_global_deps.so", nil, ldso.Global); err != nil {
		return err
	}
	if err := torchPreloads(b, h, p, s); err != nil {
		return err
	}
	main, err := torchCUDA(b, h, p)
	if main == nil && err == nil {
		b.Missing, b.Looked = ownLost(b, h, p, s), true
		noteUnloadable(b, h, p)
	}
	if main == nil || err != nil {
		return err
	}
	s.torch.take(b, p)
	if err := torchModule(b, h, p, s, main); err != nil {
		return err
	}
	if err := findShadows(b, h, p, s); err != nil {
		return err
	}
	b.Missing = append(b.Missing, torchMissing(b, h, p, s)...)
	noteUnloadable(b, h, p)
	takeLibraries(b, h, p, s)
	if err := standardLibrary(b, p); err != nil {
		return err
	}
	if unpinned(b, s, "nccl") {
		missing, err := p.MissingSymbols(main, func(sym ldso.Symbol) bool {
			return strings.HasPrefix(sym.Name, "nccl")
		})
		for _, sym := range missing {
			b.Missing = append(b.Missing, sym.Name)
		}
		return err
	}
	return nil
}

// torchMissing are the libraries that the loader finds nowhere for torch: its own, CUDA's, and what those open by name.
// Where the loader finds nothing, torch looks into the wheels itself; a part that cuDNN's wheel never held is one that
// this cuDNN does without.
func torchMissing(b *facts.Build, h *host.Host, p *ldso.Process, s *site) []string {
	b.Looked = true
	return slices.DeleteFunc(notLoaded(p, func(name string) bool {
		return cudaStem(name) != "" || torchOwn.MatchString(name) || strings.HasPrefix(name, nvrtcBuiltins)
	}), func(name string) bool {
		return len(s.inWheels(h, "*/lib/"+name)) > 0 && !unloadable(p, name) || s.doesWithout(h, name) ||
			strings.HasPrefix(name, nvrtcBuiltins) && !s.wheelHeld(h, "cuda-nvrtc", name)
	})
}

// torchOwn matches the libraries that torch's wheels bring and that its CUDA half cannot do without.
var torchOwn = lazyregexp.New(
	`^lib(torch|torch_cpu|torch_cuda|torch_cuda_linalg|torch_python|c10|c10_cuda|caffe2_nvrtc)\.so$`)

// ownLost is torch's CUDA half where the wheel's RECORD lists it, or a file is there, and the loader cannot map it.
func ownLost(b *facts.Build, h *host.Host, p *ldso.Process, s *site) []string {
	const main = "torch/lib/libtorch_cuda.so"
	dist := s.dist("torch")
	if !unloadable(p, path.Base(main)) && (dist == nil || !recorded(h, dist.Path, main)) {
		return nil
	}
	return []string{path.Base(main)}
}

// torchModule maps torch's module, which `import torch` does last, and what its CUDA half opens to solve equations.
func torchModule(b *facts.Build, h *host.Host, p *ldso.Process, s *site, main *ldso.Object) error {
	modules := h.GlobIn(b.Path, "_C.*.so")
	if dist := s.dist("torch"); len(modules) == 0 && dist != nil && recordedAs(h, dist.Path, "torch/_C.") {
		b.Missing = append(b.Missing, "torch/_C")
	}
	for _, module := range modules {
		if _, err := p.Open(module, nil, ldso.Local); err != nil {
			return err
		}
	}
	opens, err := p.Defines(main, registersLinalg)
	if opens && err == nil {
		_, err = p.Open("libtorch_cuda_linalg.so", main, ldso.Local)
	}
	return err
}

// registersLinalg is the function by which libtorch_cuda_linalg.so makes itself known to the library that opens it,
// at::native::cuda::detail::registerLinalgDispatch. Where the solvers are linked in it is not there
// (aten/src/ATen/native/cuda/linalg/BatchLinearAlgebra.cpp, BUILD_LAZY_CUDA_LINALG).
const registersLinalg = "_ZN2at6native4cuda6detail22registerLinalgDispatchERKNS2_14LinalgDispatchE"

// doesWithout reports whether a library is a part that this cuDNN has not: no wheel of it lists one.
func (s *site) doesWithout(h *host.Host, library string) bool {
	return strings.HasPrefix(library, "libcudnn_") && !s.wheelHeld(h, "cudnn", library)
}

// wheelHeld reports whether an installed wheel lists a library among its files.
func (s *site) wheelHeld(h *host.Host, wheel, library string) bool {
	return slices.ContainsFunc(s.wheelsOf(wheel), func(p facts.Package) bool {
		return recorded(h, p.Path, "nvidia/"+strings.ReplaceAll(wheel, "-", "_")+"/lib/"+library) ||
			recorded(h, p.Path, "nvidia/cu13/lib/"+library)
	})
}

// resized reports whether a file has another size than a RECORD says,
// "nvidia/nccl/lib/libnccl.so.2,sha256=…,291703920".
func resized(h *host.Host, record []byte, name, full string) bool {
	_, line, found := bytes.Cut(append([]byte("\n"), record...), []byte("\n"+name+","))
	line, _, _ = bytes.Cut(line, []byte("\n"))
	size, err := h.Size(full)
	return found && err == nil && !bytes.HasSuffix(bytes.TrimSpace(line), []byte(","+strconv.FormatInt(size, 10)))
}

// recorded reports whether a distribution's RECORD lists a file.
func recorded(h *host.Host, distInfo, file string) bool { return recordedAs(h, distInfo, file+",") }

// recordedAs reports whether a distribution's RECORD lists a file whose name begins so.
func recordedAs(h *host.Host, distInfo, beginning string) bool {
	record := h.ReadQuietly(distInfo + "/RECORD")
	return bytes.Contains(append([]byte("\n"), record...), []byte("\n"+beginning))
}

// torchCUDA maps torch's CUDA half. Debian's stands among the system's libraries, where libtorch.so needs it; its code
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
	return p.Objects[i], addCode(b, h, p.Objects[i].Real)
}

// cudaLibrary matches the libraries whose origin decides whether a build works.
var cudaLibrary = lazyregexp.New(`^lib(cudart|cudnn|nccl|cublas|cublasLt|cufft|cusolver|cusparse|nvrtc|cuda)\.so`)

// cudnnPart matches the libraries that cuDNN opens.
var cudnnPart = lazyregexp.New(`^libcudnn_\w+\.so\.`)

// take notes the CUDA libraries that the process has mapped, and why these; cuDNN's parts where one of them does not
// lie beside it.
func takeLibraries(b *facts.Build, h *host.Host, p *ldso.Process, s *site) {
	var parts []facts.Taken
	cudnn, apart := "", false
	for _, o := range p.Objects {
		name := path.Base(o.Path)
		if strings.HasPrefix(name, "libcudnn.so.") {
			cudnn = path.Dir(o.Real)
		}
		if cudnnPart.MatchString(name) {
			parts = append(parts, takenAs(h, "cudnn", o, s))
			apart = apart || path.Dir(o.Real) != cudnn
		}
		if m := cudaLibrary.FindStringSubmatch(name); m != nil {
			b.Taken = append(b.Taken, takenAs(h, m[1], o, s))
		}
	}
	if apart {
		b.Taken = append(b.Taken, parts...)
	}
}

// takenAs is one mapped library with its version.
func takenAs(h *host.Host, library string, o *ldso.Object, s *site) facts.Taken {
	taken := facts.Taken{Name: path.Base(o.Path), Path: o.Real, Reason: o.Reason.String()}
	taken.Version, taken.CUDA = takenVersion(h, library, o.Real, s)
	return taken
}

// takenVersion is the version of a mapped library and the CUDA it is for: of the wheel that it lies in, else by its
// name or bytes.
func takenVersion(h *host.Host, library, real string, s *site) (version, cuda string) {
	if inside, ok := strings.CutPrefix(real, s.dir+"/nvidia/"); ok {
		if version, cuda := s.wheelVersion(wheelOf(library), inside); version != "" {
			return version, cuda
		}
	}
	if library == "nccl" {
		version, cuda, _ = libversion.NCCL(h, real) // not known: its symbols still tell
		return version, cuda
	}
	if library == "nvrtc" {
		return nvrtcVersion(h, real), ""
	}
	if version = libversion.InName(real); version == "" && library == "cudnn" {
		version, _ = libversion.CuDNN(h.Files(), real)
	}
	return version, ""
}

// nvrtcVersion is the release of an NVRTC: its whole number stands in the name of the file where a toolkit put it
// ("libnvrtc.so.12.4.127"); in that of others there is its soname alone, which is 11.2 in all from 11.2 to 11.8.
func nvrtcVersion(h *host.Host, real string) string {
	if v := libversion.InName(real); strings.Count(v, ".") == 2 {
		return v
	}
	f, err := h.Open(real)
	if err != nil {
		return ""
	}
	defer f.Close()
	v, _ := libversion.Compiler(f, libversion.NVRTC) // a damaged one is spoken of where its code is listed
	return v
}

// unpinned says that the installed wheel of a library is not the one that the build pins, so that its functions must
// be looked at.
func unpinned(b *facts.Build, s *site, library string) bool {
	twins := s.twins(library)
	return len(twins) != 1 || b.Requires[twins[0].Name] != twins[0].Version || twins[0].Overwritten
}

// absentLibraries are the CUDA libraries that the loader does not map. libcuda is the driver's: a machine image has
// none.
func absentLibraries(b *facts.Build, p *ldso.Process) []string {
	b.Looked = true
	return notLoaded(p, func(name string) bool { return cudaStem(name) != "" })
}

// notLoaded are the libraries of a kind that the loader finds nowhere, or of which it does not take the file that is
// there.
func notLoaded(p *ldso.Process, kind func(name string) bool) []string {
	var list []string
	for _, m := range p.Missing {
		name := path.Base(m.Name)
		bad, _ := m.Unloadable()
		lost := bad != "" || errors.Is(m.Err, ldso.ErrNotFound)
		if lost && kind(name) && p.Loaded(name) == nil && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// unloadable reports whether there is a file of a library that the loader does not take.
func unloadable(p *ldso.Process, name string) bool {
	return slices.ContainsFunc(p.Missing, func(m ldso.Missing) bool {
		file, _ := m.Unloadable()
		return file != "" && path.Base(m.Name) == name
	})
}

// noteUnloadable notes why files of the libraries that a build misses cannot be loaded.
func noteUnloadable(b *facts.Build, h *host.Host, p *ldso.Process) {
	for _, m := range p.Missing {
		file, reason := m.Unloadable()
		one := facts.Unloadable{Name: path.Base(m.Name), Path: realPath(h, file), Reason: reason}
		if file != "" && slices.Contains(b.Missing, one.Name) && !slices.Contains(b.Unloadable, one) {
			b.Unloadable = append(b.Unloadable, one)
		}
	}
}

// realPath is a file's path without symbolic links, where it can be told.
func realPath(h *host.Host, file string) string {
	if real, err := h.Files().Resolve(file); err == nil {
		return real
	}
	return file
}
