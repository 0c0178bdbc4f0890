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

// sighted is a log of testdata/firstsight. Each was drawn by situation and labelled before any tool had seen it.
type sighted struct {
	ID        string  `json:"id"`
	Log       string  `json:"log"`
	Blame     []Blame `json:"blame"`     // those that count as right, the likeliest first
	Decidable bool    `json:"decidable"` // by its lines alone
}

// worst limits, for each set, how many logs may be blamed wrongly, and how many decidable ones may be blamed on nobody:
// today's known values. tools/lab/firstsight computes scores.
var worst = map[string]limits{
	"1.jsonl":    {missed{0, 13}, missed{0, 2}},
	"2.jsonl":    {missed{1, 7}, missed{1, 3}},
	"3.jsonl":    {missed{1, 6}, missed{0, 2}},
	"4.jsonl":    {missed{1, 9}, missed{1, 1}},
	"5.jsonl.gz": {missed{4, 10}, missed{0, 3}},
	"6.jsonl.gz": {missed{0, 4}, missed{0, 0}},
	"7.jsonl.gz": {missed{1, 5}, missed{1, 1}},
	"8.jsonl.gz": {missed{0, 7}, missed{0, 2}},
	"9.jsonl.gz": {missed{0, 9}, missed{0, 4}},
}

// limits has the values for a whole set and for every fourth of its logs.
type limits struct{ all, fourth missed }

// missed counts the logs that are blamed wrongly, and the decidable ones that are blamed on nobody.
type missed struct{ wrong, unknown int }

// TestBlames checks that the blames on the sets do not get worse. It judges every fourth log, and in make grid all.
func TestBlames(t *testing.T) {
	files, err := filepath.Glob("testdata/firstsight/*.jsonl*")
	if err != nil || len(files) != len(worst) {
		t.Fatalf("%d sets: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			var got missed
			for i, c := range readSighted(t, file) {
				if !wholeGrid && i%4 != 1 {
					continue
				}
				switch kind, score := c.judge(explain(t, c.Log).Blame); {
				case score == "wrong":
					got.wrong++
				case score == "unknown" && kind == "decidable":
					got.unknown++
				}
			}
			most := worst[filepath.Base(file)].fourth
			if wholeGrid {
				most = worst[filepath.Base(file)].all
			}
			if got.wrong > most.wrong || got.unknown > most.unknown {
				t.Errorf("%+v; want at most %+v", got, most)
			}
		})
	}
}

// judge returns the kind of a log, and whether a blame is right for it.
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
