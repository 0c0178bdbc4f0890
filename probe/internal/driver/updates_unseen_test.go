package driver

import (
	"io/fs"
	"syscall"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host/hosttest"
)

// TestUpdatesUnseen hides each file that decides whether the driver is upgraded. The facts then name it.
func TestUpdatesUnseen(t *testing.T) {
	const apt = "-- usr/bin/unattended-upgrade --\n-- etc/apt/preferences.d/nvidia --\nPackage: nvidia-*\nPin: version 580.*\n" +
		"-- etc/apt/apt.conf.d/20auto-upgrades --\nAPT::Periodic::Unattended-Upgrade \"1\";\n"
	for _, c := range []struct{ tree, hidden, want string }{
		{apt, "", ""},
		{apt, "/etc/apt/preferences.d/nvidia", "/etc/apt/preferences.d"},
		{apt, "/etc/apt/preferences.d", "/etc/apt/preferences.d"},
		{apt, "/etc/apt/preferences", ""}, // the driver is pinned already
		{apt, "/etc/apt/apt.conf.d/20auto-upgrades", "/etc/apt/apt.conf.d"},
	} {
		h := hosttest.Tree(t, c.tree).WithFaults(func(_, name string) error {
			if name == c.hidden {
				return &fs.PathError{Op: "open", Path: name, Err: syscall.EACCES}
			}
			return nil
		})
		update, err := ReadUpdates(h)
		if err != nil {
			t.Errorf("%s hidden: %v", c.hidden, err)
			continue
		}
		var f facts.Facts
		update(&f)
		if u := f.Machine.Updates; u.Unread != c.want || (u.Pinned == "") != (c.want == "/etc/apt/preferences.d") {
			t.Errorf("%s hidden: %+v, want %q", c.hidden, u, c.want)
		}
	}
}
