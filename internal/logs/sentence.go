package logs

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"cudacompat/internal/logs/record"
)

// splitBecause leaves the fault in Because and moves the rest to Why.
func (d *Diagnosis) splitBecause() {
	fault, why := partWords(d.Because)
	d.Because, d.Why = fault, strings.TrimSpace(why+" "+d.Why)
}

// partWords splits words into the fault, one sentence of at most 120 characters, and the reason. It ends a longer first
// sentence at its last colon or semicolon before that.
func partWords(words string) (fault, why string) {
	end := len(words)
	if i := strings.Index(words, ". "); i >= 0 {
		end = i + 1
	}
	if utf8.RuneCountInString(words[:end]) <= record.MaxSentence {
		return words[:end], strings.TrimSpace(words[end:])
	}
	cut := -1
	for i, r := range words[:end] {
		if utf8.RuneCountInString(words[:i]) >= record.MaxSentence {
			break
		}
		if (r == ':' || r == ';') && strings.HasPrefix(words[i+1:], " ") {
			cut = i
		}
	}
	if cut < 0 {
		return words[:end], strings.TrimSpace(words[end:])
	}
	first, size := utf8.DecodeRuneInString(words[cut+2:])
	return words[:cut] + ".", string(unicode.ToUpper(first)) + words[cut+2+size:]
}
