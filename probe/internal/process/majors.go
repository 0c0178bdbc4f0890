package process

import (
	"strconv"
	"strings"
)

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
