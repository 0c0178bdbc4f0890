package driver

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"path"
	"strconv"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/kernel"
	"cudacompat/probe/internal/source"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz/lzma"
)

// initramfsNames are the names of a kernel's initramfs: Debian's and Ubuntu's, Red Hat's and Amazon's, openSUSE's, and
// that of dracut and kernel-install on a boot partition.
var initramfsNames = []string{"/boot/initrd.img-%", "/boot/initramfs-%.img", "/boot/initrd-%"}

// initramfsHooks are what puts modules into an initramfs: initramfs-tools, dracut, mkinitcpio.
var initramfsHooks = []string{
	"/etc/initramfs-tools/modules", "/etc/initramfs-tools/hooks/*", "/usr/share/initramfs-tools/hooks/*nvidia*",
	"/etc/dracut.conf", "/etc/dracut.conf.d/*.conf", "/usr/lib/dracut/dracut.conf.d/*.conf", "/etc/mkinitcpio.conf",
}

// namesModule matches a line that puts the driver's module into an initramfs, and no comment:
//
//	force_drivers+=" nvidia nvidia_modeset nvidia_uvm nvidia_drm "
//	nvidia
var namesModule = lazyregexp.New(`(?m)^[^#\n]*\bnvidia\b`)

// leavesOut matches a line of dracut's that keeps modules out: omit_drivers+=" nvidia ".
var leavesOut = lazyregexp.New(`(?m)^\s*omit_drivers.*$`)

// ReadInitramfs reads which release of the driver's module the initramfs of the kernel that will boot has. That module
// is loaded before the root file system is there, so it is the one that boots. It is read only of a tree at rest:
// unpacking it takes up to a second.
func ReadInitramfs(h *host.Host) (source.Update, error) {
	if !h.Rest {
		return nil, host.ErrAbsent
	}
	release := kernel.Default(h)
	if release == "" {
		return nil, host.ErrAbsent
	}
	in := facts.Initramfs{Kernel: release, Hook: initramfsHook(h)}
	for _, name := range initramfsNames {
		if name = strings.ReplaceAll(name, "%", release); h.Exists(name) {
			in.Path = name
			break
		}
	}
	if in.Path == "" {
		return nil, host.ErrAbsent
	}
	module, version, err := initramfsModule(h, in.Path)
	switch {
	case err != nil:
		in.Unread = err.Error()
	case module == "" && in.Hook == "":
		return nil, host.ErrAbsent
	}
	in.Module, in.Version = module, version
	return func(f *facts.Facts) { f.Driver.Initramfs = &in }, nil
}

// initramfsHook returns the configuration that puts the driver's module into an initramfs, "" if none does.
func initramfsHook(h *host.Host) string {
	for _, pattern := range initramfsHooks {
		for _, file := range h.Glob(pattern) {
			if namesModule.Match(leavesOut.ReplaceAll(h.ReadQuietly(file), nil)) {
				return file
			}
		}
	}
	return ""
}

// initramfsModule returns the path and the release of the driver's module in an initramfs.
func initramfsModule(h *host.Host, name string) (module, version string, err error) {
	f, err := h.Open(name)
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	module, version, err = scanInitramfs(bufio.NewReaderSize(f, 1<<16))
	if err != nil {
		return "", "", host.Damaged(name, err.Error())
	}
	return module, version, nil
}

// initramfsCap bounds how much of an initramfs is unpacked. One with the firmware of all GPUs has some 500 MB.
const initramfsCap = 768 << 20

// scanInitramfs finds the driver's module in a sequence of cpio archives, of which the last may be compressed: the
// processor's microcode, sometimes the modules, then the rest.
func scanInitramfs(r *bufio.Reader) (module, version string, err error) {
	for {
		head, err := r.Peek(6)
		if err != nil {
			return "", "", nil // its end
		}
		switch {
		case head[0] == 0: // padding
			_, _ = r.Discard(1)
		case bytes.HasPrefix(head, []byte("07070")):
			module, version, err := scanArchive(r)
			if module != "" || err != nil {
				return module, version, err
			}
		default:
			inner, done, err := unpackPart(r, head)
			if err != nil {
				return "", "", err
			}
			defer done()
			return scanUnpacked(bufio.NewReaderSize(io.LimitReader(inner, initramfsCap), 1<<16))
		}
	}
}

// scanUnpacked scans a decompressed part, which contains archives and no further compressed part.
func scanUnpacked(r *bufio.Reader) (module, version string, err error) {
	for {
		head, err := r.Peek(6)
		if errors.Is(err, io.EOF) {
			return "", "", nil
		}
		if err != nil {
			return "", "", err
		}
		if head[0] == 0 {
			_, _ = r.Discard(1)
			continue
		}
		module, version, err := scanArchive(r)
		if module != "" || err != nil {
			return module, version, err
		}
	}
}

// unpackPart returns a reader of a compressed part, by its first bytes.
func unpackPart(r *bufio.Reader, head []byte) (io.Reader, func(), error) {
	none := func() {}
	switch {
	case bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd")):
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxMemory(initramfsCap), zstd.WithDecoderMaxWindow(windowCap))
		if err != nil {
			return nil, none, err
		}
		return z, z.Close, nil
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		z, err := gzip.NewReader(r)
		return z, none, err
	case bytes.HasPrefix(head, []byte("\xfd7zXZ")):
		z, err := newXZReader(r)
		return z, none, err
	case bytes.HasPrefix(head, []byte("\x02\x21\x4c\x18")): // Ubuntu 20.04's
		return newLZ4Reader(r), none, nil
	case bytes.HasPrefix(head, []byte("BZh")):
		return bzip2.NewReader(r), none, nil
	case bytes.HasPrefix(head, []byte("\x5d\x00\x00")) && binary.LittleEndian.Uint32(head[1:]) <= windowCap:
		z, err := lzma.NewReader(r)
		return z, none, err
	}
	return nil, none, errors.New("it is compressed in a way that is not read")
}

// cpioHead is the length of an entry's head: a magic number and thirteen numbers of eight hexadecimal digits
// (Documentation/driver-api/early-userspace/buffer-format.rst).
const cpioHead = 6 + 13*8

// scanArchive reads one cpio archive to its end, or to the driver's module.
func scanArchive(r *bufio.Reader) (module, version string, err error) {
	for {
		head := make([]byte, cpioHead)
		if _, err := io.ReadFull(r, head); err != nil {
			return "", "", errors.New("it is cut off")
		}
		size, sized := hexField(head, 6)
		nameSize, named := hexField(head, 11)
		if !bytes.HasPrefix(head, []byte("07070")) || !sized || !named || nameSize == 0 || nameSize > 4096 {
			return "", "", errors.New("it is not a cpio archive")
		}
		name := make([]byte, nameSize+padding(cpioHead+nameSize))
		if _, err := io.ReadFull(r, name); err != nil {
			return "", "", errors.New("it is cut off")
		}
		file := string(name[:nameSize-1])
		if file == "TRAILER!!!" {
			return "", "", nil
		}
		if base := path.Base(file); size > 0 && (strings.HasPrefix(base, "nvidia.ko") || strings.HasPrefix(base, "nvidia-current.ko")) {
			version, err := releaseOf(io.LimitReader(r, int64(size)), file)
			return file, version, err
		}
		if _, err := io.CopyN(io.Discard, r, int64(size+padding(size))); err != nil {
			return "", "", errors.New("it is cut off")
		}
	}
}

// hexField returns a head's number by its place.
func hexField(head []byte, i int) (int, bool) {
	n, err := strconv.ParseUint(string(head[6+8*i:6+8*i+8]), 16, 32)
	return int(n), err == nil
}

// padding returns how many bytes follow n bytes up to a multiple of four.
func padding(n int) int { return -n & 3 }

// releaseOf returns the release of a module that is read from an archive.
func releaseOf(r io.Reader, name string) (string, error) {
	in, done, err := decompress(r, name)
	if err != nil {
		return "", err
	}
	defer done()
	return host.SearchFirst(in, "version=", moduleVersionField, moduleCap)
}
