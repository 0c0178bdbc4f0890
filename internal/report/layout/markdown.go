package layout

import (
	"strings"

	"cudacompat/internal/lazyregexp"
)

// pageWidth limits lines of prose, because longer ones are hard to read on any terminal.
const pageWidth = 80

// listMark matches the start of a list entry: "- " or "1. ".
var listMark = lazyregexp.New(`^(-|\d+\.) +`)

// RenderMarkdown formats a page for a terminal: headings without marks, prose folded and indented by two columns, code
// blocks unchanged. It supports only the Markdown of docs/rules and of package diagnosis.
func RenderMarkdown(markdown []byte, s Style) []byte {
	s.Width = min(s.Width, pageWidth)
	l := markdownWriter{Page: &Page{Style: s}}
	for line := range strings.Lines(string(markdown)) {
		l.read(strings.TrimRight(line, "\r\n"))
	}
	l.flush()
	return l.Bytes()
}

// markdownWriter holds the state of formatting a page.
type markdownWriter struct {
	*Page
	prose []string // the lines of a paragraph, or of an entry of a list, so far
	entry int      // columns by which the text of the list's entry is indented; 0 outside lists
}

func (l *markdownWriter) read(line string) {
	text := strings.TrimLeft(line, " ")
	indent := len(line) - len(text)
	mark := listMark.FindString(text)
	switch {
	case text == "":
		l.flush()
		l.WriteLine()
	case strings.HasPrefix(line, "#"):
		l.flush()
		l.entry = 0
		l.WriteLine(Painted{Bold, strings.TrimLeft(line, "# ")})
	case len(l.prose) == 0 && indent >= l.entry+4:
		l.WriteLine(line)
	case mark != "":
		l.flush()
		l.entry = indent + len(mark)
		l.prose = []string{line}
	default:
		if len(l.prose) == 0 && indent < l.entry {
			l.entry = 0
		}
		l.prose = append(l.prose, line)
	}
}

// flush writes the paragraph or list entry read so far.
func (l *markdownWriter) flush() {
	if len(l.prose) == 0 {
		return
	}
	first := strings.TrimLeft(l.prose[0], " ")
	mark := listMark.FindString(first)
	lead := "  " + l.prose[0][:len(l.prose[0])-len(first)] + mark
	text := first[len(mark):] + " " + strings.Join(l.prose[1:], " ")
	room := l.Style.Width - len(lead)
	for _, line := range FoldIf(l.MakeShowable(text), room, room, l.Style.Width > 0) {
		l.WriteLine(append([]any{lead}, l.spans(line)...)...)
		lead = strings.Repeat(" ", len(lead))
	}
	l.prose = nil
}

// spans returns the parts of a line. On a screen with colours, text in backquotes is coloured instead.
func (l *markdownWriter) spans(line string) []any {
	if !l.Style.Colour {
		return []any{line}
	}
	var parts []any
	for i, part := range strings.Split(line, "`") {
		if i%2 == 1 {
			parts = append(parts, Painted{Cyan, part})
		} else {
			parts = append(parts, part)
		}
	}
	return parts
}
