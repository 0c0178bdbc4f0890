package toolkit

import (
	"path/filepath"
	"strings"
	"testing"

	"cudacompat/internal/ldso"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"

	"github.com/google/go-cmp/cmp"
)

func TestCompiler(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"usr/bin/gcc", "usr/lib/gcc/x86_64-redhat-linux/11/libgcc.a",
		"usr/libexec/gcc/x86_64-redhat-linux/11/cc1", "usr/lib64/gcc/x86_64-suse-linux/notes",
		"opt/gnu/bin/x86_64-linux-gnu-g++-9", "opt/two/bin/gcc",
		"opt/two/lib/gcc/a/12/cc1", "opt/two/lib/gcc/a/13/cc1", "opt/llvm/bin/clang-18", "opt/odd/cc"} {
		hosttest.Write(t, filepath.Join(root, name), "")
	}
	for _, tt := range []struct {
		name string
		env  map[string]string
		rest bool
		want facts.Compiler
	}{
		{"red-hat", map[string]string{"PATH": "/bin:/usr/bin"}, false,
			facts.Compiler{Name: "gcc", Version: "11", Path: "/usr/bin/gcc", From: "PATH"}},
		{"at-rest", nil, true, facts.Compiler{Name: "gcc", Version: "11", Path: "/usr/bin/gcc", From: "PATH"}},
		{"cc", map[string]string{"PATH": "/opt/gnu/bin", "CC": "x86_64-linux-gnu-g++-9 -pipe"}, false,
			facts.Compiler{Name: "gcc", Version: "9", Path: "/opt/gnu/bin/x86_64-linux-gnu-g++-9", From: "CC"}},
		{"cc-gone", map[string]string{"PATH": "/usr/bin", "CC": "/opt/none"}, false, facts.Compiler{}},
		{"two-versions", map[string]string{"PATH": "/opt/two/bin"}, false,
			facts.Compiler{Name: "gcc", Version: "", Path: "/opt/two/bin/gcc", From: "PATH"}},
		{"clang", map[string]string{"CC": "/opt/llvm/bin/clang-18"}, false,
			facts.Compiler{Name: "clang", Version: "18", Path: "/opt/llvm/bin/clang-18", From: "CC"}},
		{"odd", map[string]string{"CC": "/opt/odd/cc"}, false,
			facts.Compiler{Name: "", Version: "", Path: "/opt/odd/cc", From: "CC"}},
		{"none", map[string]string{"PATH": "/opt/none"}, false, facts.Compiler{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, findCompiler(&host.Host{Root: root, Rest: tt.rest, Env: tt.env})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzParseHostConfig(f *testing.F) {
	f.Add([]byte("#error -- unsupported GNU version! gcc versions later than 13 are not supported! The nvcc flag"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if got := parseHostConfig(data); strings.Trim(got, "0123456789") != "" {
			t.Errorf("%q is no number", got)
		}
	})
}

// TestTritonCUDA checks that ldconfig's list precedes LD_LIBRARY_PATH even if the listed file is gone.
func TestTritonCUDA(t *testing.T) {
	root := t.TempDir()
	hosttest.Write(t, filepath.Join(root, "opt/driver/libcuda.so.1"), "")
	for _, tt := range []struct {
		name    string
		entries []ldso.CacheEntry
		want    string
	}{
		{"not-listed", nil, "/opt/driver/libcuda.so.1"},
		{"listed-and-gone", []ldso.CacheEntry{{Name: "libcuda.so.1", Path: "/usr/lib64/libcuda.so.1"}}, ""},
		{"listed", []ldso.CacheEntry{{Name: "libcuda.so.1", Path: "/usr/lib64/libcuda.so.1"},
			{Name: "libcuda.so.1", Path: "/opt/driver/libcuda.so.1"}}, "/opt/driver/libcuda.so.1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := &host.Host{Root: root, Env: map[string]string{"LD_LIBRARY_PATH": "/opt/none:/opt/driver"}}
			h.Loader().Cache = &ldso.Cache{Entries: tt.entries}
			if got := tritonCUDA(h); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
