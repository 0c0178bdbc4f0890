package driver

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"cudacompat/probe/host"
)

// unitDirs are systemd's folders of units, the first that has a unit wins (systemd.unit(5)). On a distribution that has
// merged /usr, /lib is the same folder as /usr/lib.
var unitDirs = []string{"/etc/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system",
	"/lib/systemd/system"}

// startAtBoot returns what systemd does with an installed unit at the next boot: "enabled", "disabled" or "masked", or
// "" if files do not show it. A unit is enabled by a link in another unit's .wants, .requires or .upholds directory, or
// by a preset if the next boot is the machine's first.
func startAtBoot(h *host.Host, unit string) string {
	file := unitFile(h, unit)
	wanted, read := isWanted(h, unit)
	switch {
	case file == "":
		return ""
	case isMasked(h, unit):
		return "masked"
	case wanted || isFirstBoot(h) && isPreset(h, unit) && !bootUnseen(h):
		return "enabled"
	case !read || !installable(h, file) || isNamed(h, unit) || bootUnseen(h):
		return ""
	}
	return "disabled"
}

// bootUnseen reports whether a file that decides what starts at boot could not be read: a unit, a preset, the machine-id.
func bootUnseen(h *host.Host) bool {
	return slices.ContainsFunc([]string{"/etc/systemd", "/usr/local/lib/systemd", "/usr/lib/systemd", "/lib/systemd",
		"/etc/machine-id"}, h.Unseen)
}

// unitFile returns the file or link that defines a unit, "" if there is none.
func unitFile(h *host.Host, unit string) string {
	for _, dir := range unitDirs {
		if file := path.Join(dir, unit); nameExists(h, file) || h.Exists(file) {
			return file
		}
	}
	return ""
}

// isWanted reports whether a link makes another unit start this one, and whether all folders with such links could be
// read. The link's target does not matter: systemd uses its name.
func isWanted(h *host.Host, unit string) (wanted, read bool) {
	read = true
	for _, dir := range unitDirs {
		entries, err := h.ReadDir(dir)
		read = read && (err == nil || host.Absent(err))
		for _, e := range entries {
			if !slices.Contains([]string{".wants", ".requires", ".upholds"}, path.Ext(e.Name())) {
				continue
			}
			links, err := h.ReadDir(path.Join(dir, e.Name()))
			read = read && (err == nil || host.Absent(err))
			if slices.ContainsFunc(links, func(l fs.DirEntry) bool { return l.Name() == unit }) {
				return true, true
			}
		}
	}
	return false, read
}

// installable reports whether `systemctl enable` can enable the unit: its section [Install] names who starts it. Another
// unit must start one that has none.
func installable(h *host.Host, file string) bool {
	install := false
	for line := range strings.Lines(string(h.ReadQuietly(file))) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			install = line == "[Install]"
		}
		key, _, _ := strings.Cut(line, "=")
		if install && slices.Contains([]string{"WantedBy", "RequiredBy", "UpheldBy"}, strings.TrimSpace(key)) {
			return true
		}
	}
	return false
}

// isNamed reports whether one of the administrator's units may start this one, with Wants= or in
// a command.
func isNamed(h *host.Host, unit string) bool {
	name := strings.TrimSuffix(unit, ".service")
	for _, file := range append(h.Glob("/etc/systemd/system/*.service"), h.Glob("/etc/systemd/system/*.d/*.conf")...) {
		if path.Base(file) == unit {
			continue
		}
		for line := range strings.Lines(string(h.ReadQuietly(file))) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			if strings.Contains(value, name) && !slices.Contains(startsNone, key) && !strings.HasPrefix(key, "#") &&
				!strings.HasPrefix(key, ";") {
				return true
			}
		}
	}
	return false
}

// startsNone are the options of a unit that name another one without starting it.
var startsNone = []string{"After", "Before", "Conflicts", "PartOf", "Description", "Documentation"}

// isFirstBoot reports whether systemd takes the next boot for the first one and applies its presets then. An empty
// /etc/machine-id, as images have it, means no first boot (machine-id(5)).
func isFirstBoot(h *host.Host) bool {
	id, err := h.ReadLine("/etc/machine-id")
	return host.Absent(err) || err == nil && strings.TrimSpace(id) == "uninitialized"
}

// isPreset reports whether the presets enable a unit. The first matching line decides, in the order of the file names;
// a file in /etc replaces the one with the same name (systemd.preset(5)). A unit without a matching line is enabled. A
// tree without any preset is incomplete and enables nothing.
func isPreset(h *host.Host, unit string) bool {
	files := map[string]string{}
	for _, dir := range []string{"/lib", "/usr/lib", "/usr/local/lib", "/etc"} {
		for _, file := range h.Glob(dir + "/systemd/system-preset/*.preset") {
			files[path.Base(file)] = file
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for line := range strings.Lines(string(h.ReadQuietly(files[name]))) {
			words := strings.Fields(line)
			if len(words) < 2 || words[0] != "enable" && words[0] != "disable" && words[0] != "ignore" {
				continue
			}
			if ok, _ := path.Match(words[1], unit); ok {
				return words[0] == "enable"
			}
		}
	}
	return len(files) > 0
}
