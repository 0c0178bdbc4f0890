package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"cudacompat/data"
	"cudacompat/internal/bundle"
)

// judgeBy runs the program on an example with --matrix, and returns its exit code and standard error.
func judgeBy(t *testing.T, tables string) (int, string) {
	t.Helper()
	var out, errs strings.Builder
	code := run([]string{"check", "example:broken", "-o", "line", "--matrix", tables},
		streams{strings.NewReader(""), &out, &errs})
	return code, errs.String()
}

func TestMatrixTakesABundle(t *testing.T) {
	var b bytes.Buffer
	if err := bundle.Write(&b, data.FS, "2031-11-21"); err != nil {
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

// TestBundlesAreComparedByDate checks that an old bundle does not replace newer rows, that a newer one withdraws rows,
// and that a site's own directory counts whatever its date.
func TestBundlesAreComparedByDate(t *testing.T) {
	branches, err := fs.ReadFile(data.FS, "driver_branch.csv")
	if err != nil {
		t.Fatal(err)
	}
	// 620 was withdrawn, and 580 has an older driver.
	lines := strings.SplitAfter(strings.TrimSpace(string(branches)), "\n")
	changed := strings.Join(lines[:len(lines)-1], "")
	changed = regexp.MustCompile(`580\.178\.04`).ReplaceAllString(changed, "580.65.06")
	files := fstest.MapFS{"driver_branch.csv": {Data: []byte(changed)}}
	pins := func(matrix string) (string, string) {
		var out, errs strings.Builder
		run([]string{"matrix", "driver_branch", "-o", "csv", "--matrix", matrix}, streams{strings.NewReader(""), &out, &errs})
		return out.String(), errs.String()
	}
	dir := t.TempDir()
	for _, c := range []struct {
		name, date string
		old        bool
	}{{"old", "2025-01-01", true}, {"new", "2031-01-01", false}} {
		var b bytes.Buffer
		if err := bundle.Write(&b, files, c.date); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, c.name+".zip")
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		out, errs := pins(path)
		if got := strings.Contains(out, "580.178.04") && strings.Contains(out, "\n620,"); got != c.old {
			t.Errorf("%s bundle: the program's rows are there: %t, want %t", c.name, got, c.old)
		}
		if got := strings.Contains(errs, "of this program") && strings.Contains(errs, "are newer"); got != c.old {
			t.Errorf("%s bundle: %q", c.name, errs)
		}
	}
	own := filepath.Join(dir, "own")
	if err := os.Mkdir(own, 0o755); err != nil {
		t.Fatal(err)
	}
	row := lines[0] + "640,LTS,13.6,2026-12-01,2030-01,640.10.01,open,,,https://example.com/own\n"
	if err := os.WriteFile(filepath.Join(own, "driver_branch.csv"), []byte(row), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, errs := pins(own); !strings.Contains(out, "\n640,") || !strings.Contains(out, "\n620,") || errs != "" {
		t.Errorf("own rows of 2020 are laid over all others: %s%s", out, errs)
	}
}
