package process

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host/hosttest"

	"github.com/google/go-cmp/cmp"
)

func TestParseMajors(t *testing.T) {
	const devices = `Character devices:
  1 mem
195 nvidia
195 nvidiactl
235 nvidia-caps
508 nvidia-uvm

Block devices:
259 nvidia-odd
`
	want := map[string]int{"nvidia": 195, "nvidiactl": 195, "nvidia-caps": 235, "nvidia-uvm": 508}
	if diff := cmp.Diff(want, parseMajors(devices)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestDevicesCutShort reads no number from a list of devices that ends too early for the nodes that are there.
func TestDevicesCutShort(t *testing.T) {
	const whole = "Character devices:\n  1 mem\n195 nvidia\n508 nvidia-uvm\n\nBlock devices:\n  7 loop\n"
	nodes := []facts.Node{{Path: "/dev/nvidia0", Major: 195}, {Path: "/dev/nvidia-uvm", Major: 508}, {Path: "/dev/dxg", Major: 10}}
	uvm := strings.Index(whole, "508")
	for n := range len(whole) + 1 {
		h := hosttest.Tree(t, "-- proc/devices --\n"+whole)
		if err := os.WriteFile(filepath.Join(h.Root, "proc/devices"), []byte(whole[:n]), 0o600); err != nil {
			t.Fatal(err)
		}
		majors, err := readMajors(h, nodes)
		complete := n == len(whole) || whole[n-min(n, 1)] == '\n' && n >= uvm+len("508 nvidia-uvm\n")
		if (err == nil) != complete || complete != (majors["nvidia"] == 195 && majors["nvidia-uvm"] == 508) {
			t.Errorf("%q: %v, %v", whole[:n], majors, err)
		}
	}
	h := hosttest.Tree(t, "-- proc/devices --\nCharacter devices:\n  1 mem\n\nBlock devices:\n")
	if majors, err := readMajors(h, nodes); majors != nil || err != nil {
		t.Errorf("%v, %v: a whole list without the driver", majors, err)
	}
	if majors, err := readMajors(hosttest.Tree(t, "-- etc/hostname --\na\n"), nodes); majors != nil || err != nil {
		t.Errorf("%v, %v: no list", majors, err)
	}
}

func FuzzParseMajors(f *testing.F) {
	f.Add("Character devices:\n195 nvidia-frontend\n\nBlock devices:\n  8 sd\n")
	f.Fuzz(func(t *testing.T, text string) {
		for name, major := range parseMajors(text) {
			if major < 1 || !strings.HasPrefix(name, "nvidia") {
				t.Errorf("%s is %d", name, major)
			}
		}
	})
}

// makerHost is a host whose nodes are not made yet; the tests take one thing away from it.
const makerHost = `
-- @env --
-- proc/sys/kernel/osrelease --
6.8.0-1021-aws
-- proc/sys/kernel/modules_disabled --
0
-- proc/self/mountinfo --
24 1 259:1 / / rw,relatime - ext4 /dev/root rw
25 24 0:5 / /dev rw,nosuid - devtmpfs udev rw
-- proc/self/uid_map --
         0          0 4294967295
-- proc/self/status --
Name:	cudacompat
Uid:	UID	UID	UID	UID
CapEff:	CAPS
NoNewPrivs:	NNP
-- lib/modules/6.8.0-1021-aws/modules.dep --
updates/dkms/nvidia.ko:
updates/dkms/nvidia-uvm.ko: updates/dkms/nvidia.ko
`

// TestMaker asks who makes a node on first use, and what keeps them from it.
func TestMaker(t *testing.T) {
	type change = [2]string
	root := []change{{"UID", "0"}, {"CAPS", "000001ffffffffff"}, {"NNP", "0"}}
	user := []change{{"UID", "1000"}, {"CAPS", "0000000000000000"}, {"NNP", "0"}}
	for name, tt := range map[string]struct {
		changes   []change
		modprobe  os.FileMode // of nvidia-modprobe; 0: it is not there
		who, hind string
	}{
		"root":                {root, 0, "root", ""},
		"user":                {user, 0o755 | os.ModeSetuid, "nvidia-modprobe", ""},
		"user-alone":          {user, 0, "nobody", ""},
		"not-setuid":          {user, 0o755, "nobody", ""},
		"root-without-mknod":  {append([]change{{"CAPS", "00000000a00425fb"}}, root...), 0, "nobody", ""},
		"mknod-by-modprobe":   {append([]change{{"CAPS", "00000000a00425fb"}}, root...), 0o755 | os.ModeSetuid, "nvidia-modprobe", ""},
		"no-new-privileges":   {append([]change{{"NNP", "1"}}, user...), 0o755 | os.ModeSetuid, "nobody", "no new privileges"},
		"root-no-privileges":  {append([]change{{"NNP", "1"}}, root...), 0, "root", ""},
		"user-namespace":      {append([]change{{"0          0 4294967295", "0       1000          1"}}, root...), 0, "nobody", "a user namespace"},
		"read-only":           {append([]change{{"/dev rw,", "/dev ro,"}}, root...), 0, "nobody", "/dev is read-only"},
		"no-module":           {append([]change{{"updates/dkms/nvidia-uvm.ko", "updates/dkms/nvidia-drm.ko"}}, root...), 0, "nobody", "nvidia-uvm is neither loaded nor on disk"},
		"modules-disabled":    {append([]change{{"modules_disabled --\n0", "modules_disabled --\n1"}}, root...), 0, "nobody", "modules are disabled"},
		"disabled-but-loaded": {append([]change{{"modules_disabled --\n0", "modules_disabled --\n1\n-- sys/module/nvidia_uvm/refcnt --\n2"}}, root...), 0, "root", ""},
		"container":           {append([]change{{"- ext4 /dev/root", "- overlay overlay"}, {"lib/modules", "lib/other"}}, root...), 0, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			text := makerHost
			for _, c := range tt.changes {
				text = strings.ReplaceAll(text, c[0], c[1])
			}
			h := hosttest.Tree(t, text)
			hosttest.Must(t, os.MkdirAll(filepath.Join(h.Root, "dev"), 0o755))
			if tt.modprobe != 0 {
				file := filepath.Join(h.Root, "usr/bin/nvidia-modprobe")
				hosttest.Write(t, file, "")
				hosttest.Must(t, os.Chmod(file, tt.modprobe))
			}
			d := facts.Devices{Modprobe: modprobeState(h), UVM: uvmState(h, nil)}
			if who, hindrance := nodeMaker(h, d); who != tt.who || hindrance != tt.hind {
				t.Errorf("%q, %q; want %q, %q", who, hindrance, tt.who, tt.hind)
			}
		})
	}
}

// TestUVM checks that the kernel's list, or its directory, precedes the files on disk. An image without modules shows
// nothing.
func TestUVM(t *testing.T) {
	const kernel = "-- @env --\n-- proc/sys/kernel/osrelease --\n6.8\n"
	for name, tt := range map[string]struct {
		files  string
		majors map[string]int
		want   string
	}{
		"listed":         {kernel, map[string]int{"nvidia-uvm": 508}, "loaded"},
		"loaded":         {kernel + "-- sys/module/nvidia_uvm/refcnt --\n0\n", nil, "loaded"},
		"packed":         {kernel + "-- lib/modules/6.8/extra/nvidia-uvm.ko.xz --\n", nil, "on disk"},
		"debian":         {kernel + "-- lib/modules/6.8/updates/dkms/nvidia-current-uvm.ko --\n", nil, "on disk"},
		"another-kernel": {kernel + "-- lib/modules/6.7/extra/nvidia-uvm.ko --\n-- lib/modules/6.8/kernel/ --\n", nil, "absent"},
		"image":          {kernel, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := uvmState(hosttest.Tree(t, tt.files), tt.majors); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
