package logs

import (
	"strings"
	"testing"
	"unicode/utf8"

	"cudacompat/internal/logs/advise"
	"cudacompat/internal/logs/finding"
	"cudacompat/internal/logs/readers"
	"cudacompat/internal/logs/record"
	"cudacompat/internal/logs/signature"
	"cudacompat/internal/redact"
)

// TestAnswersAreShort checks every row's own line, and real logs: the fault is one sentence of at most 120 characters,
// with at most four steps, and neither has an unfilled name. An answer that blames somebody says what to do; an
// undecided one says what to look at. make test takes every fourth log, make grid all.
func TestAnswersAreShort(t *testing.T) {
	t.Parallel()
	check := func(id string, d Diagnosis) {
		if n := utf8.RuneCountInString(d.Because); n == 0 || n > record.MaxSentence {
			t.Errorf("%s: %d characters: %q", id, n, d.Because)
		}
		if len(d.Do) > advise.MaxSteps || len(d.Do) == 0 && (d.Blame == Environment || d.Blame == Program || d.Blame == Hardware) {
			t.Errorf("%s (%s): %d steps", id, d.Cause, len(d.Do))
		}
		if d.Blame == Unknown && d.Cause != NothingFound && len(d.Candidates) == 0 {
			t.Errorf("%s (%s): no candidates", id, d.Cause)
		}
		for _, text := range append([]string{d.Because, d.Why}, d.Do...) {
			if signature.Placeholder.MatchString(text) {
				t.Errorf("%s: a hole in %q", id, text)
			}
		}
	}
	for _, s := range table(t) {
		check(s.ID, explain(t, s.Positive))
	}
	for _, file := range []string{"testdata/firstsight/1.jsonl", "testdata/firstsight/2.jsonl"} {
		for i, c := range readSighted(t, file) {
			if wholeGrid || i%4 == 1 { // those of TestBlames: a log is judged once
				check(c.ID, explain(t, c.Log))
			}
		}
	}
	for i, c := range readCases(t, "testdata/cases.jsonl") {
		if wholeGrid || i%4 == 1 {
			check(c.ID, explain(t, c.Log))
		}
	}
}

// openings lists the words that a step may begin with: what to do, or when to do it.
var openings = strings.Fields(`add after allow as ask at bring build call cast change check choose clean clear close compare compile
	compute connect convert copy correct count create cut declare decode delete destroy disable do drain drop elsewhere, encode end enrol
	fetch finish find fix follow for free give if ignore import in install keep leave let list load look lower make meanwhile
	mine minimise mount move name number on open or otherwise pass power-cycle print put raise read reboot reboot, reduce
	refresh register reinstall remove replace report reseat reset resize restart rewrite right run save search see serve set shard share
	shorten split squeeze start stop strip switch take to train try turn under undo uninstall unload unset until update
	use where with without wrap write`)

// TestWordsAreShown checks that redaction removes no word of our own answers as a user's name or secret.
func TestWordsAreShown(t *testing.T) {
	for _, s := range append(table(t), finding.Answers()...) {
		because, steps := s.Words()
		for _, words := range append(steps, because) {
			if shown := redact.Redact(words); shown != words {
				t.Errorf("%s: %q is shown as %q", s.ID, words, shown)
			}
		}
	}
}

// TestStepsBeginWithAVerb checks that each step is an instruction and not a note.
func TestStepsBeginWithAVerb(t *testing.T) {
	known := map[string]bool{}
	for _, word := range openings {
		known[word] = true
	}
	check := func(id string, steps []string) {
		for _, step := range steps {
			if first, _, _ := strings.Cut(step, " "); !known[first] {
				t.Errorf("%s: %q begins with neither a verb nor a condition", id, step)
			}
		}
	}
	for _, s := range append(table(t), finding.Answers()...) {
		_, steps := s.Words()
		check(s.ID, steps)
	}
	for _, s := range ownSteps {
		check(s.server, s.do)
	}
	for _, l := range withCUDA {
		check(l.mark, l.do)
	}
	for of, steps := range readers.ListSteps() {
		check(of, steps)
	}
}
