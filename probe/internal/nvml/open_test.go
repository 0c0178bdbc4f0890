//go:build linux

package nvml

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"cudacompat/probe/facts"
	"cudacompat/probe/host/hosttest"
)

// TestOpenNode opens nodes that every machine has: accessible ones, one whose driver refuses, and a missing one.
func TestOpenNode(t *testing.T) {
	dir := t.TempDir()
	hosttest.Must(t, os.WriteFile(filepath.Join(dir, "closed"), nil, 0))
	for name, want := range map[string]string{
		"/dev/null": "ok", "/dev/nvidia-not-there": "ENOENT", dir: "EISDIR",
	} {
		if got := openNode(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if got := openNode(filepath.Join(dir, "closed")); os.Geteuid() != 0 && got != "EACCES" {
		t.Errorf("a closed file: %s", got)
	}
}

// TestOpenHangs checks that an open call that never returns is abandoned.
func TestOpenHangs(t *testing.T) {
	started := time.Now()
	got := openHere(func() map[string]string { select {} })
	if got["/dev/nvidiactl"] != "no answer" || got["/dev/nvidia-uvm"] != "no answer" || time.Since(started) > time.Minute {
		t.Errorf("%v after %s", got, time.Since(started))
	}
}

func TestHasMajor(t *testing.T) {
	const devices = "Character devices:\n  1 mem\n195 nvidia\n508 nvidia-uvm\n\nBlock devices:\n  8 sd\n"
	for major, want := range map[int]bool{1: true, 195: true, 508: true, 8: false, 50: false} {
		if got := hasMajor(devices, major); got != want {
			t.Errorf("major %d: %v", major, got)
		}
	}
	if !hasMajor("Character devices:\n\nBlock devices:\n", 195) {
		t.Error("a kernel that lists none has none of that number")
	}
}

// TestOpenedIsOfTheNodes checks that the child's result for a node is stored with that node, whatever NVML reports
// afterwards.
func TestOpenedIsOfTheNodes(t *testing.T) {
	a := Answer{NVML: notFound, Opened: map[string]string{"/dev/nvidiactl": "EPERM"}}
	f := facts.Facts{Devices: facts.Devices{Nodes: []facts.Node{{Path: "/dev/nvidia0"}, {Path: "/dev/nvidiactl"}}}}
	a.Apply(&f)
	if f.Devices.Nodes[0].Open != "" || f.Devices.Nodes[1].Open != "EPERM" {
		t.Errorf("%+v", f.Devices.Nodes)
	}
}
