package host_test

import (
	"os"
	"path/filepath"
	"testing"

	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"
)

// TestContainerByRoot reads mounts where neither control groups nor modules say anything.
func TestContainerByRoot(t *testing.T) {
	tests := []struct{ name, mounts, want string }{
		{"containerd", "612 431 0:87 / / rw - overlay overlay " +
			"rw,lowerdir=/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/12/fs", "containerd"},
		{"docker", "612 431 0:87 / / rw - overlay overlay rw,lowerdir=/var/lib/docker/overlay2/l/ABC", "docker"},
		{"hook", "20 1 259:1 / / rw - ext4 /dev/root rw\n21 20 0:124 / /proc/driver/nvidia rw - tmpfs tmpfs rw",
			"container"},
		{"host", "20 1 259:1 / / rw - ext4 /dev/root rw", "container"}, // nothing shows that it is a host
		{"host-of-docker", "20 1 259:1 / / rw - ext4 /dev/root rw\n" +
			"99 20 0:87 / /var/lib/docker/overlay2/x/merged rw - overlay overlay " +
			"rw,lowerdir=/var/lib/docker/overlay2/l/ABC", "container"},
		{"buildkit", "612 431 0:87 / / rw - overlay overlay " +
			"rw,lowerdir=/var/lib/buildkit/runc-overlayfs/snapshots/1/fs", "buildkit"},
		{"cut", "20 1 259:1", "container"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			hosttest.Must(t, os.MkdirAll(filepath.Join(root, "proc/self"), 0o755))
			hosttest.Must(t, os.WriteFile(filepath.Join(root, "proc/self/mountinfo"), []byte(tt.mounts+"\n"), 0o644))
			if got := (&host.Host{Root: root}).ContainerKind(); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
