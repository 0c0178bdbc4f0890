// Package logs reads the log of a failed CUDA program and says whose fault it shows: the
// environment's, the program's or the hardware's.
//
// A log is read twice at once. Grammars turn its lines into records with slots (what the loader missed, which status a
// call returned, which package is not there), which small tables of names judge. And a [Signature] of data/signature
// knows a line as a real program printed it, with its fault and words: where one decides, it overrides the grammar.
// [Read] streams logs of any size past all signatures at once and keeps, for every signature, the first line that
// matched, and the lines around marks of trouble. CUDA reports asynchronously, so what is printed last is rarely the
// cause: a weight says how much a line decides.
package logs

import (
	"context"
	"errors"
	"fmt"
	"io"

	"cudacompat/internal/logs/decide"
	"cudacompat/matrix/pin"
)

// Blame is the side a fault lies on.
type Blame = decide.Blame

// The sides. Unknown is an answer: the log alone cannot tell. None is one, too: its frightening lines are harmless.
const (
	Environment = decide.Environment
	Program     = decide.Program
	Hardware    = decide.Hardware
	Unknown     = decide.Unknown
	None        = decide.None
)

// Confidence is how far a blame can be relied on.
type Confidence string

// The degrees of confidence. Of 153 answers on logs that nobody had learned from, 112 of 113 that are certain today were
// right, and 34 of 41 that are likely.
const (
	Certain   Confidence = "certain" // the line names the part that failed
	Likely    Confidence = "likely"  // several causes print the line, or it is judged by its words
	Undecided Confidence = "unknown" // the log does not tell
)

// Blames are the sides in the order in which lists show them.
var Blames = []Blame{Environment, Program, Hardware, Unknown, None}

// Schema names the JSON contract of a [Diagnosis].
const Schema = "cudacompat/diagnosis/v1"

// NothingFound is the cause of a diagnosis when no signature matched.
const NothingFound = "nothing-found"

// EndedWell is the cause of a diagnosis when the log itself says that the work was done.
const EndedWell = "ended-well"

// Diagnosis is what a log shows.
type Diagnosis struct {
	Schema  string     `json:"schema"`
	Blame   Blame      `json:"blame"`
	Cause   string     `json:"cause"`   // a slug, the same for all signatures of one cause
	Because string     `json:"because"` // the fault in one sentence, with its numbers
	Why     string     `json:"why"`     // how it comes to that, or empty
	Lines   []Line     `json:"lines"`   // the deciding line first, then what bears it out; never nil
	Do      []string   `json:"do"`      // next steps, in order; never nil
	Steps   []pin.Step `json:"steps"`   // the same, a command apart from what it does; never nil
	Rule    string     `json:"rule"`    // the related rule of cudacompat, or empty
	Decided []string   `json:"decided"` // the claim that won and why, then those it won over; never nil

	// Confidence says how far the blame can be relied on.
	Confidence Confidence `json:"confidence"`

	Unread []string `json:"unread"` // what of the logs was not read, a sentence each; never nil

	// Candidates are what it may be where the log alone cannot tell, the likeliest first, and what is broken on the machine
	// that the log was held against and cannot have brought its error about; never nil.
	Candidates []Candidate `json:"candidates"`

	Traces  Traces `json:"-"` // of the machine that wrote the logs
	project string // whose call raised the exception that decides; empty where none shows
	weight  int    // of the claim that decided
	form    bool   // a form of grammar made that claim
	slotted bool   // its line said how much memory was asked for
	byWords bool   // a form made it that read no more than words
	slots   map[string]string
}

// Failed reports whether the deciding line is that of a failure, and none that healthy programs print too.
func (d *Diagnosis) Failed() bool { return d.form || d.weight > consequence }

// Candidate is a cause that an unclear log may have, and how to find out.
type Candidate struct {
	Cause string `json:"cause"`
	Blame Blame  `json:"blame"`
	Fetch string `json:"fetch"` // the command whose output would decide it
}

// Line is one line of a log, free of control bytes and cut to a printable length.
type Line struct {
	Number int    `json:"number"` // counted from 1
	Text   string `json:"text"`
	File   string `json:"file,omitempty"` // empty when there is only one source
	Why    string `json:"why,omitempty"`  // why the line is harmless, where the log shows nothing wrong
}

// Source is one log: a file, or standard input. A log compressed with gzip or written as UTF-16
// is recognised by its first bytes.
type Source struct {
	Name   string
	Reader io.Reader
}

// Read streams all sources and says what they show together. Memory does not grow with the size of
// a log or of a line. What was read before a source failed or the time was up still counts: the diagnosis
// is valid together with the error, which names the source.
func Read(ctx context.Context, signatures []Signature, sources []Source) (Diagnosis, error) {
	finder := newFinder(signatures, marks...)
	j := judging{sources: sources, unread: []string{}}
	var failed error
	for i, src := range sources {
		if i > 0 && ctx.Err() != nil {
			failed = errors.Join(failed, context.Cause(ctx))
			j.unread = append(j.unread, fmt.Sprintf("%s was not read, nor were %d others: %v", clean([]byte(src.Name)),
				len(sources)-i-1, context.Cause(ctx)))
			break
		}
		s := newScanner(finder, signatures)
		failed = errors.Join(failed, j.read(ctx, s, i))
	}
	d := j.conclude()
	d.Steps = stepsIn(d.Do)
	return d, failed
}

// read adds one log.
func (j *judging) read(ctx context.Context, s *scanner, source int) error {
	name := clean([]byte(j.sources[source].Name))
	var failed error
	cut := s.read(ctx, j.sources[source].Reader)
	if cut != nil {
		failed = fmt.Errorf("read log %q: %w", j.sources[source].Name, cut)
		j.unread = append(j.unread, fmt.Sprintf("%s was not read to its end: %v", name, cut))
	}
	if s.skipped > 0 {
		j.unread = append(j.unread, fmt.Sprintf("%s: line %d holds so many likenesses of errors that it was not read to its end",
			name, s.skipped))
	}
	j.events = append(j.events, s.events(source))
	read, err := s.records(ctx, source, soonest)
	if err != nil && cut == nil {
		j.unread = append(j.unread, fmt.Sprintf("%s was not judged to its end: %v", name, err))
	}
	j.records = append(j.records, read...)
	j.kept, j.ends = append(j.kept, s.kept.lines()), append(j.ends, s.closing())
	j.windows = j.windows || s.kept.wroteOnWindows()
	return failed
}
