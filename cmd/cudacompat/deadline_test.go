package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"cudacompat/internal/budget"
	"cudacompat/internal/deadline"
	"cudacompat/internal/inputs"
	"cudacompat/internal/output"
	"cudacompat/internal/report"
	"cudacompat/internal/report/layout"
	"cudacompat/internal/report/needs"
	"cudacompat/probe"
	"cudacompat/probe/facts"
)

// patience is far longer than the deadlines here. Anything that exceeds it hangs.
const patience = time.Minute

// pipe returns the name of a pipe without a writer.
func pipe(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestNothingWaitsForAPipe gives each command a file that never ends.
func TestNothingWaitsForAPipe(t *testing.T) {
	empty := t.TempDir()
	for name, tt := range map[string]struct {
		args []string
		code int
		says string
	}{
		"configuration": {[]string{"doctor", "--root", empty, "--config", pipe(t)}, exitInconclusive,
			"the time was up (--timeout 500ms)"},
		"facts":      {[]string{"check", pipe(t)}, exitInconclusive, "the time was up (--timeout 500ms)"},
		"log":        {[]string{"doctor", "--root", empty, "--log", pipe(t)}, exitInconclusive, ""},
		"tables":     {[]string{"check", "example:broken", "--matrix", pipe(t)}, exitInconclusive, "the time was up (--timeout 500ms)"},
		"signatures": {[]string{"explain", "803", "--matrix", pipe(t)}, exitInconclusive, "the time was up (--timeout 500ms)"},
		"inventory":  {[]string{"fleet", empty, "--inventory", pipe(t)}, exitUsage, "there is no node in it"},
		"healthcheck": {[]string{"doctor", "--root", empty, "--healthcheck", "--config", pipe(t)}, exitOK,
			"it is broken"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each waits for its time to be up
			started := time.Now()
			code, out, errs := says(t, append(tt.args, "--timeout", "500ms")...)
			if took := time.Since(started); code != tt.code || !strings.Contains(out+errs, tt.says) || took > patience {
				t.Errorf("exit code %d after %s:\n%s%s", code, took, out, errs)
			}
		})
	}
}

// TestNothingWaitsForStandardInput gives commands an open standard input without data, or with too little to recognise
// its kind.
func TestNothingWaitsForStandardInput(t *testing.T) {
	for name, tt := range map[string]struct {
		head string
		args []string
		code int
	}{
		"check":           {"", []string{"check", "-"}, exitInconclusive},
		"check, begun":    {"torch==2.9.0\n", []string{"check", "-"}, exitInconclusive},
		"check, many":     {"torch==2.9.0\n", []string{"check", "-", "torch==2.9.0"}, exitInconclusive},
		"check, twice":    {"", []string{"check", "-", "-"}, exitUsage},
		"check, json":     {"", []string{"check", "-", "-o", "json"}, exitInconclusive},
		"requires":        {"", []string{"requires", "-"}, exitInconclusive},
		"requires, begun": {"torch==2.9.0\n", []string{"requires", "-"}, exitInconclusive},
		"explain":         {"", []string{"explain", "-"}, exitInconclusive},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			read, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer read.Close()
			defer write.Close()
			if _, err := write.WriteString(tt.head); err != nil {
				t.Fatal(err)
			}
			var out, errs bytes.Buffer
			began := time.Now()
			code := run(append(tt.args, "--timeout", "500ms"), streams{read, &out, &errs})
			if took := time.Since(began); code != tt.code || took > patience || strings.Contains(out.String(), "compatible:") {
				t.Errorf("exit code %d after %s:\n%s%s", code, took, &out, &errs)
			}
		})
	}
}

// TestDiffOutOfTime checks that a comparison without enough time is unknown in every format, and never "nothing
// changes".
func TestDiffOutOfTime(t *testing.T) {
	file := filepath.Join(t.TempDir(), "requirements.txt")
	if err := os.WriteFile(file, []byte("torch==2.9.0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, format := range needs.DiffFormats {
		kept := filepath.Join(t.TempDir(), "kept")
		code, out, errs := says(t, "requires", file, "--diff", file, "--timeout", "1ns", "-o", "json", "-o", format.Name+"="+kept)
		text, err := os.ReadFile(kept)
		if code != exitInconclusive || err != nil || !strings.Contains(out, `"the time was up`) || len(text) == 0 {
			t.Errorf("%s: exit code %d, %v, %s%s", format.Name, code, err, text, errs)
		}
	}
}

// TestPlanOutOfTime checks that a plan that was not read in time is unknown, and not taken for another kind of file.
func TestPlanOutOfTime(t *testing.T) {
	code, out, errs := says(t, "check", pipe(t), "--env", t.TempDir(), "--timeout", "50ms", "-o", "json")
	if code != exitInconclusive || !strings.Contains(out, "the time was up") {
		t.Errorf("exit code %d, %s", code, errs)
	}
}

// TestErrorsAreHarmless checks that control bytes in arguments do not reach a terminal.
func TestErrorsAreHarmless(t *testing.T) {
	const name = "/nope\x1b[31m\x1b]0;title\x07\u202e"
	for _, args := range [][]string{{"explain", name}, {"doctor", "--root", name}, {"doctor", "--log", name},
		{"doctor", "--env", name}, {"check", name},
		{"doctor", "--gpu", name}, {"matrix", "--matrix", name, "torch"}, {name}, {"doctor", "--config", name},
		{"doctor", "--" + name}, {"pins", "--instance", name}} {
		code, out, errs := says(t, args...)
		if code != exitUsage || strings.ContainsAny(out+errs, "\x1b\x07\u202e") {
			t.Errorf("%q: exit code %d, %q", args, code, errs)
		}
	}
}

// TestHealthWithoutAScreen checks that the exit code stays if nobody reads the line.
func TestHealthWithoutAScreen(t *testing.T) {
	for require, want := range map[string]int{"": exitOK, "driver": exitIncompatible} {
		args := []string{"doctor", "--healthcheck", "--root", t.TempDir()}
		if require != "" {
			args = append(args, "--require", require)
		}
		var errs strings.Builder
		if code := run(args, streams{strings.NewReader(""), full{}, &errs}); code != want {
			t.Errorf("--require %q: exit code %d, want %d: %s", require, code, want, errs.String())
		}
	}
}

// TestFactsThatNeverCome checks that a pipe without a writer does not block a command, also beside a log.
func TestFactsThatNeverCome(t *testing.T) {
	log := filepath.Join(t.TempDir(), "train.log")
	if err := os.WriteFile(log, []byte("RuntimeError: CUDA error: no kernel image is available for execution on the device\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	started := time.Now()
	code, _, errs := says(t, "explain", log, "--facts", pipe(t), "--timeout", "100ms")
	if code != exitInconclusive || !strings.Contains(errs, "the time was up (--timeout 100ms)") || time.Since(started) > patience {
		t.Errorf("exit code %d after %s: %s", code, time.Since(started), errs)
	}
}

// TestWritesPastTheEnd checks that a report is written even if no time is left, and that its facts say that they are
// incomplete.
func TestWritesPastTheEnd(t *testing.T) {
	file := filepath.Join(t.TempDir(), "facts.json")
	body := `{"schema":"cudacompat/facts/v1","driver":{"version":"535.183.01"},"gpus":[{"name":"NVIDIA L4","compute_capability":"8.9"}],"environments":[`
	for i := range 1500 {
		body += fmt.Sprintf(`{"path":"/e%d","active":true,"builds":[{"name":"torch","version":"2.9.0+cu130","cuda":"13.0"}]},`, i)
	}
	if err := os.WriteFile(file, []byte(strings.TrimSuffix(body, ",")+"]}"), 0o644); err != nil {
		t.Fatal(err)
	}
	facts, err := inputs.ReadFacts(file, "", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	var out, errs strings.Builder
	var f judgeFlags
	f.formats, f.failOn, f.colour = []string{"json"}, "error", "never"
	f.given = func(string) bool { return false }
	j, err := f.prepare(t.Context(), streams{out: &out, err: &errs})
	if err != nil {
		t.Fatal(err)
	}
	r, err := j.report(t.Context(), func() (probe.Facts, error) { return facts, nil })
	if err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Hour))
	defer cancel()
	slow := func(w io.Writer, r report.Report, s layout.Style) error {
		if len(r.Facts.Environments) > 100 { // never done in time
			time.Sleep(time.Second)
		}
		return report.JSON(w, r, s)
	}
	if err := output.ParseAndWrite(over, &out, &errs, []report.Format[report.Report]{{Name: "json", Write: slow}}, nil, "never", false, r); err != nil {
		t.Fatal(err)
	}
	var got report.Report
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
		t.Fatal(err)
	}
	if got.Outcome != r.Outcome || len(got.Findings) != 100 || len(got.Facts.Environments) != 100 || got.More["environments"] != 1400 ||
		len(got.Facts.Unread) != 1 || !strings.Contains(got.Facts.Unread[0].Reason, "environments (1400)") {
		t.Errorf("%s, %d findings, %d environments, more %v, unread %v", got.Outcome, len(got.Findings), len(got.Facts.Environments),
			got.More, got.Facts.Unread)
	}
}

// TestNoMemoryIsInconclusive checks that what was not read for lack of memory leaves the outcome open, as for lack of
// time.
func TestNoMemoryIsInconclusive(t *testing.T) {
	ctx, end := context.WithCancelCause(t.Context())
	spent := budget.New(ctx, 0, 0).Keep(1, 1)
	end(spent)
	read, err := inputs.ReadInTime(ctx, []string{pipe(t)}, "", "", strings.NewReader(""))
	if err != nil || len(read) != 1 {
		t.Fatalf("%+v, %v", read, err)
	}
	unread := read[0].Facts.Unread
	if len(unread) != 1 || unread[0].Kind != facts.UnreadCut || unread[0].Reason != spent.Error() {
		t.Errorf("%+v", unread)
	}
	judging, cancel := deadline.StartJudging(ctx)
	defer cancel()
	if judging.Err() != nil {
		t.Error("there is no time to say so")
	}
}
