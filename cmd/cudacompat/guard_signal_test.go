//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// installer is a uv that waits, in its dry run or while installing, and shows where by creating a file. The waiting
// process writes its id to "pid". In the dry run it is a child that ignores SIGINT, as shells start them.
const installer = `#!/bin/sh
case "$*" in
*--dry-run*)
   [ "$PHASE" != dry ] || { sleep 60 & echo $! >pid; : >dry; wait; }
   printf 'Would install 1 package\n + requests==2.0\n' >&2 ;;
*) [ "$PHASE" != install ] || { echo $$ >pid; : >install; exec sleep 60; }
   # The terminal's signals go on while guard looks.
   [ "$PHASE" != look ] || { (while kill -INT $PPID; do :; done) >/dev/null 2>&1 & } ;;
esac
`

// TestGuardInterrupted sends each signal of a terminal in each phase. guard says what happened to the command, leaves
// no process running, and exits with 128 plus the signal.
func TestGuardInterrupted(t *testing.T) {
	// Under nohup, SIGHUP is ignored, and a child inherits that. It does not inherit a handler.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	const forecast = "fine: `./uv pip install --python venv requests` changes nothing that affects CUDA\n"
	for _, c := range []struct {
		name, phase string
		signal      syscall.Signal
		code        int
		err         string // the last line of standard error
	}{
		{"dry run", "dry", syscall.SIGINT, 130, "guard: nothing was installed"},
		{"dry run, killed", "dry", syscall.SIGTERM, 143, "guard: nothing was installed"},
		{"dry run, hung up", "dry", syscall.SIGHUP, 129, "guard: nothing was installed"},
		{"install", "install", syscall.SIGINT, 130, ""},
		{"look", "look", 0, 130, "guard: interrupted: ./uv has ended with exit code 0, and what it did was not looked at"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			program := filepath.Join(dir, "uv")
			if err := os.WriteFile(program, []byte(installer), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Join(dir, "venv/lib/python3.12/site-packages"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "venv/pyvenv.cfg"), []byte("home = /usr/bin\nversion = 3.12.3\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("cudacompat", "guard", "--driver", "550.90.07", "--gpu", "L4", "--", "./uv", "pip", "install",
				"--python", "venv", "requests")
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "PHASE="+c.phase)
			var out, says bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &says
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // as a shell gives each command
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if c.signal != 0 {
				waitFor(t, filepath.Join(dir, c.phase))
				if err := syscall.Kill(-cmd.Process.Pid, c.signal); err != nil {
					t.Fatal(err)
				}
			}
			_ = cmd.Wait() // its status is compared
			if got := shellCode(cmd.ProcessState.Sys().(syscall.WaitStatus)); got != c.code {
				t.Errorf("exit code %d, want %d", got, c.code)
			}
			if want := map[bool]string{true: "", false: forecast}[c.phase == "dry"]; out.String() != want {
				t.Errorf("standard output %q, want %q", out.String(), want)
			}
			if got := lastLine(says.String()); got != c.err {
				t.Errorf("standard error ends with %q, want %q", got, c.err)
			}
			if pid, err := os.ReadFile(filepath.Join(dir, "pid")); err == nil {
				waitGone(t, strings.TrimSpace(string(pid)))
			}
		})
	}
}

// shellCode returns a shell's exit code for a status.
func shellCode(s syscall.WaitStatus) int {
	if s.Signaled() {
		return 128 + int(s.Signal())
	}
	return s.ExitStatus()
}

func waitFor(t *testing.T, file string) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(file); err == nil {
			return
		}
	}
	t.Fatalf("%s was not made", file)
}

func waitGone(t *testing.T, pid string) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if exec.Command("kill", "-0", pid).Run() != nil {
			return
		}
	}
	t.Error("what the installer started is still running")
}

func lastLine(text string) string {
	text = strings.TrimSuffix(text, "\n")
	return text[strings.LastIndex(text, "\n")+1:]
}
