// Package pylines cuts text into lines as Python does.
package pylines

import (
	"iter"
	"strings"
	"unicode/utf8"
)

// Split returns the lines of a text without their ends, as Python's str.splitlines cuts it: at a carriage return alone, a
// form feed or a line separator of Unicode, too.
func Split(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for text != "" {
			at := strings.IndexAny(text, "\n\r\v\f\x1c\x1d\x1e\u0085\u2028\u2029")
			if at < 0 {
				yield(text)
				return
			}
			_, size := utf8.DecodeRuneInString(text[at:])
			if strings.HasPrefix(text[at:], "\r\n") {
				size = 2
			}
			if !yield(text[:at]) {
				return
			}
			text = text[at+size:]
		}
	}
}
