package triage

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// How much a matching line decides. The heaviest line of a log names the cause, the first of
// equals; so a failed assertion outranks the "device-side assert triggered" that follows it.
const (
	fact        = 0 // not a fault: something other signatures need to know
	consequence = 1 // another rank or call failed first
	warning     = 2 // the program went on after it
	symptom     = 3 // several causes print it
	fault       = 4 // names the failing part, which a cause may still explain
	cause       = 5 // decides alone
)

// Signature is a row of data/signature.csv: a line that programs, drivers or kernels print, and
// what it means.
type Signature struct {
	ID      string // unique, lower-case words joined by hyphens
	Cause   string // slug of the fault; several signatures may share one
	Blame   Blame
	Rule    string   // related rule of cudacompat, or empty
	Weight  int      // 0 to 5, see the constants
	Needs   string   // id of a signature that must be found too, or empty
	Reads   string   // name of the reader of numbers that judges the line, or empty
	Async   bool     // the error was reported by a later call than the one that failed
	Literal []string // one of these stands in every line that matches; written with " || " between
	Pattern string   // RE2; its named groups fill the {name}s of Because and Do
	Because string
	Do      []string // written with " || " between: a step may hold a pipe

	Positive string   // one line that matches, as a program printed it
	Source   []string // where that line was seen, then other sources: https addresses, or wheels with their sha256
	Checked  string   // when, as 2006-01-02

	pattern func() *regexp.Regexp // compiled when a literal of it is met; most never are
}

var header = []string{"id", "cause", "blame", "rule", "weight", "needs", "reads", "async", "literal",
	"pattern", "because", "do", "positive", "source", "checked"}

var (
	slug        = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	placeholder = regexp.MustCompile(`\{([a-z]+)\}`)
	origin      = regexp.MustCompile(`^(?:https://\S+|wheel \S+ sha256:[0-9a-f]{64})$`)
	day         = regexp.MustCompile(`^20\d\d-[01]\d-[0-3]\d$`)
)

// ParseSignatures reads and lints the table. All that is wrong with it is reported, with the row's id.
func ParseSignatures(r io.Reader) ([]Signature, error) {
	all, err := ReadSignatures(r)
	return all, errors.Join(append([]error{err}, lint(all)...)...)
}

// ReadSignatures reads the table, of which a test has seen that it is sound: linting costs more than most logs. A row
// that leaves because and do empty takes both from the first row of its cause.
func ReadSignatures(r io.Reader) ([]Signature, error) {
	rows := csv.NewReader(r)
	rows.Comment = '#'
	rows.FieldsPerRecord = len(header)
	records, err := rows.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("parse signatures: %w", err)
	}
	if len(records) == 0 || !slices.Equal(records[0], header) {
		return nil, fmt.Errorf("parse signatures: header is not %q", strings.Join(header, ","))
	}
	var all []Signature
	var faults []error
	for _, rec := range records[1:] {
		s, err := parseSignature(rec)
		if err != nil {
			faults = append(faults, fmt.Errorf("signature %q: %w", rec[0], err))
		}
		all = append(all, s)
	}
	shareWords(all)
	return all, errors.Join(faults...)
}

func parseSignature(f []string) (Signature, error) {
	weight, err := strconv.Atoi(f[4])
	if err != nil {
		return Signature{}, fmt.Errorf("weight %q is not a number", f[4])
	}
	s := Signature{ID: f[0], Cause: f[1], Blame: Blame(f[2]), Rule: f[3], Weight: weight, Needs: f[5],
		Reads: f[6], Async: f[7] == "yes", Literal: split(f[8], " || "), Pattern: f[9], Because: f[10],
		Do: split(f[11], " || "), Positive: f[12], Source: split(f[13], " | "), Checked: f[14]}
	s.pattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(s.Pattern) })
	return s, nil
}

// Words are Because and Do with what the positive line holds in the place of the names.
func (s *Signature) Words() (because string, do []string) {
	if !placeholder.MatchString(s.Because + strings.Join(s.Do, "")) {
		return s.Because, s.Do
	}
	text := clean([]byte(s.Positive))
	e := event{signature: s, text: text, match: s.find(text)}
	for _, step := range s.Do {
		do = append(do, e.fill(step))
	}
	return e.fill(s.Because), do
}

// split is strings.Split, but nothing holds no element.
func split(s, sep string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, sep)
}

func shareWords(all []Signature) {
	first := map[string]Signature{}
	for i, s := range all {
		if s.Because != "" {
			if _, seen := first[s.Cause]; !seen {
				first[s.Cause] = s
			}
			continue
		}
		all[i].Because, all[i].Do = first[s.Cause].Because, first[s.Cause].Do
	}
}
