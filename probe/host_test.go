package probe

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestResolve(t *testing.T) {
	h := plantTree(t, `
-- usr/lib/x86_64-linux-gnu/libcuda.so.1 -> libcuda.so.550.90.07 --
-- usr/lib/x86_64-linux-gnu/libcuda.so.550.90.07 --
-- lib -> usr/lib --
-- etc/alternatives/cuda -> /usr/local/cuda-12.4 --
-- usr/local/cuda -> /etc/alternatives/cuda --
-- usr/local/cuda-12.4/version.json --
-- opt/up -> ../../../../usr/local/cuda-12.4/version.json --
-- opt/deep/er/here --
-- opt/short -> deep/er --
-- opt/parent -> short/../er/here --
-- opt/lexical -> short/../here --
-- opt/dot -> ./deep/./er//here --
-- opt/root -> / --
-- opt/self -> self --
-- opt/a -> /opt/b/x --
-- opt/b -> /opt/a/y --
-- opt/gone -> /nowhere/at/all --
-- opt/through -> /etc/alternatives/cuda/version.json/more --
`)
	for _, tt := range []struct{ name, want, err string }{
		{"/", "/", ""},
		{"", "/", ""},
		{"/usr/lib/x86_64-linux-gnu/libcuda.so.1", "/usr/lib/x86_64-linux-gnu/libcuda.so.550.90.07", ""},
		{"/lib/x86_64-linux-gnu/libcuda.so.1", "/usr/lib/x86_64-linux-gnu/libcuda.so.550.90.07", ""},
		{"/usr/local/cuda/version.json", "/usr/local/cuda-12.4/version.json", ""},
		{"/opt/up", "/usr/local/cuda-12.4/version.json", ""},
		{"/../../../opt/up", "/usr/local/cuda-12.4/version.json", ""},
		{"/opt/parent", "/opt/deep/er/here", ""},
		{"/opt/lexical", "", "resolve /opt/lexical: no such file or directory"},
		{"/opt/short/../er/here", "/opt/deep/er/here", ""},
		{"/opt/dot", "/opt/deep/er/here", ""},
		{"/opt/root/opt/root/opt/short", "/opt/deep/er", ""},
		{"/opt/self", "", "resolve /opt/self: too many levels of symbolic links"},
		{"/opt/a/z", "", "resolve /opt/a/z: too many levels of symbolic links"},
		{"/opt/gone", "", "resolve /opt/gone: no such file or directory"},
		{"/opt/through", "", "resolve /opt/through: not a directory"},
	} {
		for range 2 { // the second time from memory
			got, err := h.Resolve(tt.name)
			if got != tt.want || (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
				t.Errorf("Resolve(%q) = %q, %v; want %q, %q", tt.name, got, err, tt.want, tt.err)
			}
		}
	}
	for _, name := range []string{"/opt/gone", "/opt/through", "/opt/lexical"} {
		if _, err := h.Resolve(name); !absent(err) {
			t.Errorf("%s: %v counts as there", name, err)
		}
	}
}

// TestLinksThatAreTooMany follows 40 links and no more, as Linux does.
func TestLinksThatAreTooMany(t *testing.T) {
	h := &Host{Root: t.TempDir()}
	link := func(i int) string { return "/l" + strings.Repeat("i", i) }
	must(t, os.WriteFile(h.real(link(0)), nil, 0o644))
	for i := range 41 {
		must(t, os.Symlink(link(i), h.real(link(i+1))))
	}
	if got, err := h.Resolve(link(40)); got != link(0) {
		t.Errorf("40 links: %q, %v", got, err)
	}
	if got, err := h.Resolve(link(41)); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("41 links: %q, %v", got, err)
	}
}

// TestNothingOutside plants links that would lead out of the root, were they followed as the kernel follows them.
func TestNothingOutside(t *testing.T) {
	outside := t.TempDir()
	must(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("PRETTY_NAME=secret\n"), 0o644))
	h := plantTree(t, "-- etc/hostname --\n")
	relative, err := filepath.Rel(filepath.Join(h.Root, "etc"), outside)
	must(t, err)
	must(t, os.Symlink(filepath.Join(outside, "secret"), h.real("/etc/absolute")))
	must(t, os.Symlink(filepath.Join(relative, "secret"), h.real("/etc/relative")))
	must(t, os.Symlink(outside, h.real("/etc/dir")))
	must(t, os.Symlink("/etc/dir", h.real("/opt")))
	for _, name := range []string{"/etc/absolute", "/etc/relative", "/etc/dir/secret", "/opt/secret", "/etc/../../../../../../../../" + outside + "/secret"} {
		if data, err := h.ReadFile(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("ReadFile(%q) = %q, %v", name, data, err)
		}
		if h.Exists(name) {
			t.Errorf("Exists(%q)", name)
		}
	}
	if entries, err := h.ReadDir("/etc/dir"); err == nil {
		t.Errorf("ReadDir of a directory outside: %v", entries)
	}
	if found := h.Glob("/etc/dir/*"); len(found) > 0 {
		t.Errorf("Glob outside: %v", found)
	}
}

// TestOnlyRegularFiles opens nothing that could block or act: a pipe, a directory, a device, a socket's file.
func TestOnlyRegularFiles(t *testing.T) {
	h := plantTree(t, "-- pipe = fifo --\n-- dir/ --\n-- link -> pipe --\n")
	for _, name := range []string{"/pipe", "/dir", "/link", "/"} {
		if _, err := h.ReadFile(name); !errors.Is(err, errNotRegular) || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), h.Root) {
			t.Errorf("ReadFile(%q): %v", name, err)
		}
	}
	for _, name := range []string{"/dev/null", "/dev/zero"} {
		if _, err := This().ReadFile(name); !errors.Is(err, errNotRegular) {
			t.Errorf("ReadFile(%q): %v", name, err)
		}
	}
}

func TestReadFileCap(t *testing.T) {
	h := &Host{Root: t.TempDir()}
	must(t, os.WriteFile(h.real("/file"), nil, 0o644))
	must(t, os.Truncate(h.real("/file"), textCap))
	if data, err := h.ReadFile("/file"); err != nil || len(data) != textCap {
		t.Errorf("at the cap: %d bytes, %v", len(data), err)
	}
	must(t, os.Truncate(h.real("/file"), textCap+1))
	if data, err := h.ReadFile("/file"); err == nil || err.Error() != "read /file: larger than 32 MiB" {
		t.Errorf("above the cap: %d bytes, %v", len(data), err)
	}
}

// TestReadFileOfNoSize reads a file of /proc, which says that it has no bytes.
func TestReadFileOfNoSize(t *testing.T) {
	if line, err := This().ReadLine("/proc/self/comm"); err != nil || line == "" {
		t.Errorf("%q, %v", line, err)
	}
}

func TestGlob(t *testing.T) {
	h := plantTree(t, `
-- usr/local/cuda -> /usr/local/cuda-12.4 --
-- usr/local/cuda-12.4/version.json --
-- usr/local/cuda-11.8/version.json --
-- usr/local/.cuda-9/version.json --
-- usr/local/cuda-old --
-- srv/[x]/lib/python3.12/site-packages/torch/version.py --
-- loop -> loop --
`)
	for pattern, want := range map[string][]string{
		"/usr/local/cuda-*":              {"/usr/local/cuda-11.8", "/usr/local/cuda-12.4", "/usr/local/cuda-old"},
		"/usr/local/cuda*/version.json":  {"/usr/local/cuda-11.8/version.json", "/usr/local/cuda-12.4/version.json", "/usr/local/cuda/version.json"},
		"/usr/local/.cuda*/version.json": {"/usr/local/.cuda-9/version.json"},
		"/usr/local/[":                   nil,
		"/nowhere/*":                     nil,
		"/nowhere":                       nil,
		"/loop":                          {"/loop"},
		"/loop/*":                        nil,
	} {
		if diff := cmp.Diff(want, h.Glob(pattern)); diff != "" {
			t.Errorf("Glob(%q) (-want +got):\n%s", pattern, diff)
		}
	}
	if !isPrefix(h, "/srv/[x]") || len(prefixesAt(h, "/srv/[x]", &errorList{})) != 1 {
		t.Error("brackets in a directory's name hide an environment")
	}
}

func TestTree(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o644))
	for _, root := range []string{filepath.Join(dir, "nowhere"), filepath.Join(dir, "file")} {
		if _, err := Tree(root); err == nil || !strings.Contains(err.Error(), root) {
			t.Errorf("Tree(%q): %v", root, err)
		}
	}
}

// TestNamedPython reads what people write after --env.
func TestNamedPython(t *testing.T) {
	h := plantTree(t, `
-- opt/venv/pyvenv.cfg --
-- opt/venv/bin/python -> python3 --
-- opt/venv/bin/python3 -> /outside/python3.12 --
-- usr/bin/python3 -> python3.12 --
-- usr/bin/python3.12 --
-- opt/link -> venv --
`)
	for name, want := range map[string]candidate{
		"/opt/venv":               {root: "/opt/venv"},
		"/opt/venv/":              {root: "/opt/venv"},
		"opt/venv":                {root: "/opt/venv"},
		"/opt/venv/bin/python":    {root: "/opt/venv"},
		"/opt/venv/bin/python3":   {root: "/opt/venv"},
		"/opt/link/bin/python3":   {root: "/opt/link"},
		"/usr/bin/python3":        {root: "/usr", python: "3.12"},
		"/usr/bin/python3.12":     {root: "/usr", python: "3.12"},
		"/usr/bin/../../opt/venv": {root: "/opt/venv"},
	} {
		if got := namedPython(h, name); got != want {
			t.Errorf("namedPython(%q) = %+v, want %+v", name, got, want)
		}
	}
	dir := t.TempDir()
	t.Chdir(dir)
	if got := namedPython(This(), ".venv"); got.root != filepath.Join(dir, ".venv") {
		t.Errorf("a relative path on this machine is %+v", got)
	}
}
