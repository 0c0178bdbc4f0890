package triage

import (
	"bytes"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/voice"
)

// closing is the line by which a log tells that its program did what it was started for, or is at it.
type closing struct {
	number int // 0: no line tells
	text   string
	atWork bool
	start  int // the last line before it on which a server says that it is up; 0: none
}

// closingLines is how near to its end a log says that the work is done, and aroundClosing how far from it nothing fails.
const (
	closingLines  = 6
	aroundClosing = 12
)

// finishes is how programs say that the work is done.
var finishes = lazyregexp.New(`(?i)\bstopped server|\b(?:successfully|completed|finished|succeeded)\b|\b(?:training|` +
	`inference|evaluation|validation|test|job|run|build|generation|optimi[sz]ation|export|conversion|benchmark|simulation|` +
	`calculation|script|process|processing|program|pipeline|experiment|task)s? (?:is |was |has |been )*(?:complete|done|` +
	`over|successful|ended)\b|^\W*(?:all )?(?:done|complete|success|finished|passed)\W*$|result = pass|` +
	`\b[1-9]\d* passed\b|\btotal (?:\w+ )?time\b|\btrain_runtime\b|^real\s+\d+m|prompt executed in|\bsaved\b|100%\||` +
	`final results?\b|\bBuilt target\b|(?:^|[:\s])OK\W*$|^Setting up \S+ \(|^Processing triggers for|^Ran [1-9]\d* tests? in [\d.]+s$`)

// orderly is how a program ends that was asked to, in words that others use of failing.
var orderly = lazyregexp.New(`(?i)shut ?down (?:is )?complete|\bstopped server|(?:return|exit)(?:ed with)?[ _]` +
	`?(?:code|status)[:=]? 0\b|\b(?:no|0) (?:errors?|failures|failed)\b`)

// counts is how far a program got of how much: "Epoch 30/30", "step 500 of 500".
var counts = lazyregexp.New(`(?i)\b(?:epoch|step|iter(?:ation)?|batch|round)s?\b\W{0,4}(\d+) ?(?:/|of) ?(\d+)\b|` +
	`\b(\d+)/(\d+) \[\d+:\d+`)

// tells reports whether a line says that the work is done. NCCL's own notices tell of its start.
func tells(text string) bool {
	for _, m := range counts.FindAllStringSubmatch(text, -1) {
		if m[1]+m[3] == m[2]+m[4] {
			return true
		}
	}
	return orderly.MatchString(text) || finishes.MatchString(text)
}

// unwell is what programs say of work that is done and of no use, what a script prints that ends however its program
// did, and the kernel's log, which no program ends.
var unwell = lazyregexp.New(`(?i)\b[1-9]\d* (?:errors?|failures?|failed|mismatches)\b|did not converge|not converged|[✗❌✘]|press any key to continue|` +
	`^(?:\S+ )*(?:kernel: )?\[ *\d+\.\d{6}\] `)

// expected is what pytest says of a test that was to fail.
var expected = lazyregexp.New(`\b\d+ xfailed\b`)

// speaksIll reports whether a log did not end well that has such a line near its end. A warning may hold its words.
func speaksIll(text string) bool {
	text = expected.ReplaceAllString(text, "")
	return terminated.MatchString(text) || unwell.MatchString(text) || journal.MatchString(text) ||
		fails.MatchString(text) && !informs(bare(text)) && !orderly.MatchString(text)
}

// closing is the line by which the log tells that it ended well, with the server's start before it.
func (s *scanner) closing() closing {
	c := s.last.endsWell(s.lines)
	lines := s.kept.lines()
	for i := len(lines) - 1; i >= 0 && c.start == 0; i-- {
		if text := lines[i].text; lines[i].number < c.number && strings.Contains(text, "tartup complete") && !fails.MatchString(text) {
			c.start = lines[i].number
		}
	}
	return c
}

// endsWell is the last line of a log that tells of work that was done, or is being done, where nothing near it failed.
// Last is the number of the log's last line.
func (e *finish) endsWell(last int) closing {
	lines := bytes.Split(bytes.TrimRight(e.text, "\r\n"), []byte{'\n'})
	var done, latest closing
	looked, work := 0, 0
	for i := len(lines) - 1; i >= 0 && looked < aroundClosing; i-- {
		text := clean(lines[i][bytes.LastIndexByte(bytes.TrimRight(lines[i], "\r"), '\r')+1:])
		at := closing{number: last - (len(lines) - 1 - i), text: text}
		switch looked++; {
		case strings.TrimSpace(text) == "" || clearing.MatchString(text):
			looked-- // says nothing of the program
		case speaksIll(text):
			return closing{}
		case strings.Contains(text, "NCCL INFO"): // of its start
		case done.number == 0 && looked <= closingLines && tells(text):
			done = at
		case done.number == 0 && looked <= closingLines && latest.number == 0 && serves.MatchString(text):
			done, done.atWork = at, true
		case works.MatchString(text):
			if work++; latest.number == 0 {
				latest, latest.atWork = at, true
			}
		}
	}
	if done.number == 0 && work >= enoughWork+2 {
		return latest
	}
	return done
}

// endWell makes nothing wrong of a diagnosis that blames nobody, where every log says itself that its work was done, or
// ends with it.
func (d *Diagnosis) endWell(ends []closing, records []record, sources []Source) {
	open := func(e closing) bool { return e.number == 0 }
	before := func(source, line int) bool { return source < len(ends) && line < ends[source].start }
	fault := func(r record) bool {
		return !r.notice && !r.built && !r.onlyBears() && !before(r.source, r.line)
	}
	if len(ends) == 0 || d.Blame != Unknown || d.Cause != NothingFound || slices.ContainsFunc(ends, open) || slices.ContainsFunc(records, fault) {
		return
	}
	*d = Diagnosis{Schema: Schema, Blame: None, Cause: EndedWell, Do: []string{}, Unread: d.Unread, Traces: d.Traces,
		Because: "The log ends with its work done, and no line of it is a known error."}
	if slices.ContainsFunc(records, func(r record) bool { return !r.notice && !r.onlyBears() }) {
		d.Because = "The log ends with its work done, which the errors before did not keep from it."
	}
	for i, e := range ends {
		l := Line{Number: e.number, Text: shown(voice.Redact(e.text), 0), Why: "The program says here that its work is done."}
		if len(sources) > 1 {
			l.File = clean([]byte(sources[i].Name))
		}
		if e.atWork {
			d.Because = "The log ends with the program at work, and no line of it is a known error."
			l.Why = "The program is at work here."
			d.Do = []string{"if it hangs there, give the stacks of its processes, too: `py-spy dump --pid PID`"}
		}
		d.Lines = append(d.Lines, l)
	}
}
