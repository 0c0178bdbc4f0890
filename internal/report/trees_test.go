package report

import (
	"strings"
	"testing"

	"cudacompat/matrix/requires"
)

// TestHoldOfLock checks that a lock's hold says where to resolve a package from, and names no setting.
func TestHoldOfLock(t *testing.T) {
	h := requires.Hold{Package: "torch", Newest: "2.9.1", Index: "PyPI", Instead: "cu130"}
	if got := plainSpeech.hold(h, isLock("sub/uv.lock")); !strings.HasPrefix(got, "make the lock resolve torch from PyPI again (") {
		t.Error(got)
	}
	if got := plainSpeech.hold(h, isLock("pyproject.toml")); got != "keep PyPI's torch (not cu130's)" {
		t.Error(got)
	}
}
