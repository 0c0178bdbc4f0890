package driver

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/libversion"
	"cudacompat/probe/internal/source"
)

// ReadFirmware lists the driver versions whose firmware for the GPU system processor (GSP) is on disk, and finds the
// setting that switches it off.
func ReadFirmware(h *host.Host) (source.Update, error) {
	versions := firmwareVersions(h)
	off := gspSwitchedOff(h)
	if len(versions) == 0 && off == "" {
		return nil, host.ErrAbsent
	}
	return func(f *facts.Facts) { f.Machine.Firmware, f.Machine.GSPOff = versions, off }, nil
}

// firmwareDirs lists where the kernel looks for firmware (kernel.org: driver-api/firmware/fw_search_path), and where
// the GPU operator's driver container and NixOS put it, which give the kernel that path.
var firmwareDirs = []string{"/lib/firmware/updates", "/lib/firmware", "/usr/lib/firmware/updates", "/usr/lib/firmware",
	"/run/nvidia/driver/lib/firmware", "/run/current-system/firmware"}

// firmwareVersions lists the driver versions that have firmware on disk.
func firmwareVersions(h *host.Host) []string {
	dirs := slices.Clone(firmwareDirs)
	if extra, err := h.ReadLine("/sys/module/firmware_class/parameters/path"); err == nil && path.IsAbs(extra) {
		dirs = append(dirs, extra)
	}
	var versions []string
	for _, dir := range dirs {
		for _, file := range h.Glob(path.Join(dir, "nvidia/*/gsp*.bin*")) { // perhaps .xz or .zst
			version := path.Base(path.Dir(file))
			if libversion.Driver.MatchString(version) && !slices.Contains(versions, version) {
				versions = append(versions, version)
			}
		}
	}
	return versions
}

// modprobeDirs lists the directories of modprobe.d(5) in order. A file hides files of the same name in later
// directories.
var modprobeDirs = []string{"/etc/modprobe.d", "/run/modprobe.d", "/usr/local/lib/modprobe.d", "/usr/lib/modprobe.d",
	"/lib/modprobe.d"}

// gspSwitchedOff returns the file whose effective option is NVreg_EnableGpuFirmware=0. What the loaded module reports
// overrides the files.
func gspSwitchedOff(h *host.Host) string {
	const params = "/proc/driver/nvidia/params"
	if data, err := h.ReadFile(params); err == nil {
		if gspParam.Match(data) {
			return params
		}
		return ""
	}
	return gspOption(h)
}

// gspParam matches a line of /proc/driver/nvidia/params: "EnableGpuFirmware: 18" by default.
var gspParam = lazyregexp.New(`(?m)^EnableGpuFirmware: 0$`)

// gspOption reads the options in the order of the files' names, as modprobe does. The last one wins.
func gspOption(h *host.Host) string {
	files := map[string]string{} // by name, the one that is read
	var names []string
	for _, dir := range modprobeDirs {
		for _, file := range h.Glob(dir + "/*.conf") {
			if name := path.Base(file); files[name] == "" {
				files[name] = file
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	off := ""
	for _, name := range names {
		if value, ok := parseGSPOption(h.ReadQuietly(files[name])); ok {
			off = ""
			if value == "0" {
				off = files[name]
			}
		}
	}
	return off
}

// parseGSPOption parses lines such as "options nvidia NVreg_EnableGpuFirmware=0" of a modprobe.d file. The last one
// wins.
func parseGSPOption(data []byte) (value string, ok bool) {
	for line := range bytes.Lines(data) {
		fields := strings.Fields(string(line))
		if len(fields) < 3 || fields[0] != "options" || !strings.HasPrefix(fields[1], "nvidia") {
			continue
		}
		for _, f := range fields[2:] {
			if v, found := strings.CutPrefix(f, "NVreg_EnableGpuFirmware="); found {
				value, ok = v, true
			}
		}
	}
	return value, ok
}
