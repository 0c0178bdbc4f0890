package layout

import (
	"fmt"
	"slices"
	"strings"
)

// AppendUnique appends a name to a list that does not contain it.
func AppendUnique(list []string, name string) []string {
	if name == "" || slices.Contains(list, name) {
		return list
	}
	return append(list, name)
}

// NameTargets names the targets of a sentence, " on g5.xlarge, p5.48xlarge", or returns "" for this machine.
func NameTargets(targets []string) string {
	if len(targets) == 0 {
		return ""
	}
	return " on " + ListFirst(targets, 3)
}

// ListFirst names the first of many and counts the others: "a and b", "a, b and 3 more".
func ListFirst(list []string, limit int) string {
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

// LowerFirst turns a sentence into a clause. A name keeps its capital.
func LowerFirst(sentence string) string {
	if word, _, _ := strings.Cut(sentence, " "); slices.Contains(articles, word) {
		return strings.ToLower(sentence[:1]) + sentence[1:]
	}
	return sentence
}

// CountNoun formats a number with its noun: "1 error", "2 errors".
func CountNoun(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// JoinNonEmpty joins the parts that are not empty.
func JoinNonEmpty(separator string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), separator)
}

// CountEqual counts equal GPUs, "8 × NVIDIA H100 (9.0)".
func CountEqual(gpus []string) string {
	var list []string
	for _, g := range slices.Compact(slices.Sorted(slices.Values(gpus))) {
		n := 0
		for _, other := range gpus {
			if other == g {
				n++
			}
		}
		if n > 1 {
			g = fmt.Sprintf("%d × %s", n, g)
		}
		list = append(list, g)
	}
	return strings.Join(list, ", ")
}
