package process

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"

	"github.com/google/go-cmp/cmp"
)

// TestNodeAccess asks of real nodes what open would answer; the driver's major number has no driver behind it here,
// which shows that nothing is opened.
func TestNodeAccess(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("making device nodes is for root alone")
	}
	root := t.TempDir()
	hosttest.Must(t, os.Mkdir(filepath.Join(root, "dev"), 0o755))
	if err := syscall.Mknod(filepath.Join(root, "dev/nvidiactl"), syscall.S_IFCHR|0o666, 195<<8|255); err != nil {
		t.Skip("device nodes cannot be made here:", err)
	}
	h := &host.Host{Root: root}
	node, err := readNode(h, "/dev/nvidiactl")
	hosttest.Must(t, err)
	if node.Access != "ok" {
		t.Skip("the device control group refuses this node:", node.Access)
	}
	if node.Mode[0] != 'D' || node.Major != 195 {
		t.Errorf("mode %q and major %d are not the device's", node.Mode, node.Major)
	}
	if err := syscall.Mount("tmpfs", filepath.Join(root, "dev"), "tmpfs", syscall.MS_NODEV, ""); err != nil {
		t.Skip("nothing can be mounted here:", err)
	}
	defer syscall.Unmount(filepath.Join(root, "dev"), 0)
	hosttest.Must(t, syscall.Mknod(filepath.Join(root, "dev/nvidiactl"), syscall.S_IFCHR|0o666, 195<<8|255))
	node, err = readNode((&host.Host{Root: root}), "/dev/nvidiactl")
	hosttest.Must(t, err)
	if node.Access != "EACCES" {
		t.Errorf("a mount without devices: %q, want EACCES", node.Access)
	}
}

func TestModprobe(t *testing.T) {
	root := t.TempDir()
	h := func() *host.Host { return &host.Host{Root: root} }
	name := filepath.Join(root, "usr/bin/nvidia-modprobe")
	hosttest.Must(t, os.MkdirAll(filepath.Dir(name), 0o755))
	got := []string{modprobeState(h())}
	hosttest.Must(t, os.WriteFile(name, nil, 0o755))
	got = append(got, modprobeState(h()))
	hosttest.Must(t, os.Chmod(name, 0o755|os.ModeSetuid))
	got = append(got, modprobeState(h()))
	if diff := cmp.Diff([]string{"absent", "not setuid", "setuid"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseLimit(t *testing.T) {
	const limits = "Limit                     Soft Limit           Hard Limit           Units\n" +
		"Max locked memory         8388608              8388608              bytes\n" +
		"Max address space         unlimited            unlimited            bytes\n"
	for name, want := range map[string]int64{"Max locked memory": 8388608, "Max address space": -1, "Max data size": 0} {
		if got := parseLimit(limits, name); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}

// TestOwnName opens this thread's own, and one that a sandbox keeps closed.
func TestOwnName(t *testing.T) {
	if got := commAccess(host.This()); got != "writable" {
		t.Errorf("here: %q", got)
	}
	if got := commAccess(&host.Host{Root: t.TempDir()}); got != "" {
		t.Errorf("without /proc: %q", got)
	}
	if os.Geteuid() == 0 {
		return
	}
	root := t.TempDir()
	file := filepath.Join(root, "proc/self/task/7/comm")
	hosttest.Write(t, file, "python\n")
	hosttest.Must(t, os.Chmod(file, 0o444))
	if got := commAccess(&host.Host{Root: root}); got != "refused" {
		t.Errorf("closed: %q", got)
	}
}

func FuzzParseLimit(f *testing.F) {
	f.Add("Max locked memory         8388608              8388608              bytes\n")
	f.Add("Max locked memory         unlimited")
	f.Fuzz(func(t *testing.T, text string) {
		if n := parseLimit(text, "Max locked memory"); n < -1 {
			t.Errorf("%d bytes", n)
		}
	})
}

func TestMayLock(t *testing.T) {
	const all = "         0          0 4294967295\n"
	for _, tt := range []struct {
		status, users string
		want          bool
	}{
		{"CapEff:\t000001ffffffffff\n", all, true},
		{"CapEff:\t00000000a80425fb\n", all, false}, // Docker's default
		{"CapEff:\t000001ffffffffff\n", "         0       1000          1\n", false},
		{"", "", false},
	} {
		root := t.TempDir()
		hosttest.Write(t, filepath.Join(root, "proc/self/status"), "Name:\tx\n"+tt.status)
		hosttest.Write(t, filepath.Join(root, "proc/self/uid_map"), tt.users)
		if got := canLock(&host.Host{Root: root}); got != tt.want {
			t.Errorf("%q, %q: %v", tt.status, tt.users, got)
		}
	}
}
