//go:build linux

package main

import (
	"bytes"
	"fmt"
	"html"
	"strings"
)

// Sizes in pixels, for a 14-pixel font. Its characters are 0.6 em wide, as in nearly all monospaced fonts.
const (
	charWidth  = 8.4
	lineHeight = 19
	margin     = 16
)

// colours are the SGR parameters that internal/report/layout/page.go uses, on a dark ground.
var colours = map[string]string{
	"31;1": `fill="#ff7b72" font-weight="bold"`,
	"33;1": `fill="#e3b341" font-weight="bold"`,
	"32;1": `fill="#7ee787" font-weight="bold"`,
	"36":   `fill="#79c0ff"`,
	"1":    `font-weight="bold"`,
}

// span is text of one colour.
type span struct{ sgr, text string }

// draw returns the picture of a terminal that shows a text.
func draw(text string) []byte {
	lines := wrap(spans(strings.TrimRight(text, "\n")))
	width, height := columns*charWidth+2*margin, len(lines)*lineHeight+2*margin
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%d" viewBox="0 0 %.0f %d">`+"\n",
		width, height, width, height)
	b.WriteString(`<rect width="100%" height="100%" rx="8" fill="#0d1117"/>` + "\n" +
		`<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono, monospace" font-size="14"` +
		` fill="#e6edf3" xml:space="preserve">` + "\n")
	for i, line := range lines {
		fmt.Fprintf(&b, `<text x="%d" y="%d" textLength="%.1f" lengthAdjust="spacingAndGlyphs">`,
			margin, margin+14+i*lineHeight, float64(length(line))*charWidth)
		for _, s := range line {
			if s.sgr == "" {
				b.WriteString(html.EscapeString(s.text))
			} else {
				fmt.Fprintf(&b, "<tspan %s>%s</tspan>", colours[s.sgr], html.EscapeString(s.text))
			}
		}
		b.WriteString("</text>\n")
	}
	b.WriteString("</g>\n</svg>\n")
	return b.Bytes()
}

// spans cuts a text at its escape sequences, "\x1b[31;1m" and "\x1b[0m".
func spans(text string) []span {
	first, rest, more := strings.Cut(text, "\x1b[")
	all := []span{{"", first}}
	for more {
		var sgr string
		sgr, rest, _ = strings.Cut(rest, "m")
		text, rest, more = strings.Cut(rest, "\x1b[")
		all = append(all, span{strings.TrimPrefix(sgr, "0"), text})
	}
	return all
}

// wrap cuts spans into the lines of the screen, as a terminal does: at line feeds and after the last column.
func wrap(all []span) [][]span {
	lines := [][]span{nil}
	for _, s := range all {
		for i, part := range strings.Split(s.text, "\n") {
			if i > 0 {
				lines = append(lines, nil)
			}
			for part != "" {
				line := &lines[len(lines)-1]
				head, tail := cut(part, columns-length(*line))
				if head != "" {
					*line = append(*line, span{s.sgr, head})
				}
				if part = tail; part != "" {
					lines = append(lines, nil)
				}
			}
		}
	}
	return lines
}

func cut(text string, at int) (head, tail string) {
	runes := []rune(text)
	at = min(at, len(runes))
	return string(runes[:at]), string(runes[at:])
}

func length(line []span) int {
	n := 0
	for _, s := range line {
		n += len([]rune(s.text))
	}
	return n
}
