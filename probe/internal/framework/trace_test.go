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

// TestFrameworkSources checks that torch's sources are read if a requirement is missing.
func TestFrameworkSources(t *testing.T) {
	for _, c := range []struct{ name, remove, write, kind, by string }{
		{"whole", "", "", "", ""},
		{"requirement", "typing_extensions.py", "", "module", "typing_extensions"},
		{"requirement-of-a-part", "sympy", "", "", ""},
		{"emptied", "torch/version.py", "torch/version.py", "name", "__version__"},
		{"requirement-of-a-requirement", "mpmath", "", "module", "mpmath"},
		{"requirement-of-another-system", "pywin32", "", "", ""},
		{"requirement-of-an-older-python", "importlib_metadata", "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := completeTorch(t)
			sources := map[string]string{"torch/__init__.py": "from typing_extensions import Self\nfrom .version import __version__\nimport jinja2\n" +
				"def f():\n    import sympy\n", "jinja2/__init__.py": "from . import runtime\n", "mpmath/__init__.py": "",
				"jinja2/runtime.py": "try:\n    import mpmath\nexcept ImportError:\n    raise ImportError('no')\n",
				"torch/version.py":  "__version__ = '2.8.0+cu128'\ncuda: Optional[str] = '12.8'\n", "typing_extensions.py": "", "sympy/__init__.py": ""}
			record := ""
			for name, text := range sources {
				hosttest.Write(t, filepath.Join(root, hosttest.Site+name), text)
				if strings.HasPrefix(name, "torch/") {
					record += fmt.Sprintf("%s,sha256=x,%d\n", name, len(text))
				}
			}
			hosttest.Write(t, filepath.Join(root, hosttest.Site+"torch-2.8.0.dist-info/RECORD"), record)
			hosttest.Write(t, filepath.Join(root, hosttest.Site+"torch-2.8.0.dist-info/METADATA"),
				"Name: torch\nVersion: 2.8.0\nRequires-Dist: typing-extensions>=4.10.0\nRequires-Dist: sympy>=1.13.3\nRequires-Dist: jinja2\n"+
					"Requires-Dist: pywin32; sys_platform == 'win32'\nRequires-Dist: importlib-metadata; python_version < '3.8'\n")
			hosttest.Write(t, filepath.Join(root, hosttest.Site+"jinja2-3.1.6.dist-info/METADATA"),
				"Name: jinja2\nVersion: 3.1.6\nRequires-Dist: mpmath (>=1.0) ; python_version >= '3.9'\n")
			if c.remove != "" {
				hosttest.Must(t, os.RemoveAll(filepath.Join(root, hosttest.Site+c.remove)))
			}
			if c.write != "" {
				hosttest.Write(t, filepath.Join(root, hosttest.Site+c.write), "")
			}
			found, _ := Read(&host.Host{Root: root}, []string{"/opt/venv"})
			b := found.Environments[0].Builds[0]
			kind, by := "", ""
			for _, h := range b.Hindrances {
				kind, by = h.Kind, h.By
			}
			if kind != c.kind || by != c.by || b.Accelerator != "cuda" {
				t.Errorf("%q by %q, want %q by %q: %+v", kind, by, c.kind, c.by, b)
			}
		})
	}
}

// TestImportFails checks that a missing module and an undefined symbol end the import.
func TestImportFails(t *testing.T) {
	for _, c := range []struct{ name, init, source, kind, by string }{
		{"healthy", "from . import _C\nimport json\n", "int own(void) { return 0; } int use(void) { return own(); }\n", "", ""},
		{"module", "from . import _C\nimport roughpy_jax\n", "int own(void) { return 0; }\n", "module", "roughpy_jax"},
		{"symbol", "from . import _C\n", "int cuMemCreate(void); int use(void) { return cuMemCreate(); }\n", "symbol", "cuMemCreate"},
		{"symbol-of-a-part", "x = 1\n", "int cuMemCreate(void); int use(void) { return cuMemCreate(); }\n", "", ""},
		{"interpreter's", "from . import _C\n", "int PyList_New(void); int use(void) { return PyList_New(); }\n", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			const libc, library = "usr/lib64/libc.so.6", hosttest.Site + "ours/_C.abi3.so"
			hosttest.Compile(t, root, hosttest.Library{Name: libc, Source: "int malloc(void) { return 0; }\n"},
				hosttest.Library{Name: library, Source: c.source + fatSource(80), Needs: []string{libc}, Flags: []string{"-Wl,--allow-shlib-undefined"}})
			info, err := os.Stat(filepath.Join(root, library))
			hosttest.Must(t, err)
			hosttest.Write(t, filepath.Join(root, hosttest.Site+"ours/__init__.py"), c.init)
			hosttest.Write(t, filepath.Join(root, hosttest.Site+"ours-1.0.dist-info/RECORD"),
				fmt.Sprintf("ours/__init__.py,sha256=x,9\nours/_C.abi3.so,sha256=x,%d\n", info.Size()))
			hosttest.Write(t, filepath.Join(root, "opt/venv/pyvenv.cfg"), "version = 3.12.3\n")
			b := onlyBuild(t, root, nil)
			kind, by := "", ""
			for _, h := range b.Hindrances {
				kind, by = h.Kind, h.By
			}
			if kind != c.kind || by != c.by {
				t.Errorf("%q by %q, want %q by %q: %+v", kind, by, c.kind, c.by, b)
			}
		})
	}
}

// TestOfTorch checks that of libraries for several torch releases the one for the present torch counts.
func TestOfTorch(t *testing.T) {
	all := func() []string { return []string{"p/liba_torch24-cpu.so", "p/liba_torch210-cuda.so", "p/_C.so"} }
	for version, want := range map[string][]string{"2.4.1+cu124": {"p/liba_torch24-cpu.so", "p/_C.so"},
		"2.10.0": {"p/liba_torch210-cuda.so", "p/_C.so"}, "2.15.0+cu132": {"p/_C.so"}} {
		if diff := cmp.Diff(want, keepLibrariesForTorch(all(), &facts.Build{Version: version})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", version, diff)
		}
	}
}
