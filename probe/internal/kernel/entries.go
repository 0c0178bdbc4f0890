package kernel

import (
	"bufio"
	"bytes"
	"debug/pe"
	"io"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/host"
)

// bootEntry is one entry of a boot loader's menu. The first group of fields comes from the Boot Loader Specification
// (https://uapi-group.org/specifications/specs/boot_loader_specification/).
type bootEntry struct {
	id      string // the file's name without its end and its counter
	file    string // the file's name with its end, as loader.conf has it
	version string
	machine string
	sortKey string
	bad     bool // its tries are used up

	title   string
	from    string   // the file that describes it; empty for GRUB's own
	kernels []string // those that it may start, the likeliest first
}

// kernel returns the installed kernel that an entry starts, or "".
func (e bootEntry) kernel(installed []string) string {
	i := slices.IndexFunc(e.kernels, func(k string) bool { return slices.Contains(installed, k) })
	if i < 0 {
		return ""
	}
	return e.kernels[i]
}

// loaderEntries reads the entry files under a boot partition's mount point.
func loaderEntries(h *host.Host, mount string) []bootEntry {
	var entries []bootEntry
	for _, file := range h.Glob(mount + "/loader/entries/*.conf") {
		if data := h.ReadQuietly(file); data != nil {
			entries = append(entries, parseLoaderEntry(data).withFileName(file))
		}
	}
	return entries
}

// unifiedKernels reads the unified kernel images under a boot partition's mount point.
func unifiedKernels(h *host.Host, mount string) []bootEntry {
	var entries []bootEntry
	for _, file := range h.Glob(mount + "/EFI/Linux/*.efi") {
		if f, err := h.Open(file); err == nil {
			entries = append(entries, parseUnifiedKernel(f).withFileName(file))
			f.Close()
		}
	}
	return entries
}

// parseLoaderEntry parses an entry file:
//
//	title Amazon Linux (6.1.141-155.222.amzn2023.x86_64) 2023
//	version 6.1.141-155.222.amzn2023.x86_64
//	linux /boot/vmlinuz-6.1.141-155.222.amzn2023.x86_64
func parseLoaderEntry(data []byte) bootEntry {
	fields := map[string]string{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		if key, value, ok := cutField(lines.Text()); ok {
			fields[key] = value
		}
	}
	e := bootEntry{title: fields["title"], version: fields["version"], machine: fields["machine-id"],
		sortKey: fields["sort-key"]}
	if fields["linux"] != "" {
		e.kernels = append(kernelNames(fields["linux"]), e.version)
	}
	return e
}

// cutField splits a line of a boot loader's file into its key and value.
func cutField(line string) (key, value string, ok bool) {
	line = strings.TrimSpace(line)
	if i := strings.IndexAny(line, " \t"); i > 0 && line[0] != '#' {
		return line[:i], strings.TrimSpace(line[i:]), true
	}
	return "", "", false
}

// unifiedTextCap bounds the text sections read from a unified kernel image.
const unifiedTextCap = 16 << 10

// parseUnifiedKernel reads the sections of a unified kernel image that name its kernel (.uname) and its system (.osrel,
// an os-release file). systemd-boot sorts by the version in the latter.
func parseUnifiedKernel(r io.ReaderAt) bootEntry {
	image, err := pe.NewFile(r)
	if err != nil {
		return bootEntry{}
	}
	text := func(name string) []byte {
		section := image.Section(name)
		if section == nil {
			return nil
		}
		data, _ := io.ReadAll(io.LimitReader(section.Open(), unifiedTextCap))
		return bytes.TrimRight(data, "\x00")
	}
	var e bootEntry
	if kernel := strings.TrimSpace(string(text(".uname"))); kernel != "" {
		e.kernels = []string{kernel}
	}
	values := host.ParseINI(text(".osrel"))
	first := func(names ...string) string {
		for _, name := range names {
			if v := strings.Trim(values["."+name], `"'`); v != "" {
				return v
			}
		}
		return ""
	}
	e.title, e.sortKey = first("PRETTY_NAME"), first("IMAGE_ID", "ID")
	e.version = first("IMAGE_VERSION", "VERSION", "VERSION_ID", "BUILD_ID")
	return e
}

// bootCounter matches the boot counter in a file name: "+3" (three tries left) or "+0-3" (none left, three done).
var bootCounter = lazyregexp.New(`\+(\d+)(?:-\d+)?$`)

// withFileName returns the entry with what its file name says: the id, the boot counter and, if a unified kernel has no
// .uname section, its kernel, as in "fedora-6.17.4-300.fc43.x86_64.efi".
func (e bootEntry) withFileName(file string) bootEntry {
	end := path.Ext(file)
	e.id, e.from = strings.TrimSuffix(path.Base(file), end), file
	if tries := bootCounter.FindStringSubmatch(e.id); tries != nil {
		e.bad = strings.Trim(tries[1], "0") == ""
		e.id = strings.TrimSuffix(e.id, tries[0])
	}
	e.file = e.id + end
	if _, kernel, ok := strings.Cut(e.id, "-"); ok && end == ".efi" {
		e.kernels = append(e.kernels, kernel)
	}
	return e
}
