package dockerfile

import (
	"strings"
	"testing"

	"cudacompat/internal/version"
	"cudacompat/probe/internal/input/document"
)

// TestTrimmed: what the shell cuts off.
func TestTrimmed(t *testing.T) {
	for _, c := range [][4]string{
		{"12.6.3", "%", ".*", "12.6"}, {"12.6.3", "%%", ".*", "12"}, {"12.6.3", "#", "*.", "6.3"},
		{"12.6.3", "##", "*.", "3"}, {"12", "%", ".*", "12"}, {"12", "#", "[", "12"},
	} {
		if got := trimPattern(c[0], c[1], c[2]); got != c[3] {
			t.Errorf("${%s%s%s}: %q, want %q", c[0], c[1], c[2], got, c[3])
		}
	}
}

// TestValuesDoNotGrow: a variable that doubles line by line has no value, and takes neither time nor memory.
func TestValuesDoNotGrow(t *testing.T) {
	text := "FROM python:3.12\nENV A=12345678\n" + strings.Repeat("ENV A=$A$A\n", 60)
	f, err := Read(document.Document{Data: []byte(text + "RUN pip install torch==$A\n")})
	if err != nil || len(f.Unread) != 1 || !strings.HasPrefix(f.Unread[0].Place, "line 63: pip install torch==$A") {
		t.Errorf("%+v, %v", f.Unread, err)
	}
	long := func(string) value { return valueOf(strings.Repeat("a", maxValue)) }
	if n := len((&dockerWords{escape: '\\', of: long}).word(strings.Repeat("$A ", 1<<20))); n > 8<<20 {
		t.Errorf("expanded to %d bytes", n)
	}
	d := newDockerfile(document.Document{})
	d.local, d.values["A"] = map[string]value{}, long("")
	d.stages = []stage{{}}
	d.shell("pip install "+strings.Repeat("$A", 10_000), 1, version.Met, 0)
	if d.added > maxExpanded+maxValue*20_000 {
		t.Errorf("expanded to %d bytes", d.added)
	}
}
