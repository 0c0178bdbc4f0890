package loader

import (
	"cmp"
	"math"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/ldso"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/pyenv"
)

// Openers are the packages that use CUDA directly, beside a framework or without one. They bring kernels and no NVIDIA
// library, and open what they need at the first use of a GPU. Each function opens that in a process, and reports
// whether it is known.
var Openers = map[string]func(*host.Host, *pyenv.Site, *facts.Build, *ldso.Process) (bool, error){
	"ctranslate2": openCTranslate2, "onnxruntime-gpu": openONNXRuntime,
	"cupy-cuda11x": openCuPy, "cupy-cuda12x": openCuPy, "cupy-cuda13x": openCuPy,
	"numba-cuda": openNumba, "paddlepaddle-gpu": openPaddle,
}

// ReadOpened records which CUDA libraries the loader does not find for a package, and which of these are where the
// program may still reach them.
func ReadOpened(b *facts.Build, h *host.Host, s *pyenv.Site) error {
	open := Openers[b.Name]
	if open == nil {
		return nil
	}
	p, err := PythonProcess(h, s)
	if err != nil {
		return err
	}
	told, err := open(h, s, b, p)
	if err == nil && findLostParts(h, s, b, p) {
		return nil
	}
	if err != nil || !told {
		return err
	}
	for _, name := range AbsentLibraries(b, p) {
		file := PlaceBeside(s, h, name)
		if file == "" {
			continue
		}
		if o, err := p.Open(file, nil, ldso.Global); err != nil {
			return err
		} else if o != nil {
			b.Beside = append(b.Beside, file)
		}
	}
	if err := p.OpenKnown(wheelParts(s, h)); err != nil {
		return err
	}
	if slices.ContainsFunc(p.Objects, func(o *ldso.Object) bool { return notTheWheels(s, h, o) }) {
		if err := FindUnserved(b, h, p, s); err != nil {
			return err
		}
	}
	b.Missing = append(AbsentLibraries(b, p), // what lies beside can be spoiled, and miss others
		NotLoaded(p, func(name string) bool {
			return strings.HasPrefix(name, nvrtcBuiltins) && WheelHeld(s, h, "cuda-nvrtc", name)
		})...)
	NoteUnloadable(b, h, p)
	noteMisplaced(b, h, p, s)
	return nil
}

// noteMisplaced records the libraries of wheels that another library has replaced. A library that links to one does not
// find it by its name.
func noteMisplaced(b *facts.Build, h *host.Host, p *ldso.Process, s *pyenv.Site) {
	for _, o := range p.Objects {
		name := path.Base(o.Path)
		if nameOf(o) == o.ELF.Soname || !notTheWheels(s, h, o) || slices.Contains(b.Missing, name) || len(b.Unresolved) > 0 {
			continue
		}
		b.Missing = append(b.Missing, name)
		b.Unloadable = append(b.Unloadable, facts.Unloadable{Name: name, Path: o.Real, Reason: "it is " + cmp.Or(o.ELF.Soname, "another library")})
	}
}

// wheelParts returns what NVRTC opens, and the parts of cuDNN that its wheel holds.
func wheelParts(s *pyenv.Site, h *host.Host) func(*ldso.Object) []string {
	return func(o *ldso.Object) []string {
		list := listNVRTCBuiltins(s, h)(o)
		for _, name := range KnownDlopens[path.Base(o.Path)] {
			if strings.HasPrefix(name, "libcudnn_") && WheelHeld(s, h, "cudnn", name) {
				list = append(list, name)
			}
		}
		return list
	}
}

// findLostParts records libraries that a package opens by path and that are missing or refused by the loader: a
// provider or plugin without which the package has no GPU.
func findLostParts(h *host.Host, s *pyenv.Site, b *facts.Build, p *ldso.Process) bool {
	record, before := s.Index(h).At(b.Path).Record(), len(b.Hindrances)
	for _, m := range p.Missing {
		name, ok := strings.CutPrefix(m.Name, s.Dir+"/")
		if !ok || !record.Has(name) {
			continue
		}
		bad := facts.Hindrance{Kind: facts.HindranceSpoiled, Of: b.Name + " " + b.Version, Path: m.Name, By: "it is gone"}
		if file, reason := m.Unloadable(); file != "" {
			bad.By = reason
		}
		if m.Closed() {
			bad = pyenv.ClosedFile(h, bad.Of, m.Name)
		}
		b.Hindrances = append(b.Hindrances, bad)
	}
	return len(b.Hindrances) > before
}

// openONNXRuntime maps the library of the CUDA provider, which links to what it needs, and the one through which all
// providers are opened. TensorRT's provider is opened only for programs that ask for it. The provider of 1.31 does not
// link to cuDNN and opens it by name (it contains cuDNN's frontend); the wheel from the package's extra is examined if
// it is installed.
func openONNXRuntime(h *host.Host, s *pyenv.Site, b *facts.Build, p *ldso.Process) (bool, error) {
	const shared = "/onnxruntime/capi/libonnxruntime_providers_shared.so"
	if h.Exists(s.Dir + "/onnxruntime/capi") {
		if _, err := p.Open(s.Dir+shared, nil, ldso.Local); err != nil {
			return false, err
		}
	}
	o, err := p.Open(s.Dir+"/onnxruntime/capi/libonnxruntime_providers_cuda.so", nil, ldso.Local)
	if o == nil || err != nil || slices.ContainsFunc(o.ELF.Needed, func(name string) bool { return CUDAStem(name) == "libcudnn" }) {
		return o != nil, err
	}
	for _, d := range s.WheelsOf("cudnn") {
		if !s.Index(h).At(b.Path).Metadata().Names(d.Name, true) {
			continue
		}
		for _, file := range s.InWheels(h, "cudnn/lib/libcudnn.so.[0-9]") {
			if _, err := p.Open(file, nil, ldso.Local); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// nvrtcSonames are NVRTC's names in each CUDA family: that of 11.2 stayed until 11.8.
var nvrtcSonames = map[string]string{"11": "libnvrtc.so.11.2", "12": "libnvrtc.so.12", "13": "libnvrtc.so.13"}

// openCuPy opens NVRTC, which compiles nearly all of CuPy's kernels. The other libraries serve only a part of CuPy and
// are examined if a wheel has them. From 14 on cuda-pathfinder opens them: it searches the wheels first, and takes
// NVRTC of any CUDA there.
func openCuPy(h *host.Host, s *pyenv.Site, b *facts.Build, p *ldso.Process) (bool, error) {
	b.CUDA = strings.Trim(b.Name, "abcdefghijklmnopqrstuvwxyz-")
	metadata := s.Index(h).At(b.Path).Metadata()
	if err := metadata.Err(); err != nil {
		return false, err
	}
	if !metadata.Names("cuda-pathfinder", false) {
		_, err := p.Open(nvrtcSonames[b.CUDA], nil, ldso.Local)
		return true, err
	}
	for _, file := range wheelLibraries(s, h, cupyParts) {
		if _, err := p.Open(file, nil, ldso.Local); err != nil {
			return false, err
		}
	}
	return openNVRTC(h, s, b, p)
}

// cupyParts are the libraries that CuPy's modules are linked to, or open, by their wheels.
var cupyParts = []string{"cublas", "cufft", "curand", "cusolver", "cusparse"}

// wheelLibraries returns the files of some libraries in wheels. One that is missing from its wheel is returned as a
// bare name, because it is then searched elsewhere.
func wheelLibraries(s *pyenv.Site, h *host.Host, wheels []string) []string {
	var list []string
	for _, wheel := range wheels {
		stem := "lib" + wheel + ".so."
		list = append(list, s.InWheels(h, "*/lib/"+stem+"*[0-9]")...)
		for _, d := range s.WheelsOf(wheel) {
			for _, name := range s.Index(h).At(d.Path).Record().LargeLibraries() {
				if base := path.Base(name); strings.HasPrefix(base, stem) && len(s.InWheels(h, "*/lib/"+base)) == 0 {
					list = append(list, base)
				}
			}
		}
	}
	return list
}

// openNVRTC opens NVRTC as cuda-pathfinder does. Which of several CUDA versions it takes is unknown.
func openNVRTC(h *host.Host, s *pyenv.Site, b *facts.Build, p *ldso.Process) (bool, error) {
	name := nvrtcSonames[b.CUDA]
	for _, file := range s.InWheels(h, "*/lib/libnvrtc.so.*[0-9]") {
		if path.Base(file) != nvrtcSonames[b.CUDA] {
			return false, nil
		}
		name = file
	}
	_, err := p.Open(name, nil, ldso.Local)
	return true, err
}

// openNumba opens NVRTC and NVVM for the CUDA of cuda-bindings; numba-cuda compiles every kernel with them. It searches
// the wheels, then toolkits. Without cuda-bindings nothing shows what it takes.
func openNumba(h *host.Host, s *pyenv.Site, b *facts.Build, p *ldso.Process) (bool, error) {
	if bindings := s.Index(h).FindIn(s.Dir, "cuda-bindings"); bindings != nil {
		b.CUDA, _, _ = strings.Cut(bindings.Version, ".")
	}
	if nvrtcSonames[b.CUDA] == "" {
		b.CUDA = ""
		return false, nil
	}
	if told, err := openNVRTC(h, s, b, p); err != nil || !told {
		return false, err
	}
	places := append(s.InWheels(h, "*/nvvm/lib64/libnvvm.so*"), s.InWheels(h, "*/lib/libnvvm.so*")...)
	for _, root := range append(h.ToolkitPlaces(h.NVCCRoot()), s.Conda) {
		places = append(places, h.Glob(root+"/nvvm/lib64/libnvvm.so*")...)
	}
	_, err := p.Open(append(places, "libnvvm.so.4")[0], nil, ldso.Local)
	return true, err
}

// paddleNames are what PaddlePaddle opens, without a version: the links of a toolkit, which no wheel has. The library
// says so itself (phi::dynload::GetCublasDsoHandle in the wheels of 2.4.2, for CUDA 10.2, and 2.6.2, for 11.8).
var paddleNames = []string{"libcublas.so", "libcudnn.so"}

// openPaddle opens cuBLAS and cuDNN, this one in /usr/local/cuda too. Builds that require wheels open those by other
// names, in directories that their Python code gives them.
func openPaddle(h *host.Host, s *pyenv.Site, b *facts.Build, p *ldso.Process) (bool, error) {
	if m := paddleCUDA.FindSubmatch(h.ReadQuietly(s.Dir + "/paddle/version/__init__.py")); m != nil {
		b.CUDA = string(m[1])
	}
	if s.Index(h).At(b.Path).Metadata().NamesCUDA() {
		return false, nil
	}
	for _, name := range paddleNames {
		o, err := p.Open(name, nil, ldso.Local)
		if o == nil && err == nil && name == "libcudnn.so" {
			_, err = p.Open("/usr/local/cuda/lib64/"+name, nil, ldso.Local)
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

var paddleCUDA = lazyregexp.New(`(?m)^cuda_version *= *'(\d+\.\d+)'`)

// openCTranslate2 maps the module and opens cuBLAS on behalf of the library below it. If the wheel contains the front
// of cuDNN, it also opens cuDNN's parts for convolutions, which Whisper uses.
func openCTranslate2(h *host.Host, s *pyenv.Site, b *facts.Build, p *ldso.Process) (bool, error) {
	for _, module := range h.GlobIn(s.Dir, "ctranslate2/_ext.*.so") {
		if _, err := p.Open(module, nil, ldso.Local); err != nil {
			return false, err
		}
	}
	i := slices.IndexFunc(p.Objects, func(o *ldso.Object) bool {
		return strings.HasPrefix(path.Base(o.Path), "libctranslate2")
	})
	if i < 0 {
		return false, nil
	}
	major, err := cublasNamed(h, p.Objects[i].Real)
	if major == "" || err != nil {
		return false, err
	}
	b.CUDA = major
	if _, err = p.Open("libcublas.so."+major, p.Objects[i], ldso.Local); err != nil {
		return false, err
	}
	return true, p.OpenKnown(bundledParts)
}

// bundledCuDNN matches cuDNN's front under the name that auditwheel gives it, "libcudnn-74a4c495.so.9.1.0".
var bundledCuDNN = lazyregexp.New(`^libcudnn-[0-9a-f]+\.so\.(\d+)`)

func bundledParts(o *ldso.Object) []string {
	m := bundledCuDNN.FindStringSubmatch(path.Base(o.Path))
	if m == nil {
		return nil
	}
	return KnownDlopens["libcudnn.so."+m[1]]
}

var cublasText = lazyregexp.New(`libcublas\.so\.(\d+)\x00`)

// cublasNamed returns the major of the cuBLAS that a library names among its constants, to open it.
func cublasNamed(h *host.Host, name string) (major string, err error) {
	f, err := h.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	constants, err := host.Constants(f)
	if err == nil {
		major, err = host.SearchFirst(constants, "libcublas.so.", cublasText, math.MaxInt64)
	}
	if err != nil {
		return "", host.Damaged(name, err.Error())
	}
	return major, nil
}

// PlaceBeside returns where a library is that the loader does not find by itself: in a wheel, in torch, in a toolkit. A
// program reaches it by importing torch first, by preloading it by path, or through LD_LIBRARY_PATH.
func PlaceBeside(s *pyenv.Site, h *host.Host, name string) string {
	files := s.InWheels(h, "*/lib/"+name)
	for _, dir := range s.Path {
		files = append(files, h.GlobIn(dir, "torch/lib/"+name)...)
	}
	for _, root := range append(h.ToolkitPlaces(h.NVCCRoot()), s.Conda, "/opt/nvidia/hpc_sdk/*/*/math_libs/*") {
		for _, dir := range []string{"/lib64/", "/lib/", "/targets/*/lib/"} {
			files = append(files, h.Glob(root+dir+name)...)
		}
	}
	if len(files) == 0 {
		return ""
	}
	return files[0]
}
