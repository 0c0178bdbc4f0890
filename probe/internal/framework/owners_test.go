package framework

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"

	"github.com/google/go-cmp/cmp"
)

// TestDisplaced checks faiss-cpu beside faiss-gpu: no library has two owners, but their Python code has. Python takes
// the code installed last, and "_swigfaiss.abi3.so" before "_swigfaiss.so" in any case.
func TestDisplaced(t *testing.T) {
	const module = hosttest.Site + "faiss/_swigfaiss.so"
	by := func(file string) []facts.Hindrance {
		return []facts.Hindrance{{Kind: facts.HindranceOverwritten, Of: "faiss-gpu-cu12 1.14.1.post1",
			Path: "/" + hosttest.Site + file, By: "faiss-cpu 1.15.1"}}
	}
	for _, c := range []struct {
		name  string
		files map[string]string
		want  []facts.Hindrance
	}{
		{"alone", map[string]string{"faiss/__init__.py": "gpu"}, nil},
		{"edited", map[string]string{"faiss/__init__.py": "gpu, and a line of the user's"}, nil},
		{"cpu-last", map[string]string{"faiss/__init__.py": "cpu's", "faiss/_swigfaiss.abi3.so": "cpu's module"},
			by("faiss/__init__.py")},
		{"gpu-last", map[string]string{"faiss/__init__.py": "gpu", "faiss/_swigfaiss.abi3.so": "cpu's module"},
			by("faiss/_swigfaiss.abi3.so")},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			hosttest.Compile(t, root, hosttest.Library{Name: module, Source: "char big[20000] = {1};\n" + fatSource(75, 80)})
			info, err := os.Stat(filepath.Join(root, module))
			hosttest.Must(t, err)
			for name, text := range map[string]string{
				"faiss_gpu_cu12-1.14.1.post1.dist-info/METADATA": "Name: faiss-gpu-cu12\nVersion: 1.14.1.post1\n",
				"faiss_gpu_cu12-1.14.1.post1.dist-info/RECORD": fmt.Sprintf("faiss/__init__.py,sha256=x,3\n"+
					"faiss/_swigfaiss.so,sha256=x,%d\n", info.Size()),
				"faiss_cpu-1.15.1.dist-info/METADATA": "Name: faiss-cpu\nVersion: 1.15.1\n",
				"faiss_cpu-1.15.1.dist-info/RECORD": "faiss/__init__.py,sha256=x,5\n" +
					"faiss/_swigfaiss.abi3.so,sha256=x,12\n",
			} {
				hosttest.Write(t, filepath.Join(root, hosttest.Site+name), text)
			}
			for name, text := range c.files {
				hosttest.Write(t, filepath.Join(root, hosttest.Site+name), text)
			}
			hosttest.Write(t, filepath.Join(root, "opt/venv/pyvenv.cfg"), "version = 3.12.3\n")
			found, _ := Read(&host.Host{Root: root}, []string{"/opt/venv"})
			builds := found.Environments[0].Builds
			if len(builds) != 1 {
				t.Fatalf("builds are %+v", builds)
			}
			if diff := cmp.Diff(c.want, builds[0].Hindrances); diff != "" {
				t.Errorf("hindrances (-want +got):\n%s", diff)
			}
		})
	}
}

// TestBuildOverAnother checks the Python code of one build over another's. That does no harm, because both have CUDA
// code.
func TestBuildOverAnother(t *testing.T) {
	root := t.TempDir()
	for name, module := range map[string]string{"faiss_gpu_cu11-1.8.0": "faiss/_swigfaiss_avx2.so", "faiss_gpu_cu12-1.14.1": "faiss/_swigfaiss.so"} {
		hosttest.Compile(t, root, hosttest.Library{Name: hosttest.Site + module, Source: "char big[20000] = {1};\n" + fatSource(75, 80)})
		info, err := os.Stat(filepath.Join(root, hosttest.Site+module))
		hosttest.Must(t, err)
		dist, version, _ := strings.Cut(name, "-")
		hosttest.Write(t, filepath.Join(root, hosttest.Site+name+".dist-info/METADATA"),
			"Name: "+strings.ReplaceAll(dist, "_", "-")+"\nVersion: "+version+"\n")
		hosttest.Write(t, filepath.Join(root, hosttest.Site+name+".dist-info/RECORD"), fmt.Sprintf("faiss/__init__.py,sha256=x,%d\n%s,sha256=x,%d\n",
			len(version), module, info.Size()))
	}
	hosttest.Write(t, filepath.Join(root, hosttest.Site+"faiss/__init__.py"), "1.8.0") // as long as the older one's
	hosttest.Write(t, filepath.Join(root, "opt/venv/pyvenv.cfg"), "version = 3.12.3\n")
	found, _ := Read(&host.Host{Root: root}, []string{"/opt/venv"})
	builds := found.Environments[0].Builds
	if len(builds) != 2 {
		t.Fatalf("builds are %+v", builds)
	}
	for _, b := range builds {
		if len(b.Hindrances) > 0 {
			t.Errorf("%s: %+v", b.Name, b.Hindrances)
		}
	}
}

// TestMainModuleGone removes a library with a package's kernels and keeps another one.
func TestMainModuleGone(t *testing.T) {
	for _, c := range []struct{ dist, name, gone, want string }{
		{"vllm-0.32.0", "vllm", "_C_stable_libtorch.abi3.so", "it is gone"},
		{"vllm-0.16.0", "vllm", "_moe_C.abi3.so", "it is gone"},
		{"torchao-0.18.0", "torchao", "_C.abi3.so", ""},
	} {
		t.Run(c.dist+c.gone, func(t *testing.T) {
			root := t.TempDir()
			other := hosttest.Site + c.name + "/_more_C.abi3.so"
			hosttest.Compile(t, root, hosttest.Library{Name: other, Source: "char big[20000] = {1};\n" + fatSource(80, 90)})
			hosttest.Write(t, filepath.Join(root, hosttest.Site+"torch/version.py"), "__version__ = '2.9.0'\n")
			hosttest.Write(t, filepath.Join(root, hosttest.Site+c.dist+".dist-info/METADATA"), "Requires-Dist: torch\n")
			hosttest.Write(t, filepath.Join(root, hosttest.Site+c.dist+".dist-info/RECORD"),
				fmt.Sprintf("%s/%s,sha256=x,9000000\n%s/_more_C.abi3.so,sha256=x,2000000\n", c.name, c.gone, c.name))
			hosttest.Write(t, filepath.Join(root, "opt/venv/pyvenv.cfg"), "version = 3.12.3\n")
			found, _ := Read(&host.Host{Root: root}, []string{"/opt/venv"})
			got := ""
			for _, b := range found.Environments[0].Builds {
				for _, h := range b.Hindrances {
					got += h.By
				}
			}
			if got != c.want {
				t.Errorf("hindered by %q, want %q: %+v", got, c.want, found.Environments[0].Builds)
			}
		})
	}
}
