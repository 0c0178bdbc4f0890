package record

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

// ReadException returns the record for the last line of an exception, in a traceback or quoted without one. It returns
// nil if the line is none.
func ReadException(l logtext.Line) *Record {
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
	return &Record{Kind: "exception", Slots: map[string]string{"class": class, "message": strings.TrimSpace(said)},
		Line: l.Number, Text: l.Text, Notice: logtext.IsNotice(l.Text)}
}

// IsFromResourceTracker reports whether an exception comes from the process with which multiprocessing cleans up. It
// prints its failures and continues, usually because another process died.
func (r *Record) IsFromResourceTracker() bool {
	return len(r.Frames) > 0 && tracker.MatchString(r.Frames[0].Path)
}

var tracker = lazyregexp.New(`multiprocessing[/\\]resource_tracker\.py$`)

// RaisingFrame returns the call that raised the exception, also in Python's standard library: _execute_child starts
// another program.
func (r *Record) RaisingFrame() traceback.Frame {
	if len(r.Frames) == 0 {
		return traceback.Frame{}
	}
	return r.Frames[len(r.Frames)-1]
}
