package framework

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"
	"cudacompat/probe/internal/loader"

	"github.com/google/go-cmp/cmp"
)

// completeTorch returns a site with all that a torch for CUDA needs: its own libraries, cuDNN with a part that it opens
// by name, and NVRTC behind libcaffe2_nvrtc.so.
func completeTorch(t *testing.T) string {
	root := t.TempDir()
	rpath := []string{"-Wl,--disable-new-dtags,-rpath,$ORIGIN:$ORIGIN/lib:$ORIGIN/../../nvidia/cudnn/lib:" +
		"$ORIGIN/../../nvidia/cuda_nvrtc/lib", "-Wl,--allow-shlib-undefined"}
	library := func(name, source string, needs ...string) hosttest.Library {
		l := hosttest.Library{Name: hosttest.Site + name, Source: source, Flags: rpath}
		for _, need := range needs {
			l.Needs = append(l.Needs, hosttest.Site+need)
		}
		return l
	}
	hosttest.Compile(t, root,
		library("nvidia/cudnn/lib/libcudnn_ops.so.9", "int cudnnOps(void) { return 0; }\n"),
		library("nvidia/cudnn/lib/libcudnn.so.9", "int cudnnCreate(void) { return 0; }\n"),
		library("nvidia/cuda_nvrtc/lib/libnvrtc.so.12", "int nvrtcVersion(void) { return 0; }\n"),
		library("nvidia/cuda_nvrtc/lib/libnvrtc-builtins.so.12.8", "int builtins(void) { return 0; }\n"),
		library("torch/lib/libc10_cuda.so", "int c10(void) { return 0; }\n"),
		library("torch/lib/libcaffe2_nvrtc.so", "int nvrtcVersion(void); int stub(void) { return nvrtcVersion(); }\n",
			"nvidia/cuda_nvrtc/lib/libnvrtc.so.12"),
		library("torch/lib/libtorch_global_deps.so", "int deps(void) { return 0; }\n"),
		library("torch/lib/libtorch_cuda_linalg.so", "int solve(void) { return 0; }\n"),
		library("torch/lib/libshm.so", "int shared(void) { return 0; }\n"),
		library("torch/lib/libtorch_python.so", "int shared(void); int python(void) { return shared(); }\n", "torch/lib/libshm.so"),
		library("torch/_C.cpython-312-x86_64-linux-gnu.so", "int python(void); int PyInit__C(void) { return python(); }\n",
			"torch/lib/libtorch_python.so"),
		library("torch/lib/libtorch_cuda.so", "int c10(void); int cudnnCreate(void);\n"+
			"int torch(void) { return c10() + cudnnCreate(); }\nvoid "+loader.RegistersLinalg+"(void) {}\n",
			"torch/lib/libc10_cuda.so", "nvidia/cudnn/lib/libcudnn.so.9"))
	for name, text := range map[string]string{
		"torch/__init__.py": "", "torch/version.py": "__version__ = '2.8.0+cu128'\ncuda: Optional[str] = '12.8'\n",
		"torch-2.8.0.dist-info/METADATA": "Name: torch\nVersion: 2.8.0\nRequires-Dist: " +
			"nvidia-cuda-nvrtc-cu12==12.8.93\n",
		"torch-2.8.0.dist-info/RECORD": "torch/_C.cpython-312-x86_64-linux-gnu.so,sha256=x,1\n" +
			"torch/lib/libc10_cuda.so,sha256=x,1\ntorch/lib/libtorch_cuda.so,sha256=x,1\ntorch/lib/libtorch_global_deps.so,sha256=x,1\n",
		"nvidia_cudnn_cu12-9.10.2.21.dist-info/METADATA":    "Name: nvidia-cudnn-cu12\nVersion: 9.10.2.21\n",
		"nvidia_cudnn_cu12-9.10.2.21.dist-info/RECORD":      "nvidia/cudnn/lib/libcudnn.so.9,sha256=x,1\nnvidia/cudnn/lib/libcudnn_ops.so.9,sha256=x,1\n",
		"nvidia_cuda_nvrtc_cu12-12.8.93.dist-info/METADATA": "Name: nvidia-cuda-nvrtc-cu12\nVersion: 12.8.93\n",
		"nvidia_cuda_nvrtc_cu12-12.8.93.dist-info/RECORD":   "nvidia/cuda_nvrtc/lib/libnvrtc-builtins.so.12.8,sha256=x,1\n",
	} {
		hosttest.Write(t, filepath.Join(root, hosttest.Site+name), text)
	}
	hosttest.Write(t, filepath.Join(root, "opt/venv/pyvenv.cfg"), "version = 3.12.3\n")
	return root
}

// TestBesideTheRunPath checks a library in a wheel's directory to which nothing leads: with cuSPARSELt 0.7.1 under
// torch 2.6.0, "import torch" fails with "libcusparseLt.so.0: cannot open shared object file".
func TestBesideTheRunPath(t *testing.T) {
	root := completeTorch(t)
	from := filepath.Join(root, hosttest.Site+"nvidia/cudnn/lib")
	to := filepath.Join(root, hosttest.Site+"nvidia/cudnn9/lib")
	hosttest.Must(t, os.MkdirAll(filepath.Dir(to), 0o755))
	hosttest.Must(t, os.Rename(from, to))
	found, err := Read(&host.Host{Root: root}, []string{"/opt/venv"})
	hosttest.Must(t, err)
	b := found.Environments[0].Builds[0]
	if !slices.Contains(b.Missing, "libcudnn.so.9") || len(b.Beside) != 1 || !strings.HasSuffix(b.Beside[0], "cudnn9/lib/libcudnn.so.9") {
		t.Errorf("missing %q, beside %q", b.Missing, b.Beside)
	}
	if !slices.Contains(b.Linked, "libcudnn.so.9") {
		t.Errorf("linked %q", b.Linked)
	}
}

// TestMetadataWithoutPackage checks a half-removed torch of which only the metadata is left. Its RECORD shows that it
// is no editable installation.
func TestMetadataWithoutPackage(t *testing.T) {
	root := completeTorch(t)
	hosttest.Must(t, os.RemoveAll(filepath.Join(root, hosttest.Site+"torch")))
	hosttest.Write(t, filepath.Join(root, hosttest.Site+"torch-2.8.0.dist-info/RECORD"), "torch/version.py,sha256=x,1\n")
	found, _ := Read(&host.Host{Root: root, Rest: true}, []string{"/opt/venv"})
	b := found.Environments[0].Builds[0]
	if b.Name != "torch" || !b.Looked || !cmp.Equal(b.Missing, []string{"torch/version.py"}) {
		t.Errorf("torch without its package is %+v", b)
	}
}

// TestArchitecture checks that the wheel's tag gives a build's architecture.
func TestArchitecture(t *testing.T) {
	root := completeTorch(t)
	hosttest.Write(t, filepath.Join(root, hosttest.Site+"torch-2.8.0.dist-info/WHEEL"),
		"Wheel-Version: 1.0\nTag: cp312-cp312-manylinux_2_28_aarch64\n")
	found, err := Read(&host.Host{Root: root, Rest: true}, []string{"/opt/venv"})
	hosttest.Must(t, err)
	if b := found.Environments[0].Builds[0]; b.Arch != "aarch64" {
		t.Errorf("torch is for %q, want aarch64", b.Arch)
	}
}

// TestIncompleteTorch removes one file at a time, as an interrupted installation or a slimmed image does. Parts that
// this cuDNN's wheel never listed are not missing.
func TestIncompleteTorch(t *testing.T) {
	for _, c := range []struct {
		remove string
		want   []string
	}{
		{"", nil},
		{"torch/lib/libtorch_cuda.so", []string{"libtorch_cuda.so"}},
		{"torch/lib", []string{"libtorch_cuda.so"}},
		{"torch/lib/libc10_cuda.so", []string{"libc10_cuda.so"}},
		{"nvidia/cudnn/lib/libcudnn_ops.so.9", []string{"libcudnn_ops.so.9"}},
		{"nvidia/cuda_nvrtc/lib", []string{"libnvrtc.so.12"}},
		{"torch/lib/libcaffe2_nvrtc.so", nil},
		{"torch/lib/libtorch_cuda_linalg.so", []string{"libtorch_cuda_linalg.so"}},
		{"torch/lib/libtorch_python.so", []string{"libtorch_python.so"}},
		{"torch/lib/libshm.so", []string{"libshm.so"}},
		{"torch/lib/libtorch_global_deps.so", []string{"libtorch_global_deps.so"}},
		{"torch/_C.cpython-312-x86_64-linux-gnu.so", []string{"torch/_C"}},
		{"nvidia/cuda_nvrtc/lib/libnvrtc-builtins.so.12.8", []string{"libnvrtc-builtins.so.12.8"}},
	} {
		t.Run(c.remove, func(t *testing.T) {
			root := completeTorch(t)
			if c.remove != "" {
				hosttest.Must(t, os.RemoveAll(filepath.Join(root, hosttest.Site+c.remove)))
			}
			found, err := Read(&host.Host{Root: root, Rest: true}, []string{"/opt/venv"})
			hosttest.Must(t, err)
			b := found.Environments[0].Builds[0]
			if diff := cmp.Diff(c.want, b.Missing); diff != "" && len(c.want)+len(b.Missing) > 0 || !b.Looked {
				t.Errorf("looked %v, missing (-want +got):\n%s", b.Looked, diff)
			}
			if len(b.Unloadable) > 0 {
				t.Errorf("what is gone is unloadable: %+v", b.Unloadable)
			}
		})
	}
}

// TestUnloadableOfTorch leaves the files there and spoils them, as a full disk or an image of another architecture does.
func TestUnloadableOfTorch(t *testing.T) {
	for _, c := range []struct {
		file, spoil, reason string
	}{
		{"torch/lib/libtorch_cuda.so", "cut", "the file is cut off: it has 4096 bytes"},
		{"torch/lib/libtorch_cuda.so", "other machine", "wrong ELF machine: EM_AARCH64"},
		{"torch/lib/libc10_cuda.so", "empty", "file too short"},
		{"nvidia/cudnn/lib/libcudnn.so.9", "text", "invalid ELF header"},
		{"nvidia/cudnn/lib/libcudnn_ops.so.9", "cut", "the file is cut off: it has 4096 bytes"},
		{"nvidia/cuda_nvrtc/lib/libnvrtc.so.12", "other machine", "wrong ELF machine: EM_AARCH64"},
	} {
		t.Run(c.file+" "+c.spoil, func(t *testing.T) {
			root := completeTorch(t)
			spoil(t, filepath.Join(root, hosttest.Site+c.file), c.spoil)
			found, _ := Read(&host.Host{Root: root, Rest: true}, []string{"/opt/venv"})
			b := found.Environments[0].Builds[0]
			want := filepath.Base(c.file)
			if !cmp.Equal(b.Missing, []string{want}) || len(b.Unloadable) != 1 {
				t.Fatalf("missing %v, unloadable %+v", b.Missing, b.Unloadable)
			}
			u := b.Unloadable[0]
			if u.Name != want || u.Path != "/"+hosttest.Site+c.file || !strings.HasPrefix(u.Reason, c.reason) {
				t.Errorf("unloadable %+v, want %s", u, c.reason)
			}
		})
	}
}

// spoil makes a library one that the loader does not take.
func spoil(t *testing.T, file, how string) {
	t.Helper()
	switch how {
	case "empty":
		hosttest.Must(t, os.Truncate(file, 0))
	case "cut":
		hosttest.Must(t, os.Truncate(file, 4096))
	case "text":
		hosttest.Write(t, file, strings.Repeat("this is no library\n", 10))
	case "other machine":
		data, err := os.ReadFile(file)
		hosttest.Must(t, err)
		data[18] = byte(elf.EM_AARCH64)
		hosttest.Must(t, os.WriteFile(file, data, 0o644))
	}
}

// TestStubOfTorch replaces a library in the wheel's RECORD by one without symbols.
func TestStubOfTorch(t *testing.T) {
	const cudnn = hosttest.Site + "nvidia/cudnn/lib/libcudnn.so.9"
	root := completeTorch(t)
	info, err := os.Stat(filepath.Join(root, cudnn))
	hosttest.Must(t, err)
	record := filepath.Join(root, hosttest.Site+"nvidia_cudnn_cu12-9.10.2.21.dist-info/RECORD")
	hosttest.Write(t, record, fmt.Sprintf("nvidia/cudnn/lib/libcudnn.so.9,sha256=x,%d\n", info.Size()))
	hosttest.Write(t, filepath.Join(root, hosttest.Site+"torch-2.8.0.dist-info/METADATA"),
		"Name: torch\nVersion: 2.8.0\nRequires-Dist: nvidia-cudnn-cu12==9.10.2.21\nRequires-Dist: nvidia-cuda-nvrtc-cu12==12.8.93\n")
	if b := onlyBuild(t, root, nil); len(b.Unresolved) > 0 || b.Compared {
		t.Errorf("of the wheel's own library unresolved %+v", b.Unresolved)
	}
	hosttest.Compile(t, root, hosttest.Library{Name: cudnn, Source: "int nothing(void) { return 0; }\n",
		Flags: []string{"-Wl,-z,max-page-size=65536"}}) // of another size
	b := onlyBuild(t, root, nil)
	if len(b.Unresolved) != 1 || b.Unresolved[0].Symbol != "cudnnCreate" || b.Unresolved[0].Path != "/"+cudnn {
		t.Errorf("of a stub unresolved %+v", b.Unresolved)
	}
}

// TestTorchBeforeItsWheels checks a torch from `pip install --target --no-deps` that comes first on the import path.
// The loader does not find the libraries from there, and torch takes those of the environment, including NCCL, which
// only its CUDA half links to.
func TestTorchBeforeItsWheels(t *testing.T) {
	root := t.TempDir()
	const nccl, lib = hosttest.Site + "nvidia/nccl/lib/libnccl.so.2", "opt/over/torch/lib/"
	hosttest.Compile(t, root, hosttest.Library{Name: nccl, Source: "int ncclSend(void) { return 0; }\n"},
		hosttest.Library{Name: wheelCuBLAS, Source: cublasC},
		hosttest.Library{Name: lib + "libtorch_global_deps.so", Source: "int cublasCreate(void); int f(void) { return cublasCreate(); }\n",
			Needs: []string{wheelCuBLAS}},
		hosttest.Library{Name: lib + "libtorch_cuda.so", Source: "int ncclSend(void); int g(void) { return ncclSend(); }\n" +
			fatSource(80, 90), Needs: []string{nccl}})
	for name, text := range map[string]string{
		"opt/over/torch/__init__.py":                                 "cuda_libs = {\n    \"cublas\": \"libcublas.so.*[0-9]\",\n    \"nccl\": \"libnccl.so.*[0-9]\",\n}\n",
		"opt/venv/pyvenv.cfg":                                        "version = 3.12.3\n",
		"opt/over/torch/version.py":                                  "__version__ = '2.6.0+cu124'\ncuda: Optional[str] = '12.4'\n",
		"opt/over/torch-2.6.0.dist-info/METADATA":                    "Name: torch\nVersion: 2.6.0\nRequires-Dist: nvidia-nccl-cu12==2.21.5\n",
		hosttest.Site + "over.pth":                                   "import sys; sys.path.insert(0, '/opt/over')\n",
		hosttest.Site + "nvidia_nccl_cu12-2.27.3.dist-info/METADATA": "Name: nvidia-nccl-cu12\nVersion: 2.27.3\n",
	} {
		hosttest.Write(t, filepath.Join(root, name), text)
	}
	if b := onlyBuild(t, root, nil); b.Version != "2.6.0+cu124" || strings.Contains(strings.Join(b.Missing, " "), "nccl") {
		t.Errorf("%s misses %v", b.Version, b.Missing)
	}
	hosttest.Must(t, os.Remove(filepath.Join(root, nccl)))
	b := onlyBuild(t, root, nil)
	if missing := strings.Join(b.Missing, " "); !strings.Contains(missing, "libnccl.so.2") || strings.Contains(missing, "ncclSend") {
		t.Errorf("without NCCL misses %v", b.Missing)
	}
	hosttest.Compile(t, root, hosttest.Library{Name: "usr/lib64/libnccl.so.2", Source: "int ncclSend(void) { return 0; }\n"})
	b = onlyBuild(t, root, nil) // torch's own search ends the import, though the loader would find it
	if len(b.Hindrances) != 1 || b.Hindrances[0].Kind != facts.HindranceLibrary || b.Hindrances[0].By != "libnccl.so" {
		t.Errorf("with an NCCL of the system's alone, hindered by %+v", b.Hindrances)
	}
}

// TestTorchElsewhere checks a torch in another directory than its wheels: its run path finds none of them, and torch
// opens its whole list, including NVRTC, which it needs only later.
func TestTorchElsewhere(t *testing.T) {
	root := completeTorch(t)
	hosttest.Compile(t, root, hosttest.Library{Name: hosttest.Site + "torch/lib/libtorch_global_deps.so", Source: "int global;\n",
		Needs: []string{hosttest.Site + "nvidia/cudnn/lib/libcudnn.so.9"}, Flags: []string{"-Wl,--no-as-needed"}})
	hosttest.Write(t, filepath.Join(root, hosttest.Site+"torch/__init__.py"),
		"cuda_libs = [\n    (\"cudnn\", \"libcudnn.so.*[0-9]\"),\n    (\"cuda_nvrtc\", \"libnvrtc.so.*[0-9]\"),\n]\n")
	hosttest.Must(t, os.MkdirAll(filepath.Join(root, "opt/other"), 0o755))
	hosttest.Must(t, os.Rename(filepath.Join(root, hosttest.Site+"torch"), filepath.Join(root, "opt/other/torch")))
	hosttest.Write(t, filepath.Join(root, hosttest.Site+"more.pth"), "import sys; sys.path.append('/opt/other')\n")
	found, err := Read(&host.Host{Root: root}, []string{"/opt/venv"})
	hosttest.Must(t, err)
	b := found.Environments[0].Builds[0]
	if len(b.Missing) > 0 || b.Path != "/opt/other/torch" {
		t.Errorf("%s misses %q", b.Path, b.Missing)
	}
}
