package logs

import (
	"bytes"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/logtext"
	"cudacompat/internal/logs/record"
	"cudacompat/internal/redact"
)

// closing is the line in which a log says that its program did its work, or is doing it.
type closing struct {
	number int // 0: no line tells
	text   string
	atWork bool
	whole  bool // it tells of all of the work, and not of a step
	serves bool // a server wrote the log: each request of it is work of its own
	start  int  // the last line before it on which a server says that it is up; 0: none
	asked  bool // it tells that somebody asked the program to end
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

// asks matches a server's line that somebody asked it to end, by a signal or, in ComfyUI, with a key. What its
// processes then report about each other is not a fault.
var asks = lazyregexp.New(`(?i)\bSIG(?:TERM|INT) received\.|\breceived (?:signal[= ])?SIG(?:TERM|INT)\b|^(?:\[[\d :.-]+\] *)?stopped server$`)

// askedToEnd returns the first of a log's last lines in which its server says that it was asked to end.
func askedToEnd(lines [][]byte, last int) closing {
	for i := max(0, len(lines)-lastSaid); i < len(lines); i++ {
		if text := logtext.Clean(lines[i]); asks.MatchString(text) {
			return closing{number: last - (len(lines) - 1 - i), text: text, asked: true}
		}
	}
	return closing{}
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

// tells reports whether a line says that a part of the work is done.
func tells(text string) bool {
	return countsToEnd(counts, text) || finishes.MatchString(text) && !request.MatchString(text)
}

// unwell matches what programs say about finished but useless work, what a script prints at its end however its program
// did, and the kernel log, which no program ends.
var unwell = lazyregexp.New(`(?i)\b[1-9]\d* (?:errors?|failures?|failed|mismatches)\b|did not converge|not converged|[✗❌✘]|press any key to continue|` +
	`\bnon-?zero (?:exit|return) ?(?:status|code)\b|(?:exit|return)(?:ed with)?[ _]?(?:status|code)[:=]? ?-?[1-9]|^(?:\S+ )*(?:kernel: )?\[ *\d+\.\d{6}\] `)

// expectedFailure matches pytest's words for a test that was expected to fail.
var expectedFailure = lazyregexp.New(`\b\d+ xfailed\b`)

// speaksIll reports whether a line near the end shows that a log did not end well. A warning may contain the same
// words.
func speaksIll(text string) bool {
	text = expectedFailure.ReplaceAllString(text, "")
	return terminationFrames.MatchString(text) || unwell.MatchString(text) || logtext.Journal.MatchString(text) ||
		fails.MatchString(text) && !logtext.IsNotice(logtext.TrimCollectorPrefix(text)) && !orderly.MatchString(text)
}

// closing returns the line in which the log says that it ended well, and the start of the server before it.
func (s *scanner) closing() closing {
	c := s.last.endsWell(s.lines)
	asked := closing{}
	if c.number == 0 {
		asked = askedToEnd(s.last.lines(s.lines))
	}
	lines := s.kept.Lines()
	for i := len(lines) - 1; i >= 0 && (c.start == 0 || !c.serves); i-- {
		text := lines[i].Text
		if !logtext.ContainsAny(text, upWords) || !serves.MatchString(text) || fails.MatchString(text) {
			continue
		}
		c.serves = true
		if c.start == 0 && lines[i].Number < c.number && strings.Contains(text, "tartup complete") {
			c.start = lines[i].Number
		}
	}
	if asked.number > 0 && (c.serves || request.Match(s.last.text)) {
		asked.serves = true
		return asked
	}
	return c
}

// request matches a request to a server.
var request = lazyregexp.New(`(?m)"(?:GET|POST|PUT|HEAD) /|^\[GIN\] `)

// requestServed reports whether a line says that a server answered a request.
func requestServed(text string) bool { return request.MatchString(text) && works.MatchString(text) }

// endsWell returns the last line of a log that tells of finished or ongoing work, if nothing near it failed. breaks is
// the number of line breaks in the log.
func (e *finish) endsWell(breaks int) closing {
	lines, last := e.lines(breaks)
	if last == 1 {
		return closing{} // a line alone is no log
	}
	var done, latest closing
	looked, work := 0, 0
	for i := len(lines) - 1; i >= 0 && looked < aroundClosing; i-- {
		text := logtext.Clean(lines[i][bytes.LastIndexByte(bytes.TrimRight(lines[i], "\r"), '\r')+1:])
		at := closing{number: last - (len(lines) - 1 - i), text: text}
		switch looked++; {
		case strings.TrimSpace(logtext.TrimLoggerPrefix(logtext.TrimCollectorPrefix(text))) == "" || clearing.MatchString(text):
			looked-- // says nothing of the program
		case speaksIll(text):
			return closing{}
		case strings.Contains(text, "NCCL INFO"): // of its start
		case done.number == 0 && tellsAll(text):
			done, done.whole = at, true
		case done.number == 0 && looked <= closingLines && tells(text):
			done = at
		case done.number == 0 && looked <= closingLines && (requestServed(text) || latest.number == 0 && serves.MatchString(text)):
			done, done.atWork = at, true
		case works.MatchString(text):
			if work++; latest.number == 0 {
				latest, latest.atWork = at, true
			}
		}
	}
	if done.number == 0 && work >= enoughWork+2 {
		done = latest
	}
	done.serves = request.Match(e.text)
	return done
}

// overcame reports whether the end of a log shows that the program survived an error: a server came up after it, or the
// log tells only of work from there to the line that says all is done, or the error occurred while the program ended on
// request. For a request that failed, later work of the server proves nothing.
func (e *closing) overcame(r *record.Record) bool {
	return r.Line < e.start || e.whole && !e.serves && r.Line < r.WentOn || e.asked && r.Line > e.number
}

// endWell changes a diagnosis that blames nobody to "nothing wrong" if every log says that its work was done, or ends
// with it.
func (d *Diagnosis) endWell(ends []closing, records []record.Record, sources []Source) {
	open := func(e closing) bool { return e.number == 0 }
	fault := func(r record.Record) bool {
		return !r.Notice && !r.Built && !r.Earlier && !isSupporting(r) && (r.Source >= len(ends) || !ends[r.Source].overcame(&r))
	}
	if len(ends) == 0 || d.Blame != Unknown || d.Cause != NothingFound || slices.ContainsFunc(ends, open) || slices.ContainsFunc(records, fault) {
		return
	}
	*d = Diagnosis{Schema: Schema, Blame: None, Cause: EndedWell, Do: []string{}, Unread: d.Unread, Traces: d.Traces,
		Because: "The log ends with its work done, and no line of it is a known error."}
	overcome := slices.DeleteFunc(slices.Clone(records), func(r record.Record) bool { return r.Notice || isSupporting(r) })
	if len(overcome) > 0 {
		d.Because = "The log ends with its work done, which the errors before did not keep from it."
	}
	for i, e := range ends {
		l := Line{Number: e.number, Text: logtext.CutAround(redact.Redact(e.text), 0), Why: "The program says here that its work is done."}
		if len(sources) > 1 {
			l.File = logtext.Clean([]byte(sources[i].Name))
		}
		if e.atWork {
			d.Because = "The log ends with the program at work, and no line of it is a known error."
			l.Why = "The program is at work here."
			d.Do = []string{"if it hangs there, give the stacks of its processes, too: `py-spy dump --pid PID`"}
		}
		if e.asked {
			d.Because = "The server was asked to end, and no line before it is a known error."
			l.Why = "Somebody asked the server to end here."
		}
		d.Lines = append(d.Lines, l)
	}
	for _, i := range suspects(overcome) {
		f := newFinding(&overcome[i], answer{})
		l := quote(&f.Hit, sources)
		l.Why = "The log goes on with work after it."
		d.Lines = append(d.Lines, l)
	}
}
