package record

import (
	"cmp"
	"strings"

	"cudacompat/internal/logs/signature"
	"cudacompat/internal/redact"
)

// MaxSentence is the maximum length of a fault's sentence.
const MaxSentence = 120

// FillWords inserts slots into words. An empty slot becomes nothing.
func (r *Record) FillWords(words string) string {
	return signature.Placeholder.ReplaceAllStringFunc(words, func(name string) string {
		return redact.Within(r.Text, r.Slot(strings.Trim(name, "{}")))
	})
}

// FillSentence inserts slots into words. It cuts a program's message so that the sentence stays short.
func (r *Record) FillSentence(words string) string {
	return signature.Placeholder.ReplaceAllStringFunc(words, func(name string) string { return r.slotIn(words, strings.Trim(name, "{}")) })
}

// slotIn returns a slot in the form for a sentence.
func (r *Record) slotIn(words, name string) string {
	text := cmp.Or(redact.Within(r.Text, r.Slot(name)), "it")
	if room := MaxSentence - len(words) + len(name) + 2; len(text) > max(room, 40) && name != "words" {
		text = strings.ToValidUTF8(text[:max(room, 40)-3], "") + "…"
	}
	return text
}

// FillSteps returns the steps of an answer with the record's slots.
func (r *Record) FillSteps(list []string) (do []string) {
	for _, words := range list {
		if text, ok := signature.FillStep(words, func(name string) string { return r.slotIn(words, name) }); ok {
			do = append(do, text)
		}
	}
	return do
}
