package logs

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"unicode"
	"unicode/utf16"

	"cudacompat/internal/logs/logtext"

	"github.com/google/go-cmp/cmp"
)

const failure = "RuntimeError: CUDA error: device-side assert triggered"

func zipped(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func wideText(text string) []byte {
	b := []byte{0xff, 0xfe}
	for _, unit := range utf16.Encode([]rune(text)) {
		b = append(b, byte(unit), byte(unit>>8))
	}
	return b
}

// TestForms checks that an error is found, on its line, in every encoding of a log.
func TestForms(t *testing.T) {
	long := strings.Repeat("x", 3*logtext.ChunkSize)
	for name, c := range map[string]struct {
		log  []byte
		line int
	}{
		"plain":                {[]byte("a\nb\n" + failure + "\n"), 3},
		"no_last_line_break":   {[]byte("a\n" + failure), 2},
		"windows":              {[]byte("a\r\nb\r\n" + failure + "\r\n"), 3},
		"gzip":                 {zipped(t, "a\n"+failure+"\n"), 2},
		"utf16":                {wideText("a\nü 😀\n" + failure + "\n"), 3},
		"utf16_of_many_chunks": {wideText(strings.Repeat("an ordinary line\n", 100_000) + failure + "\n"), 100_001},
		"progress_bar":         {[]byte("a\n 1%\r 2%\r" + failure + "\r 3%\n"), 2},
		"colours": {[]byte("\x1b[31mRuntimeError\x1b[0m: \x1b[1mCUDA error: device-side assert " +
			"triggered\x1b[0m\n"), 1},
		"coloured_words": {[]byte("a\n\x1b[KRuntimeError: CUDA error: device-si\x1b[1;31mde assert\x1b[0m " +
			"triggered\n"), 2},
		"colours_only":      {[]byte(strings.Repeat("\x1b[0m", logtext.ChunkSize) + "\n" + failure + "\n"), 2},
		"code":              {[]byte("a\n`" + failure + "`\n"), 2},
		"in_a_long_line":    {[]byte("a\n" + long + " " + failure + " " + long), 2},
		"after_a_long_line": {[]byte(long + "\n" + failure + "\n"), 2},
		"across_a_chunk":    {[]byte(strings.Repeat("y", logtext.ChunkSize-len(failure)/2) + failure + long), 1},
		"after_many_lines":  {[]byte(strings.Repeat("an ordinary line\n", 100_000) + failure + "\n"), 100_001},
		"json":              {[]byte(`{"log":"` + failure + `\n","stream":"stderr"}`), 1},
		"json_cut": {[]byte(`{"log":"a\n","time":"t"}` + "\n" +
			`{"log":"RuntimeError: CUDA error: device-si","time":"t"}` + "\n" + `{"log":"de assert triggered\n","time":"t"}` +
			"\n"), 2},
		"json_zipped":          {zipped(t, `{"log":"`+failure+`\n","stream":"stderr"}`+"\n"), 1},
		"json_then_none":       {[]byte(`{"log":"a\n"}` + "\nb\n{\n" + failure + "\n"), 4},
		"json_of_a_long_line":  {[]byte(`{"log":"` + long + `"}` + "\n" + `{"log":"` + failure + `"}` + "\n"), 2},
		"prefixed_by_a_runner": {[]byte("(RayTrainWorker pid=12, ip=10.0.0.1) " + failure), 1},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := Read(context.Background(), table(t), []Source{{Reader: bytes.NewReader(c.log)}})
			if err != nil || d.Cause != "device-side-assert" || d.Lines[0].Number != c.line ||
				!strings.Contains(d.Lines[0].Text, "device-side assert triggered") {
				t.Errorf("%s, %v (%v); want device-side-assert on line %d", d.Cause, d.Lines, err, c.line)
			}
			if len(d.Lines) > 0 && len(d.Lines[0].Text) > logtext.MaxShown+2*len("…") {
				t.Errorf("a line of %d bytes is shown", len(d.Lines[0].Text))
			}
		})
	}
}

// TestNothing checks that nobody is blamed for a text that is no log of an error.
func TestNothing(t *testing.T) {
	junk := make([]byte, 1<<20)
	r := rand.NewChaCha8([32]byte{7})
	if _, err := r.Read(junk); err != nil {
		t.Fatal(err)
	}
	for name, log := range map[string][]byte{"empty": nil, "junk": junk, "one_byte": {0},
		"long_line": bytes.Repeat([]byte{'z'}, 10<<20),
		"odd_utf16": {0xff, 0xfe, 'a'}, "text": []byte("hello\n")} {
		t.Run(name, func(t *testing.T) {
			d, err := Read(context.Background(), table(t), []Source{{Reader: bytes.NewReader(log)}})
			if err != nil || d.Cause != NothingFound || d.Blame != Unknown || d.Lines == nil || len(d.Do) == 0 {
				t.Errorf("%+v (%v)", d, err)
			}
		})
	}
	if d, err := Read(context.Background(), table(t), nil); err != nil || d.Cause != NothingFound {
		t.Errorf("no source: %+v (%v)", d, err)
	}
}

// TestBrokenSources checks that what was read before a source failed still counts.
func TestBrokenSources(t *testing.T) {
	whole := zipped(t, failure+"\n"+strings.Repeat("tail ", 1000))
	broken := errors.New("disk gone")
	for name, c := range map[string]struct {
		reader io.Reader
		fails  bool
	}{
		"gzip_cut_off":     {bytes.NewReader(whole[:len(whole)-9]), false},
		"gzip_header_only": {bytes.NewReader([]byte{0x1f, 0x8b}), true},
		"read_error":       {io.MultiReader(strings.NewReader(failure+"\n"), iotest.ErrReader(broken)), true},
		"byte_by_byte":     {iotest.OneByteReader(strings.NewReader(failure)), false},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := Read(context.Background(), table(t), []Source{{Name: "rank0.log", Reader: c.reader}})
			if (err != nil) != c.fails || err != nil && !strings.Contains(err.Error(), `read log "rank0.log"`) {
				t.Errorf("error %v, want one: %t", err, c.fails)
			}
			if name != "gzip_header_only" && d.Cause != "device-side-assert" {
				t.Errorf("%s", d.Cause)
			}
		})
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Read(ctx, table(t), []Source{{Reader: strings.NewReader(failure)}}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestNoControlBytes checks that no text of a log reaches a terminal as a control sequence.
func TestNoControlBytes(t *testing.T) {
	log := "\x1b]0;title\x07\x1b[2J\u202e\x00" + failure + "\u009b31m\x7f \xff\xfe\x1b(B"
	d, err := Read(context.Background(), table(t),
		[]Source{{Name: "a\x1b[2Jb", Reader: strings.NewReader(log)}, {Name: "c", Reader: strings.NewReader("")}})
	if err != nil || d.Cause != "device-side-assert" {
		t.Fatalf("%+v (%v)", d, err)
	}
	for _, s := range append(d.Do, d.Because, d.Lines[0].Text, d.Lines[0].File) {
		if strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }) {
			t.Errorf("%q", s)
		}
	}
}

// TestContract checks the form of the JSON: every key is present and no array is null.
func TestContract(t *testing.T) {
	got, err := json.Marshal(explain(t, "IndexError: Target 3 is out of bounds."))
	if err != nil {
		t.Fatal(err)
	}
	var d map[string]any
	if err := json.Unmarshal(got, &d); err != nil {
		t.Fatal(err)
	}
	delete(d, "because")
	delete(d, "why")
	delete(d, "do")
	delete(d, "steps")
	delete(d, "decided")
	want := map[string]any{"schema": "cudacompat/diagnosis/v1", "blame": "program", "cause": "label-out-of-range",
		"confidence": "certain",
		"rule":       "",
		"candidates": []any{}, "unread": []any{},
		"lines": []any{map[string]any{"number": 1.0, "text": "IndexError: Target 3 is out of bounds."}}}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Error(diff)
	}
}

// endless is a reader of n bytes that are never all in memory.
type endless struct{ n int }

func (e *endless) Read(p []byte) (int, error) {
	if e.n <= 0 {
		return 0, io.EOF
	}
	for i := range p {
		p[i] = "loss 1.0234 lr 3.0e-04 step 77\n"[i%31]
	}
	e.n -= len(p)
	return len(p), nil
}

// TestFlatMemory checks that a long log takes no more memory than a short one.
func TestFlatMemory(t *testing.T) {
	allocated := func(size int) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := Read(context.Background(), table(t), []Source{{Reader: &endless{size}}}); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	short, long := allocated(1<<10), allocated(64<<20)
	if long > short+1<<20 {
		t.Errorf("1 KiB takes %d bytes, 64 MiB takes %d", short, long)
	}
}

// FuzzRead checks for any input that Read does not panic, that what it quotes is on a line of the log, and that its
// verdict is well formed.
func FuzzRead(f *testing.F) {
	for i, s := range table(f) {
		if wholeGrid || i%8 == 0 { // TestPositives reads every one
			f.Add([]byte(s.Positive))
		}
	}
	f.Add(wideText(failure))
	f.Add(zipped(f, failure))
	f.Add([]byte("\x1b[31m" + failure + "\r\n\x00\xff"))
	f.Fuzz(func(t *testing.T, log []byte) {
		d, err := Read(context.Background(), table(t), []Source{{Name: "fuzz", Reader: bytes.NewReader(log)}})
		if err != nil && !bytes.HasPrefix(log, []byte{0x1f, 0x8b}) {
			t.Fatal(err)
		}
		if d.Cause == "" || d.Lines == nil || d.Do == nil || d.Because == "" ||
			len(d.Lines) == 0 && d.Cause != NothingFound {
			t.Fatalf("%+v", d)
		}
		for _, l := range d.Lines {
			if l.Number < 1 || !bytes.HasPrefix(log, []byte{0x1f, 0x8b}) && l.Number > bytes.Count(log, []byte{'\n'})+1 {
				t.Fatalf("line %d of %q", l.Number, log)
			}
		}
	})
}

// TestRejoined checks that a line broken by PowerShell at the window's width is whole again and keeps its number.
func TestRejoined(t *testing.T) {
	const broken = "python : Traceback (most \r\nrecent call last):\r\nAt line:1 char:1\r\n    + CategoryInfo   \r\n" +
		"  File \"C:\\Users\\x\\Downloa\r\nds\\a.py\", line 67, in <mod\r\nule>\r\n    main()\r\n" +
		"RuntimeError: CUDA error: \r\ndevice-side assert trigger\r\ned\r\nabcdefghijklmnopqrstuvwxyz\r\n" +
		"abcdefghijklmnopqrstuvwxyz\r\n\r\nend\r\n"
	for name, log := range map[string][]byte{"plain": []byte(broken), "wide": wideText(broken)} {
		d, err := Read(context.Background(), table(t), []Source{{Reader: bytes.NewReader(log)}})
		if err != nil || d.Cause != "device-side-assert" || d.Lines[0].Number != 9 ||
			d.Lines[0].Text != "RuntimeError: CUDA error: device-side assert triggered" {
			t.Errorf("%s: %s, %+v, %v", name, d.Cause, d.Lines, err)
		}
	}
}
