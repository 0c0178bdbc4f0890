// Package redact is the one way by which text of an input leaves the program. A report is pasted into public threads: it
// holds no credential and nothing that tells which machine, network or person it is of. What is taken out leaves three
// asterisks, so that a reader sees that something was there.
//
// Text goes through it twice. Document takes a file before it is parsed, where a credential still stands beside the name
// that gives it away. Value takes what is about to be written, in whatever format: nothing gets by it, wherever it was
// read.
package redact

import (
	"fmt"
	"strings"
	"unicode"
)

// mark is what stands where a secret stood.
const mark = "***"

// Redact takes credentials and what identifies out of a text.
func Redact(text string) string { return new(devices).redact(text) }

// Quote returns a piece of an input within a sentence: redacted, cut to so many bytes, between quotation marks, with
// control characters as escapes.
func Quote(text string, most int) string { return fmt.Sprintf("%q", Cut(Redact(text), most)) }

// Cut returns a text of at most so many bytes and a sign that there was more.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// Within returns a part of a line as it may be shown: what gives a secret away may stand in the line beside it.
func Within(line, part string) string {
	shown, clean := Redact(line), Redact(part)
	if strings.Contains(line, part) && !strings.Contains(shown, clean) {
		return mark
	}
	return clean
}

// Line returns a text without line breaks and control characters, redacted: for a terminal.
func Line(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) {
			return r
		}
		return unicode.ReplacementChar
	}, strings.Join(strings.Fields(Redact(text)), " "))
}

// redact applies the rules, and gives GPUs their names.
func (d *devices) redact(text string) string {
	text = withoutDevices(text)
	if hints(text)&deviceHint != 0 {
		text = d.rename(text)
	}
	return text
}

// withoutDevices applies the rules that a text has a hint of. The names of GPUs stay: facts have names for them that are
// judged alike.
func withoutDevices(text string) string {
	hinted := hints(text)
	for i := range rules {
		if hinted&(1<<i) != 0 {
			text = rules[i].apply(text)
		}
	}
	return text
}
