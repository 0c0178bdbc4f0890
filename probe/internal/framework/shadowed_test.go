package framework

import (
	"path/filepath"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"
	"cudacompat/probe/internal/loader"

	"github.com/google/go-cmp/cmp"
)

const (
	oldJit  = "usr/local/cuda-12.1/lib64/libnvJitLink.so.12"
	goodJit = "usr/local/cuda-12.9/lib64/libnvJitLink.so.12"
	preload = `        _preload_cuda_deps("nvjitlink", "libnvJitLink.so.*[0-9]")` + "\n"
)

// torchTree returns a site with a torch as its wheels are laid out: torch's own libraries have a DT_RPATH to the wheels
// of CUDA, and these a DT_RUNPATH to one another, which LD_LIBRARY_PATH comes before.
func torchTree(t *testing.T) string {
	root := t.TempDir()
	versions := filepath.Join(t.TempDir(), "versions")
	hosttest.Write(t, versions, "libnvJitLink.so.12 { global: *; };\n")
	versioned := []string{"-Wl,--version-script=" + versions}
	rpath := []string{"-Wl,--disable-new-dtags,-rpath,$ORIGIN/../../nvidia/cuda_runtime/lib:" +
		"$ORIGIN/../../nvidia/cusparse/lib", "-Wl,--allow-shlib-undefined"}
	const create = "int __nvJitLinkCreate_12_8(void) { return 1; }\n"
	hosttest.Compile(t, root,
		hosttest.Library{Name: hosttest.Site + "nvidia/nvjitlink/lib/libnvJitLink.so.12", Source: create, Flags: versioned},
		hosttest.Library{Name: oldJit, Source: "int __nvJitLinkCreate_12_1(void) { return 1; }\n", Flags: versioned},
		hosttest.Library{Name: goodJit, Source: create, Flags: versioned},
		hosttest.Library{Name: hosttest.Site + "nvidia/cuda_runtime/lib/libcudart.so.12",
			Source: "int cudaMalloc(void) { return 0; }\n"},
		hosttest.Library{Name: hosttest.Site + "nvidia/cusparse/lib/libcusparse.so.12",
			Source: "int __nvJitLinkCreate_12_8(void); int cusparseCreate(void) { return __nvJitLinkCreate_12_8(); }\n",
			Needs:  []string{hosttest.Site + "nvidia/nvjitlink/lib/libnvJitLink.so.12"},
			Flags:  []string{"-Wl,--enable-new-dtags,-rpath,$ORIGIN/../../nvjitlink/lib"}},
		hosttest.Library{Name: hosttest.Site + "torch/lib/libtorch_global_deps.so",
			Source: "int cudaMalloc(void); int deps(void) { return cudaMalloc(); }\n",
			Needs:  []string{hosttest.Site + "nvidia/cuda_runtime/lib/libcudart.so.12"}, Flags: rpath},
		hosttest.Library{Name: hosttest.Site + "torch/lib/libtorch_cuda.so",
			Source: "int cusparseCreate(void); int torch(void) { return cusparseCreate(); }\n",
			Needs:  []string{hosttest.Site + "nvidia/cusparse/lib/libcusparse.so.12"}, Flags: rpath})
	hosttest.Write(t, filepath.Join(root, hosttest.Site+"torch/__init__.py"), preload)
	hosttest.Write(t, filepath.Join(root, hosttest.Site+"torch/version.py"),
		"__version__ = '2.8.0+cu128'\ncuda: Optional[str] = '12.8'\n")
	hosttest.Write(t, filepath.Join(root, hosttest.Site+"torch-2.8.0+cu128.dist-info/METADATA"),
		"Name: torch\nVersion: 2.8.0+cu128\nRequires-Dist: nvidia-nvjitlink-cu12==12.8.93\n")
	hosttest.Write(t, filepath.Join(root, hosttest.Site+"nvidia_nvjitlink_cu12-12.8.93.dist-info/METADATA"),
		"Name: nvidia-nvjitlink-cu12\nVersion: 12.8.93\n")
	hosttest.Write(t, filepath.Join(root, "opt/venv/pyvenv.cfg"), "version = 3.12.3\n")
	return root
}

// TestShadows takes nvJitLink from outside torch's own wheels: through LD_LIBRARY_PATH, which torch's preloading
// precedes, and through LD_PRELOAD, which it does not. With torch 2.8.0 and nvJitLink 12.1 the real loader fails with
// "undefined symbol: __nvJitLinkCreate_12_8" in the second case only.
func TestShadows(t *testing.T) {
	root := torchTree(t)
	missing := func(reason string) []facts.Unresolved {
		return []facts.Unresolved{{Symbol: "__nvJitLinkCreate_12_8", Version: "libnvJitLink.so.12",
			By:      "/" + hosttest.Site + "torch/lib/../../nvidia/cusparse/lib/libcusparse.so.12",
			Library: "libnvJitLink.so.12", Path: "/" + oldJit, Reason: reason}}
	}
	old, good := "/"+filepath.Dir(oldJit), "/"+filepath.Dir(goodJit)
	for _, c := range []struct {
		name, libraryPath, preload, init string
		compared                         bool
		unresolved                       []facts.Unresolved
	}{
		{"own", "", "", "", false, nil},
		{"library-path", old, "", "", true, missing("LD_LIBRARY_PATH")},
		{"library-path-serves", good, "", "", true, nil},
		{"library-path-after-torch", old, "", preload, false, nil},
		{"preload", "", "/" + oldJit, preload, true, missing("LD_PRELOAD")},
	} {
		t.Run(c.name, func(t *testing.T) {
			hosttest.Write(t, filepath.Join(root, hosttest.Site+"torch/__init__.py"), c.init)
			h := &host.Host{Root: root, Env: map[string]string{"LD_LIBRARY_PATH": c.libraryPath, "LD_PRELOAD": c.preload}}
			found, err := Read(h, []string{"/opt/venv"})
			if err != nil {
				t.Fatal(err)
			}
			var f facts.Facts
			f.Environments = found.Environments
			b := f.Environments[0].Builds[0]
			if b.Compared != c.compared {
				t.Errorf("compared is %v, want %v", b.Compared, c.compared)
			}
			if diff := cmp.Diff(c.unresolved, b.Unresolved); diff != "" {
				t.Errorf("unresolved symbols (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNewerConsumer checks that not the library but its user was replaced: cuSPARSE 12.5.10 beside the nvJitLink that
// torch 2.6.0 pins makes "import torch" fail with "undefined symbol: __nvJitLinkGetErrorLogSize_12_9".
func TestNewerConsumer(t *testing.T) {
	root := torchTree(t)
	for name, text := range map[string]string{
		"torch-2.8.0+cu128.dist-info/METADATA": "Name: torch\nVersion: 2.8.0+cu128\nRequires-Dist: " +
			"nvidia-nvjitlink-cu12==12.8.93\nRequires-Dist: nvidia-cusparse-cu12==12.5.8.93\n",
		"nvidia_cusparse_cu12-12.5.10.65.dist-info/METADATA": "Name: nvidia-cusparse-cu12\nVersion: 12.5.10.65\n",
	} {
		hosttest.Write(t, filepath.Join(root, hosttest.Site+name), text)
	}
	hosttest.Compile(t, root, hosttest.Library{Name: hosttest.Site + "nvidia/nvjitlink/lib/libnvJitLink.so.12",
		Source: "int __nvJitLinkCreate_12_7(void) { return 1; }\n"})
	found, err := Read(&host.Host{Root: root}, []string{"/opt/venv"})
	hosttest.Must(t, err)
	b := found.Environments[0].Builds[0]
	if len(b.Unresolved) != 1 || b.Unresolved[0].Symbol != "__nvJitLinkCreate_12_8" ||
		filepath.Base(b.Unresolved[0].By) != "libcusparse.so.12" {
		t.Errorf("unresolved: %+v", b.Unresolved)
	}
}

func TestParsePreloads(t *testing.T) {
	const list = `    cuda_libs: list[tuple[str, str]] = [
        ("cublas", "libcublasLt.so.*[0-9]"),
        ("cuda_nvrtc", "libnvrtc-builtins.so.*[0-9]"),
    ]
`
	for _, c := range []struct {
		name, text string
		want       [][2]string
	}{
		{"none", `import os`, nil},
		{"calls", preload, [][2]string{{"nvjitlink", "libnvJitLink.so."}}},
		{"list-after-an-error-alone", list + "_preload_cuda_deps(err)\n", nil},
		{"list", list + "_preload_cuda_deps(required=False)\n",
			[][2]string{{"cublas", "libcublasLt.so."}, {"cuda_nvrtc", "libnvrtc-builtins.so."}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, loader.ParsePreloads([]byte(c.text))); diff != "" {
				t.Errorf("preloads (-want +got):\n%s", diff)
			}
		})
	}
}
