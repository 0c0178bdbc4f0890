package loader

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"cudacompat/internal/ldso"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"
	"cudacompat/probe/internal/pyenv"
)

// TestOpenedByPath checks that a truncated library that is opened by path ends the import, even if the loader would
// later find another one of its name.
func TestOpenedByPath(t *testing.T) {
	root := t.TempDir()
	hosttest.Compile(t, root, hosttest.Library{Name: "a/libx.so.1", Source: "int x(void) { return 0; }\n"},
		hosttest.Library{Name: "b/libx.so.1", Source: "int x(void) { return 0; }\n"})
	h := &host.Host{Root: root, Rest: true}
	for _, cut := range []bool{false, true} {
		if cut {
			hosttest.Must(t, os.Truncate(filepath.Join(root, "a/libx.so.1"), 4096))
		}
		p, err := PythonProcess(h, &pyenv.Site{})
		hosttest.Must(t, err)
		for _, file := range []string{"/a/libx.so.1", "/b/libx.so.1"} {
			_, err := p.Open(file, nil, ldso.Local)
			hosttest.Must(t, err)
		}
		var want []string
		if cut {
			want = []string{"libx.so.1"}
		}
		if got := NotLoaded(p, func(string) bool { return true }); !slices.Equal(got, want) {
			t.Errorf("cut %v: not loaded are %q, want %q", cut, got, want)
		}
		if p.Loaded("libx.so.1") == nil {
			t.Error("the whole one is not loaded")
		}
	}
}
