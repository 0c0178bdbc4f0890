// Package signature holds the table of known log lines and finds them in text.
//
// A [Signature] is one row of data/signature: the pattern of a line that programs print, its cause, and the words that
// explain it. A [Finder] looks for the literals of all signatures in one pass over a text; [Signature.Match] then
// applies a pattern to the line around one. A [Hit] is the first line of a log that a signature matched, and fills the
// words of the signature with the text of that line.
package signature

import (
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/advise"
	"cudacompat/internal/logs/decide"
	"cudacompat/internal/logs/logtext"
	"cudacompat/internal/tables"
)

// MinLiteral is the length of the shortest literal that the finder can look for.
const MinLiteral = 4

// Signature is a line of data/signature: a line that programs, drivers or kernels print, and what it means.
type Signature struct {
	ID      string // unique, lower-case words joined by hyphens
	Cause   string // slug of the fault; several signatures may share one
	Blame   decide.Blame
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

// Placeholder matches a name in the words of a signature or an answer, such as {library}.
var Placeholder = lazyregexp.New(`\{([a-z]+)\}`)

// Weights maps the words in the files to how much a line decides.
var Weights = map[string]int{"fact": decide.Fact, "consequence": decide.Consequence, "warning": decide.Warning, "symptom": decide.Symptom,
	"fault": decide.Fault,
	"cause": decide.Cause}

// Load returns the signatures of the embedded table. A test has linted it, because linting costs more than reading most
// logs.
func Load(t *tables.Tables) []Signature { return ConvertRows(tables.Rows[tables.Signature](t)) }

// ConvertRows returns the signatures of a table's rows.
func ConvertRows(rows []tables.Signature) []Signature {
	all := make([]Signature, len(rows))
	for i, r := range rows {
		weight, known := Weights[r.Weight]
		if !known {
			weight = -1
		}
		literal := []string(r.Literal)
		if literal == nil {
			literal = lazyregexp.Literals(r.Pattern, MinLiteral)
		}
		all[i] = Signature{ID: r.ID, Cause: r.Cause, Blame: decide.Blame(r.Blame), Rule: r.Rule, Weight: weight,
			Needs: r.Needs, Reads: r.Reads,
			Async: r.Async == "yes", Root: r.Passes == "root", Echo: r.Passes == "echo", Literal: literal, Pattern: r.Pattern, Because: r.Because, Do: r.Do, Positive: r.Seen,
			Source: r.Source, Checked: r.Checked, lines: lazyregexp.New(r.Pattern)}
	}
	return all
}

// IgnoresDigits reports whether the pattern treats all digits in a line alike.
func (s *Signature) IgnoresDigits() bool {
	return !digit.MatchString(noCount.ReplaceAllString(s.Pattern, ""))
}

var (
	digit   = lazyregexp.New(`\d`)
	noCount = lazyregexp.New(`\{\d+(?:,\d*)?\}`) // how often something stands: no digit of the line
)

// Words returns Because and Do with the values of the positive example instead of the names.
func (s *Signature) Words() (because string, do []string) {
	because, do = s.Because, slices.Clone(s.Do)
	if Placeholder.MatchString(s.Because + strings.Join(s.Do, "")) {
		text := logtext.Clean([]byte(s.Positive))
		e := Hit{Signature: s, Text: text, Match: s.Find(text)}
		because, do = e.FillWords(s.Because), e.FillSteps()
	}
	for i := range do {
		do[i] = advise.Plain(do[i])
	}
	return because, do
}

// FindSteps returns the steps for a cause, given the name and text of an error: those of the signature that matches
// such an error, otherwise those of the cause's first signature that has steps.
func FindSteps(all []Signature, cause, name, text string) []string {
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
		if slices.ContainsFunc(lines, func(line string) bool { return all[i].lines != nil && all[i].Find(line) != nil }) {
			return do
		}
	}
	return first
}
