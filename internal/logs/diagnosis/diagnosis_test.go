package diagnosis

import (
	"strings"
	"testing"
	"testing/fstest"

	"cudacompat/data"
)

// TestBook checks that the stanzas have no errors.
func TestBook(t *testing.T) {
	book, err := Read(data.Diagnoses)
	if err != nil {
		t.Fatal(err)
	}
	if err := book.Check(); err != nil {
		t.Error(err)
	}
	if len(book.Answers) < 100 || len(book.Refusals) < 90 || len(book.May) < 60 {
		t.Errorf("%d answers, %d refusals, %d causes with candidates", len(book.Answers), len(book.Refusals), len(book.May))
	}
}

// TestRead checks how a stanza is parsed.
func TestRead(t *testing.T) {
	read := func(text string) (*Book, error) {
		return Read(fstest.MapFS{"diagnosis/a.txt": {Data: []byte(text)}})
	}
	book, err := read("cause: c\nblame: program\nrule: r\nmay: d hardware dmesg | grep x\nanswer: a fault\nrule: none\ndo: run it\nfor: program vllm\n" +
		"refuse: 010 anyone ^ValueError$\nsaid: x: y\n")
	if err != nil {
		t.Fatal(err)
	}
	a := book.Answers["a"]
	if a.Cause != "c" || a.Blame != "program" || a.Rule != "" || a.Weight != "fault" || a.Do[0] != "run it\tfor program vllm" {
		t.Errorf("%+v", a)
	}
	if m := book.May["c"]; len(m) != 1 || m[0] != (May{"d", "hardware", "dmesg | grep x"}) {
		t.Errorf("%+v", m)
	}
	if r := book.Refusals; len(r) != 1 || r[0] != (Refusal{10, "anyone", "^ValueError$", "x: y", "a"}) {
		t.Errorf("%+v", r)
	}
	for _, wrong := range []string{"blame: program\n", "cause: c\nflurb: x\n", "cause: c\nfor: program x\n", "cause: c\n\ncause: c\n", "cause: c\nmay: d\n",
		"cause: c\nanswer: a fault\nanswer: a fault\n", "cause: c\nsaid: x\n"} {
		if _, err := read(wrong); err == nil || !strings.Contains(err.Error(), "diagnosis/a.txt:") {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}
