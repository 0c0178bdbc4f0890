package ldso_test

import (
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cudacompat/internal/ldso"
)

func TestFind(t *testing.T) {
	w := newTree(t, false)
	w.build(library{path: "/a/libqx.so", needs: "libqy.so"})
	w.build(library{path: "/a/libqy.so"})
	w.build(library{path: "/a/libqp.so"})
	w.build(library{path: "/a/libqo.so", flags: runpath + "$T/b"})
	w.build(library{path: "/b/libqz.so"})
	w.probe(library{path: "/bin/probe", needs: "libqx.so", flags: rpath + "$T/a"})
	r := w.resolver()
	r.Preload = []string{w.dir + "/a/libqp.so"}
	p, err := r.Start(w.dir + "/bin/probe")
	if err != nil {
		t.Fatal(err)
	}
	opened, err := p.Open("libqo.so", nil, ldso.Local)
	if err != nil || opened == nil {
		t.Fatal(err, p.Missing)
	}
	objects := len(p.Objects)
	for _, c := range []struct {
		name, soname string
		by           *ldso.Object
		path, reason string
	}{
		{"needed-before", "libqy.so", nil, "/a/libqy.so", "already loaded as dependency of /a/libqx.so"},
		{"preloaded-before", "libqp.so", opened, "/a/libqp.so", "already loaded by preload"},
		{"opened-before", "libqo.so", p.Objects[0], "/a/libqo.so", "already loaded by dlopen"},
		{"the-program-by-its-path", w.dir + "/bin/probe", nil, "/bin/probe", "the program itself"},
		{"for-its-caller", "libqz.so", opened, "/b/libqz.so", "DT_RUNPATH of /a/libqo.so"},
		{"for-another", "libqz.so", p.Objects[0], "", ""},
		{"origin-of-nobody", "$ORIGIN" + w.dir + "/b/libqz.so", nil, "", ""},
		{"by-path", w.dir + "/b/libqz.so", nil, "/b/libqz.so", "its path"},
	} {
		t.Run(c.name, func(t *testing.T) {
			found, err := p.Find(c.soname, c.by)
			if c.path == "" {
				if !errors.Is(err, ldso.ErrNotFound) {
					t.Errorf("found %q, error %v", found.Path, err)
				}
				return
			}
			reason := strings.ReplaceAll(found.Reason.String(), w.dir, "")
			if err != nil || found.Path != w.dir+c.path || reason != c.reason {
				t.Errorf("found %q: %s, error %v", found.Path, reason, err)
			}
		})
	}
	if len(p.Objects) != objects {
		t.Errorf("searches loaded %d objects", len(p.Objects)-objects)
	}
}

func TestOpenKnown(t *testing.T) {
	w := newTree(t, false)
	w.build(library{path: "/a/libcore.so", flags: rpath + "$T/b"})
	w.build(library{path: "/b/libpart.so", needs: "libdep.so", flags: runpath + "$ORIGIN"})
	w.build(library{path: "/b/libdep.so"})
	w.build(library{path: "/b/libplugin.so"})
	known := map[string][]string{
		"libcore.so": {"libpart.so.9", "libpart.so"}, "libpart.so": {"libplugin.so", "libcore.so"},
		"libdep.so": {"libplugin2.so"},
	}
	p, err := w.resolver().Host()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Open(w.dir+"/a/libcore.so", nil, ldso.Local); err != nil {
		t.Fatal(err)
	}
	if err := p.OpenKnown(func(o *ldso.Object) []string { return known[o.ELF.Soname] }); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range p.Objects {
		by := "nobody"
		if o.By != nil {
			by = o.By.ELF.Soname
		}
		got = append(got, o.ELF.Soname+" for "+by)
	}
	for _, m := range p.Missing {
		got = append(got, "no "+m.Name+" for "+m.By.ELF.Soname)
	}
	want := []string{
		"libcore.so for nobody", "libpart.so for libcore.so", "libdep.so for libpart.so", "libplugin.so for libpart.so",
		"no libpart.so.9 for libcore.so", "no libplugin2.so for libdep.so",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestStartRefuses(t *testing.T) {
	w := newTree(t, false)
	w.write("/bin/script", []byte("#!/bin/sh\n"+strings.Repeat("# comment\n", 10)))
	w.write("/bin/musl", compile(t, probeSource, "-ldl", "-Wl,--dynamic-linker,/lib/ld-musl-x86_64.so.1"))
	w.write("/bin/elsewhere", compile(t, probeSource, "-ldl", "-Wl,--dynamic-linker,/none/ld-linux-x86-64.so.2"))
	w.probe(library{path: "/bin/foreign"})
	w.patch("/bin/foreign", 18, 22, 0)
	for name, want := range map[string]string{
		"none": "no such file", "script": "invalid ELF header", "musl": "is not glibc's",
		"elsewhere": "program interpreter", "foreign": "wrong ELF machine",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := w.resolver().Start(w.dir + "/bin/" + name)
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "/") {
				t.Errorf("error %v, want one with a path and %q", err, want)
			}
		})
	}
}

func TestStartStatic(t *testing.T) {
	w := newTree(t, false)
	w.write("/static", compile(t, "void _start(void) { for (;;); }", "-static", "-nostdlib"))
	r := w.resolver()
	r.Preload = []string{"/none.so"} // for which nobody would look
	p, err := r.Start(w.dir + "/static")
	if err != nil || len(p.Objects) != 1 || len(p.Missing) != 0 {
		t.Errorf("%d objects, missing %v, error %v", len(p.Objects), p.Missing, err)
	}
}

// TestStartAlone starts a program that needs nothing but its interpreter, which no library needs either.
func TestStartAlone(t *testing.T) {
	w := newTree(t, false)
	w.write("/alone", compile(t, "void _start(void) { for (;;); }", "-nostdlib", "-pie", "-fPIE",
		"-Wl,--dynamic-linker,"+interpreter(t)))
	p, err := w.resolver().Start(w.dir + "/alone")
	if err != nil || len(p.Objects) != 2 || p.Objects[1].Reason.How != ldso.Interpreter {
		t.Errorf("process %+v, error %v", p, err)
	}
}

var (
	helpDir   = regexp.MustCompile(`(?m)^  (/\S*) \(system search path\)$`)
	helpHwcap = regexp.MustCompile(`(?m)^  (\S+) \(supported, searched\)$`)
)

// loaderHelp returns the help text of the machine's loader, which exists since glibc 2.33.
func loaderHelp(t *testing.T) string {
	newTree(t, false)
	out, err := exec.Command(interpreter(t), "--help").Output()
	if err != nil || !strings.Contains(string(out), "system search path") {
		t.Skip("this loader does not tell its directories")
	}
	return string(out)
}

func all(pattern *regexp.Regexp, text string) (list []string) {
	for _, m := range pattern.FindAllStringSubmatch(text, -1) {
		list = append(list, m[1])
	}
	return list
}

func TestSystemDirsEqualLoader(t *testing.T) {
	want := all(helpDir, loaderHelp(t))
	got, err := ldso.SystemDirs(&rootFS{}, interpreter(t))
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("system directories (-loader +ours), error %v:\n%s", err, diff)
	}
}

func TestHwcapsEqualLoader(t *testing.T) {
	help, _, _ := strings.Cut(loaderHelp(t), "Legacy HWCAP subdirectories") // until glibc 2.36
	want := all(helpHwcap, help)
	if diff := cmp.Diff(want, cpuHwcaps(t)); diff != "" {
		t.Errorf("glibc-hwcaps (-loader +ours):\n%s", diff)
	}
}

func TestSystemDirsOfOtherFiles(t *testing.T) {
	files := map[string][]byte{
		"/redhat": []byte("\x7fELF...\x00/etc/ld.so.cache\x00/lib64/\x00/usr/lib64/\x00\x00/var/lib/\x00"),
		"/nix":    []byte("...\x00/nix/store/0c0-glibc-2.40/lib/\x00lib\x00"),
		"/musl":   []byte("\x7fELF...\x00/lib:/usr/local/lib:/usr/lib\x00/etc/ld-musl\x00"),
		"/cut":    []byte("\x00/lib64/\x00/usr/lib64/"),
		"/large":  make([]byte, 5<<20),
	}
	for name, want := range map[string][]string{
		"/redhat": {"/lib64", "/usr/lib64"}, "/nix": {"/nix/store/0c0-glibc-2.40/lib"}, "/musl": nil, "/cut": {"/lib64"},
	} {
		got, err := ldso.SystemDirs(memFS{files: files}, name)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s (-want +got), error %v:\n%s", name, err, diff)
		}
	}
	if _, err := ldso.SystemDirs(memFS{files: files}, "/large"); err == nil {
		t.Error("a loader of 5 MB was read")
	}
}

func TestDefaultSystemDirs(t *testing.T) {
	w := newTree(t, false)
	fsys := &rootFS{dir: w.dir}
	for _, c := range []struct {
		name, file string
		want       []string
	}{
		{"red-hat", "/lib64/libc.so.6", []string{"/lib64", "/usr/lib64"}},
		{"debian", "/lib/aarch64-linux-gnu/libc.so.6",
			[]string{"/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/lib", "/usr/lib"}},
	} {
		w.write(c.file, nil)
		if diff := cmp.Diff(c.want, ldso.DefaultSystemDirs(fsys, elf.EM_AARCH64)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestX86Hwcaps(t *testing.T) {
	v2 := "cx16 lahf_lm popcnt pni ssse3 sse4_1 sse4_2"
	v3 := v2 + " avx avx2 bmi1 bmi2 f16c fma abm movbe"
	for _, c := range []struct{ name, flags, want string }{
		{"none", "fpu sse2", ""}, {"v2", v2, "x86-64-v2"}, {"v3", "fpu " + v3, "x86-64-v3 x86-64-v2"},
		{"v3-without-v2", strings.TrimPrefix(v3, "cx16 "), ""},
		{"v4", v3 + " avx512f avx512bw avx512cd avx512dq avx512vl", "x86-64-v4 x86-64-v3 x86-64-v2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.Join(ldso.X86Hwcaps(strings.Fields(c.flags)), " "); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestForeignRoot examines a tree by absolute links that mean another machine here.
func TestForeignRoot(t *testing.T) {
	w := newTree(t, true)
	w.probe(library{path: "/opt/bin/probe", needs: "libqx.so"})
	w.build(library{path: "/opt/lib/libqx.so.1", soname: "libqx.so"})
	w.link("/usr/local/lib/libqx.so", "/opt/lib/libqx.so.1")
	w.write("/etc/ld.so.conf", []byte("/usr/local/lib\n"))
	w.ldconfig()
	p, err := w.resolver().Start("/opt/bin/probe")
	if err != nil {
		t.Fatal(err)
	}
	o := p.Loaded("libqx.so")
	if o == nil || o.Path != "/usr/local/lib/libqx.so" || o.Real != "/opt/lib/libqx.so.1" {
		t.Errorf("libqx.so is %+v, missing %v", o, p.Missing)
	}
	if _, err := os.Stat(filepath.Join("/", "opt/lib/libqx.so.1")); err == nil {
		t.Error("the machine has that file too: nothing is shown")
	}
}
