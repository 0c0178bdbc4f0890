package ldso

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
)

var (
	errOutside = errors.New("a table lies outside the file")
	errTooLong = errors.New("its tables lead round in circles, or are larger than any known")
)

// maxWork bounds what one question may cost: looks at a file, bytes of names, and bytes read by 64.
const maxWork = 1 << 26

// blockSize is the size of one read: a page, which contains the ELF header with its program headers, a dynamic section,
// or neighbouring strings. Larger reads cost more than they save, since the names of undefined symbols are spread over
// a string table.
const blockSize = 4096

// blocks are lent to the readers of headers: a framework loads dozens of libraries.
var blocks = sync.Pool{New: func() any { return new([blockSize]byte) }}

// reader reads parts of a file and keeps the last block it read.
type reader struct {
	f    io.ReaderAt
	work *work
	end  uint64 // length of the file
	off  uint64 // where buf starts
	buf  []byte
}

// work is what has been spent of maxWork.
type work int

func (w *work) spend(n int) error {
	if *w += work(n); *w > maxWork {
		return errTooLong
	}
	return nil
}

func newReader(f File, w *work) *reader {
	return &reader{f: f, work: w, end: uint64(max(f.Size(), 0))}
}

// at returns n bytes at off; they are valid until the next call. A caller bounds n.
func (r *reader) at(off, n uint64) ([]byte, error) {
	if off > r.end || n > r.end-off {
		return nil, errOutside
	}
	if err := r.work.spend(1); err != nil {
		return nil, err
	}
	if off < r.off || off-r.off > uint64(len(r.buf)) || n > uint64(len(r.buf))-(off-r.off) {
		if err := r.fill(off, min(max(n, blockSize), r.end-off)); err != nil {
			return nil, err
		}
	}
	return r.buf[off-r.off:][:n], nil
}

func (r *reader) fill(off, n uint64) error {
	if uint64(cap(r.buf)) < n {
		r.buf = make([]byte, n)
	}
	if err := r.work.spend(int(n / 64)); err != nil {
		return err
	}
	r.off, r.buf = off, r.buf[:n]
	if got, err := r.f.ReadAt(r.buf, int64(off)); got < len(r.buf) {
		r.buf = r.buf[:0]
		return fmt.Errorf("%d bytes at %#x: %w", n, off, err)
	}
	return nil
}

// text returns the NUL-terminated string at off, which ends before limit and is no longer than longest.
func (r *reader) text(off, limit, longest uint64) (string, error) {
	limit = min(limit, r.end)
	for n := uint64(64); ; n *= 4 {
		if off > limit {
			return "", errOutside
		}
		b, err := r.at(off, min(n, limit-off))
		if err != nil {
			return "", err
		}
		if i := bytes.IndexByte(b, 0); i >= 0 {
			return string(b[:i]), r.work.spend(i)
		}
		if n > longest || n >= limit-off {
			return "", fmt.Errorf("the string at %#x has no end", off)
		}
	}
}
