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
)

// TestInjured takes away, or cuts, libraries of a distribution that a package requires: as NumPy, it loads one extension
// module when it is imported, which is linked to a library that came with it, and has others.
func TestInjured(t *testing.T) {
	const array, blas, tests = "arrays/_core/_umath.cpython-312-x86_64-linux-gnu.so", "arrays.libs/libblas-1.so",
		"arrays/_core/_tests.cpython-312-x86_64-linux-gnu.so"
	remove := func(name string) func(t *testing.T, site string) {
		return func(t *testing.T, site string) { hosttest.Must(t, os.Remove(site+name)) }
	}
	cut := func(name string) func(t *testing.T, site string) {
		return func(t *testing.T, site string) { hosttest.Must(t, os.Truncate(site+name, 4096)) }
	}
	const cutOff = "the file is cut off: it has 4096 bytes, and a segment ends at "
	for _, c := range []struct {
		name, imports string
		damage        func(t *testing.T, site string)
		file, by      string
	}{
		{"whole", "import arrays\n", func(*testing.T, string) {}, "", ""},
		{"module gone", "import arrays\n", remove(array), array, "it is gone"},
		{"its library gone", "import arrays\n", remove(blas), blas, "it is gone"},
		{"module cut off", "import arrays\n", cut(array), array, cutOff},
		{"another module gone", "import arrays\n", remove(tests), "", ""},
		{"not imported", "import os\n", remove(array), "", ""},
		{"module gone, and the failure is caught", "try:\n    import arrays\nexcept ImportError:\n    pass\n", remove(array), "", ""},
		{"its library gone, and only that there is none is caught", "try:\n    import arrays\nexcept ModuleNotFoundError:\n    pass\n", remove(blas),
			blas, "it is gone"},
		{"module cut off, and what Python raises is caught", "try:\n    import arrays\nexcept ImportError:\n    pass\n", cut(array), array, cutOff},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			dir := filepath.Join(root, testSite) + "/"
			library := func(name string, needs ...string) hosttest.Library {
				return hosttest.Library{Name: testSite + name, Source: "char big[20000] = {1};\nint own(void) { return 0; }\n", Needs: needs,
					Flags: []string{"-Wl,--no-as-needed,--disable-new-dtags,-rpath,$ORIGIN/../../arrays.libs"}}
			}
			hosttest.Compile(t, root, library(blas), library(array, testSite+blas), library(tests))
			record := "arrays/__init__.py,sha256=x,1\narrays/_core/__init__.py,sha256=x,1\n"
			for _, name := range []string{array, blas, tests} {
				info, err := os.Stat(dir + name)
				hosttest.Must(t, err)
				record += fmt.Sprintf("%s,sha256=x,%d\n", name, info.Size())
			}
			for name, text := range map[string]string{
				"pkg/__init__.py": c.imports, "pkg-1.0.dist-info/METADATA": "Name: pkg\nRequires-Dist: arrays\n",
				"arrays/__init__.py":            "from . import _core\n",
				"arrays/_core/__init__.py":      "try:\n    from . import _umath\nexcept ImportError as e:\n    raise ImportError('no array') from e\n",
				"arrays-2.0.dist-info/METADATA": "Name: arrays\nVersion: 2.0\n", "arrays-2.0.dist-info/RECORD": record,
			} {
				hosttest.Write(t, dir+name, text)
			}
			c.damage(t, dir)
			s := &site{dir: "/" + strings.TrimSuffix(testSite, "/"), python: "3.12.3"}
			s.path = []string{s.dir}
			r := s.reached(&host.Host{Root: root}, &facts.Build{Name: "pkg", Path: s.dir + "/pkg-1.0.dist-info"}, []byte("pkg/__init__.py,sha256=x,1\n"))
			var want []facts.Hindrance
			if c.file != "" {
				want = []facts.Hindrance{{Kind: facts.HindranceSpoiled, Of: "arrays 2.0", Path: "/" + testSite + c.file, By: c.by}}
			}
			for i := range r.altered {
				if c.by == cutOff && len(r.altered[i].By) > len(cutOff) { // where the segment ends is the compiler's
					r.altered[i].By = r.altered[i].By[:len(cutOff)]
				}
			}
			if diff := cmp.Diff(want, r.altered[:min(len(r.altered), 1)]); diff != "" && len(want)+len(r.altered) > 0 {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
