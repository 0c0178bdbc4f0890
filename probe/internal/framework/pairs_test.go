package framework

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"
	"cudacompat/probe/internal/pyenv"

	"github.com/google/go-cmp/cmp"
)

// pairedTorch returns completeTorch with an extension "ours", whose libraries are compiled from the sources given by
// name and linked to torch; that of the source "cudart" needs the runtime of CUDA 13 too, which is nowhere.
func pairedTorch(t *testing.T, metadata string, sources map[string]string) string {
	root := completeTorch(t)
	record := ""
	for name, source := range sources {
		needs := []string{hosttest.Site + "torch/lib/libc10_cuda.so"}
		if source == "cudart" {
			hosttest.Compile(t, root, hosttest.Library{Name: "gone/libcudart.so.13",
				Source: "int cudaMalloc(void) { return 0; }\n"})
			needs = append(needs, "gone/libcudart.so.13")
			source = "int cudaMalloc(void); int ours(void) { return cudaMalloc(); }\n"
		}
		source += "int c10(void); int own(void) { return c10(); }\n" + fatSource(80)
		hosttest.Compile(t, root, hosttest.Library{Name: hosttest.Site + name, Source: source, Needs: needs,
			Flags: []string{"-Wl,--allow-shlib-undefined"}})
		info, err := os.Stat(filepath.Join(root, hosttest.Site+name))
		if err != nil {
			t.Fatal(err)
		}
		record += fmt.Sprintf("%s,sha256=x,%d\n", name, info.Size())
	}
	hosttest.Must(t, os.RemoveAll(filepath.Join(root, "gone")))
	hosttest.Write(t, filepath.Join(root, hosttest.Site+"ours-1.0.dist-info/RECORD"), record)
	hosttest.Write(t, filepath.Join(root, hosttest.Site+"ours-1.0.dist-info/METADATA"), "Name: ours\nVersion: 1.0\n"+metadata)
	return root
}

// TestPairs checks that an extension that does not load beside torch says what it misses, and that one of several
// variants is enough. A pin of exactly this torch proves nothing, because it may be another build of that release.
func TestPairs(t *testing.T) {
	const (
		whole   = "int whole(void) { return 0; }\n"
		lacking = "int lacks(void) __asm__(\"_ZN3c104cuda9SetDeviceEab\"); int use(void) { return lacks(); }\n"
		foreign = "int lacks(void) __asm__(\"_ZN4ours4lateERKN2at6TensorE\"); int use(void) { return lacks(); }\n"
	)
	for name, c := range map[string]struct {
		metadata string
		sources  map[string]string
		want     []string
	}{
		"another CUDA": {"", map[string]string{"ours/_C.so": "cudart"}, []string{"libcudart.so.13"}},
		"another torch": {"Requires-Dist: torch==2.9.0\n",
			map[string]string{"ours/_C.so": lacking, "ours/a_torch.so": whole}, []string{"_ZN3c104cuda9SetDeviceEab"}},
		"the torch that it pins": {"Requires-Dist: torch==2.8.0\n", map[string]string{"ours/_C.so": lacking},
			[]string{"_ZN3c104cuda9SetDeviceEab"}},
		"a variant loads": {"",
			map[string]string{"ours/a_torch.so": whole, "ours/b_torch.so": lacking}, nil},
		"no variant loads": {"", map[string]string{"ours/b_torch.so": lacking},
			[]string{"_ZN3c104cuda9SetDeviceEab"}},
		"its own function": {"", map[string]string{"ours/_C.so": foreign}, nil},
		"healthy":          {"", map[string]string{"ours/_C.so": whole}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			found, _ := Read(&host.Host{Root: pairedTorch(t, c.metadata, c.sources)}, []string{"/opt/venv"})
			var got []string
			for _, u := range found.Environments[0].Builds[1].Unmet {
				got = append(got, u.Library+u.Symbol)
			}
			if b := found.Environments[0].Builds[1]; b.Framework != "torch" {
				t.Errorf("%s is of framework %q", b.Name, b.Framework)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("unmet (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPairsOfAPart checks that in a package that neither imports nor requires torch, a library that links to torch is
// an optional part. deepmd-kit has others for TensorFlow.
func TestPairsOfAPart(t *testing.T) {
	const lacking = "int lacks(void) __asm__(\"_ZN3c104cuda9SetDeviceEab\"); int use(void) { return lacks(); }\n"
	for _, c := range []struct {
		source, metadata string
		unmet            bool
	}{
		{"import os\n", "", false},
		{"import torch\n", "", true},
		{"import os\n", "Requires-Dist: torch\n", true},
		{"import torch.ops\nif os.name:\n    torch.ops.load_library('libours_op.so')\n", "", true},
	} {
		root := pairedTorch(t, c.metadata, map[string]string{"ours/lib/libours_op.so": lacking})
		hosttest.Write(t, filepath.Join(root, hosttest.Site+"ours/__init__.py"), c.source)
		record := filepath.Join(root, hosttest.Site+"ours-1.0.dist-info/RECORD")
		data, err := os.ReadFile(record)
		hosttest.Must(t, err)
		hosttest.Write(t, record, fmt.Sprintf("%sours/__init__.py,sha256=x,%d\n", data, len(c.source)))
		found, _ := Read(&host.Host{Root: root}, []string{"/opt/venv"})
		if b := found.Environments[0].Builds[1]; (len(b.Unmet) > 0) != c.unmet {
			t.Errorf("%q, %q: unmet %+v", c.source, c.metadata, b.Unmet)
		}
	}
}

// TestPairsWithoutCUDA checks that a package for torch without CUDA, such as torchtext, is reported if it was built for
// another torch, and not if it loads.
func TestPairsWithoutCUDA(t *testing.T) {
	const large = "char pad[1 << 16] = {1}; int c10(void); int own(void) { return c10(); }\n"
	for source, want := range map[string]int{
		large: 1,
		large + "int lacks(void) __asm__(\"_ZN3c104cuda9SetDeviceEab\"); int use(void) { return lacks(); }\n": 2,
	} {
		const name = "ours/lib/libtorchours.so"
		root := completeTorch(t)
		hosttest.Compile(t, root, hosttest.Library{Name: hosttest.Site + name, Source: source,
			Needs: []string{hosttest.Site + "torch/lib/libc10_cuda.so"}, Flags: []string{"-Wl,--allow-shlib-undefined"}})
		hosttest.Write(t, filepath.Join(root, hosttest.Site+"ours-1.0.dist-info/RECORD"), name+",sha256=x,70000\n")
		hosttest.Write(t, filepath.Join(root, hosttest.Site+"ours-1.0.dist-info/METADATA"),
			"Name: ours\nVersion: 1.0\nRequires-Dist: torch>=2.3.0\n")
		found, _ := Read(&host.Host{Root: root}, []string{"/opt/venv"})
		if got := len(found.Environments[0].Builds); got != want {
			t.Errorf("%d builds, want %d: %+v", got, want, found.Environments[0].Builds)
		}
	}
}

// TestPairsCUDA checks that torch takes a cuBLAS that is new enough for torch and not for the extension, which links to
// a newer one: from its own wheel, or through LD_LIBRARY_PATH.
func TestPairsCUDA(t *testing.T) {
	const blas, ours = "libcublasLt.so.12", hosttest.Site + "ours/_C.so"
	versions := filepath.Join(t.TempDir(), "versions")
	hosttest.Write(t, versions, blas+" { global: *; };\n")
	library := func(name, source string, needs ...string) hosttest.Library {
		return hosttest.Library{Name: name, Source: source, Needs: needs}
	}
	versioned := func(l hosttest.Library) hosttest.Library {
		l.Flags = []string{"-Wl,--version-script=" + versions}
		return l
	}
	root := pairedTorch(t, "", map[string]string{"ours/_C.so": ""})
	hosttest.Compile(t, root,
		versioned(library(hosttest.Site+"nvidia/cublas/lib/"+blas,
			"int cublasLtCreate(void) { return 0; } int cublasLtGrouped(void) { return 0; }\n")),
		versioned(library("old/"+blas, "int cublasLtCreate(void) { return 0; }\n")),
		library(hosttest.Site+"torch/lib/libtorch_cuda.so", "int cublasLtCreate(void); int torch(void) { return "+
			"cublasLtCreate(); }\n", hosttest.Site+"nvidia/cublas/lib/"+blas),
		library(ours, "int c10(void), cublasLtGrouped(void); int own(void) { return c10() + cublasLtGrouped(); }\n"+
			fatSource(80),
			hosttest.Site+"torch/lib/libc10_cuda.so", hosttest.Site+"nvidia/cublas/lib/"+blas))
	for dir, want := range map[string][]facts.Unresolved{
		"/old": {{Symbol: "cublasLtGrouped", Version: blas, By: "/" + ours, Library: blas, Path: "/old/" + blas,
			Reason: "LD_LIBRARY_PATH"}},
		"/" + hosttest.Site + "nvidia/cublas/lib": nil,
	} {
		found, _ := Read(&host.Host{Root: root, Env: map[string]string{"LD_LIBRARY_PATH": dir}}, []string{"/opt/venv"})
		builds := found.Environments[0].Builds
		if diff := cmp.Diff(want, builds[1].Unresolved); diff != "" || !builds[1].Compared {
			t.Errorf("with %s compared %v (-want +got):\n%s", dir, builds[1].Compared, diff)
		}
		if len(builds[0].Unresolved) > 0 {
			t.Errorf("with %s torch lacks %v", dir, builds[0].Unresolved)
		}
	}
}

// TestMinorCUDA checks that a package's version gives the minor version of the CUDA whose major version its libraries
// need, and nothing else.
func TestMinorCUDA(t *testing.T) {
	root := t.TempDir()
	hosttest.Write(t, filepath.Join(root, hosttest.Site+"torchaudio/version.py"), "__version__ = '2.11.0+cu130'\n")
	for needed, want := range map[string]string{"13": "13.0", "12": "12", "": ""} {
		b := &facts.Build{CUDA: needed}
		minorCUDA((&pyenv.Site{Dir: "/" + hosttest.Site[:len(hosttest.Site)-1]}), &host.Host{Root: root}, b, []string{"torchaudio"})
		if b.CUDA != want {
			t.Errorf("libraries for CUDA %q: %q, want %q", needed, b.CUDA, want)
		}
	}
}
