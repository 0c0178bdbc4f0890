// Package reporttest helps the tests of the packages below report. It judges the cases in a testdata directory, fills
// every field of a report with a hostile string, shows a report in a format, and checks documents against schemas.
package reporttest

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"cudacompat/internal/report"
	"cudacompat/internal/report/layout"
	"cudacompat/matrix"
	"cudacompat/matrix/verdict"
	"cudacompat/probe"
	"cudacompat/probe/facts"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/spf13/pflag"
)

// Cases judges every <case>.facts.json of a directory.
func Cases(t testing.TB, dir string) map[string]report.Report {
	t.Helper()
	files, _ := filepath.Glob(dir + "/*.facts.json")
	if len(files) < 15 {
		t.Fatalf("only %d cases", len(files))
	}
	reports := map[string]report.Report{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".facts.json")
		reports[name] = Judge(t, file, dir+"/"+name+".args")
	}
	return reports
}

// Judge does what cmd does, with a tool whose version never changes.
func Judge(t testing.TB, factsFile, argsFile string) report.Report {
	t.Helper()
	data, err := os.ReadFile(factsFile)
	if err != nil {
		t.Fatal(err)
	}
	node, err := probe.Given(data)
	if err != nil {
		t.Fatalf("%s: %v", factsFile, err)
	}
	targets, policy := arguments(t, argsFile)
	return report.New(report.Tool{Version: "1.0.0", Matrix: "2026-11-21"}, node, targets,
		matrix.Check(context.Background(), matrix.Embedded(), node, targets, policy))
}

// arguments reads a file of flags. Without it there are none.
func arguments(t testing.TB, name string) ([]matrix.Target, verdict.Policy) {
	t.Helper()
	data, _ := os.ReadFile(name)
	flags := pflag.NewFlagSet(name, pflag.ContinueOnError)
	var base matrix.Target
	var policy verdict.Policy
	flags.StringVar(&base.Driver, "driver", "", "")
	flags.StringSliceVar(&base.GPUs, "gpu", nil, "")
	flags.StringVar(&base.Python, "python", "", "")
	flags.StringSliceVar(&policy.Require, "require", nil, "")
	instances := flags.StringSlice("instance", nil, "")
	ignored := flags.StringSlice("ignore", nil, "")
	flags.StringVar(&policy.Today, "today", "", "")
	if err := flags.Parse(strings.Fields(string(data))); err != nil {
		t.Fatal(err)
	}
	for _, rule := range *ignored {
		policy.Waivers = append(policy.Waivers, verdict.Waiver{Rule: rule, Reason: "the image is replaced this week",
			Until: "2026-12-01"})
	}
	targets := []matrix.Target{base}
	if len(*instances) > 0 {
		targets = nil
	}
	for _, instance := range *instances {
		target := base
		target.Instance = instance
		targets = append(targets, target)
	}
	return targets, policy
}

// Show returns a report in one of the formats of a list.
func Show(t testing.TB, list []report.Format[report.Report], r report.Report, format string, style layout.Style) string {
	t.Helper()
	i := slices.IndexFunc(list, func(f report.Format[report.Report]) bool { return f.Name == format })
	if i < 0 {
		t.Fatalf("there is no format %q", format)
	}
	var b bytes.Buffer
	if err := list[i].Write(&b, r, style); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Fill returns a report with every string set to s but those that only this program writes.
func Fill(s string, outcome verdict.Outcome) report.Report {
	var r report.Report
	FillValue(reflect.ValueOf(&r).Elem(), func() string { return s })
	r.Schema, r.Outcome, r.Facts.Schema = report.Schema, outcome, facts.Schema
	for i, severity := range []verdict.Severity{verdict.Error, verdict.Warning, verdict.Note} {
		r.Findings = append(r.Findings[:i:i], r.Findings[0])
		r.Findings[i].Severity = severity
	}
	r.Answers[0].Answer = verdict.Unknown
	r.Facts.Probes[0].Status = "failed"
	return r
}

// FillValue sets every string of a value to the next text and every bool to true, and gives every list and map one
// element.
func FillValue(v reflect.Value, next func() string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(next())
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		FillValue(v.Elem(), next)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		FillValue(v.Index(0), next)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		FillValue(key, next)
		FillValue(value, next)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() { // no view shows others
				FillValue(v.Field(i), next)
			}
		}
	case reflect.Bool:
		v.SetBool(true)
	}
}

// WantVisible finds what does not show, or is no UTF-8.
func WantVisible(t *testing.T, text string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("not UTF-8: %.200q; layout.Clean makes text of a machine safe to print", text)
	}
	if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsGraphic(r) }); i >= 0 {
		t.Errorf("a character that does not show: %q; layout.Clean makes text of a machine safe to print",
			text[max(0, i-20):min(len(text), i+20)])
	}
}

// CompileSchema compiles the schema in a file.
func CompileSchema(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	s, err := c.Compile(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Validate checks a document against a schema.
func Validate(t *testing.T, s *jsonschema.Schema, document string) {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(value); err != nil {
		t.Error(err)
	}
}
