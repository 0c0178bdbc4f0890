//go:build linux

package guard

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestLeftBehind checks that the plan of a successful dry run is read, and that its children end with it.
func TestLeftBehind(t *testing.T) {
	dir := t.TempDir()
	program, note := filepath.Join(dir, "uv"), filepath.Join(dir, "pid")
	script := "#!/bin/sh\nsleep 60 &\necho $! >" + note + "\necho ' + torch==2.9.1'\n"
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	out, _, err := DryRun(context.Background(), []string{program})
	if err != nil || string(out) != " + torch==2.9.1\n" {
		t.Fatalf("%q, %v", out, err)
	}
	text, err := os.ReadFile(note)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(2 * time.Minute); running(pid); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			t.Fatal("what the dry run started is still running")
		}
	}
}

// TestHeldPipe checks that a dry run ends at its deadline although a process in another session holds its pipes open.
func TestHeldPipe(t *testing.T) {
	dir := t.TempDir()
	program, note := filepath.Join(dir, "uv"), filepath.Join(dir, "pid")
	script := "#!/bin/sh\nsetsid sh -c 'echo $$ >" + note + "; exec sleep 60' &\nsleep 60\n"
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	defer func() {
		text, _ := os.ReadFile(note)
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, _, err := DryRun(ctx, []string{program}); err == nil || time.Since(began) > 2*time.Second {
		t.Errorf("%v after %s", err, time.Since(began))
	}
}

// running reports whether a process is there and no zombie, which only its parent can bury.
func running(pid int) bool {
	state, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(state), ") Z ")
}
