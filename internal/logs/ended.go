package logs

import (
	"bytes"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/redact"
)

// closing is the line by which a log tells that its program did what it was started for, or is at it.
type closing struct {
	number int // 0: no line tells
	text   string
	atWork bool
	whole  bool // it tells of all of the work, and not of a step
	serves bool // a server wrote the log: each request of it is work of its own
	start  int  // the last line before it on which a server says that it is up; 0: none
	asked  bool // it tells that somebody asked the program to end
}

// closingLines is how near to its end a log says that the work is done, and aroundClosing how far from it nothing fails,
// and where the word of all of it may stand: installers say below it how to start what they installed.
const (
	closingLines  = 6
	aroundClosing = 12
)

// wholly is how programs say that all of their work is done, and finishes how they say so of a part of it. A script's
// "Done" is a part: it prints it however its program ended.
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

// orderly is how a program ends that was asked to, in words that others use of failing.
var orderly = lazyregexp.New(`(?i)shut ?down (?:is )?complete|\bstopped server|(?:return|exit)(?:ed with)?[ _]` +
	`?(?:code|status)(?:[:=] ?| )0\b|\b(?:no|0) (?:errors?|failures|failed)\b`)

// asks is how a server says that somebody asked it to end: by a signal, or as ComfyUI, which only a key stops. What its
// processes say of each other as they go is none of its faults.
var asks = lazyregexp.New(`(?i)\bSIG(?:TERM|INT) received\.|\breceived (?:signal[= ])?SIG(?:TERM|INT)\b|^(?:\[[\d :.-]+\] *)?stopped server$`)

// askedToEnd returns the first line among a log's last by which its server tells that it was asked to end.
func askedToEnd(lines [][]byte, last int) closing {
	for i := max(0, len(lines)-lastSaid); i < len(lines); i++ {
		if text := clean(lines[i]); asks.MatchString(text) {
			return closing{number: last - (len(lines) - 1 - i), text: text, asked: true}
		}
	}
	return closing{}
}

// counts is how far a program got of how much, "step 500 of 500", and epochs is how far it got of all that it was to do.
var (
	counts = lazyregexp.New(`(?i)\b(?:step|iter(?:ation)?|batch|round)s?\b\W{0,4}(\d+) ?(?:/|of) ?(\d+)\b|` +
		`\b(\d+)/(\d+) \[\d+:\d+`)
	epochs = lazyregexp.New(`(?i)\bepochs?\b\W{0,4}(\d+) ?(?:/|of) ?(\d+)()()\b`)
)

// countsToEnd reports whether a line counts to the last of how much.
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

// unwell is what programs say of work that is done and of no use, what a script prints that ends however its program
// did, and the kernel's log, which no program ends.
var unwell = lazyregexp.New(`(?i)\b[1-9]\d* (?:errors?|failures?|failed|mismatches)\b|did not converge|not converged|[✗❌✘]|press any key to continue|` +
	`\bnon-?zero (?:exit|return) ?(?:status|code)\b|(?:exit|return)(?:ed with)?[ _]?(?:status|code)[:=]? ?-?[1-9]|^(?:\S+ )*(?:kernel: )?\[ *\d+\.\d{6}\] `)

// expectedFailure is what pytest says of a test that was to fail.
var expectedFailure = lazyregexp.New(`\b\d+ xfailed\b`)

// speaksIll reports whether a log did not end well that has such a line near its end. A warning may hold its words.
func speaksIll(text string) bool {
	text = expectedFailure.ReplaceAllString(text, "")
	return terminationFrames.MatchString(text) || unwell.MatchString(text) || journal.MatchString(text) ||
		fails.MatchString(text) && !informs(bare(text)) && !orderly.MatchString(text)
}

// closing returns the line by which the log tells that it ended well, with the server's start before it.
func (s *scanner) closing() closing {
	c := s.last.endsWell(s.lines)
	asked := closing{}
	if c.number == 0 {
		asked = askedToEnd(s.last.lines(s.lines))
	}
	lines := s.kept.lines()
	for i := len(lines) - 1; i >= 0 && (c.start == 0 || !c.serves); i-- {
		text := lines[i].text
		if !containsAny(text, upWords) || !serves.MatchString(text) || fails.MatchString(text) {
			continue
		}
		c.serves = true
		if c.start == 0 && lines[i].number < c.number && strings.Contains(text, "tartup complete") {
			c.start = lines[i].number
		}
	}
	if asked.number > 0 && (c.serves || request.Match(s.last.text)) {
		asked.serves = true
		return asked
	}
	return c
}

// request is a request that a server was sent.
var request = lazyregexp.New(`(?m)"(?:GET|POST|PUT|HEAD) /|^\[GIN\] `)

// requestServed reports whether a line says that a server did what it was asked.
func requestServed(text string) bool { return request.MatchString(text) && works.MatchString(text) }

// endsWell returns the last line of a log that tells of work that was done, or is being done, where nothing near it
// failed. Breaks is how many line breaks the log has.
func (e *finish) endsWell(breaks int) closing {
	lines, last := e.lines(breaks)
	if last == 1 {
		return closing{} // a line alone is no log
	}
	var done, latest closing
	looked, work := 0, 0
	for i := len(lines) - 1; i >= 0 && looked < aroundClosing; i-- {
		text := clean(lines[i][bytes.LastIndexByte(bytes.TrimRight(lines[i], "\r"), '\r')+1:])
		at := closing{number: last - (len(lines) - 1 - i), text: text}
		switch looked++; {
		case strings.TrimSpace(message(bare(text))) == "" || clearing.MatchString(text):
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

// overcame reports whether a log's end tells that an error did not keep the program from its work: a server came up after
// it, or the log told only of work from there on, up to the line that says that all of it is done, or it was met while the
// program ended because somebody asked it to. What a server did after it could not answer one request says nothing of
// that request.
func (e *closing) overcame(r *record) bool {
	return r.line < e.start || e.whole && !e.serves && r.line < r.wentOn || e.asked && r.line > e.number
}

// endWell makes nothing wrong of a diagnosis that blames nobody, where every log says itself that its work was done, or
// ends with it.
func (d *Diagnosis) endWell(ends []closing, records []record, sources []Source) {
	open := func(e closing) bool { return e.number == 0 }
	fault := func(r record) bool {
		return !r.notice && !r.built && !r.earlier && !r.onlyBears() && (r.source >= len(ends) || !ends[r.source].overcame(&r))
	}
	if len(ends) == 0 || d.Blame != Unknown || d.Cause != NothingFound || slices.ContainsFunc(ends, open) || slices.ContainsFunc(records, fault) {
		return
	}
	*d = Diagnosis{Schema: Schema, Blame: None, Cause: EndedWell, Do: []string{}, Unread: d.Unread, Traces: d.Traces,
		Because: "The log ends with its work done, and no line of it is a known error."}
	overcome := slices.DeleteFunc(slices.Clone(records), func(r record) bool { return r.notice || r.onlyBears() })
	if len(overcome) > 0 {
		d.Because = "The log ends with its work done, which the errors before did not keep from it."
	}
	for i, e := range ends {
		l := Line{Number: e.number, Text: aroundMatch(redact.Redact(e.text), 0), Why: "The program says here that its work is done."}
		if len(sources) > 1 {
			l.File = clean([]byte(sources[i].Name))
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
		f := overcome[i].finding(answer{})
		l := f.quote(sources)
		l.Why = "The log goes on with work after it."
		d.Lines = append(d.Lines, l)
	}
}
