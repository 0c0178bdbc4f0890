package probe

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"
	"cudacompat/probe/internal/gpu"
	"cudacompat/probe/internal/source"
	"cudacompat/probe/internal/system"

	"github.com/google/go-cmp/cmp"
)

// withSources runs a test with other sources of facts than the real ones.
func withSources(t *testing.T, other ...reader) {
	t.Helper()
	real := sources
	sources = other
	t.Cleanup(func() { sources = real })
}

// TestStatuses tells absent, failed and not looked at apart, and a bug from all three.
func TestStatuses(t *testing.T) {
	never := func(err error) func(*Host, Options) (source.Update, error) {
		return func(*Host, Options) (source.Update, error) { return nil, err }
	}
	half := func(*Host, Options) (source.Update, error) {
		return func(f *Facts) { f.System.ID = "half" }, errors.New("the other half")
	}
	withSources(t,
		reader{name: "sound", read: func(*Host, Options) (source.Update,
			error) {
			return func(f *Facts) { f.System.OS = "sound" }, nil
		}},
		reader{name: "not-there", read: never(host.ErrAbsent)},
		reader{name: "no-file", read: never(&fs.PathError{Op: "open", Path: "/x", Err: fs.ErrNotExist})},
		reader{name: "broken", read: never(errors.New("broken"))},
		reader{name: "half", read: half},
		reader{name: "needless", read: never(source.Skipped("for root alone"))},
		reader{name: "bug", read: func(*Host, Options) (source.Update, error) {
			var none []int
			return nil,
				errors.New(string(rune(none[0])))
		}},
		reader{name: "live", live: true, read: never(errors.New("looked at all the same"))},
	)
	got := runSources(context.Background(), &Host{Root: t.TempDir(), Rest: true}, Options{})
	for i := range got.Probes {
		got.Probes[i].Seconds = 0
	}
	want := []facts.Status{
		{Name: "sound", Status: "ok"},
		{Name: "not-there", Status: "absent"},
		{Name: "no-file", Status: "absent"},
		{Name: "broken", Status: "failed", Error: "broken"},
		{Name: "half", Status: "failed", Error: "the other half"},
		{Name: "needless", Status: "skipped", Error: "for root alone"},
		{Name: "bug", Status: "failed",
			Error: "bug in this probe: runtime error: index out of range [0] with length 0"},
		{Name: "live", Status: "skipped", Error: "only files are read (--root, --offline)"},
	}
	if diff := cmp.Diff(want, got.Probes); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got.System.OS != "sound" || got.System.ID != "half" {
		t.Errorf("system is %+v", got.System)
	}
}

// TestRunLooksAnew simulates --wait at first boot: each run sees what has appeared or changed since the previous one.
func TestRunLooksAnew(t *testing.T) {
	root := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		file := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755),
			os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	h := &Host{Root: root, Rest: true}
	put("proc/uptime", "12.3 4.5\n")
	put("usr/local/cuda-12.4/version.json", `{"cuda":{"version":"12.4.1"}}`)
	if got := Run(context.Background(), h, Options{}); len(got.Toolkits) != 1 || got.Driver.Version != "" {
		t.Fatalf("before: toolkits %v, driver %q", got.Toolkits, got.Driver.Version)
	}
	put("sys/module/nvidia/version", "550.90.07\n")
	put("usr/local/cuda-12.8/version.json", `{"cuda":{"version":"12.8.1"}}`)
	if got := Run(context.Background(), h, Options{}); len(got.Toolkits) != 2 || got.Driver.Version != "550.90.07" {
		t.Errorf("after: toolkits %v, driver %q", got.Toolkits, got.Driver.Version)
	}
}

// TestSourceThatNeverComesBack keeps what came before it, names it and what would have come after, and leaves no
// half-written facts behind.
func TestSourceThatNeverComesBack(t *testing.T) {
	forever := make(chan struct{})
	t.Cleanup(func() { close(forever) })
	write := func(id string) func(*Host, Options) (source.Update, error) {
		return func(*Host, Options) (source.Update, error) { return func(f *Facts) { f.System.ID += id }, nil }
	}
	withSources(t,
		reader{name: "before", read: write("before")},
		reader{name: "stuck", read: func(*Host, Options) (source.Update, error) { <-forever; return nil, nil }},
		reader{name: "after", read: write("after")},
	)
	started := time.Now()
	got := Run(context.Background(), &Host{Root: t.TempDir(), Rest: true}, Options{Timeout: 50 * time.Millisecond})
	if took := time.Since(started); took > slack {
		t.Errorf("took %s", took)
	}
	if got.System.ID != "before" {
		t.Errorf("system is %+v", got.System)
	}
	var statuses []string
	for _, p := range got.Probes {
		statuses = append(statuses, p.Name+" "+p.Status)
	}
	if diff := cmp.Diff([]string{"before ok", "stuck failed", "after failed", "nvml skipped"}, statuses); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	hosttest.RoundTrip(t, got)
}

// TestPanicKeepsWhatWasRead checks that what a search found before a panic is judged, and that the rest is named.
func TestPanicKeepsWhatWasRead(t *testing.T) {
	buggy := func(_ *Host, opt Options) (source.Update, error) {
		opt.keep(func(f *Facts) { f.Environments = []facts.Environment{{Path: "/opt/first"}} })
		panic("a file that nobody foresaw")
	}
	withSources(t, reader{name: "pci", read: func(*Host, Options) (source.Update, error) { panic("another") }},
		reader{name: "python", read: buggy})
	got := runSources(context.Background(), &Host{Root: t.TempDir()}, Options{})
	if len(got.Environments) != 1 || got.Environments[0].Path != "/opt/first" {
		t.Errorf("environments: %+v", got.Environments)
	}
	want := []facts.Unread{{Kind: facts.UnreadCut, Place: "Python environments", Reason: "bug in this probe: a file that nobody foresaw"}}
	if diff := cmp.Diff(want, got.Unread); diff != "" {
		t.Errorf("not looked at (-want +got):\n%s", diff)
	}
}

// TestEmptyHost finds nothing in an empty tree, and every source says so.
func TestEmptyHost(t *testing.T) {
	h, err := Tree(t.TempDir())
	hosttest.Must(t, err)
	got := Run(context.Background(), h, Options{})
	for _, p := range got.Probes {
		if p.Status != "absent" && p.Status != "skipped" && p.Name != "system" {
			t.Errorf("%+v", p)
		}
	}
	var want Facts
	want.System.Rest = true
	want.Driver.Libcuda = &facts.Libcuda{} // looked for
	want.Driver.NVML = facts.NVML{Status: "left out", Message: "only files are read (--root, --offline)"}
	want.Probes = got.Probes
	want.Complete()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	hosttest.RoundTrip(t, got)
}

// TestNoEnvironments checks that "--env none" looks for no build, neither an installed one nor one compiled at run
// time.
func TestNoEnvironments(t *testing.T) {
	for name, read := range map[string]func(*Host, Options) (source.Update, error){"python": readPython, "caches": readCaches} {
		if _, err := read(&Host{Root: t.TempDir()}, Options{Envs: []string{NoEnvironments}}); !errors.As(err, new(source.Skipped)) {
			t.Errorf("%s: %v, want it to be skipped", name, err)
		}
	}
}

func TestPackageByName(t *testing.T) {
	e := facts.Environment{Packages: []facts.Package{{Name: "torch", Version: "2.8.0"}, {Name: "numpy"},
		{Name: "torch", Version: "2.7.0"}}}
	if p := e.Package("torch"); p == nil || p.Version != "2.8.0" {
		t.Errorf("torch is %+v", p)
	}
	if p := e.Package("jax"); p != nil {
		t.Errorf("jax is %+v", p)
	}
}

// TestDeadlineKeepsWhatWasRead checks that what a slow search found by the deadline is judged, and that the rest is
// named. The second environment takes too long.
func TestDeadlineKeepsWhatWasRead(t *testing.T) {
	began, end := make(chan bool), make(chan bool)
	defer close(end)
	slow := func(_ *Host, opt Options) (source.Update, error) {
		opt.keep(func(f *Facts) { f.Environments = []facts.Environment{{Path: "/opt/first"}} })
		close(began)
		<-end
		return nil, nil
	}
	withSources(t, reader{name: "system", readHost: system.Read}, reader{name: "python", read: slow}, reader{name: "pci", readHost: gpu.ReadPCI})
	got := runSources(context.Background(), &Host{Root: t.TempDir()}, Options{Timeout: 300 * time.Millisecond})
	<-began
	if len(got.Environments) != 1 || got.Environments[0].Path != "/opt/first" {
		t.Errorf("environments: %+v", got.Environments)
	}
	if len(got.Unread) != 1 || got.Unread[0].Kind != facts.UnreadCut {
		t.Errorf("not looked at: %+v", got.Unread)
	}
	states := map[string]string{}
	for _, p := range got.Probes {
		states[p.Name] = p.Status
	}
	if states["python"] != "failed" || states["pci"] != "failed" || states["system"] == "failed" {
		t.Errorf("sources: %v", states)
	}
}
