// Package triage reads the log of a failed CUDA program and says whose fault it shows: the
// environment's, the program's or the hardware's.
//
// The knowledge is data: one [Signature] a row of data/signature.csv, each with the fault it
// stands for and one line as a real program printed it. [Read] streams logs of any size past all
// signatures at once and keeps, for every signature, the first line that matched; the verdict is
// worked out from those few lines. CUDA reports asynchronously, so what is printed last is rarely
// the cause: a signature's weight says how much its line decides.
package triage

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Blame is the side a fault lies on.
type Blame string

// The sides. Unknown is an answer: the log alone cannot tell.
const (
	Environment Blame = "environment"
	Program     Blame = "program"
	Hardware    Blame = "hardware"
	Unknown     Blame = "unknown"
)

// Schema names the JSON contract of a [Diagnosis].
const Schema = "cudacompat/diagnosis/v1"

// NothingFound is the cause of a diagnosis when no signature matched.
const NothingFound = "nothing-found"

// Diagnosis is what a log shows.
type Diagnosis struct {
	Schema  string   `json:"schema"`
	Blame   Blame    `json:"blame"`
	Cause   string   `json:"cause"`   // a slug, the same for all signatures of one cause
	Because string   `json:"because"` // one or two sentences
	Lines   []Line   `json:"lines"`   // the deciding line first, then what bears it out; never nil
	Do      []string `json:"do"`      // next steps, in order; never nil
	Rule    string   `json:"rule"`    // the related rule of cudacompat, or empty
}

// Line is one line of a log, free of control bytes and cut to a printable length.
type Line struct {
	Number int    `json:"number"` // counted from 1
	Text   string `json:"text"`
	File   string `json:"file,omitempty"` // empty when there is only one source
}

// Source is one log: a file, or standard input. A log compressed with gzip or written as UTF-16
// is recognised by its first bytes.
type Source struct {
	Name   string
	Reader io.Reader
}

// Read streams all sources and says what they show together. Memory does not grow with the size of
// a log or of a line. What was read before a source failed still counts: the diagnosis is valid
// together with the error, which names the source.
func Read(ctx context.Context, signatures []Signature, sources []Source) (Diagnosis, error) {
	finder := newFinder(signatures)
	var logs [][]event
	var failed error
	for i, src := range sources {
		s := scanner{finder: finder, signatures: signatures, found: make([]*event, len(signatures))}
		if err := s.read(ctx, src.Reader); err != nil {
			failed = errors.Join(failed, fmt.Errorf("read log %q: %w", src.Name, err))
		}
		logs = append(logs, s.events(i))
	}
	d := diagnose(logs, sources)
	return d, failed
}
