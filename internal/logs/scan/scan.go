// Package scan reads one log of any size: the lines that signatures match, the records of the lines around marks of
// trouble, and how the log ends.
//
// A [Scanner] reads a log in pieces, in one pass over all signatures, and keeps little of it. [Scanner.ListHits]
// returns the first line of each signature, [Scanner.ReadRecords] what the grammars read. Both say of a line whether
// the program went on after it: whether work follows, whether another run begins, whether an installation succeeded.
// [Scanner.FindClosing] returns the line in which the log itself says that its work is done.
package scan

import (
	"bytes"
	"context"
	"errors"
	"hash/maphash"
	"io"

	"cudacompat/internal/logs/decide"
	"cudacompat/internal/logs/logtext"
	"cudacompat/internal/logs/signature"
)

const (
	overlap    = 4 << 10 // of a line longer than a chunk, what the next chunk sees again
	bytesAfter = 4 << 10 // and after it

	// budget limits how many bytes of one line are matched against patterns without success. The limit takes less than
	// half a second. A line of ten kilobytes made only of beginnings of errors stays below it.
	budget = 1 << 20
)

// Scanner reads one log through the finder.
type Scanner struct {
	finder     *signature.Finder
	signatures []signature.Signature
	found      []*signature.Hit // by signature
	missed     map[miss]struct{}
	blind      map[int]bool // by signature, of those that met a literal
	shape      []byte       // the line that was hashed last
	tried      []int        // by signature: up to where in the region its pattern was shown the text, and did not match

	marks []int           // where in the region marks of trouble end
	Kept  logtext.Excerpt // the lines around them
	last  finish

	done    <-chan struct{} // closed when the time is up
	lines   int             // line breaks before the region under scan
	counted int             // bytes of the region whose line breaks are in lines
	spent   int             // bytes of this line that patterns were shown and did not match
	line    int             // the line that they are of
	Skipped int             // the first line whose budget was spent; 0: none
}

// miss is a signature that does not match lines of a shape: the same line again or, if digits mean nothing to the
// pattern, every line that differs only in digits.
type miss struct {
	signature int
	shape     uint64
}

// maxMissed limits the cached misses. A log repeats a few shapes; a log that does not is read as slowly as without a
// cache.
const maxMissed = 1 << 16

var shapeSeed = maphash.MakeSeed()

// shapeOf returns a hash that is equal for lines that differ only in digits.
func (s *Scanner) shapeOf(line []byte) uint64 {
	s.shape = append(s.shape[:0], line...)
	for i, c := range s.shape {
		if c >= '1' && c <= '9' {
			s.shape[i] = '0'
		}
	}
	return maphash.Bytes(shapeSeed, s.shape)
}

// NewScanner returns a scanner for one log. The finder looks for the literals of the same signatures.
func NewScanner(f *signature.Finder, signatures []signature.Signature) *Scanner {
	return &Scanner{finder: f, signatures: signatures, found: make([]*signature.Hit, len(signatures)), tried: make([]int,
		len(signatures)), missed: map[miss]struct{}{}, blind: map[int]bool{}}
}

// Read scans a log to its end. A log that was cut off, compressed or not, counts as a shorter log.
func (s *Scanner) Read(ctx context.Context, r io.Reader) error {
	r, err := logtext.Decode(r)
	if err != nil {
		return err
	}
	buf := make([]byte, logtext.ChunkSize)
	kept := 0
	s.done = ctx.Done()
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n, err := io.ReadFull(r, buf[kept:])
		text := logtext.StripColours(buf[:kept+n])
		if err != nil {
			s.scan(text)
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				return nil
			}
			return err
		}
		end, rest := regionEnd(text)
		s.scan(text[:end])
		kept = copy(buf, text[rest:])
	}
}

// regionEnd ends a region after its last line break. If a line fills the buffer, it cuts the line and repeats the end
// of it in the next region, so that no match is lost.
func regionEnd(text []byte) (end, rest int) {
	if i := bytes.LastIndexByte(text, '\n'); i >= len(text)/2 {
		return i + 1, i + 1
	}
	return len(text), len(text) - min(overlap, len(text)/2)
}

func (s *Scanner) scan(region []byte) {
	s.counted, s.marks = 0, s.marks[:0]
	first := s.lines + 1
	clear(s.tried)
	s.finder.Find(region, func(end int, signatures []int) { s.hit(region, end, signatures) })
	s.lineAt(region, len(region))
	s.Kept.Keep(region, s.marks, first)
	s.last.keep(region)
}

// piece is the line around a literal, or a part of a long line.
type piece struct {
	raw          []byte
	clean        string // when a pattern was shown it
	to           int    // where in the region what a pattern was shown ends
	exact, shape uint64
}

// hit matches the line around a literal against the signatures with that literal, each at most once for a piece.
func (s *Scanner) hit(region []byte, end int, signatures []int) {
	var p piece
	for _, i := range signatures {
		if i == signature.TroubleMark {
			s.marks = append(s.marks, end)
			continue
		}
		if s.found[i] != nil || end <= s.tried[i] {
			continue
		}
		if p.raw == nil {
			if !s.affords(region, end) {
				continue
			}
			p = s.pieceAround(region, end)
		}
		if m := s.show(i, &p); m != nil {
			s.found[i] = &signature.Hit{Signature: &s.signatures[i], Order: i, Line: s.lineAt(region, end),
				Text: p.clean, Match: m, When: logtext.FindStampBefore(region, end)}
		}
	}
}

// show returns where a signature matches a piece. It skips a piece of a shape that did not match before.
func (s *Scanner) show(signature int, p *piece) []int {
	missed := miss{signature, p.exact}
	if s.ignoresDigits(signature) {
		missed.shape = p.shape
	}
	if _, known := s.missed[missed]; !known {
		if p.clean == "" {
			p.clean = logtext.Clean(p.raw)
		}
		if m := s.signatures[signature].Match(p.clean); m != nil {
			return m
		}
		s.spent += len(p.clean)
		s.remember(missed)
	}
	s.tried[signature] = p.to
	return nil
}

// ignoresDigits reports whether a signature treats all digits in a line alike.
func (s *Scanner) ignoresDigits(signature int) bool {
	blind, known := s.blind[signature]
	if !known {
		blind = s.signatures[signature].IgnoresDigits()
		s.blind[signature] = blind
	}
	return blind
}

// remember caches a miss, and clears the cache if it is full.
func (s *Scanner) remember(m miss) {
	if len(s.missed) >= maxMissed {
		clear(s.missed)
	}
	s.missed[m] = struct{}{}
}

// affords reports whether the line at a position may be matched against further patterns.
func (s *Scanner) affords(region []byte, end int) bool {
	if s.spent == 0 {
		s.line = s.lineAt(region, end)
		return true
	}
	if line := s.lineAt(region, end); line != s.line {
		s.line, s.spent = line, 0
	}
	select {
	case <-s.done:
		return false // read says so
	default:
	}
	if s.spent < budget {
		return true
	}
	if s.Skipped == 0 {
		s.Skipped = s.line
	}
	return false
}

// lineAt advances the line number to a position in the region. An earlier position is in the same line: a literal there
// ends inside another that was found first.
func (s *Scanner) lineAt(region []byte, pos int) int {
	pos = max(pos, s.counted)
	s.lines += bytes.Count(region[s.counted:pos], []byte{'\n'})
	s.counted = pos
	return s.lines + 1
}

// pieceAround returns the line that contains the byte before end, or a part of a long one around it. A progress bar
// writes many lines into one with carriage returns; the part between two of them counts as the line.
func (s *Scanner) pieceAround(region []byte, end int) piece {
	from, to := max(0, end-logtext.BytesBefore), min(len(region), end+bytesAfter)
	if i := bytes.LastIndexAny(region[from:end], "\r\n"); i >= 0 {
		from += i + 1
	}
	p := piece{to: to}
	if i := bytes.IndexAny(region[end:to], "\r\n"); i >= 0 {
		to = end + i
		p.to = to
	} else if to == end+bytesAfter {
		p.to = end + bytesAfter/2 // the line goes on: what begins in the second half may be cut
	}
	p.raw = region[from:to]
	p.exact, p.shape = maphash.Bytes(shapeSeed, p.raw), s.shapeOf(p.raw)
	return p
}

// ListHits returns the first line that each signature matched, with what the rest of the log says of it.
func (s *Scanner) ListHits(source int) []signature.Hit {
	var all []signature.Hit
	lines := s.Kept.Lines()
	wentOn := max(s.last.findWorkAfter(s.lines), lastServed(lines))
	_, ended := s.last.lines(s.lines)
	onGPU := lastOnGPU(lines)
	build := s.build(lines)
	last, _ := findLastRun(lines)
	for _, e := range s.found {
		if e != nil && !isListed(lines, e.Line) {
			e.Source, e.WentOn, e.OnGPU, e.Latest = source, wentOn, onGPU, e.FindLatest(lines)
			e.MoveToLogLine(lines)
			e.Calm = s.Kept.CountCalmAfter(lines, e.Latest)
			e.Earlier = e.Latest < last
			e.Built = build.holds(e.Line) && build.holds(e.Latest)
			e.InJournal, e.From = logtext.Journal.MatchString(e.Text), logtext.FindWriter(e.Text)
			e.Notice = belowHead(lines, logtext.FindLine(lines, e.Line)) || reassures.MatchString(e.Text) ||
				e.Signature.Blame == decide.Program && details.MatchString(e.Text) ||
				passing.MatchString(e.Text) && ended-e.Latest > lastLines
			all = append(all, *e)
		}
	}
	return all
}

// isListed reports whether a line is in a list of packages.
func isListed(lines []logtext.Line, number int) bool {
	i := logtext.FindLine(lines, number)
	return i >= 0 && lines[i].Listed
}
