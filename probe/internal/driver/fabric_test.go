package driver

import (
	"testing"

	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"
)

// TestStartOf reads when the fabric manager was started last.
func TestStartOf(t *testing.T) {
	root := t.TempDir()
	for pid, of := range map[string]string{"100": "(nv-fabricmanage) S 1 1 1 0 -1 4194560 2031 0 12 0 45 30 0 0 20 0 19 0 4211 187", "101": "(nv-fabricmanage) S 1 1 1 0 -1 4194560 2031 0 12 0 45 30 0 0 20 0 19 0 3000 187",
		"102": "(a) b) S 1 1 1 0 -1 4194560 2031 0 12 0 45 30 0 0 20 0 19 0 999999 187"} {
		name := "nv-fabricmanage"
		if pid == "102" {
			name = "a) b"
		}
		hosttest.Write(t, root+"/proc/"+pid+"/comm", name+"\n")
		hosttest.Write(t, root+"/proc/"+pid+"/stat", pid+" "+of+"\n")
	}
	if got := startOf(&host.Host{Root: root}, "nv-fabricmanage"); got != 42.11 {
		t.Errorf("%v, want 42.11", got)
	}
	if got := startOf(&host.Host{Root: root}, "other"); got != 0 {
		t.Errorf("of none: %v", got)
	}
}
