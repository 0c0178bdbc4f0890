package kernel

import (
	"bufio"
	"bytes"
	"cmp"
	"path"
	"slices"
	"strings"

	"cudacompat/probe/host"
)

// systemPartitions lists where the EFI system partition is mounted. /boot may also be the extended boot partition.
var systemPartitions = []string{"/efi", "/boot/efi", "/boot"}

// systemdBootEntry returns the entry that systemd-boot starts, and whether systemd-boot is installed. It does not see a
// choice made in the boot menu, which the firmware stores.
func systemdBootEntry(h *host.Host) (entry bootEntry, there bool) {
	i := slices.IndexFunc(systemPartitions, func(dir string) bool {
		return len(h.Glob(dir+"/EFI/systemd/systemd-boot*.efi")) > 0
	})
	if i < 0 {
		return bootEntry{}, false
	}
	var entries []bootEntry
	for _, mount := range slices.Compact([]string{systemPartitions[i], "/boot"}) {
		entries = append(entries, loaderEntries(h, mount)...)
		entries = append(entries, unifiedKernels(h, mount)...)
	}
	if len(entries) == 0 {
		return bootEntry{}, true
	}
	slices.SortStableFunc(entries, compareEntries)
	pattern := parseLoaderConf(h.ReadQuietly(systemPartitions[i] + "/loader/loader.conf"))
	if i := slices.IndexFunc(entries, func(e bootEntry) bool { return e.matches(pattern) }); i >= 0 {
		return entries[i], true
	}
	return entries[0], true
}

// matches reports whether the default of loader.conf, a glob, selects the entry. Old releases of systemd-boot omitted
// the file's extension.
func (e bootEntry) matches(pattern string) bool {
	return slices.ContainsFunc([]string{e.file, e.id}, func(name string) bool {
		ok, _ := path.Match(strings.ToLower(pattern), strings.ToLower(name))
		return ok
	})
}

// parseLoaderConf returns the pattern of "default fedora-*" in loader.conf(5). "@saved" means what the firmware
// remembers; a machine that never booted has nothing saved.
func parseLoaderConf(data []byte) string {
	pattern := ""
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		if key, value, ok := cutField(lines.Text()); ok && key == "default" {
			pattern = value
		}
	}
	return pattern
}

// compareEntries orders entries by the specification: bad ones last, those with a sort key first, then by sort key,
// machine, version and file name, newest first.
func compareEntries(a, b bootEntry) int {
	if c := cmp.Or(falseFirst(a.bad, b.bad), falseFirst(a.sortKey == "", b.sortKey == "")); c != 0 {
		return c
	}
	if a.sortKey != "" {
		if c := cmp.Or(cmp.Compare(a.sortKey, b.sortKey), cmp.Compare(a.machine, b.machine),
			compareVersions(b.version, a.version)); c != 0 {
			return c
		}
	}
	return compareVersions(b.id, a.id)
}

// falseFirst orders false before true.
func falseFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
