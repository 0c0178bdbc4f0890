// Package usage describes mistakes in the use of the program: an argument that means nothing, a file that cannot be read,
// a word that nobody knows.
//
// An Error has one sentence that says what is wrong, and often a hint that says what to write instead. For an unknown
// word, the hint is the known word that is nearest to it. The package prints nothing and ends nothing: the command line
// writes the sentence and the hint, and chooses the exit code.
package usage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// Error is a mistake of the caller: one sentence and possibly a hint.
type Error struct{ Message, Hint string }

func (e *Error) Error() string { return e.Message }

// RejectUnknown returns the error for an unknown word, with the nearest known one as a hint.
func RejectUnknown(kind, word string, known []string) error {
	return &Error{Message: fmt.Sprintf("%q is not a known %s", word, kind), Hint: Suggest(word, known)}
}

// RejectUnknownOfMany returns the error of RejectUnknown for a kind with too many words to list. If no word is near, the
// hint names the command that lists them.
func RejectUnknownOfMany(kind, word string, known []string, command string) error {
	hint := Suggest(word, known)
	few := len(FindCompletions(word, known))
	if (few == 0 || few > 3*listLimit) && strings.HasPrefix(hint, "one of ") && strings.HasSuffix(hint, " more") {
		hint = "see `" + command + "`"
	}
	return &Error{Message: fmt.Sprintf("%q is not a known %s", word, kind), Hint: hint}
}

// Suggest returns a hint: the known words that begin with this one, otherwise the nearest, otherwise all.
func Suggest(word string, known []string) string {
	known = slices.Compact(slices.Sorted(slices.Values(known)))
	begin := FindCompletions(word, known)
	best := FindNearest(word, known)
	switch {
	case len(known) == 0:
		return ""
	case len(begin) == 1:
		best = begin[0]
	case len(begin) > 1:
		return "one of " + JoinWords(begin)
	case best == "":
		return "one of " + JoinWords(known)
	}
	return "did you mean " + best + "?"
}

// FindCompletions returns the known words that begin with a word.
func FindCompletions(word string, known []string) []string {
	return slices.DeleteFunc(slices.Clone(known), func(k string) bool { return word == "" || !strings.HasPrefix(k, word) })
}

// listLimit limits a hint to about two lines.
const listLimit = 12

// JoinWords returns words as a list in alphabetical order, of which it shortens a long one.
func JoinWords(words []string) string {
	words = slices.Sorted(slices.Values(words))
	if more := len(words) - listLimit; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(words[:listLimit], ", "), more)
	}
	return strings.Join(words, ", ")
}

// FindNearest returns the known word that needs the fewest edits, or "" if that is more than a third of it.
func FindNearest(word string, known []string) string {
	best, least := "", min(len(word)/3+2, max(3, len(word)/3+1))
	for _, k := range known {
		if d := countEdits(strings.ToLower(word), strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	return best
}

// countEdits returns the Levenshtein distance of two words: insertions, deletions and replacements.
func countEdits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// StripPath returns why a file operation failed, without the file's name, which the caller prints, and without names of
// temporary files.
func StripPath(err error) error {
	var pathError *fs.PathError
	var linkError *os.LinkError
	switch {
	case errors.As(err, &pathError):
		return pathError.Err
	case errors.As(err, &linkError):
		return linkError.Err
	}
	return err
}
