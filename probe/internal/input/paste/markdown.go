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
	// bullet matches the mark of an item of a list, "- `torch==2.5.1`".
	bullet = lazyregexp.New(`^(\s*)(?:[-*+•]|\d{1,2}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?`)
	// tableRow matches a row of a table with two columns, "| PyTorch | 2.9.1+cu130 |".
	tableRow = lazyregexp.New(`^\s*\|[ \t]*([^|\s\d][^|]*[^|\s])[ \t]*\|[ \t]*([^|]*[^|\s])[ \t]*\|[ \t]*(\r?\n?)$`)
	// bold matches the marks around words in bold type.
	bold = lazyregexp.New(`\*\*([^*\n]+)\*\*|__([^_\s\n][^_\n]*)__`)
	// reportSection matches a section of Lightning's report, which is a list of lists: "* CUDA:" with "- available: True".
	reportSection = lazyregexp.New(`^[\s>]*\* (?:CUDA|Lightning|Packages|System):\s*$`)
	// codeSpan matches a span of code.
	codeSpan = lazyregexp.New("`([^`\n]+)`")
)

// StripMarkdown takes the marks of Markdown from a text that people pasted: of titles and headings, of the items of lists,
// of tables with two columns, of bold type and of code. What a program printed stands there, too. A line of code with a
// mark before it is a comment: it has other lines beside it, or stands between fences. The lists of Lightning's report stay.
func StripMarkdown(text []byte) []byte {
	if !bytes.ContainsAny(text, "#`*|-") {
		return text
	}
	lines := strings.SplitAfter(string(text), "\n")
	empty := func(i int) bool { return i < 0 || i >= len(lines) || strings.TrimSpace(lines[i]) == "" }
	fenced, section := false, -1 // the indentation of the section that a line is in
	for i, line := range lines {
		switch {
		case codeFence.MatchString(line):
			fenced = !fenced
		case fenced:
		case reportSection.MatchString(line):
			section = indentation(line)
		case section >= 0 && indentation(line) > section:
		case empty(i-1) && empty(i+1) && heading.MatchString(line):
			lines[i] = heading.ReplaceAllString(line, "$1")
		default:
			section = -1
			lines[i] = stripLine(line)
		}
	}
	return []byte(strings.Join(lines, ""))
}

// indentation returns how many blanks, tabs and marks of a quotation a line begins with.
func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " \t>")) }

// stripLine takes the marks from a line that is no heading. Of a row of a table it makes "key: value".
func stripLine(line string) string {
	plain := func(s string) string { return codeSpan.ReplaceAllString(bold.ReplaceAllString(s, "$1$2"), "$1") }
	if m := tableRow.FindStringSubmatch(line); m != nil {
		return strings.TrimSuffix(plain(m[1]), ":") + ": " + plain(m[2]) + m[3]
	}
	if !bullet.MatchString(line) && !strings.HasPrefix(strings.TrimSpace(line), "**") && !strings.HasPrefix(strings.TrimSpace(line), "`") {
		return line
	}
	return plain(bullet.ReplaceAllString(line, "$1"))
}
