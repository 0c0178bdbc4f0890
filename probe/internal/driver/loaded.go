// Package driver reads NVIDIA's driver: the loaded kernel module, the modules on disk and their firmware, libcuda and
// cuda-compat libraries, and the packages, installers and update settings that brought them or will change them.
package driver

import (
	"bytes"
	"fmt"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/libversion"
	"cudacompat/probe/internal/source"
)

// ReadLoaded reads the version and kind of the loaded kernel module.
func ReadLoaded(h *host.Host) (source.Update, error) {
	const name = "/proc/driver/nvidia/version"
	data, err := h.ReadFile(name)
	if host.Absent(err) {
		return readSysModule(h)
	}
	if err != nil {
		return nil, err
	}
	version, module, err := parseProcDriver(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return func(f *facts.Facts) { f.Driver.Version, f.Driver.Module, f.Driver.From = version, module, name }, nil
}

// readSysModule reads the second source of the loaded version, which containers see even if /proc/driver is masked.
func readSysModule(h *host.Host) (source.Update, error) {
	const name = "/sys/module/nvidia/version"
	version, err := h.ReadLine(name)
	if err != nil {
		return nil, err
	}
	if !libversion.Driver.MatchString(version) {
		return nil, fmt.Errorf("%s: %q is not a driver version", name, version)
	}
	return func(f *facts.Facts) { f.Driver.Version, f.Driver.From = version, name }, nil
}

var nvrmVersion = lazyregexp.New(`(?m)^NVRM version:.*?\s(\d{3,4}\.\d+(?:\.\d+)?)\s`)

// parseProcDriver parses the version in the first line. The two kinds of module write it differently:
//
//	NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024
//	NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.144.03  Release Build  (dvs-builder@U16-I3-D08-1-2)
func parseProcDriver(data []byte) (version, module string, err error) {
	m := nvrmVersion.FindSubmatch(data)
	if m == nil {
		return "", "", fmt.Errorf("no line \"NVRM version: … <version>\"")
	}
	module = "proprietary"
	if bytes.Contains(m[0], []byte("Open Kernel Module")) {
		module = "open"
	}
	return string(m[1]), module, nil
}
