package pin

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestInstallIntoDirectory checks that pip replaces a package in a directory only with --upgrade ("Target directory …
// already exists"), and that no command uninstalls from a directory.
func TestInstallIntoDirectory(t *testing.T) {
	got := Install{Remove: []string{"a"}, Packages: []string{"torch==2.9.0"}}.Commands(Place{Target: "/srv/pylibs"})
	want := map[string]string{
		"pip": "pip install --target /srv/pylibs --upgrade torch==2.9.0",
		"uv":  "uv pip uninstall --target /srv/pylibs a && uv pip install --target /srv/pylibs torch==2.9.0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
