package main

import (
	"bytes"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var updateReadme = flag.Bool("update", false, "write the README's screens anew")

// screen is one fenced block of the README that begins with a command.
var screen = regexp.MustCompile("(?ms)^```\n\\$ cudacompat ([^\n]*)\n(.*?)```$")

// TestReadmeScreens runs every command that the README shows and compares what it prints, word for word.
func TestReadmeScreens(t *testing.T) {
	t.Setenv("LC_ALL", "C.UTF-8")
	t.Setenv("COLUMNS", "")
	t.Chdir("../..")
	old, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	text := screen.ReplaceAllStringFunc(string(old), func(block string) string {
		shown++
		m := screen.FindStringSubmatch(block)
		return "```\n$ cudacompat " + m[1] + "\n" + runForReadme(t, m[1]) + "```"
	})
	if shown < 4 {
		t.Errorf("the README shows %d screens; the pattern no longer finds them", shown)
	}
	if *updateReadme {
		if err := os.WriteFile("README.md", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(old), text); diff != "" {
		t.Errorf("the README shows another screen than the program (-README +program); run with -update:\n%s", diff)
	}
}

// runForReadme runs a command as a reader would, in the repository, at 80 columns.
func runForReadme(t *testing.T, command string) string {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(strings.Fields(command), streams{strings.NewReader(""), &out, &errs})
	if code == exitUsage || code == exitInternal {
		t.Fatalf("%s: exit %d: %s", command, code, errs.String())
	}
	return out.String()
}
