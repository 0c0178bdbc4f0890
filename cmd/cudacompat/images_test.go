package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cudacompat/internal/report"
	"cudacompat/internal/rpmdb/rpmdbtest"
	"cudacompat/probe/host/hosttest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// TestImages judges trees built like machine images, for every instance type that they are for. A healthy image has its
// files and @instances. A fault names its image in @image, removes files by their prefixes (@remove), and replaces
// them. @want is the exit code with every error and warning; for a healthy image it is "exit 0".
func TestImages(t *testing.T) {
	files, err := filepath.Glob("testdata/images/*.txtar")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d images, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			image := archive.Files
			if base := entry(archive.Files, "@image"); base != "" {
				image = withFault(t, strings.TrimSpace(base), archive.Files)
			}
			got := judgeImage(t, image)
			if *updateReadme {
				setWant(t, file, archive, got)
			}
			if diff := cmp.Diff(entry(archive.Files, "@want"), got); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
			if entry(archive.Files, "@image") == "" && got != "exit 0\n" {
				t.Errorf("a sound image is none:\n%s", got)
			}
		})
	}
}

// judgeImage returns the program's output for a tree, in lines.
func judgeImage(t *testing.T, files []txtar.File) string {
	t.Helper()
	root := t.TempDir()
	for _, f := range files {
		if !strings.HasPrefix(f.Name, "@") {
			plantFile(t, root, f)
		}
	}
	var out, errs strings.Builder
	instances := strings.Join(strings.Fields(entry(files, "@instances")), ",")
	code := run([]string{"doctor", "--root", root, "--instance", instances, "-o", "json"},
		streams{strings.NewReader(""), &out, &errs})
	var r report.Report
	if err := json.Unmarshal([]byte(out.String()), &r); err != nil {
		t.Fatalf("%v; it wrote %s", err, errs.String())
	}
	var said strings.Builder
	fmt.Fprintf(&said, "exit %d\n", code)
	for _, f := range r.Findings {
		if f.Severity != "note" {
			fmt.Fprintf(&said, "%s %s: %s: %s\n", f.Severity, f.Rule, f.Target, f.Message)
		}
	}
	return said.String()
}

// plantFile writes one entry. "NAME -> TARGET" is a link, "NAME = modinfo" a kernel module whose lines end in NUL,
// "NAME = rpmdb" RPM's database of the packages on the lines.
func plantFile(t *testing.T, root string, f txtar.File) {
	t.Helper()
	name, target, link := strings.Cut(f.Name, " -> ")
	name, kind, _ := strings.Cut(name, " = ")
	file := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	data, err := f.Data, error(nil)
	if len(data) == 0 && strings.Contains(name, ".so.") {
		data = hosttest.EmptyLibrary(t)
	}
	switch kind {
	case "modinfo":
		data = []byte("\x7fELF\x00" + strings.ReplaceAll(string(data), "\n", "\x00"))
	case "rpmdb":
		if data, err = rpmdbtest.SQLite(string(data)); err != nil {
			t.Fatal(err)
		}
	}
	if link {
		err = os.Symlink(target, file)
	} else {
		err = os.WriteFile(file, data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// withFault returns a healthy image with a fault applied.
func withFault(t *testing.T, base string, fault []txtar.File) []txtar.File {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/images/" + base + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	gone := strings.Fields(entry(fault, "@remove"))
	image := slices.DeleteFunc(archive.Files, func(f txtar.File) bool {
		replaced := slices.ContainsFunc(fault, func(g txtar.File) bool { return g.Name == f.Name })
		return replaced || slices.ContainsFunc(gone, func(prefix string) bool { return strings.HasPrefix(f.Name, prefix) })
	})
	return append(image, fault...)
}

func entry(files []txtar.File, name string) string {
	i := slices.IndexFunc(files, func(f txtar.File) bool { return f.Name == name })
	if i < 0 {
		return ""
	}
	return string(files[i].Data)
}

func setWant(t *testing.T, file string, archive *txtar.Archive, want string) {
	t.Helper()
	archive.Files = slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return f.Name == "@want" })
	archive.Files = append(archive.Files, txtar.File{Name: "@want", Data: []byte(want)})
	if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
		t.Fatal(err)
	}
}
