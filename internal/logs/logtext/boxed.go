package logtext

import (
	"bufio"
	"encoding/json"
	"strings"
)

// boxMark is the start of every line that Docker's json-file driver writes.
var boxMark = []byte(`{"log":"`)

// unboxingReader unwraps such a file. In its boxes quotation marks and brackets are escaped, so that half of all messages would
// not be known:
//
//	{"log":"OSError: [WinError 126] Error loading \"c10.dll\"\n","stream":"stderr","time":"2025-06-02T12:32:53.23Z"}
type unboxingReader struct {
	from   *bufio.Reader
	rest   []byte // of the line that was read last
	midway bool   // it ended without a line break: Docker cuts a line after 16 KiB
}

func (b *unboxingReader) Read(p []byte) (int, error) {
	for len(b.rest) == 0 {
		line, err := b.from.ReadSlice('\n')
		if len(line) == 0 {
			return 0, err
		}
		b.rest = b.unwrap(line)
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// unwrap returns the program's line, preceded by the time at which it was written. A line of another form stays
// unchanged.
func (b *unboxingReader) unwrap(line []byte) []byte {
	var box struct {
		Log  *string `json:"log"`
		Time string  `json:"time"`
	}
	if json.Unmarshal(line, &box) != nil || box.Log == nil {
		return line
	}
	text := *box.Log
	if box.Time != "" && !b.midway {
		text = box.Time + " " + text
	}
	b.midway = !strings.HasSuffix(text, "\n")
	return []byte(text)
}
