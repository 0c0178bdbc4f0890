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

// bootEntry is one entry of a boot loader's menu. The first group is of the Boot Loader Specification
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

// kernel is the one that an entry starts, of those that are installed; empty when it starts none of them.
func (e bootEntry) kernel(installed []string) string {
	i := slices.IndexFunc(e.kernels, func(k string) bool { return slices.Contains(installed, k) })
	if i < 0 {
		return ""
	}
	return e.kernels[i]
}

// loaderEntries are the entries under a partition's mount point: descriptions, and kernels that describe themselves.
func loaderEntries(h *host.Host, mount string) []bootEntry {
	var entries []bootEntry
	for _, file := range h.Glob(mount + "/loader/entries/*.conf") {
		if data := h.ReadQuietly(file); data != nil {
			entries = append(entries, parseLoaderEntry(data).withFileName(file))
		}
	}
	return entries
}

// unifiedKernels are the unified kernel images under a partition's mount point.
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

// parseLoaderEntry reads an entry:
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
		e.kernels = append(kernelsOfImage(fields["linux"]), e.version)
	}
	return e
}

// cutField parts a line of a boot loader's file into a word and the rest.
func cutField(line string) (key, value string, ok bool) {
	line = strings.TrimSpace(line)
	if i := strings.IndexAny(line, " \t"); i > 0 && line[0] != '#' {
		return line[:i], strings.TrimSpace(line[i:]), true
	}
	return "", "", false
}

// unifiedTextCap bounds what is read of the texts in a unified kernel image.
const unifiedTextCap = 16 << 10

// parseUnifiedKernel reads the sections of a unified kernel image that say which kernel (.uname) of which system
// (.osrel, an os-release file) it is; systemd-boot takes the version to sort by from the latter.
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

// bootCounter is "+3" or "+0-3" before a file's end: tries that are left, and done.
var bootCounter = lazyregexp.New(`\+(\d+)(?:-\d+)?$`)

// withFileName takes what an entry's file name says: the id, the counter, and of a unified kernel without a text the kernel,
// as in "fedora-6.17.4-300.fc43.x86_64.efi".
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
