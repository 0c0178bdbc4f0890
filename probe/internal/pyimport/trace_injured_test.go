package pyimport

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"
	"cudacompat/probe/internal/pydist"
	"cudacompat/probe/internal/pyenv"

	"github.com/google/go-cmp/cmp"
)

// TestInjured removes or truncates libraries of a required distribution. Like NumPy, it loads one extension module at
// import, which links to a library that came with it and without which it raises its own error; it loads two more
// directly, and has others.
func TestInjured(t *testing.T) {
	const array, blas, tests = "arrays/_core/_umath.cpython-312-x86_64-linux-gnu.so", "arrays.libs/libblas-1.so",
		"arrays/_core/_tests.cpython-312-x86_64-linux-gnu.so"
	const random, fft = "arrays/_random.cpython-312-x86_64-linux-gnu.so", "arrays/_fft.cpython-312-x86_64-linux-gnu.so"
	const lacked = "try:\n    import arrays\nexcept ModuleNotFoundError:\n    pass\n"
	remove := func(name string) func(t *testing.T, site string) {
		return func(t *testing.T, site string) { hosttest.Must(t, os.Remove(site+name)) }
	}
	replace := func(name string) func(t *testing.T, site string) { // by another library, which is larger
		return func(t *testing.T, site string) {
			data, err := os.ReadFile(site + tests)
			hosttest.Must(t, err)
			hosttest.Must(t, os.WriteFile(site+name, append(data, 0), 0o644))
		}
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
		{"its library gone, and only that there is none is caught", lacked, remove(blas), blas, "it is gone"},
		{"module gone, and only that there is none is caught", lacked, remove(random), "", ""},
		{"module gone that is imported by name, and only that there is none is caught", lacked, remove(fft), fft, "it is gone"},
		{"module gone, of which the package makes another failure", lacked, remove(array), array, "it is gone"},
		{"module that is another library", "import arrays\n", replace(random), random, "it does not define PyInit__random"},
		{"module gone that is imported plainly", "import arrays\n", remove(random), random, "it is gone"},
		{"module cut off, and what Python raises is caught", "try:\n    import arrays\nexcept ImportError:\n    pass\n", cut(array), array, cutOff},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			dir := filepath.Join(root, hosttest.Site) + "/"
			library := func(name string, needs ...string) hosttest.Library {
				return hosttest.Library{Name: hosttest.Site + name, Source: "char big[20000] = {1};\nint own(void) { return 0; }\n", Needs: needs,
					Flags: []string{"-Wl,--no-as-needed,--disable-new-dtags,-rpath,$ORIGIN/../../arrays.libs"}}
			}
			hosttest.Compile(t, root, library(blas), library(array, hosttest.Site+blas), library(tests), library(random), library(fft))
			record := "arrays/__init__.py,sha256=x,1\narrays/_core/__init__.py,sha256=x,1\n"
			for _, name := range []string{array, blas, tests, random, fft} {
				info, err := os.Stat(dir + name)
				hosttest.Must(t, err)
				record += fmt.Sprintf("%s,sha256=x,%d\n", name, info.Size())
			}
			for name, text := range map[string]string{
				"pkg/__init__.py": c.imports, "pkg-1.0.dist-info/METADATA": "Name: pkg\nRequires-Dist: arrays\n",
				"arrays/__init__.py":            "from . import _core\nfrom ._random import normal\nfrom . import _fft\n",
				"arrays/_core/__init__.py":      "try:\n    from . import _umath\nexcept ImportError as e:\n    raise ImportError('no array') from e\n",
				"arrays-2.0.dist-info/METADATA": "Name: arrays\nVersion: 2.0\n", "arrays-2.0.dist-info/RECORD": record,
			} {
				hosttest.Write(t, dir+name, text)
			}
			c.damage(t, dir)
			s := &pyenv.Site{Dir: "/" + strings.TrimSuffix(hosttest.Site, "/"), Python: "3.12.3"}
			s.Path = []string{s.Dir}
			r := TraceImport(s, &host.Host{Root: root}, &facts.Build{Name: "pkg", Path: s.Dir + "/pkg-1.0.dist-info"}, pydist.ParseRecord([]byte("pkg/__init__.py,sha256=x,1\n")))
			var want []facts.Hindrance
			if c.file != "" {
				want = []facts.Hindrance{{Kind: facts.HindranceSpoiled, Of: "arrays 2.0", Path: "/" + hosttest.Site + c.file, By: c.by}}
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

// TestLinkedLibraries removes libraries that a package's module links to: one that came with it, and one from a
// required package whose code loads it first.
func TestLinkedLibraries(t *testing.T) {
	const module, own, other = "pkg/_ext.abi3.so", "pkg.libs/libown-1.so", "other/lib64/libother.so"
	for _, c := range []struct {
		name, gone string
		cut        bool
		of, by     string
	}{
		{"whole", "", false, "", ""},
		{"its own gone", own, false, "pkg 1.0", "it is gone"},
		{"its own cut off", own, true, "pkg 1.0", "the file is cut off"},
		{"the other's gone", other, false, "other 2.0", "it is gone"},
		{"the other's cut off", other, true, "other 2.0", "the file is cut off"},
		{"one that nothing is linked to", "other/lib64/libspare.so", false, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			dir := filepath.Join(root, hosttest.Site) + "/"
			const spare, source = "other/lib64/libspare.so", "char big[20000] = {1};\n"
			hosttest.Compile(t, root, hosttest.Library{Name: hosttest.Site + own, Source: source}, hosttest.Library{Name: hosttest.Site + other, Source: source},
				hosttest.Library{Name: hosttest.Site + spare, Source: source}, hosttest.Library{Name: hosttest.Site + module, Source: source,
					Needs: []string{hosttest.Site + own, hosttest.Site + other}, Flags: []string{"-Wl,--no-as-needed,-rpath,$ORIGIN/../pkg.libs"}})
			listed := func(names ...string) (record string) {
				for _, name := range names {
					info, err := os.Stat(dir + name)
					hosttest.Must(t, err)
					record += fmt.Sprintf("%s,sha256=x,%d\n", name, info.Size())
				}
				return record
			}
			record := "pkg/__init__.py,sha256=x,1\n" + listed(module, own)
			for name, text := range map[string]string{"pkg/__init__.py": "import other\nother.load_library()\nfrom . import _ext\n",
				"pkg-1.0.dist-info/METADATA": "Name: pkg\nRequires-Dist: other\n", "pkg-1.0.dist-info/RECORD": record,
				"other/__init__.py": "\n", "other-2.0.dist-info/METADATA": "Name: other\nVersion: 2.0\n",
				"other-2.0.dist-info/RECORD": "other/__init__.py,sha256=x,1\n" + listed(other, spare)} {
				hosttest.Write(t, dir+name, text)
			}
			switch {
			case c.cut:
				hosttest.Must(t, os.Truncate(dir+c.gone, 4096))
			case c.gone != "":
				hosttest.Must(t, os.Remove(dir+c.gone))
			}
			s := &pyenv.Site{Dir: "/" + strings.TrimSuffix(hosttest.Site, "/"), Python: "3.12.3"}
			s.Path = []string{s.Dir}
			r := TraceImport(s, &host.Host{Root: root}, &facts.Build{Name: "pkg", Path: s.Dir + "/pkg-1.0.dist-info"}, pydist.ParseRecord([]byte(record)))
			var want, got []facts.Hindrance
			if c.by != "" {
				want = []facts.Hindrance{{Kind: facts.HindranceSpoiled, Of: c.of, Path: "/" + hosttest.Site + c.gone, By: c.by}}
			}
			for _, h := range r.altered[:min(len(r.altered), 1)] {
				h.By, _, _ = strings.Cut(h.By, ":")
				got = append(got, h)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("altered (-want +got):\n%s", diff)
			}
		})
	}
}
