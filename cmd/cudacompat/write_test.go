package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cudacompat/internal/deadline"
	"cudacompat/internal/report"
	"cudacompat/internal/report/layout"
)

// verbose is a value with this many lines.
type verbose struct {
	Lines []string `json:"lines"`
	left  map[string]int
}

func (v *verbose) Leave(left map[string]int) { v.left = left }

// slowly is a format that takes a millisecond for each line and writes at the end.
func slowly(w io.Writer, v verbose, _ layout.Style) error {
	time.Sleep(time.Duration(len(v.Lines)) * time.Millisecond)
	_, err := fmt.Fprintf(w, "%d lines, left out %v", len(v.Lines), v.left)
	return err
}

// TestWritesInTime checks that a format that is not done in time is replaced by the beginning of its output, which says
// what is left out, on the screen and in a file. A format that is done in time writes everything.
func TestWritesInTime(t *testing.T) {
	for n, want := range map[int]string{900: "900 lines, left out map[]", 5000: "100 lines, left out map[lines:4900]"} {
		synctest.Test(t, func(t *testing.T) {
			var out, errs strings.Builder
			file := filepath.Join(t.TempDir(), "file")
			o := outputs[verbose]{out: &out, err: &errs, list: []output[verbose]{
				{Format: report.Format[verbose]{Name: "slow", Write: slowly}},
				{Format: report.Format[verbose]{Name: "slow", Write: slowly}, file: file}}}
			ctx, cancel := deadline.Set(t.Context(), 2*time.Second)
			defer cancel()
			started := time.Now()
			if err := o.write(ctx, verbose{Lines: make([]string, n)}); err != nil {
				t.Fatal(err)
			}
			kept, err := os.ReadFile(file)
			if took := time.Since(started); err != nil || out.String() != want || string(kept) != want || took > 2200*time.Millisecond {
				t.Errorf("%d lines: %q and %q after %s (%v)", n, out.String(), kept, took, err)
			}
			if said := strings.Contains(errs.String(), "left out: lines (4900)"); said != (n > 2000) {
				t.Errorf("%d lines: %q", n, errs.String())
			}
			time.Sleep(time.Minute) // what was left behind ends
		})
	}
}

// TestNothingHalfWritten checks that output which would be wrong without its rest is not written.
func TestNothingHalfWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out, errs strings.Builder
		o := outputs[[]string]{out: &out, err: &errs, list: []output[[]string]{{Format: report.Format[[]string]{Name: "slow",
			Write: func(w io.Writer, list []string, _ layout.Style) error {
				return slowly(w, verbose{Lines: list}, layout.Style{})
			}}}}}
		ctx, cancel := deadline.Set(t.Context(), time.Second)
		defer cancel()
		err := o.write(ctx, make([]string, 5000))
		if code := exitError(0); !errors.As(err, &code) || code != exitInconclusive || out.String() != "" ||
			!strings.Contains(errs.String(), "the time was up before it was written") {
			t.Errorf("%v, %q, %q", err, out.String(), errs.String())
		}
		time.Sleep(time.Minute)
	})
}

// TestSlowReader checks that output that has begun at the deadline is written to its end, however slowly it is read.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var read strings.Builder
		write := func(w io.Writer, v verbose, _ layout.Style) error {
			for _, line := range v.Lines {
				if _, err := io.WriteString(w, line); err != nil {
					return err
				}
			}
			return nil
		}
		o := outputs[verbose]{out: slow{&read}, err: io.Discard,
			list: []output[verbose]{{Format: report.Format[verbose]{Name: "text", Write: write}}}}
		ctx, cancel := deadline.Set(t.Context(), time.Second)
		defer cancel()
		if err := o.write(ctx, verbose{Lines: strings.Split(strings.Repeat("x ", 200), " ")}); err != nil || read.Len() != 200 {
			t.Errorf("%d of 200 bytes, %v", read.Len(), err)
		}
	})
}

// slow takes 100 ms for each write.
type slow struct{ to io.Writer }

func (s slow) Write(p []byte) (int, error) {
	time.Sleep(100 * time.Millisecond)
	return s.to.Write(p)
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
	facts, err := givenFacts(file, "", "", nil)
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
	r := j.reportOf(t.Context(), facts)
	over, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Hour))
	defer cancel()
	one := j.outputs.list[0]
	one.Write = func(w io.Writer, r report.Report, s layout.Style) error {
		if len(r.Facts.Environments) > 100 { // never done in time
			time.Sleep(time.Second)
		}
		return report.JSON(w, r, s)
	}
	j.outputs.list[0] = one
	if err := j.outputs.write(over, r); err != nil {
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
