package triage

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"
)

const (
	chunk   = 256 << 10 // bytes read at once
	overlap = 4 << 10   // of a line longer than a chunk, what the next chunk sees again
	before  = 2 << 10   // of a long line, what a pattern is shown before the literal's end
	after   = 4 << 10   // and after it
)

// event is the first line of a log that a signature matched.
type event struct {
	signature *Signature
	order     int // the signature's place in the table
	source    int
	line      int
	text      string // the cleaned line, or the part of it around the match
	match     []int  // submatches in text
	when      stamp
}

// scanner streams one log past the finder.
type scanner struct {
	finder     *finder
	signatures []Signature
	found      []*event // by signature

	lines   int // line breaks before the region under scan
	counted int // bytes of the region whose line breaks are in lines
}

// read scans a log to its end. A log cut off in the middle, compressed or not, is a shorter log.
func (s *scanner) read(ctx context.Context, r io.Reader) error {
	r, err := decode(r)
	if err != nil {
		return err
	}
	buf := make([]byte, chunk)
	kept := 0
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := io.ReadFull(r, buf[kept:])
		text := uncoloured(buf[:kept+n])
		if err != nil {
			s.scan(text)
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				return nil
			}
			return err
		}
		end, rest := cut(text)
		s.scan(text[:end])
		kept = copy(buf, text[rest:])
	}
}

// cut ends a region after its last line break. A line that fills the buffer is cut anywhere, and
// its end seen twice so that nothing is torn.
func cut(text []byte) (end, rest int) {
	if i := bytes.LastIndexByte(text, '\n'); i >= len(text)/2 {
		return i + 1, i + 1
	}
	return len(text), len(text) - min(overlap, len(text)/2)
}

func (s *scanner) scan(region []byte) {
	s.counted = 0
	s.finder.find(region, func(end int, signatures []int) {
		var text string
		for _, i := range signatures {
			if s.found[i] != nil {
				continue
			}
			if text == "" {
				text = clean(lineAround(region, end))
			}
			if m := s.signatures[i].match(text); m != nil {
				s.found[i] = &event{signature: &s.signatures[i], order: i, line: s.lineAt(region, end),
					text: text, match: m, when: stampBefore(region, end)}
			}
		}
	})
	s.lineAt(region, len(region))
}

// lineAt counts on to a position of the region. One before the last lies in the same line: there a literal ends inside
// another that was found first.
func (s *scanner) lineAt(region []byte, pos int) int {
	pos = max(pos, s.counted)
	s.lines += bytes.Count(region[s.counted:pos], []byte{'\n'})
	s.counted = pos
	return s.lines + 1
}

// lineAround is the line that holds the byte before end, or the part of a long one around it. A
// progress bar writes many lines into one with carriage returns: the piece between two is the line.
func lineAround(region []byte, end int) []byte {
	from := max(0, end-before)
	if i := bytes.LastIndexAny(region[from:end], "\r\n"); i >= 0 {
		from += i + 1
	}
	to := min(len(region), end+after)
	if i := bytes.IndexAny(region[end:to], "\r\n"); i >= 0 {
		to = end + i
	}
	return region[from:to]
}

func (s *scanner) events(source int) []event {
	var all []event
	for _, e := range s.found {
		if e != nil {
			e.source = source
			all = append(all, *e)
		}
	}
	return all
}

// group is the text of a named group of the pattern.
func (e *event) group(name string) string {
	i := e.signature.pattern().SubexpIndex(name)
	if i < 0 || e.match[2*i] < 0 {
		return ""
	}
	return e.text[e.match[2*i]:e.match[2*i+1]]
}

// stamp is a time as a log line says it. Two stamps compare only when they were written alike: a
// kernel's seconds since boot say nothing about a program's clock.
type stamp struct {
	layout int // 0: none
	at     time.Time
}
