package pyimport

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"
	"cudacompat/probe/internal/pyenv"
)

// TestDamagedSources damages one source of a framework, or of what it requires, and checks the effect on the import.
func TestDamagedSources(t *testing.T) {
	large := "x = 1\n" + strings.Repeat("# as it was installed\n", 50)
	whole := map[string]string{
		"jax/__init__.py":        "import arrays\nimport small\nfrom jax import core\nfrom jax.lib import ir\nfrom jax.plain import part\nimport jax.quiet\nif new:\n    import jax.perhaps\n    import arrays.newer\ntry:\n    import jax.tried\nexcept ImportError:\n    pass\nif TYPE_CHECKING:\n    import jax.types\n" + large,
		"small/__init__.py":      "# nothing but a comment\n",
		"jax/core.py":            "from jax.deep import name\n" + large,
		"jax/deep.py":            "name = 1\n" + large,
		"jax/quiet.py":           large,
		"jax/perhaps.py":         large,
		"jax/tried.py":           large,
		"jax/types.py":           large,
		"jax/later.py":           large,
		"jax/lib/__init__.py":    "ir = 1\n",
		"jax/lib/more.py":        large,
		"jax/plain/__init__.py":  large,
		"jax/plain/part.py":      large,
		"jax/tests/test_core.py": large,
		"arrays/__init__.py":     "from arrays import _core\nfrom arrays.plain import a\n" + large,
		"arrays/plain/a.py":      "from arrays.plain.b import *\n" + large,
		"arrays/plain/b.py":      large,
		"arrays/_core.py":        large,
		"arrays/later.py":        large,
		"arrays/newer.py":        "from arrays import newest\n" + large,
		"arrays/newest.py":       large,
		"space/lazy/__init__.py": "from space.lazy import part\n" + large,
		"space/lazy/part.py":     large,
		"space/lazy/extra.py":    large,
	}
	for _, c := range []struct{ name, file, text, kind, by string }{
		{"whole", "", "", "", ""},
		{"gone", "jax/core.py", "", facts.HindranceSpoiled, "it is gone"},
		{"deep-gone", "jax/deep.py", "", facts.HindranceSpoiled, "it is gone"},
		{"main-empty", "jax/__init__.py", "empty", facts.HindranceSpoiled, "it is empty"},
		{"small-main-empty", "small/__init__.py", "empty", facts.HindrancePerhaps, "it is empty"},
		{"small-main-halved", "small/__init__.py", "# noth", facts.HindrancePerhaps, "it has 6 bytes, RECORD says 24"},
		{"name-lost", "jax/deep.py", "empty", facts.HindranceName, "name"},
		{"empty", "jax/quiet.py", "empty", facts.HindrancePerhaps, "it is empty"},
		{"cut-off", "jax/quiet.py", "def f(a: int) -> int", facts.HindranceSpoiled, "it ends in the middle of a statement"},
		{"no-text", "jax/quiet.py", "x = 1\x00", facts.HindranceSpoiled, "it is not a text file"},
		{"another-file", "jax/quiet.py", "y = 2\n", facts.HindrancePerhaps, "it has 6 bytes, RECORD says 1106"},
		{"patched", "jax/quiet.py", large + "y = 2\n", "", ""},
		{"under-a-condition-gone", "jax/perhaps.py", "", facts.HindrancePerhaps, "it is gone"},
		{"under-a-condition-cut-off", "jax/perhaps.py", "def f(", facts.HindrancePerhaps, "it ends in the middle of a statement"},
		{"caught-gone", "jax/tried.py", "", "", ""},
		{"for-type-checkers-gone", "jax/types.py", "", "", ""},
		{"not-reached-empty", "jax/later.py", "empty", facts.HindrancePerhaps, "it is empty"},
		{"not-reached-gone", "jax/later.py", "", "", ""},
		{"test-empty", "jax/tests/test_core.py", "empty", "", ""},
		{"first-file-gone", "jax/lib/__init__.py", "", facts.HindranceSpoiled, "it is gone"},
		{"first-file-without-names-gone", "jax/plain/__init__.py", "", "", ""},
		{"under-a-condition-another-file", "jax/perhaps.py", "y = 2\n", facts.HindrancePerhaps, "it has 6 bytes, RECORD says 1106"},
		{"test-gone", "jax/tests/test_core.py", "", "", ""},
		{"required-empty", "arrays/__init__.py", "empty", facts.HindranceSpoiled, "it is empty"},
		{"required-not-reached-empty", "arrays/later.py", "empty", facts.HindrancePerhaps, "it is empty"},
		{"required-not-reached-gone", "arrays/later.py", "", "", ""},
		{"required-and-imported-by-no-source-gone", "space/lazy/part.py", "", facts.HindrancePerhaps, "it is gone"},
		{"required-and-imported-by-nothing-gone", "space/lazy/extra.py", "", "", ""},
		{"required-under-a-condition-gone", "arrays/newest.py", "", facts.HindrancePerhaps, "it is gone"},
		{"required-of-a-namespace-gone", "arrays/plain/b.py", "", facts.HindranceSpoiled, "it is gone"},
		{"required-gone", "arrays/_core.py", "", facts.HindranceSpoiled, "it is gone"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			records := map[string]string{}
			for name, text := range whole {
				top, _, _ := strings.Cut(strings.Replace(name, "small/", "jax/", 1), "/")
				records[top] += fmt.Sprintf("%s,sha256=x,%d\n", name, len(text))
				switch {
				case name != c.file:
				case c.text == "":
					continue
				default:
					text = strings.TrimPrefix(c.text, "empty")
				}
				hosttest.Write(t, filepath.Join(root, hosttest.Site+name), text)
			}
			hosttest.Write(t, filepath.Join(root, hosttest.Site+"jax-1.0.dist-info/METADATA"), "Name: jax\nVersion: 1.0\nRequires-Dist: arrays\nRequires-Dist: space-lazy\n")
			hosttest.Write(t, filepath.Join(root, hosttest.Site+"jax-1.0.dist-info/RECORD"), records["jax"])
			hosttest.Write(t, filepath.Join(root, hosttest.Site+"arrays-2.0.dist-info/METADATA"), "Name: arrays\nVersion: 2.0\n")
			hosttest.Write(t, filepath.Join(root, hosttest.Site+"arrays-2.0.dist-info/RECORD"), records["arrays"])
			hosttest.Write(t, filepath.Join(root, hosttest.Site+"space_lazy-3.0.dist-info/METADATA"), "Name: space-lazy\nVersion: 3.0\n")
			hosttest.Write(t, filepath.Join(root, hosttest.Site+"space_lazy-3.0.dist-info/RECORD"), records["space"])
			if err := os.MkdirAll(filepath.Join(root, hosttest.Site, "jaxlib"), 0o755); err != nil {
				t.Fatal(err)
			}
			s := &pyenv.Site{Dir: "/" + strings.TrimSuffix(hosttest.Site, "/"), Python: "3.12.3"}
			s.Path = []string{s.Dir}
			b := facts.Build{Name: "jax", Version: "1.0", Path: s.Dir + "/jaxlib"}
			TraceSources(s, &host.Host{Root: root}, &b)
			var got facts.Hindrance
			if len(b.Hindrances) > 0 {
				got = b.Hindrances[0]
			}
			of := ""
			if c.kind != "" {
				top, _, _ := strings.Cut(c.file, "/")
				of = cmp.Or(map[string]string{"arrays": "arrays 2.0", "space": "space-lazy 3.0"}[top], "jax 1.0")
			}
			if got.Kind != c.kind || got.By != c.by || got.Of != of || len(b.Hindrances) > 1 {
				t.Errorf("%+v, want %q by %q", b.Hindrances, c.kind, c.by)
			}
		})
	}
}
