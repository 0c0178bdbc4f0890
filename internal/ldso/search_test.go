package ldso_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cudacompat/internal/ldso"
)

const (
	rpath   = "-Wl,--disable-new-dtags,-rpath,"
	runpath = "-Wl,--enable-new-dtags,-rpath,"
)

// searchCase is a tree of libraries with a program to run in it. Our search must equal the loader's, file by file and
// in order. want says why, and guards against a tree that tests nothing.
type searchCase struct {
	name    string
	own     bool   // in a root of its own, with its own cache and system directories
	conf    string // ld.so.conf of its own root; ldconfig is run
	probe   library
	libs    []library
	prepare func(w *tree) // what cannot be said by libs
	stale   func(w *tree) // after ldconfig
	env     string        // LD_LIBRARY_PATH
	preload string
	workDir string
	opens   []string
	want    []string // of each object but the C library: path, and why it is taken
	missing []string // names
}

func TestSearchEqualsLoader(t *testing.T) {
	for _, c := range searchCases {
		t.Run(c.name, func(t *testing.T) {
			w := newTree(t, c.own)
			c.build(w)
			var want []string
			for _, line := range c.want {
				want = append(want, w.places(line))
			}
			got, missing := c.ours(w)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("search (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.missing, missing); diff != "" {
				t.Errorf("missing (-want +got):\n%s", diff)
			}
			c.compare(w)
		})
	}
}

func (c *searchCase) build(w *tree) {
	for _, l := range c.libs {
		w.build(l)
	}
	if c.probe.path == "" {
		c.probe.path = "/bin/probe"
	}
	w.probe(c.probe)
	if c.prepare != nil {
		c.prepare(w)
	}
	if c.conf != "" {
		w.write("/etc/ld.so.conf", []byte(c.conf))
		w.ldconfig()
	}
	if c.stale != nil {
		c.stale(w)
	}
}

// process returns our answer.
func (c *searchCase) process(w *tree) *ldso.Process {
	w.Helper()
	r := w.resolver()
	r.LibraryPath = ldso.SplitLibraryPath(w.expand(c.env))
	r.Preload = ldso.SplitPreload(w.expand(c.preload))
	if c.own {
		if names, err := ldso.ReadPreload(r.FS); err == nil {
			r.PreloadFile = names
		}
	}
	if c.workDir != "" {
		r.WorkDir = w.name(c.workDir)
	}
	p, err := r.Start(w.name(c.program()))
	if err != nil {
		w.Fatal(err)
	}
	for _, name := range c.opens {
		caller, name, called := strings.Cut(w.expand(name), ">")
		if !called {
			caller, name = "", caller
		}
		if _, err := p.Open(name, p.Loaded(caller), ldso.Local); err != nil {
			w.Fatal(err)
		}
	}
	return p
}

func (c *searchCase) program() string {
	if c.probe.soname != "" { // run by another name
		return c.probe.soname
	}
	return c.probe.path
}

var ofLibc = regexp.MustCompile(`/(libc\.so\.6|libdl\.so\.2|ld-linux[^/]*)$`)

func (c *searchCase) ours(w *tree) (objects, missing []string) {
	p := c.process(w)
	for _, o := range p.Objects[1:] {
		if !ofLibc.MatchString(o.Path) {
			line := o.Path + ": " + o.Reason.String()
			objects = append(objects, strings.ReplaceAll(line, w.name(""), ""))
		}
	}
	for _, m := range p.Missing {
		missing = append(missing, strings.ReplaceAll(m.Name, w.name(""), ""))
	}
	return objects, missing
}

// compare runs the program. The loader stops at the first missing library that the program needs, and
// goes without one that is opened or preloaded.
func (c *searchCase) compare(w *tree) {
	w.Helper()
	env := []string{"LD_LIBRARY_PATH=" + w.expand(c.env), "LD_PRELOAD=" + w.expand(c.preload)}
	args := []string{w.name(c.program())}
	for _, name := range c.opens {
		args = append(args, w.expand(name))
	}
	stdout, stderr, err := w.run(env, w.name(c.workDir), args...)
	p := c.process(w)
	for _, m := range p.Missing {
		if text := strings.TrimPrefix(m.Err.Error(), "load "); !strings.Contains(stderr, m.Name) ||
			!sameFailure(text, stderr) {
			w.Errorf("missing %q: %v; the loader says %q", m.Name, m.Err, stderr)
		}
		if m.Via == ldso.Needed {
			return
		}
	}
	if len(p.Missing) == 0 && stderr != "" || err != nil {
		w.Fatalf("%v: %v\n%s", args, err, stderr)
	}
	var real, ours []string
	for _, line := range strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")[1:] {
		if strings.HasPrefix(line, "linux-vdso") {
			continue
		}
		if !strings.HasPrefix(line, "/") {
			line = w.name(c.workDir) + "/" + line
		}
		real = append(real, line)
	}
	for _, o := range p.Objects[1:] {
		ours = append(ours, o.Path)
	}
	if diff := cmp.Diff(real, ours); diff != "" {
		w.Errorf("mapped (-loader +search):\n%s", diff)
	}
}

// sameFailure reports whether our error and the loader's are of one kind.
func sameFailure(ours, loader string) bool {
	if strings.Contains(ours, ldso.ErrNotFound.Error()) {
		return strings.Contains(loader, "cannot open shared object file") || strings.Contains(loader, "wrong ELF class")
	}
	_, reason, _ := strings.Cut(ours, `": `)
	return strings.Contains(loader, reason)
}
