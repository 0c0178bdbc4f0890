package framework

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"
	"cudacompat/probe/internal/pydist"
	"cudacompat/probe/internal/pyenv"

	"github.com/google/go-cmp/cmp"
)

const aloneLibrary = hosttest.Site + "search/_search_gpu.so"

// aloneTree returns a site with a package that needs no framework: its library needs CUDA's runtime and cuBLAS, which
// its requirements bring and its Python code loads by their paths, for its run path does not lead there.
func aloneTree(t *testing.T) string {
	root := t.TempDir()
	const runtime, cublas, cublasLt = hosttest.Site + "nvidia/cuda_runtime/lib/libcudart.so.12",
		hosttest.Site + "nvidia/cublas/lib/libcublas.so.12", hosttest.Site + "nvidia/cublas/lib/libcublasLt.so.12"
	hosttest.Compile(t, root,
		hosttest.Library{Name: runtime, Source: "int cudaMalloc(void) { return 0; }\n"},
		hosttest.Library{Name: cublasLt, Source: "int cublasLtCreate(void) { return 0; }\n"},
		hosttest.Library{Name: cublas, Source: "int cublasLtCreate(void); int cublasCreate(void) { return cublasLtCreate(); }\n",
			Needs: []string{cublasLt}, Flags: []string{"-Wl,--disable-new-dtags,-rpath,$ORIGIN"}},
		hosttest.Library{Name: aloneLibrary, Flags: []string{"-Wl,--allow-shlib-undefined"}, Needs: []string{runtime, cublas},
			Source: "char big[20000] = {1}; int cudaMalloc(void), cublasCreate(void);\n" +
				"int f(void) { return cudaMalloc() + cublasCreate(); }\n"})
	info, err := os.Stat(filepath.Join(root, aloneLibrary))
	hosttest.Must(t, err)
	for name, text := range map[string]string{
		"search_cu12-1.0.dist-info/METADATA": "Name: search-cu12\nVersion: 1.0\n" +
			"Requires-Dist: nvidia-cuda-runtime-cu12>=12.1\nRequires-Dist: nvidia-cublas-cu12>=12.1\n",
		"search_cu12-1.0.dist-info/RECORD": fmt.Sprintf("search/_search_gpu.so,sha256=x,%d\n", info.Size()),
		"search_cu12-1.0.dist-info/WHEEL":  "Tag: cp312-cp312-manylinux_2_28_x86_64\n",
	} {
		hosttest.Write(t, filepath.Join(root, hosttest.Site+name), text)
	}
	hosttest.Write(t, filepath.Join(root, "opt/venv/pyvenv.cfg"), "version = 3.12.3\n")
	return root
}

// TestStandalone removes or damages what a package without a framework needs.
func TestStandalone(t *testing.T) {
	const lib = "nvidia/cublas/lib/"
	hindered := func(kind, path, by string) []facts.Hindrance {
		return []facts.Hindrance{{Kind: kind, Of: "search-cu12 1.0", Path: "/" + hosttest.Site + path, By: by}}
	}
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, site string)
		want   []facts.Hindrance
	}{
		{"whole", func(*testing.T, string) {}, nil},
		{"library-gone", func(t *testing.T, site string) { hosttest.Must(t, os.Remove(site+lib+"libcublas.so.12")) },
			hindered("library", "search/_search_gpu.so", "libcublas.so.12")},
		{"library-of-library-gone", func(t *testing.T, site string) { hosttest.Must(t, os.Remove(site+lib+"libcublasLt.so.12")) },
			hindered("library", lib+"libcublas.so.12", "libcublasLt.so.12")},
		{"library-empty", func(t *testing.T, site string) { spoil(t, site+lib+"libcublasLt.so.12", "empty") },
			hindered("spoiled", lib+"libcublasLt.so.12", "file too short")},
		{"own-empty", func(t *testing.T, site string) { spoil(t, site+"search/_search_gpu.so", "empty") },
			hindered("spoiled", "search/_search_gpu.so", "file too short")},
		{"own-of-other-machine", func(t *testing.T, site string) { spoil(t, site+"search/_search_gpu.so", "other machine") },
			hindered("spoiled", "search/_search_gpu.so", "wrong ELF machine: EM_AARCH64")},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := aloneTree(t)
			c.damage(t, filepath.Join(root, hosttest.Site)+"/")
			found, _ := Read(&host.Host{Root: root}, []string{"/opt/venv"})
			if builds := found.Environments[0].Builds; len(builds) != 1 {
				t.Fatalf("builds are %+v", builds)
			}
			b := found.Environments[0].Builds[0]
			if diff := cmp.Diff(c.want, b.Hindrances); diff != "" || len(b.Missing) > 0 || len(b.Beside) > 0 {
				t.Errorf("missing %v, beside %v, hindrances (-want +got):\n%s", b.Missing, b.Beside, diff)
			}
		})
	}
}

// TestStandaloneServed replaces a library that another one of its wheel needs by that of another release, with and
// without what is used.
func TestStandaloneServed(t *testing.T) {
	const cublasLt = hosttest.Site + "nvidia/cublas/lib/libcublasLt.so.12"
	for function, want := range map[string]string{"cublasLtCreate": "", "cublasLtOther": "cublasLtCreate"} {
		root := aloneTree(t)
		hosttest.Compile(t, root, hosttest.Library{Name: cublasLt, Source: "char big[9000] = {1}; int " + function + "(void) { return 0; }\n"})
		for name, text := range map[string]string{"METADATA": "Name: nvidia-cublas-cu12\nVersion: 12.1.3.1\n",
			"RECORD": "nvidia/cublas/lib/libcublas.so.12,sha256=x,9000\nnvidia/cublas/lib/libcublasLt.so.12,sha256=x,9000\n"} {
			hosttest.Write(t, filepath.Join(root, hosttest.Site+"nvidia_cublas_cu12-12.1.3.1.dist-info", name), text)
		}
		b := onlyBuild(t, root, nil)
		var got string
		for _, u := range b.Unresolved {
			got += u.Symbol
		}
		if got != want || len(b.Hindrances)+len(b.Missing) > 0 {
			t.Errorf("with %s: %q is unresolved, want %q; missing %v, hindrances %+v", function, got, want, b.Missing, b.Hindrances)
		}
	}
}

// TestStandaloneOnSystem checks that the system may have what no requirement brings, and that a program may load a
// library from a wheel that nobody required.
func TestStandaloneOnSystem(t *testing.T) {
	root := aloneTree(t)
	metadata := filepath.Join(root, hosttest.Site+"search_cu12-1.0.dist-info/METADATA")
	hosttest.Write(t, metadata, "Name: search-cu12\nVersion: 1.0\n")
	hosttest.Must(t, os.Remove(filepath.Join(root, hosttest.Site+"nvidia/cuda_runtime/lib/libcudart.so.12")))
	b := onlyBuild(t, root, nil)
	if !cmp.Equal(b.Missing, []string{"libcudart.so.12"}) || len(b.Beside) != 1 || len(b.Hindrances) > 0 {
		t.Errorf("missing %v, beside %v, hindrances %+v", b.Missing, b.Beside, b.Hindrances)
	}
}

// TestLed checks an extension whose CUDA libraries are in pip's nvidia wheels, where the loader does not search. The
// import works only if Python code loads these libraries first. The package's sources show whether it does, and whether
// the import fails otherwise.
func TestLed(t *testing.T) {
	const opens = "import ctypes, os\ndef load():\n    try:\n        ctypes.CDLL(os.path.join(here, '_search_gpu.so'))\n" +
		"    except OSError as e:\n        print(e)\n"
	inWheels := []string{"/" + hosttest.Site + "nvidia/cuda_runtime/lib/libcudart.so.12", "/" + hosttest.Site + "nvidia/cublas/lib/libcublas.so.12"}
	for _, c := range []struct {
		name, source string
		beside       []string
		late         bool
		hindered     bool
	}{
		{"failure caught", opens + "load()\n", inWheels, true, false},
		{"opened later", opens, inWheels, true, false},
		{"failure let out", "import ctypes\nlib = ctypes.CDLL('search/_search_gpu.so')\n", nil, false, true},
		{"led by its own code", opens + "for name in wheels():\n    ctypes.CDLL(name)\n", nil, false, false},
		{"led by another package's", opens + "def more():\n    import helper\n    helper.load_library()\nload()\n", nil, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := aloneTree(t)
			hosttest.Write(t, filepath.Join(root, hosttest.Site+"search/__init__.py"), c.source)
			record := filepath.Join(root, hosttest.Site+"search_cu12-1.0.dist-info/RECORD")
			data, err := os.ReadFile(record)
			hosttest.Must(t, err)
			hosttest.Write(t, record, fmt.Sprintf("search/__init__.py,sha256=x,%d\n%s", len(c.source), data))
			b := onlyBuild(t, root, nil)
			if diff := cmp.Diff(c.beside, b.Beside); diff != "" || b.Late != c.late || (len(b.Hindrances) > 0) != c.hindered {
				t.Errorf("late %v, hindrances %+v, beside (-want +got):\n%s", b.Late, b.Hindrances, diff)
			}
		})
	}
}

// TestRequiredLibrary checks that a package's code loads another distribution's libraries, which lead to the CUDA
// libraries, as in RAPIDS.
func TestRequiredLibrary(t *testing.T) {
	for _, gone := range []bool{false, true} {
		root := aloneTree(t)
		const lib, cublas = hosttest.Site + "libsearch/lib64/libsearch.so", hosttest.Site + "nvidia/cublas/lib/libcublas.so.12"
		hosttest.Compile(t, root,
			hosttest.Library{Name: lib, Source: "int cublasCreate(void); int search(void) { return cublasCreate(); }\n",
				Needs: []string{cublas}, Flags: []string{"-Wl,--disable-new-dtags,-rpath,$ORIGIN/../../nvidia/cublas/lib"}},
			hosttest.Library{Name: aloneLibrary, Flags: []string{"-Wl,--allow-shlib-undefined"}, Needs: []string{lib, cublas},
				Source: "char big[20000] = {1}; int search(void), cublasCreate(void);\nint f(void) { return search() + cublasCreate(); }\n"})
		info, err := os.Stat(filepath.Join(root, aloneLibrary))
		hosttest.Must(t, err)
		for name, text := range map[string]string{
			"search_cu12-1.0.dist-info/METADATA":    "Name: search-cu12\nVersion: 1.0\nRequires-Dist: libsearch-cu12\n",
			"search_cu12-1.0.dist-info/RECORD":      fmt.Sprintf("search/_search_gpu.so,sha256=x,%d\n", info.Size()),
			"libsearch_cu12-1.0.dist-info/METADATA": "Name: libsearch-cu12\nVersion: 1.0\n",
			"libsearch_cu12-1.0.dist-info/RECORD":   "libsearch/lib64/libsearch.so,sha256=x,9000\n",
		} {
			hosttest.Write(t, filepath.Join(root, hosttest.Site+name), text)
		}
		if gone {
			hosttest.Must(t, os.Remove(filepath.Join(root, lib)))
		}
		found, _ := Read(&host.Host{Root: root}, []string{"/opt/venv"})
		i := slices.IndexFunc(found.Environments[0].Builds, func(b facts.Build) bool { return b.Name == "search-cu12" })
		var want []facts.Hindrance
		if gone {
			want = []facts.Hindrance{{Kind: facts.HindranceSpoiled, Of: "libsearch-cu12 1.0", Path: "/" + lib, By: "it is gone"}}
		}
		b := found.Environments[0].Builds[i]
		if diff := cmp.Diff(want, b.Hindrances); diff != "" || len(b.Missing)+len(b.Beside) > 0 {
			t.Errorf("beside %v, missing %v, hindrances (-want +got):\n%s", b.Beside, b.Missing, diff)
		}
	}
}

// TestModuleGone checks a package named for CUDA that has lost its own module but nothing else.
func TestModuleGone(t *testing.T) {
	const module, large = "search.cpython-312-x86_64-linux-gnu.so", ",sha256=x,4000000\n"
	for _, c := range []struct{ record, there, kind, path string }{
		{module + large, "", facts.HindranceGone, module},
		{"search/search.abi3.so" + large + "search.libs/libcudart-1.so.12" + large, "search.libs/libcudart-1.so.12", facts.HindranceGone, "search/search.abi3.so"},
		{module + large + "search_cuda/libother.so" + large, "search_cuda/libother.so", facts.HindranceSpoiled, module},
	} {
		root := t.TempDir()
		for name, text := range map[string]string{"search_cu121-1.0.dist-info/METADATA": "Name: search-cu121\n",
			"search_cu121-1.0.dist-info/RECORD": c.record} {
			hosttest.Write(t, filepath.Join(root, hosttest.Site+name), text)
		}
		if c.there != "" {
			hosttest.Write(t, filepath.Join(root, hosttest.Site+c.there), "")
		}
		hosttest.Write(t, filepath.Join(root, "opt/venv/pyvenv.cfg"), "version = 3.12.3\n")
		found, _ := Read(&host.Host{Root: root}, []string{"/opt/venv"})
		var got facts.Hindrance
		for _, b := range found.Environments[0].Builds {
			for _, h := range b.Hindrances {
				got = h
			}
		}
		if got.Kind != c.kind || got.Path != "/"+hosttest.Site+c.path {
			t.Errorf("%q, %q there: %+v", c.record, c.there, got)
		}
	}
}

// TestLacking checks a package without its requirements, which needs a framework or a distribution with its library.
func TestLacking(t *testing.T) {
	with := func(requirement string, more map[string]string) func(t *testing.T, site string) {
		return func(t *testing.T, site string) {
			hosttest.Write(t, site+"search_cu12-1.0.dist-info/METADATA", "Name: search-cu12\nVersion: 1.0\n"+
				"Requires-Dist: nvidia-cuda-runtime-cu12\nRequires-Dist: nvidia-cublas-cu12\n"+requirement)
			for name, text := range more {
				hosttest.Write(t, site+name, text)
			}
		}
	}
	for _, c := range []struct {
		name  string
		tree  func(t *testing.T, site string)
		lacks string
	}{
		{"torch", with("Requires-Dist: torch>=2.4\n", nil), "torch"},
		{"library", with("Requires-Dist: libsearch-cu12==1.0.*\n", nil), "libsearch-cu12"},
		{"nvidia's", with("Requires-Dist: nvidia-libsearch-cu12==1.0.*\n", nil), "nvidia-libsearch-cu12"},
		{"extra", with("Requires-Dist: libsearch-cu12; extra == 'all'\n", nil), ""},
		{"torch-there", with("Requires-Dist: torch\n", map[string]string{"torch/version.py": "__version__ = '2.9.0'\n"}), ""},
		{"library-there", with("Requires-Dist: libsearch-cu12\n", map[string]string{
			"libsearch_cu12-1.0.dist-info/METADATA": "Name: libsearch-cu12\nVersion: 1.0\n"}), ""},
		{"torch-in-metadata", with("Requires-Dist: torch\n", map[string]string{
			"torch-2.9.0.dist-info/METADATA": "Name: torch\nVersion: 2.9.0\n"}), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := aloneTree(t)
			c.tree(t, filepath.Join(root, hosttest.Site)+"/")
			found, _ := Read(&host.Host{Root: root}, []string{"/opt/venv"})
			builds := found.Environments[0].Builds
			lacks := ""
			for _, h := range builds[len(builds)-1].Hindrances {
				if h.Kind == facts.HindranceWithout {
					lacks = h.By
				}
			}
			if builds[len(builds)-1].Name != "search-cu12" || lacks != c.lacks {
				t.Errorf("lacks %q, want %q: %+v", lacks, c.lacks, builds)
			}
		})
	}
}

// TestLackingWithoutCode checks a CUDA package whose modules contain no code and link to a distribution that is
// missing.
func TestLackingWithoutCode(t *testing.T) {
	const module = "graph/_binding.abi3.so,sha256=x,400000\n"
	for _, c := range []struct{ name, dist, record, lacks string }{
		{"for CUDA", "graph-cu12", module, "libgraph-cu12"},
		{"for CUDA, and pure Python", "graph-cu12", "graph/__init__.py,sha256=x,40\n", ""},
		{"not for CUDA", "graph", module, ""},
	} {
		root := t.TempDir()
		s := &pyenv.Site{Dir: "/" + strings.TrimSuffix(hosttest.Site, "/"), Python: "3.12.3"}
		s.Path = []string{s.Dir}
		b := &facts.Build{Name: c.dist, Path: s.Dir + "/graph-1.0.dist-info"}
		hosttest.Write(t, filepath.Join(root, b.Path, "METADATA"), "Name: "+c.dist+"\nRequires-Dist: libgraph-cu12==1.0\n")
		lacks := ""
		for _, h := range codeWithoutModule(s, &host.Host{Root: root}, b, nil, pydist.ParseRecord([]byte(c.record))) {
			lacks = h.By
		}
		if lacks != c.lacks {
			t.Errorf("%s: lacks %q, want %q", c.name, lacks, c.lacks)
		}
	}
}

// TestImportedAlone checks that nothing is reported about an undamaged TensorRT, and that it cannot be imported if the
// loader refuses a library.
func TestImportedAlone(t *testing.T) {
	const library = "tensorrt_libs/libnvinfer.so.10"
	for _, c := range []struct {
		name, size string
		want       []facts.Hindrance
	}{
		{"whole", "9", nil},
		{"another size", "90000000", []facts.Hindrance{{Kind: facts.HindranceSpoiled, Of: "tensorrt-cu12-libs 10.9", Path: "/" + hosttest.Site + library,
			By: "file too short"}}},
	} {
		root := t.TempDir()
		hosttest.Write(t, filepath.Join(root, "opt/venv/pyvenv.cfg"), "version = 3.12.3\n")
		hosttest.Write(t, filepath.Join(root, hosttest.Site+library), "123456789")
		hosttest.Write(t, filepath.Join(root, hosttest.Site+"tensorrt_cu12_libs-10.9.dist-info/METADATA"), "Name: tensorrt-cu12-libs\nVersion: 10.9\n")
		hosttest.Write(t, filepath.Join(root, hosttest.Site+"tensorrt_cu12_libs-10.9.dist-info/RECORD"), library+",sha256=x,"+c.size+"\n")
		found, _ := Read(&host.Host{Root: root}, []string{"/opt/venv"})
		var got []facts.Hindrance
		for _, b := range found.Environments[0].Builds {
			got = append(got, b.Hindrances...)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestSmallModules checks that even small files of a distribution named for CUDA are read.
func TestSmallModules(t *testing.T) {
	const record = "cuvs/ivf_pq.cpython-312-x86_64-linux-gnu.so,sha256=x,400000\ncuvs/tiny.so,sha256=x,900\n"
	for name, want := range map[string]int{"cuvs-cu13": 1, "cupy-cuda12x": 1, "cuvs": 0} {
		if list := librariesOf(&facts.Build{Name: name, Path: "/none"}, &host.Host{Root: t.TempDir()}, &pyenv.Site{Dir: "/site"}, pydist.ParseRecord([]byte(record))); len(list) != want {
			t.Errorf("%s: %v, want %d", name, list, want)
		}
	}
}

// TestTritonAlone checks that a Triton without torch is a build, with its architecture and its hindrances.
func TestTritonAlone(t *testing.T) {
	const ptxas = "triton/backends/nvidia/bin/ptxas"
	whole := func(*testing.T, string) {}
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, file string)
		named  string
		why    string
	}{
		{"whole", whole, "", ""},
		{"gone", func(t *testing.T, file string) { hosttest.Must(t, os.Remove(file)) }, "", "gone"},
		{"mode", func(t *testing.T, file string) { hosttest.Must(t, os.Chmod(file, 0o644)) }, "", "not executable"},
		{"another-named", func(t *testing.T, file string) { hosttest.Must(t, os.Remove(file)) }, "/usr/bin/ptxas", ""},
		{"nothing-named", whole, "/nowhere/ptxas", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			hosttest.Write(t, filepath.Join(root, hosttest.Site+"triton-3.9.0.dist-info/RECORD"), ptxas+",sha256=x,9\n")
			hosttest.Write(t, filepath.Join(root, hosttest.Site+"triton-3.9.0.dist-info/METADATA"), "Name: triton\nVersion: 3.9.0\n")
			hosttest.Write(t, filepath.Join(root, hosttest.Site+"triton-3.9.0.dist-info/WHEEL"), "Tag: cp312-cp312-manylinux_2_28_x86_64\n")
			hosttest.Write(t, filepath.Join(root, hosttest.Site+ptxas), "#!/bin/sh")
			hosttest.Must(t, os.Chmod(filepath.Join(root, hosttest.Site+ptxas), 0o755))
			hosttest.Write(t, filepath.Join(root, "opt/venv/pyvenv.cfg"), "version = 3.12.3\n")
			hosttest.Write(t, filepath.Join(root, "usr/bin/ptxas"), "#!/bin/sh")
			hosttest.Must(t, os.Chmod(filepath.Join(root, "usr/bin/ptxas"), 0o755))
			c.damage(t, filepath.Join(root, hosttest.Site+ptxas))
			found, _ := Read(&host.Host{Root: root, Env: map[string]string{"TRITON_PTXAS_PATH": c.named}}, []string{"/opt/venv"})
			builds := found.Environments[0].Builds
			if len(builds) != 1 || builds[0].Arch != "x86_64" {
				t.Fatalf("builds are %+v", builds)
			}
			var want []facts.Hindrance
			if c.why != "" {
				want = []facts.Hindrance{{Kind: facts.HindranceTool, Of: "triton 3.9.0", Path: "/" + hosttest.Site + ptxas, By: c.why}}
			}
			if diff := cmp.Diff(want, builds[0].Hindrances); diff != "" {
				t.Errorf("hindrances (-want +got):\n%s", diff)
			}
		})
	}
}
