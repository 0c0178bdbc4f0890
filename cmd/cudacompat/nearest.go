package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// maxListed is how many words a hint lists; more would bury the message.
const maxListed = 12

// misspelt is the complaint about a word that is none of those known, with the nearest as a hint.
func misspelt(kind, word string, known []string) error {
	hint := "one of " + strings.Join(known, ", ")
	if len(known) > maxListed {
		hint = fmt.Sprintf("%d are known, such as %s", len(known), strings.Join(known[:3], ", "))
	}
	if best := nearest(word, known); best != "" {
		hint = "did you mean " + best + "?"
	}
	return &usageError{message: fmt.Sprintf("there is no %s %q", kind, word), hint: hint}
}

// nearest is the known word that needs the fewest edits, empty when even that needs more than a third of it.
func nearest(word string, known []string) string {
	best, least := "", len(word)/3+2
	for _, k := range known {
		if d := edits(word, k); d < least {
			best, least = k, d
		}
	}
	return best
}

// edits is the Levenshtein distance: insertions, deletions and replacements.
func edits(a, b string) int {
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

func flagNames(cmd *cobra.Command) []string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	slices.Sort(names)
	return names
}
