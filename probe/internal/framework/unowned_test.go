package framework

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"
	"cudacompat/probe/internal/pyenv"
)

// TestUnowned reads packages whose metadata is gone.
func TestUnowned(t *testing.T) {
	const cudart = "nvidia/cuda_runtime/lib/libcudart.so.12"
	for _, c := range []struct {
		name    string
		library string // of the package, linked to cudart
		init    string
		cudart  bool // whether a wheel's is there
		missing string
		kind    string
	}{
		{"library missing", "pkg/libs/libpkg.so", "", false, "libcudart.so.12", ""},
		{"library in a wheel, which its code may load first", "pkg/libpkg.so", "", true, "", ""},
		{"asks for its metadata", "", "from importlib.metadata import version\n", false, "", facts.HindrancePerhaps},
		{"asks for its metadata and a library", "pkg/libpkg.so", "from importlib.metadata import version\n", true, "", facts.HindrancePerhaps},
		{"asks nothing", "", "import os\n", false, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			root, dir := t.TempDir(), "pkg"
			if c.library == "" {
				dir = "pkg_cuda"
				hosttest.Compile(t, root, hosttest.Library{Name: hosttest.Site + dir + "/module.so", Source: "char big[2000000] = {1};\n"})
			} else {
				runtime := hosttest.Library{Name: hosttest.Site + cudart, Source: "int cudaInit(void) { return 1; }\n"}
				where := root
				if !c.cudart {
					where = t.TempDir()
				}
				hosttest.Compile(t, where, runtime, hosttest.Library{Name: hosttest.Site + c.library, Needs: []string{hosttest.Site + cudart},
					Source: "int cudaInit(void);\nchar big[2000000] = {1};\nint f(void) { return cudaInit(); }\n"})
				if where != root {
					data, err := os.ReadFile(filepath.Join(where, hosttest.Site+c.library))
					hosttest.Must(t, err)
					hosttest.Write(t, filepath.Join(root, hosttest.Site+c.library), string(data))
				}
			}
			hosttest.Write(t, filepath.Join(root, hosttest.Site+dir+"/__init__.py"), c.init)
			h, failed := &host.Host{Root: root}, host.Errors{}
			s := &pyenv.Site{Dir: "/" + strings.TrimSuffix(hosttest.Site, "/"), Python: "3.12.3", Torch: &pyenv.TorchProcess{}}
			s.Path = []string{s.Dir}
			entries, err := h.ReadDir(s.Dir)
			hosttest.Must(t, err)
			list := unownedPackages(h, s, entries, nil, "", &failed)
			var missing, kind string
			for _, b := range list {
				missing = strings.Join(b.Missing, " ")
				for _, hindrance := range b.Hindrances {
					kind = hindrance.Kind
				}
			}
			if missing != c.missing || kind != c.kind || len(failed) > 0 {
				t.Errorf("%+v (%v), want %q missing and %q", list, failed, c.missing, c.kind)
			}
		})
	}
}
