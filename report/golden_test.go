package report

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cudacompat/matrix"
	"cudacompat/probe"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

var update = flag.Bool("update", false, "write the expected output anew; read the difference before you commit it")

// views are the ways in which every case is printed, each a golden file.
var views = []struct {
	name, format string
	style        Style
}{
	{"text", "text", Style{}},
	{"all", "text", Style{All: true}},
	{"screen", "text", Style{Width: 80, Colour: true}},
	{"narrow", "text", Style{Width: 40, ASCII: true}},
	{"json", "json", Style{}},
	{"line", "line", Style{}},
	{"junit", "junit", Style{}},
	{"sarif", "sarif", Style{}},
	{"github", "github", Style{}},
	{"nagios", "nagios", Style{}},
	{"prometheus", "prometheus", Style{}},
}

// TestGoldens prints testdata/<case>.facts.json, judged with the flags in <case>.args, in every view, and compares it
// with <case>.<exit code>.<view>.
func TestGoldens(t *testing.T) {
	wanted := map[string]bool{}
	for name, r := range cases(t) {
		for _, view := range views {
			golden := fmt.Sprintf("testdata/%s.%d.%s", name, exitCodes[r.Outcome], view.name)
			wanted[golden] = true
			t.Run(name+"/"+view.name, func(t *testing.T) {
				compare(t, golden, sarifRuleList.ReplaceAllString(show(t, r, view.format, view.style), "$1]"))
			})
		}
	}
	files, _ := filepath.Glob("testdata/*.[0-9].*")
	for _, file := range files {
		if !wanted[file] && *update {
			_ = os.Remove(file)
		} else if !wanted[file] {
			t.Errorf("%s: no case prints this", file)
		}
	}
}

// sarifRuleList is what every SARIF file says of all rules; it would change every golden with every page.
var sarifRuleList = regexp.MustCompile(`(?s)("rules": \[)\n.*?\n {10}\]`)

// exitCodes are those of cmd/cudacompat without --fail-on.
var exitCodes = map[matrix.Outcome]int{matrix.Compatible: 0, matrix.Incompatible: 1, matrix.Inconclusive: 3}

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

// cases judges every testdata/<case>.facts.json.
func cases(t testing.TB) map[string]Report {
	t.Helper()
	files, _ := filepath.Glob("testdata/*.facts.json")
	if len(files) < 15 {
		t.Fatalf("only %d cases", len(files))
	}
	reports := map[string]Report{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".facts.json")
		reports[name] = judge(t, file, "testdata/"+name+".args")
	}
	return reports
}

// judge is what cmd does, with a tool whose version never changes.
func judge(t testing.TB, factsFile, argsFile string) Report {
	t.Helper()
	data, err := os.ReadFile(factsFile)
	if err != nil {
		t.Fatal(err)
	}
	facts, err := probe.Given(data)
	if err != nil {
		t.Fatalf("%s: %v", factsFile, err)
	}
	targets, policy := arguments(t, argsFile)
	return New(Tool{Version: "1.0.0", Matrix: "2026-11-21"}, facts, targets, matrix.Check(matrix.Embedded(), facts, targets, policy))
}

// arguments reads a file of flags; without it the facts are judged as they are.
func arguments(t testing.TB, name string) ([]matrix.Target, matrix.Policy) {
	t.Helper()
	data, _ := os.ReadFile(name)
	flags := pflag.NewFlagSet(name, pflag.ContinueOnError)
	var base matrix.Target
	var policy matrix.Policy
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
		policy.Waivers = append(policy.Waivers, matrix.Waiver{Rule: rule, Reason: "the image is replaced this week", Until: "2026-12-01"})
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

func show(t testing.TB, r Report, format string, style Style) string {
	t.Helper()
	i := slices.IndexFunc(Formats, func(f Format[Report]) bool { return f.Name == format })
	if i < 0 {
		t.Fatalf("there is no format %q", format)
	}
	var b bytes.Buffer
	if err := Formats[i].Write(&b, r, style); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestEveryFormatHasGoldens finds a format that no view prints.
func TestEveryFormatHasGoldens(t *testing.T) {
	for _, f := range Formats {
		shown := false
		for _, view := range views {
			shown = shown || view.format == f.Name
		}
		if !shown {
			t.Errorf("format %q has no goldens: add it to views", f.Name)
		}
	}
}

// TestLines holds every case's line to the limits of those who read it.
func TestLines(t *testing.T) {
	for _, r := range cases(t) {
		oneLine(t, show(t, r, "line", Style{}))
	}
}
