package container

import (
	"cudacompat/probe/host/hosttest"
	"testing"
)

// TestOwnDevices checks that the owner of /dev decides whether its nodes were given to the container.
func TestOwnDevices(t *testing.T) {
	const container = "-- @env --\n-- proc/self/mountinfo --\n600 500 0:60 / / rw - overlay overlay rw\n"
	for name, tt := range map[string]struct{ files, want string }{
		"docker":     {container + "602 600 0:62 / /dev rw,nosuid - tmpfs tmpfs rw\n", "yes"},
		"apptainer":  {container + "602 600 0:5 / /dev rw,nosuid - devtmpfs devtmpfs rw\n", "no"},
		"privileged": {container + "602 600 0:62 / /dev rw,nosuid - tmpfs tmpfs rw\n-- dev/cpu_dma_latency --\n", "no"},
		"not-told":   {container, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ownDevices(hosttest.Tree(t, tt.files)); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
