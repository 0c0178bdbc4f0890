package needs

import (
	"strings"
	"testing"

	"cudacompat/matrix/requires"
)

// TestHoldOfLock checks that a lock's hold says where to resolve a package from, and where to look for the setting.
func TestHoldOfLock(t *testing.T) {
	h := requires.Hold{Package: "torch", Newest: "2.9.1", Index: "PyPI", Instead: "cu130"}
	if got := plainSpeech.hold(h, "sub/uv.lock"); got != "make the lock resolve torch from PyPI again (see tool.uv.sources and default-groups in pyproject.toml)" {
		t.Error(got)
	}
	if got := plainSpeech.hold(h, "pyproject.toml"); got != "keep PyPI's torch (not cu130's)" {
		t.Error(got)
	}
}

// TestNewPart checks that a new group promises "nothing changes without it" only if nothing else in the file changes.
func TestNewPart(t *testing.T) {
	p := requires.PartChange{Part: "group gpu", State: "added", NewDriver: "580.65.06",
		Packages: []requires.PackageChange{{Name: "torch", New: "2.9.1+cu130"}}}
	const promise = "nothing changes for installations without it"
	for alone, want := range map[bool]int{true: 1, false: 0} {
		if got := plainSpeech.describePart(p, alone).String(); strings.Count(got, promise) != want || !strings.Contains(got, "needs driver 580.65.06 or newer") {
			t.Errorf("alone %v: %s", alone, got)
		}
	}
	f := requires.FileChange{File: "uv.lock", State: "changed", OldDriver: "525.60.13", NewDriver: "580.65.06", Parts: []requires.PartChange{p},
		Packages: []requires.PackageChange{{Name: "torch", Old: "2.9.1", New: "2.9.1+cu130"}}}
	if got := strings.Join(plainSpeech.lines(f), "\n"); strings.Contains(got, promise) {
		t.Error(got)
	}
	f.Packages, f.OldDriver, f.NewDriver = nil, "", ""
	if got := strings.Join(plainSpeech.lines(f), "\n"); !strings.Contains(got, promise) {
		t.Error(got)
	}
}
