//go:build linux && cgo

package limit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"runtime"
	"strings"
	"testing"
	"time"

	"cudacompat/probe/host/hosttest"

	"golang.org/x/sys/unix"
)

// TestLimits starts this test's own program with a small address space, or with few descriptors: it says so in one line and ends with the
// code of an inconclusive result, or of a health check.
func TestLimits(t *testing.T) {
	prlimit, err := exec.LookPath("prlimit")
	if err != nil {
		t.Skip("no prlimit")
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		limit  string
		args   []string
		code   int
		prefix string
	}{
		{"--nofile=6", []string{"doctor"}, 3, "cudacompat: open files are limited to 6"},
		{"--as=536870912", []string{"doctor"}, 3, "cudacompat: the address space is limited to 512 MiB"},
		{"--as=536870912", []string{"doctor", "--healthcheck"}, 0, "UNKNOWN the address space"},
		{"--as=536870912", []string{"doctor", "--healthcheck", "--require", "gpu"}, 1, "UNKNOWN the address space"},
	} {
		cmd := exec.Command(prlimit, append([]string{c.limit, program}, c.args...)...)
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.HasPrefix(string(out), c.prefix) || strings.Count(string(out), "\n") != 1 {
			t.Errorf("%q: exit %d, want %d\n%s", c.args, code, c.code, out)
		}
	}
}

// eatMark makes TestMemoryGone take memory without end.
const eatMark = "LIMIT_EAT"

// TestMemoryGone starts this test's own program with an address space that runs out. It must print one line instead of
// Go's trace, and exit as an inconclusive result, or as a health check.
func TestMemoryGone(t *testing.T) {
	if os.Getenv(eatMark) != "" {
		for all := [][]byte{}; ; {
			all = append(all, make([]byte, 16<<20))
			all[len(all)-1][0] = 1
		}
	}
	prlimit, err := exec.LookPath("prlimit")
	if err != nil {
		t.Skip("no prlimit")
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   []string
		code   int
		prefix string
	}{
		{nil, 3, "cudacompat: no memory was left: it is limited to 1464 MiB (ulimit -v)"},
		{[]string{"--", "--healthcheck"}, 0, "UNKNOWN no memory was left"},
		{[]string{"--", "--healthcheck", "--require", "gpu"}, 1, "UNKNOWN no memory was left"},
	} {
		cmd := exec.Command(prlimit, append([]string{"--as=1536000000", program, "-test.run=^TestMemoryGone$"}, c.args...)...)
		cmd.Env = append(os.Environ(), eatMark+"=1")
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.HasPrefix(string(out), c.prefix) || strings.Count(string(out), "\n") != 1 {
			t.Errorf("%q: exit %d, want %d\n%.500s", c.args, code, c.code, out)
		}
	}
}

// TestProcessors starts this test's own program with more processors wanted than there are: Go's runtime gets what there is.
func TestProcessors(t *testing.T) {
	const child = "LIMIT_PROCESSORS"
	if os.Getenv(child) != "" {
		fmt.Println(runtime.GOMAXPROCS(0), os.Getenv("GOMAXPROCS"))
		os.Exit(0)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	all := runtime.NumCPU()
	for wanted, want := range map[string]string{
		"100000":               fmt.Sprintf("%d %[1]d\n", all),
		"+100000":              fmt.Sprintf("%d %[1]d\n", all),
		"99999999999999999999": fmt.Sprintf("%d %[1]d\n", all),
		"1":                    "1 1\n",
	} {
		cmd := exec.Command(program, "-test.run=^TestProcessors$")
		cmd.Env = append(os.Environ(), child+"=1", "GOMAXPROCS="+wanted)
		out, err := cmd.Output()
		if string(out) != want || err != nil {
			t.Errorf("GOMAXPROCS=%s gives %q (%v), want %q", wanted, out, err, want)
		}
	}
}

// TestPipeInProc starts this test's own program where a pipe stands in for each file that Go's runtime opens before main.
// The program must say so instead of waiting for a writer.
func TestPipeInProc(t *testing.T) {
	if !hosttest.InMountNamespace(t) {
		return
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"proc/self/cgroup", "proc/self/mountinfo", "proc/self/maps", "proc/self/cmdline", "sys/kernel/mm/transparent_hugepage/hpage_pmd_size"} {
		t.Run(path.Base(file), func(t *testing.T) {
			top, _, _ := strings.Cut(file, "/")
			if err := unix.Mount("none", "/"+top, "tmpfs", 0, ""); err != nil {
				t.Skip(err)
			}
			defer func() { _ = unix.Unmount("/"+top, unix.MNT_DETACH) }()
			if err := errors.Join(os.MkdirAll("/"+path.Dir(file), 0o755), unix.Mkfifo("/"+file, 0o644)); err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
			defer stop()
			out, _ := exec.CommandContext(ctx, program, "-test.run=^$").CombinedOutput()
			want := "cudacompat: /" + file + " is a pipe"
			if path.Base(file) == "cmdline" {
				want = "" // only its end without a wait counts
			}
			if ctx.Err() != nil || !strings.HasPrefix(string(out), want) {
				t.Errorf("%v: %q, want %q", ctx.Err(), out, want)
			}
		})
	}
}
