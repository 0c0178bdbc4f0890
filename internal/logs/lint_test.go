package logs

import (
	"regexp"
	"slices"
	"sync"
	"testing"

	"cudacompat/data"
	"cudacompat/internal/logs/lint"
	"cudacompat/internal/logs/signature"
)

// theTable is data/signature, read once for all tests.
var theTable = sync.OnceValues(func() ([]signature.Signature, error) {
	return lint.Parse(data.FS)
})

func table(t testing.TB) []signature.Signature {
	t.Helper()
	all, err := theTable()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// thread matches the address of a discussion in which somebody pasted the output.
var thread = regexp.MustCompile(`^https://(?:github\.com/[\w.-]+/[\w.-]+/(?:issues|pull|discussions)/\d+|forums\.developer\.nvidia\.com/t/\S+)$`)

// unthreaded names the rows whose line is from no thread: from the library that contains the text (cuda-223), from a
// published collection of logs (sxid-fatal), and from logs in repositories (the others).
var unthreaded = []string{"stub-not-compiled", "lmod-unknown", "sxid-fatal", "request-answered", "state-dict-wrapped", "cuda-223"}

// TestLinesWereSeen lints the current signatures and checks that every other line was seen in a thread, so that the
// list cannot grow unnoticed.
func TestLinesWereSeen(t *testing.T) {
	all, err := lint.Parse(today)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range all {
		if !thread.MatchString(s.Source[0]) {
			got = append(got, s.ID)
		}
	}
	if !slices.Equal(got, unthreaded) {
		t.Errorf("the lines of %q come from no thread; want %q", got, unthreaded)
	}
	t.Logf("%d of %d lines come from no thread", len(got), len(all))
}
