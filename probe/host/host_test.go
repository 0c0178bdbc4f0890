package host_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"cudacompat/internal/budget"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"

	"github.com/google/go-cmp/cmp"
)

func TestResolve(t *testing.T) {
	h := hosttest.Tree(t, `
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
		if _, err := h.Resolve(name); !host.Absent(err) {
			t.Errorf("%s: %v counts as there", name, err)
		}
	}
}

// TestLinksThatAreTooMany follows 40 links and no more, as Linux does.
func TestLinksThatAreTooMany(t *testing.T) {
	h := &host.Host{Root: t.TempDir()}
	link := func(i int) string { return "/l" + strings.Repeat("i", i) }
	hosttest.Must(t, os.WriteFile(filepath.Join(h.Root, link(0)), nil, 0o644))
	for i := range 41 {
		hosttest.Must(t, os.Symlink(link(i), filepath.Join(h.Root, link(i+1))))
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
	hosttest.Must(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("PRETTY_NAME=secret\n"), 0o644))
	h := hosttest.Tree(t, "-- etc/hostname --\n")
	relative, err := filepath.Rel(filepath.Join(h.Root, "etc"), outside)
	hosttest.Must(t, err)
	hosttest.Must(t, os.Symlink(filepath.Join(outside, "secret"), filepath.Join(h.Root, "/etc/absolute")))
	hosttest.Must(t, os.Symlink(filepath.Join(relative, "secret"), filepath.Join(h.Root, "/etc/relative")))
	hosttest.Must(t, os.Symlink(outside, filepath.Join(h.Root, "/etc/dir")))
	hosttest.Must(t, os.Symlink("/etc/dir", filepath.Join(h.Root, "/opt")))
	for _, name := range []string{"/etc/absolute", "/etc/relative", "/etc/dir/secret", "/opt/secret",
		"/etc/../../../../../../../../" + outside + "/secret"} {
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
	h := hosttest.Tree(t, "-- pipe = fifo --\n-- dir/ --\n-- link -> pipe --\n")
	for _, name := range []string{"/pipe", "/dir", "/link", "/"} {
		if _, err := h.ReadFile(name); err == nil || !strings.HasSuffix(err.Error(), name+": not a regular file") ||
			strings.Contains(err.Error(), h.Root) {
			t.Errorf("ReadFile(%q): %v", name, err)
		}
	}
	for _, name := range []string{"/dev/null", "/dev/zero"} {
		if _, err := host.This().ReadFile(name); err == nil || !strings.HasSuffix(err.Error(), ": not a regular file") {
			t.Errorf("ReadFile(%q): %v", name, err)
		}
	}
}

func TestReadFileCap(t *testing.T) {
	const wholeCap = 8 << 20
	h := &host.Host{Root: t.TempDir()}
	hosttest.Must(t, os.WriteFile(filepath.Join(h.Root, "/file"), nil, 0o644))
	hosttest.Must(t, os.Truncate(filepath.Join(h.Root, "/file"), wholeCap))
	if data, err := h.ReadFile("/file"); err != nil || len(data) != wholeCap {
		t.Errorf("at the cap: %d bytes, %v", len(data), err)
	}
	hosttest.Must(t, os.Truncate(filepath.Join(h.Root, "/file"), wholeCap+1))
	if data, err := h.ReadFile("/file"); err == nil || err.Error() != "read /file: larger than 8 MiB" {
		t.Errorf("above the cap: %d bytes, %v", len(data), err)
	}
}

// TestReadLineCap reads a first line, however long the file; an attribute of sysfs is never longer than a page.
func TestReadLineCap(t *testing.T) {
	h := &host.Host{Root: t.TempDir()}
	for text, want := range map[string]string{
		"0x10de\n":                            "0x10de",
		"first\n" + strings.Repeat("x", 9000): "first",
		strings.Repeat("x", 4096) + "\n":      strings.Repeat("x", 4096),
		strings.Repeat("x", 4097):             "",
	} {
		hosttest.Must(t, os.WriteFile(filepath.Join(h.Root, "device"), []byte(text), 0o644))
		line, err := h.ReadLine("/device")
		if line != want || (err == nil) != (want != "") ||
			err != nil && err.Error() != "read /device: its first line is longer than 4 KiB" {
			t.Errorf("%d bytes: %d, %v", len(text), len(line), err)
		}
	}
}

// TestBudgetOfADirectory lists as many entries as the budget allows, and reports that there are more.
func TestBudgetOfADirectory(t *testing.T) {
	h := &host.Host{Root: t.TempDir()}
	hosttest.Must(t, os.Mkdir(filepath.Join(h.Root, "many"), 0o755))
	for i := range 2000 {
		hosttest.Must(t, os.WriteFile(filepath.Join(h.Root, "many", strconv.Itoa(i)), nil, 0o644))
	}
	h.Budget = budget.New(t.Context(), 1<<20, 1000)
	entries, err := h.ReadDir("/many")
	left := h.DrainSkipped()
	if err != nil || len(entries) == 0 || len(entries) > 1000 || len(left) != 1 || left[0].Place != "/many" {
		t.Fatalf("%d entries, %v, left out %v", len(entries), err, left)
	}
	if want := fmt.Sprintf("only %d of its entries were read: a run keeps at most 1000",
		len(entries)); left[0].Reason != want {
		t.Errorf("%q, want %q", left[0].Reason, want)
	}
	if left := h.DrainSkipped(); len(left) > 0 {
		t.Errorf("said twice: %v", left)
	}
}

// TestTimeIsUp lists nothing once there is no time.
func TestTimeIsUp(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	h := &host.Host{Root: t.TempDir(), Budget: budget.Usual(ctx)}
	hosttest.Must(t, os.Mkdir(filepath.Join(h.Root, "dir"), 0o755))
	hosttest.Must(t, os.WriteFile(filepath.Join(h.Root, "dir/file"), nil, 0o644))
	cancel(errors.New("the time was up"))
	if entries, err := h.ReadDir("/dir"); err == nil || !strings.HasSuffix(err.Error(), "the time was up") {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestReadFileOfNoSize reads a file of /proc, which says that it has no bytes.
func TestReadFileOfNoSize(t *testing.T) {
	if line, err := host.This().ReadLine("/proc/self/comm"); err != nil || line == "" {
		t.Errorf("%q, %v", line, err)
	}
}

func TestGlob(t *testing.T) {
	h := hosttest.Tree(t, `
-- usr/local/cuda -> /usr/local/cuda-12.4 --
-- usr/local/cuda-12.4/version.json --
-- usr/local/cuda-11.8/version.json --
-- usr/local/.cuda-9/version.json --
-- usr/local/cuda-old --
-- srv/[x]/lib/python3.12/site-packages/torch/version.py --
-- loop -> loop --
`)
	for pattern, want := range map[string][]string{
		"/usr/local/cuda-*": {"/usr/local/cuda-11.8", "/usr/local/cuda-12.4", "/usr/local/cuda-old"},
		"/usr/local/cuda*/version.json": {"/usr/local/cuda-11.8/version.json", "/usr/local/cuda-12.4/version.json",
			"/usr/local/cuda/version.json"},
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
}

func TestTree(t *testing.T) {
	dir := t.TempDir()
	hosttest.Must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o644))
	for _, root := range []string{filepath.Join(dir, "nowhere"), filepath.Join(dir, "file")} {
		if _, err := host.Tree(root); err == nil || !strings.Contains(err.Error(), root) {
			t.Errorf("Tree(%q): %v", root, err)
		}
	}
}
