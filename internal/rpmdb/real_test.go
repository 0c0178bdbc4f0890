package rpmdb

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRealDatabases compares with rpm itself, on copies of the directories that the environment names:
//
//	RPM_DATABASES=/mnt/var/lib/rpm:/srv/sle15/rpm go test -v -run RealDatabases ./internal/rpmdb
func TestRealDatabases(t *testing.T) {
	dirs := os.Getenv("RPM_DATABASES")
	if dirs == "" {
		t.Skip("RPM_DATABASES names no directories")
	}
	for _, dir := range filepath.SplitList(dirs) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			copied := filepath.Join(t.TempDir(), "rpm") // rpm writes beside what it reads
			if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			got, err := readDir(t, copied)
			if err != nil {
				t.Fatal(err)
			}
			query := exec.Command("rpm", "--dbpath", copied, "-qa", "--qf",
				`%{NAME} %|EPOCH?{%{EPOCH}:}|%{VERSION}-%{RELEASE}\n`)
			out, err := query.Output()
			if err != nil {
				t.Fatal(err)
			}
			want := strings.Fields(strings.ReplaceAll(string(out), " ", "="))
			slices.Sort(want)
			if diff := cmp.Diff(want, names(got)); diff != "" {
				t.Errorf("packages (-rpm +this):\n%s", diff)
			}
			t.Logf("%d packages", len(got))
		})
	}
}

// readDir reads the database of a directory, whatever its form.
func readDir(t *testing.T, dir string) ([]Package, error) {
	t.Helper()
	for _, name := range []string{"rpmdb.sqlite", "Packages.db", "Packages"} {
		db, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		defer db.Close()
		info, err := db.Stat()
		if err != nil {
			t.Fatal(err)
		}
		var log io.ReaderAt
		if f, err := os.Open(filepath.Join(dir, name+"-wal")); err == nil {
			defer f.Close()
			log = f
		}
		return Read(db, info.Size(), log)
	}
	t.Fatalf("no database in %s", dir)
	return nil, nil
}

func names(list []Package) []string {
	var names []string
	for _, p := range list {
		names = append(names, p.Name+"="+p.Version)
	}
	slices.Sort(names)
	return names
}
