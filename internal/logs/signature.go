package logs

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/advise"
	"cudacompat/internal/logs/decide"
	"cudacompat/internal/logs/logtext"
	"cudacompat/internal/tables"
)

// How much a matching line decides; see package decide.
const (
	fact        = decide.Fact
	consequence = decide.Consequence
	warning     = decide.Warning
	symptom     = decide.Symptom
	fault       = decide.Fault
	cause       = decide.Cause
)

// Signature is a line of data/signature: a line that programs, drivers or kernels print, and what it means.
type Signature struct {
	ID      string // unique, lower-case words joined by hyphens
	Cause   string // slug of the fault; several signatures may share one
	Blame   Blame
	Rule    string   // related rule of cudacompat, or empty
	Weight  int      // 0 to 5, see the constants
	Needs   string   // id of a signature that must be found too, or empty
	Reads   string   // name of the reader of numbers that judges the line, or empty
	Async   bool     // the error was reported by a later call than the one that failed
	Root    bool     // the line names what failed, whatever its program says of it at its end
	Echo    bool     // a generic last line, which passes on what another line names
	Literal []string // one of these stands in every line that matches; derived from the pattern where not said
	Pattern string   // RE2; its named groups fill the {name}s of Because and Do
	Because string
	Do      []string

	Positive string   // one line that matches, as a program printed it
	Source   []string // where that line was seen, then other sources: https addresses, or wheels with their sha256
	Checked  string   // when, as 2006-01-02

	lines *lazyregexp.Regexp // those that match the pattern
}

var (
	slug        = lazyregexp.New(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	placeholder = lazyregexp.New(`\{([a-z]+)\}`)
)

// weights maps the words in the files to how much a line decides.
var weights = map[string]int{"fact": fact, "consequence": consequence, "warning": warning, "symptom": symptom,
	"fault": fault,
	"cause": cause}

// ParseSignatures parses and lints the table. It returns all errors, with the lines' names.
func ParseSignatures(fsys fs.FS) ([]Signature, error) {
	rows, err := tables.Read[tables.Signature](fsys)
	all := fromRows(rows)
	return all, errors.Join(append([]error{err}, lint(all)...)...)
}

// Signatures returns the rows of the embedded table. A test has linted it, because linting costs more than reading most
// logs.
func Signatures(t *tables.Tables) []Signature { return fromRows(tables.Rows[tables.Signature](t)) }

// LintedSignatures returns the rows of tables with a site's own rows over them, or the first error.
func LintedSignatures(t *tables.Tables) ([]Signature, error) {
	all := Signatures(t)
	if faults := lint(all); len(faults) > 0 {
		return nil, faults[0]
	}
	return all, nil
}

func fromRows(rows []tables.Signature) []Signature {
	all := make([]Signature, len(rows))
	for i, r := range rows {
		weight, known := weights[r.Weight]
		if !known {
			weight = -1
		}
		literal := []string(r.Literal)
		if literal == nil {
			literal = lazyregexp.Literals(r.Pattern, minLiteral)
		}
		all[i] = Signature{ID: r.ID, Cause: r.Cause, Blame: Blame(r.Blame), Rule: r.Rule, Weight: weight,
			Needs: r.Needs, Reads: r.Reads,
			Async: r.Async == "yes", Root: r.Passes == "root", Echo: r.Passes == "echo", Literal: literal, Pattern: r.Pattern, Because: r.Because, Do: r.Do, Positive: r.Seen,
			Source: r.Source, Checked: r.Checked, lines: lazyregexp.New(r.Pattern)}
	}
	return all
}

// blind reports whether the pattern treats all digits in a line alike.
func (s *Signature) blind() bool { return !digit.MatchString(noCount.ReplaceAllString(s.Pattern, "")) }

var (
	digit   = lazyregexp.New(`\d`)
	noCount = lazyregexp.New(`\{\d+(?:,\d*)?\}`) // how often something stands: no digit of the line
)

// Words returns Because and Do with the values of the positive example instead of the names.
func (s *Signature) Words() (because string, do []string) {
	because, do = s.Because, slices.Clone(s.Do)
	if placeholder.MatchString(s.Because + strings.Join(s.Do, "")) {
		text := logtext.Clean([]byte(s.Positive))
		e := event{signature: s, text: text, match: s.find(text)}
		because, do = e.fill(s.Because), e.steps()
	}
	for i := range do {
		do[i] = advise.Plain(do[i])
	}
	return because, do
}

// StepsFor returns the steps for a cause, given the name and text of an error: those of the signature that matches such
// an error, otherwise those of the cause's first signature that has steps.
func StepsFor(all []Signature, cause, name, text string) []string {
	var first []string
	lines := []string{"RuntimeError: CUDA error: " + text, "CUDA error: " + text, name + ": " + text, text, name}
	for i := range all {
		if all[i].Cause != cause {
			continue
		}
		_, do := all[i].Words()
		if len(do) == 0 {
			continue
		}
		if first == nil {
			first = do
		}
		if slices.ContainsFunc(lines, func(line string) bool { return all[i].lines != nil && all[i].find(line) != nil }) {
			return do
		}
	}
	return first
}
