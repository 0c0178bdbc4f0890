package matrix

import (
	"context"
	"io/fs"
	"slices"
	"testing"

	"cudacompat/data"
	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/verdict"
)

// watched records which files were opened.
type watched struct {
	fs.FS
	opened []string
}

// Open implements fs.FS.
func (w *watched) Open(name string) (fs.File, error) {
	w.opened = append(w.opened, name)
	return w.FS.Open(name)
}

// TestCheckReadsOnlyWhatItNeeds judges a machine that has only torch. The tables of other frameworks, images and
// compilers must not be read, and no table twice.
func TestCheckReadsOnlyWhatItNeeds(t *testing.T) {
	files := &watched{FS: data.FS}
	Check(context.Background(), tables.Open(files),
		machineWith("535.183.01", version.Capability{Major: 8, Minor: 9}, "3.12", "2.9.0+cu130"), nil, verdict.Policy{})
	slices.Sort(files.opened)
	if twice := slices.Compact(slices.Clone(files.opened)); len(twice) != len(files.opened) {
		t.Errorf("a table is read twice: %v", files.opened)
	}
	for _, file := range []string{"tensorflow.csv", "jax.csv", "container.csv", "host_compiler.csv", "signature",
		"ec2.csv", "xid.csv"} {
		if slices.Contains(files.opened, file) {
			t.Errorf("%s is read for a machine that has nothing of it: %v", file, files.opened)
		}
	}
}
