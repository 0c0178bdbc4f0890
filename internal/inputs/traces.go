package inputs

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs"
	"cudacompat/internal/logs/signature"
	"cudacompat/probe"
)

// FindDescription returns the facts of an environment described in the log: a report, or a list of packages.
func FindDescription(head []byte, d *logs.Diagnosis) (probe.Facts, bool) {
	if !d.Traces.Report {
		return probe.Facts{}, false
	}
	machines := probe.Machines(probe.Document{Data: head})
	facts, err := probe.GivenFile(machines[0])
	return facts, err == nil && len(machines) == 1 // of which of several the error is, nobody says
}

// loadedDriver is where the kernel shows the release of the loaded driver.
const loadedDriver = "/proc/driver/nvidia/version"

var driverNumber = lazyregexp.New(`\b\d{3}\.\d{2,3}(?:\.\d{2,3})?\b`)

// sharedDirectories lists directories whose files are alike on most machines.
var sharedDirectories = []string{"/usr/", "/opt/conda/", "/tmp/", "/root/", "/proc/"}

// NamesThisMachine says why a log seems to come from this machine. It returns "" if it does not, or if its fault has
// nothing to do with a machine.
func NamesThisMachine(d *logs.Diagnosis) string {
	if d.Blame == logs.Program || d.Blame == logs.None {
		return ""
	}
	text, err := probe.This().ReadFile(loadedDriver)
	if own := driverNumber.FindString(string(text)); err == nil && len(d.Traces.Drivers) > 0 {
		if slices.Contains(d.Traces.Drivers, own) {
			return "the log names its driver, " + own
		}
		return ""
	}
	for _, path := range d.Traces.Files {
		if !strings.HasPrefix(path, "/") || slices.ContainsFunc(sharedDirectories, func(dir string) bool { return strings.HasPrefix(path, dir) }) {
			continue
		}
		if _, err := os.Lstat(path); err == nil {
			return "the log names " + path + ", which is here"
		}
	}
	return ""
}

// DescribesMachine reports whether a file is a report, a list of packages or facts, and shows no error.
func DescribesMachine(ctx context.Context, all []signature.Signature, name string) bool {
	info, err := os.Stat(name)
	if name == "-" || err != nil || !info.Mode().IsRegular() || info.Size() > MaxFile {
		return false
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return false
	}
	if _, err := probe.GivenFile(probe.Document{Name: name, Data: data}); err != nil {
		return false
	}
	d, err := logs.Read(ctx, all, []logs.Source{{Name: name, Reader: bytes.NewReader(data)}})
	return err == nil && d.Cause == logs.NothingFound
}
