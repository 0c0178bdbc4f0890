package paste

import (
	"bytes"
	"strings"

	"cudacompat/internal/lazyregexp"
)

var (
	// heading matches a title or a heading of Markdown, "# [Bug]: CUDA error: out of memory".
	heading = lazyregexp.New(`^#{1,6} +(\S)`)
	// codeFence matches the lines between which Markdown keeps what stands there.
	codeFence = lazyregexp.New("^ {0,3}(?:```|~~~)")
)

// StripHeadings takes the marks of titles and headings from a text that people pasted: what a program printed stands
// there, too. A line of code with a mark before it is a comment: it has other lines beside it, or stands between fences.
func StripHeadings(text []byte) []byte {
	if !bytes.Contains(text, []byte("# ")) {
		return text
	}
	lines := strings.SplitAfter(string(text), "\n")
	empty := func(i int) bool { return i < 0 || i >= len(lines) || strings.TrimSpace(lines[i]) == "" }
	fenced := false
	for i, line := range lines {
		switch {
		case codeFence.MatchString(line):
			fenced = !fenced
		case !fenced && empty(i-1) && empty(i+1):
			lines[i] = heading.ReplaceAllString(line, "$1")
		}
	}
	return []byte(strings.Join(lines, ""))
}
