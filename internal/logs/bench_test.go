package logs

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cudacompat/data"
	"cudacompat/internal/logs/signature"
	"cudacompat/internal/tables"
)

// BenchmarkRead reads logs with one error at their end and reports megabytes per second on one core. The training log
// consists of progress and information lines. The ordinary log, with a literal but no error in each sixth line, is
// worse than any real log. The log of near misses has nothing else; in its distinct form no two lines are alike, so
// that caching misses does not help.
func BenchmarkRead(b *testing.B) {
	ordinary, err := os.ReadFile("testdata/ordinary.log")
	if err != nil {
		b.Fatal(err)
	}
	training := bytes.Join(bytes.SplitAfterN(ordinary, []byte("\n"), 8)[:7], nil)
	for name, text := range map[string][]byte{"training": training, "ordinary": ordinary,
		"near-misses": nearMisses(b, "%[1]d %[2]s\n"), "distinct-near-misses": nearMisses(b, "%[1]d%[3]s %[2]s\n")} {
		b.Run(name, func(b *testing.B) { benchmarkRead(b, text) })
	}
}

// nearMisses returns a log in which every line contains a literal of a signature and matches none: the signatures' own
// lines, with each letter outside the literal replaced by the next. The format gets the line's number, its text, and
// the number in letters.
func nearMisses(b *testing.B, format string) []byte {
	rows := table(b)
	var lines []string
	for _, s := range rows {
		for _, literal := range s.Literal {
			before, after, found := strings.Cut(s.Positive, literal)
			line := movedOn(before) + literal + movedOn(after)
			if found && !slices.ContainsFunc(rows, func(other signature.Signature) bool { return other.Match(line) != nil }) {
				lines = append(lines, line)
			}
		}
	}
	var log bytes.Buffer
	for i := 0; log.Len() < 32<<20; i++ {
		inLetters := strings.Map(func(r rune) rune { return r - '0' + 'a' }, strconv.Itoa(i))
		fmt.Fprintf(&log, format, i, lines[i%len(lines)], inLetters)
	}
	return log.Bytes()
}

func movedOn(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r < 'z' || r >= 'A' && r < 'Z' {
			return r + 1
		}
		return r
	}, text)
}

func benchmarkRead(b *testing.B, text []byte) {
	log := bytes.Repeat(text, max(1, 64<<20/len(text)))
	log = append(log, "RuntimeError: CUDA error: device-side assert triggered\n"...)
	signatures := table(b)
	b.SetBytes(int64(len(log)))
	b.ReportAllocs()
	for b.Loop() {
		d, err := Read(context.Background(), signatures, []Source{{Reader: bytes.NewReader(log)}})
		if err != nil || d.Cause != "device-side-assert" {
			b.Fatal(d, err)
		}
	}
}

// BenchmarkReadShort measures the cost of a call for a short log.
func BenchmarkReadShort(b *testing.B) {
	signatures := table(b)
	for b.Loop() {
		if _, err := Read(context.Background(), signatures, []Source{{Reader: strings.NewReader("ok\n")}}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSignatures measures the cost of loading the table.
func BenchmarkSignatures(b *testing.B) {
	for b.Loop() {
		signature.Load(tables.Open(data.FS))
	}
}
