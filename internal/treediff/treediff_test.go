package treediff

import (
	"os"
	"path/filepath"
	"testing"

	"cudacompat/internal/tables/frozen"
	"cudacompat/matrix"
	"cudacompat/matrix/requires"

	"github.com/google/go-cmp/cmp"
)

// A new release of anything changes nothing that these tests expect.
var _ = frozen.Use()

// TestChangedArgs checks which arguments of a Dockerfile are named: those before the first FROM that a FROM names and
// whose default differs, on whichever line they are.
func TestChangedArgs(t *testing.T) {
	write := func(text string) string {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	const from = "FROM pytorch/pytorch:${TORCH}-cuda$CUDA-cudnn9-runtime\nARG LATER=1\n"
	old := write("ARG OTHER=1\nARG TORCH=2.8.0 \\\n    CUDA=12.8\n" + from)
	now := write("ARG OTHER=2\nARG TORCH=2.9.0 \\\n    CUDA=\"13.0\"\n" + from)
	got, err := Compare(t.Context(), old, now, Options{Tables: matrix.Embedded()})
	if err != nil || len(got.Files) != 1 {
		t.Fatalf("%v, %+v", err, got)
	}
	want := []requires.ArgChange{{Name: "TORCH", Old: "2.8.0", New: "2.9.0"}, {Name: "CUDA", Old: "12.8", New: "13.0"}}
	if diff := cmp.Diff(want, got.Files[0].BuildArgs); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
