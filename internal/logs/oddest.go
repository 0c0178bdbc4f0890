package logs

import (
	_ "embed" // of the list of common words
	"slices"
	"strings"
	"sync"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/finding"
	"cudacompat/internal/logs/logtext"
	"cudacompat/internal/logs/record"
)

// commonText lists the words that occur in at least four of the 288 healthy logs of testdata/firstsight, one per line,
// sorted.
//
//go:embed common.txt
var commonText string

var commonWords = sync.OnceValue(func() []string { return strings.Fields(commonText) })

var (
	word = lazyregexp.New(`[a-z]{4,15}`)
	// ofFailing matches words of trouble in any form.
	ofFailing = lazyregexp.New(`(?i)error|fail|denied|refus|reject|wrong|invalid|illegal|missing|cannot|can.t\b|could ?n.t|could not|unable|not found|` +
		`no such|\bnan\b|abort|terminat|killed|corrupt|mismatch|unsupported|not supported|exceed|too (?:old|new|large|small|many|few)|should be|must be|expected`)
)

// oddest returns the line about a failure whose words occur least in healthy logs, or false. Of equal lines it returns
// the last.
func (j *judging) oddest() (r record.Record, found bool) {
	best := 0
	for source, lines := range j.kept {
		for _, l := range lines {
			if l.Listed || len(l.Text) > record.MaxComplaint || !speaksOfFailing(l) || logtext.Hypothetical.MatchString(l.Text) || logtext.StackFrame.MatchString(l.Text) {
				continue
			}
			if odd := oddWords(l.Text); odd >= best && odd > 0 {
				best, found = odd, true
				r = record.Record{Kind: "oddest", Slots: map[string]string{}, Line: l.Number, Source: source, Text: l.Text}
			}
		}
	}
	return r, found
}

// speaksOfFailing reports whether a line itself says that something failed and does not only quote that.
func speaksOfFailing(l logtext.Line) bool {
	if !logtext.ContainsAny(l.Text, failMarks) {
		return false // most lines: the expression costs more
	}
	at := ofFailing.FindStringSubmatchIndex(l.Text)
	return at != nil && logtext.StatesAt(l.Text, at[0]) && !logtext.IsNotice(l.Text)
}

// oddWords counts the words of a line that are not common in healthy logs.
func oddWords(text string) int {
	seen := map[string]bool{}
	for _, w := range word.FindAllString(strings.ToLower(text), -1) {
		if _, common := slices.BinarySearch(commonWords(), w); !common {
			seen[w] = true
		}
	}
	return len(seen)
}

// failMarks are substrings of nearly every line about a failure; only unusual capitals escape them.
var failMarks = []string{"rror", "RROR", "ail", "AIL", "enied", "efus", "eject", "rong", "nvalid", "llegal", "issing", "an't", "annot", "ould", "nable",
	"not ", "o such", "nan", "NaN", "bort", "erminat", "illed", "orrupt", "ismatch", "nsupported", "xceed", "oo ", "ust be", "xpected"}

// quoteOddest quotes that line if nothing is known about a log.
func (j *judging) quoteOddest(d *Diagnosis) {
	if d.Cause != NothingFound || len(d.Lines) > 0 || d.Blame != Unknown {
		return
	}
	r, found := j.oddest()
	if !found {
		return
	}
	f := finding.New(&r, finding.Answer{})
	d.Lines = append(d.Lines, quote(&f.Hit, j.sources))
	d.Because = "No line of this log is known here; this one speaks of failing in the least usual words."
	d.Do = append(finding.ListSearchSteps(&r), "judge the machine itself: cudacompat doctor")
}
