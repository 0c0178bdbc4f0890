package pyimport

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"
	"cudacompat/probe/internal/pydist"
	"cudacompat/probe/internal/pyenv"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestReached checks what the import of a package reaches, with sources as in real packages.
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
				hosttest.Write(t, filepath.Join(root, hosttest.Site+name), text)
				if strings.HasPrefix(name, "pkg/") {
					record += name + ",sha256=x,1\n"
				}
			}
			if c.recorded != "" {
				record += c.recorded + ",sha256=x,1\n"
			}
			s := &pyenv.Site{Dir: "/" + strings.TrimSuffix(hosttest.Site, "/"), Python: "3.12.3"}
			s.Path = []string{s.Dir}
			r := TraceImport(s, &host.Host{Root: root}, &facts.Build{Name: "pkg-cu12"}, pydist.ParseRecord([]byte(record)))
			absent := ""
			for _, a := range r.absent {
				absent += a.module
			}
			for what, pair := range map[string][2][]string{"certain": {c.certain, r.Certain}, "possible": {c.possible, r.possible},
				"gone": {c.gone, r.gone}, "modules": {c.modules, r.Modules}} {
				if len(pair[0])+len(pair[1]) > 0 {
					if diff := cmp.Diff(pair[0], pair[1]); diff != "" {
						t.Errorf("%s (-want +got):\n%s", what, diff)
					}
				}
			}
			if !r.Read || absent != c.absent {
				t.Errorf("read %v, absent %q, want %q", r.Read, absent, c.absent)
			}
		})
	}
}

// TestAlteredSources checks that a source that differs from RECORD ends the import if a name that is imported from it
// is gone.
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
			hosttest.Write(t, filepath.Join(root, hosttest.Site+"pkg/__init__.py"), init)
			hosttest.Write(t, filepath.Join(root, hosttest.Site+"pkg/version.py"), c.source)
			s := &pyenv.Site{Dir: "/" + strings.TrimSuffix(hosttest.Site, "/"), Python: "3.12.3"}
			s.Path = []string{s.Dir}
			record := fmt.Sprintf("pkg/__init__.py,sha256=x,%d\npkg/version.py,sha256=x,%s\n", len(init), c.size)
			r := TraceImport(s, &host.Host{Root: root}, &facts.Build{Name: "pkg"}, pydist.ParseRecord([]byte(record)))
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

// TestMains checks by which module a distribution is imported.
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
		w := importTracer{listed: pydist.ParseRecord([]byte(c.record)).Index()}
		if diff := cmp.Diff(c.want, w.mains(&facts.Build{Name: c.name}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestWorkingDirectory checks that a module missing from the environment and present in the working directory exists
// for programs started there. A directory of that name is no module.
func TestWorkingDirectory(t *testing.T) {
	for _, c := range []struct{ name, file, kind string }{
		{"nothing", "notes.txt", facts.HindranceModule},
		{"folder", "packaging/build.sh", facts.HindranceModule},
		{"module", "packaging/version.py", facts.HindranceOnlyHere},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			hosttest.Write(t, filepath.Join(root, hosttest.Site+"pkg/__init__.py"), "import packaging.version\n")
			hosttest.Write(t, filepath.Join(root, "home/u", c.file), "x = 1\n")
			s := &pyenv.Site{Dir: "/" + strings.TrimSuffix(hosttest.Site, "/"), Python: "3.12.3", Here: []string{"/home/u"}}
			s.Path = []string{s.Dir}
			h := &host.Host{Root: root}
			r := TraceImport(s, h, &facts.Build{Name: "pkg"}, pydist.ParseRecord([]byte("pkg/__init__.py,sha256=x,25\n")))
			if got := importEnd(s, h, r); got == nil || got.Kind != c.kind {
				t.Errorf("%+v, want %s", got, c.kind)
			}
		})
	}
}

// TestOlderRequirement checks an import of a name that an older release of a required module lacks.
func TestOlderRequirement(t *testing.T) {
	for _, c := range []struct{ name, uses, have, version, want string }{
		{"attribute", "import ml_dtypes\nx: type = ml_dtypes.float8\n", "from ._ext import bfloat16\n", "0.3.2", "ml_dtypes.float8"},
		{"by-another-name", "import ml_dtypes as m\nclass A:\n    b = m.float8(1)\n", "bfloat16 = 1\n", "0.3.2", "ml_dtypes.float8"},
		{"imported", "from ml_dtypes import float8\n", "bfloat16 = 1\n", "0.3.2", "ml_dtypes.float8"},
		{"there", "import ml_dtypes\nx = ml_dtypes.bfloat16\n", "from ._ext import bfloat16\n", "0.3.2", ""},
		{"made-when-it-runs", "import ml_dtypes\nx = ml_dtypes.float8\n", "def __getattr__(name): pass\n", "0.3.2", ""},
		{"code-makes-other-names", "from ml_dtypes import float8\n", "globals().update(x)\nclass A:\n    def __getattr__(self, n): pass\nold = 'no float8 here'\n",
			"0.3.2", "ml_dtypes.float8"},
		{"code-makes-it", "from ml_dtypes import float8\n", "for n in ['float8']:\n    globals()[n] = 1\n", "0.3.2", ""},
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
				hosttest.Write(t, filepath.Join(root, hosttest.Site+name), text)
			}
			s := &pyenv.Site{Dir: "/" + strings.TrimSuffix(hosttest.Site, "/"), Python: "3.12.3"}
			s.Path = []string{s.Dir}
			r := TraceImport(s, &host.Host{Root: root}, &facts.Build{Name: "pkg", Path: s.Dir + "/pkg-1.0.dist-info"}, pydist.ParseRecord([]byte("pkg/__init__.py,sha256=x,1\n")))
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
