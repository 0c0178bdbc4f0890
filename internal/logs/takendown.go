package logs

import (
	"slices"

	"cudacompat/internal/logs/record"
)

// putOwnLineFirst puts the program's own line about an error before the kernel's, because it names the call.
func (j *judging) putOwnLineFirst(d *Diagnosis) {
	if d.Cause != "xid-of-the-program" {
		return
	}
	own := slices.IndexFunc(d.Lines, func(l Line) bool { return !ofKernel.MatchString(l.Text) && record.ErrorLine.MatchString(l.Text) })
	if own > 0 {
		line := d.Lines[own]
		d.Lines = slices.Insert(slices.Delete(d.Lines, own, own+1), 0, line)
	}
}
