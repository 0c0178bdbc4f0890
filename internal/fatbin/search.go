package fatbin

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
)

const (
	// searchSize is what one read of a search fetches: large enough that reads cost little, small enough for the
	// processor's cache.
	searchSize = 256 << 10

	// maxSearch bounds what is searched of one file. TensorFlow 2.21's library has 94 MB that are searched, the most
	// seen.
	maxSearch = 1 << 30

	// alignment of a container: that of its u64 field. TensorFlow's in .rodata have twice that.
	alignment = 8

	// begin is what every container begins with, as one word: magic, version, size of the header.
	begin = magic | containerVersion<<32 | containerHeaderSize<<48
)

var errTooMuchData = fmt.Errorf("it has more than %d bytes of data to search for fat binaries", maxSearch)

// search adds the containers in sections of data.
func (w *walker) search(sections []section) error {
	slices.SortFunc(sections, func(a, b section) int { return cmp.Compare(a.off, b.off) })
	buffer, searched := make([]byte, searchSize), int64(0)
	for _, s := range sections {
		if searched += s.end - s.off; searched > maxSearch {
			return fmt.Errorf("section %q: %w", s.name, errTooMuchData)
		}
		if err := w.searchSection(s, buffer); err != nil {
			return fmt.Errorf("section %q: %w", s.name, err)
		}
	}
	return nil
}

// searchSection notes what may be a container: where the word with which one begins stands.
func (w *walker) searchSection(s section, buffer []byte) error {
	for at := (s.off + alignment - 1) &^ (alignment - 1); at < s.end; at += searchSize {
		b := buffer[:min(searchSize, s.end-at)]
		if n, err := w.r.ReadAt(b, at); n < len(b) {
			return fmt.Errorf("read at %#x: %w", at, cutShort(err))
		}
		for rest := b; len(rest) >= alignment; rest = rest[alignment:] {
			if le.Uint64(rest) != begin {
				continue
			}
			if err := w.candidate(s, at+int64(len(b)-len(rest))); err != nil {
				return err
			}
		}
	}
	return s.whole(w.size)
}

// cutShort is the error of a read that gave too little.
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
	b, err := w.at(off, containerHeaderSize)
	if err != nil {
		return err
	}
	if size := le.Uint64(b[8:]); size <= uint64(s.end-first) {
		w.containers = append(w.containers, extent{s, first, first + int64(size)})
	}
	return w.spent.header()
}
