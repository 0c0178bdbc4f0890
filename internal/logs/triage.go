// Package logs reads the log of a failed CUDA program and says whose fault it shows: the environment's, the program's
// or the hardware's.
//
// [Read] reads each log in one pass (package scan). That gives two things: the lines that the table of signatures knows,
// with their cause (packages signature and readers), and records with slots, which grammars read and small tables of
// names judge (packages record and finding). Package decide chooses among these claims; a signature overrides the
// grammar. This package turns the choice into a [Diagnosis]: it corrects it by the rest of the logs and adds the steps.
// CUDA reports asynchronously, so the last line is rarely the cause: a weight says how much a line decides.
package logs

import (
	"context"
	"errors"
	"fmt"
	"io"

	"cudacompat/internal/logs/decide"
	"cudacompat/internal/logs/logtext"
	"cudacompat/internal/logs/record"
	"cudacompat/internal/logs/scan"
	"cudacompat/internal/logs/signature"
	"cudacompat/matrix/pin"
)

// Blame is the side that a fault belongs to.
type Blame = decide.Blame

// The sides. Unknown is an answer: the log alone cannot show it. None is one, too: the log's alarming lines are
// harmless.
const (
	Environment = decide.Environment
	Program     = decide.Program
	Hardware    = decide.Hardware
	Unknown     = decide.Unknown
	None        = decide.None
)

// Confidence says how reliable a blame is.
type Confidence string

// The degrees of confidence. Of 153 answers on logs that nobody had learned from, 112 of 113 certain ones were right,
// and 34 of 41 likely ones.
const (
	Certain   Confidence = "certain" // the line names the part that failed
	Likely    Confidence = "likely"  // several causes print the line, or it is judged by its words
	Undecided Confidence = "unknown" // the log does not tell
)

// Schema names the JSON form of a [Diagnosis].
const Schema = "cudacompat/diagnosis/v1"

// NothingFound is the cause of a diagnosis if no signature matched.
const NothingFound = "nothing-found"

// EndedWell is the cause of a diagnosis if the log itself says that the work was done.
const EndedWell = "ended-well"

// Diagnosis is the result for a log.
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

	// Confidence says how reliable the blame is.
	Confidence Confidence `json:"confidence"`

	Unread []string `json:"unread"` // what of the logs was not read, a sentence each; never nil

	// Candidates lists possible causes, likeliest first, if the log alone cannot decide. It also lists what is broken
	// on the examined machine but cannot have caused the log's error. It is never nil.
	Candidates []Candidate `json:"candidates"`

	Traces  Traces `json:"-"` // of the machine that wrote the logs
	project string // whose call raised the exception that decides; empty where none shows
	weight  int    // of the claim that decided
	form    bool   // a form of grammar made that claim
	slotted bool   // its line said how much memory was asked for
	byWords bool   // a form made it that read no more than words
	slots   map[string]string
}

// Failed reports whether the deciding line shows a failure and is not also printed by healthy programs.
func (d *Diagnosis) Failed() bool { return d.form || d.weight > decide.Consequence }

// Candidate is a possible cause of an unclear log, and how to check it.
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

// Read reads all sources and returns what they show together. Its memory does not grow with the size of a log or a
// line. If a source fails or time runs out, Read returns an error that names the source, and the diagnosis covers what
// was read before.
func Read(ctx context.Context, signatures []signature.Signature, sources []Source) (Diagnosis, error) {
	finder := signature.NewFinder(signatures, record.TroubleMarks...)
	j := judging{sources: sources, unread: []string{}}
	var failed error
	for i, src := range sources {
		if i > 0 && ctx.Err() != nil {
			failed = errors.Join(failed, context.Cause(ctx))
			j.unread = append(j.unread, fmt.Sprintf("%s was not read, nor were %d others: %v", logtext.Clean([]byte(src.Name)),
				len(sources)-i-1, context.Cause(ctx)))
			break
		}
		s := scan.NewScanner(finder, signatures)
		failed = errors.Join(failed, j.read(ctx, s, signatures, i))
	}
	d := j.conclude()
	d.Steps = stepsIn(d.Do)
	return d, failed
}

// read adds one log.
func (j *judging) read(ctx context.Context, s *scan.Scanner, signatures []signature.Signature, source int) error {
	name := logtext.Clean([]byte(j.sources[source].Name))
	var failed error
	cut := s.Read(ctx, j.sources[source].Reader)
	if cut != nil {
		failed = fmt.Errorf("read log %q: %w", j.sources[source].Name, cut)
		j.unread = append(j.unread, fmt.Sprintf("%s was not read to its end: %v", name, cut))
	}
	if s.Skipped > 0 {
		j.unread = append(j.unread, fmt.Sprintf("%s: line %d holds so many likenesses of errors that it was not read to its end",
			name, s.Skipped))
	}
	j.events = append(j.events, s.ListHits(source))
	read, err := s.ReadRecords(ctx, source, scan.MinRecordTime)
	if err != nil && cut == nil {
		j.unread = append(j.unread, fmt.Sprintf("%s was not judged to its end: %v", name, err))
	}
	j.records = append(j.records, scan.DropHarmless(signatures, read)...)
	j.kept, j.ends = append(j.kept, s.Kept.Lines()), append(j.ends, s.FindClosing())
	j.windows = j.windows || s.Kept.IsFromWindows()
	return failed
}
