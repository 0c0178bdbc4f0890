package logs

import (
	"cmp"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/logtext"
	"cudacompat/internal/logs/traceback"
)

// thrownElsewhere matches the last words of programs in other languages: C++ (what():), Rust, Go, Java, .NET.
var thrownElsewhere = lazyregexp.New(`^ *what\(\): +(?P<message>.+)|thread '[^']*' panicked at '(?P<rust>[^']+)'|` +
	`thread '[^']*'(?: \(\d+\))? panicked at [^']\S*:$|^Fatal error:$|^panic: ` +
	`(?P<go>.+)|` +
	`^(?:Exception in thread "[^"]*"|Caused by:|Unhandled [Ee]xception[.:]) (?:[\w$]+\.)*(?P<class>\w+)(?:: (?P<jav` +
	`a>.*))?`)

// worker matches vLLM's line that passes on a message of one of its processes.
var worker = lazyregexp.New(`^Worker failed with error ['"](.*)['"],? please check`)

// saidTwice returns the part that a text contains twice, or "".
func saidTwice(text string) string {
	if half := text[:len(text)/2]; half+half == text {
		return half
	}
	return ""
}

// exception returns the record for the last line of an exception, in a traceback or quoted without one.
func exception(l logtext.Line) *record {
	text := logtext.TrimLoggerPrefix(l.Text)
	class, said := "", ""
	if m := traceback.RaisedLine.FindStringSubmatch(text); m != nil {
		class, said = m[1]+m[3]+m[5], m[2]+m[4]+m[6]
	} else if m := thrownElsewhere.FindStringSubmatch(text); m != nil {
		class, said = cmp.Or(m[4], "exception"), m[1]+m[2]+m[3]+m[5]
	} else {
		return nil
	}
	if once := saidTwice(class); once != "" { // of two processes that wrote at once
		class, said = once, cmp.Or(saidTwice(strings.TrimPrefix(said, ": ")), said)
	}
	if m := worker.FindStringSubmatch(said); m != nil {
		said = m[1]
	}
	return &record{kind: "exception", slots: map[string]string{"class": class, "message": strings.TrimSpace(said)},
		line: l.Number, text: l.Text, notice: logtext.IsNotice(l.Text)}
}

// isFromResourceTracker reports whether an exception comes from the process with which multiprocessing cleans up. It
// prints its failures and continues, usually because another process died.
func (r *record) isFromResourceTracker() bool {
	return len(r.frames) > 0 && tracker.MatchString(r.frames[0].Path)
}

var tracker = lazyregexp.New(`multiprocessing[/\\]resource_tracker\.py$`)

// raisingFrame returns the call that raised the exception, also in Python's standard library: _execute_child starts
// another program.
func (r *record) raisingFrame() traceback.Frame {
	if len(r.frames) == 0 {
		return traceback.Frame{}
	}
	return r.frames[len(r.frames)-1]
}
