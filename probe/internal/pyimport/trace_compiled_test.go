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

// compiledC returns the source of an extension module that has texts among its constants.
func compiledC(texts ...string) string {
	source := "char big[20000] = {1};\n"
	for i, text := range texts {
		source += fmt.Sprintf("const char text%d[] = %q;\n", i, text)
	}
	return source
}

// TestCompiledImports checks that bindings/high.so imports C functions of bindings/low.so, as Cython's modules do,
// which its sources do not show. torch catches ImportError there: a truncated module ends the import, a missing one
// does not.
func TestCompiledImports(t *testing.T) {
	const high, low = "bindings/high.abi3.so", "bindings/low.abi3.so"
	const importsC = "%.200s does not export expected C function %.200s"
	const caught, plain = "try:\n    from bindings import high\nexcept ImportError:\n    pass\n", "from bindings import high\n"
	cut := func(t *testing.T, file string) { hosttest.Must(t, os.Truncate(file, 4096)) }
	remove := func(t *testing.T, file string) { hosttest.Must(t, os.Remove(file)) }
	for _, c := range []struct {
		name, imports string
		texts         []string
		damage        func(t *testing.T, file string)
		file, by      string
	}{
		{"cut off", caught, []string{importsC, "bindings.low"}, cut, low, "the file is cut off"},
		{"cut off, and not named", caught, []string{importsC}, cut, low, "perhaps"},
		{"gone, and what is imported is hidden", caught, []string{importsC, "bindings.high.Class"}, remove, low, "perhaps gone"},
		{"gone, and it is caught", caught, []string{importsC, "bindings.low"}, remove, "", ""},
		{"gone", plain, []string{importsC, "bindings.low"}, remove, low, "it is gone"},
		{"another one's name", plain, []string{importsC, "bindings.low.function"}, remove, "", ""},
		{"named, and no C functions imported", plain, []string{"bindings.low"}, remove, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			dir := filepath.Join(root, hosttest.Site) + "/"
			hosttest.Compile(t, root, hosttest.Library{Name: hosttest.Site + high, Source: compiledC(c.texts...)},
				hosttest.Library{Name: hosttest.Site + low, Source: compiledC()})
			record := "bindings/__init__.py,sha256=x,1\n"
			for _, name := range []string{high, low} {
				info, err := os.Stat(dir + name)
				hosttest.Must(t, err)
				record += fmt.Sprintf("%s,sha256=x,%d\n", name, info.Size())
			}
			for name, text := range map[string]string{"pkg/__init__.py": c.imports, "bindings/__init__.py": "\n",
				"pkg-1.0.dist-info/METADATA":      "Name: pkg\nRequires-Dist: bindings\n",
				"bindings-2.0.dist-info/METADATA": "Name: bindings\nVersion: 2.0\n", "bindings-2.0.dist-info/RECORD": record} {
				hosttest.Write(t, dir+name, text)
			}
			c.damage(t, dir+low)
			s := &pyenv.Site{Dir: "/" + strings.TrimSuffix(hosttest.Site, "/"), Python: "3.12.3"}
			s.Path = []string{s.Dir}
			r := TraceImport(s, &host.Host{Root: root}, &facts.Build{Name: "pkg", Path: s.Dir + "/pkg-1.0.dist-info"}, pydist.ParseRecord([]byte("pkg/__init__.py,sha256=x,1\n")))
			var want, got []facts.Hindrance
			switch {
			case strings.HasPrefix(c.by, facts.HindrancePerhaps):
				by := map[bool]string{true: "it is gone", false: "the file is cut off"}[strings.HasSuffix(c.by, "gone")]
				want = []facts.Hindrance{{Kind: facts.HindrancePerhaps, Of: "bindings 2.0", Path: "/" + hosttest.Site + c.file, By: by}}
			case c.file != "":
				want = []facts.Hindrance{{Kind: facts.HindranceSpoiled, Of: "bindings 2.0", Path: "/" + hosttest.Site + c.file, By: c.by}}
			}
			if got = r.altered; len(got) == 0 && r.perhaps != nil {
				got = []facts.Hindrance{*r.perhaps}
			}
			if len(got) > 0 {
				got = got[:1]
				got[0].By, _, _ = strings.Cut(got[0].By, ":")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("altered (-want +got):\n%s", diff)
			}
		})
	}
}

// TestModuleNamedByCode checks a C library that imports a source by its name when it is loaded, or later.
func TestModuleNamedByCode(t *testing.T) {
	const module = "arrays/core.abi3.so"
	for _, c := range []struct{ name, text, want string }{
		{"named", "arrays.types", "it is gone"},
		{"not named", "arrays.type", ""},
		{"part of a name", "arrays.types.Float", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			dir := filepath.Join(root, hosttest.Site) + "/"
			hosttest.Compile(t, root, hosttest.Library{Name: hosttest.Site + module, Source: compiledC(c.text)})
			info, err := os.Stat(dir + module)
			hosttest.Must(t, err)
			record := fmt.Sprintf("arrays/__init__.py,sha256=x,25\narrays/types.py,sha256=x,9\n%s,sha256=x,%d\n", module, info.Size())
			for name, text := range map[string]string{"pkg/__init__.py": "import arrays\n", "arrays/__init__.py": "from arrays import core  #\n",
				"pkg-1.0.dist-info/METADATA":    "Name: pkg\nRequires-Dist: arrays\n",
				"arrays-2.0.dist-info/METADATA": "Name: arrays\nVersion: 2.0\n", "arrays-2.0.dist-info/RECORD": record} {
				hosttest.Write(t, dir+name, text)
			}
			s := &pyenv.Site{Dir: "/" + strings.TrimSuffix(hosttest.Site, "/"), Python: "3.12.3"}
			s.Path = []string{s.Dir}
			r := TraceImport(s, &host.Host{Root: root}, &facts.Build{Name: "pkg", Path: s.Dir + "/pkg-1.0.dist-info"}, pydist.ParseRecord([]byte("pkg/__init__.py,sha256=x,15\n")))
			var want *facts.Hindrance
			if c.want != "" {
				want = &facts.Hindrance{Kind: facts.HindrancePerhaps, Of: "arrays 2.0", Path: "/" + hosttest.Site + "arrays/types.py", By: c.want}
			}
			if diff := cmp.Diff(want, r.doubtful); diff != "" || len(r.altered) > 0 {
				t.Errorf("%+v doubtful (-want +got):\n%s", r.altered, diff)
			}
		})
	}
}

// TestNumPyOfC checks an extension module that takes NumPy's C API when it is loaded, while no source imports NumPy.
func TestNumPyOfC(t *testing.T) {
	const module = "pkg/_ext.abi3.so"
	for _, c := range []struct {
		name, metadata, text string
		numpy                bool
		want                 []absentFrom
	}{
		{"required, and it is not there", "Requires-Dist: numpy>=1.26\n", "_ARRAY_API is NULL pointer", false,
			[]absentFrom{{module: "numpy", file: "/" + hosttest.Site + module}}},
		{"required, and it is there", "Requires-Dist: numpy>=1.26\n", "_ARRAY_API is NULL pointer", true, nil},
		{"taken where it is there", "", "_ARRAY_API is NULL pointer", false, nil},
		{"for an extra", "Requires-Dist: numpy; extra == \"arrays\"\n", "_ARRAY_API is NULL pointer", false, nil},
		{"taken when it is used", "Requires-Dist: numpy\n", "_ARRAY_API", false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			dir := filepath.Join(root, hosttest.Site) + "/"
			hosttest.Compile(t, root, hosttest.Library{Name: hosttest.Site + module, Source: compiledC(c.text)})
			record := "pkg/__init__.py,sha256=x,1\n" + module + ",sha256=x,1\n"
			hosttest.Write(t, dir+"pkg/__init__.py", "from . import _ext\n")
			hosttest.Write(t, dir+"pkg-1.0.dist-info/METADATA", "Name: pkg\n"+c.metadata)
			hosttest.Write(t, dir+"pkg-1.0.dist-info/RECORD", record)
			if c.numpy {
				hosttest.Write(t, dir+"numpy/__init__.py", "\n")
			}
			s := &pyenv.Site{Dir: "/" + strings.TrimSuffix(hosttest.Site, "/"), Python: "3.12.3"}
			s.Path = []string{s.Dir}
			r := TraceImport(s, &host.Host{Root: root}, &facts.Build{Name: "pkg", Path: s.Dir + "/pkg-1.0.dist-info"}, pydist.ParseRecord([]byte(record)))
			if diff := cmp.Diff(c.want, r.absent, cmp.AllowUnexported(absentFrom{})); diff != "" {
				t.Errorf("absent (-want +got):\n%s", diff)
			}
		})
	}
}
