package probe

import (
	"testing"

	"golang.org/x/tools/txtar"
)

// TestEngineVersions checks the versions from Docker's own packages, and from Amazon's.
func TestEngineVersions(t *testing.T) {
	alone := filesOf(t, txtar.Parse([]byte("-- var/lib/rpm/rpmdb.sqlite = rpmdb --\npodman 5:5.4.0-9.el9_6\n")))
	if alone.Runtimes.Podman != "5:5.4.0-9.el9_6" || len(alone.Runtimes.Found) != 0 {
		t.Errorf("Podman alone: %+v", alone.Runtimes)
	}
	for name, tt := range map[string]struct{ files, want string }{
		"dpkg": {"-- var/lib/dpkg/status --\nPackage: docker-ce\nStatus: install ok installed\nVersion: 5:28.1.1-1\n\n" +
			"Package: docker-ce-cli\nStatus: install ok installed\nVersion: 5:29.0-1\n", "5:28.1.1-1"},
		"rpm":     {"-- var/lib/rpm/rpmdb.sqlite = rpmdb --\ndocker 25.0.8-1.amzn2023\n", "25.0.8-1.amzn2023"},
		"by-hand": {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := filesOf(t, txtar.Parse([]byte("-- usr/bin/dockerd --\n"+tt.files)))
			if len(f.Runtimes.Found) != 1 || f.Runtimes.Found[0].Version != tt.want {
				t.Errorf("%+v, want %q", f.Runtimes.Found, tt.want)
			}
		})
	}
}
