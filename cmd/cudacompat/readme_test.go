package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cudacompat/internal/tables"
	"cudacompat/matrix"

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

// TestReadmeShares counts in the tables what the README says of them.
func TestReadmeShares(t *testing.T) {
	old, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(old)
	for _, c := range []struct{ name, table, releases string }{
		{"PyTorch 2.x", "torch", "release>=2.0"},
		{"TensorFlow from 2.10", "tensorflow", "release>=2.10"},
	} {
		line := regexp.MustCompile("(?m)^- " + regexp.QuoteMeta(c.name) + " for Linux: .*$")
		if !line.MatchString(text) {
			t.Errorf("the README does not say what the rows of %s rest on", c.name)
		}
		text = line.ReplaceAllString(text, "- "+c.name+" for Linux: "+shares(t, c.table, c.releases))
	}
	if *updateReadme {
		if err := os.WriteFile("../../README.md", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(old), text); diff != "" {
		t.Errorf("the tables have other shares (-README +tables); run with -update:\n%s", diff)
	}
}

// shares says what a table's rows for Linux rest on.
func shares(t *testing.T, table, releases string) string {
	t.Helper()
	g, err := filtered(matrix.Embedded(), table, []string{releases})
	if err != nil {
		t.Fatal(err)
	}
	g.Rows = slices.DeleteFunc(slices.Clone(g.Rows),
		func(row []string) bool { return !strings.HasPrefix(row[2], "linux_") })
	count, _ := g.Proven()
	return fmt.Sprintf("of %d rows, %d read from the wheel, %d with two sources, %d with one.",
		len(g.Rows), count[tables.Artefact], count[tables.TwoSources], count[tables.SingleSource])
}
