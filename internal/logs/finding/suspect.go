package finding

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/logtext"
	"cudacompat/internal/logs/record"
	"cudacompat/internal/redact"
)

// maxSuspects is how many lines are quoted from a log with unknown errors.
const maxSuspects = 3

// ListSearchSteps returns the step for an unknown failure: the words to search for, if it is the first.
func ListSearchSteps(r *record.Record) []string {
	name := "unknown-line"
	switch _, found := fillIssueWords(r); {
	case found:
		name = "unknown-theirs"
	case r.Frames != nil:
		name, r.Slots["place"] = "unknown-own", findPlaceToLook(r)
	case isFromCompiler(r):
		name = "unknown-compile"
	}
	if r.Slots["words"] == "" {
		said := redact.Redact(r.Text)
		r.Slots["words"] = searchable(cmp.Or(compilerSays.FindString(said), logtext.TrimLoggerPrefix(logtext.TrimCollectorPrefix(said))))
	}
	steps := slices.Clone(FindAnswer(name).Do)
	for i := range steps { // no slot: what stands in one is looked through for secrets, as a number may be
		steps[i] = strings.ReplaceAll(steps[i], "LINE", strconv.Itoa(r.Line))
	}
	return r.FillSteps(steps)
}

// compilerSays matches a compiler's message after the place in the source.
var compilerSays = lazyregexp.New(`(?:fatal )?error(?: \w?\d+)?: .*|undefined reference to .*`)

// isFromCompiler reports whether a record is a compiler's about a place in a source, or a linker's about an undefined
// symbol.
func isFromCompiler(r *record.Record) bool {
	return strings.HasPrefix(r.Kind, "compile-") || r.Kind == "unresolved"
}

// FindSuspects returns the indexes of the records that most likely ended the program, the first of equals: exceptions
// before lines that call themselves errors, and those before others. Repetitions count once.
func FindSuspects(records []record.Record) (chosen []int) {
	seen := map[string]bool{}
	for least := 3; least >= 0; least-- {
		for i := range records {
			said := logtext.TrimLoggerPrefix(records[i].Text)
			if rateSuspicion(&records[i]) != least || seen[said] {
				continue
			}
			if len(chosen) == maxSuspects {
				return chosen
			}
			seen[said] = true
			chosen = append(chosen, i)
		}
	}
	return chosen
}

// rateSuspicion returns how likely a line about a failure is the one that ended its program. For a notice it is 0.
func rateSuspicion(r *record.Record) int {
	switch {
	case r.Notice, slices.Contains(statements, r.Kind) && !severe.MatchString(r.Text):
		return -1
	case isTakenDown(r), passesFailure.MatchString(r.Text), headsFailure.MatchString(logtext.TrimLoggerPrefix(r.Text)):
		return 0
	case r.Frames != nil:
		return 3
	case r.Kind == "exception", isFromCompiler(r):
		return 2
	case record.ErrorLine.MatchString(r.Text):
		return 1
	}
	return 0
}

// passesFailure matches what make and pip print after the error of a command that they ran.
var passesFailure = lazyregexp.New(`^(?:g?n?make(?:\[\d+\])?: \*\*\* |ninja: |subprocess\.CalledProcessError|ERROR: Failed (?:building|to build))`)
