package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cudacompat/probe/host/hosttest"
)

// TestFUSE gives commands files on a FUSE file system that does not answer. Each command ends, nothing keeps its pipe
// open, and no process is left once the mount is gone.
func TestFUSE(t *testing.T) {
	if !hosttest.InMountNamespace(t) {
		return
	}
	dir := t.TempDir()
	hosttest.Write(t, filepath.Join(dir, "requirements.txt"), "torch==2.9.0\n")
	hosttest.Write(t, filepath.Join(dir, "train.log"), "RuntimeError: CUDA error: no kernel image is available for execution on the device\n")
	hosttest.Write(t, filepath.Join(dir, "opt/venv/pyvenv.cfg"), "home = /usr/bin\nversion = 3.12.3\n")
	hosttest.Write(t, filepath.Join(dir, "opt/venv/lib/python3.12/site-packages/torch/version.py"), "__version__ = '2.9.0+cu130'\n")
	hosttest.Write(t, filepath.Join(dir, "home/somebody/file"), "")
	hosttest.Write(t, filepath.Join(dir, "etc/os-release"), "ID=ubuntu\n")
	const machine, broken = " --gpu T4 --driver 470.1", "check torch==2.9.0 --gpu T4 --driver 470.1"
	for _, c := range []struct {
		stalls, args string
		code         int
		says         string
	}{
		{"", "check MNT/requirements.txt" + machine, exitIncompatible, "driver-too-old"},
		{"/requirements.txt", "check MNT/requirements.txt" + machine, exitInconclusive, "the time was up (--timeout 1s): the FUSE file system at MNT (fuse.test)"},
		{"/requirements.txt", "requires MNT/requirements.txt", exitInconclusive, "the FUSE file system at MNT"},
		{"/train.log", "explain MNT/train.log", exitInconclusive, "the FUSE file system at MNT"},
		{"/", broken + " -o json=MNT/out.json", exitInconclusive, "cannot write"},
		{"/", broken + " -o json=MNT/out.json -o line", exitInconclusive, "FAIL driver-too-old"},
		{"/c.yaml", broken + " --config MNT/c.yaml", exitInconclusive, "cannot read the configuration"},
		{"/m", broken + " --matrix MNT/m", exitInconclusive, "the FUSE file system at MNT"},
		{"/", "doctor --env MNT/opt/venv -o line" + machine, exitInconclusive, "UNKNOWN"},
		{"/", "doctor --env MNT/opt/venv --healthcheck" + machine, exitOK, "UNKNOWN"},
		{"/home", "doctor --root MNT -o line" + machine, exitIncompatible, "FAIL driver-too-old"}, // proven elsewhere
		{"/", "doctor --root MNT -o line" + machine, exitInconclusive, "the FUSE file system at MNT"},
		{"/", "fleet MNT", exitInconclusive, "the time was up"},
	} {
		t.Run(c.args, func(t *testing.T) {
			mount := t.TempDir()
			t.Cleanup(func() { noneLeft(t, mount) }) // after the mount is gone
			hosttest.MountFUSE(t, dir, mount, func(path string) bool { return c.stalls != "" && strings.HasPrefix(path, c.stalls) })
			timeout := "1s"
			if strings.HasPrefix(c.says, "FAIL") {
				timeout = "3s" // a busy machine may need more than a second for the verdict
			}
			args := append(strings.Fields(strings.ReplaceAll(c.args, "MNT", mount)), "--timeout", timeout)
			cmd := exec.Command("cudacompat", args...)
			began := time.Now()
			out, err := cmd.CombinedOutput()
			if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			took := time.Since(began)
			if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(string(out), strings.ReplaceAll(c.says, "MNT", mount)) || took > patience/2 {
				t.Errorf("exit code %d after %s, want %d and %q:\n%s", code, took, c.code, c.says, out)
			}
		})
	}
}

// noneLeft waits until no child with a file of the mount is left.
func noneLeft(t *testing.T, mount string) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		left := ""
		all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, name := range all {
			line, _ := os.ReadFile(name)
			if strings.Contains(string(line), "\x00__fuse\x00") && strings.Contains(string(line), mount) {
				left = name
			}
		}
		if left == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("a child is left: %s", left)
		}
	}
}
