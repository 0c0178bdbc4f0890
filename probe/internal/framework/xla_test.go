package framework

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"

	"github.com/google/go-cmp/cmp"
)

const (
	jaxPlugins  = hosttest.Site + "jax_plugins/xla_cuda12/"
	systemCuDNN = "usr/local/cuda-12.4/lib64/libcudnn.so.9"
	wheelCuDNN  = hosttest.Site + "nvidia/cudnn/lib/libcudnn.so.9"
	jaxInit     = "  _load(\"cudnn\", [\"libcudnn.so.9\"])\n  _load(\"cusparse\", [\"libcusparse.so.12\"])\n" +
		"  _load(\"nccl\", [\"libnccl.so.2\"])\n"
)

// jaxTree returns a site with a JAX as its wheels are laid out: the plugin needs no library of CUDA's and opens all.
func jaxTree(t *testing.T) string {
	root := torchTree(t)
	if err := os.RemoveAll(filepath.Join(root, hosttest.Site, "torch")); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(root, hosttest.Site, "torch-2.8.0+cu128.dist-info")); err != nil {
		t.Fatal(err)
	}
	rpath := "-Wl,--disable-new-dtags,-rpath,$ORIGIN/../../nvidia/cudnn/lib:$ORIGIN/../../nvidia/cusparse/lib:" +
		"$ORIGIN/../../nvidia/cuda_runtime/lib"
	const cudnn = "int cudnnCreate(void) { return 0; }\n"
	hosttest.Compile(t, root,
		hosttest.Library{Name: wheelCuDNN, Source: cudnn},
		hosttest.Library{Name: systemCuDNN, Source: cudnn},
		hosttest.Library{Name: jaxPlugins + "xla_cuda_plugin.so", Source: "int GetPjrtApi(void) { return 0; }\n",
			Flags: []string{rpath}})
	hosttest.Write(t, filepath.Join(root, hosttest.Site+"jaxlib-0.7.2.dist-info/METADATA"), "Name: jaxlib\nVersion: 0.7.2\n")
	hosttest.Write(t, filepath.Join(root, hosttest.Site+"jax_cuda12_plugin-0.7.2.dist-info/METADATA"),
		"Name: jax-cuda12-plugin\nVersion: 0.7.2\n"+
			"Requires-Dist: nvidia-cudnn-cu12<10.0,>=9.8; sys_platform == \"linux\" and extra == \"with-cuda\"\n")
	hosttest.Write(t, filepath.Join(root, hosttest.Site+"nvidia_cudnn_cu12-9.10.2.21.dist-info/METADATA"),
		"Name: nvidia-cudnn-cu12\nVersion: 9.10.2.21\n")
	return root
}

// onlyBuild returns the one build of a tree.
func onlyBuild(t *testing.T, root string, env map[string]string) facts.Build {
	t.Helper()
	found, err := Read(&host.Host{Root: root, Env: env}, []string{"/opt/venv"})
	if err != nil {
		t.Fatal(err)
	}
	var f facts.Facts
	f.Environments = found.Environments
	if len(f.Environments[0].Builds) != 1 {
		t.Fatalf("builds are %+v", f.Environments[0].Builds)
	}
	return f.Environments[0].Builds[0]
}

// takenAt returns "path: reason" for one library that the loader maps.
func takenAt(b *facts.Build, name string) string {
	for _, l := range b.Taken {
		if l.Name == name {
			return l.Path + ": " + l.Reason
		}
	}
	return ""
}

// TestJAX finds JAX's libraries through its own list of paths, as jax 0.6.2 and newer do, and through the plugin's
// DT_RPATH. With jax 0.7.2 the real loader's LD_DEBUG=files shows the paths of the list, in order.
func TestJAX(t *testing.T) {
	const ofPlugin = "DT_RPATH of /" + jaxPlugins + "xla_cuda_plugin.so"
	oldJit := "/" + filepath.Dir(oldJit)
	for _, c := range []struct {
		name, init, path, drop string
		cudnn                  string
		missing, unresolved    []string
	}{
		{"list", jaxInit, "", "", "/" + wheelCuDNN + ": its path", nil, nil},
		{"no-list", "", "", "", "/" + wheelCuDNN + ": " + ofPlugin, nil, nil},
		{"list-before-library-path", jaxInit, "/" + filepath.Dir(systemCuDNN), "", "/" + wheelCuDNN + ": its path", nil,
			nil},
		{"rpath-before-library-path", "", "/" + filepath.Dir(systemCuDNN), "", "/" + wheelCuDNN + ": " + ofPlugin, nil,
			nil},
		{"no-wheel", jaxInit, "/" + filepath.Dir(systemCuDNN), wheelCuDNN, "/" + systemCuDNN + ": LD_LIBRARY_PATH", nil,
			nil},
		{"nowhere", jaxInit, "", wheelCuDNN, "", []string{"libcudnn.so.9"}, nil},
		{"older-nvjitlink", jaxInit, oldJit, "", "/" + wheelCuDNN + ": its path", nil,
			[]string{"__nvJitLinkCreate_12_8"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := jaxTree(t)
			hosttest.Write(t, filepath.Join(root, jaxPlugins+"__init__.py"), "def _load_nvidia_libraries():\n"+c.init)
			if c.drop != "" {
				if err := os.Remove(filepath.Join(root, c.drop)); err != nil {
					t.Fatal(err)
				}
			}
			b := onlyBuild(t, root, map[string]string{"LD_LIBRARY_PATH": c.path})
			if got := takenAt(&b, "libcudnn.so.9"); got != c.cudnn {
				t.Errorf("cuDNN is taken from %q, want %q", got, c.cudnn)
			}
			missing := strings.Join(b.Missing, " ")
			for _, name := range c.missing {
				if !strings.Contains(missing, name) {
					t.Errorf("%s is not among the missing %s", name, missing)
				}
			}
			if len(c.missing) == 0 && strings.Contains(missing, "libcudnn") {
				t.Errorf("missing %s", missing)
			}
			var unresolved []string
			for _, u := range b.Unresolved {
				unresolved = append(unresolved, u.Symbol)
			}
			if diff := cmp.Diff(c.unresolved, unresolved); diff != "" {
				t.Errorf("unresolved (-want +got):\n%s", diff)
			}
		})
	}
}

// TestJAXPlugin removes JAX's plugin, or a part of it, as an interrupted installation does.
func TestJAXPlugin(t *testing.T) {
	const library, extension = "xla_cuda_plugin.so", "jax_cuda12_plugin/cuda_plugin_extension.so"
	for _, c := range []struct {
		name    string
		damage  func(root string)
		missing string
		reason  string
	}{
		{"whole", func(string) {}, "", ""},
		{"library-gone", func(root string) { hosttest.Must(t, os.Remove(filepath.Join(root, jaxPlugins+library))) }, library, ""},
		{"pjrt-uninstalled", func(root string) { hosttest.Must(t, os.RemoveAll(filepath.Join(root, jaxPlugins))) }, library, ""},
		{"library-empty", func(root string) { spoil(t, filepath.Join(root, jaxPlugins+library), "empty") }, library, "file too short"},
		{"extension-gone", func(root string) { hosttest.Must(t, os.Remove(filepath.Join(root, hosttest.Site+extension))) }, extension, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := jaxTree(t)
			hosttest.Write(t, filepath.Join(root, jaxPlugins+"__init__.py"), "# cuda_plugin_extension\n")
			hosttest.Write(t, filepath.Join(root, hosttest.Site+extension), "")
			metadata := filepath.Join(root, hosttest.Site+"jax_cuda12_plugin-0.7.2.dist-info/METADATA")
			hosttest.Write(t, metadata, "Name: jax-cuda12-plugin\nVersion: 0.7.2\nRequires-Dist: jax-cuda12-pjrt==0.7.2\n")
			c.damage(root)
			found, _ := Read(&host.Host{Root: root}, []string{"/opt/venv"})
			b := found.Environments[0].Builds[0]
			if b.Accelerator != "cuda" || b.CUDA != "12" || !b.Looked {
				t.Errorf("jax is for %q, CUDA %q, looked %v", b.Accelerator, b.CUDA, b.Looked)
			}
			if got := slices.Contains(b.Missing, c.missing); got != (c.missing != "") || slices.Contains(b.Missing, library) && c.missing == "" {
				t.Errorf("missing %v, want %q", b.Missing, c.missing)
			}
			if c.reason != "" && (len(b.Unloadable) != 1 || b.Unloadable[0].Reason != c.reason) {
				t.Errorf("unloadable %+v, want %s", b.Unloadable, c.reason)
			}
		})
	}
}

// TestJAXWithoutMetadata checks a slimmed image without metadata, in which JAX finds its plugin by directory.
func TestJAXWithoutMetadata(t *testing.T) {
	root := jaxTree(t)
	hosttest.Write(t, filepath.Join(root, jaxPlugins+"__init__.py"), "")
	hosttest.Must(t, os.RemoveAll(filepath.Join(root, hosttest.Site+"jax_cuda12_plugin-0.7.2.dist-info")))
	if b := onlyBuild(t, root, nil); b.Accelerator != "cuda" || b.CUDA != "12" {
		t.Errorf("jax is for %q, CUDA %q", b.Accelerator, b.CUDA)
	}
	hosttest.Must(t, os.RemoveAll(filepath.Join(root, hosttest.Site+"jax_plugins")))
	if b := onlyBuild(t, root, nil); b.Accelerator != "cpu" {
		t.Errorf("jax without a plugin is for %q", b.Accelerator)
	}
}

// TestStubOfXLA puts a library without functions where XLA's stubs look for one: they need no symbol, so the loader
// takes it. In a conda environment nothing else is compared.
func TestStubOfXLA(t *testing.T) {
	for _, file := range []string{"pyvenv.cfg", "conda-meta/history"} {
		root := jaxTree(t)
		hosttest.Must(t, os.Remove(filepath.Join(root, "opt/venv/pyvenv.cfg")))
		hosttest.Write(t, filepath.Join(root, "opt/venv", file), "version = 3.12.3\n")
		hosttest.Write(t, filepath.Join(root, hosttest.Site+"nvidia_cudnn_cu12-9.10.2.21.dist-info/RECORD"),
			wheelCuDNN[len(hosttest.Site):]+",sha256=x,123456\n")
		b := onlyBuild(t, root, nil)
		i := slices.IndexFunc(b.Unresolved, func(u facts.Unresolved) bool { return u.Symbol == "cudnnGetVersion" })
		if i < 0 || b.Unresolved[i].Path != "/"+wheelCuDNN || !b.Compared {
			t.Errorf("%s: compared %v, unresolved %+v", file, b.Compared, b.Unresolved)
		}
	}
}

// TestTensorFlow finds cuDNN through the DT_RUNPATH of the library with TensorFlow's stubs, after LD_LIBRARY_PATH.
func TestTensorFlow(t *testing.T) {
	root := t.TempDir()
	const lib = hosttest.Site + "tensorflow/"
	const source = "int x(void) { return 0; }\n"
	hosttest.Compile(t, root,
		hosttest.Library{Name: wheelCuDNN, Source: source},
		hosttest.Library{Name: systemCuDNN, Source: source},
		hosttest.Library{Name: lib + "libtensorflow_framework.so.2", Source: source,
			Flags: []string{"-Wl,--enable-new-dtags,-rpath,$ORIGIN/../nvidia/cudnn/lib"}},
		hosttest.Library{Name: lib + "libtensorflow_cc.so.2", Source: source,
			Needs: []string{lib + "libtensorflow_framework.so.2"}, Flags: []string{"-Wl,-rpath,$ORIGIN"}})
	hosttest.Write(t, filepath.Join(root, lib+"python/platform/build_info.py"),
		"build_info = {'cuda_version': '12.5.1', 'cudnn_version': '9', 'is_cuda_build': True}\n")
	hosttest.Write(t, filepath.Join(root, hosttest.Site+"tensorflow-2.20.0.dist-info/METADATA"),
		"Name: tensorflow\nVersion: 2.20.0\n")
	hosttest.Write(t, filepath.Join(root, "opt/venv/pyvenv.cfg"), "version = 3.12.3\n")
	for path, want := range map[string]string{
		"":                              "/" + wheelCuDNN + ": DT_RUNPATH of /" + lib + "libtensorflow_framework.so.2",
		"/" + filepath.Dir(systemCuDNN): "/" + systemCuDNN + ": LD_LIBRARY_PATH",
	} {
		b := onlyBuild(t, root, map[string]string{"LD_LIBRARY_PATH": path})
		if got := takenAt(&b, "libcudnn.so.9"); got != want {
			t.Errorf("with LD_LIBRARY_PATH=%q cuDNN is taken from %q, want %q", path, got, want)
		}
		if want := "libcudart.so.12 libcublas.so.12 libcublasLt.so.12 libcufft.so.11 libcusolver.so.11 " +
			"libcusparse.so.12"; strings.Join(b.Missing, " ") != want {
			t.Errorf("missing %v, want %s", b.Missing, want)
		}
	}
}

// TestNVRTC opens the library that an NVRTC opens by the CUDA that it is of.
func TestNVRTC(t *testing.T) {
	const nvrtc, builtins = "nvidia/cuda_nvrtc/lib/libnvrtc.so.12", "nvidia/cuda_nvrtc/lib/libnvrtc-builtins.so.12."
	const source = "int nvrtcVersion(void) { return 0; }\n"
	for _, c := range []struct {
		name, builtins string
		unresolved     []facts.Unresolved
	}{
		{"beside", builtins + "8", nil},
		{"of-another-release", builtins + "4",
			[]facts.Unresolved{{By: "/" + hosttest.Site + nvrtc, Library: "libnvrtc-builtins.so.12.8",
				Reason: "DT_RPATH of /" + hosttest.Site + "torch/lib/libcaffe2_nvrtc.so"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := torchTree(t)
			hosttest.Compile(t, root,
				hosttest.Library{Name: hosttest.Site + c.builtins, Source: source},
				hosttest.Library{Name: hosttest.Site + nvrtc, Source: source,
					Flags: []string{"-Wl,--enable-new-dtags,-rpath,$ORIGIN"}},
				hosttest.Library{Name: hosttest.Site + "torch/lib/libcaffe2_nvrtc.so",
					Source: "int nvrtcVersion(void); int f(void) { return nvrtcVersion(); }\n",
					Needs:  []string{hosttest.Site + nvrtc},
					Flags:  []string{"-Wl,--disable-new-dtags,-rpath,$ORIGIN/../../nvidia/cuda_nvrtc/lib"}},
				hosttest.Library{Name: hosttest.Site + "torch/lib/libtorch_cuda.so", Source: source,
					Flags: []string{"-Wl,--disable-new-dtags,-rpath,$ORIGIN"}})
			hosttest.Write(t, filepath.Join(root, hosttest.Site+"nvidia_cuda_nvrtc_cu12-12.8.93.dist-info/METADATA"),
				"Name: nvidia-cuda-nvrtc-cu12\nVersion: 12.8.93\n")
			b := onlyBuild(t, root, nil)
			if diff := cmp.Diff(c.unresolved, b.Unresolved); diff != "" {
				t.Errorf("unresolved (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNVRTCByBytes checks that an NVRTC from no wheel shows its release in its bytes.
func TestNVRTCByBytes(t *testing.T) {
	root := torchTree(t)
	hosttest.Compile(t, root,
		hosttest.Library{Name: "opt/other/libnvrtc.so.12", Source: "int nvrtcVersion(void) { return 0; }\n" +
			"const char banner[] = \"Cuda compilation tools, release 12.1, V12.1.105\";\n"},
		hosttest.Library{Name: hosttest.Site + "torch/lib/libcaffe2_nvrtc.so",
			Source: "int nvrtcVersion(void); int f(void) { return nvrtcVersion(); }\n",
			Needs:  []string{"opt/other/libnvrtc.so.12"}},
		hosttest.Library{Name: hosttest.Site + "torch/lib/libtorch_cuda.so", Source: "int torch(void) { return 0; }\n",
			Flags: []string{"-Wl,--disable-new-dtags,-rpath,$ORIGIN"}})
	b := onlyBuild(t, root, map[string]string{"LD_LIBRARY_PATH": "/opt/other"})
	want := facts.Taken{Name: "libnvrtc.so.12", Version: "12.1.105", Path: "/opt/other/libnvrtc.so.12",
		Reason: "LD_LIBRARY_PATH"}
	if !slices.Contains(b.Taken, want) {
		t.Errorf("taken are %+v, want %+v among them", b.Taken, want)
	}
}

// TestDamagedJAXPlugin damages files of the plugin. Without some of them JAX does not load it; the purpose of others is
// unknown.
func TestDamagedJAXPlugin(t *testing.T) {
	for _, c := range []struct{ file, kind, by string }{
		{"", "", ""},
		{"jax_plugins/xla_cuda12/__init__.py", facts.HindranceSpoiled, "it is gone"},
		{"jax_cuda12_plugin/cuda_plugin_extension.so", facts.HindranceSpoiled, "it is gone"},
		{"jax_cuda12_plugin/_solver.so", facts.HindrancePerhaps, "it is gone"},
	} {
		root := jaxTree(t)
		record := ""
		for _, file := range []string{"jax_plugins/xla_cuda12/__init__.py", "jax_cuda12_plugin/cuda_plugin_extension.so", "jax_cuda12_plugin/_solver.so"} {
			record += file + ",sha256=x,9\n"
			if file != c.file {
				hosttest.Write(t, filepath.Join(root, hosttest.Site+file), "# plugin\n")
			}
		}
		hosttest.Write(t, filepath.Join(root, hosttest.Site+"jax_cuda12_plugin-0.7.2.dist-info/RECORD"), record)
		found, _ := Read(&host.Host{Root: root}, []string{"/opt/venv"}) // the extension is no library
		got := facts.Hindrance{}
		for _, b := range found.Environments[0].Builds {
			if b.Name == "jax" && len(b.Hindrances) > 0 {
				got = b.Hindrances[0]
			}
		}
		if got.Kind != c.kind || got.By != c.by {
			t.Errorf("%s: %+v, want %q by %q", c.file, got, c.kind, c.by)
		}
	}
}
