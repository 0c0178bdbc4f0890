package layout

import (
	"github.com/google/go-cmp/cmp" // TestFoldCommand checks that a command wider than the page is broken only between words.
	"slices"
	"strings"
	"testing"
)

func TestFoldCommand(t *testing.T) {
	const install = "pip uninstall -y a && pip install torch==2.9.0+cu126 --index-url https://example.org/cu126"
	for _, c := range []struct {
		text  string
		width int
		want  []string
	}{
		{install, 0, []string{install}},
		{install, 200, []string{install}},
		{install, 60, []string{
			`          pip uninstall -y a && \`,
			`          pip install torch==2.9.0+cu126 \`,
			`            --index-url https://example.org/cu126`}},
		{"pip install 'a b' c --upgrade --no-deps --user", 40, []string{
			`          pip install 'a b' c \`,
			`            --upgrade --no-deps --user`}},
		{"echo https://example.org/very/long/address xyz uvw", 36, []string{
			`          echo \`,
			`https://example.org/very/long/address \`,
			`            xyz uvw`}},
	} {
		got := FoldCommandAfter(c.text, 10, c.width)
		if !slices.Equal(got, c.want) {
			t.Errorf("%q at %d columns:\n%s\nwant\n%s", c.text, c.width, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// TestFoldedCommandIsTheSame checks that a shell reads a folded command like the original.
func TestFoldedCommandIsTheSame(t *testing.T) {
	const text = `sudo apt-get update && sudo apt-get install -y 'a  b' "c d" && export X=/a/b${X:+:$X}`
	for width := 20; width < 100; width++ {
		joined := strings.ReplaceAll(strings.Join(FoldCommandAfter(text, 10, width), "\n"), "\\\n", " ")
		if got := strings.Join(SplitShellWords(joined, 0), " "); got != text {
			t.Fatalf("at %d columns a shell reads %q, want %q", width, got, text)
		}
	}
}

// TestCellsAreCutBetweenWords checks that a text too long for its cell loses whole words, unless that loses most of it.
func TestCellsAreCutBetweenWords(t *testing.T) {
	for text, want := range map[string]string{
		"the module is already 550":   "the module is…",
		"a-name-longer-than-20-runes": "a-name-longer-than-…",
		"twenty characters ok":        "twenty characters ok",
	} {
		if got := Shorten(text, 20); got != want {
			t.Errorf("short(%q) = %q, want %q", text, got, want)
		}
	}
}

// TestFoldCommandKeepsWords checks that a terminal of 40 columns breaks no word of an example.
func TestFoldCommandKeepsWords(t *testing.T) {
	got := FoldCommand("cudacompat doctor --instance g5.xlarge --driver 580.95.05", 4, 40)
	if want := []string{`    cudacompat doctor --instance \`, `      g5.xlarge --driver 580.95.05`}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	got = FoldCommand("cudacompat doctor", 4, 0)
	if want := []string{"    cudacompat doctor"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFold(t *testing.T) {
	for _, test := range []struct {
		name, text  string
		first, rest int
		want        []string
	}{
		{"short", "one two", 20, 20, []string{"one two"}},
		{"breaks-between-words", "one two three", 8, 8, []string{"one two", "three"}},
		{"first-line-is-shorter", "one two three", 3, 9, []string{"one", "two three"}},
		{"long-word-stays-whole", "a /very/long/path b", 5, 5, []string{"a", "/very/long/path", "b"}},
		{"command-stays-whole", "run `sudo modprobe nvidia` now", 10, 10, []string{"run", "`sudo modprobe nvidia`", "now"}},
		{"counts-characters-not-bytes", "äää ööö", 7, 7, []string{"äää ööö"}},
		{"empty", "", 10, 10, []string{""}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, FoldIf(test.text, test.first, test.rest, true)); diff != "" {
				t.Errorf("fold (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCut(t *testing.T) {
	for _, test := range []struct {
		name, text string
		limit      int
		want       string
	}{
		{"fits", "abc", 3, "abc"},
		{"cut", "abcdefgh", 6, "abc..."},
		{"never-inside-a-character", "ääääää", 8, "ää..."},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := CutBytes(test.text, test.limit); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
