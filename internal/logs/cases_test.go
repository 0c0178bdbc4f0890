package logs

import (
	"bufio"
	"context"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"cudacompat/internal/logs/logtext"
	"cudacompat/internal/logs/record"
	"cudacompat/internal/logs/scan"
	"cudacompat/internal/logs/signature"
)

// logCase is a log from a public thread with a known cause.
type logCase struct {
	ID    string `json:"id"`
	URL   string `json:"url"`
	Log   string `json:"log"`
	Blame Blame  `json:"blame"` // environment, program, hardware; none when nothing was wrong
	Score bool   `json:"score"` // false: the cause was inferred, or the lines alone cannot tell
}

func readCases(t testing.TB, name string) []logCase {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []logCase
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var c logCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	if err := lines.Err(); err != nil || len(all) == 0 {
		t.Fatalf("%d cases in %q: %v", len(all), name, err)
	}
	return all
}

// explain returns the diagnosis of a log, cached because several tests ask about the same log.
func explain(t testing.TB, log string) Diagnosis {
	t.Helper()
	l := scanned(t, log)
	once, _ := explained.LoadOrStore(log, sync.OnceValue(l.judged))
	return once.(func() Diagnosis)()
}

var explained, read sync.Map

// readLog is a log that was read once and can be judged with different tables.
type readLog struct {
	events  []signature.Hit
	records []record.Record // those of harmless lines too: which they are is said by a table
	lines   []logtext.Line
	end     scan.Closing
	windows bool
}

// scanned returns a log as read, cached for later tests.
func scanned(t testing.TB, log string) readLog {
	t.Helper()
	signatures := table(t)
	once, _ := read.LoadOrStore(log, sync.OnceValue(func() readLog {
		s := scan.NewScanner(theFinder(), signatures)
		if err := s.Read(context.Background(), strings.NewReader(log)); err != nil {
			panic(err)
		}
		return readLog{s.ListHits(0), recordsOf(s), s.Kept.Lines(), s.FindClosing(), s.Kept.IsFromWindows()}
	}))
	return once.(func() readLog)()
}

// judged returns the diagnosis with the whole table.
func (l readLog) judged() Diagnosis {
	all, _ := theTable()
	j := judging{events: [][]signature.Hit{slices.Clone(l.events)}, records: scan.DropHarmless(all, l.own()), kept: [][]logtext.Line{l.lines},
		ends: []scan.Closing{l.end}, sources: []Source{{Name: "log"}}, unread: []string{}, windows: l.windows}
	return j.conclude()
}

// own returns copies of the records, because weighing fills their slots.
func (l readLog) own() []record.Record {
	all := slices.Clone(l.records)
	for i := range all {
		all[i].Slots = maps.Clone(all[i].Slots)
	}
	return all
}

// theFinder is the finder for the whole table, built once because it costs more than most logs.
var theFinder = sync.OnceValue(func() *signature.Finder {
	all, _ := theTable()
	return signature.NewFinder(all, record.TroubleMarks...)
})

// TestPublicCases checks the accuracy on real logs: at least 90 % right, at most 5 % wrong, and no environment blamed
// for a program's fault, or the reverse.
func TestPublicCases(t *testing.T) {
	t.Parallel()
	confusion := map[[2]Blame]int{}
	scored, right, wrong := 0, 0, 0
	for _, c := range readCases(t, "testdata/cases.jsonl") {
		got := explain(t, c.Log)
		if !c.Score {
			continue
		}
		scored++
		confusion[[2]Blame{c.Blame, got.Blame}]++
		switch {
		case got.Blame == c.Blame, c.Blame == "none" && got.Cause == NothingFound:
			right++
		case got.Blame == Unknown:
			t.Logf("%s: %s, blamed on nobody (%s)", c.ID, c.Blame, got.Cause)
		default:
			wrong++
			t.Errorf("%s: %s, blamed on %s (%s)", c.ID, c.Blame, got.Blame, got.Cause)
		}
	}
	for _, is := range []Blame{Environment, Program, Hardware, "none"} {
		t.Logf("%-11s → environment %2d, program %2d, hardware %2d, unknown %2d", is, confusion[[2]Blame{is, Environment}],
			confusion[[2]Blame{is, Program}], confusion[[2]Blame{is, Hardware}], confusion[[2]Blame{is, Unknown}])
	}
	t.Logf("%d of %d right, %d wrong", right, scored, wrong)
	if right*10 < scored*9 || wrong*20 > scored {
		t.Errorf("%d of %d right, %d wrong: fewer than 90 %% right or more than 5 %% wrong", right, scored, wrong)
	}
}
