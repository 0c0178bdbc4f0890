package logs

import (
	"slices"

	"cudacompat/internal/lazyregexp"
)

// onWindows are the marks of a log that was written there: its paths, its loader's errors.
var onWindows = lazyregexp.New(`\b[A-Za-z]:\\\w|RtlUserThreadStart|BaseThreadInitThunk|\[WinError \d|\\site-packages\\|\.dll["' ]`)

// linuxOnly are the words of steps and commands that mean nothing on Windows.
var linuxOnly = lazyregexp.New("\\b(?:ldconfig|LD_LIBRARY_PATH|apt(?:-get)?|dnf|dmesg|modprobe|rmmod|ldd|systemctl|" +
	"nvidia-modprobe|lsof|sudo|export|libstdc\\+\\+|gcc-\\d+|free -h|ipc=host|shm-size)\\b|/dev/|/etc/")

// windowsXid is where Windows keeps what Linux has in the kernel's log.
const windowsXid = "Event Viewer: Windows Logs, System, source nvlddmkm"

// wroteOnWindows reports whether a line that was kept was written on Windows.
func (e *excerpt) wroteOnWindows() bool {
	mark := func(l logLine) bool { return onWindows.MatchString(l.text) }
	return slices.ContainsFunc(e.head, mark) || slices.ContainsFunc(e.tail, mark)
}

// forWindows takes the steps away that are for Linux only, as long as one is left, and names the event log.
func (d *Diagnosis) forWindows() {
	do := slices.DeleteFunc(slices.Clone(d.Do), linuxOnly.MatchString)
	if len(do) > 0 {
		d.Do = do
	}
	d.Candidates = slices.Clone(d.Candidates)
	for i, c := range d.Candidates {
		if linuxOnly.MatchString(c.Fetch) {
			d.Candidates[i].Fetch = windowsXid
		}
	}
}
