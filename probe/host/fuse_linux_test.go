package host_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"cudacompat/internal/budget"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"
)

// TestStalledFUSE reads a tree on a FUSE file system that does not answer about one directory and one file. The rest is
// read, and each place that did not answer is recorded once.
func TestStalledFUSE(t *testing.T) {
	if !hosttest.InMountNamespace(t) {
		return
	}
	dir, mount := t.TempDir(), t.TempDir()
	hosttest.Write(t, filepath.Join(dir, "etc/os-release"), "ID=ubuntu\n")
	hosttest.Write(t, filepath.Join(dir, "home/somebody/file"), "text\n")
	hosttest.Write(t, filepath.Join(dir, "opt/file"), "text\n")
	hosttest.MountFUSE(t, dir, mount, func(path string) bool { return strings.HasPrefix(path, "/home") || path == "/opt/file" })
	if !strings.Contains(pointsOf(host.FUSEMounts()), mount) {
		t.Fatalf("the mount is not among %q", pointsOf(host.FUSEMounts()))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Second)
	defer cancel()
	h, err := host.Tree(mount)
	if err != nil {
		t.Fatal(err)
	}
	h.Budget = budget.Usual(ctx)
	if _, err := h.ReadDir("/home"); !errors.Is(err, syscall.ETIMEDOUT) || !strings.Contains(err.Error(), "the FUSE file system at "+mount+" did not answer") {
		t.Errorf("/home: %v", err)
	}
	if h.Exists("/home/somebody/file") {
		t.Error("a file in what did not answer exists")
	}
	if _, err := h.ReadFile("/opt/file"); !errors.Is(err, syscall.ETIMEDOUT) {
		t.Errorf("/opt/file: %v", err)
	}
	if entries, err := h.ReadDir("/etc"); err != nil || len(entries) != 1 {
		t.Errorf("/etc: %v, %v", entries, err)
	}
	if line, err := h.ReadLine("/etc/os-release"); line != "ID=ubuntu" || err != nil {
		t.Errorf("/etc/os-release: %q, %v", line, err)
	}
	var places []string
	for _, s := range host.Topmost(h.DrainSkipped()) {
		places = append(places, s.Place)
	}
	if got := strings.Join(places, " "); got != "/home /opt/file" {
		t.Errorf("recorded: %s", got)
	}
	if err := ctx.Err(); err != nil {
		t.Errorf("no time is left for the rest: %v", err)
	}
}

func pointsOf(mounts []host.Mount) string {
	var points []string
	for _, m := range mounts {
		points = append(points, m.Point)
	}
	return strings.Join(points, " ")
}
