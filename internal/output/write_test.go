package output

import (
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
			o := Set[verbose]{out: &out, err: &errs, list: []output[verbose]{
				{Format: report.Format[verbose]{Name: "slow", Write: slowly}},
				{Format: report.Format[verbose]{Name: "slow", Write: slowly}, file: file}}}
			ctx, cancel := deadline.Set(t.Context(), 2*time.Second)
			defer cancel()
			started := time.Now()
			if err := o.Write(ctx, verbose{Lines: make([]string, n)}); err != nil {
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
		o := Set[[]string]{out: &out, err: &errs, list: []output[[]string]{{Format: report.Format[[]string]{Name: "slow",
			Write: func(w io.Writer, list []string, _ layout.Style) error {
				return slowly(w, verbose{Lines: list}, layout.Style{})
			}}}}}
		ctx, cancel := deadline.Set(t.Context(), time.Second)
		defer cancel()
		err := o.Write(ctx, make([]string, 5000))
		if !errors.Is(err, ErrNothingWritten) || out.String() != "" ||
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
		o := Set[verbose]{out: slow{&read}, err: io.Discard,
			list: []output[verbose]{{Format: report.Format[verbose]{Name: "text", Write: write}}}}
		ctx, cancel := deadline.Set(t.Context(), time.Second)
		defer cancel()
		if err := o.Write(ctx, verbose{Lines: strings.Split(strings.Repeat("x ", 200), " ")}); err != nil || read.Len() != 200 {
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
