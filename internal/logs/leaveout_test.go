package logs

import (
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"testing"

	"cudacompat/internal/logs/decide"
	"cudacompat/internal/logs/record"
	"cudacompat/internal/logs/scan"
	"cudacompat/internal/logs/signature"
)

// TestLeftOut judges every public case twice with less than was learned from it: without the rows that only its own
// thread supports, and without any row, by structure alone. More rows raise the table's score, but not its value on an
// unseen log; these two figures are closer to that. The limits keep what was reached.
//
// The author of a grammar reads the failures of half of the threads (seen). Those of the other half are printed only
// with CUDACOMPAT_LEFTOUT=all and show its value on other logs.
func TestLeftOut(t *testing.T) {
	if !wholeGrid {
		t.Skip("every case twice: make grid")
	}
	t.Parallel()
	curated := map[string]bool{}
	for _, s := range table(t) {
		curated[s.ID] = s.Weight != decide.Fact && s.Blame != None
	}
	sole := soleRows(table(t))
	var own, alone tally
	for _, c := range readCases(t, "testdata/cases.jsonl") {
		if !c.Score {
			continue
		}
		l := scanned(t, c.Log)
		own.add(t, "without its own", &c, l, func(id string) bool { return slices.Contains(sole[c.URL], id) })
		alone.add(t, "structure alone", &c, l, func(id string) bool { return curated[id] })
	}
	own.hold(t, "without the rows of the case's own thread", 1960, 4)
	alone.hold(t, "by structure alone", 1645, 22)
}

// soleRows returns the ids of the rows that only one thread supports, by that thread.
func soleRows(rows []signature.Signature) map[string][]string {
	of := map[string][]string{}
	for _, s := range rows {
		threads := slices.DeleteFunc(slices.Clone(s.Source), func(source string) bool { return !thread.MatchString(source) })
		if len(threads) == 1 {
			of[threads[0]] = append(of[threads[0]], s.ID)
		}
	}
	return of
}

// judge returns the diagnosis with the rows that are not left out.
func (l readLog) judge(out func(id string) bool) Diagnosis {
	all, _ := theTable()
	events := slices.DeleteFunc(slices.Clone(l.events), func(e signature.Hit) bool { return out(e.Signature.ID) })
	records := slices.DeleteFunc(l.own(), func(r record.Record) bool {
		id := scan.FindHarmless(all, r.Text)
		return id != "" && !out(id)
	})
	j := judging{events: [][]signature.Hit{events}, records: records, sources: []Source{{Name: "log"}}}
	return j.decide()
}

// tally counts right and wrong results in each half of the threads.
type tally struct{ right, wrong, all, rightSeen, allSeen int }

func (n *tally) add(t *testing.T, table string, c *logCase, l readLog, out func(string) bool) {
	t.Helper()
	h := fnv.New32a()
	fmt.Fprint(h, c.URL)
	seen := h.Sum32()%2 == 0
	d := l.judge(out)
	right := d.Blame == c.Blame || c.Blame == None && d.Cause == NothingFound
	n.all++
	if seen {
		n.allSeen++
	}
	switch {
	case right:
		n.right++
		if seen {
			n.rightSeen++
		}
		return
	case d.Blame != Unknown:
		n.wrong++
	}
	if seen || os.Getenv("CUDACOMPAT_LEFTOUT") == "all" {
		t.Logf("%s: %s: %s, not %s (%s), of %s", table, c.ID, d.Blame, c.Blame, d.Cause, l.kinds())
	}
}

// kinds returns the kinds of the records that grammars read in a log.
func (l readLog) kinds() string {
	var all []string
	for _, r := range l.records {
		all = append(all, r.Kind)
	}
	slices.Sort(all)
	return fmt.Sprint(slices.Compact(all))
}

func (n *tally) hold(t *testing.T, how string, least, most int) {
	t.Helper()
	t.Logf("%s: %d of %d right, %d wrong; of the threads that grammars were written from %d of %d, of the others %d of %d",
		how, n.right, n.all, n.wrong, n.rightSeen, n.allSeen, n.right-n.rightSeen, n.all-n.allSeen)
	if n.right < least || n.wrong > most {
		t.Errorf("%s: %d right, %d wrong; want at least %d, at most %d", how, n.right, n.wrong, least, most)
	}
}
