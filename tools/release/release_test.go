package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const emptySum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" // SHA-256 of nothing

func TestBillNamesWhatIsLinked(t *testing.T) {
	info := &debug.BuildInfo{GoVersion: "go1.26.0", Main: debug.Module{Path: "cudacompat"}, Deps: []*debug.Module{
		{Path: "example.org/a", Version: "v2.0.0+incompatible"},
		{Path: "example.org/b", Version: "v1.0.0", Replace: &debug.Module{Path: "example.org/c", Version: "v1.1.0"}},
	}}
	b := bomOf(info, emptySum, "0.1.0", time.Unix(0, 0).UTC())
	want := []dependency{
		{"pkg:golang/cudacompat@0.1.0", []string{
			"pkg:golang/std@1.26.0", "pkg:golang/example.org/a@v2.0.0%2Bincompatible", "pkg:golang/example.org/c@v1.1.0"}},
		{Ref: "pkg:golang/std@1.26.0"}, {Ref: "pkg:golang/example.org/a@v2.0.0%2Bincompatible"},
		{Ref: "pkg:golang/example.org/c@v1.1.0"},
	}
	if diff := cmp.Diff(want, b.Dependencies); diff != "" {
		t.Error(diff)
	}
	if want := "urn:uuid:e3b0c442-98fc-8c14-8afb-f4c8996fb924"; b.Serial != want {
		t.Errorf("serial number %s, want %s", b.Serial, want)
	}
}

func TestProvenanceNamesEveryFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "empty.whl")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := provenance(&out, release{"0.1.0", "5d4f9d4"}, []string{file}); err != nil {
		t.Fatal(err)
	}
	var s statement
	if err := json.Unmarshal([]byte(out.String()), &s); err != nil {
		t.Fatal(err)
	}
	want := []resource{{Name: "empty.whl", Digest: map[string]string{"sha256": emptySum}}}
	if diff := cmp.Diff(want, s.Subject); diff != "" {
		t.Error(diff)
	}
	if got := s.Predicate.Definition.Dependencies[0].Digest["gitCommit"]; got != "5d4f9d4" {
		t.Errorf("commit %q", got)
	}
	if err := provenance(&out, release{}, []string{file + ".gone"}); err == nil {
		t.Error("a file that is not there has no digest")
	}
}
