package scan

import (
	"bytes"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/logtext"
	"cudacompat/internal/logs/record"
)

// Closing is the line in which a log says that its program did its work, or is doing it.
type Closing struct {
	Number int // 0: no line tells
	Text   string
	AtWork bool
	whole  bool // it tells of all of the work, and not of a step
	serves bool // a server wrote the log: each request of it is work of its own
	start  int  // the last line before it on which a server says that it is up; 0: none
	Asked  bool // it tells that somebody asked the program to end
}

// closingLines is how near to its end a log must say that the work is done. aroundClosing is how far around that line
// nothing may fail, and how far below it the end may be: installers then say how to start what they installed.
const (
	closingLines  = 6
	aroundClosing = 12
)

// wholly matches the words with which programs say that all of their work is done, and finishes those for a part. A
// script's "Done" counts as a part, because a script prints it however its program ended.
var (
	wholly = lazyregexp.New(`(?i)\b(?:training|inference|evaluation|validation|test|job|run|build|generation|optimi[sz]ation|` +
		`export|conversion|benchmark|simulation|calculation|script|process|processing|program|pipeline|experiment|task|` +
		`installation|setup)s? (?:\d+ )?(?:is |was |has |been |now )*(?:complete|completed|done|over|successful|ended|finished)\b|` +
		`\bexits? successfully\b|\btrain_runtime\b|result = pass|\b[1-9]\d* passed\b|^Ran [1-9]\d* tests? in [\d.]+s$|` +
		`\binstallation of .+ is (?:now )?complete\b|(?-i:^PASS\b)`)
	finishes = lazyregexp.New(`(?i)\bstopped server|\b(?:successfully|completed|finished|succeeded)\b|` +
		`^\W*(?:all )?(?:done|complete|success|finished|passed)\W*$|\btotal (?:\w+ )?time\b|^real\s+\d+m|` +
		`prompt executed in|\bsaved\b|100%\||final results?\b|\bBuilt target\b|(?:^|[:\s])OK\W*$|^Setting up \S+ \(|` +
		`^Processing triggers for`)
)

// orderly matches the words of a program that ends on request. Other programs use them for a failure.
var orderly = lazyregexp.New(`(?i)shut ?down (?:is )?complete|\bstopped server|(?:return|exit)(?:ed with)?[ _]` +
	`?(?:code|status)(?:[:=] ?| )0\b|\b(?:no|0) (?:errors?|failures|failed)\b`)

// asksToEnd matches a server's line that somebody asked it to end, by a signal or, in ComfyUI, with a key. What its
// processes then report about each other is not a fault.
var asksToEnd = lazyregexp.New(`(?i)\bSIG(?:TERM|INT) received\.|\breceived (?:signal[= ])?SIG(?:TERM|INT)\b|^(?:\[[\d :.-]+\] *)?stopped server$`)

// askedToEnd returns the first of a log's last lines in which its server says that it was asked to end.
func askedToEnd(lines [][]byte, last int) Closing {
	for i := max(0, len(lines)-lastSaid); i < len(lines); i++ {
		if text := logtext.Clean(lines[i]); asksToEnd.MatchString(text) {
			return Closing{Number: last - (len(lines) - 1 - i), Text: text, Asked: true}
		}
	}
	return Closing{}
}

// counts matches how far a program got of a total, "step 500 of 500", and epochs how far it got of everything.
var (
	counts = lazyregexp.New(`(?i)\b(?:step|iter(?:ation)?|batch|round)s?\b\W{0,4}(\d+) ?(?:/|of) ?(\d+)\b|` +
		`\b(\d+)/(\d+) \[\d+:\d+`)
	epochs = lazyregexp.New(`(?i)\bepochs?\b\W{0,4}(\d+) ?(?:/|of) ?(\d+)()()\b`)
)

// countsToEnd reports whether a line counts to the end of the total.
func countsToEnd(count *lazyregexp.Regexp, text string) bool {
	return slices.ContainsFunc(count.FindAllStringSubmatch(text, -1), func(m []string) bool { return m[1]+m[3] == m[2]+m[4] })
}

// tellsAll reports whether a line says that all of the work is done.
func tellsAll(text string) bool {
	return countsToEnd(epochs, text) || orderly.MatchString(text) || wholly.MatchString(text)
}

// tellsPart reports whether a line says that a part of the work is done.
func tellsPart(text string) bool {
	return countsToEnd(counts, text) || finishes.MatchString(text) && !request.MatchString(text)
}

// unwell matches last lines that prove no success: a program's report that it ended with errors, what a script prints
// whether or not its program succeeded, and lines of the kernel's log, which are not the program's.
var unwell = lazyregexp.New(`(?i)\b[1-9]\d* (?:errors?|failures?|failed|mismatches)\b|did not converge|not converged|[✗❌✘]|press any key to continue|` +
	`\bnon-?zero (?:exit|return) ?(?:status|code)\b|(?:exit|return)(?:ed with)?[ _]?(?:status|code)[:=]? ?-?[1-9]|^(?:\S+ )*(?:kernel: )?\[ *\d+\.\d{6}\] `)

// expectedFailure matches pytest's words for a test that was expected to fail.
var expectedFailure = lazyregexp.New(`\b\d+ xfailed\b`)

// speaksIll reports whether a line near the end shows that a log did not end well. A warning may contain the same
// words.
func speaksIll(text string) bool {
	text = expectedFailure.ReplaceAllString(text, "")
	return terminationFrames.MatchString(text) || unwell.MatchString(text) || logtext.Journal.MatchString(text) ||
		showsFailure.MatchString(text) && !logtext.IsNotice(logtext.TrimCollectorPrefix(text)) && !orderly.MatchString(text)
}

// FindClosing returns the line in which the log says that it ended well, and the start of the server before it.
func (s *Scanner) FindClosing() Closing {
	c := s.last.findClosing(s.lines)
	asked := Closing{}
	if c.Number == 0 {
		asked = askedToEnd(s.last.lines(s.lines))
	}
	lines := s.Kept.Lines()
	for i := len(lines) - 1; i >= 0 && (c.start == 0 || !c.serves); i-- {
		text := lines[i].Text
		if !logtext.ContainsAny(text, upWords) || !showsServer.MatchString(text) || showsFailure.MatchString(text) {
			continue
		}
		c.serves = true
		if c.start == 0 && lines[i].Number < c.Number && strings.Contains(text, "tartup complete") {
			c.start = lines[i].Number
		}
	}
	if asked.Number > 0 && (c.serves || request.Match(s.last.text)) {
		asked.serves = true
		return asked
	}
	return c
}

// request matches a request to a server.
var request = lazyregexp.New(`(?m)"(?:GET|POST|PUT|HEAD) /|^\[GIN\] `)

// requestServed reports whether a line says that a server answered a request.
func requestServed(text string) bool { return request.MatchString(text) && showsWork.MatchString(text) }

// findClosing returns the last line of a log that tells of finished or ongoing work, if nothing near it failed. breaks
// is the number of line breaks in the log.
func (e *finish) findClosing(breaks int) Closing {
	lines, last := e.lines(breaks)
	if last == 1 {
		return Closing{} // a line alone is no log
	}
	var done, latest Closing
	looked, work := 0, 0
	for i := len(lines) - 1; i >= 0 && looked < aroundClosing; i-- {
		text := logtext.Clean(lines[i][bytes.LastIndexByte(bytes.TrimRight(lines[i], "\r"), '\r')+1:])
		at := Closing{Number: last - (len(lines) - 1 - i), Text: text}
		switch looked++; {
		case strings.TrimSpace(logtext.TrimLoggerPrefix(logtext.TrimCollectorPrefix(text))) == "" || clearing.MatchString(text):
			looked-- // says nothing of the program
		case speaksIll(text):
			return Closing{}
		case strings.Contains(text, "NCCL INFO"): // of its start
		case done.Number == 0 && tellsAll(text):
			done, done.whole = at, true
		case done.Number == 0 && looked <= closingLines && tellsPart(text):
			done = at
		case done.Number == 0 && looked <= closingLines && (requestServed(text) || latest.Number == 0 && showsServer.MatchString(text)):
			done, done.AtWork = at, true
		case showsWork.MatchString(text):
			if work++; latest.Number == 0 {
				latest, latest.AtWork = at, true
			}
		}
	}
	if done.Number == 0 && work >= enoughWork+2 {
		done = latest
	}
	done.serves = request.Match(e.text)
	return done
}

// HasOvercome reports whether the end of a log shows that the program survived an error: a server came up after it, or
// the log tells only of work from there to the line that says all is done, or the error occurred while the program
// ended on request. For a request that failed, later work of the server proves nothing.
func (e *Closing) HasOvercome(r *record.Record) bool {
	return r.Line < e.start || e.whole && !e.serves && r.Line < r.WentOn || e.Asked && r.Line > e.Number
}
