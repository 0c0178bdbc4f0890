package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
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
	packages, err := debianPackages("bullseye libstdc++6 10.2.1-6 amd64\nbookworm libc6 2.36-9+deb12u13 arm64\n")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := provenance(&out, release{"0.1.0", "5d4f9d4", packages}, []string{file}); err != nil {
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
	for i, want := range []string{"pkg:deb/debian/libstdc++6@10.2.1-6?arch=amd64&distro=bullseye",
		"pkg:deb/debian/libc6@2.36-9+deb12u13?arch=arm64&distro=bookworm"} {
		if got := s.Predicate.Definition.Dependencies[2+i].URI; got != want {
			t.Errorf("package %q, want %q", got, want)
		}
	}
	if _, err := debianPackages(""); err == nil {
		t.Error("roots without packages pass")
	}
	if err := provenance(&out, release{}, []string{file + ".gone"}); err == nil {
		t.Error("a file that is not there has no digest")
	}
}

// TestLicences recognises each by the words that are its own, however they are broken into lines.
func TestLicences(t *testing.T) {
	bsd := "Redistribution and use in source and binary\nforms, with or without modification, are permitted"
	for text, want := range map[string][]string{
		"Apache License\n   Version 2.0, January 2004":                                  {"Apache-2.0"},
		"Permission is hereby granted, free of\ncharge, to any person obtaining a copy": {"MIT"},
		bsd: {"BSD-2-Clause"},
		bsd + "\n * Neither the name of Google Inc. nor":                                                                   {"BSD-3-Clause"},
		bsd + "\n * Neither the name of x\n\nPermission is hereby granted, free of charge, to any person obtaining a copy": {"MIT", "BSD-3-Clause"},
		"All rights reserved.": nil,
	} {
		if got := idsIn(text); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// TestEveryModuleHasALicence reads the licence of every linked module.
func TestEveryModuleHasALicence(t *testing.T) {
	t.Chdir("../..")
	all, err := linkedLicences()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{"std": {"BSD-3-Clause"}, "github.com/spf13/cobra": {"Apache-2.0"}} {
		if !slices.Equal(all[name], want) {
			t.Errorf("%s: %v, want %v", name, all[name], want)
		}
	}
	b := bom{Components: []component{{Name: "std"}, {Name: "example.org/unknown"}}}
	if err := b.license(all); err == nil || b.Components[0].Licenses[0].License.ID != "BSD-3-Clause" {
		t.Errorf("%v, %+v", err, b.Components)
	}
	t.Log(all)
}
