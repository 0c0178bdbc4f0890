package logs

import (
	"slices"

	"cudacompat/internal/lazyregexp"
)

// lastLines is how near to its end the last words of a log stand: a shell, a launcher or Python's clean-up may still
// say something below them, and torchrun a report of every rank.
const lastLines = 30

// endings are the areas of which a sentence of failing is believed where a log ends with it: what a program says last
// and aloud is why it ended, and these areas are of the machine whatever the program is. Of the public cases and the
// labelled logs that nothing else decided, 34 of 39 such sentences were right (the others are why there is goesWithout)
// and of those of no area 3 of 24.
var endings = []string{"installation", "no-device", "driver-or-toolkit", "graphics", "network-down", "video", "job",
	"access"}

// goesWithout is what a library says aloud of a part without which the program goes on, and of engines and collectives,
// which fail for what they were given, too.
var goesWithout = lazyregexp.New(`(?i)\[TRT\]|\bplugins?\b|register|deseriali|engine|physx|collective|deprecat|` +
	`tensorrt|summary|skipping|ptxas|nvlink|\bmonitor`)

// endsWith reports whether a complaint is the last thing that its log says, and is of an area that it is believed of.
func (r *record) endsWith(about string) bool {
	return r.final && !r.notice && aloud.MatchString(r.text) && slices.Contains(endings, about) &&
		!goesWithout.MatchString(r.text)
}

// raisedLast are the areas of which an exception without its traceback is believed where a log ends with it.
var raisedLast = []string{"installation", "network-down", "usage", "input", "unstable", "context"}

// ofTheRun are the words of an exception about how the program was started, which whoever starts it decides.
var ofTheRun = lazyregexp.New(`(?i)world.?size|\branks?\b|\bnodes?\b|hostfile|slots`)

// raisedAtEnd reports whether an exception is the last thing that its log says, and is of an area that it is believed
// of.
func (r *record) raisedAtEnd(about string) bool {
	return r.final && !r.notice && slices.Contains(raisedLast, about) && !ofTheRun.MatchString(r.text) &&
		!slices.Contains(coders[:anywhere], r.slot("class"))
}
