package probe

import (
	"testing"

	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"

	"github.com/google/go-cmp/cmp"
)

// TestReadDriverModules has every place and packing of a module, and what only looks like one.
func TestReadDriverModules(t *testing.T) {
	const info = "license=Dual MIT/GPL\nversion=580.95.05\nsrcversion=3E9B3F1A2C4D5E6F7A8B9C0\n"
	module := func(file string) string {
		return "-- lib/modules/6.1.134/" + file + " = elf x86_64 .modinfo --\n" + info
	}
	at := func(file string) []Module {
		return []Module{{Kernel: "6.1.134", Version: "580.95.05", Path: "/lib/modules/6.1.134/" + file,
			Flavour: "open"}}
	}
	type test struct {
		name, tree string
		want       []Module
	}
	tests := []test{
		{"proprietary", "-- lib/modules/6.1.134/extra/nvidia.ko = elf x86_64 .modinfo --\nlicense=NVIDIA\n" +
			"version=580.95.05\n",
			[]Module{{Kernel: "6.1.134", Version: "580.95.05", Path: "/lib/modules/6.1.134/extra/nvidia.ko",
				Flavour: "proprietary"}}},
		{"weak-update", "-- lib/modules/6.1.99/extra/nvidia/nvidia.ko.xz = elf x86_64 .modinfo --\n" + info +
			"-- lib/modules/6.1.134/weak-updates/nvidia/nvidia.ko.xz -> " +
			"/lib/modules/6.1.99/extra/nvidia/nvidia.ko.xz --\n",
			append(at("weak-updates/nvidia/nvidia.ko.xz"),
				Module{Kernel: "6.1.99", Version: "580.95.05", Path: "/lib/modules/6.1.99/extra/nvidia/nvidia.ko.xz",
					Flavour: "open"})},
		{"weak-update-of-a-kernel-that-is-gone",
			"-- lib/modules/6.1.134/weak-updates/nvidia/nvidia.ko.xz -> " +
				"/lib/modules/6.1.99/extra/nvidia/nvidia.ko.xz --\n", nil},
		{"indexed-elsewhere", module("vendor/gpu/nvidia.ko.zst") +
			"-- lib/modules/6.1.134/modules.dep --\nkernel/fs/ext4/ext4.ko.zst: \n" +
			"vendor/gpu/nvidia-drm.ko.zst: vendor/gpu/nvidia.ko.zst\n" +
			"vendor/gpu/nvidia.ko.zst: kernel/drivers/acpi/video.ko.zst\n",
			at("vendor/gpu/nvidia.ko.zst")},
		{"index-chooses", module("kernel/nvidia-580/nvidia.ko") +
			"-- lib/modules/6.1.134/updates/dkms/nvidia.ko = elf x86_64 .modinfo --\nlicense=NVIDIA\n" +
			"version=570.133.20\n-- lib/modules/6.1.134/modules.dep --\nkernel/nvidia-580/nvidia.ko:\n",
			at("kernel/nvidia-580/nvidia.ko")},
		{"index-of-what-is-gone", module("extra/nvidia.ko") +
			"-- lib/modules/6.1.134/modules.dep --\nupdates/dkms/nvidia.ko:\n", at("extra/nvidia.ko")},
		{"only-a-dependency", "-- lib/modules/6.1.134/modules.dep --\nextra/peer.ko: updates/nvidia.ko\n", nil},
		{"other-modules", module("extra/nvidia-drm.ko") + module("kernel/drivers/net/ethernet/nvidia/forcedeth.ko"),
			nil},
	}
	for _, dir := range []string{"updates", "updates/dkms", "extra", "extra/nvidia", "extra/drivers/video/nvidia",
		"kernel/nvidia-580", "kernel/drivers/video",
		"kernel/drivers/video/nvidia", "weak-updates/drivers/video/nvidia", "extramodules", "video"} {
		for _, end := range []string{"", ".gz", ".xz", ".zst"} {
			tests = append(tests, test{dir + end, module(dir + "/nvidia.ko" + end), at(dir + "/nvidia.ko" + end)})
		}
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := hosttest.Tree(t, "-- lib/modules/6.1.134/modules.builtin --\n"+tt.tree)
			apply, err := readDriverModules(h, Options{})
			if err != nil && err != host.ErrAbsent {
				t.Fatal(err)
			}
			var f Facts
			if apply != nil {
				apply(&f)
			}
			if diff := cmp.Diff(tt.want, f.Driver.Modules); diff != "" {
				t.Errorf("modules (-want +got):\n%s", diff)
			}
		})
	}
}
