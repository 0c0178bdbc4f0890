package driver

import (
	"io/fs"
	"syscall"
	"testing"

	"cudacompat/probe/host/hosttest"
)

// TestStartAtBoot checks each way in which a unit is enabled, and ways in which it only looks enabled.
func TestStartAtBoot(t *testing.T) {
	const (
		unit  = "-- usr/lib/systemd/system/fm.service --\n[Service]\nExecStart=/usr/bin/fm\n[Install]\nWantedBy=multi-user.target\n"
		link  = "-- etc/systemd/system/multi-user.target.wants/fm.service -> /lib/systemd/system/fm.service --\n"
		id    = "-- etc/machine-id --\n"
		rhel  = "-- usr/lib/systemd/system-preset/99-default-disable.preset --\ndisable *\n"
		named = "-- usr/lib/systemd/system-preset/90-nvidia.preset --\nenable fm.service\n"
	)
	for _, tt := range []struct{ name, tree, want string }{
		{"no unit", "-- usr/bin/fm --\n", ""},
		{"no unit, a link left over", link, ""},
		{"no link", unit + id, "disabled"},
		{"no link, no machine-id and no presets", unit, "disabled"},
		{"link", unit + id + link, "enabled"},
		{"vendor's link", unit + id + "-- usr/lib/systemd/system/multi-user.target.wants/fm.service -> ../fm.service --\n", "enabled"},
		{"required", unit + id + "-- etc/systemd/system/gpu.target.requires/fm.service -> x --\n", "enabled"},
		{"another unit's link", unit + id + "-- etc/systemd/system/multi-user.target.wants/fm2.service -> x --\n", "disabled"},
		{"masked", unit + id + link + "-- etc/systemd/system/fm.service -> /dev/null --\n", "masked"},
		{"preset at the first boot", unit + rhel + named, "enabled"},
		{"preset of an uninitialized machine", unit + rhel + named + id + "uninitialized\n", "enabled"},
		{"preset after the first boot", unit + rhel + named + id, "disabled"},
		{"preset that disables", unit + rhel, "disabled"},
		{"preset in /etc goes before", unit + named + "-- etc/systemd/system-preset/90-nvidia.preset --\ndisable fm.*\n", "disabled"},
		{"no preset matches", unit + "-- usr/lib/systemd/system-preset/90-systemd.preset --\nenable getty@.service\n", "enabled"},
		{"nothing to enable", "-- usr/lib/systemd/system/fm.service --\n[Service]\nExecStart=/usr/bin/fm\n" + id, ""},
		{"another unit wants it", unit + id + "-- etc/systemd/system/gpu.service --\n[Unit]\nWants=fm.service\n", ""},
		{"another unit comes after it", unit + id + "-- etc/systemd/system/gpu.service --\n[Unit]\nAfter=fm.service\n", "disabled"},
		{"links cannot be read", unit + id + "-- etc/systemd/system -> /etc/systemd/system --\n", ""},
	} {
		if got := startAtBoot(hosttest.Tree(t, tt.tree), "fm.service"); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestStartAtBootUnseen hides each file that decides whether a unit starts at boot. The answer is then open.
func TestStartAtBootUnseen(t *testing.T) {
	const unit = "-- usr/lib/systemd/system/fm.service --\n[Service]\nExecStart=/usr/bin/fm\n[Install]\nWantedBy=multi-user.target\n"
	for _, c := range []struct{ name, tree, hidden string }{
		{"presets", "-- usr/lib/systemd/system-preset/99-x.preset --\ndisable *\n", "/usr/lib/systemd/system-preset"},
		{"one preset, which may disable it", "-- usr/lib/systemd/system-preset/90-x.preset --\n-- etc/systemd/system-preset/99-y.preset --\nenable fm.service\n",
			"/usr/lib/systemd/system-preset/90-x.preset"},
		{"machine-id", "-- etc/machine-id --\n", "/etc/machine-id"},
		{"a drop-in, which may want it", "-- etc/machine-id --\n-- etc/systemd/system/a.service.d/x.conf --\n", "/etc/systemd/system/a.service.d/x.conf"},
	} {
		h := hosttest.Tree(t, unit+c.tree)
		if got := startAtBoot(h, "fm.service"); got == "" {
			t.Errorf("%s: %q where everything is seen", c.name, got)
		}
		h = h.WithFaults(func(_, name string) error {
			if name == c.hidden {
				return &fs.PathError{Op: "open", Path: name, Err: syscall.EACCES}
			}
			return nil
		})
		if got := startAtBoot(h, "fm.service"); got != "" {
			t.Errorf("%s hidden: %q", c.name, got)
		}
	}
}
