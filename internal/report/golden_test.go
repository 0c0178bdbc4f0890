package report_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cudacompat/internal/report"
	"cudacompat/internal/report/formats"
	"cudacompat/internal/report/layout"
	"cudacompat/internal/report/reporttest"
	"cudacompat/matrix/verdict"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the expected output anew; read the difference before you commit it")

// A view is a way of printing a case.
type view struct {
	name, format string
	style        layout.Style
}

// screenText is the view of every case. The other views are printed only for the cases in everyView, so that a change
// of one format does not change every golden file.
var screenText = view{"text", "text", layout.Style{}}

// everyView lists the cases that are printed in all views: good, broken, unknown, and full of control characters.
var everyView = []string{"healthy", "driver-too-old", "driver-timeout", "hostile"}

// pages lists the views for people, with a golden file for each case.
var pages = []view{
	screenText,
	{"all", "text", layout.Style{All: true}},
	{"screen", "text", layout.Style{Width: 80, Colour: true}},
	{"narrow", "text", layout.Style{Width: 40, ASCII: true}},
}

// views lists the pages and every other format.
var views = append(slices.Clone(pages), forPrograms()...)

// forPrograms returns the formats for programs. Each has one golden file for all cases.
func forPrograms() []view {
	var list []view
	for _, f := range formats.All {
		if f.Name != screenText.format {
			list = append(list, view{name: f.Name, format: f.Name})
		}
	}
	return list
}

// TestGoldens prints testdata/<case>.facts.json, judged with the flags in <case>.args. It compares pages with
// <case>.<exit code>.<view>, and formats for programs with <format>.golden.
func TestGoldens(t *testing.T) {
	wanted := map[string]bool{}
	reports := reporttest.Cases(t, "testdata")
	for name, r := range reports {
		for _, view := range pagesOf(name) {
			golden := fmt.Sprintf("testdata/%s.%d.%s", name, exitCodes[r.Outcome], view.name)
			wanted[golden] = true
			t.Run(name+"/"+view.name, func(t *testing.T) {
				compare(t, golden, reporttest.Show(t, formats.All, r, view.format, view.style))
			})
		}
	}
	for _, view := range forPrograms() {
		golden := "testdata/" + view.name + ".golden"
		wanted[golden] = true
		t.Run(view.name, func(t *testing.T) { compare(t, golden, inOne(t, reports, view)) })
	}
	noOthers(t, wanted)
}

// inOne joins a format's output for all cases.
func inOne(t *testing.T, reports map[string]report.Report, view view) string {
	t.Helper()
	var b strings.Builder
	for _, name := range everyView {
		r := reports[name]
		fmt.Fprintf(&b, "-- %s, exit %d --\n%s\n", name, exitCodes[r.Outcome],
			withoutLists(reporttest.Show(t, formats.All, r, view.format, view.style)))
	}
	return b.String()
}

// noOthers reports golden files that no case prints.
func noOthers(t *testing.T, wanted map[string]bool) {
	t.Helper()
	files, _ := filepath.Glob("testdata/*.[0-9].*")
	formats, _ := filepath.Glob("testdata/*.golden")
	for _, file := range append(files, formats...) {
		if !wanted[file] && *update {
			_ = os.Remove(file)
		} else if !wanted[file] {
			t.Errorf("%s: no case prints this", file)
		}
	}
}

func pagesOf(name string) []view {
	if slices.Contains(everyView, name) {
		return pages
	}
	return []view{screenText}
}

// lists names the parts of a file that list all rules or repeat the facts. They would change a golden file with every
// page, rule and fact.
var lists = []struct {
	pattern *regexp.Regexp
	left    string
}{
	{regexp.MustCompile(`(?s)("rules": \[)\n.*?\n {10}\]`), "$1]"}, // SARIF's rules
	{regexp.MustCompile(`(?s)(\n  "facts": )\{.*?\n  \}`), "$1{}"}, // JSON's facts
	{idleCase, ""}, // JUnit's rules to which nothing applied
	{regexp.MustCompile(` (tests|skipped)="\d+"`), ` $1=""`},
}

var idleCase = regexp.MustCompile(`\n    <testcase [^>]*>\n      <skipped message="does not apply here"></skipped>\n    </testcase>`)

func withoutLists(text string) string {
	for _, l := range lists {
		text = l.pattern.ReplaceAllString(text, l.left)
	}
	return text
}

// exitCodes are the exit codes of cmd/cudacompat without --fail-on.
var exitCodes = map[verdict.Outcome]int{verdict.Compatible: 0, verdict.Incompatible: 1, verdict.Inconclusive: 3}

func compare(t *testing.T, golden, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatalf("%v; run with -update", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got); -update writes it anew:\n%s", golden, diff)
	}
}

// TestLines checks every case's line against the limits of its readers.
func TestLines(t *testing.T) {
	for _, r := range reporttest.Cases(t, "testdata") {
		oneLine(t, reporttest.Show(t, formats.All, r, "line", layout.Style{}))
	}
}
