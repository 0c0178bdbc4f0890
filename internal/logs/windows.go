package logs

import (
	"slices"

	"cudacompat/matrix/pin"
)

// windowsXid says where Windows keeps what Linux writes to the kernel log.
const windowsXid = "Event Viewer: Windows Logs, System, source nvlddmkm"

// forWindows removes steps that work only on Linux, unless none would be left, and names the event log.
func (d *Diagnosis) forWindows() {
	var do []string
	for _, step := range d.Do {
		if step = pin.TextForWindows(step); !pin.LinuxOnly(step) && !slices.Contains(do, step) {
			do = append(do, step)
		}
	}
	if len(do) > 0 {
		d.Do = do
	}
	d.Candidates = slices.Clone(d.Candidates)
	for i, c := range d.Candidates {
		if pin.LinuxOnly(c.Fetch) {
			d.Candidates[i].Fetch = windowsXid
		}
	}
}
