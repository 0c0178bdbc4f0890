package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"cudacompat/internal/deadline"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	raiseTimeouts()
	testscript.Main(m, map[string]func(){"cudacompat": func() {
		deadline.JudgingReserve *= 30 // a script whose time is up still prints what was read
		main()
	}})
}

// raiseTimeouts multiplies the default time limits, in this process and in those that scripts start. A test of a time
// limit passes --timeout.
func raiseTimeouts() {
	for _, limit := range []*time.Duration{&deadline.Live, &deadline.Rest, &deadline.Image, &deadline.Check} {
		*limit *= 30
	}
}

// run is runWithin without a deadline.
func run(args []string, s streams) int { return runWithin(context.Background(), args, s) }

// TestScripts runs the real program on testdata/script/*.txtar and compares the exact output; -update rewrites it. What
// a script does not set is the same on every machine: no Python, no terminal, no locale.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", RequireExplicitExec: true, UpdateScripts: *updateReadme, Setup: setUp,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exit": exitsWith, "undated": undated},
	})
}

func setUp(env *testscript.Env) error {
	bin, _, _ := strings.Cut(env.Getenv("PATH"), string(filepath.ListSeparator))
	env.Setenv("PATH", bin)
	env.Setenv("LC_ALL", "C.UTF-8")
	env.Setenv("TERM", "dumb")
	env.Setenv("LD_LIBRARY_PATH", "")
	for _, dir := range []string{"collect_env", "facts", "kubernetes", "slurm"} {
		if err := os.CopyFS(filepath.Join(env.WorkDir, "examples", dir), os.DirFS("../../examples/"+dir)); err != nil {
			return err
		}
	}
	return nil
}

// undated runs the script command "undated FILE". It prints standard output without the tables' date, which every new
// row may change.
func undated(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: undated FILE")
	}
	text := regexp.MustCompile(`tables of [-\d]+`).ReplaceAllString(ts.ReadFile("stdout"), "tables of DATE")
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o644))
}

// exitsWith runs the script command "exit N program args…": the program must exit with N.
func exitsWith(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exit CODE program args...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var ended *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &ended) {
		got = ended.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// bursting is a writer that panics, as a bug would.
type bursting struct{}

func (bursting) Write([]byte) (int, error) { panic("a bug for the test") }

func TestBugExitsWithItsOwnCode(t *testing.T) {
	var errs strings.Builder
	if code := run([]string{"version"}, streams{strings.NewReader(""), bursting{}, &errs}); code != exitInternal {
		t.Errorf("exit code %d, want %d", code, exitInternal)
	}
	if text := errs.String(); !strings.HasPrefix(text, "cudacompat: a bug in cudacompat: a bug for the test\n") {
		t.Errorf("it says %q", text)
	}
}

// full is a disk without free space.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestUnwritableScreenIsSaid(t *testing.T) {
	var errs strings.Builder
	code := run([]string{"check", "../../examples/collect_env/broken.txt"}, streams{strings.NewReader(""), full{}, &errs})
	if code != exitUsage || !strings.Contains(errs.String(), "no space left on device") {
		t.Errorf("exit code %d, it says %q", code, errs.String())
	}
}
