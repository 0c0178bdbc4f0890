package ldso_test

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"cudacompat/internal/ldso"
)

// symbolCase is a library libuser.so that was linked with one libqv.so and runs with another.
type symbolCase struct {
	name     string
	user     string // source
	flags    string // of libuser.so
	linked   string // source of the libqv.so it was linked with; empty: it was linked with none
	versions string // of that one, as a linker's version script
	taken    string // source of the libqv.so that is there
	takenAs  string // its version script
	takenBy  string // its flags
	want     []string
}

func TestMissingSymbolsEqualLoader(t *testing.T) {
	const both = "int f(void) { return 1; } int g = 2;"
	const uses = "extern int f(void), g; int user(void) { return f() + g; }"
	for _, c := range []symbolCase{
		{name: "all-there", user: uses, linked: both, taken: both},
		{name: "one-missing", user: uses, linked: both, taken: "int g = 2;", want: []string{"f"}},
		{name: "all-missing", user: uses, linked: both, taken: "int h;", want: []string{"f", "g"}},
		{name: "weak-is-not-missed", user: "extern int f(void) __attribute__((weak)); int user(void) { return f " +
			"? f() : 0; }", taken: "int h;"},
		{
			name: "named-by-no-relocation", taken: "int h;",
			user: `int user(void) { return 1; } __asm__(".section .debug_user,\"\",@progbits\n.quad f\n.text");`,
		},
		{name: "weak-definition-serves", user: uses, taken: "__attribute__((weak)) int f(void) { return 1; } int g;"},
		{name: "hidden-does-not-serve", user: uses, taken: "__attribute__((visibility(\"hidden\"))) int f(void) { return " +
			"1; } int g;", want: []string{"f"}},
		{name: "user-exports-nothing", user: "static int user(void);" + uses + "static int user(void);",
			flags: "-Wl,--exclude-libs,ALL -fvisibility=hidden", taken: "int g;", want: []string{"f"}},
		{name: "sysv-hash", user: uses, flags: "-Wl,--hash-style=sysv", taken: "int g;", takenBy: "-Wl,--hash-style=sysv",
			want: []string{"f"}},
		{name: "gnu-hash", user: uses, flags: "-Wl,--hash-style=gnu", taken: "int g;", takenBy: "-Wl,--hash-style=gnu",
			want: []string{"f"}},
		{name: "many-symbols", user: uses, taken: many(3000) + "int g;", want: []string{"f"}},
		{name: "many-symbols-sysv-hash", user: uses, taken: many(3000) + both, takenBy: "-Wl,--hash-style=sysv"},
		{name: "same-version", user: uses, linked: both, versions: "V1 { f; g; };", taken: both, takenAs: "V1 { f; g; };"},
		{name: "newer-version-added", user: uses, linked: both, versions: "V1 { f; g; };", taken: both + "int h;",
			takenAs: "V1 { f; g; }; V2 { h; } V1;"},
		{
			name: "other-version", user: uses, linked: both, versions: "V1 { f; g; };", taken: both, takenAs: "V2 { f; g; };",
			want: []string{"V1 of libqv.so", "f@V1", "g@V1"},
		},
		{
			name: "symbol-moved-to-another-version", user: uses, linked: both, versions: "V1 { f; g; };",
			taken: both, takenAs: "V1 { g; }; V2 { f; } V1;", want: []string{"f@V1"},
		},
		{name: "versions-wanted-of-a-library-without", user: uses, linked: both, versions: "V1 { f; g; };", taken: both},
		{name: "versions-of-a-library-linked-without", user: uses, linked: both, taken: both, takenAs: "V1 { f; g; };"},
		{name: "symbol-outside-the-versions", user: uses, linked: both, versions: "V1 { f; g; };", taken: both,
			takenAs: "V1 { f; };"},
		{
			name: "superseded-definition-serves-its-version", user: uses, linked: both, versions: "V1 { f; g; };",
			taken: "int g; int f1(void) { return 1; } int f2(void) { return 2; } __asm__(\".symver f1,f@V1\\n.symver " +
				"f2,f@@V2\");",
			takenAs: "V1 { g; }; V2 { f2; } V1;",
		},
		{
			name: "superseded-definition-of-the-first-version", user: uses,
			taken:   "int g; int f1(void) { return 1; } __asm__(\".symver f1,f@V1\");",
			takenAs: "V1 { f1; };",
		},
		{
			name: "only-superseded-definition-without-version", user: uses,
			taken:   "int g; int f1(void) { return 1; } __asm__(\".symver f1,f@V3\");",
			takenAs: "V1 { g; }; V2 { none; }; V3 { f1; };", want: []string{"f"},
		},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t) })
	}
}

func many(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "int symbol%d;\n", i)
	}
	return b.String()
}

func (c *symbolCase) test(t *testing.T) {
	w := newTree(t, false)
	user := library{path: "/a/libuser.so", source: c.user, flags: c.flags, needs: "libqv.so"}
	if c.linked != "" {
		w.build(c.versioned(w, library{path: "/linked/libqv.so", source: c.linked}, c.versions))
		user.flags, user.needs = user.flags+" -Wl,--no-as-needed $T/linked/libqv.so", ""
	}
	w.build(user)
	w.build(c.versioned(w, library{path: "/a/libqv.so", source: c.taken, flags: c.takenBy}, c.takenAs))
	w.probe(library{path: "/bin/probe", needs: "libuser.so", flags: runpath + "$T/a"})

	r := w.resolver()
	r.LibraryPath = []string{w.dir + "/a"}
	p, err := r.Start(w.dir + "/bin/probe")
	if err != nil {
		t.Fatal(err)
	}
	got := missing(t, p, p.Loaded("libuser.so"))
	if diff := gocmp.Diff(c.want, got); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
	if diff := gocmp.Diff(w.undefined(), got); diff != "" {
		t.Errorf("missing (-loader +ours):\n%s", diff)
	}
}

func (c *symbolCase) versioned(w *tree, l library, script string) library {
	if script != "" {
		w.write(l.path+".map", []byte(script))
		l.flags += " -Wl,--version-script=$T" + l.path + ".map"
	}
	return l
}

// missing lists the missing versions and symbols of an object.
func missing(t testing.TB, p *ldso.Process, o *ldso.Object) []string {
	t.Helper()
	versions, err := p.MissingVersions(o)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, v := range versions {
		list = append(list, v.Version+" of "+v.Library.ELF.Soname)
	}
	symbols, err := p.MissingSymbols(o, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		list = append(list, strings.TrimSuffix(s.Name+"@"+s.Version, "@"))
	}
	return list
}

var (
	noVersion = regexp.MustCompile("/([^/ ]+): version `(.*)' not found \\(required by ")
	noSymbol  = regexp.MustCompile(`(?:undefined symbol: (\w+)(?:, version (\w+))?|symbol (\w+), version (\w+) not defined in file)`)
)

// undefined asks the loader what is missing, as "ldd -r" does.
func (w *tree) undefined() []string {
	w.Helper()
	env := []string{"LD_TRACE_LOADED_OBJECTS=1", "LD_WARN=yes", "LD_BIND_NOW=yes", "LD_LIBRARY_PATH=" + w.dir + "/a"}
	stdout, stderr, _ := w.run(env, "", w.dir+"/bin/probe")
	text := stdout + stderr
	if !strings.Contains(text, "libuser.so") {
		w.Fatalf("the loader did not show the program: %s", text)
	}
	var list []string
	for _, m := range noVersion.FindAllStringSubmatch(text, -1) {
		list = append(list, m[2]+" of "+m[1])
	}
	for _, m := range noSymbol.FindAllStringSubmatch(text, -1) {
		list = append(list, strings.TrimSuffix(m[1]+m[3]+"@"+m[2]+m[4], "@"))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// TestUndefinedEqualsDebugELF compares the symbols that we look up with those that the standard library
// reads by section headers.
func TestUndefinedEqualsDebugELF(t *testing.T) {
	w := newTree(t, false)
	w.probe(library{path: "/bin/probe"})
	// The hash table of a program that takes a function's address holds that undefined function.
	source := "#include <stdio.h>\nint (*volatile print)(const char *) = puts; int main(void) { return print == puts; }"
	w.write("/bin/address", compile(t, source, "-fno-pie", "-no-pie"))
	for _, program := range []string{"/bin/probe", "/bin/address"} {
		p, err := w.resolver().Start(w.dir + program)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range p.Objects {
			checkUndefined(t, p, o)
		}
	}
}

func checkUndefined(t testing.TB, p *ldso.Process, o *ldso.Object) {
	t.Helper()
	var got []ldso.Symbol
	_, err := p.MissingSymbols(o, func(s ldso.Symbol) bool {
		got = append(got, s)
		return false
	})
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(o.Real)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	e, err := elf.NewFile(f)
	if err != nil {
		t.Fatal(err)
	}
	symbols, err := e.ImportedSymbols()
	if err != nil {
		t.Fatal(err)
	}
	var want []ldso.Symbol
	for _, s := range symbols {
		want = append(want, ldso.Symbol{Name: s.Name, Version: s.Version, Library: s.Library})
	}
	order := func(a, b ldso.Symbol) int { return cmp.Compare(a.Name+"@"+a.Version, b.Name+"@"+b.Version) }
	slices.SortFunc(got, order)
	slices.SortFunc(want, order)
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("undefined symbols of %s (-debug/elf +ours):\n%s", o.Path, diff)
	}
}

func TestMissingSymbolsScope(t *testing.T) {
	w := newTree(t, false)
	w.build(library{path: "/a/libuser.so", source: "extern int f(void); int user(void) { return f(); }"})
	w.build(library{path: "/a/libqf.so", source: "int f(void) { return 1; }"})
	w.probe(library{path: "/bin/probe"})
	for _, c := range []struct {
		name  string
		scope ldso.Scope
		want  []string
	}{{"local", ldso.Local, []string{"f"}}, {"global", ldso.Global, nil}} {
		t.Run(c.name, func(t *testing.T) {
			p, err := w.resolver().Start(w.dir + "/bin/probe")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.Open(w.dir+"/a/libqf.so", nil, c.scope); err != nil {
				t.Fatal(err)
			}
			user, err := p.Open(w.dir+"/a/libuser.so", nil, ldso.Local)
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(c.want, missing(t, p, user)); diff != "" {
				t.Errorf("missing (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRelocationBehindTheTable: what lies behind a table's end is no relocation, whatever it looks like.
func TestRelocationBehindTheTable(t *testing.T) {
	w := newTree(t, false)
	w.build(library{path: "/a/libuser.so", flags: "-Wl,-z,lazy", source: "extern int f(void); int user(void) { return f(); }"})
	b, err := os.ReadFile(w.dir + "/a/libuser.so")
	if err != nil {
		t.Fatal(err)
	}
	one := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, uint64(elf.DT_PLTRELSZ)), 24)
	at := bytes.Index(b, one) // f's, the only one
	if at < 0 {
		t.Fatal("the library calls f without a table of one relocation")
	}
	w.patch("/a/libuser.so", at+8, 0)
	w.probe(library{path: "/bin/probe"})
	p, err := w.resolver().Start(w.dir + "/bin/probe")
	if err != nil {
		t.Fatal(err)
	}
	user, err := p.Open(w.dir+"/a/libuser.so", nil, ldso.Local)
	if err != nil {
		t.Fatal(err)
	}
	if got := missing(t, p, user); got != nil {
		t.Errorf("missing %q, of a table without entries", got)
	}
}
