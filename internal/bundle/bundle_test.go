package bundle

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

var twoTables = fstest.MapFS{
	"gpu.csv":          {Data: []byte("chip\nGH100\n")},
	"signature/os.csv": {Data: []byte("cause\n")},
}

func written(t *testing.T, tables fs.FS) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, tables, "2026-11-21"); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestBundleIsReadAsItWasWritten(t *testing.T) {
	name := filepath.Join(t.TempDir(), "tables.zip")
	if err := os.WriteFile(name, written(t, twoTables), 0o644); err != nil {
		t.Fatal(err)
	}
	tables, m, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	if m.Date != "2026-11-21" || m.Schema != "cudacompat/tables/v1" || len(m.Files) != 2 {
		t.Errorf("the manifest says %+v", m)
	}
	for name, want := range twoTables {
		if got, err := fs.ReadFile(tables, name); err != nil || string(got) != string(want.Data) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if !bytes.Equal(written(t, twoTables), written(t, twoTables)) {
		t.Error("the same tables make other bytes")
	}
}

// zipped returns a zip of these entries in their order, whatever they say.
func zipped(t *testing.T, entries ...[2]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		f, err := w.Create(e[0])
		if err == nil {
			_, err = f.Write([]byte(e[1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func manifest(t *testing.T, m Manifest) [2]string {
	t.Helper()
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return [2]string{manifestName, string(data)}
}

func TestBrokenBundlesAreRefused(t *testing.T) {
	table := [2]string{"gpu.csv", "chip\n"}
	named := Manifest{Schema: Schema, Date: "2026-11-21", Files: []Entry{{"gpu.csv", sum([]byte("chip\n"))}}}
	whole := written(t, twoTables)
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":        {nil, "not a bundle of tables"},
		"text":         {[]byte("chip,capability\n"), "not a bundle of tables"},
		"cut":          {whole[:len(whole)/2], "not a bundle of tables, or a damaged one"},
		"other-zip":    {zipped(t, table), "does not begin with manifest.json"},
		"no-json":      {zipped(t, [2]string{manifestName, "{"}), "damaged: manifest.json"},
		"other-schema": {zipped(t, manifest(t, Manifest{Schema: "cudacompat/report/v1"})), `schema "cudacompat/report/v1"`},
		"too-new": {zipped(t, manifest(t, Manifest{Schema: "cudacompat/tables/v2"}), [2]string{"x", ""}),
			"made for a newer cudacompat"},
		"changed": {zipped(t, manifest(t, named), [2]string{"gpu.csv", "chip\nGH100\n"}),
			"gpu.csv is not what the manifest says"},
		"one-too-many": {zipped(t, manifest(t, named), table, [2]string{"ec2.csv", ""}), "names 1 files, 2 are there"},
		"another":      {zipped(t, manifest(t, named), [2]string{"ec2.csv", "chip\n"}), "does not name ec2.csv"},
		"gone":         {zipped(t, manifest(t, named)), "names 1 files, 0 are there"},
		"grows-for-all": {zipped(t, manifest(t, named), [2]string{"gpu.csv", strings.Repeat(" ", maxTables+1)}),
			"the tables are larger than 6 MiB in all"},
		"lines-for-all": {zipped(t, manifest(t, named), [2]string{"gpu.csv", strings.Repeat("\n", maxLines+1)}),
			"more than 40000 lines in all"},
		"twice": {zipped(t, manifest(t, Manifest{Schema: Schema, Date: "2026-11-21", Files: []Entry{named.Files[0],
			named.Files[0]}}), table, table), "gpu.csv stands twice"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := Read(c.data); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	if _, _, err := Read(zipped(t, manifest(t, named), table)); err != nil {
		t.Errorf("a sound one: %v", err)
	}
}

// TestNoBitIsLost flips each byte of a bundle. Either the bundle is rejected, or the tables that were written are read.
func TestNoBitIsLost(t *testing.T) {
	whole := written(t, twoTables)
	for i := range whole {
		data := bytes.Clone(whole)
		data[i] ^= 0x10
		tables, _, err := Read(data)
		if err != nil {
			continue
		}
		for name, want := range twoTables {
			if got, err := fs.ReadFile(tables, name); err == nil && string(got) != string(want.Data) {
				t.Fatalf("byte %d changed: %s reads %q", i, name, got)
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	var b bytes.Buffer
	if err := Write(&b, twoTables, "2026-11-21"); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, m, err := Read(data); err == nil && m.Schema != Schema {
			t.Errorf("a bundle of the form %q is taken", m.Schema)
		}
	})
}

// TestDir reads a directory's files once, and nothing that is not one.
func TestDir(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("torch.csv", "one\n")
	put("jax.csv", strings.Repeat("x", maxTables))
	if err := os.Symlink("/dev/zero", filepath.Join(dir, "gpu.csv")); err != nil {
		t.Fatal(err)
	}
	files, err := Dir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if data, err := fs.ReadFile(files, "torch.csv"); string(data) != "one\n" || err != nil {
			t.Errorf("%q, %v", data, err)
		}
		put("torch.csv", "another\n")
	}
	for name, want := range map[string]string{
		"jax.csv":     "read jax.csv: the tables are larger than 6 MiB in all",
		"gpu.csv":     "read gpu.csv: not a regular file",
		"nothing.csv": "no such file",
	} {
		if _, err := fs.ReadFile(files, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	if entries, err := fs.ReadDir(files, "."); len(entries) != 3 || err != nil {
		t.Errorf("%v, %v", entries, err)
	}
}
