package framework

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"
	"cudacompat/probe/internal/loader"

	"github.com/google/go-cmp/cmp"
)

// install writes the dist-info of a distribution, whose RECORD has one library with its size.
func install(t *testing.T, root, dist, library, metadata string) {
	t.Helper()
	info, err := os.Stat(filepath.Join(root, hosttest.Site+library))
	if err != nil {
		t.Fatal(err)
	}
	hosttest.Write(t, filepath.Join(root, hosttest.Site+dist+".dist-info/RECORD"),
		fmt.Sprintf("%s,sha256=x,%d\n", library, info.Size()))
	hosttest.Write(t, filepath.Join(root, hosttest.Site+dist+".dist-info/METADATA"), metadata)
	hosttest.Write(t, filepath.Join(root, "opt/venv/pyvenv.cfg"), "version = 3.12.3\n")
}

const (
	wheelCuBLAS = hosttest.Site + "nvidia/cublas/lib/libcublas.so.12"
	toolCuBLAS  = "usr/local/cuda-12.4/lib64/libcublas.so.12"
	cublasC     = "int cublasCreate(void) { return 0; }\n"
)

// openedCase is one place of a library, and what is found of it.
type openedCase struct {
	name, file, libraryPath string
	missing, beside         []string
}

// cuBLASCases are the places of cuBLAS for a package that does not look into the wheels.
var cuBLASCases = []openedCase{
	{"nowhere", "", "", []string{"libcublas.so.12"}, nil},
	{"of-another-cuda", hosttest.Site + "nvidia/cu13/lib/libcublas.so.13", "", []string{"libcublas.so.12"}, nil},
	{"wheel", wheelCuBLAS, "", nil, []string{"/" + wheelCuBLAS}},
	{"torch", hosttest.Site + "torch/lib/libcublas.so.12", "", nil, []string{"/" + hosttest.Site + "torch/lib/libcublas.so.12"}},
	{"toolkit", toolCuBLAS, "", nil, []string{"/" + toolCuBLAS}},
	{"wheel-in-library-path", wheelCuBLAS, "/" + filepath.Dir(wheelCuBLAS), nil, nil},
	{"toolkit-in-library-path", toolCuBLAS, "/" + filepath.Dir(toolCuBLAS), nil, nil},
	{"system", "usr/lib64/libcublas.so.12", "", nil, nil},
}

// check puts a library in its place and compares what the only build of the tree finds.
func (c openedCase) check(t *testing.T, root, source string) facts.Build {
	t.Helper()
	if c.file != "" {
		hosttest.Compile(t, root, hosttest.Library{Name: c.file, Source: source})
		defer os.Remove(filepath.Join(root, c.file))
	}
	b := onlyBuild(t, root, map[string]string{"LD_LIBRARY_PATH": c.libraryPath})
	if diff := cmp.Diff(c.missing, b.Missing); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(c.beside, b.Beside); diff != "" {
		t.Errorf("beside (-want +got):\n%s", diff)
	}
	if !b.Looked || !b.Extension || b.CUDA == "" {
		t.Errorf("looked %v, extension %v, CUDA %q", b.Looked, b.Extension, b.CUDA)
	}
	return b
}

// TestONNXRuntime checks an onnxruntime-gpu 1.23.2 without a framework, whose provider has no run path. The real loader
// fails with "libcublasLt.so.12: cannot open shared object file" beside wheels that nobody has loaded.
func TestONNXRuntime(t *testing.T) {
	root := t.TempDir()
	const provider, cudart = "onnxruntime/capi/libonnxruntime_providers_cuda.so", "usr/lib64/libcudart.so.12"
	hosttest.Compile(t, root,
		hosttest.Library{Name: wheelCuBLAS, Source: cublasC},
		hosttest.Library{Name: cudart, Source: "int cudaMalloc(void) { return 0; }\n"},
		hosttest.Library{Name: hosttest.Site + provider,
			Source: "int cublasCreate(void); int cudaMalloc(void); int f(void) { return cublasCreate() + " +
				"cudaMalloc(); }\n" + fatSource(80, 90),
			Needs: []string{wheelCuBLAS, cudart}})
	if err := os.Remove(filepath.Join(root, wheelCuBLAS)); err != nil {
		t.Fatal(err)
	}
	install(t, root, "onnxruntime_gpu-1.23.2", provider, "Name: onnxruntime-gpu\nVersion: 1.23.2\n")
	for _, c := range cuBLASCases {
		t.Run(c.name, func(t *testing.T) { c.check(t, root, cublasC) })
	}
}

// TestLostProvider checks an onnxruntime-gpu whose provider is missing or empty: it has lost the GPU.
func TestLostProvider(t *testing.T) {
	root := t.TempDir()
	const provider = "onnxruntime/capi/libonnxruntime_providers_cuda.so"
	hosttest.Compile(t, root, hosttest.Library{Name: hosttest.Site + provider, Source: fatSource(80, 90)})
	install(t, root, "onnxruntime_gpu-1.23.2", provider, "Name: onnxruntime-gpu\nVersion: 1.23.2\n")
	record := filepath.Join(root, hosttest.Site+"onnxruntime_gpu-1.23.2.dist-info/RECORD")
	have, err := os.ReadFile(record)
	hosttest.Must(t, err)
	state := filepath.Join(root, hosttest.Site+"onnxruntime/capi/onnxruntime_pybind11_state.so")
	hosttest.Compile(t, root, hosttest.Library{Name: hosttest.Site + "onnxruntime/capi/onnxruntime_pybind11_state.so", Source: fatSource(80)})
	info, err := os.Stat(state)
	hosttest.Must(t, err)
	hosttest.Write(t, record, string(have)+fmt.Sprintf("onnxruntime/capi/onnxruntime_pybind11_state.so,sha256=x,%d\n", info.Size()))
	for _, c := range []struct {
		name string
		lose func(string) error
		want []facts.Hindrance
	}{
		{"whole", func(string) error { return nil }, nil},
		{"empty", func(file string) error { return os.Truncate(file, 0) }, []facts.Hindrance{{Kind: facts.HindranceSpoiled,
			Of: "onnxruntime-gpu 1.23.2", Path: "/" + hosttest.Site + provider, By: "file too short"}}},
		{"gone", os.Remove, []facts.Hindrance{{Kind: facts.HindranceSpoiled, Of: "onnxruntime-gpu 1.23.2",
			Path: "/" + hosttest.Site + provider, By: "it is gone"}}},
	} {
		hosttest.Must(t, c.lose(filepath.Join(root, hosttest.Site+provider)))
		found, _ := Read(&host.Host{Root: root}, []string{"/opt/venv"}) // an empty file is an error, too
		if diff := cmp.Diff(c.want, found.Environments[0].Builds[0].Hindrances); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestONNXRuntimeOfConda checks a build that links to its environment's libraries, as conda-forge's do.
func TestONNXRuntimeOfConda(t *testing.T) {
	root := t.TempDir()
	const provider, own = "onnxruntime/capi/libonnxruntime_providers_cuda.so", "opt/venv/lib/libcublas.so.12"
	hosttest.Compile(t, root,
		hosttest.Library{Name: own, Source: cublasC},
		hosttest.Library{Name: hosttest.Site + provider,
			Source: "int cublasCreate(void); int f(void) { return cublasCreate(); }\n" + fatSource(80, 90),
			Needs:  []string{own},
			Flags:  []string{"-Wl,-rpath,$ORIGIN/../../../.."}})
	install(t, root, "onnxruntime_gpu-1.23.2", provider, "Name: onnxruntime-gpu\nVersion: 1.23.2\n")
	if b := onlyBuild(t, root, nil); !b.Looked || len(b.Missing)+len(b.Beside) > 0 {
		t.Errorf("looked is %v, missing %v, beside %v", b.Looked, b.Missing, b.Beside)
	}
}

// TestCTranslate2 checks a ctranslate2 4.6.0: the library contains the name of the cuBLAS that it opens, and the front
// of cuDNN, renamed by auditwheel, opens its parts. Only the module's run path leads to it.
func TestCTranslate2(t *testing.T) {
	root := t.TempDir()
	const libs = hosttest.Site + "ctranslate2.libs/"
	hosttest.Compile(t, root,
		hosttest.Library{Name: libs + "libctranslate2-c75cca97.so.4.6.0",
			Source: "const char *cublas(void) { return \"libcublas.so.12\"; }\n" + fatSource(80, 90)},
		hosttest.Library{Name: hosttest.Site + "ctranslate2/_ext.cpython-312-x86_64-linux-gnu.so",
			Source: "const char *cublas(void); const char *f(void) { return cublas(); }\n",
			Needs:  []string{libs + "libctranslate2-c75cca97.so.4.6.0"},
			Flags:  []string{"-Wl,--disable-new-dtags,-rpath,$ORIGIN/../ctranslate2.libs"}})
	install(t, root, "ctranslate2-4.6.0", "ctranslate2.libs/libctranslate2-c75cca97.so.4.6.0",
		"Name: ctranslate2\nVersion: 4.6.0\n")
	for _, c := range cuBLASCases {
		t.Run(c.name, func(t *testing.T) { c.check(t, root, cublasC) })
	}

	const front = libs + "libcudnn-74a4c495.so.9.1.0"
	hosttest.Compile(t, root,
		hosttest.Library{Name: front, Source: "int cudnnCreate(void) { return 0; }\n"},
		hosttest.Library{Name: libs + "libctranslate2-c75cca97.so.4.6.0",
			Source: "int cudnnCreate(void); const char *cublas(void) { return cudnnCreate() ? 0 : " +
				"\"libcublas.so.12\"; }\n" + fatSource(80, 90), Needs: []string{front}})
	c := openedCase{"front-of-cudnn", toolCuBLAS, "/" + filepath.Dir(toolCuBLAS), loader.KnownDlopens["libcudnn.so.9"], nil}
	t.Run(c.name, func(t *testing.T) { c.check(t, root, cublasC) })
}

// TestCuPy opens NVRTC by its name, and from 14 on in the wheels first, where cuda-pathfinder takes it of any family.
func TestCuPy(t *testing.T) {
	root := t.TempDir()
	const cub, wheel = "cupy/cuda/cub.cpython-312-x86_64-linux-gnu.so",
		hosttest.Site + "nvidia/cuda_nvrtc/lib/libnvrtc.so.12"
	const nvrtcC = "int nvrtcVersion(void) { return 0; }\n"
	hosttest.Compile(t, root, hosttest.Library{Name: hosttest.Site + cub,
		Source: "int f(void) { return 0; }\n" + fatSource(80, 90)})
	install(t, root, "cupy_cuda12x-13.6.0", cub, "Name: cupy-cuda12x\nVersion: 13.6.0\n")
	nowhere := openedCase{"nowhere", "", "", []string{"libnvrtc.so.12"}, nil}
	for _, c := range []openedCase{nowhere, {"wheel", wheel, "", nil, []string{"/" + wheel}},
		{"library-path", wheel, "/" + filepath.Dir(wheel), nil, nil}} {
		t.Run(c.name, func(t *testing.T) { c.check(t, root, nvrtcC) })
	}

	const metadata = "Name: cupy-cuda12x\nVersion: 14.2.0\nRequires-Dist: cuda-pathfinder==1.*,>=1.3.4\n"
	hosttest.Write(t, filepath.Join(root, hosttest.Site+"cupy_cuda12x-13.6.0.dist-info/METADATA"), metadata)
	for _, c := range []openedCase{nowhere, {"pathfinder", wheel, "", nil, nil}} {
		t.Run(c.name, func(t *testing.T) { c.check(t, root, nvrtcC) })
	}
	const solver, link = hosttest.Site + "nvidia/cusolver/lib/libcusolver.so.11", hosttest.Site + "nvidia/nvjitlink/lib/libnvJitLink.so.12"
	hosttest.Compile(t, root, hosttest.Library{Name: wheel, Source: nvrtcC},
		hosttest.Library{Name: link, Source: "int nvJitLinkCreate(void) { return 0; }\n"},
		hosttest.Library{Name: solver, Source: "int nvJitLinkCreate(void); int f(void) { return nvJitLinkCreate(); }\n",
			Needs: []string{link}, Flags: []string{"-Wl,-rpath,$ORIGIN/../../nvjitlink/lib"}})
	if b := onlyBuild(t, root, nil); len(b.Missing) > 0 {
		t.Errorf("whole: missing %v", b.Missing)
	}
	const random = hosttest.Site + "nvidia_curand_cu12-10.3.10.19.dist-info"
	hosttest.Write(t, filepath.Join(root, random, "METADATA"), "Name: nvidia-curand-cu12\nVersion: 10.3.10.19\n")
	hosttest.Write(t, filepath.Join(root, random, "RECORD"), "nvidia/curand/lib/libcurand.so.10,sha256=x,166000000\n")
	if b := onlyBuild(t, root, nil); !slices.Equal(b.Missing, []string{"libcurand.so.10"}) {
		t.Errorf("its wheel lists it and it is gone: missing %v", b.Missing)
	}
	hosttest.Must(t, os.RemoveAll(filepath.Join(root, random)))
	hosttest.Must(t, os.Remove(filepath.Join(root, link)))
	if b := onlyBuild(t, root, nil); !slices.Equal(b.Missing, []string{"libnvJitLink.so.12"}) {
		t.Errorf("missing %v, want libnvJitLink.so.12", b.Missing)
	}
	hosttest.Must(t, os.Remove(filepath.Join(root, solver)))
	hosttest.Compile(t, root, hosttest.Library{Name: hosttest.Site + "nvidia/cu13/lib/libnvrtc.so.13", Source: nvrtcC})
	if b := onlyBuild(t, root, nil); b.Looked || len(b.Missing) > 0 {
		t.Errorf("beside an NVRTC of another family looked is %v, missing %v", b.Looked, b.Missing)
	}
}

// TestNumba checks a numba-cuda[cu12] 0.30.4, of which only the compilers matter: those in the wheels first, then in a
// toolkit. Without cuda-bindings nothing is reported.
func TestNumba(t *testing.T) {
	root := t.TempDir()
	const own, nvrtc = "numba_cuda/numba/cuda/_devicearray.so", hosttest.Site + "nvidia/cuda_nvrtc/lib/libnvrtc.so.12"
	const nvvm, tool = hosttest.Site + "nvidia/cuda_nvcc/nvvm/lib64/libnvvm.so.4", "usr/local/cuda-12.4/nvvm/lib64/libnvvm.so"
	hosttest.Compile(t, root, hosttest.Library{Name: hosttest.Site + own, Source: "int f(void) { return 0; }\n"},
		hosttest.Library{Name: nvrtc, Source: "int nvrtcVersion(void) { return 0; }\n"})
	install(t, root, "numba_cuda-0.30.4", own, "Name: numba-cuda\nVersion: 0.30.4\n")
	if found, err := Read(&host.Host{Root: root}, []string{"/opt/venv"}); err != nil || len(found.Environments[0].Builds) > 0 {
		t.Errorf("without cuda-bindings: %+v, %v", found, err)
	}
	hosttest.Write(t, filepath.Join(root, hosttest.Site+"cuda_bindings-12.9.10.dist-info/METADATA"), "Name: cuda-bindings\n")
	const nvvmC = "int nvvmVersion(void) { return 0; }\n"
	for _, c := range []openedCase{{"no-nvvm", "", "", []string{"libnvvm.so.4"}, nil}, {"wheel", nvvm, "", nil, nil},
		{"toolkit", tool, "", nil, nil}} {
		t.Run(c.name, func(t *testing.T) { c.check(t, root, nvvmC) })
	}
	hosttest.Must(t, os.Remove(filepath.Join(root, nvrtc)))
	c := openedCase{"no-nvrtc", nvvm, "", []string{"libnvrtc.so.12"}, nil}
	t.Run(c.name, func(t *testing.T) { c.check(t, root, nvvmC) })
}

// TestPaddle checks a paddlepaddle-gpu 2.6.2, which opens names without a version. The wheels' libraries and torch's do
// not help it; a toolkit's do if the loader finds them, and cuDNN in /usr/local/cuda always.
func TestPaddle(t *testing.T) {
	root := t.TempDir()
	const own, tool = "paddle/libs/libphi.so", "usr/local/cuda-11.8/lib64/libcublas.so"
	const cudnn = "usr/local/cuda/lib64/libcudnn.so"
	hosttest.Compile(t, root, hosttest.Library{Name: hosttest.Site + own,
		Source: "int f(void) { return 0; }\n" + fatSource(80, 86)},
		hosttest.Library{Name: hosttest.Site + "nvidia/cublas/lib/libcublas.so.11", Source: cublasC})
	install(t, root, "paddlepaddle_gpu-2.6.2", own, "Name: paddlepaddle-gpu\nVersion: 2.6.2\n")
	hosttest.Write(t, filepath.Join(root, hosttest.Site+"paddle/version/__init__.py"),
		"full_version     = '2.6.2'\ncuda_version     = '11.8'\n")
	nowhere := openedCase{"nowhere", "", "", []string{"libcublas.so", "libcudnn.so"}, nil}
	if b := nowhere.check(t, root, ""); b.CUDA != "11.8" {
		t.Errorf("CUDA %q", b.CUDA)
	}
	hosttest.Compile(t, root, hosttest.Library{Name: cudnn, Source: "int cudnnCreate(void) { return 0; }\n"})
	for _, c := range []openedCase{{"only-cudnn", "", "", []string{"libcublas.so"}, nil},
		{"toolkit", tool, "", nil, []string{"/" + tool}},
		{"led-there", tool, "/" + filepath.Dir(tool), nil, nil}} {
		t.Run(c.name, func(t *testing.T) { c.check(t, root, cublasC) })
	}
	hosttest.Write(t, filepath.Join(root, hosttest.Site+"paddlepaddle_gpu-2.6.2.dist-info/METADATA"),
		"Name: paddlepaddle-gpu\nVersion: 3.0.0\nRequires-Dist: nvidia-cublas-cu11==11.11.3.6\n")
	if b := onlyBuild(t, root, nil); b.Looked || len(b.Missing) > 0 {
		t.Errorf("with wheels of its own: looked is %v, missing %v", b.Looked, b.Missing)
	}
}

// TestCameByExtra checks that vLLM requires ray[cgraph], and that extra CuPy. pip marks what the user named himself.
func TestCameByExtra(t *testing.T) {
	root := t.TempDir()
	const cub = "cupy/cuda/cub.cpython-312-x86_64-linux-gnu.so"
	hosttest.Compile(t, root, hosttest.Library{Name: hosttest.Site + cub,
		Source: "int f(void) { return 0; }\n" + fatSource(80, 90)})
	install(t, root, "cupy_cuda12x-13.6.0", cub, "Name: cupy-cuda12x\nVersion: 13.6.0\n")
	info := filepath.Join(root, hosttest.Site+"cupy_cuda12x-13.6.0.dist-info")
	hosttest.Write(t, filepath.Join(root, hosttest.Site+"ray-2.52.0.dist-info/METADATA"), "Name: ray\nVersion: 2.52.0\n"+
		"Requires-Dist: cupy-cuda12x; sys_platform != \"darwin\" and extra == \"cgraph\"\n")
	for _, c := range []struct {
		name, installer string
		requested       bool
		want            string
	}{
		{"pip-as-a-part", "pip", false, "ray"},
		{"uv-marks-everything", "uv", true, "ray"},
		{"pip-by-name", "pip", true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			hosttest.Write(t, info+"/INSTALLER", c.installer+"\n")
			if os.Remove(info + "/REQUESTED"); c.requested {
				hosttest.Write(t, info+"/REQUESTED", "")
			}
			if b := onlyBuild(t, root, nil); b.PartOf != c.want {
				t.Errorf("part of %q, want %q", b.PartOf, c.want)
			}
		})
	}
}

// TestAlone installs an unknown package with machine code into an environment without a framework. The package is
// reported as a GPU build, unless its metadata requires torch.
func TestAlone(t *testing.T) {
	root := t.TempDir()
	const library = "ours/_C.so"
	hosttest.Compile(t, root, hosttest.Library{Name: hosttest.Site + library,
		Source: "int f(void) { return 0; }\n" + fatSource(80, 90)})
	install(t, root, "our_kernels-1.2", library, "Name: our-kernels\nVersion: 1.2\n")
	for requires, standalone := range map[string]bool{"": true, "Requires-Dist: torch>=2.4\n": false} {
		hosttest.Write(t, filepath.Join(root, hosttest.Site+"our_kernels-1.2.dist-info/METADATA"),
			"Name: our-kernels\nVersion: 1.2\n"+requires)
		found, err := Read(&host.Host{Root: root}, []string{"/opt/venv"})
		hosttest.Must(t, err)
		builds := found.Environments[0].Builds
		if len(builds) != 1 || builds[0].Name != "our-kernels" || len(builds[0].SASS) == 0 ||
			builds[0].Standalone != standalone {
			t.Errorf("with %q: builds are %+v", requires, builds)
		}
	}
}
