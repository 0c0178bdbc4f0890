package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const before = `package x

import (
	"fmt"

	"cudacompat/matrix"
	probing "cudacompat/probe"

	"cudacompatible/other"
)

const schema = "cudacompat/report/v1" // a name that programs rely on
`

const after = `package x

import (
	"fmt"

	"example.org/owner/cudacompat/matrix"
	probing "example.org/owner/cudacompat/probe"

	"cudacompatible/other"
)

const schema = "cudacompat/report/v1" // a name that programs rely on
`

func TestRenameLeavesNamesAlone(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{"go.mod": "module cudacompat\n\ngo 1.26.0\n", "x.go": before}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := rename(dir, "no such path"); err == nil {
		t.Error("a path with spaces is taken")
	}
	if err := rename(dir, "example.org/owner/cudacompat"); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"go.mod": "module example.org/owner/cudacompat\n\ngo 1.26.0\n",
		"x.go": after} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
