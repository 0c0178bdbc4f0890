package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cudacompat/internal/cases"
	"cudacompat/matrix"
	"cudacompat/matrix/verdict"
	"cudacompat/probe"

	"golang.org/x/tools/txtar"
)

// verdicts prints the cases of this repository that the tables of --data judge differently from the previous tables. A
// pull request with new rows is judged by this list.
func (o *options) verdicts(ctx context.Context, out io.Writer) (int, error) {
	if len(o.pages) != 1 {
		return exitUsage, fmt.Errorf("name the directory of the tables as they were before")
	}
	before, err := matrix.Load(os.DirFS(o.pages[0]))
	if err != nil {
		return exitUsage, err
	}
	after, err := matrix.Load(os.DirFS(o.data))
	if err != nil {
		return exitUsage, err
	}
	files, err := filepath.Glob(filepath.Join(o.cases, "*", "*.txtar"))
	if err != nil || len(files) == 0 {
		return exitUsage, fmt.Errorf("there are no cases in %s", o.cases)
	}
	changed := 0
	for _, file := range files {
		c, err := readCase(file)
		if err != nil {
			return exitUsage, fmt.Errorf("%s: %w", file, err)
		}
		gone, come := differ(c.judged(ctx, before), c.judged(ctx, after))
		if len(gone)+len(come) == 0 {
			continue
		}
		changed++
		fmt.Fprintf(out, "%s: %s\n", strings.TrimSuffix(strings.TrimPrefix(file, o.cases+"/"), ".txtar"), c.about)
		for _, line := range gone {
			fmt.Fprintln(out, "  -", line)
		}
		for _, line := range come {
			fmt.Fprintln(out, "  +", line)
		}
	}
	fmt.Fprintf(out, "%d of %d cases are judged otherwise\n", changed, len(files))
	return exitSame, nil
}

// oneCase is a machine and what is asked of it.
type oneCase struct {
	about   string
	facts   probe.Facts
	targets []matrix.Target
	policy  verdict.Policy
}

func readCase(file string) (c oneCase, err error) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		return c, err
	}
	c.about, _, _ = strings.Cut(string(archive.Comment), "\n")
	text, err := cases.Facts(filepath.Join(filepath.Dir(filepath.Dir(file)), "machines"), archive)
	if err == nil {
		c.facts, err = probe.Given(text)
	}
	for _, f := range archive.Files {
		switch f.Name {
		case "target.json":
			if e := json.Unmarshal(f.Data, &c.targets); err == nil {
				err = e
			}
		case "require":
			c.policy.Require = strings.Fields(string(f.Data))
		case "health":
			c.policy.Health = true
		case "today":
			c.policy.Today = strings.TrimSpace(string(f.Data))
		}
	}
	return c, err
}

// judged returns the outcome, answers, findings and unknowns, one per line, without the suggested pins.
func (c oneCase) judged(ctx context.Context, t *matrix.Tables) []string {
	policy := c.policy
	policy.NoPins = true
	v := matrix.Check(ctx, t, c.facts, c.targets, policy)
	lines := []string{string(v.Outcome)}
	for _, a := range v.Answers {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s: %s %s", a.Subject, a.Answer, a.Target)))
	}
	for _, f := range v.Findings {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s: %s %s", f.Severity, f.Rule, f.Subject, f.Target)))
	}
	for _, u := range v.Unknown {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("unknown %s: %s: %s %s", u.Rule, u.Subject, u.Missing, u.Target)))
	}
	return lines
}

// differ returns the lines that only one of two verdicts has.
func differ(old, now []string) (gone, come []string) {
	without := func(list, other []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(line string) bool { return slices.Contains(other, line) })
	}
	return without(old, now), without(now, old)
}
