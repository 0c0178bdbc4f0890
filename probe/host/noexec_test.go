package host_test

import (
	"testing"

	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"
)

func TestFirstNoExec(t *testing.T) {
	const home = "40 24 259:2 / /home rw,nosuid,noexec shared:7 - ext4 /dev/sdb rw\n"
	for name, tt := range map[string]struct{ mounts, dir, want string }{
		"on it":                {ext4 + home, "/home/ana/venv/lib", "/home"},
		"beside it":            {ext4 + home, "/homes/venv/lib", ""},
		"deeper mount":         {ext4 + home + "41 40 259:3 / /home/ana rw - ext4 /dev/sdc rw\n", "/home/ana/venv/lib", ""},
		"covered later":        {ext4 + home + "42 24 259:4 / /home rw - ext4 /dev/sdd rw\n", "/home/ana/venv/lib", ""},
		"by a link":            {ext4 + home, "/opt/venv/lib", "/home"},
		"option of the source": {ext4 + "40 24 259:2 / /home rw - ext4 /dev/sdb rw,noexec\n", "/home/ana/venv/lib", ""},
		"root itself":          {"24 1 259:1 / / rw,noexec - ext4 /dev/root rw\n", "/homes/venv/lib", "/"},
		"no mountinfo":         {"", "/home/ana/venv/lib", ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := hosttest.Tree(t, "-- @env --\n-- home/ana/venv/lib/ --\n-- homes/venv/lib/ --\n-- opt/venv -> /home/ana/venv --\n"+self(tt.mounts))
			if got := host.FirstNoExec(h, []string{"/gone", tt.dir}); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
			h.Rest = true
			if got := host.FirstNoExec(h, []string{tt.dir}); got != "" {
				t.Errorf("at rest: %q", got)
			}
		})
	}
}
