package driver

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"
	"cudacompat/probe/internal/libversion"

	"github.com/google/go-cmp/cmp"
)

// TestReadDriverModules checks every place and compression of a module, and files that only look like one.
func TestReadDriverModules(t *testing.T) {
	const info = "license=Dual MIT/GPL\nversion=580.95.05\nsrcversion=3E9B3F1A2C4D5E6F7A8B9C0\n"
	module := func(file string) string {
		return "-- lib/modules/6.1.134/" + file + " = elf x86_64 .modinfo --\n" + info
	}
	at := func(file string) []facts.Module {
		return []facts.Module{{Kernel: "6.1.134", Version: "580.95.05", Path: "/lib/modules/6.1.134/" + file,
			Flavour: "open"}}
	}
	type test struct {
		name, tree string
		want       []facts.Module
	}
	tests := []test{
		{"proprietary", "-- lib/modules/6.1.134/extra/nvidia.ko = elf x86_64 .modinfo --\nlicense=NVIDIA\n" +
			"version=580.95.05\n",
			[]facts.Module{{Kernel: "6.1.134", Version: "580.95.05", Path: "/lib/modules/6.1.134/extra/nvidia.ko",
				Flavour: "proprietary"}}},
		{"weak-update", "-- lib/modules/6.1.99/extra/nvidia/nvidia.ko.xz = elf x86_64 .modinfo --\n" + info +
			"-- lib/modules/6.1.134/weak-updates/nvidia/nvidia.ko.xz -> " +
			"/lib/modules/6.1.99/extra/nvidia/nvidia.ko.xz --\n",
			append(at("weak-updates/nvidia/nvidia.ko.xz"),
				facts.Module{Kernel: "6.1.99", Version: "580.95.05", Path: "/lib/modules/6.1.99/extra/nvidia/nvidia.ko.xz",
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
			apply, err := ReadModules(h)
			if err != nil && err != host.ErrAbsent {
				t.Fatal(err)
			}
			var f facts.Facts
			if apply != nil {
				apply(&f)
			}
			if diff := cmp.Diff(tt.want, f.Driver.Modules); diff != "" {
				t.Errorf("modules (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzModuleVersion gives arbitrary bytes as a kernel module in each packing.
func FuzzModuleVersion(f *testing.F) {
	for i, end := range []string{"", ".gz", ".xz", ".zst"} {
		f.Add(hosttest.Compressed(f, "nvidia.ko"+end, []byte("license=NVIDIA\x00version=550.107.02\x00")), i)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte, packing int) {
		h := &host.Host{Root: dir}
		name := "/nvidia.ko" + []string{"", ".gz", ".xz", ".zst"}[uint(packing)%4]
		hosttest.Must(t, os.WriteFile(filepath.Join(dir, name), data, 0o644))
		version, _, err := moduleInfo(h, name)
		if (version == "") == (err == nil) || version != "" && !libversion.Driver.MatchString(version) {
			t.Errorf("%q, %v", version, err)
		}
	})
}

// TestLicenceWatch cuts a module at every byte: where a read ends must not matter.
func TestLicenceWatch(t *testing.T) {
	for want, licence := range map[string]string{"proprietary": "NVIDIA", "open": "Dual MIT/GPL", "": "GPL"} {
		data := []byte("alias=x\x00license=" + licence + "\x00version=580.95.05\x00")
		for cut := range data {
			var w licenceScanner
			_, _ = w.Write(data[:cut])
			if _, err := w.Write(data[cut:]); err != nil || w.flavour != want {
				t.Errorf("%s cut at %d: %q, %v", licence, cut, w.flavour, err)
			}
		}
	}
}

// TestSearchStream finds the version anywhere, also across read boundaries.
func TestSearchStream(t *testing.T) {
	const chunk = 1 << 20
	field := "\x00version=550.107.02\x00"
	for _, at := range []int{0, 1, chunk - len(field), chunk - 5, chunk, chunk + 250, chunk + 256, 2*chunk + 250,
		3 * chunk} {
		data := append(bytes.Repeat([]byte{'x'}, at), field...)
		data = append(data, bytes.Repeat([]byte{'y'}, 100)...)
		got, err := host.SearchFirst(bytes.NewReader(data), "version=", moduleVersionField, int64(len(data)))
		if got != "550.107.02" || err != nil {
			t.Errorf("at %d: %q, %v", at, got, err)
		}
		if got, _ := host.SearchFirst(bytes.NewReader(data), "version=", moduleVersionField, int64(at+5)); got != "" {
			t.Errorf("at %d, behind the limit: %q", at, got)
		}
	}
	for _, other := range []string{"\x00srcversion=550.107\x00", "\x00rhelversion=9.4\x00", "version=9.4\x00",
		"version=550.107.02", "version=\x00"} {
		if got, _ := host.SearchFirst(strings.NewReader(other), "version=", moduleVersionField, 1000); got != "" {
			t.Errorf("%q gives %q", other, got)
		}
	}
}

// TestCutModules reads every prefix of a compressed module: none panics or gives another version.
func TestCutModules(t *testing.T) {
	for _, end := range []string{"", ".gz", ".xz", ".zst"} {
		t.Run("ko"+end, func(t *testing.T) {
			h := &host.Host{Root: t.TempDir()}
			name := "/nvidia.ko" + end
			whole := hosttest.Compressed(t, name,
				hosttest.ELF(t, "x86_64", ".modinfo", []byte("license=NVIDIA\nversion=550.107.02\n")))
			for size := 0; size <= len(whole); size++ {
				hosttest.Must(t, os.WriteFile(h.Real(name), whole[:size], 0o644))
				version, _, err := moduleInfo(h, name)
				if version != "" && version != "550.107.02" {
					t.Fatalf("%d of %d bytes: version %q", size, len(whole), version)
				}
				if (version == "") == (err == nil) || err != nil && !strings.HasPrefix(err.Error(), name+": ") {
					t.Fatalf("%d of %d bytes: version %q, error %v", size, len(whole), version, err)
				}
			}
			if version, _, err := moduleInfo(h, name); version != "550.107.02" {
				t.Errorf("the whole: %q, %v", version, err)
			}
		})
	}
}
