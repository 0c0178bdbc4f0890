package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cudacompat/docs"
	"cudacompat/matrix"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// TestEveryRuleHasItsPage reports a rule without docs/rules/<id>.md, a page without a rule, and a page whose title
// names another rule.
func TestEveryRuleHasItsPage(t *testing.T) {
	files, err := fs.Glob(docs.Rules, "rules/*.md")
	if err != nil {
		t.Fatal(err)
	}
	var pages []string
	for _, file := range files {
		id := strings.TrimSuffix(strings.TrimPrefix(file, "rules/"), ".md")
		pages = append(pages, id)
		if !slices.Contains(matrix.RuleIDs(), id) {
			t.Errorf("docs/%s is the page of no rule: remove it, or name it as the rule is named", file)
		}
		page, err := fs.ReadFile(docs.Rules, file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(page), "# "+id+": ") {
			t.Errorf("%s does not begin with %q", file, "# "+id+": ")
		}
	}
	for _, id := range matrix.RuleIDs() {
		if !slices.Contains(pages, id) {
			t.Errorf("the rule %s has no page: write docs/rules/%s.md, which begins with \"# %s: \"", id, id, id)
		}
	}
}

// TestRuleIndex compares docs/rules/README.md with the rules, in their order. -update rewrites it.
func TestRuleIndex(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Rules\n\nEvery rule, causes before their consequences. " +
		"`cudacompat explain RULE` prints its page.\n\n| rule | what it reports |\n|---|---|\n")
	for _, r := range matrix.Rules() {
		fmt.Fprintf(&b, "| [%s](%s.md) | %s |\n", r.ID, r.ID, r.Title)
	}
	const path = "../../docs/rules/README.md"
	if *updateReadme {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(old), b.String()); diff != "" {
		t.Errorf("docs/rules/README.md is not the index of the rules (-file +rules):\n%s\n"+
			"`go test ./cmd/cudacompat -run RuleIndex -update` writes it", diff)
	}
}

// exitRow matches a row of the README's table of exit codes: "| 64 | usage, … |".
var exitRow = regexp.MustCompile("(?m)^\\|\\s*`?(\\d+)`?\\s*\\|")

// TestReadmeExitCodes compares the README's table with the constants.
func TestReadmeExitCodes(t *testing.T) {
	_, section, found := strings.Cut(readme(t), "\n## Exit codes\n")
	if !found {
		t.Fatal(`the README has no section "## Exit codes"`)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var codes []int
	for _, m := range exitRow.FindAllStringSubmatch(section, -1) {
		code, _ := strconv.Atoi(m[1])
		codes = append(codes, code)
	}
	if diff := cmp.Diff([]int{exitOK, exitIncompatible, exitInconclusive, exitUsage, exitInternal}, codes); diff != "" {
		t.Errorf("exit codes (-program +README):\n%s", diff)
	}
}

// TestExitCodesKeepOffOthers checks that no exit code is used by others: 2 is Go's panic and reserved by Docker, 126
// and up belong to shells, and 194 makes SSM and Image Builder reboot the machine.
func TestExitCodesKeepOffOthers(t *testing.T) {
	for _, code := range []int{exitOK, exitIncompatible, exitInconclusive, exitUsage, exitInternal} {
		if code == 2 || code >= 126 {
			t.Errorf("%d means something else to somebody", code)
		}
	}
}

var flagInProse = regexp.MustCompile("(?:^|[`\\s(])--([a-z][a-z-]+)")

// TestReadmeNamesWhatThereIs finds a flag in the README's prose that no command has, and a command that the README
// does not name.
func TestReadmeNamesWhatThereIs(t *testing.T) {
	text := regexp.MustCompile("(?ms)^```.*?^```").ReplaceAllString(readme(t), "")
	root := newRoot(streams{})
	flags := map[string]bool{}
	for _, c := range root.Commands() {
		c.Flags().VisitAll(func(f *pflag.Flag) { flags[f.Name] = true })
		if c.Name() != "help" && !strings.Contains(text, "cudacompat "+c.Name()) && !strings.Contains(text, "`"+c.Name()+"`") {
			t.Errorf("the README does not name the command %s", c.Name())
		}
	}
	for _, m := range flagInProse.FindAllStringSubmatch(text, -1) {
		if !flags[m[1]] {
			t.Errorf("the README names --%s, which no command has", m[1])
		}
	}
}

// documented is a command line of this program in a page: the command and what follows it, up to the end of the line or
// of the code.
var documented = regexp.MustCompile("(?m)(?:^|[ `])cudacompat ([a-z]+)([^`|\n]*)")

// TestPagesNameFlagsThatExist finds, in every page, a flag that the command before it does not have.
func TestPagesNameFlagsThatExist(t *testing.T) {
	flags := map[string]*pflag.FlagSet{}
	for _, c := range newRoot(streams{}).Commands() {
		flags[c.Name()] = c.Flags()
	}
	seen := 0
	for _, pattern := range []string{"../../*.md", "../../docs/*.md", "../../docs/rules/*.md", "../../examples/*/*"} {
		pages, err := filepath.Glob(pattern)
		if err != nil || len(pages) == 0 {
			t.Fatal(pattern, "matches no page", err)
		}
		for _, page := range pages {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range documented.FindAllStringSubmatch(string(text), -1) {
				own, _, _ := strings.Cut(m[2], " -- ") // what follows is an installer's
				for _, flag := range flagInProse.FindAllStringSubmatch(own, -1) {
					seen++
					if set := flags[m[1]]; set != nil && set.Lookup(flag[1]) == nil {
						t.Errorf("%s: cudacompat %s does not have --%s", page, m[1], flag[1])
					}
				}
			}
		}
	}
	if seen < 30 {
		t.Errorf("%d flags were found; the pattern no longer finds them", seen)
	}
}

func readme(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
