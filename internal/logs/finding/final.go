package finding

import (
	"slices"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/record"
)

// endings lists the areas in which a sentence about a failure is believed if the log ends with it, because a program's
// last words usually say why it ended, and these areas concern the machine in every program. Of the labelled logs that
// nothing else decided, 34 of 39 such sentences were right (the others are the reason for goesWithout), and 3 of 24
// without an area.
var endings = []string{"installation", "no-device", "driver-or-toolkit", "graphics", "network-down", "video", "job",
	"access"}

// goesWithout matches errors about a part that the program can do without, and those of engines and collectives, which
// also fail because of their input.
var goesWithout = lazyregexp.New(`(?i)\[TRT\]|\bplugins?\b|register|deseriali|engine|physx|collective|deprecat|` +
	`tensorrt|summary|skipping|ptxas|nvlink|\bmonitor`)

// isLastComplaintAbout reports whether the record is an error message at the end of its log and about is an area of
// endings, in which such a message names the cause.
func isLastComplaintAbout(r *record.Record, about string) bool {
	return r.Final && !r.Notice && record.ErrorLine.MatchString(r.Text) && slices.Contains(endings, about) &&
		!goesWithout.MatchString(r.Text)
}

// raisedLast lists the areas in which an exception without a traceback is believed if the log ends with it.
var raisedLast = []string{"installation", "network-down", "usage", "input", "unstable", "context"}

// ofTheRun matches an exception about how the program was started.
var ofTheRun = lazyregexp.New(`(?i)world.?size|\branks?\b|\bnodes?\b|hostfile|slots`)

// isRaisedAtEnd reports whether an exception is the last thing in its log and belongs to an area that is believed then.
func isRaisedAtEnd(r *record.Record, about string) bool {
	return r.Final && !r.Notice && slices.Contains(raisedLast, about) && !ofTheRun.MatchString(r.Text) &&
		!slices.Contains(coders[:anywhere], r.Slot("class"))
}
