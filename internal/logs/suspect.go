package logs

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/logtext"
	"cudacompat/internal/redact"
)

// maxSuspects is how many lines are quoted from a log with unknown errors.
const maxSuspects = 3

// addSuspects quotes the lines about failures in a log with no known error: first the one that most likely ended the
// program, then the others in the log's order.
func (d *Diagnosis) addSuspects(records []record, sources []Source) {
	chosen := suspects(records)
	if len(chosen) > 1 {
		slices.Sort(chosen[1:])
	}
	for _, i := range chosen {
		f := records[i].finding(answer{})
		d.Lines = append(d.Lines, quote(&f.Hit, sources))
	}
	if len(chosen) > 0 {
		d.Because = "None of the errors in this log is known here; these lines look most like the failure."
		d.Do = records[chosen[0]].searched()
	}
}

// searched returns the step for an unknown failure: the words to search for, if it is the first.
func (r *record) searched() []string {
	name := "unknown-line"
	switch _, found := r.ofIssues(); {
	case found:
		name = "unknown-theirs"
	case r.frames != nil:
		name, r.slots["place"] = "unknown-own", r.whereToLook()
	case r.compiles():
		name = "unknown-compile"
	}
	if r.slots["words"] == "" {
		said := redact.Redact(r.text)
		r.slots["words"] = searchable(cmp.Or(compilerSays.FindString(said), logtext.TrimLoggerPrefix(logtext.TrimCollectorPrefix(said))))
	}
	steps := slices.Clone(answerOf(name).do)
	for i := range steps { // no slot: what stands in one is looked through for secrets, as a number may be
		steps[i] = strings.ReplaceAll(steps[i], "LINE", strconv.Itoa(r.line))
	}
	return r.steps(steps)
}

// compilerSays matches a compiler's message after the place in the source.
var compilerSays = lazyregexp.New(`(?:fatal )?error(?: \w?\d+)?: .*|undefined reference to .*`)

// compiles reports whether a record is a compiler's about a place in a source, or a linker's about an undefined symbol.
func (r *record) compiles() bool {
	return strings.HasPrefix(r.kind, "compile-") || r.kind == "unresolved"
}

// suspects returns the indexes of the records that most likely ended the program, the first of equals: exceptions
// before lines that call themselves errors, and those before others. Repetitions count once.
func suspects(records []record) (chosen []int) {
	seen := map[string]bool{}
	for least := 3; least >= 0; least-- {
		for i := range records {
			said := logtext.TrimLoggerPrefix(records[i].text)
			if records[i].suspicion() != least || seen[said] {
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

// suspicion returns how likely a line about a failure is the one that ended its program. For a notice it is 0.
func (r *record) suspicion() int {
	switch {
	case r.notice, slices.Contains(statements, r.kind) && !severe.MatchString(r.text):
		return -1
	case r.isTakenDown(), passesFailure.MatchString(r.text), headsFailure.MatchString(logtext.TrimLoggerPrefix(r.text)):
		return 0
	case r.frames != nil:
		return 3
	case r.kind == "exception", r.compiles():
		return 2
	case aloud.MatchString(r.text):
		return 1
	}
	return 0
}

// passesFailure matches what make and pip print after the error of a command that they ran.
var passesFailure = lazyregexp.New(`^(?:g?n?make(?:\[\d+\])?: \*\*\* |ninja: |subprocess\.CalledProcessError|ERROR: Failed (?:building|to build))`)
