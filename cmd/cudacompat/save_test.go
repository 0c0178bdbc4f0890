package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSave(t *testing.T) {
	writes := func(w io.Writer) error { _, err := io.WriteString(w, "new"); return err }
	breaks := func(w io.Writer) error { _, _ = io.WriteString(w, "half"); return errors.New("broken off") }
	for _, test := range []struct {
		name  string
		write func(io.Writer) error
		want  map[string]string // file name to content, afterwards
		fails bool
	}{
		{"replaces", writes, map[string]string{"file": "new", "other": "other"}, false},
		{"failure-leaves-the-old", breaks, map[string]string{"file": "old", "other": "other"}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{"file": "old", "other": "other"} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := save(filepath.Join(dir, "file"), test.write); (err != nil) != test.fails {
				t.Errorf("error %v", err)
			}
			if diff := cmp.Diff(test.want, contents(t, dir)); diff != "" {
				t.Errorf("the directory afterwards (-want +got):\n%s", diff)
			}
		})
	}
}

// contents reads a directory's files.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(data)
	}
	return files
}
