package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cudacompat/data"
	"cudacompat/internal/bundle"
)

// judge runs the program on an example with --matrix, and returns its exit code and what it says on standard error.
func judgeBy(t *testing.T, tables string) (int, string) {
	t.Helper()
	var out, errs strings.Builder
	code := run([]string{"check", "example:broken", "-o", "line", "--matrix", tables},
		streams{strings.NewReader(""), &out, &errs})
	return code, errs.String()
}

func TestMatrixTakesABundle(t *testing.T) {
	var b bytes.Buffer
	if err := bundle.Write(&b, data.FS, "2026-11-21"); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	whole, damaged := filepath.Join(dir, "tables.zip"), filepath.Join(dir, "damaged.zip")
	broken := bytes.Clone(b.Bytes())
	broken[len(broken)/2] ^= 1
	for name, content := range map[string][]byte{whole: b.Bytes(), damaged: broken} {
		if err := os.WriteFile(name, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if code, errs := judgeBy(t, whole); code != exitIncompatible || errs != "" {
		t.Errorf("a bundle of the embedded tables: exit %d, %s", code, errs)
	}
	for path, want := range map[string]string{
		damaged:                             "damaged",
		filepath.Join(dir, "absent.zip"):    "no such file",
		"../../examples/cudacompat.yaml":    "not a bundle of tables",
		"../../examples/collect_env/absent": "no such file",
	} {
		if code, errs := judgeBy(t, path); code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("%s: exit %d, %q; want %q", path, code, errs, want)
		}
	}
}
