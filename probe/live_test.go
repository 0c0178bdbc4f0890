package probe

import (
	"context"
	"cudacompat/probe/facts"
	"cudacompat/probe/host/hosttest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// TestReadMachineLive reads a machine that runs: an A100 host in a Slurm job.
func TestReadMachineLive(t *testing.T) {
	archive := txtar.Parse([]byte(`
-- @env --
SLURM_JOB_ID=4711
-- proc/uptime --
350735.47 234388.90
-- proc/1/comm --
systemd
-- proc/4711/comm --
nv-fabricmanage
-- proc/4712/comm --
nvidia-persiste
-- proc/bus/comm --
nvidia-gridd
-- sys/bus/pci/devices/0000:c4:00.0/vendor --
0x10de
-- sys/bus/pci/devices/0000:c4:00.0/class --
0x068000
-- sys/bus/pci/devices/0000:c5:00.0/vendor --
0x10de
-- sys/bus/pci/devices/0000:c5:00.0/class --
0x068000
-- sys/bus/pci/devices/0000:c5:00.0/driver -> /sys/bus/pci/drivers/vfio-pci --
-- sys/bus/pci/drivers/vfio-pci/ --
-- sys/module/ib_umad/ --
-- usr/bin/nv-fabricmanager --
-- var/lib/dpkg/status --
Package: nvidia-fabricmanager-535
Status: install ok installed
Version: 535.183.01-1
-- run/nvidia/driver/usr/ --
`))
	f := runSources(context.Background(), hosttest.Host(t, archive), Options{})
	want := facts.Machine{Uptime: 350735.47, Job: "slurm", Persistenced: true,
		Installers: []facts.Installer{{Kind: "driver-container", Path: "/run/nvidia/driver/usr"}},
		Packages: []facts.DriverPackage{{Name: "nvidia-fabricmanager-535", Version: "535.183.01-1",
			From: "/var/lib/dpkg/status"}},
		Fabric: facts.Fabric{Manager: "/usr/bin/nv-fabricmanager", Version: "535.183.01-1",
			From: "package nvidia-fabricmanager-535", Running: "yes", UMAD: "loaded", Switches: 1}}
	if diff := cmp.Diff(want, f.Machine); diff != "" {
		t.Errorf("machine (-want +got):\n%s", diff)
	}
}
