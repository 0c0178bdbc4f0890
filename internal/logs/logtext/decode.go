// Package logtext reads the text of a log: any encoding that logs come in, cleaned for matching and for display.
//
// [Decode] recognises gzip, UTF-16, Docker's JSON lines and the lines that PowerShell broke. An [Excerpt] keeps the lines
// around marks of trouble, whatever the size of the log. [Clean], [TrimCollectorPrefix] and [TrimLoggerPrefix] strip what
// terminals, log collectors and loggers add to a line. [IsNotice] and [StatesAt] tell a line that reports an error from
// one that only informs or quotes. What a line means is not decided here.
package logtext

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// Decode detects from its first bytes how a log is written: gzip (1f 8b), UTF-16 with its mark, as PowerShell's ">"
// writes it (ff fe), Docker's JSON lines, or plain text.
func Decode(r io.Reader) (io.Reader, error) {
	plain := bufio.NewReaderSize(r, ChunkSize)
	switch magic, _ := plain.Peek(2); {
	case bytes.Equal(magic, []byte{0x1f, 0x8b}):
		unzipped, err := gzip.NewReader(plain)
		if err != nil {
			return nil, err
		}
		return unwrapDockerLines(bufio.NewReaderSize(&boundedReader{unzipped, maxUnpacked}, ChunkSize)), nil
	case bytes.Equal(magic, []byte{0xff, 0xfe}):
		return rejoin(bufio.NewReaderSize(&wide{plain, binary.LittleEndian}, ChunkSize)), nil
	case bytes.Equal(magic, []byte{0xfe, 0xff}):
		return rejoin(bufio.NewReaderSize(&wide{plain, binary.BigEndian}, ChunkSize)), nil
	}
	return unwrapDockerLines(plain), nil
}

// maxUnpacked limits the output of a compressed log. Ten megabytes can unpack to ten gigabytes of zeros.
const maxUnpacked = 2 << 30

var errUnpacked = errors.New("it unpacks to more than 2 GiB; unpack it yourself and give the part around the failure")

// boundedReader reads a compressed log up to a limit.
type boundedReader struct {
	from io.Reader
	left int
}

func (u *boundedReader) Read(p []byte) (int, error) {
	if u.left <= 0 {
		return 0, errUnpacked
	}
	n, err := u.from.Read(p[:min(len(p), u.left)])
	u.left -= n
	return n, err
}

// unwrapDockerLines returns the text of a log in Docker's JSON format. In any other log it only rejoins broken lines.
func unwrapDockerLines(r *bufio.Reader) io.Reader {
	if start, _ := r.Peek(len(boxMark)); bytes.Equal(start, boxMark) {
		return &unboxingReader{from: r}
	}
	return rejoin(r)
}

// wide converts UTF-16 to UTF-8.
type wide struct {
	from  io.Reader
	order binary.ByteOrder
}

// Read decodes half of what fits into p, because two bytes can become three. It needs room for one character, which a
// bufio.Reader always gives: a reader that returns nothing and no error would be called forever. A surrogate pair
// becomes two replacement characters, since no error message needs one.
func (w *wide) Read(p []byte) (int, error) {
	raw := make([]byte, max(2, len(p)/2&^1))
	n, err := io.ReadFull(w.from, raw[:min(len(raw), len(p)/3*2)])
	out := p[:0]
	for i := 0; i+1 < n; i += 2 {
		unit := rune(w.order.Uint16(raw[i:]))
		if utf16.IsSurrogate(unit) {
			unit = utf8.RuneError
		}
		out = utf8.AppendRune(out, unit)
	}
	return len(out), err
}

// ChunkSize is how many bytes of a log are read at once.
const ChunkSize = 256 << 10
