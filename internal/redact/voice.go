// Package redact removes secrets from all text that the program prints. Reports are pasted into public threads, so they
// must contain no credential and nothing that identifies a machine, a network or a person. Three asterisks replace what
// is removed.
//
// Text passes through it twice. Document redacts a file before it is parsed, while a credential is still beside the
// name that identifies it. Value redacts what is about to be written, in every format, wherever it was read.
package redact

import (
	"fmt"
	"strings"
	"unicode"
)

// mark replaces a secret.
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

// Within redacts a part of a line, using the rest of the line, which may contain the word that identifies a secret.
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
	text = removeDevices(text)
	if hints(text)&deviceHint != 0 {
		text = d.rename(text)
	}
	return text
}

// removeDevices removes device names from a text. It applies only the rules whose keyword occurs in the text. GPU names
// stay, because cudacompat needs them for its verdict.
func removeDevices(text string) string {
	hinted := hints(text)
	for i := range rules {
		if hinted&(1<<i) != 0 {
			text = rules[i].apply(text)
		}
	}
	return text
}
