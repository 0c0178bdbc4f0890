package report_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"cudacompat/internal/report"
	"cudacompat/internal/report/formats"
	"cudacompat/internal/report/layout"
	"cudacompat/internal/report/reporttest"
	"cudacompat/matrix/verdict"
)

// FuzzHarmless puts one string into every field that a machine, a file or a caller can fill, and prints the report in
// every view: no control byte, no unintended line, no invalid UTF-8.
func FuzzHarmless(f *testing.F) {
	for _, s := range []string{"", "plain", "\x1b[2J\x1b]0;title\x07", "a\nincompatible: b", "a\r\b\b\b", "%s%d%n",
		"\xff\xfe\xc3", "\u009b31m",
		"\u202egnp.exe", "\u2028", "`", "\U000e0041", "::error::", strings.Repeat("x", 500), "日本語 🙂", "\"'<&>", "\t \v", "�"} {
		f.Add(s)
	}
	outcomes := []verdict.Outcome{verdict.Compatible, verdict.Incompatible, verdict.Inconclusive}
	f.Fuzz(func(t *testing.T, s string) {
		for _, outcome := range outcomes {
			harmless(t, reporttest.Fill(s, outcome))
		}
	})
}

// ours are the escape sequences that this package writes.
var ours = regexp.MustCompile("\x1b\\[[0-9;]*m")

func harmless(t *testing.T, r report.Report) {
	t.Helper()
	for _, view := range views {
		text := reporttest.Show(t, formats.All, r, view.format, view.style)
		plain := text
		if view.style.Colour {
			plain = ours.ReplaceAllString(text, "")
		}
		reporttest.WantVisible(t, plain)
		switch {
		case view.style.ASCII && strings.IndexFunc(plain, func(r rune) bool { return r > unicode.MaxASCII }) >= 0:
			t.Errorf("%s is not ASCII: %.200q", view.name, plain)
		case (view.format == "json" || view.format == "sarif") && !json.Valid([]byte(text)):
			t.Errorf("not JSON: %.200q", text)
		case view.format == "line":
			oneLine(t, text)
		}
	}
}

var lineForm = regexp.MustCompile(`^(FAIL|OK|UNKNOWN) [^\n]+\n$`)

func oneLine(t *testing.T, text string) {
	t.Helper()
	if !lineForm.MatchString(text) || len(text) > 160+1 {
		t.Errorf("not a line of at most 160 bytes that begins with the verdict: %.200q", text)
	}
}

// TestLinesNeverInject counts lines: no text from outside can add one to a page.
func TestLinesNeverInject(t *testing.T) {
	count := func(s string) int {
		return strings.Count(reporttest.Show(t, formats.All, reporttest.Fill(s, verdict.Incompatible), "text", layout.Style{}), "\n")
	}
	if plain, hostile := count("x_incompatible: y____z"), count("x\nincompatible: y\r\n\u2028\u0085z"); plain != hostile {
		t.Errorf("%d lines with plain strings, %d with hostile ones", plain, hostile)
	}
}

// TestJSONKeepsEveryCharacter reads back what was written: what is escaped is not lost.
func TestJSONKeepsEveryCharacter(t *testing.T) {
	const hostile = "\x1b[2J \u009b \u202e \U000e0041 \u2028 \" \\ < & % \x00"
	var back report.Report
	if err := json.Unmarshal([]byte(reporttest.Show(t, formats.All, reporttest.Fill(hostile, verdict.Incompatible), "json", layout.Style{})), &back); err != nil {
		t.Fatal(err)
	}
	if got := back.Findings[0].Message; got != hostile {
		t.Errorf("wrote %q, read %q", hostile, got)
	}
}

// TestHugeStrings fills every field with twelve kilobytes: what is measured word by word must not be quadratic.
func TestHugeStrings(t *testing.T) {
	for name, s := range map[string]string{"words": strings.Repeat("ab ", 4_000),
		"one-word": strings.Repeat("x", 12_000), "escapes": strings.Repeat("\x1b[31m", 2_400)} {
		t.Run(name, func(t *testing.T) { harmless(t, reporttest.Fill(s, verdict.Incompatible)) })
	}
}
