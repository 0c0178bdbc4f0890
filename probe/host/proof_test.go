package host_test

import (
	"strings"
	"testing"

	"cudacompat/probe/host/hosttest"
)

const (
	release   = "-- @env --\n%s\n-- proc/sys/kernel/osrelease --\n6.8.0-1021-aws\n"
	modules   = "-- lib/modules/6.8.0-1021-aws/modules.dep --\n"
	kthreadd  = "-- proc/2/stat --\n2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 22 0 0\n"
	ext4      = "24 1 259:1 / / rw,relatime shared:1 - ext4 /dev/root rw\n"
	overlay   = "600 500 0:60 / / rw - overlay overlay rw,lowerdir=/somewhere\n"
	devtmpfs  = "25 24 0:5 / /dev rw - devtmpfs devtmpfs rw\n"
	ramdisk   = "24 1 0:24 / / rw - tmpfs tmpfs rw\n"
	ostree    = "24 1 253:2 /ostree/deploy/fedora-coreos/deploy/3f.0 / rw - xfs /dev/vda4 rw\n"
	dockerRun = "-- .dockerenv --\n"
)

func self(mounts string) string  { return "-- proc/self/mountinfo --\n" + mounts }
func first(mounts string) string { return "-- proc/1/mountinfo --\n" + mounts }

// TestProof checks live roots: what proves that a root is the kernel's own, and what only looks like it.
func TestProof(t *testing.T) {
	for name, tt := range map[string]struct{ files, proof, container string }{
		"host":                        {self(ext4+devtmpfs) + modules, "modules", ""},
		"host-as-root":                {self(ext4) + first(ext4) + kthreadd, "process 1", ""},
		"kernel-in-boot":              {self(ext4) + "-- boot/vmlinuz-6.8.0-1021-aws --\n", "kernel", ""},
		"other-kernel":                {self(ext4) + "-- boot/vmlinuz-6.8.0-1015-aws --\n", "", "container"},
		"other-modules":               {self(ext4) + "-- lib/modules/6.8.0-1015-aws/modules.dep --\n", "", "container"},
		"boot-is-mounted":             {self(overlay+"30 24 259:1 /boot /boot ro - ext4 /dev/root rw\n") + "-- boot/vmlinuz-6.8.0-1021-aws --\n", "", "container"},
		"pod-with-modules":            {self(overlay+"30 24 259:1 /lib/modules /lib/modules ro - ext4 /dev/root rw\n") + modules, "", "container"},
		"modules-by-link":             {self(ext4) + "-- lib -> usr/lib --\n-- usr/lib/modules/6.8.0-1021-aws/kernel/drivers/x.ko --\n", "modules", ""},
		"mounted-by-link":             {self(overlay+"30 24 259:1 /usr/lib/modules /usr/lib/modules ro - ext4 /dev/root rw\n") + "-- lib -> usr/lib --\n-- usr/lib/modules/6.8.0-1021-aws/modules.dep --\n", "", "container"},
		"headers-alone":               {self(overlay) + "-- lib/modules/6.8.0-1021-aws/build -> /usr/src/linux-headers-6.8.0-1021-aws --\n", "", "container"},
		"build-step":                  {self(overlay) + "-- boot/ --\n-- proc/1/comm --\nsh\n", "", "container"},
		"driver-container":            {self(overlay) + modules + dockerRun, "", "docker"},
		"image-as-machine":            {self(ext4) + first(ext4) + kthreadd + dockerRun, "process 1", ""},
		"chroot-to-the-node":          {"-- @env --\nKUBERNETES_SERVICE_HOST=10.0.0.1\n-- proc/sys/kernel/osrelease --\n6.8.0-1021-aws\n" + self(strings.Replace(ext4, "24 1", "900 880", 1)) + first(ext4) + kthreadd, "process 1", ""},
		"pod-of-the-host's-processes": {self(overlay) + first(ext4) + kthreadd, "", "container"},
		"enroot":                      {self("700 600 259:1 /var/lib/enroot/data/pyxis_1.0 / rw - ext4 /dev/root rw\n") + first(ext4) + kthreadd, "", "container"},
		"service-with-private-tmp":    {self("300 290 259:1 / / rw - ext4 /dev/root rw\n") + first(ext4) + kthreadd, "process 1", ""},
		"renamed-process":             {self(ext4) + first(ext4) + "-- proc/2/stat --\n2 (kthreadd) S 1 2 0 0 -1 4194304 0\n", "", "container"},
		"ramdisk":                     {self(ramdisk) + first(ramdisk) + kthreadd, "process 1", ""},
		"coreos":                      {self(ostree+"26 24 253:2 /ostree/deploy/fedora-coreos/deploy/3f.0/usr /usr ro - xfs /dev/vda4 rw\n") + first(ostree) + kthreadd, "process 1", ""},
		"nixos":                       {self(ext4) + first(ext4) + kthreadd + "-- run/current-system/kernel-modules/lib/modules/6.8.0-1021-aws/modules.dep --\n", "process 1", ""},
		"covered-root":                {self("1 1 0:2 / / rw - rootfs rootfs rw\n"+ext4) + first("1 1 0:2 / / rw - rootfs rootfs rw\n"+ext4) + kthreadd, "process 1", ""},
		"processes-hidden":            {self(ext4) + modules, "modules", ""},
		"no-proc":                     {"", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			files := tt.files
			if !strings.HasPrefix(files, "-- @env") {
				files = strings.Replace(release, "%s", "A=1", 1) + files
			}
			h := hosttest.Tree(t, files)
			if h.Proof() != tt.proof || h.ContainerKind() != tt.container {
				t.Errorf("proof %q, container %q; want %q, %q", h.Proof(), h.ContainerKind(), tt.proof, tt.container)
			}
		})
	}
}

// TestProofOfOtherKernels are WSL2, a Jetson and gVisor.
func TestProofOfOtherKernels(t *testing.T) {
	for name, tt := range map[string]struct{ release, files, proof, container string }{
		"wsl2": {"6.6.87.2-microsoft-standard-WSL2", self("40 30 8:32 / / rw - ext4 /dev/sdc rw\n" +
			"41 40 0:60 / /usr/lib/modules/6.6.87.2-microsoft-standard-WSL2 rw - overlay none rw\n"), "wsl", ""},
		"docker-in-wsl2": {"6.6.87.2-microsoft-standard-WSL2", self(overlay) + dockerRun, "", "docker"},
		"build-in-wsl2":  {"6.6.87.2-microsoft-standard-WSL2", self(overlay), "", "container"},
		"jetson":         {"5.15.148-tegra", self(ext4) + "-- lib/modules/5.15.148-tegra/updates/nvgpu.ko --\n-- boot/Image --\n", "modules", ""},
		"on-a-jetson":    {"5.15.148-tegra", self(overlay) + "-- etc/nv_tegra_release --\n", "", "container"},
		"gvisor":         {"4.4.0", self("1 0 0:9 / / rw - 9p none rw\n") + "-- proc/1/comm --\nsleep\n", "", "container"},
	} {
		t.Run(name, func(t *testing.T) {
			h := hosttest.Tree(t, "-- @env --\nA=1\n-- proc/sys/kernel/osrelease --\n"+tt.release+"\n"+tt.files)
			if h.Proof() != tt.proof || h.ContainerKind() != tt.container {
				t.Errorf("proof %q, container %q; want %q, %q", h.Proof(), h.ContainerKind(), tt.proof, tt.container)
			}
		})
	}
}

// TestRestIsNoContainer checks that a tree at rest is never taken for a container.
func TestRestIsNoContainer(t *testing.T) {
	h := hosttest.Tree(t, self(overlay)+modules)
	if h.Proof() != "" || h.ContainerKind() != "" {
		t.Errorf("proof %q, container %q", h.Proof(), h.ContainerKind())
	}
}
