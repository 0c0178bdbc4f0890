package report

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"cudacompat/internal/report/layout"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
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
			harmless(t, filled(s, outcome))
		}
	})
}

// filled returns a report with every string set to s but those that only this program writes.
func filled(s string, outcome verdict.Outcome) Report {
	var r Report
	fill(reflect.ValueOf(&r).Elem(), s)
	r.Schema, r.Outcome, r.Facts.Schema = Schema, outcome, facts.Schema
	for i, severity := range []verdict.Severity{verdict.Error, verdict.Warning, verdict.Note} {
		r.Findings = append(r.Findings[:i:i], r.Findings[0])
		r.Findings[i].Severity = severity
	}
	r.Answers[0].Answer = verdict.Unknown
	r.Facts.Probes[0].Status = "failed"
	return r
}

// fill sets every string of a value, and gives every list and map one element.
func fill(v reflect.Value, s string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(s)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), s)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), s)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, s)
		fill(value, s)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() { // no view shows others
				fill(v.Field(i), s)
			}
		}
	}
}

// ours are the escape sequences that this package writes.
var ours = regexp.MustCompile("\x1b\\[[0-9;]*m")

func harmless(t *testing.T, r Report) {
	t.Helper()
	for _, view := range views {
		text := show(t, r, view.format, view.style)
		plain := text
		if view.style.Colour {
			plain = ours.ReplaceAllString(text, "")
		}
		wantVisible(t, plain)
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

// wantVisible finds what does not show, or is no UTF-8.
func wantVisible(t *testing.T, text string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("not UTF-8: %.200q; clean makes text of a machine safe to print", text)
	}
	if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsGraphic(r) }); i >= 0 {
		t.Errorf("a character that does not show: %q; clean makes text of a machine safe to print",
			text[max(0, i-20):min(len(text), i+20)])
	}
}

var lineForm = regexp.MustCompile(`^(FAIL|OK|UNKNOWN) [^\n]+\n$`)

func oneLine(t *testing.T, text string) {
	t.Helper()
	if !lineForm.MatchString(text) || len(text) > lineLimit+1 {
		t.Errorf("not a line of at most %d bytes that begins with the verdict: %.200q", lineLimit, text)
	}
}

// TestLinesNeverInject counts lines: no text from outside can add one to a page.
func TestLinesNeverInject(t *testing.T) {
	count := func(s string) int {
		return strings.Count(show(t, filled(s, verdict.Incompatible), "text", layout.Style{}), "\n")
	}
	if plain, hostile := count("x_incompatible: y____z"), count("x\nincompatible: y\r\n\u2028\u0085z"); plain != hostile {
		t.Errorf("%d lines with plain strings, %d with hostile ones", plain, hostile)
	}
}

// TestJSONKeepsEveryCharacter reads back what was written: what is escaped is not lost.
func TestJSONKeepsEveryCharacter(t *testing.T) {
	const hostile = "\x1b[2J \u009b \u202e \U000e0041 \u2028 \" \\ < & % \x00"
	var back Report
	if err := json.Unmarshal([]byte(show(t, filled(hostile, verdict.Incompatible), "json", layout.Style{})), &back); err != nil {
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
		t.Run(name, func(t *testing.T) { harmless(t, filled(s, verdict.Incompatible)) })
	}
}
