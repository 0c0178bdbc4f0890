// Package system reads the operating system of a root: its distribution, C library and architecture, and the cloud
// instance type in the firmware.
package system

import (
	"bufio"
	"bytes"
	"debug/elf"
	"fmt"
	"io"
	"path"
	"runtime"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/source"
)

// Read reads the operating system: distribution, kernel, C library, and whether this is a container, WSL or a Jetson.
func Read(h *host.Host) (source.Update, error) {
	s := facts.System{Rest: h.Rest}
	var failed host.Errors
	release := firstFile(h, &failed, "/etc/os-release", "/usr/lib/os-release")
	s.OS, s.ID, s.IDLike = ParseOSRelease(release)
	var err error
	s.Kernel, err = h.ReadLine("/proc/sys/kernel/osrelease")
	failed.Add(err)
	s.Libc, s.LibcFrom, s.Arch, err = readLibc(h)
	failed.Add(err)
	if s.Arch == "" && !h.Rest {
		s.Arch = MachineNames[runtime.GOARCH]
	}
	s.Container, s.Proof = h.ContainerKind(), h.Proof()
	s.Bootable = len(h.Glob("/lib/modules/*/kernel")) > 0 || len(h.Glob("/boot/vmlinuz-*")) > 0
	s.WSL = strings.Contains(strings.ToLower(s.Kernel), "microsoft") || h.Exists("/usr/lib/wsl/lib/libcuda.so.1")
	s.Jetson = h.Exists("/etc/nv_tegra_release")
	return func(f *facts.Facts) { f.System = s }, failed.Err()
}

// MachineNames maps Go's architecture names to those of uname.
var MachineNames = map[string]string{"amd64": "x86_64", "arm64": "aarch64"}

// firstFile reads the first of several files that exists.
func firstFile(h *host.Host, failed *host.Errors, names ...string) []byte {
	for _, name := range names {
		data, err := h.ReadFile(name)
		if err == nil {
			return data
		}
		failed.Add(err)
	}
	return nil
}

// ParseOSRelease parses os-release(5): lines such as PRETTY_NAME="Ubuntu 22.04.5 LTS", ID=ubuntu, ID_LIKE="rhel
// fedora".
func ParseOSRelease(data []byte) (pretty, id, like string) {
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		key, value, _ := strings.Cut(lines.Text(), "=")
		value = strings.Trim(strings.TrimSpace(value), `"'`)
		switch key {
		case "PRETTY_NAME":
			pretty = value
		case "ID":
			id = value
		case "ID_LIKE":
			like = value
		}
	}
	return pretty, id, like
}

// libcNames lists the paths of glibc: Debian's multiarch directories, Red Hat's lib64, and a few links to those.
var libcNames = []string{
	"/lib/x86_64-linux-gnu/libc.so.6", "/lib/aarch64-linux-gnu/libc.so.6",
	"/usr/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/aarch64-linux-gnu/libc.so.6",
	"/lib64/libc.so.6", "/usr/lib64/libc.so.6", "/lib/libc.so.6", "/usr/lib/libc.so.6",
}

// readLibc finds glibc's version in the banner that libc.so.6 prints when it is executed.
func readLibc(h *host.Host) (version, from, arch string, err error) {
	for _, name := range libcNames {
		f, err := h.Open(name)
		if host.Absent(err) {
			continue
		}
		if err != nil {
			return "", "", "", err
		}
		defer f.Close()
		arch := elfArch(f)
		if version := parseLibcBanner(f); version != "" {
			return version, name, arch, nil
		}
		return "", "", arch, fmt.Errorf("%s: no glibc banner in it", name)
	}
	if musl := h.Glob("/lib/ld-musl-*.so.1"); len(musl) > 0 {
		arch, _, _ := strings.Cut(strings.TrimPrefix(path.Base(musl[0]), "ld-musl-"), ".")
		return "musl", musl[0], arch, nil
	}
	return "", "", "", nil
}

// elfArch returns the machine name for an ELF architecture, or "".
func elfArch(r io.ReaderAt) string {
	var head [20]byte
	if _, err := r.ReadAt(head[:], 0); err != nil || string(head[:4]) != elf.ELFMAG {
		return ""
	}
	switch elf.Machine(uint16(head[18]) | uint16(head[19])<<8) {
	case elf.EM_X86_64:
		return "x86_64"
	case elf.EM_AARCH64:
		return "aarch64"
	}
	return ""
}

var libcBanner = lazyregexp.New(`GNU C Library [^\n\x00]*(?:stable|development) release version (\d+\.\d+)`)

// libcCap exceeds the size of every glibc; Debian 12's has 1.9 MB.
const libcCap = 16 << 20

// parseLibcBanner finds "GNU C Library (Debian GLIBC 2.36-9+deb12u13) stable release version 2.36." in libc.so.6. It
// searches the constants, a fifth of the file, and the whole file if the section table is missing.
func parseLibcBanner(r io.ReaderAt) string {
	if constants, err := host.Constants(r); err == nil {
		if version := searchLibcBanner(constants); version != "" {
			return version
		}
	}
	return searchLibcBanner(io.NewSectionReader(host.ToSearch(r), 0, libcCap))
}

// searchLibcBanner searches a reader for the banner, piece by piece.
func searchLibcBanner(r io.Reader) string {
	version, err := host.SearchFirst(r, "GNU C Library ", libcBanner, libcCap)
	if err != nil {
		return ""
	}
	return version
}
