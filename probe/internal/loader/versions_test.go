package loader

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

// TestCheckVersions checks libraries that need a version of which only an older release is installed.
func TestCheckVersions(t *testing.T) {
	const one, two, base = "pkg/one.so", "pkg/two.so", "pkg/libbase.so"
	for _, c := range []struct {
		name, version string // of what is there
		names         []string
		want          string
	}{
		{"there", "BASE_2", []string{one}, ""},
		{"older", "BASE_1", []string{one}, "version BASE_2 not found in libbase.so"},
		{"older and one that wants none", "BASE_1", []string{one, two}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			script := func(version string) string {
				file := filepath.Join(t.TempDir(), "map")
				hosttest.Write(t, file, version+" { global: base; };\n")
				return "-Wl,--version-script," + file
			}
			library := func(version string) hosttest.Library {
				return hosttest.Library{Name: hosttest.Site + base, Source: "int base(void) { return 1; }\n", Flags: []string{script(version)}}
			}
			hosttest.Compile(t, root, library("BASE_2"), hosttest.Library{Name: hosttest.Site + one, Source: "int base(void);\nint f(void) { return base(); }\n",
				Needs: []string{hosttest.Site + base}, Flags: []string{"-Wl,--no-as-needed,-rpath,$ORIGIN"}},
				hosttest.Library{Name: hosttest.Site + two, Source: "int g(void) { return 1; }\n"})
			hosttest.Must(t, os.Remove(filepath.Join(root, hosttest.Site+base)))
			hosttest.Compile(t, root, library(c.version))
			s := &pyenv.Site{Dir: "/" + strings.TrimSuffix(hosttest.Site, "/"), Python: "3.12.3"}
			b := facts.Build{Name: "pkg", Version: "1.0"}
			if err := CheckVersions(s, &host.Host{Root: root}, &b, c.names); err != nil {
				t.Fatal(err)
			}
			got := ""
			if len(b.Hindrances) > 0 {
				got = b.Hindrances[0].By
			}
			if got != c.want {
				t.Errorf("%+v, want %q", b.Hindrances, c.want)
			}
		})
	}
}
