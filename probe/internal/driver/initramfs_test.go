package driver

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"

	"github.com/klauspost/compress/zstd"
)

// archive returns a cpio archive of names and contents in turn.
func archive(files ...string) string {
	var b strings.Builder
	entry := func(name, text string) {
		fmt.Fprintf(&b, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x", 1, 0o100644, 0, 0, 1, 0, len(text), 0, 0, 0, 0, len(name)+1, 0)
		b.WriteString(name + "\x00" + strings.Repeat("\x00", padding(cpioHead+len(name)+1)) + text + strings.Repeat("\x00", padding(len(text))))
	}
	for i := 0; i < len(files); i += 2 {
		entry(files[i], files[i+1])
	}
	entry("TRAILER!!!", "")
	return b.String() + strings.Repeat("\x00", 300)
}

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func zstandard(t *testing.T, text string) string {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(w.EncodeAll([]byte(text), nil))
}

const (
	oldModule   = "\x7fELF\x00license=NVIDIA\x00version=570.133.20\x00more"
	inInitramfs = "usr/lib/modules/6.8.0-1021-aws/updates/dkms/nvidia.ko"
)

// The archive of "init" and the module, as the programs lz4 (-l), bzip2 and lzma compress it.
const (
	byLZ4   = "AiFMGL4AAAByMDcwNzAxMAEAAQgAXzgxYTQwAQADHjEQAA8BABIUNQkAr2luaXQAAHgAAAB4ACkvMmJ3ABMkMzYKAP9SdXNyL2xpYi9tb2R1bGVzLzYuOC4wLTEwMjEtYXdzL3VwZGF0ZXMvZGttcy9udmlkaWEua28Af0VMRgBsaWNlbnNlPU5WSURJQQB2ZXJzaW9uPTU3MC4xMzMuMjAAbW9yZdAAKg8BABYF+AC/VFJBSUxFUiEhIQABAP8YUAAAAAAA"
	byBzip2 = "QlpoOTFBWSZTWffMVgQAAEF/gMwYCAA4A//CJyUVAD4v38CACCAAkhWSZPUR6noQ0GARiempiNPSDIgoaNAAM9UeoAAeoH6wv1DNDyvlkqf4RxIsjaocmStc9XCYnzURLIQa5KAALYMZUOEi9RARKqpu60o0GBYMkacJSDYrmp/MK7bSlfMG6QPlV847ejYN8JZGLcW59gzoe6WH1HvixmjtdOBzPRv0JqcqsR/LisShyBLeRAjZXEoMFqiXAk4fxdyRThQkPfMVgQA="
	byLZMA  = "XQAAgAD//////////wAYDd0EY5xyG3ahwCjxdlgy6CaCucUxpOtU2SjdL/XHNYSISyG6RQxiZ7AQ/DJr4Icl8FEowi/ify3qBVuBa7mo+W0qf08ME9CsVX4pXkEYXi0xZy2mOcJ7z1DJXaFIaetfaNuamcths/trp7NoRPvBNtx7dbrN1BAUopa/a0dyPchnQkV/p5PyqbFX7qPoBNRmgU8P0s9kL9vx2J//0QgGwA=="
)

// TestScanInitramfs finds the module in each form of an initramfs, and checks the error for a file that is none.
func TestScanInitramfs(t *testing.T) {
	microcode := archive("kernel/x86/microcode/GenuineIntel.bin", "microcode")
	other := archive("init", "#!/bin/sh\n", "usr/lib/modules/6.8.0-1021-aws/kernel/nvme.ko", "x")
	for name, tt := range map[string]struct{ text, module, version, fault string }{
		"gzip":          {gzipped(t, archive("init", "x", inInitramfs, oldModule)), inInitramfs, "570.133.20", ""},
		"zstd":          {microcode + zstandard(t, archive("init", "x", inInitramfs, oldModule)), inInitramfs, "570.133.20", ""},
		"early-modules": {microcode + archive(inInitramfs+".zst", zstandard(t, oldModule)) + zstandard(t, other), inInitramfs + ".zst", "570.133.20", ""},
		"uncompressed":  {microcode + archive("init", "x", inInitramfs, oldModule), inInitramfs, "570.133.20", ""},
		"without":       {microcode + zstandard(t, other), "", "", ""},
		"uvm-alone":     {archive("usr/lib/modules/6.8.0/nvidia-uvm.ko", oldModule), "", "", ""},
		"lz4":           {microcode + decoded(t, byLZ4), inInitramfs, "570.133.20", ""},
		"bzip2":         {microcode + decoded(t, byBzip2), inInitramfs, "570.133.20", ""},
		"lzma":          {microcode + decoded(t, byLZMA), inInitramfs, "570.133.20", ""},
		"lz4-cut-off":   {microcode + decoded(t, byLZ4)[:60], "", "", "not a whole LZ4 file"},
		"lz4-no-block":  {"\x02\x21\x4c\x18070701", "", "", "not a whole LZ4 file"},
		"lz4-damaged":   {"\x02\x21\x4c\x18\x04\x00\x00\x00\x10x\xff\xff", "", "", "not a whole LZ4 file"},
		"lzo":           {microcode + "\x89LZO\x00\r\n\x1a\nrest", "", "", "not read"},
		"cut-off":       {archive("init", "xxxxxxxx")[:cpioHead+10], "", "", "cut off"},
		"no-archive":    {zstandard(t, strings.Repeat("text", 100)), "", "", "not a cpio archive"},
		"empty":         {"", "", "", ""},
	} {
		module, version, err := scanInitramfs(bufio.NewReader(strings.NewReader(tt.text)))
		if module != tt.module || version != tt.version || (err == nil) != (tt.fault == "") || err != nil && !strings.Contains(err.Error(), tt.fault) {
			t.Errorf("%s: %q %q, %v", name, module, version, err)
		}
	}
}

// TestInitramfs reads the initramfs of the kernel that will boot, and what puts the module there.
func TestInitramfs(t *testing.T) {
	tree := map[string]string{
		"/boot/vmlinuz-6.8.0-1015-aws": "x", "/boot/vmlinuz-6.8.0-1021-aws": "x",
		"/lib/modules/6.8.0-1015-aws/modules.dep": "", "/lib/modules/6.8.0-1021-aws/modules.dep": "",
		"/boot/initrd.img-6.8.0-1015-aws": archive(inInitramfs, oldModule), "/boot/initrd.img-6.8.0-1021-aws": archive("init", "x"),
	}
	read := func(rest bool, more map[string]string) (*facts.Initramfs, error) {
		root := t.TempDir()
		for _, files := range []map[string]string{tree, more} {
			for name, text := range files {
				hosttest.Write(t, root+name, text)
			}
		}
		apply, err := ReadInitramfs(&host.Host{Root: root, Rest: rest})
		var f facts.Facts
		if apply != nil {
			apply(&f)
		}
		return f.Driver.Initramfs, err
	}
	const newest = "6.8.0-1021-aws"
	for name, tt := range map[string]struct {
		more map[string]string
		want *facts.Initramfs
	}{
		"without":       {nil, nil},
		"with":          {map[string]string{"/boot/initrd.img-" + newest: archive(inInitramfs, oldModule)}, &facts.Initramfs{Kernel: newest, Path: "/boot/initrd.img-" + newest, Module: inInitramfs, Version: "570.133.20"}},
		"hook":          {map[string]string{"/etc/initramfs-tools/modules": "# nvidia\nnvidia_drm nvidia\n"}, &facts.Initramfs{Kernel: newest, Path: "/boot/initrd.img-" + newest, Hook: "/etc/initramfs-tools/modules"}},
		"comment":       {map[string]string{"/etc/initramfs-tools/modules": "# nvidia\n"}, nil},
		"omitted":       {map[string]string{"/usr/lib/dracut/dracut.conf.d/99-nvidia.conf": "omit_drivers+=\" nvidia nvidia-drm \"\n"}, nil},
		"unread":        {map[string]string{"/boot/initrd.img-" + newest: "\x89LZO\x00rest"}, &facts.Initramfs{Kernel: newest, Path: "/boot/initrd.img-" + newest, Unread: "/boot/initrd.img-" + newest + ": it is compressed in a way that is not read; is the file damaged?"}},
		"other-default": {map[string]string{"/boot/grub/grub.cfg": "set default=\"0\"\nmenuentry 'x' {\n\tlinux /boot/vmlinuz-6.8.0-1015-aws ro\n}\n"}, &facts.Initramfs{Kernel: "6.8.0-1015-aws", Path: "/boot/initrd.img-6.8.0-1015-aws", Module: inInitramfs, Version: "570.133.20"}},
	} {
		got, err := read(true, tt.more)
		if (got == nil) != (tt.want == nil) || got != nil && *got != *tt.want {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, tt.want)
		}
		if got, _ := read(false, tt.more); got != nil {
			t.Errorf("%s, live: %+v", name, got)
		}
	}
}

// FuzzScanInitramfs feeds broken archives to the reader, which must not panic.
func FuzzScanInitramfs(f *testing.F) {
	f.Add([]byte(archive("init", "x", inInitramfs, oldModule)))
	f.Add([]byte("070701ffffffff"))
	for _, text := range []string{byLZ4, byBzip2, byLZMA} {
		data, _ := base64.StdEncoding.DecodeString(text)
		f.Add(data)
	}
	f.Fuzz(func(_ *testing.T, data []byte) {
		_, _, _ = scanInitramfs(bufio.NewReader(bytes.NewReader(data)))
	})
}

// TestDKMS reads with what DKMS would build.
func TestDKMS(t *testing.T) {
	root := t.TempDir()
	if got := readDKMS(&host.Host{Root: root}); got != nil {
		t.Errorf("without a source: %+v", got)
	}
	for _, name := range []string{"/var/lib/dkms/nvidia/580.95.05/source/dkms.conf", "/lib/modules/6.8.0-1015-aws/build/Makefile",
		"/lib/modules/6.8.0-1021-aws/modules.dep", "/usr/bin/x86_64-linux-gnu-gcc-13", "/usr/bin/make",
		"/etc/systemd/system/multi-user.target.wants/dkms.service"} {
		hosttest.Write(t, root+name, "x")
	}
	got := readDKMS(&host.Host{Root: root})
	want := facts.DKMS{Sources: []string{"580.95.05"}, Headers: []string{"6.8.0-1015-aws"}, Compiler: "/usr/bin/x86_64-linux-gnu-gcc-13",
		Make: "/usr/bin/make", Service: "/etc/systemd/system/multi-user.target.wants/dkms.service"}
	if got == nil || fmt.Sprint(*got) != fmt.Sprint(want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
