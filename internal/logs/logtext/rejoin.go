package logtext

import (
	"bufio"
	"bytes"
	"unicode/utf8"
)

// PowerShell breaks what a program writes to standard error at the width of its window, also where it goes to a file,
// and puts a record of its own around the first line:
//
//	python : Traceback
//	(most recent call
//	last):
//	At line:1 char:1
//	    + CategoryInfo
const (
	brokenMark = "CategoryInfo"
	brokenLook = 64 << 10 // bytes in which the mark and the width are looked for
	brokenMost = 200      // lines that one can be broken into
)

// rejoiningReader reads a log whose lines PowerShell broke. It joins each line and writes empty lines for its other
// parts, so that the line numbers stay the same.
type rejoiningReader struct {
	from  *bufio.Reader
	width int // characters
	ahead []byte
	err   error // of what is ahead
	rest  []byte
}

// rejoin joins the lines of a broken log. It leaves any other unchanged.
func rejoin(r *bufio.Reader) *bufio.Reader {
	start, _ := r.Peek(brokenLook)
	width := brokenAt(start)
	if width == 0 {
		return r
	}
	j := &rejoiningReader{from: r, width: width}
	j.advance()
	return bufio.NewReaderSize(j, ChunkSize)
}

// brokenAt returns the width at which lines were broken: the length that occurs twice as often as any other. It returns
// 0 if nothing was broken.
func brokenAt(start []byte) int {
	if !bytes.Contains(start, []byte(brokenMark)) {
		return 0
	}
	count, width, second := map[int]int{}, 0, 0
	for line := range bytes.Lines(start) {
		if n := utf8.RuneCount(bytes.TrimRight(line, "\r\n")); n >= 15 {
			count[n]++
		}
	}
	for n, times := range count {
		if times > count[width] {
			width = n
		}
	}
	for n, times := range count {
		if n != width {
			second = max(second, times)
		}
	}
	if count[width] < 5 || count[width] < 2*second {
		return 0
	}
	return width
}

// advance reads the next part.
func (j *rejoiningReader) advance() {
	line, err := j.from.ReadBytes('\n')
	j.ahead, j.err = bytes.TrimRight(line, "\r\n"), err
	if len(line) > 0 {
		j.err = nil
	}
}

// Read reads whole lines.
func (j *rejoiningReader) Read(p []byte) (int, error) {
	if len(j.rest) == 0 {
		if j.err != nil {
			return 0, j.err
		}
		j.rest = j.line()
	}
	n := copy(p, j.rest)
	j.rest = j.rest[n:]
	return n, nil
}

// line returns the next line with its parts joined.
func (j *rejoiningReader) line() []byte {
	var line []byte
	for parts := 1; ; parts++ {
		part := j.ahead
		line = append(line, part...)
		if j.advance(); j.err != nil || parts == brokenMost || !j.goesOn(part) {
			return append(line, bytes.Repeat([]byte("\n"), parts)...)
		}
	}
}

// goesOn reports whether a part continues in the next one: it fills the width, or the next word would not have fitted.
func (j *rejoiningReader) goesOn(part []byte) bool {
	n := utf8.RuneCount(part)
	if n == j.width {
		return true
	}
	word, _, _ := bytes.Cut(j.ahead, []byte(" "))
	return bytes.HasSuffix(part, []byte(" ")) && n < j.width && n+utf8.RuneCount(word) > j.width
}
