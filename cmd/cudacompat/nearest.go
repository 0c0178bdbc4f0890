package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// misspelt returns the error for an unknown word, with the nearest known one as a hint.
func misspelt(kind, word string, known []string) error {
	return &usageError{message: fmt.Sprintf("%q is not a known %s", word, kind), hint: suggest(word, known)}
}

// misspeltOf returns the error of misspelt for a kind with too many words to list. If no word is near, the hint names the
// command that lists them.
func misspeltOf(kind, word string, known []string, command string) error {
	hint := suggest(word, known)
	few := len(longer(word, known))
	if (few == 0 || few > 3*listLimit) && strings.HasPrefix(hint, "one of ") && strings.HasSuffix(hint, " more") {
		hint = "see `" + command + "`"
	}
	return &usageError{message: fmt.Sprintf("%q is not a known %s", word, kind), hint: hint}
}

// listInstances is the command that lists the EC2 instance types, and those of other clouds by the similar EC2 type.
const listInstances = "cudacompat matrix ec2` and `cudacompat matrix instance_alias"

// suggest returns a hint: the known words that begin with this one, otherwise the nearest, otherwise all.
func suggest(word string, known []string) string {
	known = slices.Compact(slices.Sorted(slices.Values(known)))
	begin := longer(word, known)
	best := nearest(word, known)
	switch {
	case len(known) == 0:
		return ""
	case len(begin) == 1:
		best = begin[0]
	case len(begin) > 1:
		return "one of " + inWords(begin)
	case best == "":
		return "one of " + inWords(known)
	}
	return "did you mean " + best + "?"
}

// longer returns the known words that begin with a word.
func longer(word string, known []string) []string {
	return slices.DeleteFunc(slices.Clone(known), func(k string) bool { return word == "" || !strings.HasPrefix(k, word) })
}

// listLimit limits a hint to about two lines.
const listLimit = 12

func inWords(words []string) string {
	words = slices.Sorted(slices.Values(words))
	if more := len(words) - listLimit; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(words[:listLimit], ", "), more)
	}
	return strings.Join(words, ", ")
}

// nearest returns the known word that needs the fewest edits, or "" if that is more than a third of it.
func nearest(word string, known []string) string {
	best, least := "", min(len(word)/3+2, max(3, len(word)/3+1))
	for _, k := range known {
		if d := edits(strings.ToLower(word), strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	return best
}

// edits returns the Levenshtein distance of two words: insertions, deletions and replacements.
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

// flagError rewords pflag's errors.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var lacking *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		return unknownFlag(cmd, unknown)
	case errors.As(err, &lacking):
		return &usageError{message: withDashes(lacking.GetSpecifiedName()) + " needs a value", hint: usageOf(lacking.GetFlag())}
	case errors.As(err, &invalid):
		f := invalid.GetFlag()
		return &usageError{
			message: fmt.Sprintf("--%s %q is not a %s", f.Name, invalid.GetValue(), kindOf(f)),
			hint:    usageOf(f),
		}
	}
	return &usageError{message: err.Error(), hint: cmd.CommandPath() + " --help"}
}

func withDashes(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// usageOf returns a flag's help line: "--driver VERSION: judge for this driver VERSION …".
func usageOf(f *pflag.Flag) string {
	value, text := pflag.UnquoteUsage(f)
	return strings.TrimSpace("--"+f.Name+" "+value) + ": " + strings.TrimPrefix(text, value+": ")
}

// kindOf says in words what pflag expects as a flag's value.
func kindOf(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "duration":
		return "length of time such as 30s or 2m"
	case "bool":
		return "truth value (true or false)"
	case "stringSlice":
		return "list with commas between its words"
	}
	return f.Value.Type()
}

// unknownFlag returns the error for a flag that the command does not have: it is misspelt, or belongs to another
// command.
func unknownFlag(cmd *cobra.Command, err *pflag.NotExistError) error {
	flag := withDashes(err.GetSpecifiedName())
	e := &usageError{message: fmt.Sprintf("%s has no flag %q", cmd.Name(), flag)}
	if !cmd.HasParent() {
		e.message = fmt.Sprintf("there is no flag %q before the command", flag)
	}
	root := newRoot(streams{}) // with every command
	switch owners := ownersOf(root, err.GetSpecifiedName()); {
	case flagElsewhere(cmd, err.GetSpecifiedName()) != "":
		e.hint = flagElsewhere(cmd, err.GetSpecifiedName())
	case slices.Contains(commandNames(root), err.GetSpecifiedName()):
		e.hint = "did you mean cudacompat " + err.GetSpecifiedName() + "?"
	case len(owners) > 0:
		e.hint = flag + " belongs to " + strings.Join(owners, ", ")
	case nearest(flag, flagNames(cmd)) != "" || len(longer(flag, flagNames(cmd))) > 0:
		e.hint = suggest(flag, flagNames(cmd))
	default:
		e.hint = cmd.CommandPath() + " --help"
	}
	return e
}

// flagElsewhere returns what a command has instead of a flag of other programs.
func flagElsewhere(cmd *cobra.Command, name string) string {
	formats := cmd.Flags().Lookup("output")
	switch name {
	case "json", "sarif", "junit", "markdown":
		if formats != nil {
			return "did you mean -o " + name + "?"
		}
		return cmd.Name() + " has one form of output: see " + cmd.CommandPath() + " --help"
	case "format", "output-format", "fmt":
		if formats != nil {
			return "did you mean -o FORMAT? " + usageOf(formats)
		}
	case "q", "quiet", "s", "silent":
		if cmd.Flags().Lookup("healthcheck") != nil {
			return "-o line prints one line, --healthcheck one for a health check; the exit code tells by itself: >/dev/null"
		}
		return "the exit code tells by itself: >/dev/null"
	case "o", "output":
		if formats == nil {
			return cmd.Name() + " has one form of output: leave -o out"
		}
	}
	return ""
}

// ownersOf returns the commands that have a flag.
func ownersOf(root *cobra.Command, name string) []string {
	var list []string
	for _, c := range root.Commands() {
		if c.Flags().Lookup(name) != nil || len(name) == 1 && c.Flags().ShorthandLookup(name) != nil {
			list = append(list, c.Name())
		}
	}
	return list
}

func flagNames(cmd *cobra.Command) []string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	slices.Sort(names)
	return names
}

// atMostOne accepts one argument or none.
func atMostOne(cmd *cobra.Command, args []string) error {
	if len(args) < 2 {
		return nil
	}
	hint := "cudacompat " + cmd.Use
	if pinned := asPinned(strings.Join(args, " ")); pinned != "" && !slices.ContainsFunc(args, exists) {
		hint = "did you mean " + pinned + "?"
	}
	return &usageError{message: fmt.Sprintf("%s takes one argument, not %d", cmd.Name(), len(args)), hint: hint}
}
