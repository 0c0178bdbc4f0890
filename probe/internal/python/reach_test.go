package python

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
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestReached: what the import of a package comes to, by sources as real packages have them.
func TestReached(t *testing.T) {
	for _, c := range []struct {
		name                             string
		files                            map[string]string
		recorded                         string
		certain, possible, gone, modules []string
		absent                           string
	}{
		{name: "extension-at-once", files: map[string]string{"pkg/__init__.py": "from .core import run\n",
			"pkg/core.py": "from pkg import _C\nimport other.part\n", "pkg/_C.abi3.so": "", "other/__init__.py": ""},
			certain: []string{"pkg/_C.abi3.so"}, modules: []string{"other"}},
		{name: "this-python's-before-the-stable", files: map[string]string{"pkg/__init__.py": "from . import _C\n",
			"pkg/_C.abi3.so": "", "pkg/_C.cpython-312-x86_64-linux-gnu.so": "", "pkg/_C.cpython-310-x86_64-linux-gnu.so": ""},
			certain: []string{"pkg/_C.cpython-312-x86_64-linux-gnu.so"}},
		// open3d.ml.torch alone opens the library that needs torch.
		{name: "part-that-nobody-imports", files: map[string]string{"pkg/__init__.py": "try:\n    from . import gpu\nexcept ImportError:\n    pass\n",
			"pkg/gpu.so": "", "pkg/torch_ops.so": "", "pkg/ml.py": "import torch\n"}, possible: []string{"pkg/gpu.so"}},
		{name: "opened-by-path", files: map[string]string{"pkg/__init__.py": "from .base import *\n",
			"pkg/base.py": "from ctypes import *\nname = 'libpkg.so'\nif path.exists(name):\n    lib = CDLL(name)\n", "pkg/lib/libpkg.so": ""},
			certain: []string{"pkg/lib/libpkg.so"}},
		{name: "opened-later", files: map[string]string{"pkg/__init__.py": "import ctypes\ndef load():\n    return ctypes.CDLL('libpkg.so')\n",
			"pkg/libpkg.so": ""}, possible: []string{"pkg/libpkg.so"}},
		{name: "gone", files: map[string]string{"pkg/__init__.py": "from pkg import _moe_C\n"}, recorded: "pkg/_moe_C.abi3.so",
			gone: []string{"pkg/_moe_C.abi3.so"}},
		{name: "gone-and-caught", files: map[string]string{"pkg/__init__.py": "try:\n    import pkg._moe_C\nexcept ImportError:\n    pass\n"},
			recorded: "pkg/_moe_C.abi3.so"},
		{name: "absent", files: map[string]string{"pkg/__init__.py": "import os, typing_extensions\n"}, modules: []string{"typing_extensions"},
			absent: "typing_extensions"},
		{name: "directory-is-no-module", files: map[string]string{"pkg/__init__.py": "from packaging.version import parse\n",
			"packaging/Dockerfile": "FROM x\n"}, modules: []string{"packaging"}, absent: "packaging"},
		{name: "namespace", files: map[string]string{"pkg/__init__.py": "import google.protobuf\nfrom ns import a\n",
			"google/protobuf/__init__.py": "", "ns/a.py": ""}, modules: []string{"google", "ns"}},
		{name: "gone-from-python", files: map[string]string{"pkg/__init__.py": "import distutils, tomllib\n"}, modules: []string{"distutils"},
			absent: "distutils"},
		{name: "brought-by-setuptools", files: map[string]string{"pkg/__init__.py": "import distutils.util\n",
			"_distutils_hack/__init__.py": ""}, modules: []string{"distutils"}},
		{name: "source-gone", files: map[string]string{"pkg/__init__.py": "from .core import x\n"}, recorded: "pkg/core.py",
			gone: []string{"pkg/core.py"}},
		{name: "only-compiled", files: map[string]string{"pkg/__init__.py": "from .core import x\n", "pkg/core.pyc": ""}, recorded: "pkg/core.py"},
		{name: "relative-to-the-parent", files: map[string]string{"pkg/__init__.py": "import pkg.a.b\n", "pkg/a/__init__.py": "",
			"pkg/a/b.py": "from ..c import d\n", "pkg/c.py": "import pkg._C\n", "pkg/_C.so": ""}, certain: []string{"pkg/_C.so"}},
		{name: "circle", files: map[string]string{"pkg/__init__.py": "from . import a\n", "pkg/a.py": "import pkg\nfrom . import b\n", "pkg/b.py": "from .a import x\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			record := ""
			for name, text := range c.files {
				hosttest.Write(t, filepath.Join(root, testSite+name), text)
				if strings.HasPrefix(name, "pkg/") {
					record += name + ",sha256=x,1\n"
				}
			}
			if c.recorded != "" {
				record += c.recorded + ",sha256=x,1\n"
			}
			s := &site{dir: "/" + strings.TrimSuffix(testSite, "/"), python: "3.12.3"}
			s.path = []string{s.dir}
			r := s.readReach(&host.Host{Root: root}, &facts.Build{Name: "pkg-cu12"}, []byte(record))
			absent := ""
			for _, a := range r.absent {
				absent += a.module
			}
			for what, pair := range map[string][2][]string{"certain": {c.certain, r.certain}, "possible": {c.possible, r.possible},
				"gone": {c.gone, r.gone}, "modules": {c.modules, r.modules}} {
				if len(pair[0])+len(pair[1]) > 0 {
					if diff := cmp.Diff(pair[0], pair[1]); diff != "" {
						t.Errorf("%s (-want +got):\n%s", what, diff)
					}
				}
			}
			if !r.read || absent != c.absent {
				t.Errorf("read %v, absent %q, want %q", r.read, absent, c.absent)
			}
		})
	}
}

// TestAlteredSources: a source that is not as RECORD has it ends the import where what is taken from it is gone.
func TestAlteredSources(t *testing.T) {
	const init = "from .version import __version__, cuda\n"
	for _, c := range []struct{ name, source, size, kind, by string }{
		{"as-shipped", "__version__ = cuda = 1\n", "23", "", ""},
		{"patched", "__version__ = cuda = 1  # mine\n", "23", "", ""},
		{"emptied", "", "23", "name", "__version__"},
		{"empty-as-shipped", "", "0", "", ""},
		{"lost", "__version__ = '1'\n", "23", "name", "cuda"},
		{"made-when-it-runs", "from .other import *\n", "23", "", ""},
		{"cut-in-a-header", "__version__ = cuda = 1\ndef f", "99", "spoiled", "it ends in the middle of a statement"},
		{"cut-in-brackets", "__version__ = cuda = f(1,\n", "99", "spoiled", "it ends in the middle of a statement"},
		{"cut-after-a-line", "__version__ = cuda = 1\nformat = 2\n", "99", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			hosttest.Write(t, filepath.Join(root, testSite+"pkg/__init__.py"), init)
			hosttest.Write(t, filepath.Join(root, testSite+"pkg/version.py"), c.source)
			s := &site{dir: "/" + strings.TrimSuffix(testSite, "/"), python: "3.12.3"}
			s.path = []string{s.dir}
			record := fmt.Sprintf("pkg/__init__.py,sha256=x,%d\npkg/version.py,sha256=x,%s\n", len(init), c.size)
			r := s.readReach(&host.Host{Root: root}, &facts.Build{Name: "pkg"}, []byte(record))
			kind, by := "", ""
			if len(r.altered) > 0 {
				kind, by = r.altered[0].Kind, r.altered[0].By
			}
			if kind != c.kind || by != c.by {
				t.Errorf("%q by %q, want %q by %q", kind, by, c.kind, c.by)
			}
		})
	}
}

// TestMains: by which module a distribution is imported.
func TestMains(t *testing.T) {
	for _, c := range []struct {
		name, record string
		want         []string
	}{
		{"openmm-unofficial-cu12", "openmm/__init__.py,x,1\nsimtk/__init__.py,x,1\n", []string{"openmm"}},
		{"nnutils-pytorch-cuda", "nnutils_pytorch/__init__.py,x,1\ntests/__init__.py,x,1\n", []string{"nnutils_pytorch"}},
		{"opencv-cuda", "cv2/__init__.py,x,1\n", []string{"cv2"}},
		{"fast-things", "things/__init__.py,x,1\nthings/_C.abi3.so,x,1\nhelpers/__init__.py,x,1\n", []string{"things"}},
		{"fast-things", "a/__init__.py,x,1\nb/__init__.py,x,1\n", nil},
		{"alone", "_core.abi3.so,x,1\n", []string{"_core"}},
		{"fast-cu13", "fast_cu13/_C.abi3.so,x,1\nfast_cu13/__init__.py,x,1\nfast_ep_cu13/__init__.py,x,1\nfast_ep_cu13/_C.abi3.so,x,1\n", []string{"fast_cu13"}},
	} {
		w := walker{listed: indexRecord([]byte(c.record))}
		if diff := cmp.Diff(c.want, w.mains(&facts.Build{Name: c.name}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestWorkingDirectory: what the environment lacks and the working directory has is there for what is started so; a
// folder of that name is no module.
func TestWorkingDirectory(t *testing.T) {
	for _, c := range []struct{ name, file, kind string }{
		{"nothing", "notes.txt", facts.HindranceModule},
		{"folder", "packaging/build.sh", facts.HindranceModule},
		{"module", "packaging/version.py", facts.HindranceOnlyHere},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			hosttest.Write(t, filepath.Join(root, testSite+"pkg/__init__.py"), "import packaging.version\n")
			hosttest.Write(t, filepath.Join(root, "home/u", c.file), "x = 1\n")
			s := &site{dir: "/" + strings.TrimSuffix(testSite, "/"), python: "3.12.3", here: []string{"/home/u"}}
			s.path = []string{s.dir}
			h := &host.Host{Root: root}
			r := s.readReach(h, &facts.Build{Name: "pkg"}, []byte("pkg/__init__.py,sha256=x,25\n"))
			if got := s.importEnd(h, r); got == nil || got.Kind != c.kind {
				t.Errorf("%+v, want %s", got, c.kind)
			}
		})
	}
}

// TestFrameworkSources: torch's sources are read where a requirement is missing.
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
				hosttest.Write(t, filepath.Join(root, testSite+name), text)
				if strings.HasPrefix(name, "torch/") {
					record += fmt.Sprintf("%s,sha256=x,%d\n", name, len(text))
				}
			}
			hosttest.Write(t, filepath.Join(root, testSite+"torch-2.8.0.dist-info/RECORD"), record)
			hosttest.Write(t, filepath.Join(root, testSite+"torch-2.8.0.dist-info/METADATA"),
				"Name: torch\nVersion: 2.8.0\nRequires-Dist: typing-extensions>=4.10.0\nRequires-Dist: sympy>=1.13.3\nRequires-Dist: jinja2\n"+
					"Requires-Dist: pywin32; sys_platform == 'win32'\nRequires-Dist: importlib-metadata; python_version < '3.8'\n")
			hosttest.Write(t, filepath.Join(root, testSite+"jinja2-3.1.6.dist-info/METADATA"),
				"Name: jinja2\nVersion: 3.1.6\nRequires-Dist: mpmath (>=1.0) ; python_version >= '3.9'\n")
			if c.remove != "" {
				hosttest.Must(t, os.RemoveAll(filepath.Join(root, testSite+c.remove)))
			}
			if c.write != "" {
				hosttest.Write(t, filepath.Join(root, testSite+c.write), "")
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

// TestOlderRequirement: the import takes of a module what an older release of it than is required does not have.
func TestOlderRequirement(t *testing.T) {
	for _, c := range []struct{ name, uses, have, version, want string }{
		{"attribute", "import ml_dtypes\nx: type = ml_dtypes.float8\n", "from ._ext import bfloat16\n", "0.3.2", "ml_dtypes.float8"},
		{"by-another-name", "import ml_dtypes as m\nclass A:\n    b = m.float8(1)\n", "bfloat16 = 1\n", "0.3.2", "ml_dtypes.float8"},
		{"imported", "from ml_dtypes import float8\n", "bfloat16 = 1\n", "0.3.2", "ml_dtypes.float8"},
		{"there", "import ml_dtypes\nx = ml_dtypes.bfloat16\n", "from ._ext import bfloat16\n", "0.3.2", ""},
		{"made-when-it-runs", "import ml_dtypes\nx = ml_dtypes.float8\n", "def __getattr__(name): pass\n", "0.3.2", ""},
		{"under-a-condition", "import ml_dtypes\nif hasattr(ml_dtypes, 'float8'):\n    x = ml_dtypes.float8\n", "bfloat16 = 1\n", "0.3.2", ""},
		{"in-an-expression", "import ml_dtypes\nx = ml_dtypes.float8 if new else None\n", "bfloat16 = 1\n", "0.3.2", ""},
		{"caught", "import ml_dtypes\ntry:\n    x = ml_dtypes.float8\nexcept AttributeError:\n    pass\n", "bfloat16 = 1\n", "0.3.2", ""},
		{"later", "import ml_dtypes\nf = lambda: ml_dtypes.float8\n", "bfloat16 = 1\n", "0.3.2", ""},
		{"new-enough", "import ml_dtypes\nx = ml_dtypes.float8\n", "bfloat16 = 1\n", "0.5.0", ""}, // somebody's patch
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			for name, text := range map[string]string{"pkg/__init__.py": c.uses, "ml_dtypes/__init__.py": c.have,
				"pkg-1.0.dist-info/METADATA":                     "Name: pkg\nRequires-Dist: ml_dtypes>=0.5.0\n",
				"ml_dtypes-" + c.version + ".dist-info/METADATA": "Name: ml-dtypes\n",
				"ml_dtypes-" + c.version + ".dist-info/RECORD":   "ml_dtypes/__init__.py,sha256=x,1\n"} {
				hosttest.Write(t, filepath.Join(root, testSite+name), text)
			}
			s := &site{dir: "/" + strings.TrimSuffix(testSite, "/"), python: "3.12.3"}
			s.path = []string{s.dir}
			r := s.readReach(&host.Host{Root: root}, &facts.Build{Name: "pkg", Path: s.dir + "/pkg-1.0.dist-info"}, []byte("pkg/__init__.py,sha256=x,1\n"))
			got := ""
			for _, h := range r.altered {
				if h.Kind == facts.HindranceOld && h.Of == "ml-dtypes 0.3.2" && h.Requirement == "ml-dtypes>=0.5.0" {
					got = h.Symbol
				}
			}
			if got != c.want {
				t.Errorf("takes %q, want %q: %+v", got, c.want, r.altered)
			}
		})
	}
}

// TestImportFails: a module that is nowhere, and a symbol that nothing defines, end the import.
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
			const libc, library = "usr/lib64/libc.so.6", testSite + "ours/_C.abi3.so"
			hosttest.Compile(t, root, hosttest.Library{Name: libc, Source: "int malloc(void) { return 0; }\n"},
				hosttest.Library{Name: library, Source: c.source + fatSource(80), Needs: []string{libc}, Flags: []string{"-Wl,--allow-shlib-undefined"}})
			info, err := os.Stat(filepath.Join(root, library))
			hosttest.Must(t, err)
			hosttest.Write(t, filepath.Join(root, testSite+"ours/__init__.py"), c.init)
			hosttest.Write(t, filepath.Join(root, testSite+"ours-1.0.dist-info/RECORD"),
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

// TestOfTorch: of libraries for several torches that of the running one counts.
func TestOfTorch(t *testing.T) {
	all := func() []string { return []string{"p/liba_torch24-cpu.so", "p/liba_torch210-cuda.so", "p/_C.so"} }
	for version, want := range map[string][]string{"2.4.1+cu124": {"p/liba_torch24-cpu.so", "p/_C.so"},
		"2.10.0": {"p/liba_torch210-cuda.so", "p/_C.so"}, "2.15.0+cu132": {"p/_C.so"}} {
		if diff := cmp.Diff(want, ofTorch(all(), &facts.Build{Version: version})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", version, diff)
		}
	}
}
