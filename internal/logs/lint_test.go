package logs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"cudacompat/data"
	"cudacompat/internal/logs/finding"
	"cudacompat/internal/logs/readers"
	"cudacompat/internal/logs/signature"
)

// theTable is data/signature, read once for all tests.
var theTable = sync.OnceValues(func() ([]signature.Signature, error) {
	return ParseSignatures(data.FS)
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
	all, err := ParseSignatures(today)
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

// TestReinstalls checks that no step and no page reinstalls a package without a version or a place.
func TestReinstalls(t *testing.T) {
	for step, want := range map[string]bool{"`pip install --force-reinstall torchvision`": true,
		"`pip install --no-deps --force-reinstall torchvision==0.29.1+cu126`":               false,
		"`pip install --force-reinstall torchvision --index-url https://x.example/whl/cu1`": false,
		"`pip install --force-reinstall torch_scatter -f https://x.example/torch.html`":     false,
		"`pip install --force-reinstall --no-deps -f torch torchvision`":                    true} {
		if got := reinstallsAny(step); got != want {
			t.Errorf("%s: %t", step, got)
		}
	}
	steps := []string{readers.RebuildCommand}
	for _, do := range readers.ListSteps() {
		steps = append(steps, do...)
	}
	for _, a := range finding.Book().Answers {
		steps = append(steps, a.Do...)
	}
	pages, err := filepath.Glob("../../../docs/rules/*.md")
	if err != nil || len(pages) < 50 {
		t.Fatal(len(pages), err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		steps = append(steps, strings.Split(string(text), "\n")...)
	}
	for _, step := range steps {
		if reinstallsAny(step) {
			t.Errorf("%q names neither a version nor a place", step)
		}
	}
}
