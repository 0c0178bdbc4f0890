package logs

import (
	"slices"

	"cudacompat/internal/lazyregexp"
	"cudacompat/matrix/pin"
)

// onWindows matches marks of a log that was written on Windows: its paths and its loader's errors.
var onWindows = lazyregexp.New(`\b[A-Za-z]:\\\w|RtlUserThreadStart|BaseThreadInitThunk|\[WinError \d|\\site-packages\\|\.dll["' ]`)

// windowsXid says where Windows keeps what Linux writes to the kernel log.
const windowsXid = "Event Viewer: Windows Logs, System, source nvlddmkm"

// wroteOnWindows reports whether a kept line was written on Windows.
func (e *excerpt) wroteOnWindows() bool {
	mark := func(l logLine) bool { return onWindows.MatchString(l.text) }
	return slices.ContainsFunc(e.head, mark) || slices.ContainsFunc(e.tail, mark)
}

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
