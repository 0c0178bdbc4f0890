package logs

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"cudacompat/internal/logs/finding"
	"cudacompat/internal/logs/logtext"
	"cudacompat/internal/logs/record"
	"cudacompat/internal/logs/scan"
	"cudacompat/internal/logs/signature"
)

// parser is one way to turn a line, with those after it, into records.
type parser struct {
	kind string
	read func(l logtext.Line, next []logtext.Line) []record.Record
}

// parsers returns all parsers that ReadLine calls, each separately.
func parsers() []parser {
	one := func(read func(logtext.Line) *record.Record) func(logtext.Line, []logtext.Line) []record.Record {
		return func(l logtext.Line, _ []logtext.Line) []record.Record {
			if r := read(l); r != nil {
				return []record.Record{*r}
			}
			return nil
		}
	}
	all := []parser{{"exception", one(record.ReadException)}, {"complaint", one(record.ReadComplaint)}, {"pair", record.ReadPairs},
		{"exception over several lines", record.ReadLine},
		{"status in words", func(l logtext.Line, _ []logtext.Line) []record.Record { return record.ReadStatuses(l) }}}
	for i := range record.Forms {
		g := &record.Forms[i]
		all = append(all, parser{g.Kind, func(l logtext.Line, _ []logtext.Line) []record.Record { return g.Read(l) }})
	}
	return all
}

// linesOf splits a text into numbered lines without control characters and without the prefixes of log collectors.
func linesOf(text string) []logtext.Line {
	var lines []logtext.Line
	for i, line := range strings.Split(text, "\n") {
		lines = append(lines, logtext.Line{Number: i + 1, Text: logtext.TrimCollectorPrefix(logtext.Clean([]byte(line)))})
	}
	return lines
}

// seeds returns, for every parser, the first line that it reads in TestRecords and the public logs, with some lines
// after it.
func seeds(tb testing.TB) map[int]string {
	tb.Helper()
	var logs []string
	for _, c := range readCases(tb, "testdata/cases.jsonl") {
		logs = append(logs, c.Log)
	}
	for _, set := range []string{"1.jsonl", "2.jsonl", "3.jsonl", "4.jsonl", "5.jsonl.gz", "6.jsonl.gz"} {
		for _, c := range readSighted(tb, "testdata/firstsight/"+set) {
			logs = append(logs, c.Log)
		}
	}
	all := map[int]string{}
	for _, c := range recorded {
		addSeeds(all, linesOf(c.line))
	}
	for _, log := range logs {
		addSeeds(all, linesOf(log))
	}
	return all
}

func addSeeds(all map[int]string, lines []logtext.Line) {
	for p, parser := range parsers() {
		at := slices.IndexFunc(lines, func(l logtext.Line) bool {
			return all[p] == "" && len(parser.read(l, lines[l.Number:])) > 0
		})
		if at < 0 {
			continue
		}
		for _, l := range lines[at:min(at+4, len(lines))] {
			all[p] += l.Text + "\n"
		}
	}
}

// FuzzParsers checks that every parser survives any lines. Its records have a kind that is weighed, the slots of a form
// are parts of the line, and the sentence about it has no unfilled name.
func FuzzParsers(f *testing.F) {
	all := parsers()
	for p, text := range seeds(f) {
		f.Add(p, text)
	}
	f.Fuzz(func(t *testing.T, which int, text string) {
		p := all[uint(which)%uint(len(all))]
		lines := linesOf(text)
		records := p.read(lines[0], lines[1:])
		for _, r := range records {
			for name, slot := range r.Slots {
				if r.Kind == p.kind && p.kind != "exception" && !strings.Contains(r.Text, slot) {
					t.Fatalf("%s: %s = %q is not in %q", p.kind, name, slot, r.Text)
				}
			}
		}
		for _, found := range finding.WeighRecords(records, record.Tables()) {
			said := strings.Join(append([]string{found.Because}, found.Do...), "\n")
			if found.Because == "" || signature.Placeholder.MatchString(said) && !signature.Placeholder.MatchString(text) {
				t.Fatalf("%s: %+v", p.kind, found)
			}
		}
	})
}

// noNumber matches the result of a computation that had no input.
var noNumber = regexp.MustCompile(`NaN|Inf\b| -\d`)

// FuzzReaders checks that readers of numbers survive any line and print no invalid number.
func FuzzReaders(f *testing.F) {
	var rows []signature.Signature
	for _, s := range table(f) {
		if s.Reads != "" {
			rows = append(rows, s)
			f.Add(s.Positive)
		}
	}
	for _, s := range table(f) {
		if slices.ContainsFunc(rows, func(r signature.Signature) bool { return r.Needs == s.ID }) {
			f.Add(s.Positive + "\n" + rows[len(rows)-1].Positive)
			rows = append(rows, s)
		}
	}
	f.Add("CUDA out of memory. Tried to allocate 1.65 GiB (GPU 1; 7.79 GiB total capacity; 3.53 GiB already allocated; 0 " +
		"bytes free; 5.78 GiB reserved in total by PyTorch)")
	f.Fuzz(func(t *testing.T, log string) {
		s := scan.NewScanner(signature.NewFinder(rows), rows)
		if err := s.Read(t.Context(), strings.NewReader(log)); err != nil {
			t.Skip()
		}
		events := s.ListHits(0)
		for _, found := range findings(events, events) {
			if found.Because == "" || noNumber.MatchString(found.Because) && !noNumber.MatchString(log) {
				t.Fatalf("%q is said of %q", found.Because, log)
			}
		}
	})
}
