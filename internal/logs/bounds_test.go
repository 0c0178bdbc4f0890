package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"cudacompat/internal/logs/logtext"
	"cudacompat/internal/logs/record"
	"cudacompat/internal/logs/scan"
	"cudacompat/internal/logs/signature"
	"cudacompat/internal/redact"
)

// TestNearMissesInOneLine checks that a long line of beginnings of errors takes little time, and that the error after
// it is found.
func TestNearMissesInOneLine(t *testing.T) {
	var long strings.Builder
	for i := range 1 << 20 / 16 {
		// Each piece has other letters, because a repeated piece is skipped.
		fmt.Fprintf(&long, "CUDA error %c%c%c%c ", 'a'+i%26, 'a'+i/26%26, 'a'+i/676%26, 'a'+i/17576%26)
	}
	log := strings.Repeat("CUDA error ", 16<<10/11) + "\n" + long.String() + "\n" + failure + "\n"
	start := time.Now()
	d, err := Read(context.Background(), table(t), []Source{{Name: "log", Reader: strings.NewReader(log)}})
	if err != nil || d.Cause != "device-side-assert" {
		t.Errorf("%s (%v)", d.Cause, err)
	}
	if spent := time.Since(start); spent > 30*time.Second { // it took 20 minutes; half a second is usual
		t.Errorf("it took %s", spent)
	}
	if len(d.Unread) != 1 || !strings.Contains(d.Unread[0], "line 2") {
		t.Errorf("what was not read: %q; want line 2", d.Unread)
	}
}

// TestHostileLogsEnd checks that long, deep or unclosed input ends with an answer: the error after it, or an earlier
// one.
func TestHostileLogsEnd(t *testing.T) {
	chained := "Traceback (most recent call last):\n  File \"/a.py\", line 1, in f\nValueError: a\n\n" +
		"During handling of the above exception, another exception occurred:\n\n"
	for name, log := range map[string]io.Reader{
		"a line of 256 MB":     &repeated{"loss 1.02, error ", 256 << 20},
		"chained tracebacks":   &repeated{chained, 16 << 20},
		"frames without end":   &repeated{"  File \"/a.py\", line 1, in f\n    f(f(f(\n", 16 << 20},
		"a mangled name":       io.MultiReader(strings.NewReader("undefined symbol: _Z"), &repeated{"N3c10I", 1 << 20}),
		"mangled names":        &repeated{"undefined symbol: _ZN9999999999999N3c10ISt6vectorIS_IS_E\n", 4 << 20},
		"quotes on one line":   io.MultiReader(strings.NewReader("error: "), &repeated{"\"'`([{<", 4 << 20}),
		"quotes on many lines": &repeated{"fatal error: \"'`([{ cannot open '\"\n", 4 << 20},
		"escapes":              &repeated{"\x1b[\x1b]error: \x1b", 4 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			log := io.MultiReader(log, strings.NewReader("\n"+failure+"\n"))
			d, err := Read(t.Context(), table(t), []Source{{Name: "log", Reader: log}})
			if err != nil || d.Cause != "device-side-assert" && d.Cause != "extension-mismatch" {
				t.Errorf("%s (%v)", d.Cause, err)
			}
			if spent := time.Since(start); spent > 20*time.Second { // it is two seconds, where the processor is busy
				t.Errorf("it took %s", spent)
			}
		})
	}
}

// repeated is a reader that repeats a text.
type repeated struct {
	text string
	left int
}

func (r *repeated) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) && r.left > 0 {
		n += copy(p[n:], r.text)
		r.left -= len(r.text)
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// TestTimeUp checks that what was read before the timeout is judged, and that the diagnosis says that there was more.
func TestTimeUp(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	late := io.MultiReader(strings.NewReader(failure+"\n"+strings.Repeat("x\n", logtext.ChunkSize)), readerFunc(func([]byte) (int,
		error) {
		cancel(errors.New("the time was up"))
		return 0, context.Cause(ctx)
	}))
	d, err := Read(ctx, table(t), []Source{{Name: "log", Reader: late}})
	if err == nil || d.Cause != "device-side-assert" || len(d.Unread) != 1 || !strings.Contains(d.Unread[0],
		"the time was up") {
		t.Errorf("%s, %q (%v)", d.Cause, d.Unread, err)
	}
}

// TestTimeUpBetweenLogs checks that the remaining logs are counted and not opened, and that the program is not blamed
// before all are read.
func TestTimeUpBetweenLogs(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	sources := []Source{{Name: "first", Reader: strings.NewReader(failure)}, {Name: "last", Reader: readerFunc(func([]byte) (int,
		error) {
		cancel(errors.New("the time was up"))
		return 0, io.EOF
	})}}
	for range 100 {
		sources = append(sources, Source{Name: "later", Reader: readerFunc(func([]byte) (int, error) {
			t.Error("a log is opened after the time was up")
			return 0, io.EOF
		})})
	}
	d, err := Read(ctx, table(t), sources)
	want := "later was not read, nor were 99 others: the time was up"
	if err == nil || d.Blame != Unknown || d.Cause != "device-side-assert" || !slices.Contains(d.Unread, want) {
		t.Errorf("%s, %s, %q (%v)", d.Blame, d.Cause, d.Unread, err)
	}
}

// TestPartOfAHealthyLog checks that nothing is called harmless if a part was not read, because that part may contain an
// error.
func TestPartOfAHealthyLog(t *testing.T) {
	const harmless = "I cuda_gpu_executor.cc:980] returning NUMA node zero\n"
	if d := explain(t, harmless); d.Blame != None || len(d.Lines) != 1 || d.Lines[0].Why == "" {
		t.Errorf("whole: %+v", d)
	}
	cut := io.MultiReader(strings.NewReader(harmless), readerFunc(func([]byte) (int, error) {
		return 0, errors.New(
			"disk gone")
	}))
	if d, err := Read(context.Background(), table(t), []Source{{Name: "log",
		Reader: cut}}); err == nil || d.Blame != Unknown {
		t.Errorf("cut: %s (%v)", d.Blame, err)
	}
}

// TestRedacted checks that credentials are removed from quoted lines, because reports are pasted into public threads.
func TestRedacted(t *testing.T) {
	for text, want := range map[string]string{
		"https://user:SECRETPW@host/x":                       "https://***@host/x",
		"pip install --index-url https://me:a@b@host/simple": "pip install --index-url https://***@host/simple",
		"HF_TOKEN=hf_abcSECRETPW":                            "HF_TOKEN=hf_***",
		"token hf_abcSECRETPW given":                         "token hf_*** given",
		"aws AKIAIOSFODNN7EXAMPLE used":                      "aws AKIA*** used",
		"Authorization: Bearer abc.def-SECRETPW":             "Authorization: Bearer ***",
		`{"api_key": "SECRETPW1"}`:                           `{"api_key": "***"}`,
		"WANDB_API_KEY=SECRETPW":                             "WANDB_API_KEY=***",
		"https://x/y?access_token=SECRETPW&z=1":              "https://x/y?access_token=***&z=1",
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.SECRETPW done": "*** done",
		"Setting `pad_token_id` to `eos_token_id`:151643":    "Setting `pad_token_id` to `eos_token_id`:151643",
		"max_num_batched_tokens: 4096, tokens=81920000":      "max_num_batched_tokens: 4096, tokens=81920000",
		"Unexpected token: '<' in JSON":                      "Unexpected token: '<' in JSON",
		"git+ssh://git@github.com/x":                         "git+ssh://***@github.com/x",
	} {
		if got := redact.Redact(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	d := explain(t, "RuntimeError: CUDA error: no kernel image is available for execution on the device "+
		"https://user:SECRETPW@host/ hf_abcSECRETPW")
	if strings.Contains(d.Lines[0].Text, "SECRETPW") || !strings.Contains(d.Lines[0].Text, "no kernel image") {
		t.Errorf("%q", d.Lines[0].Text)
	}
}

// TestNoPlaceholders checks that the words of no row have an unfilled name, on its page or in a diagnosis.
func TestNoPlaceholders(t *testing.T) {
	for _, s := range table(t) {
		because, do := s.Words()
		d := explain(t, s.Positive)
		for _, text := range append(append(do, d.Do...), because, d.Because) {
			if signature.Placeholder.MatchString(text) {
				t.Errorf("%s: %q", s.ID, text)
			}
		}
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// recordsOf returns the records of a log, without a time limit.
func recordsOf(s *scan.Scanner) []record.Record {
	all, _ := s.ReadRecords(context.Background(), 0, scan.MinRecordTime)
	return all
}

// TestJudgingEndsInTime gives a log of twenty thousand tracebacks no time. It is read, only a part is judged, and the
// diagnosis says so.
func TestJudgingEndsInTime(t *testing.T) {
	log := strings.Repeat("Traceback (most recent call last):\n  File \"/a.py\", line 1, in f\n"+
		"RuntimeError: CUDA error: an illegal memory access was encountered\n", 20_000)
	s := scan.NewScanner(signature.NewFinder(nil, record.TroubleMarks...), nil)
	if err := s.Read(context.Background(), strings.NewReader(log)); err != nil {
		t.Fatal(err)
	}
	whole := len(recordsOf(s))
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("the time was up"))
	part, err := s.ReadRecords(ctx, 0, 0)
	if err == nil || err.Error() != "the time was up" || len(part) >= whole {
		t.Errorf("%d of %d records, %v", len(part), whole, err)
	}
}
