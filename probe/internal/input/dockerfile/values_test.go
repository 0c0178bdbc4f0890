package dockerfile

import (
	"strings"
	"testing"

	"cudacompat/probe/internal/input/dockerfile/shell"
	"cudacompat/probe/internal/input/document"
)

// TestValuesDoNotGrow: a variable that doubles line by line has no value, and takes neither time nor memory.
func TestValuesDoNotGrow(t *testing.T) {
	text := "FROM python:3.12\nENV A=12345678\n" + strings.Repeat("ENV A=$A$A\n", 60)
	f, err := Read(document.Document{Data: []byte(text + "RUN pip install torch==$A\n")})
	if err != nil || len(f.Unread) != 1 || !strings.HasPrefix(f.Unread[0].Place, "line 63: pip install torch==$A") {
		t.Errorf("%+v, %v", f.Unread, err)
	}
	long := func(string) shell.Value { return shell.ValueOf(strings.Repeat("a", shell.MaxValue)) }
	if n := len((&dockerWords{escape: '\\', of: long}).word(strings.Repeat("$A ", 1<<20))); n > 8<<20 {
		t.Errorf("expanded to %d bytes", n)
	}
}
