package logs

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sighted is a log of testdata/firstsight: drawn by situation and labelled before any tool had seen it.
type sighted struct {
	ID        string  `json:"id"`
	Log       string  `json:"log"`
	Blame     []Blame `json:"blame"`     // those that count as right, the likeliest first
	Decidable bool    `json:"decidable"` // by its lines alone
}

// TestFirstSight prints today's score of each set; the first scores stand in testdata/firstsight/README.md. A healthy
// log is right where nobody is blamed. Every fourth is judged, all with -v and by make grid: whole files take their time.
func TestFirstSight(t *testing.T) {
	files, err := filepath.Glob("testdata/firstsight/*.jsonl*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no sets: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			sightedScore(t, file)
		})
	}
}

func sightedScore(t *testing.T, file string) {
	score := map[string]int{}
	wrong, judged := 0, 0
	for i, c := range readSighted(t, file) {
		if !testing.Verbose() && !wholeGrid && i%4 != 1 {
			continue
		}
		d := explain(t, c.Log)
		kind, got := c.judge(d.Blame)
		score[kind+" "+got]++
		judged++
		if got == "wrong" {
			wrong++
		}
		if got != "right" && kind != "undecidable" {
			t.Logf("%s: %s: %s, not %s (%s)", c.ID, got, d.Blame, c.Blame[0], d.Cause)
		}
	}
	t.Logf("%s: %v", file, score)
	if wrong*20 > judged {
		t.Errorf("%s: %d of %d are blamed wrongly, more than 5 %%", file, wrong, judged)
	}
}

// judge says of what kind a log is, and whether a blame is right for it.
func (c *sighted) judge(blame Blame) (kind, got string) {
	healthy := c.Blame[0] == None
	switch {
	case healthy:
		kind = "healthy"
	case c.Decidable:
		kind = "decidable"
	default:
		kind = "undecidable"
	}
	switch {
	case slices.Contains(c.Blame, blame), healthy && blame == Unknown, kind == "undecidable" && blame == Unknown:
		return kind, "right"
	case blame == Unknown:
		return kind, "unknown"
	}
	return kind, "wrong"
}

func readSighted(t testing.TB, file string) []sighted {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var text io.Reader = f
	if strings.HasSuffix(file, ".gz") { // whole files of logs
		if text, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	var all []sighted
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, 1<<20) // a log is as long as it was pasted
	for lines.Scan() {
		var c sighted
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	if err := lines.Err(); err != nil || len(all) == 0 {
		t.Fatalf("%d logs in %q: %v", len(all), file, err)
	}
	return all
}
