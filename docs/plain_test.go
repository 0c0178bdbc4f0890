package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"cudacompat/internal/plain"
)

// allPages returns what people read, except what programs write: screens, measurements.
func allPages(t *testing.T) []string {
	all, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	all = append(all, "../README.md", "../CONTRIBUTING.md", "../SECURITY.md", "../packaging/python/README.md",
		"rules/README.md")
	for _, pattern := range []string{"rules/[a-z]*.md", "../examples/*/README.md"} {
		more, err := filepath.Glob(pattern)
		if err != nil || len(more) == 0 {
			t.Fatal(pattern, "matches no page", err)
		}
		all = append(all, more...)
	}
	return slices.DeleteFunc(all, func(name string) bool { return name == "performance.md" })
}

func rulePages(t *testing.T) []string {
	all, err := filepath.Glob("rules/[a-z]*.md")
	if err != nil || len(all) < 50 {
		t.Fatal("the pages of the rules are not here", err)
	}
	return all
}

// quoted matches the parts of a page that are not its own prose: fenced and indented blocks, code, quotations,
// addresses, tables of results.
var quoted = regexp.MustCompile("(?ms)^```.*?^```$|^ {4,}[^\n]*$|``?[^`]+``?|\"[^\"]{1,160}\"|https?://\\S+|" +
	"<!-- tried -->.*<!-- /tried -->")

func TestPagesArePlain(t *testing.T) {
	for _, name := range allPages(t) {
		page, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, odd := range plain.Odd(quoted.ReplaceAllString(string(page), "X")) {
			t.Errorf("%s: %s", name, odd)
		}
	}
}

// TestUnreleasedIsPlain leaves the changes of older releases as they were written.
func TestUnreleasedIsPlain(t *testing.T) {
	page, err := os.ReadFile("../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## [Unreleased]\n")
	section, _, _ = strings.Cut(section, "\n## [")
	for _, odd := range plain.Odd(quoted.ReplaceAllString(section, "X")) {
		t.Errorf("CHANGELOG.md: %s", odd)
	}
}

// TestRulePagesRender finds a line that is too long for a terminal of 80 columns, and a block of code that Markdown
// takes for prose because no empty line stands before it. Sources are addresses, which have no place to break.
func TestRulePagesRender(t *testing.T) {
	for _, name := range rulePages(t) {
		page, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text, _, _ := strings.Cut(string(page), "\n## Sources\n")
		before := ""
		for i, line := range strings.Split(text, "\n") {
			if n := utf8.RuneCountInString(line); n > 80 {
				t.Errorf("%s:%d has %d columns", name, i+1, n)
			}
			if strings.HasPrefix(line, "    ") && before != "" && !strings.HasPrefix(before, "    ") {
				t.Errorf("%s:%d: Markdown takes this line for prose: an empty line belongs before it", name, i+1)
			}
			before = line
		}
	}
}
