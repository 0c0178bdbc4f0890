package python

import (
	"os"
	"path/filepath"
	"testing"

	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"

	"github.com/google/go-cmp/cmp"
)

// completeTorch is a site with all that a torch for CUDA needs: its own libraries, cuDNN with a part that it opens by
// name, and NVRTC behind libcaffe2_nvrtc.so.
func completeTorch(t *testing.T) string {
	root := t.TempDir()
	rpath := []string{"-Wl,--disable-new-dtags,-rpath,$ORIGIN:$ORIGIN/../../nvidia/cudnn/lib:" +
		"$ORIGIN/../../nvidia/cuda_nvrtc/lib", "-Wl,--allow-shlib-undefined"}
	library := func(name, source string, needs ...string) hosttest.Library {
		l := hosttest.Library{Name: testSite + name, Source: source, Flags: rpath}
		for _, need := range needs {
			l.Needs = append(l.Needs, testSite+need)
		}
		return l
	}
	hosttest.Compile(t, root,
		library("nvidia/cudnn/lib/libcudnn_ops.so.9", "int cudnnOps(void) { return 0; }\n"),
		library("nvidia/cudnn/lib/libcudnn.so.9", "int cudnnCreate(void) { return 0; }\n"),
		library("nvidia/cuda_nvrtc/lib/libnvrtc.so.12", "int nvrtcVersion(void) { return 0; }\n"),
		library("torch/lib/libc10_cuda.so", "int c10(void) { return 0; }\n"),
		library("torch/lib/libcaffe2_nvrtc.so", "int nvrtcVersion(void); int stub(void) { return nvrtcVersion(); }\n",
			"nvidia/cuda_nvrtc/lib/libnvrtc.so.12"),
		library("torch/lib/libtorch_global_deps.so", "int deps(void) { return 0; }\n"),
		library("torch/lib/libtorch_cuda.so", "int c10(void); int cudnnCreate(void); int torch(void) { return c10() + "+
			"cudnnCreate(); }\n",
			"torch/lib/libc10_cuda.so", "nvidia/cudnn/lib/libcudnn.so.9"))
	for name, text := range map[string]string{
		"torch/__init__.py": "", "torch/version.py": "__version__ = '2.8.0+cu128'\ncuda: Optional[str] = '12.8'\n",
		"torch-2.8.0.dist-info/METADATA": "Name: torch\nVersion: 2.8.0\nRequires-Dist: " +
			"nvidia-cuda-nvrtc-cu12==12.8.93\n",
		"torch-2.8.0.dist-info/RECORD":                      "torch/lib/libc10_cuda.so,sha256=x,1\ntorch/lib/libtorch_cuda.so,sha256=x,1\n",
		"nvidia_cudnn_cu12-9.10.2.21.dist-info/METADATA":    "Name: nvidia-cudnn-cu12\nVersion: 9.10.2.21\n",
		"nvidia_cudnn_cu12-9.10.2.21.dist-info/RECORD":      "nvidia/cudnn/lib/libcudnn.so.9,sha256=x,1\nnvidia/cudnn/lib/libcudnn_ops.so.9,sha256=x,1\n",
		"nvidia_cuda_nvrtc_cu12-12.8.93.dist-info/METADATA": "Name: nvidia-cuda-nvrtc-cu12\nVersion: 12.8.93\n",
	} {
		hosttest.Write(t, filepath.Join(root, testSite+name), text)
	}
	hosttest.Write(t, filepath.Join(root, "opt/venv/pyvenv.cfg"), "version = 3.12.3\n")
	return root
}

// TestMetadataWithoutPackage: what a half-removed torch leaves is its metadata; its RECORD tells that it is no editable
// installation.
func TestMetadataWithoutPackage(t *testing.T) {
	root := completeTorch(t)
	hosttest.Must(t, os.RemoveAll(filepath.Join(root, testSite+"torch")))
	hosttest.Write(t, filepath.Join(root, testSite+"torch-2.8.0.dist-info/RECORD"), "torch/version.py,sha256=x,1\n")
	found, _ := Read(&host.Host{Root: root, Rest: true}, []string{"/opt/venv"})
	b := found.Environments[0].Builds[0]
	if b.Name != "torch" || !b.Looked || !cmp.Equal(b.Missing, []string{"torch/version.py"}) {
		t.Errorf("torch without its package is %+v", b)
	}
}

// TestArchitecture: the wheel's tag tells what a build is for.
func TestArchitecture(t *testing.T) {
	root := completeTorch(t)
	hosttest.Write(t, filepath.Join(root, testSite+"torch-2.8.0.dist-info/WHEEL"),
		"Wheel-Version: 1.0\nTag: cp312-cp312-manylinux_2_28_aarch64\n")
	found, err := Read(&host.Host{Root: root, Rest: true}, []string{"/opt/venv"})
	hosttest.Must(t, err)
	if b := found.Environments[0].Builds[0]; b.Arch != "aarch64" {
		t.Errorf("torch is for %q, want aarch64", b.Arch)
	}
}

// TestIncompleteTorch takes files away one at a time, as an installation that stopped half-way or a slimmed image does.
// The parts that this cuDNN's wheel never listed are not missing.
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
		{"torch/lib/libcaffe2_nvrtc.so", []string{"libcaffe2_nvrtc.so"}},
	} {
		t.Run(c.remove, func(t *testing.T) {
			root := completeTorch(t)
			if c.remove != "" {
				hosttest.Must(t, os.RemoveAll(filepath.Join(root, testSite+c.remove)))
			}
			found, err := Read(&host.Host{Root: root, Rest: true}, []string{"/opt/venv"})
			hosttest.Must(t, err)
			b := found.Environments[0].Builds[0]
			if diff := cmp.Diff(c.want, b.Missing); diff != "" && len(c.want)+len(b.Missing) > 0 || !b.Looked {
				t.Errorf("looked %v, missing (-want +got):\n%s", b.Looked, diff)
			}
		})
	}
}
