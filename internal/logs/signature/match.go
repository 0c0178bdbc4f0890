package signature

import (
	"strings"

	"cudacompat/internal/logs/logtext"
)

// Find searches a cleaned line for the pattern. A pattern for the start of the line is also tried after a collector's
// prefix.
func (s *Signature) Find(text string) []int {
	if !s.lines.Spelt(text) {
		return nil
	}
	m := s.lines.FindStringSubmatchIndex(text)
	if m != nil || !strings.Contains(s.Pattern, "^") {
		return m
	}
	skip := len(logtext.CollectorPrefix.FindString(text))
	if skip == 0 {
		return nil
	}
	m = s.lines.FindStringSubmatchIndex(text[skip:])
	for i := range m {
		if m[i] >= 0 {
			m[i] += skip
		}
	}
	return m
}

// Match applies the signature to a cleaned line. It ignores an error that the line only quotes: in a comment, in source
// around the failure, in code marks, or after words of advice.
func (s *Signature) Match(text string) []int {
	m := s.Find(text)
	if m == nil {
		return nil
	}
	head := strings.TrimLeft(text, " ")
	if strings.HasPrefix(head, "# ") || strings.HasPrefix(head, "//") || logtext.Listing.MatchString(text) {
		return nil
	}
	lead := text[:m[0]]
	if logtext.IsQuotedAsCode(text, lead) || logtext.Hypothetical.MatchString(lead) {
		return nil
	}
	return m
}
