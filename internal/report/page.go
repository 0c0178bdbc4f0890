package report

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"cudacompat/internal/lazyregexp"
)

// page collects the text of a screen. It makes everything written to it harmless; only paint adds escape sequences.
type page struct {
	bytes.Buffer
	style Style
}

// paintedText is text with a colour, "31;1" (SGR parameters of ECMA-48).
type paintedText struct{ code, text string }

func (p paintedText) String() string { return p.text }

var (
	red    = "31;1"
	yellow = "33;1"
	green  = "32;1"
	cyan   = "36"
	bold   = "1"
)

// line writes its parts in order.
func (p *page) line(parts ...any) {
	for _, part := range parts {
		text := p.safe(fmt.Sprint(part))
		if paint, ok := part.(paintedText); ok && paint.code != "" && p.style.Colour && text != "" {
			text = "\x1b[" + paint.code + "m" + text + "\x1b[0m"
		}
		p.WriteString(text)
	}
	p.WriteByte('\n')
}

// safe returns text that the reader's terminal can show.
func (p *page) safe(text string) string {
	text = clean(text)
	if p.style.Private {
		text = withoutUsers(text)
	}
	if p.style.ASCII {
		text = asciiOnly(text)
	}
	return text
}

// clean makes a string from the machine harmless. It replaces invisible characters (control bytes, which form escape
// sequences, marks that change the direction of writing, invalid UTF-8) by U+FFFD.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case unicode.IsGraphic(r):
			return r
		}
		return unicode.ReplacementChar
	}, s)
}

// twins maps this package's own characters to similar ASCII ones.
var twins = strings.NewReplacer("×", "x", "✓", "+", "‼", "!", "·", "-", "…", "...")

func asciiOnly(s string) string {
	return strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII {
			return '?'
		}
		return r
	}, twins.Replace(s))
}

// wrap writes text after its lead, broken between words at the style's width, with further lines indented by hang. It
// collapses spaces. It never breaks a command in backquotes, so that it can be copied.
func (p *page) wrap(hang int, text string, lead ...any) {
	if strings.HasPrefix(text, " ") {
		lead = append(lead, " ")
	}
	room := p.style.Width
	for _, part := range lead {
		room -= columns(p.safe(fmt.Sprint(part)))
	}
	for i, line := range fold(p.safe(text), room, p.style.Width-hang, p.style.Width > 0) {
		if i == 0 {
			p.line(append(lead, line)...)
		} else {
			p.line(strings.Repeat(" ", hang), line)
		}
	}
}

// Fold breaks text into lines between its words: the first of at most first characters, the others of rest. A line with
// one long word may be wider.
func Fold(text string, first, rest int) []string { return fold(text, first, rest, true) }

// fold is Fold if the width is limited. Otherwise it returns the text in one line.
func fold(text string, first, rest int, limited bool) []string {
	if !limited {
		return []string{strings.Join(words(text), " ")}
	}
	var lines, line []string
	room := first
	for _, word := range words(text) {
		if len(line) > 0 && columns(word)+1 > room {
			lines = append(lines, strings.Join(line, " "))
			line, room = nil, rest
		}
		line = append(line, word)
		room -= columns(word) + min(len(line)-1, 1)
	}
	return append(lines, strings.Join(line, " "))
}

// shortCommand is the length up to which a command is never broken.
const shortCommand = 40

// FoldCommand breaks a shell command into lines of at most width characters that a shell still reads as one command.
// Each line begins with margin spaces.
func FoldCommand(text string, margin, width int) []string {
	if width > 0 && width < margin+shortCommand && margin+columns(text) > width {
		return foldLong(text, margin, width)
	}
	lines := foldCommand(text, margin, width)
	lines[0] = strings.Repeat(" ", margin) + strings.TrimLeft(lines[0], " ")
	return lines
}

// foldCommand breaks a shell command into lines for a page of the given width, of which margin columns are taken. It
// breaks only between words, preferably after "&&" and "||", and ends each line but the last with a backslash. A word
// wider than the rest of the page begins at its edge.
func foldCommand(text string, margin, width int) []string {
	if width == 0 || margin+columns(text) <= max(width, margin+shortCommand) {
		return []string{text}
	}
	return foldLong(text, margin, width)
}

// foldLong is foldCommand for a command that must be broken.
func foldLong(text string, margin, width int) []string {
	const more = ` \`
	var lines []string
	line, left := "", margin
	for _, word := range shellWords(text, width-margin-2-len(more)) {
		ended := endsCommand(line)
		if line == "" {
			line = word
			continue
		}
		if !ended && left+columns(line+" "+word+more) <= width {
			line += " " + word
			continue
		}
		lines = append(lines, strings.Repeat(" ", left)+line+more)
		line, left = word, margin
		if !ended {
			left += 2
		}
		if left+columns(word+more) > width {
			left = 0
		}
	}
	return append(lines, strings.Repeat(" ", left)+line)
}

// endsCommand reports whether a line ends where a shell expects another command.
func endsCommand(line string) bool {
	return strings.HasSuffix(line, " &&") || strings.HasSuffix(line, " ||") || strings.HasSuffix(line, ";")
}

// optionsWithValue lists options that stay on one line with their value.
var optionsWithValue = []string{"--index-url", "--extra-index-url", "--python", "-p", "-n", "-c"}

// shellWords splits a command at the spaces outside quotes. It keeps an option together with its value if both fit into
// room.
func shellWords(text string, room int) []string {
	quote := rune(0)
	words := strings.FieldsFunc(text, func(r rune) bool {
		switch {
		case quote == 0 && (r == '\'' || r == '"' || r == '`'):
			quote = r
		case r == quote:
			quote = 0
		}
		return r == ' ' && quote == 0
	})
	for i := len(words) - 1; i > 0; i-- {
		if both := words[i-1] + " " + words[i]; slices.Contains(optionsWithValue, words[i-1]) && columns(both) <= room {
			words = slices.Replace(words, i-1, i+1, both)
		}
	}
	return words
}

// words splits text at spaces outside backquotes.
func words(text string) []string {
	quoted := false
	return strings.FieldsFunc(text, func(r rune) bool {
		if r == '`' {
			quoted = !quoted
		}
		return r == ' ' && !quoted
	})
}

// columns counts characters. Wide and combining ones, which only names from the machine contain, count as one.
func columns(s string) int { return utf8.RuneCountInString(s) }

// short cuts text to at most limit characters and marks the cut. It cuts between words if that keeps at least two
// thirds of what fits.
func short(text string, limit int) string {
	if columns(text) <= limit {
		return text
	}
	kept := string([]rune(text)[:limit-1])
	if i := strings.LastIndexByte(kept, ' '); columns(kept[:max(i, 0)]) >= limit*2/3 {
		kept = kept[:i]
	}
	return kept + "…"
}

// cut shortens text to at most limit bytes without splitting a character.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	const dots = "..."
	end := 0
	for i := range text {
		if i > limit-len(dots) {
			break
		}
		end = i
	}
	return text[:end] + dots
}

// home matches a user's name in a path.
var home = lazyregexp.New(`(/home/|/Users/)[^/\s:,;()'"]+`)

// withoutUsers removes user names from the paths in text.
func withoutUsers(text string) string { return home.ReplaceAllString(text, "${1}USER") }
