package framework

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"

	"github.com/google/go-cmp/cmp"
)

// TestOtherRelease checks libcudf 26.10 above a librmm in its range, above one of another release with the types that
// it uses, and above one without, which fails to load.
func TestOtherRelease(t *testing.T) {
	const rmm, cudf = hosttest.Site + "librmm/lib64/librmm.so", hosttest.Site + "libcudf/lib64/libcudf.so"
	const typeOf = "_ZTIN3rmm10_RMM_26_109bad_allocE"
	hindrance := func(path, symbol string) []facts.Hindrance {
		return []facts.Hindrance{{Kind: facts.HindranceRelease, Of: "librmm-cu12 25.10.0", Path: "/" + hosttest.Site + path,
			By: "librmm-cu12==26.10.*", Symbol: symbol}}
	}
	for _, c := range []struct {
		name, installed, source string
		want                    []facts.Hindrance
	}{
		{"in-range", "26.10.0", "int rmm_version = 1, " + typeOf + " = 1;\n", nil},
		{"may-run", "25.10.0", "int rmm_version = 1, " + typeOf + " = 1;\n", hindrance("libcudf_cu12-26.10.2.dist-info/METADATA", "")},
		{"lacks-a-type", "25.10.0", "int rmm_version = 1;\n", hindrance("libcudf/lib64/libcudf.so", typeOf)},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			hosttest.Compile(t, root,
				hosttest.Library{Name: rmm, Source: c.source},
				hosttest.Library{Name: cudf, Needs: []string{rmm}, Flags: []string{"-Wl,--allow-shlib-undefined,--unresolved-symbols=ignore-all"},
					Source: "extern int rmm_version, " + typeOf + "; int *f(int i) { return i ? &rmm_version : &" + typeOf + "; }\nchar big[20000] = {1};\n" +
						fatSource(80, 90)})
			info, err := os.Stat(filepath.Join(root, cudf))
			hosttest.Must(t, err)
			for name, text := range map[string]string{
				"libcudf_cu12-26.10.2.dist-info/METADATA": "Name: libcudf-cu12\nRequires-Dist: librmm-cu12==26.10.*\n" +
					"Requires-Dist: librmm-cu12==1; python_version < '3'\n\nRequires-Dist: librmm-cu12==2\n",
				"libcudf_cu12-26.10.2.dist-info/RECORD":              fmt.Sprintf("libcudf/lib64/libcudf.so,sha256=x,%d\n", info.Size()),
				"librmm_cu12-" + c.installed + ".dist-info/METADATA": "Name: librmm-cu12\n",
				"librmm_cu12-" + c.installed + ".dist-info/RECORD":   "librmm/lib64/librmm.so,sha256=x,9\n",
			} {
				hosttest.Write(t, filepath.Join(root, hosttest.Site+name), text)
			}
			hosttest.Write(t, filepath.Join(root, "opt/venv/pyvenv.cfg"), "version = 3.12.3\n")
			found, err := Read(&host.Host{Root: root}, []string{"/opt/venv"})
			if err != nil || len(found.Environments[0].Builds) != 1 {
				t.Fatalf("%v, builds are %+v", err, found.Environments[0].Builds)
			}
			if diff := cmp.Diff(c.want, found.Environments[0].Builds[0].Hindrances); diff != "" {
				t.Errorf("hindrances (-want +got):\n%s", diff)
			}
		})
	}
}

// TestOtherReleaseOfModules checks rmm, whose modules contain no CUDA code: it is reported only if the installed librmm
// lacks a type that one of them needs.
func TestOtherReleaseOfModules(t *testing.T) {
	const rmm, typeOf = hosttest.Site + "librmm/lib64/librmm.so", "_ZTIN3rmm10_RMM_26_109bad_allocE"
	for _, c := range []struct {
		installed string
		want      []facts.Hindrance
	}{
		{"26.10.1", nil},
		{"25.10.0", []facts.Hindrance{{Kind: facts.HindranceRelease, Of: "librmm-cu12 25.10.0", By: "librmm-cu12==26.10.*",
			Path: "/" + hosttest.Site + "rmm/second.abi3.so", Symbol: typeOf}}},
	} {
		t.Run(c.installed, func(t *testing.T) {
			root := t.TempDir()
			record := ""
			module := func(name, source string) hosttest.Library {
				record += fmt.Sprintf("rmm/%s.abi3.so,sha256=x,20000\n", name)
				return hosttest.Library{Name: hosttest.Site + "rmm/" + name + ".abi3.so", Needs: []string{rmm}, Source: source,
					Flags: []string{"-Wl,--allow-shlib-undefined,--unresolved-symbols=ignore-all"}}
			}
			hosttest.Compile(t, root, hosttest.Library{Name: rmm, Source: "int rmm_version = 1;\n"},
				module("first", "extern int rmm_version; int *f(void) { return &rmm_version; }\n"),
				module("second", "extern int rmm_version, "+typeOf+"; int *g(int i) { return i ? &rmm_version : &"+typeOf+"; }\n"))
			for name, text := range map[string]string{
				"rmm_cu12-26.10.0.dist-info/METADATA":                "Name: rmm-cu12\nRequires-Dist: librmm-cu12==26.10.*\n",
				"rmm_cu12-26.10.0.dist-info/RECORD":                  record,
				"librmm_cu12-" + c.installed + ".dist-info/METADATA": "Name: librmm-cu12\n",
				"librmm_cu12-" + c.installed + ".dist-info/RECORD":   "librmm/lib64/librmm.so,sha256=x,9\n",
			} {
				hosttest.Write(t, filepath.Join(root, hosttest.Site+name), text)
			}
			hosttest.Write(t, filepath.Join(root, "opt/venv/pyvenv.cfg"), "version = 3.12.3\n")
			found, err := Read(&host.Host{Root: root}, []string{"/opt/venv"})
			if err != nil {
				t.Fatal(err)
			}
			var got []facts.Hindrance
			for _, b := range found.Environments[0].Builds {
				got = append(got, b.Hindrances...)
			}
			if diff := cmp.Diff(c.want, got); diff != "" || len(found.Environments[0].Builds) > 1 {
				t.Errorf("%d builds, hindrances (-want +got):\n%s", len(found.Environments[0].Builds), diff)
			}
		})
	}
}

// TestInstalledOver checks rmm above a librmm of its own release over which that for another CUDA was installed, with
// and without the function that rmm calls.
func TestInstalledOver(t *testing.T) {
	const rmm, function = hosttest.Site + "librmm/lib64/librmm.so", "_ZN3rmm6streamEv"
	for _, c := range []struct {
		name, source string
		over         bool
		symbol       string
	}{
		{"as-installed", "int rmm_version = 1;\n", false, ""},
		{"over-and-serves", "int rmm_version = 1; void " + function + "(void) {}\n", true, ""},
		{"over-and-lacks-a-function", "int rmm_version = 1;\n", true, function},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			hosttest.Compile(t, root, hosttest.Library{Name: rmm, Source: c.source},
				hosttest.Library{Name: hosttest.Site + "rmm/stream.abi3.so", Needs: []string{rmm}, Flags: []string{"-Wl,--unresolved-symbols=ignore-all"},
					Source: "extern int rmm_version; void " + function + "(void); int *f(void) { " + function + "(); return &rmm_version; }\n"})
			info, err := os.Stat(filepath.Join(root, rmm))
			hosttest.Must(t, err)
			sizes := map[string]int64{"12": info.Size(), "13": 9}
			if c.over {
				sizes = map[string]int64{"12": 9, "13": info.Size()}
			}
			for family, size := range sizes {
				hosttest.Write(t, filepath.Join(root, hosttest.Site+"librmm_cu"+family+"-26.10.0.dist-info/METADATA"), "Name: librmm-cu"+family+"\n")
				hosttest.Write(t, filepath.Join(root, hosttest.Site+"librmm_cu"+family+"-26.10.0.dist-info/RECORD"),
					fmt.Sprintf("librmm/lib64/librmm.so,sha256=x,%d\n", size))
			}
			hosttest.Write(t, filepath.Join(root, hosttest.Site+"rmm_cu12-26.10.0.dist-info/METADATA"), "Name: rmm-cu12\nRequires-Dist: librmm-cu12==26.10.*\n")
			hosttest.Write(t, filepath.Join(root, hosttest.Site+"rmm_cu12-26.10.0.dist-info/RECORD"), "rmm/stream.abi3.so,sha256=x,20000\n")
			hosttest.Write(t, filepath.Join(root, "opt/venv/pyvenv.cfg"), "version = 3.12.3\n")
			found, err := Read(&host.Host{Root: root}, []string{"/opt/venv"})
			hosttest.Must(t, err)
			var got []facts.Hindrance
			for _, b := range found.Environments[0].Builds {
				got = append(got, b.Hindrances...)
			}
			var want []facts.Hindrance
			if c.over {
				want = []facts.Hindrance{{Kind: facts.HindranceRelease, Of: "librmm-cu13 26.10.0", By: "librmm-cu12==26.10.*",
					Path: "/" + hosttest.Site + "rmm_cu12-26.10.0.dist-info/METADATA", Symbol: c.symbol}}
			}
			if c.symbol != "" {
				want[0].Path = "/" + hosttest.Site + "rmm/stream.abi3.so"
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("hindrances (-want +got):\n%s", diff)
			}
		})
	}
}
