package process

import (
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
)

// errCut is the error of a list of devices that ends before its last part.
var errCut = errors.New("it is cut short")

// readMajors reads the driver's numbers of /proc/devices. If the text is cut short, a number that is missing proves nothing:
// readMajors returns none, and an error.
func readMajors(h *host.Host, nodes []facts.Node) (map[string]int, error) {
	text := string(h.ReadQuietly("/proc/devices"))
	if text == "" && !h.Exists("/proc/devices") || h.Unseen("/proc/devices") { // the host names it
		return nil, nil
	}
	majors := parseMajors(text)
	if !isComplete(text, majors, nodes) {
		return nil, &fs.PathError{Op: "read", Path: "/proc/devices", Err: errCut}
	}
	if len(majors) == 0 {
		return nil, nil
	}
	return majors, nil
}

// isComplete reports whether a list of devices ends as the kernel's does, with the block devices and a line break. A list
// without the block devices proves the numbers that it has: it is complete if it has those of all nodes.
func isComplete(devices string, majors map[string]int, nodes []facts.Node) bool {
	whole := strings.Contains("\n"+devices, "\nBlock devices:\n")
	return strings.HasSuffix(devices, "\n") && (whole || !slices.ContainsFunc(nodes, func(n facts.Node) bool {
		name := driverOf(n.Path)
		return n.Major > 0 && name != "" && majors[name] == 0 && majors[name+"-frontend"] == 0
	}))
}

// driverOf returns the name that /proc/devices has for the driver of a node; empty for nodes of others.
func driverOf(node string) string {
	switch {
	case node == "/dev/nvidia-uvm":
		return "nvidia-uvm"
	case strings.HasPrefix(node, "/dev/nvidia-caps/"):
		return "nvidia-caps"
	case node == "/dev/nvidiactl" || strings.HasPrefix(node, "/dev/nvidia") && strings.Trim(node[len("/dev/nvidia"):], "0123456789") == "":
		return "nvidia"
	}
	return ""
}

// parseMajors parses the driver's numbers among the character devices of /proc/devices:
//
//	195 nvidia
//	508 nvidia-uvm
//
// Drivers before 550 call the first one nvidia-frontend.
func parseMajors(devices string) map[string]int {
	majors := map[string]int{}
	characters, _, _ := strings.Cut(devices, "Block devices:")
	for line := range strings.Lines(characters) {
		fields := strings.Fields(line)
		if len(fields) != 2 || !strings.HasPrefix(fields[1], "nvidia") {
			continue
		}
		if major, err := strconv.Atoi(fields[0]); err == nil && major > 0 {
			majors[fields[1]] = major
		}
	}
	return majors
}
