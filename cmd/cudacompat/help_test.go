package main

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestHelpFits finds a line of help that is wider than a narrow terminal, and a flag that no group shows.
func TestHelpFits(t *testing.T) {
	var grouped []string
	for _, group := range flagGroups {
		grouped = append(grouped, group.flags...)
	}
	root := newRoot(streams{})
	rootHelp := helpOf(root)
	for _, c := range append(root.Commands(), root) {
		help := helpOf(c)
		for line := range strings.Lines(help) {
			if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > helpWidth {
				t.Errorf("help %s: wider than %d: %s", c.Name(), helpWidth, line)
			}
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !slices.Contains(grouped, f.Name) {
				t.Errorf("--%s of %s is in no group of the help", f.Name, c.Name())
			}
		})
		if !strings.Contains(help, "\nExit codes:\n  0   ") {
			t.Errorf("help %s names no exit codes", c.Name())
		}
		if strings.Count(c.Example, "cudacompat ") < 2 {
			t.Errorf("help %s has fewer than two examples", c.Name())
		}
		if !strings.Contains(rootHelp, "\n  "+c.Name()+" ") && c.HasParent() {
			t.Errorf("the help does not list the command %s", c.Name())
		}
	}
}

func helpOf(c *cobra.Command) string {
	var out strings.Builder
	c.SetOut(&out)
	showHelp(c, nil)
	return out.String()
}
