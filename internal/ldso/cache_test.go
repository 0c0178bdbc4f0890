package ldso_test

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cudacompat/internal/ldso"
)

// cacheTree returns a tree whose libraries have versions that sort by number, and glibc-hwcaps.
func cacheTree(t testing.TB) *tree {
	w := newTree(t, false)
	for _, path := range []string{
		"/a/libx.so.9", "/a/libx.so.10", "/b/libx.so.10", "/b/liby-2.so", "/a/libc10.so",
		"/a/glibc-hwcaps/x86-64-v2/libx.so.10",
		"/b/glibc-hwcaps/x86-64-v3/libx.so.10", "/a/glibc-hwcaps/x86-64-v9/libx.so.9",
	} {
		w.build(library{path: path})
	}
	w.write("/ld.so.conf", []byte(w.expand("$T/a\n$T/b\n")))
	return w
}

func (w *tree) makeCache(format string) []byte {
	w.Helper()
	cmd := exec.Command(ldconfig(w), "-X", "-f", w.dir+"/ld.so.conf", "-C", w.dir+"/cache", "-c", format)
	if out, err := cmd.CombinedOutput(); err != nil {
		w.Fatalf("ldconfig: %v\n%s", err, out)
	}
	b, err := os.ReadFile(w.dir + "/cache")
	if err != nil {
		w.Fatal(err)
	}
	return b
}

var cacheLine = regexp.MustCompile(`(?m)^\t(\S+) \((.*)\) => (.*)$`)

func TestCacheEqualsLdconfig(t *testing.T) {
	for _, format := range []string{"new", "compat", "old"} {
		t.Run(format, func(t *testing.T) {
			w := cacheTree(t)
			cache, err := ldso.ParseCache(w.makeCache(format))
			if err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command(ldconfig(t), "-p", "-C", w.dir+"/cache").Output()
			if err != nil {
				t.Fatal(err)
			}
			var want, got []string
			for _, m := range cacheLine.FindAllStringSubmatch(string(out), -1) {
				kind := strings.TrimSuffix(m[2], `, hwcap: ""`) // which ldconfig writes in the joint format
				want = append(want, fmt.Sprintf("%s (%s) %s", m[1], kind, m[3]))
			}
			for _, e := range cache.Entries {
				got = append(got, fmt.Sprintf("%s (%s) %s", e.Name, describe(t, e), e.Path))
			}
			if len(want) == 0 {
				t.Fatalf("ldconfig printed nothing:\n%s", out)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("entries (-ldconfig +ours):\n%s", diff)
			}
		})
	}
}

// describe writes flags as "ldconfig -p" does.
func describe(t testing.TB, e ldso.CacheEntry) string {
	kinds := map[uint32]string{
		0x0303: "libc6,x86-64", 0x0a03: "libc6,AArch64", 0x0003: "libc6", 0x0803: "libc6,x32",
	}
	kind, ok := kinds[e.Flags]
	if !ok {
		t.Errorf("%s: flags %#x", e.Path, e.Flags)
	}
	if e.Hwcap != "" {
		kind += fmt.Sprintf(", hwcap: %q", e.Hwcap)
	}
	return kind
}

func TestCacheLookup(t *testing.T) {
	cache := &ldso.Cache{Entries: []ldso.CacheEntry{
		{Name: "libz.so.1", Path: "/lib/libz.so.1", Flags: 0x0303},
		{Name: "libx.so.10", Path: "/v3/libx.so.10", Flags: 0x0303, Hwcap: "x86-64-v3"},
		{Name: "libx.so.10", Path: "/v2/libx.so.10", Flags: 0x0303, Hwcap: "x86-64-v2"},
		{Name: "libx.so.10", Path: "/a/libx.so.10", Flags: 0x0303},
		{Name: "libx.so.10", Path: "/b/libx.so.10", Flags: 0x0303},
		{Name: "libx.so.10", Path: "/arm/libx.so.10", Flags: 0x0a03},
		{Name: "libx.so.10", Path: "/32/libx.so.10", Flags: 0x0003},
		{Name: "libx.so.9", Path: "/a/libx.so.9", Flags: 0x0303},
		{Name: "libx.so", Path: "/a/libx.so", Flags: 0x0303},
	}}
	v3 := []string{"x86-64-v3", "x86-64-v2"}
	for _, c := range []struct {
		name, soname string
		machine      elf.Machine
		hwcaps       []string
		want         string
	}{
		{"first", "libz.so.1", elf.EM_X86_64, nil, "/lib/libz.so.1"},
		{"last", "libx.so", elf.EM_X86_64, v3, "/a/libx.so"},
		{"plain", "libx.so.10", elf.EM_X86_64, nil, "/a/libx.so.10"},
		{"best-hwcap", "libx.so.10", elf.EM_X86_64, v3, "/v3/libx.so.10"},
		{"lesser-cpu", "libx.so.10", elf.EM_X86_64, v3[1:], "/v2/libx.so.10"},
		{"other-machine", "libx.so.10", elf.EM_AARCH64, nil, "/arm/libx.so.10"},
		{"not-for-machine", "libx.so.9", elf.EM_AARCH64, nil, ""},
		{"unknown-machine", "libx.so.9", elf.EM_PPC64, nil, ""},
		{"absent-before-all", "libzz.so", elf.EM_X86_64, nil, ""},
		{"absent-after-all", "a", elf.EM_X86_64, nil, ""},
		{"absent-between", "libx.so.8", elf.EM_X86_64, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := cache.Lookup(c.soname, c.machine, c.hwcaps); got != c.want {
				t.Errorf("Lookup(%q) = %q, want %q", c.soname, got, c.want)
			}
		})
	}
}

// TestCacheLookupFindsAll asks for every name of a cache that ldconfig sorted.
func TestCacheLookupFindsAll(t *testing.T) {
	w := cacheTree(t)
	cache, err := ldso.ParseCache(w.makeCache("new"))
	if err != nil {
		t.Fatal(err)
	}
	machine := w.resolver().Machine
	for _, e := range cache.Entries {
		if got := cache.Lookup(e.Name, machine, nil); filepath.Base(got) != e.Name && e.Flags&0xff00 == flagsOf(machine) {
			t.Errorf("Lookup(%q) = %q", e.Name, got)
		}
	}
}

func flagsOf(m elf.Machine) uint32 {
	return map[elf.Machine]uint32{elf.EM_X86_64: 0x0300, elf.EM_AARCH64: 0x0a00}[m]
}

func TestParseCacheRefuses(t *testing.T) {
	good := string(cacheTree(t).makeCache("new"))
	old := string(cacheTree(t).makeCache("old"))
	patch := func(s string, at int, b string) string { return s[:at] + b + s[at+len(b):] }
	for _, c := range []struct{ name, content, want string }{
		{"nothing", "", "not an ld.so.cache"},
		{"other-file", strings.Repeat("x", 100), "not an ld.so.cache"},
		{"header-cut", good[:40], "no room for the header"},
		{"more-entries-than-bytes", patch(good, 20, "\xff\xff\xff\xff"), "4294967295 entries"},
		{"entries-cut", good[:60], "entries in 60 bytes"},
		{"big-endian", patch(good, 28, "\x03"), "little-endian"},
		{"name-outside", patch(good, 52, "\xff\xff\xff\x7f"), "entry 0 points outside the file"},
		{"path-outside", patch(good, 56, "\xff\xff\xff\xff"), "entry 0 points outside the file"},
		{"extension-outside", patch(good, 32, "\xf0\xff\xff\xff"), "no extension directory"},
		{"extension-elsewhere", patch(good, 32, "\x04\x00\x00\x00"), "no extension directory"},
		{"old-header-cut", old[:14], "not an ld.so.cache"},
		{"old-entries", patch(old, 12, "\xff\xff\xff\xff"), "4294967295 entries"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ldso.ParseCache([]byte(c.content))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func FuzzParseCache(f *testing.F) {
	for _, format := range []string{"new", "compat", "old"} {
		f.Add(smallCache(f, format))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		cache, err := ldso.ParseCache(b)
		if err != nil {
			return
		}
		for _, e := range cache.Entries[:min(len(cache.Entries), 8)] {
			cache.Lookup(e.Name, elf.EM_X86_64, []string{"x86-64-v2"})
		}
	})
}

// smallCache returns a cache of a root with few libraries.
func smallCache(t testing.TB, format string) []byte {
	w := newTree(t, false)
	w.build(library{path: "/lib/libx.so.1"})
	w.build(library{path: "/lib/glibc-hwcaps/x86-64-v2/libx.so.1"})
	w.write("/etc/ld.so.conf", []byte("/lib\n"))
	out, err := exec.Command(ldconfig(w), "-X", "-r", w.dir, "-c", format).CombinedOutput()
	if err != nil {
		t.Fatalf("ldconfig: %v\n%s", err, out)
	}
	b, err := os.ReadFile(w.dir + "/etc/ld.so.cache")
	if err != nil {
		t.Fatal(err)
	}
	return b
}
