package fatbin

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
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

// maxGap limits the search for the next container. 15108 containers in 80 real sections had no gap at all: each starts,
// at a multiple of 8, where the previous one ends.
const maxGap = 1 << 20

var (
	errNoFatbin = errors.New("no fat binary")
	magicBytes  = le.AppendUint32(nil, magic)
)

// walker goes from container to container, and then through what is in them.
type walker struct {
	window
	containers []extent
}

// extent is where the entries of one container are.
type extent struct {
	in       section
	off, end int64
	head     []byte // of the first entry, where it came along with the container's
}

// row lists the containers of a fat-binary section.
func (w *walker) row(s section) error {
	for off := s.off; s.end-off >= containerHeaderSize; {
		at, err := w.find(off, s.end)
		if err == nil {
			off, err = w.container(at, s)
		}
		if err != nil {
			return fmt.Errorf("section %q: %w", s.name, err)
		}
	}
	return s.whole(w.size)
}

// whole returns an error where the file ends before the section does.
func (s section) whole(size int64) error {
	if s.wouldBeCut {
		return fmt.Errorf("section %q: it runs past the end of the file at %#x", s.name, size)
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

// container notes the container at off and gives the offset after it.
func (w *walker) container(off int64, s section) (int64, error) {
	if s.end-off < containerHeaderSize {
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
	if len(w.containers) == maxContainers {
		return 0, errCrowded
	}
	size := le.Uint64(b[8:])
	first := off + containerHeaderSize
	length := min(size, uint64(s.end-first))
	w.containers = append(w.containers, extent{s, first, first + int64(length), w.along(first)})
	if size > length {
		return 0, fmt.Errorf("fat binary at %#x of %d bytes ends outside its section", off, size)
	}
	return first + int64(length), w.spent.header()
}

// readers is how many containers are listed at a time, because reading a header from disk takes long if the file is not
// in the page cache.
const readers = 16

// listing is a container and the entries of it that are code.
type listing struct {
	extent
	entries []entry
	linked  bool // it holds code to be linked when the program runs, which is compiled for the GPU that is there
}

// list reads the entries of all containers. The error is that of the first bad container.
func (w *walker) list() ([]listing, error) {
	found, errs := make([]listing, len(w.containers)), make([]error, len(w.containers))
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(readers, len(w.containers)) {
		group.Go(func() {
			one := window{r: w.r, size: w.size, spent: w.spent}
			for i := next.Add(1) - 1; i < int64(len(found)); i = next.Add(1) - 1 {
				found[i], errs[i] = one.listing(w.containers[i])
			}
		})
	}
	group.Wait()
	return sound(found, errs)
}

// sound drops what only looks like a container: in data sections, one that cannot be read to its end (a program that
// handles fat binaries contains their magic number), and one inside another.
func sound(found []listing, errs []error) (kept []listing, err error) {
	end := int64(0) // what was found among data comes in the order of the file
	for i, l := range found {
		if l.in.role == data {
			if l.off < end || errs[i] != nil && !spentOut(errs[i]) {
				continue
			}
			end = l.end
		}
		kept, err = append(kept, l), cmp.Or(err, errs[i])
	}
	return kept, err
}

// listing lists the entries of a container that are code.
func (w *window) listing(of extent) (listing, error) {
	l := listing{extent: of}
	w.filled, w.start = of.head, of.off
	for off := of.off; off < of.end; {
		b, next, err := w.entry(off, of.end)
		if err != nil {
			return l, fmt.Errorf("section %q: %w", of.in.name, err)
		}
		e, isCode, err := parseEntry(b)
		if err != nil {
			return l, fmt.Errorf("section %q: fat-binary entry at %#x: %w", of.in.name, off, err)
		}
		l.linked = l.linked || le.Uint16(b) == kindLTO
		if isCode {
			if e.hidesSuffix() && of.in.role == data {
				e.suffix, err = w.suffixInside(b, off, next)
			}
			l.entries = append(l.entries, e)
		}
		if err != nil {
			return l, err
		}
		off = next
	}
	return l, nil
}

// entry reads the header of the entry at off and gives the offset after its payload.
func (w *window) entry(off, end int64) ([]byte, int64, error) {
	if end-off < entryHeaderSize {
		return nil, 0, fmt.Errorf("fat-binary entry at %#x is cut short", off)
	}
	b, err := w.at(off, entryHeaderSize)
	if err != nil {
		return nil, 0, err
	}
	head, payload := uint64(le.Uint32(b[4:])), le.Uint64(b[8:])
	room := uint64(end - off)
	if head < entryHeaderSize || head > room || payload > room-head {
		return nil, 0, fmt.Errorf("fat-binary entry at %#x has a header of %d and a payload of %d bytes, in the %d left",
			off, head, payload, room)
	}
	return b, off + int64(head+payload), w.spent.header()
}
