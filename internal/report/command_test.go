package report

import (
	"slices"
	"strings"
	"testing"
)

// TestFoldCommand checks that a command wider than the page is broken only between words.
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
		got := foldCommand(c.text, 10, c.width)
		if !slices.Equal(got, c.want) {
			t.Errorf("%q at %d columns:\n%s\nwant\n%s", c.text, c.width, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// TestFoldedCommandIsTheSame checks that a shell reads a folded command like the original.
func TestFoldedCommandIsTheSame(t *testing.T) {
	const text = `sudo apt-get update && sudo apt-get install -y 'a  b' "c d" && export X=/a/b${X:+:$X}`
	for width := 20; width < 100; width++ {
		joined := strings.ReplaceAll(strings.Join(foldCommand(text, 10, width), "\n"), "\\\n", " ")
		if got := strings.Join(shellWords(joined, 0), " "); got != text {
			t.Fatalf("at %d columns a shell reads %q, want %q", width, got, text)
		}
	}
}
