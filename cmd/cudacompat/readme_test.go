package main

import (
	"bytes"
	"flag"
	"html"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var updateReadme = flag.Bool("update", false, "write the screens of README.md and docs")

// screen matches a fenced block of a page that begins with a command.
var screen = regexp.MustCompile("(?ms)^```\n\\$ cudacompat ([^\n]*)\n(.*?)```$")

// TestScreens runs every command whose output a page shows and compares the output word for word.
func TestScreens(t *testing.T) {
	t.Setenv("LC_ALL", "C.UTF-8")
	t.Setenv("COLUMNS", "")
	t.Chdir("../..")
	for page, least := range map[string]int{"README.md": 1, "docs/screens.md": 5, "docs/faq.md": 5} {
		old, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		shown := 0
		text := screen.ReplaceAllStringFunc(string(old), func(block string) string {
			shown++
			command := screen.FindStringSubmatch(block)[1]
			return "```\n$ cudacompat " + command + "\n" + runForReadme(t, command) + "```"
		})
		if shown < least {
			t.Errorf("%s shows %d screens; the pattern no longer finds them", page, shown)
		}
		if *updateReadme {
			if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if diff := cmp.Diff(string(old), text); diff != "" {
			t.Errorf("%s shows another screen than the program (-page +program); run with -update:\n%s", page, diff)
		}
	}
}

// TestScreenPicture compares the words in the picture with the program's output. make screen draws it.
func TestScreenPicture(t *testing.T) {
	t.Setenv("LC_ALL", "C.UTF-8")
	picture, err := os.ReadFile("../../docs/screen.svg")
	if err != nil {
		t.Fatal(err)
	}
	drawn := html.UnescapeString(regexp.MustCompile("<[^>]*>").ReplaceAllString(string(picture), ""))
	const command = "check example:broken"
	drawn = strings.ReplaceAll(drawn, " \\\n", "\n") // at 80 columns a command is broken; in a pipe it is not
	words := func(text string) string { return strings.Join(strings.Fields(text), "") }
	if diff := cmp.Diff(words(drawn), words("$ cudacompat "+command+runForReadme(t, command))); diff != "" {
		t.Errorf("docs/screen.svg shows other words than the program (-picture +program); run make screen:\n%s", diff)
	}
}

// runForReadme runs a command in the repository at 80 columns, as a reader would.
func runForReadme(t *testing.T, command string) string {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(arguments(command), streams{strings.NewReader(""), &out, &errs})
	if code == exitUsage || code == exitInternal {
		t.Fatalf("%s: exit %d: %s", command, code, errs.String())
	}
	return out.String()
}

// arguments splits a command as a shell does: at spaces outside single quotes.
func arguments(command string) []string {
	var words []string
	for i, part := range strings.Split(command, "'") {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}
