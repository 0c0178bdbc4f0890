package driver

import (
	"bytes"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host/hosttest"

	"github.com/google/go-cmp/cmp"
	"github.com/ulikunitz/xz"
)

const dpkgStatus = `-- var/lib/dpkg/status --
Package: libnvidia-compute-535-server
Status: hold ok installed
Maintainer: Ubuntu Core Developers <ubuntu-devel-discuss@lists.ubuntu.com>
Version: 535.183.01-0ubuntu0.22.04.1
Description: NVIDIA libcompute package
 Version: 1.0

Package: nvidia-utils-550
Status: deinstall ok config-files
Version: 550.90.07-0ubuntu0.22.04.1

Package: nvidia-driver-local-repo-ubuntu2204-550.90.07
Status: install ok installed
Version: 1.0-1

Package: nvidia-driver-570
Status: install ok installed
Maintainer: Ubuntu Core Developers <ubuntu-devel-discuss@lists.ubuntu.com>
Version: 570.86.16-0ubuntu0~gpu22.04.1

Package: nvidia-settings
Status: install ok installed
Version: 580.95.05-1ubuntu1

Package: nvidia-fabricmanager-535
Status: install ok installed
Maintainer: cudatools <cudatools@nvidia.com>
Version: 535.183.01-1

Package: libnccl2
Status: install ok installed
Source: nccl
Version: 2.21.5-1+cuda12.4

Package: libcudnn9-cuda-12
Status: hold ok installed
Version: 9.1.0.70-1

Package: libcudnn8
Status: deinstall ok config-files
Version: 8.9.7.29-1+cuda12.2

Package: libcudnn7
Status: install ok half-installed
Version: 7.6.5.32-1+cuda10.2

Package: libnccl-dev
Status: install ok installed
Version: 2.21.5-1
`

// rpmPackageLines are the packages of an EKS image of Amazon Linux 2023, and some unrelated to the driver.
const rpmPackageLines = `bash 5.2.15-1.amzn2023.0.2
nvidia-release 2023-1.amzn2023
nvidia-container-toolkit 1.18.0-1
nvidia-persistenced 3:580.95.05-1.amzn2023
nvidia-driver-cuda-libs 3:580.95.05-1.amzn2023
kmod-nvidia-latest-dkms 3:580.95.05-1.amzn2023
nvidia-fabricmanager 580.95.05-1
libnccl 2.27.7-1+cuda13.0
libnccl-devel 2.27.7-1+cuda13.0
libcudnn9-cuda-13 9.13.0.50-1
`

func TestReadDriverPackages(t *testing.T) {
	debian := func() facts.Facts {
		const from = "/var/lib/dpkg/status"
		return facts.Facts{Libraries: []facts.Library{{Name: "libnccl2", Version: "2.21.5", Path: from},
			{Name: "libcudnn9-cuda-12", Version: "9.1.0.70", Path: from}},
			Machine: facts.Machine{Fabric: facts.Fabric{Version: "535.183.01-1", From: "package nvidia-fabricmanager-535"},
				Packages: []facts.DriverPackage{
					{Name: "libnvidia-compute-535-server", Version: "535.183.01-0ubuntu0.22.04.1", From: from,
						Held:   true,
						Vendor: "ubuntu"},
					{Name: "nvidia-driver-570", Version: "570.86.16-0ubuntu0~gpu22.04.1", From: from, Vendor: "ppa"},
					{Name: "nvidia-fabricmanager-535", Version: "535.183.01-1", From: from, Vendor: "nvidia"}}}}
	}
	rpm := func(from string) facts.Facts {
		return facts.Facts{Libraries: []facts.Library{{Name: "libnccl", Version: "2.27.7", Path: from},
			{Name: "libcudnn9-cuda-13", Version: "9.13.0.50", Path: from}},
			Machine: facts.Machine{Fabric: facts.Fabric{Version: "580.95.05-1", From: "package nvidia-fabricmanager"},
				Packages: []facts.DriverPackage{
					{Name: "nvidia-driver-cuda-libs", Version: "3:580.95.05-1.amzn2023", From: from},
					{Name: "kmod-nvidia-latest-dkms", Version: "3:580.95.05-1.amzn2023", From: from},
					{Name: "nvidia-fabricmanager", Version: "580.95.05-1", From: from}}}}
	}
	for _, tt := range []struct {
		name, tree string
		want       facts.Facts
	}{
		{"dpkg", dpkgStatus, debian()},
		{"rpm", "-- var/lib/rpm/rpmdb.sqlite = rpmdb --\n" + rpmPackageLines, rpm("/var/lib/rpm/rpmdb.sqlite")},
		{"rpm-linked", "-- var/lib/rpm -> ../../usr/lib/sysimage/rpm --\n" +
			"-- usr/lib/sysimage/rpm/rpmdb.sqlite = rpmdb --\n" + rpmPackageLines, rpm("/var/lib/rpm/rpmdb.sqlite")},
		{"rpm-suse", "-- usr/lib/sysimage/rpm/rpmdb.sqlite = rpmdb --\n" + rpmPackageLines,
			rpm("/usr/lib/sysimage/rpm/rpmdb.sqlite")},
		{"dpkg-with-rpm-as-a-tool", dpkgStatus + "-- var/lib/rpm/rpmdb.sqlite = rpmdb --\n", debian()},
		{"runfile", "-- usr/bin/nvidia-uninstall --\n", facts.Facts{Machine: facts.Machine{Runfile: "/usr/bin/nvidia-uninstall"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			apply, err := ReadPackages(hosttest.Tree(t, tt.tree))
			hosttest.Must(t, err)
			var got facts.Facts
			apply(&got)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("facts (-want +got):\n%s", diff)
			}
		})
	}
}

// TestReadRPMForms reads databases that rpm and libdb wrote; the log of SQLite's has one package more.
func TestReadRPMForms(t *testing.T) {
	for name, want := range map[string][]string{"rpmdb.sqlite": {"libcudnn9-cuda-13 9.13.0.50", "libnccl 2.27.7"},
		"Packages.db": {"libnccl 2.27.7"}, "Packages": {"libnccl 2.27.7"}} {
		h := hosttest.Tree(t, "-- var/lib/rpm/.rpm.lock --\n")
		for _, file := range []string{name, name + "-wal"} {
			packed, err := os.Open("../../../internal/rpmdb/testdata/" + file + ".xz")
			if err != nil {
				continue
			}
			defer packed.Close()
			r, err := xz.NewReader(packed)
			hosttest.Must(t, err)
			data, err := io.ReadAll(r)
			hosttest.Must(t, err)
			hosttest.Must(t, os.WriteFile(h.Real("/var/lib/rpm/"+file), data, 0o644))
		}
		apply, err := ReadPackages(h)
		hosttest.Must(t, err)
		var f facts.Facts
		apply(&f)
		var got []string
		for _, l := range f.Libraries {
			got = append(got, l.Name+" "+l.Version)
		}
		slices.Sort(got)
		if len(f.Machine.Packages) != 4 || f.Machine.Fabric.Version != "580.95.05-1" || !slices.Equal(got, want) {
			t.Errorf("%s: libraries %q, machine %+v", name, got, f.Machine)
		}
	}
}

// TestDriverPackageNames checks packages of the driver, and names that only look like one.
func TestDriverPackageNames(t *testing.T) {
	for name, want := range map[string]bool{
		"nvidia-driver-535-server": true, "nvidia-driver-cuda": true, "nvidia-driver-libs": true,
		"nvidia-driver-NVML": true, "nvidia-driver-latest-dkms-cuda-libs": true,
		"kmod-nvidia-open-dkms": true, "kmod-nvidia-580.95.05-5.14.0-570.el9": true, "nvidia-open-580": true,
		"libnvidia-ml": true, "xorg-x11-drv-nvidia-cuda-libs": true,
		"nvidia-fabric-manager": true, "nvidia-imex": true, "libnvidia-nscq-570": true, "nvlsm": true,
		"nvidia-driver-local-repo-rhel9-580.95.05": false, "nvidia-settings": false, "nvidia-modprobe": false,
		"nvidia-release": false, "nvidia-container-toolkit": false,
		"libnvidia-container1": false, "cuda-toolkit-13-0": false, "cuda-compat-13-0": false,
	} {
		if got := driverPackageName.MatchString(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func FuzzParseDpkgStatus(f *testing.F) {
	f.Add([]byte("Package: libcuda1\nStatus: install ok installed\nVersion: 1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		packages, err := parseDpkgStatus(bytes.NewReader(data))
		if err != nil && len(data) < maxStanza {
			t.Error(err)
		}
		for _, p := range packages {
			if !isInteresting(p.Name) {
				t.Errorf("package %q", p.Name)
			}
		}
	})
}

func TestParseStanza(t *testing.T) {
	const stanza = "Package: nvidia-driver-550\nStatus: hold ok installed\nMaintainer: Ubuntu Core Developers " +
		"<ubuntu-devel-discuss@lists.ubuntu.com>\nVersion: 550.120-0ubuntu0.22.04.1\nDescription: driver\n Version: 1 of a text\n"
	want := &facts.DriverPackage{Name: "nvidia-driver-550", Version: "550.120-0ubuntu0.22.04.1", Held: true, Vendor: "ubuntu"}
	if diff := cmp.Diff(want, parseStanza(stanza)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for status, state := range map[string]string{"install ok unpacked": "unpacked", "install ok half-configured": "half-configured",
		"install ok half-installed": "half-installed", "install reinstreq half-installed": "reinst-required", "install ok triggers-pending": ""} {
		got := parseStanza(strings.Replace(stanza, "hold ok installed", status, 1))
		if got == nil || got.State != state {
			t.Errorf("%s is %+v, want %q", status, got, state)
		}
	}
	removed := strings.Replace(stanza, "hold ok installed", "deinstall ok config-files", 1)
	for _, none := range []string{removed, strings.Replace(stanza, "Package", "Source", 1), ""} {
		if got := parseStanza(none); got != nil {
			t.Errorf("%q is %+v", none, got)
		}
	}
}
