package kernel

import (
	"bytes"
	"debug/pe"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"

	"golang.org/x/tools/txtar"
)

// TestSystemdBoot checks trees with three kernels, one of them the default. An entry "= uki" is a unified kernel image
// with the .osrel of its lines; one of them may be ".uname VERSION".
func TestSystemdBoot(t *testing.T) {
	const (
		kernels = "-- lib/modules/6.1.99/vmlinuz --\n-- lib/modules/6.1.134/vmlinuz --\n" +
			"-- lib/modules/6.1.140/vmlinuz --\n"
		loader = "-- efi/EFI/systemd/systemd-bootx64.efi --\n"
		conf   = "-- efi/loader/loader.conf --\n#timeout 3\ndefault "
		old    = "-- boot/loader/entries/fedora-6.1.99.conf --\ntitle Fedora\nversion 6.1.99\nsort-key fedora\n" +
			"machine-id 6a98\nlinux /fedora/6.1.99/linux\n"
		middle = "-- boot/loader/entries/fedora-6.1.134.conf --\ntitle Fedora\nversion 6.1.134\nsort-key fedora\n" +
			"machine-id 6a98\nlinux /fedora/6.1.134/linux\n"
		newest = "-- boot/loader/entries/fedora-6.1.140+3.conf --\ntitle Fedora\nversion 6.1.140\nsort-key fedora\n" +
			"machine-id 6a98\nlinux /fedora/6.1.140/linux\n"
	)
	entries := kernels + loader + old + middle + newest
	uki := func(name, lines string) string { return "-- boot/EFI/Linux/" + name + " = uki --\n" + lines }
	for _, tt := range []struct{ name, tree, kernel, from string }{
		{"newest", entries, "6.1.140", "/boot/loader/entries/fedora-6.1.140+3.conf"},
		{"bad-last", strings.Replace(entries, "6.1.140+3.conf", "6.1.140+0-3.conf", 1), "6.1.134",
			"/boot/loader/entries/fedora-6.1.134.conf"},
		{"by-version-not-by-text", kernels + loader + old + middle, "6.1.134",
			"/boot/loader/entries/fedora-6.1.134.conf"},
		{"default", entries + conf + "fedora-6.1.99.conf\n", "6.1.99", "/boot/loader/entries/fedora-6.1.99.conf"},
		{"default-without-end", entries + conf + "Fedora-6.1.99\n", "6.1.99",
			"/boot/loader/entries/fedora-6.1.99.conf"},
		{"default-glob", entries + conf + "fedora-6.1.1*\n", "6.1.140", "/boot/loader/entries/fedora-6.1.140+3.conf"},
		{"default-glob-bad", strings.Replace(entries, "6.1.140+3.conf", "6.1.140+0.conf", 1) + conf + "fedora-*\n",
			"6.1.134", "/boot/loader/entries/fedora-6.1.134.conf"},
		{"default-of-none", entries + conf + "arch-*\n", "6.1.140", "/boot/loader/entries/fedora-6.1.140+3.conf"},
		{"default-saved", entries + conf + "@saved\n", "6.1.140", "/boot/loader/entries/fedora-6.1.140+3.conf"},
		{"no-sort-key", entries + "-- efi/loader/entries/zz-6.1.99.conf --\nversion 9\nlinux /vmlinuz-6.1.99\n",
			"6.1.140", "/boot/loader/entries/fedora-6.1.140+3.conf"},
		{"sort-key-first", entries + "-- boot/loader/entries/a.conf --\nversion 1\nsort-key amzn\n" +
			"linux /vmlinuz-6.1.99\n", "6.1.99", "/boot/loader/entries/a.conf"},
		{"names-alone", kernels + loader +
			"-- boot/loader/entries/6.1.99.conf --\nlinux /vmlinuz-6.1.99\n-- boot/loader/entries/6.1.134.conf --\n" +
			"linux /vmlinuz-6.1.134\n", "6.1.134", "/boot/loader/entries/6.1.134.conf"},
		{"another-program", entries + "-- boot/loader/entries/a.conf --\nsort-key a\nefi /EFI/memtest.efi\n", "", ""},
		{"esp-at-boot", strings.ReplaceAll(entries, "efi/EFI", "boot/EFI"), "6.1.140",
			"/boot/loader/entries/fedora-6.1.140+3.conf"},
		{"no-entries", kernels + loader, "", ""},
		{"entries-of-no-loader", kernels + old, "", ""},
		{"grub-agrees", entries + "-- boot/grub2/grub.cfg --\nblscfg\n", "6.1.140",
			"/boot/loader/entries/fedora-6.1.140+3.conf"},
		{"grub-of-its-own-agrees", entries +
			"-- boot/grub/grub.cfg --\nmenuentry 'Debian' {\n\tlinux /boot/vmlinuz-6.1.140 ro\n}\n", "6.1.140",
			"/boot/grub/grub.cfg"},
		{"grub-differs", entries + "-- boot/grub2/grub.cfg --\nset default=1\nblscfg\n", "", ""},
		{"unified", kernels + loader + uki("fedora-6.1.99.efi", "ID=fedora\nVERSION_ID=43\n.uname 6.1.99\n") +
			uki("fedora-6.1.134.efi", "ID=fedora\nVERSION_ID=43\n.uname 6.1.134\n"),
			"6.1.134", "/boot/EFI/Linux/fedora-6.1.134.efi"},
		{"unified-by-system", kernels + loader + uki("z.efi", "ID=fedora\nIMAGE_VERSION=20260101\n.uname 6.1.99\n") +
			uki("a.efi", "ID=fedora\nIMAGE_VERSION=20260102\n.uname 6.1.134\n"),
			"6.1.134", "/boot/EFI/Linux/a.efi"},
		{"unified-by-name", kernels + loader + uki("6a98-6.1.99+2.efi", "ID=fedora\n"), "6.1.99",
			"/boot/EFI/Linux/6a98-6.1.99+2.efi"},
		{"unified-default", entries + uki("fedora-6.1.99.efi", "ID=fedora\n.uname 6.1.99\n") + conf + "*.efi\n",
			"6.1.99", "/boot/EFI/Linux/fedora-6.1.99.efi"},
		{"unified-damaged", kernels + loader + "-- boot/EFI/Linux/6a98-6.1.99.efi --\nMZ, and no more\n", "6.1.99",
			"/boot/EFI/Linux/6a98-6.1.99.efi"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := plantUnified(t, tt.tree)
			apply, err := ReadBoot(h)
			hosttest.Must(t, err)
			var f facts.Facts
			if apply(&f); f.Machine.Boot != tt.kernel || f.Machine.BootFrom != tt.from {
				t.Errorf("it boots %q of %q", f.Machine.Boot, f.Machine.BootFrom)
			}
		})
	}
}

// plantUnified plants a tree whose entries "= uki" become unified kernel images.
func plantUnified(t *testing.T, text string) *host.Host {
	t.Helper()
	archive := txtar.Parse([]byte(text))
	var images []txtar.File
	rest := &txtar.Archive{}
	for _, f := range archive.Files {
		if name, ok := strings.CutSuffix(f.Name, " = uki"); ok {
			images = append(images, txtar.File{Name: name, Data: unifiedKernel(t, string(f.Data))})
		} else {
			rest.Files = append(rest.Files, f)
		}
	}
	h := hosttest.Host(t, rest)
	for _, f := range images {
		hosttest.Must(t, os.MkdirAll(filepath.Dir(filepath.Join(h.Root, f.Name)), 0o755))
		hosttest.Must(t, os.WriteFile(filepath.Join(h.Root, f.Name), f.Data, 0o644))
	}
	return h
}

// unifiedKernel returns a PE file of the two sections, without a program.
func unifiedKernel(t testing.TB, lines string) []byte {
	t.Helper()
	release, kernel, _ := strings.Cut(lines, ".uname ")
	texts := map[string]string{".osrel": release}
	if kernel != "" {
		texts[".uname"] = kernel
	}
	const sectionHead = 40
	var head, data bytes.Buffer
	at := 20 + sectionHead*len(texts)
	hosttest.Must(t, binary.Write(&head, binary.LittleEndian,
		pe.FileHeader{Machine: pe.IMAGE_FILE_MACHINE_AMD64, NumberOfSections: uint16(len(texts))}))
	for name, text := range texts {
		section := pe.SectionHeader32{VirtualSize: uint32(len(text)), SizeOfRawData: uint32(len(text)) + 8,
			PointerToRawData: uint32(at + data.Len())}
		copy(section.Name[:], name)
		hosttest.Must(t, binary.Write(&head, binary.LittleEndian, section))
		data.WriteString(text + strings.Repeat("\x00", 8))
	}
	return append(head.Bytes(), data.Bytes()...)
}

// TestCompareVersions compares with systemd-analyze compare-versions.
func TestCompareVersions(t *testing.T) {
	for _, pair := range [][2]string{{"1~", "1"}, {"1~", "1~a"}, {"1", "1^"}, {"1^", "1.1"}, {"1", "1-"}, {"1-", "1^"},
		{"1-", "1."}, {"1", "1a"}, {"1.a", "1a"}, {"", "0"},
		{".1", "1"}, {"a", "1"}, {"A", "a"}, {"6.8.0-1021-aws", "6.8.0-1030-aws"}, {"6.1.99", "6.1.134"},
		{"0-rescue", "6.1.134"}, {"1^", "1a"}, {"9", "10"}} {
		if a, b := compareVersions(pair[0], pair[1]), compareVersions(pair[1], pair[0]); a >= 0 || b <= 0 {
			t.Errorf("%q and %q: %d, %d", pair[0], pair[1], a, b)
		}
	}
	for _, pair := range [][2]string{{"1.0", "1.00"}, {"01", "1"}, {"1_", "1"}, {"+1", "1"}, {"", "+"}} {
		if c := compareVersions(pair[0], pair[1]); c != 0 {
			t.Errorf("%q and %q: %d", pair[0], pair[1], c)
		}
	}
}

func FuzzCompareVersions(f *testing.F) {
	f.Add("6.8.0-1021-aws", "6.8.0~rc1^a+é")
	f.Fuzz(func(t *testing.T, a, b string) {
		if compareVersions(a, b) != -compareVersions(b, a) || compareVersions(a, a) != 0 {
			t.Errorf("%q and %q", a, b)
		}
	})
}

func FuzzParseUnifiedKernel(f *testing.F) {
	f.Add(unifiedKernel(f, "ID=fedora\n.uname 6.1.99\n"), "fedora-6.1.99+3-1.efi")
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		parseUnifiedKernel(bytes.NewReader(data)).withFileName(name)
		parseLoaderEntry(data).withFileName(name).matches(parseLoaderConf(data))
	})
}
