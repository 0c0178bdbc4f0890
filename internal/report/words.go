package report

import (
	"fmt"
	"slices"
	"strings"
)

// add appends a name to a list that does not contain it.
func add(list []string, name string) []string {
	if name == "" || slices.Contains(list, name) {
		return list
	}
	return append(list, name)
}

// on names the targets, " on g5.xlarge, p5.48xlarge", or returns "" for this machine.
func on(targets []string) string {
	if len(targets) == 0 {
		return ""
	}
	return " on " + few(targets, 3)
}

// few names the first of many and counts the others: "a and b", "a, b and 3 more".
func few(list []string, limit int) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	last, shown := list[len(list)-1], list[:len(list)-1]
	if len(list) > limit {
		last, shown = fmt.Sprintf("%d more", len(list)-limit), list[:limit]
	}
	return strings.Join(shown, ", ") + " and " + last
}

// articles are the first words of sentences that may become lower case inside another sentence.
var articles = []string{"The", "A", "An", "This", "It", "No", "Programs", "Another", "Two", "There"}

// lowerFirst turns a sentence into a clause. A name keeps its capital.
func lowerFirst(sentence string) string {
	if word, _, _ := strings.Cut(sentence, " "); slices.Contains(articles, word) {
		return strings.ToLower(sentence[:1]) + sentence[1:]
	}
	return sentence
}

// plural formats a number with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func join(separator string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), separator)
}
