package matrix

import (
	"strings"
	"testing"
)

func TestConditions(t *testing.T) {
	for _, c := range []struct{ text, err string }{
		{"cudnn>=9,<9.10.1 gpus>=2", ""},
		{"capability>=10.0,<12.0", ""},
		{"", "without a clause"},
		{"cudnn", "is no clause"},
		{"cudnn>=new", "is no clause"},
		{"cuddn>=9", `there is no "cuddn" to compare`},
		{"cudnn>=9 <10", "is no clause"},
	} {
		var got condition
		err := got.UnmarshalText([]byte(c.text))
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%q: the error is %v, want %q", c.text, err, c.err)
		}
	}
}

// FuzzConditions gives the language any text; what is read is written back the same.
func FuzzConditions(f *testing.F) {
	for _, a := range must(Embedded().advisories()) {
		f.Add(a.When.text)
	}
	f.Add("a>=1,,<2")
	f.Fuzz(func(t *testing.T, text string) {
		var c condition
		if err := c.UnmarshalText([]byte(text)); err != nil {
			return
		}
		if back, _ := c.MarshalText(); string(back) != text {
			t.Errorf("%q came back as %q", text, back)
		}
	})
}

// TestAdvisoriesAreSound holds every row: it names a framework or a library, says what to do, and its condition can hold.
func TestAdvisoriesAreSound(t *testing.T) {
	for _, a := range must(Embedded().advisories()) {
		if a.Message == "" || a.Fix == "" || len(a.When.clauses) < 2 {
			t.Errorf("%s lacks a message, a fix or a second clause", a.ID)
		}
	}
}
