package report_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cudacompat/internal/logs"
	"cudacompat/internal/logs/signature"
	"cudacompat/internal/report"
	"cudacompat/internal/report/diagnosis"
	"cudacompat/internal/report/formats"
	"cudacompat/internal/report/layout"
	"cudacompat/internal/report/reporttest"
	"cudacompat/internal/tables"
	"cudacompat/matrix/verdict"
)

// blameCodes are the exit codes of cmd/cudacompat for a log.
var blameCodes = map[logs.Blame]int{logs.Program: 0, logs.Environment: 1, logs.Hardware: 1, logs.Unknown: 3}

// TestLogGoldens explains testdata/logs/<case>.log as pages and in JSON, and compares the output with <case>.<exit
// code>.<view>.
func TestLogGoldens(t *testing.T) {
	files, _ := filepath.Glob("testdata/logs/*.log")
	if len(files) < 3 {
		t.Fatalf("only %d logs", len(files))
	}
	for _, file := range files {
		e := diagnosis.Explained{Diagnosis: diagnose(t, file)}
		for _, view := range append(slices.Clone(pages), view{name: "json", format: "json"}) {
			golden := fmt.Sprintf("%s.%d.%s", strings.TrimSuffix(file, ".log"), blameCodes[e.Blame], view.name)
			t.Run(filepath.Base(golden), func(t *testing.T) { compare(t, golden, explain(t, e, view.format, view.style)) })
		}
		reporttest.Validate(t, reporttest.CompileSchema(t, diagnosisSchema), explain(t, e, "json", layout.Style{}))
	}
}

func diagnose(t *testing.T, file string) logs.Diagnosis {
	t.Helper()
	signatures := signature.Load(tables.Embedded())
	log, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	d, err := logs.Read(context.Background(), signatures, []logs.Source{{Name: file, Reader: log}})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func explain(t *testing.T, e diagnosis.Explained, format string, style layout.Style) string {
	t.Helper()
	i := slices.IndexFunc(diagnosis.Formats, func(f report.Format[diagnosis.Explained]) bool { return f.Name == format })
	var b bytes.Buffer
	if err := diagnosis.Formats[i].Write(&b, e, style); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestLogWithoutBuild checks that a machine without builds does not exclude a log's error about a build.
func TestLogWithoutBuild(t *testing.T) {
	d := logs.Diagnosis{Rule: "gpu-arch-missing", Blame: logs.Environment}
	r := reporttest.Cases(t, "testdata")["healthy"]
	r.Log, r.Passed, r.Answers = &d, nil, nil
	page := reporttest.Show(t, formats.All, r, "text", layout.Style{})
	if !strings.Contains(page, "nothing that it compares was found here") || strings.Contains(page, "they disagree") {
		t.Errorf("without a build:\n%s", page)
	}
	r.Passed = []verdict.Passed{{Rule: "gpu-arch-missing"}}
	if page := reporttest.Show(t, formats.All, r, "text", layout.Style{}); !strings.Contains(page, "they disagree") {
		t.Errorf("with a build:\n%s", page)
	}
}

// TestLogBesideTheMachine checks that a report with a log matches the schema, and that the page says what both show
// together.
func TestLogBesideTheMachine(t *testing.T) {
	for _, test := range []struct{ name, log, machine, want string }{
		{"program", "label-range", "healthy", "log   your environment is fine; the program is to blame: "},
		{"seen-alone", "no-driver", "healthy", "log   they disagree: the log shows driver-missing"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := diagnose(t, "testdata/logs/"+test.log+".log")
			r := reporttest.Cases(t, "testdata")[test.machine]
			r.Log = &d
			reporttest.Validate(t, reporttest.CompileSchema(t, reportSchema), reporttest.Show(t, formats.All, r, "json", layout.Style{}))
			if page := reporttest.Show(t, formats.All, r, "text", layout.Style{}); !strings.Contains(page, test.want) {
				t.Errorf("the page does not say %q:\n%s", test.want, page)
			}
		})
	}
}

// TestHostileDiagnosis puts hostile text into every string of an explained log.
func TestHostileDiagnosis(t *testing.T) {
	var e diagnosis.Explained
	reporttest.FillValue(reflect.ValueOf(&e).Elem(), func() string { return "\x1b[2J\u009b31m\u202e\xff`%s\n" })
	e.Findings[0].Severity = verdict.Error
	row := signature.Signature{Cause: "\x1b[2J", Because: "\u009b31m", Positive: "\u202e", Source: []string{"\x07"}, Do: []string{"\x1b"}}
	for _, style := range []layout.Style{{}, {All: true}, {Width: 40, ASCII: true}} {
		reporttest.WantVisible(t, explain(t, e, "text", style))
		page := diagnosis.DescribeCause([]signature.Signature{row})
		reporttest.WantVisible(t, string(page))
		reporttest.WantVisible(t, string(layout.RenderMarkdown(page, style)))
	}
	reporttest.WantVisible(t, explain(t, e, "json", layout.Style{}))
}
