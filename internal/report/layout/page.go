// Package layout lays out text for people. A Page collects the text of a screen and wraps it at the screen's width.
// Text from a machine passes Clean, so that no control byte and no invisible character reaches a terminal.
//
// The package also folds shell commands, aligns columns, renders the Markdown of the rules' pages, and formats the
// small parts of English sentences: lists of names, numbers with their nouns, and targets. It knows neither facts nor
// verdicts.
package layout

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"cudacompat/internal/lazyregexp"
)

// Page collects the text of a screen. It makes everything written to it harmless; only a Painted part adds escape
// sequences.
type Page struct {
	bytes.Buffer
	Style Style
}

// Painted is text with a colour, "31;1" (SGR parameters of ECMA-48).
type Painted struct{ Colour, Text string }

// String returns the text without its colour.
func (p Painted) String() string { return p.Text }

// Paint returns text in a colour, one of the codes below or "".
func Paint(colour, text string) Painted { return Painted{colour, text} }

// The colours of a page, as SGR parameters.
var (
	Red    = "31;1"
	Yellow = "33;1"
	Green  = "32;1"
	Cyan   = "36"
	Bold   = "1"
)

// WriteLine writes its parts in order.
func (p *Page) WriteLine(parts ...any) {
	for _, part := range parts {
		text := p.MakeShowable(fmt.Sprint(part))
		if paint, ok := part.(Painted); ok && paint.Colour != "" && p.Style.Colour && text != "" {
			text = "\x1b[" + paint.Colour + "m" + text + "\x1b[0m"
		}
		p.WriteString(text)
	}
	p.WriteByte('\n')
}

// MakeShowable returns text that the reader's terminal can show.
func (p *Page) MakeShowable(text string) string {
	text = Clean(text)
	if p.Style.Private {
		text = removeUsers(text)
	}
	if p.Style.ASCII {
		text = asciiOnly(text)
	}
	return text
}

// Clean makes a string from the machine harmless. It replaces invisible characters (control bytes, which form escape
// sequences, marks that change the direction of writing, invalid UTF-8) by U+FFFD.
func Clean(s string) string {
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

// asciiOnly replaces every character that is not ASCII.
func asciiOnly(s string) string {
	return strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII {
			return '?'
		}
		return r
	}, twins.Replace(s))
}

// WriteWrapped writes text after its lead, broken between words at the style's width, with further lines indented by
// hang. It collapses spaces. It never breaks a command in backquotes, so that it can be copied.
func (p *Page) WriteWrapped(hang int, text string, lead ...any) {
	if strings.HasPrefix(text, " ") {
		lead = append(lead, " ")
	}
	room := p.Style.Width
	for _, part := range lead {
		room -= CountColumns(p.MakeShowable(fmt.Sprint(part)))
	}
	for i, line := range FoldIf(p.MakeShowable(text), room, p.Style.Width-hang, p.Style.Width > 0) {
		if i == 0 {
			p.WriteLine(append(lead, line)...)
		} else {
			p.WriteLine(strings.Repeat(" ", hang), line)
		}
	}
}

// Fold breaks text into lines between its words: the first of at most first characters, the others of rest. A line with
// one long word may be wider.
func Fold(text string, first, rest int) []string { return FoldIf(text, first, rest, true) }

// FoldIf breaks text as Fold does if the width is limited. Otherwise it returns the text in one line.
func FoldIf(text string, first, rest int, limited bool) []string {
	if !limited {
		return []string{strings.Join(words(text), " ")}
	}
	var lines, line []string
	room := first
	for _, word := range words(text) {
		if len(line) > 0 && CountColumns(word)+1 > room {
			lines = append(lines, strings.Join(line, " "))
			line, room = nil, rest
		}
		line = append(line, word)
		room -= CountColumns(word) + min(len(line)-1, 1)
	}
	return append(lines, strings.Join(line, " "))
}

// shortCommand is the length up to which a command is never broken.
const shortCommand = 40

// FoldCommand breaks a shell command into lines of at most width characters that a shell still reads as one command.
// Each line begins with margin spaces.
func FoldCommand(text string, margin, width int) []string {
	if width > 0 && width < margin+shortCommand && margin+CountColumns(text) > width {
		return foldLong(text, margin, width)
	}
	lines := FoldCommandAfter(text, margin, width)
	lines[0] = strings.Repeat(" ", margin) + strings.TrimLeft(lines[0], " ")
	return lines
}

// FoldCommandAfter breaks a shell command into lines for a page of the given width, of which margin columns are taken.
// It breaks only between words, preferably after "&&" and "||", and ends each line but the last with a backslash. A
// word wider than the rest of the page begins at its edge.
func FoldCommandAfter(text string, margin, width int) []string {
	if width == 0 || margin+CountColumns(text) <= max(width, margin+shortCommand) {
		return []string{text}
	}
	return foldLong(text, margin, width)
}

// foldLong breaks a command that is longer than a line, with a backslash at the end of each line but the last.
func foldLong(text string, margin, width int) []string {
	const more = ` \`
	var lines []string
	line, left := "", margin
	for _, word := range SplitShellWords(text, width-margin-2-len(more)) {
		ended := endsCommand(line)
		if line == "" {
			line = word
			continue
		}
		if !ended && left+CountColumns(line+" "+word+more) <= width {
			line += " " + word
			continue
		}
		lines = append(lines, strings.Repeat(" ", left)+line+more)
		line, left = word, margin
		if !ended {
			left += 2
		}
		if left+CountColumns(word+more) > width {
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

// SplitShellWords splits a command at the spaces outside quotes. It keeps an option together with its value if both fit
// into room.
func SplitShellWords(text string, room int) []string {
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
		if both := words[i-1] + " " + words[i]; slices.Contains(optionsWithValue, words[i-1]) && CountColumns(both) <= room {
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

// CountColumns counts characters. Wide and combining ones, which only names from the machine contain, count as one.
func CountColumns(s string) int { return utf8.RuneCountInString(s) }

// Shorten cuts text to at most limit characters and marks the cut. It cuts between words if that keeps at least two
// thirds of what fits.
func Shorten(text string, limit int) string {
	if CountColumns(text) <= limit {
		return text
	}
	kept := string([]rune(text)[:limit-1])
	if i := strings.LastIndexByte(kept, ' '); CountColumns(kept[:max(i, 0)]) >= limit*2/3 {
		kept = kept[:i]
	}
	return kept + "…"
}

// CutBytes shortens text to at most limit bytes without splitting a character.
func CutBytes(text string, limit int) string {
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

// removeUsers removes user names from the paths in text.
func removeUsers(text string) string { return home.ReplaceAllString(text, "${1}USER") }
