package main

import (
	"runtime/debug"
	"testing"
)

func TestVersionOfAnArchive(t *testing.T) {
	const commit = "5d4f9d4f0d0c6b2c8f0e8a1b3c5d7e9f0a1b2c3d 1795332622 2026-11-22"
	for stamp, want := range map[string]string{
		"$Format:%H %ct %cs %(describe:tags=true,match=v*)$\n": "", // a checkout
		commit + " v0.1.0\n":           "v0.1.0",
		commit + " v0.1.0-4-g5d4f9d4f": "v0.1.0-4-g5d4f9d4f",
		commit + " \n":                 "0.0.0-20261122-5d4f9d4f0d0c", // no tag yet
		"":                             "",
	} {
		if got := archiveVersion(stamp); got != want {
			t.Errorf("stamped(%q) = %q, want %q", stamp, got, want)
		}
	}
}

func TestVersionOfABuild(t *testing.T) {
	for module, want := range map[string]string{
		"(devel)": "", "": "", "v0.2.0": "v0.2.0",
		"v0.0.0-20261122020606-2a0d0a4b1c2d+dirty": "v0.0.0-20261122020606-2a0d0a4b1c2d+dirty",
	} {
		if got := buildVersion(&debug.BuildInfo{Main: debug.Module{Version: module}}); got != want {
			t.Errorf("built(%q) = %q, want %q", module, got, want)
		}
	}
	if got := buildVersion(nil); got != "" {
		t.Errorf("without a record: %q", got)
	}
}
