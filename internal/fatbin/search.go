package fatbin

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
)

const (
	// searchSize is what one read of a search fetches: large enough that reads cost little, small enough for the
	// processor's cache.
	searchSize = 64 << 10

	// maxSearch limits the bytes searched in one file. The most seen are 94 MB, in TensorFlow 2.21's library.
	maxSearch = 1 << 30

	// begin is what every container begins with, as one word: magic, version, size of the header. Compilers align it to
	// 8 bytes; what programs embed as text starts anywhere, as 18 of the 21 in libcudf 26.10's .rodata.
	begin = magic | containerVersion<<32 | containerHeaderSize<<48
)

// afterFirst is begin without its first byte, "P", which is frequent in text. Searching for rarer bytes is faster.
var afterFirst = le.AppendUint64(nil, begin)[1:]

var errTooMuchData = fmt.Errorf("it has more than %d bytes of data to search for fat binaries", maxSearch)

// sought is a file that is only partly available. The missing parts contain no container and read as zeros.
type sought interface{ Sought() io.ReaderAt }

// search adds the containers in sections of data.
func (w *walker) search(sections []section) error {
	slices.SortFunc(sections, func(a, b section) int { return cmp.Compare(a.off, b.off) })
	r, buffer, searched := w.r, make([]byte, searchSize), int64(0)
	if s, ok := r.(sought); ok {
		r = s.Sought()
	}
	for _, s := range sections {
		if searched += s.end - s.off; searched > maxSearch {
			return fmt.Errorf("section %q: %w", s.name, errTooMuchData)
		}
		if err := w.searchSection(s, r, buffer); err != nil {
			return fmt.Errorf("section %q: %w", s.name, err)
		}
	}
	return nil
}

// searchSection records possible containers: the places with a container's first word. Blocks overlap by less than a
// word.
func (w *walker) searchSection(s section, r io.ReaderAt, buffer []byte) error {
	for at := s.off; at < s.end; at += searchSize - int64(len(afterFirst)) {
		b := buffer[:min(searchSize, s.end-at)]
		if n, err := r.ReadAt(b, at); n < len(b) {
			return fmt.Errorf("read at %#x: %w", at, cutShort(err))
		}
		if err := w.searchBlock(s, at, b); err != nil {
			return err
		}
	}
	return s.whole(w.size)
}

// searchBlock notes what may be a container in the bytes at an offset.
func (w *walker) searchBlock(s section, at int64, b []byte) error {
	for from := 0; ; {
		i := bytes.Index(b[from:], afterFirst)
		if i < 0 {
			return nil
		}
		if from += i; from > 0 && b[from-1] == begin&0xff {
			if err := w.candidate(s, at+int64(from-1)); err != nil {
				return err
			}
		}
		from += len(afterFirst)
	}
}

// cutShort returns the error of a read that gave too little.
func cutShort(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// candidate notes the container that may begin at off, if its size is possible.
func (w *walker) candidate(s section, off int64) error {
	first := off + containerHeaderSize
	if first > s.end {
		return nil
	}
	if len(w.containers) == maxContainers {
		return errCrowded
	}
	b, err := w.at(off, containerHeaderSize)
	if err != nil {
		return err
	}
	if size := le.Uint64(b[8:]); size <= uint64(s.end-first) {
		w.containers = append(w.containers, extent{s, first, first + int64(size), w.along(first)})
	}
	return w.spent.header()
}
