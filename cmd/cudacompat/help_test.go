package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestHelpFits reports lines of help that are wider than a narrow terminal, and flags that no group shows.
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

// TestHelpOnNarrowPages checks that on a page of 40 columns only commands to copy and unbreakable names are wider.
func TestHelpOnNarrowPages(t *testing.T) {
	for _, c := range append(newRoot(streams{}).Commands(), newRoot(streams{})) {
		var out strings.Builder
		p := helpPage{&out, 40}
		fmt.Fprint(p, p.paragraphs(c.Short))
		p.flags(c.Flags())
		p.commands(c)
		for line := range strings.Lines(out.String()) {
			if line = strings.TrimSuffix(line, "\n"); len(line) > 40 && len(strings.Fields(line)) > 2 {
				t.Errorf("help of %s has a line of %d columns, want at most 40: %s", c.Name(), len(line), line)
			}
		}
	}
}
