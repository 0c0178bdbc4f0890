package pysource

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestParse checks what a module certainly imports, with results written by hand.
func TestParse(t *testing.T) {
	certain := func(modules ...string) (list []Import) {
		for _, m := range modules {
			list = append(list, Import{Module: m, Certain: true})
		}
		return list
	}
	for _, c := range []struct {
		name, source string
		want         []Import
	}{
		{"plain", "import os, sys as system\nimport numpy.linalg\n", certain("os", "sys", "numpy.linalg")},
		{"from", "from .a.b import (c,  # d\n    e as f)\nfrom . import _C\n", []Import{
			{Module: "a.b", Level: 1, Names: []string{"c", "e"}, Certain: true}, {Level: 1, Names: []string{"_C"}, Certain: true}}},
		{"continued", "from a \\\n  import b\n", []Import{{Module: "a", Names: []string{"b"}, Certain: true}}},
		{"named-like-the-word", "from importlib.metadata import version\nfrom import_x.a import(b)\nfrom .import_ import c\nfrom .import d\nfrom\t..\timport e\n", []Import{
			{Module: "importlib.metadata", Names: []string{"version"}, Certain: true},
			{Module: "import_x.a", Names: []string{"b"}, Certain: true},
			{Module: "import_", Level: 1, Names: []string{"c"}, Certain: true}, {Level: 1, Names: []string{"d"}, Certain: true},
			{Level: 2, Names: []string{"e"}, Certain: true}}},
		{"in-text", "\"\"\"\nimport no\n\"\"\"\nx = 'import no'  # import no\n", nil},
		{"condition", "if TYPE_CHECKING:\n    import a\nelse:\n    import b\nimport c\n",
			[]Import{{Module: "b", Certain: true}, {Module: "c", Certain: true}}},
		{"other-condition", "if x:\n    import a\nelse:\n    import b\nif typing.TYPE_CHECKING:\n    import c\n", []Import{{Module: "a"}, {Module: "b"}}},
		{"caught", "try:\n    import a\nexcept ImportError:\n    a = None\nimport b\n", []Import{{Module: "a", Tried: true}, {Module: "b", Certain: true}}},
		{"caught-bare", "try:\n    import a\nexcept:\n    pass\n", []Import{{Module: "a", Tried: true}}},
		{"caught-where-it-is-not-there", "try:\n    import a\nexcept ModuleNotFoundError:\n    a = None\n", []Import{{Module: "a", Tried: true, Lacked: true}}},
		{"caught-by-one-of-two", "try:\n    import a\nexcept (ModuleNotFoundError):\n    pass\nexcept OSError:\n    pass\n", []Import{{Module: "a", Tried: true}}},
		{"let-out", "try:\n    import a\nexcept ImportError as e:\n    print(e)\n    raise RuntimeError('no') from e\n", []Import{{Module: "a", Certain: true, Renamed: true}}},
		{"let-out-as-it-is", "try:\n    import a\nexcept ImportError as e:\n    print(e)\n    raise e\ntry:\n    import b\nexcept ImportError:\n    raise\n",
			certain("a", "b")},
		{"let-out-under-a-condition", "try:\n    import a\nexcept ImportError as e:\n    if x:\n        raise\n", []Import{{Module: "a", Tried: true}}},
		{"kept-and-raised", "try:\n    import a\nexcept Exception as e:\n    failed = e\nimport b\nif failed:\n    raise failed\n", certain("a", "b")},
		{"kept", "try:\n    import a\nexcept Exception as e:\n    failed = e\nimport b\n", []Import{{Module: "a", Tried: true}, {Module: "b", Certain: true}}},
		{"kept-and-raised-by-a-function", "try:\n    import a\nexcept Exception as e:\n    failed = e\ndef f():\n    raise failed\n",
			[]Import{{Module: "a", Tried: true}}},
		{"called-by-its-name", "m = importlib.import_module(\"a.b\")\n__import__('c')\nimport_module('..d', __package__)\n", []Import{
			{Module: "a.b", Certain: true}, {Module: "c", Certain: true}, {Module: "d", Level: 2, Certain: true}}},
		{"called-by-a-name-that-is-put-together", "import_module(f'a.{b}')\nimport_module(name)\nfind_spec('c')\n", nil},
		{"called-perhaps", "m = import_module('a') if x else None\nf = lambda: import_module('b')\n", []Import{{Module: "a"}, {Module: "b"}}},
		{"called-in-a-function", "def f():\n    return import_module('a')\n", nil},
		{"other-error", "try:\n    import a\nexcept KeyError:\n    pass\n", certain("a")},
		{"finally", "try:\n    import a\nfinally:\n    pass\n", certain("a")},
		{"handler", "try:\n    pass\nexcept ImportError:\n    import a\n", []Import{{Module: "a"}}},
		{"function", "def f():\n    import a\nf()\n", nil},
		{"class", "class A:\n    import a\n", certain("a")},
		{"suppressed", "with contextlib.suppress(ImportError):\n    import a\nwith x:\n    import b\n", []Import{{Module: "a"}, {Module: "b", Certain: true}}},
		{"semicolon", "import a; import b\n", certain("a", "b")},
		{"not-by-a-setup-script", "try:\n    __X_SETUP__\nexcept NameError:\n    __X_SETUP__ = False\nif __X_SETUP__:\n    import a\nelse:\n" +
			"    import b\nif y:\n    import c\nelse:\n    import d\n", []Import{{Module: "a"}, {Module: "b", Certain: true}, {Module: "c"}, {Module: "d"}}},
		{"nested-try", "try:\n    try:\n        import a\n    except KeyError:\n        pass\nexcept Exception:\n    pass\n", []Import{{Module: "a", Tried: true}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Parse([]byte(c.source)).Imports); diff != "" {
				t.Errorf("imports (-want +got):\n%s", diff)
			}
		})
	}
}

// TestOpens checks libraries that are opened by path, at once or later.
func TestOpens(t *testing.T) {
	for _, c := range []struct {
		name, source string
		opens, first bool
	}{
		{"at-once", "lib = ctypes.CDLL(path.join(here, 'libx.so'))\n", true, true},
		{"under-a-condition", "if exists(p):\n    lib = CDLL(p)\n", true, true},
		{"caught", "try:\n    lib = CDLL(p)\nexcept OSError:\n    lib = None\n", true, false},
		{"in-a-function", "def load():\n    return CDLL('libx.so')\n", true, false},
		{"in-a-function-that-is-called", "def load():\n    return CDLL('libx.so')\ndef outer():\n    return load()\nLIB = outer()\n", true, true},
		{"caught-in-a-function-of-such-a-name",
			"def load_library():\n    try:\n        CDLL('libx.so')\n    except Exception as e:\n        print(e)\nload_library()\n", true, false},
		{"at-once-in-a-function-of-such-a-name", "def load_library(p):\n    return CDLL(p)\nload_library('libx.so')\n", true, true},
		{"by-another-package", "import libx\nlibx.load_library()\n", false, false},
		{"by-torch", "torch.ops.load_library(p)\n", true, true},
		{"none", "x = 1\n", false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if m := Parse([]byte(c.source)); m.Opens != c.opens || m.OpensFirst != c.first {
				t.Errorf("opens %v, at once %v", m.Opens, m.OpensFirst)
			}
		})
	}
	m := Parse([]byte("CDLL(a)\na = 'libx.so'\nb = \"y/libz.so.12\"\nc = 'no such thing.so is here'\n"))
	if diff := cmp.Diff([]string{"libx.so", "y/libz.so.12"}, m.Libraries); diff != "" {
		t.Error(diff)
	}
}

// TestLater checks what the functions of a file that opens libraries import.
func TestLater(t *testing.T) {
	const source = "import os\ndef load_library():\n    import librmm, ctypes\n    from . import own\n    from libraft.load import x\n"
	m := Parse([]byte(source + "    CDLL('libx.so')\n"))
	if diff := cmp.Diff([]string{"librmm", "ctypes", "libraft.load"}, m.Later); diff != "" {
		t.Error(diff)
	}
	if m := Parse([]byte(source)); m.Later != nil {
		t.Errorf("of a file that opens none: %q", m.Later)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("try:\n\timport a\nexcept (ImportError, OSError) as e:\n\traise\n'''x\n"))
	f.Fuzz(func(_ *testing.T, data []byte) { Parse(data) })
}

// TestSummary checks what is known of a source whose text is not kept.
func TestSummary(t *testing.T) {
	for _, c := range []struct {
		name, source string
		unfinished   bool
		binds, lacks []string
	}{
		{"bound", "import a.b as c\nd, e = 1, 2\nclass F:\n    g = 1\nif x:\n    h: int = 3\n", false, []string{"c", "d", "e", "F", "h"}, []string{"z"}},
		{"in a function", "def f():\n    a = 1\n    return a\nb = f()\n", false, []string{"f", "b"}, []string{"a"}},
		{"in texts", "a = 'b c'  # d\n", false, []string{"a"}, []string{"b", "c", "d"}},
		{"given to the module", "def f():\n    global a\n    a = 1\nf()\n", false, []string{"a"}, nil},
		{"made when it runs", "globals().update(x)\n", false, []string{"anything"}, nil},
		{"everything of another", "from x import *\n", false, []string{"anything"}, nil},
		{"empty", "", false, []string{"*"}, []string{"a"}},
		{"cut in brackets", "a = f(1,\n", true, []string{"a"}, nil},
		{"cut in a text", "def f():\n    \"\"\"says\n", true, []string{"f"}, nil},
		{"cut in a header", "a = 1\n\ndef f", true, []string{"a"}, nil},
		{"cut before the colon", "a = 1\ndef f(*args: object, **kwargs: dict[str, int]) -> bool", true, []string{"a"}, nil},
		{"a header on one line", "a = 1\nif a: b = {1: 2}", false, []string{"a", "b"}, nil},
		{"a slice", "for_ = a[1:2]\nwith_(b)", false, []string{"for_"}, nil},
		{"cut in the header of a function's", "def f():\n    if a:\n\n# end\n", true, []string{"f"}, nil},
		{"whole function", "def f():\n    return 1\n", false, []string{"f"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			sum := Summarize([]byte(c.source))
			if sum.Unfinished != c.unfinished {
				t.Errorf("unfinished: %v", sum.Unfinished)
			}
			for _, name := range c.binds {
				if !sum.MayBind(name) {
					t.Errorf("it gives no %s: %q", name, sum.Names)
				}
			}
			for _, name := range c.lacks {
				if sum.MayBind(name) {
					t.Errorf("it gives %s: %q", name, sum.Names)
				}
			}
			if diff := cmp.Diff(Parse([]byte(c.source)), sum.Module); diff != "" {
				t.Errorf("otherwise than Parse (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTakenFrom checks the names that a summary says a source certainly imports.
func TestTakenFrom(t *testing.T) {
	sum := Summarize([]byte("from a.b import c, d as e, *\nimport a.b\nx = a.b.f\nif x:\n    from a.b import g\nfrom .a.b import h\nfrom z import i\n"))
	if diff := cmp.Diff([]string{"c", "d"}, sum.TakenFrom("a.b")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestManyStrings checks that a table of strings, which is one line, is scanned once: Python's pydoc_data/topics.py has
// 15,000. Comparing each string with the whole line before it would take an hour.
func TestManyStrings(t *testing.T) {
	text := "table = [" + strings.Repeat("'a', ", 300_000) + "importlib.import_module('a.b')]\n"
	want := []Import{{Module: "a.b", Certain: true}}
	if diff := cmp.Diff(want, Parse([]byte(text)).Imports); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
