package fatbin

import (
	"bytes"
	"errors"
	"fmt"
)

// Container header, little-endian: u32 magic at 0, u16 version at 4, u16 size of this header at 6, u64 size of
// all entries with their payloads at 8.
//
//	50 ed 55 ba 01 00 10 00 a0 5b 26 00 00 00 00 00
const (
	magic               = 0xBA55ED50
	containerVersion    = 1
	containerHeaderSize = 16
)

// Entry header: u16 kind at 0, u32 size of this header at 4 (64 to 192 seen), u64 size of the payload with its
// padding at 8, u16 minor and u16 major version at 24 and 26 (of PTX, or of the cubin format), u32 arch at 28,
// u64 flags at 40. The next entry follows the payload; the container's size ends the last.
const entryHeaderSize = 64 // the fixed part

const (
	// maxGap bounds the search for the next container. In 15108 containers of 80 real sections there was no
	// gap at all: each starts, at a multiple of 8, where the one before it ends.
	maxGap = 1 << 20

	// maxHeaders bounds the containers and entries of one file. libcublasLt.so.12 (12.8.4.1) and .13 have the
	// most seen, about 8800.
	maxHeaders = 1 << 18
)

var (
	errNoFatbin = errors.New("no fat binary")
	errTooMany  = fmt.Errorf("it has more than %d fat-binary headers", maxHeaders)
	magicBytes  = le.AppendUint32(nil, magic)
)

// walker goes from header to header.
type walker struct {
	window
	containers int
	headers    int
	tallies    map[target]*tally
}

// section walks a row of containers.
func (w *walker) section(s section) error {
	for off := s.off; s.end-off >= containerHeaderSize; {
		at, err := w.find(off, s.end)
		if err == nil {
			off, err = w.container(at, s.end)
		}
		if err != nil {
			return fmt.Errorf("section %q: %w", s.name, err)
		}
	}
	if s.cut {
		return fmt.Errorf("section %q: it runs past the end of the file at %#x", s.name, w.size)
	}
	return nil
}

// find gives the offset of the first container at or after off.
func (w *walker) find(off, end int64) (int64, error) {
	b, err := w.at(off, containerHeaderSize)
	if err != nil || bytes.HasPrefix(b, magicBytes) {
		return off, err
	}
	stop := min(end, off+maxGap)
	for at := off; stop-at >= containerHeaderSize; at += int64(len(b) - len(magicBytes) + 1) {
		if b, err = w.at(at, int(min(windowSize, stop-at))); err != nil {
			return 0, err
		}
		if i := bytes.Index(b, magicBytes); i >= 0 {
			return at + int64(i), nil
		}
	}
	return 0, fmt.Errorf("%w in the %d bytes at %#x", errNoFatbin, stop-off, off)
}

// container counts the entries of the container at off and gives the offset after it.
func (w *walker) container(off, end int64) (int64, error) {
	if end-off < containerHeaderSize {
		return 0, fmt.Errorf("fat binary at %#x is cut short", off)
	}
	b, err := w.at(off, containerHeaderSize)
	if err != nil {
		return 0, err
	}
	if v, n := le.Uint16(b[4:]), le.Uint16(b[6:]); v != containerVersion || n != containerHeaderSize {
		return 0, fmt.Errorf("fat binary at %#x has version %d and a header of %d bytes, not %d and %d",
			off, v, n, containerVersion, containerHeaderSize)
	}
	size := le.Uint64(b[8:])
	first := off + containerHeaderSize
	length := min(size, uint64(end-first))
	w.containers++
	if err := w.entries(first, first+int64(length)); err != nil {
		return 0, err
	}
	if size > length {
		return 0, fmt.Errorf("fat binary at %#x of %d bytes ends outside its section", off, size)
	}
	return first + int64(length), w.more()
}

// entries counts the entries from off to the end of their container.
func (w *walker) entries(off, end int64) error {
	for off < end {
		if end-off < entryHeaderSize {
			return fmt.Errorf("fat-binary entry at %#x is cut short", off)
		}
		b, err := w.at(off, entryHeaderSize)
		if err != nil {
			return err
		}
		head, payload := uint64(le.Uint32(b[4:])), le.Uint64(b[8:])
		room := uint64(end - off)
		if head < entryHeaderSize || head > room || payload > room-head {
			return fmt.Errorf("fat-binary entry at %#x has a header of %d and a payload of %d bytes, in the %d left",
				off, head, payload, room)
		}
		if err := w.count(b); err != nil {
			return fmt.Errorf("fat-binary entry at %#x: %w", off, err)
		}
		if err := w.more(); err != nil {
			return err
		}
		off += int64(head + payload)
	}
	return nil
}

// more counts a header and says whether there may be another.
func (w *walker) more() error {
	if w.headers++; w.headers > maxHeaders {
		return errTooMany
	}
	return nil
}
