package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// says runs the program and returns its exit code and output.
func says(t *testing.T, args ...string) (code int, out, complaint string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = run(args, streams{strings.NewReader(""), &stdout, &stderr})
	return code, stdout.String(), stderr.String()
}

// TestTornLog checks that a log that cannot be read leaves open what the others show about the program, because it may
// contain an earlier error. By itself it is a usage error.
func TestTornLog(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{"rank0.log": "IndexError: Target 3 is out of bounds.\n", "rank1.log.gz": "\x1f\x8b",
		"model.pt": "PK\x03\x04\x00IndexError"}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	code, out, _ := says(t, "explain", dir)
	if code != exitInconclusive || !strings.HasPrefix(out, "unknown: A class label") ||
		!strings.Contains(out, "? label-out-of-range (program)") || !strings.Contains(out, "rank1.log.gz was not read to its end: unexpected EOF") {
		t.Errorf("%d: %s", code, out)
	}
	if strings.Contains(out, "model.pt") {
		t.Errorf("a checkpoint is read as a log: %s", out)
	}
	code, _, complaint := says(t, "explain", filepath.Join(dir, "rank1.log.gz"))
	if code != exitUsage || !strings.Contains(complaint, "unexpected EOF") {
		t.Errorf("%d: %s", code, complaint)
	}
}

// TestSilentPipe checks that a pipe without a writer ends at the deadline, as a log and beside the machine.
func TestSilentPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	start := time.Now()
	code, out, _ := says(t, "explain", pipe, "--timeout", "50ms")
	if code != exitInconclusive || !strings.Contains(out, "the time was up (--timeout 50ms)") {
		t.Errorf("%d: %s", code, out)
	}
	if spent := time.Since(start); spent > 30*time.Second {
		t.Errorf("it took %s", spent)
	}
}

// TestFullDisk checks that a failed write is not a success.
func TestFullDisk(t *testing.T) {
	full := writerFunc(func([]byte) (int, error) { return 0, errors.New("no space left on device") })
	for _, args := range [][]string{{"explain"}, {"--help"}, {"explain", "driver-too-old"},
		{"explain", "index-out-of-range"},
		{"explain", "IndexError: Target 3 is out of bounds."}} {
		var stderr bytes.Buffer
		if code := run(args, streams{strings.NewReader(""), full, &stderr}); code == exitOK ||
			!strings.Contains(stderr.String(), "no space left") {
			t.Errorf("%q: %d, %s", args, code, stderr.String())
		}
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
