package logs

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/redact"
)

// maxSuspects is how many lines are quoted of a log whose errors are not known.
const maxSuspects = 3

// withSuspects quotes the lines of failing of a log in which none is known: the one that looks most like what ended the
// program, then the others in the log's order. Whoever reads the log looks there first.
func (d *Diagnosis) withSuspects(records []record, sources []Source) {
	chosen := suspects(records)
	if len(chosen) > 1 {
		slices.Sort(chosen[1:])
	}
	for _, i := range chosen {
		f := records[i].finding(answer{})
		d.Lines = append(d.Lines, f.quote(sources))
	}
	if len(chosen) > 0 {
		d.Because = "None of the errors in this log is known here; these lines look most like the failure."
		d.Do = records[chosen[0]].searched()
	}
}

// searched returns the steps of a failure that is not known: the words by which others found it, where it is the first.
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
		r.slots["words"] = searchable(cmp.Or(compilerSays.FindString(said), message(bare(said))))
	}
	steps := slices.Clone(answerOf(name).do)
	for i := range steps { // no slot: what stands in one is looked through for secrets, as a number may be
		steps[i] = strings.ReplaceAll(steps[i], "LINE", strconv.Itoa(r.line))
	}
	return r.steps(steps)
}

// compilerSays is what a compiler says behind the place in the source.
var compilerSays = lazyregexp.New(`(?:fatal )?error(?: \w?\d+)?: .*|undefined reference to .*`)

// compiles reports whether a record is a compiler's, of one place in a source, or a linker's, of what no source defines.
func (r *record) compiles() bool {
	return strings.HasPrefix(r.kind, "compile-") || r.kind == "unresolved"
}

// suspects returns the numbers of the records that look most like the one that ended its program, and the first of
// equals: exceptions before lines that say aloud that they failed, and those before others. What repeats counts once.
func suspects(records []record) (chosen []int) {
	seen := map[string]bool{}
	for least := 3; least >= 0; least-- {
		for i := range records {
			said := message(records[i].text)
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

// suspicion returns how much a line of failing looks like the one that ended its program; a notice does not at all.
func (r *record) suspicion() int {
	switch {
	case r.notice, slices.Contains(statements, r.kind) && !severe.MatchString(r.text):
		return -1
	case r.isTakenDown(), passesFailure.MatchString(r.text), headsFailure.MatchString(message(r.text)):
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

// passesFailure matches what make and pip say after the error of the command that they ran.
var passesFailure = lazyregexp.New(`^(?:g?n?make(?:\[\d+\])?: \*\*\* |ninja: |subprocess\.CalledProcessError|ERROR: Failed (?:building|to build))`)
