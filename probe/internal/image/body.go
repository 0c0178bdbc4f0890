package image

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"slices"
	"time"

	"cudacompat/probe/internal/pysource"
)

// piece is a part of a file that was kept.
type piece struct {
	off, n int64 // in the file
	at     int64 // in the store
}

// body is the kept part of a file's content. Hard links share one.
type body struct {
	size   int64
	mode   fs.FileMode
	pieces []piece // in the order of the file, apart from one another
	python piece   // of a Python file, beside or in place of pieces: its summary, as JSON
	// spilled tells that more was looked for than could be kept, so that a gap may hold it
	spilled bool
}

// errNotKept is the error for reading a part of a file that was not kept, so that it is never taken for something
// missing in the image.
var errNotKept = errors.New("this part of it was not kept when the layer went by")

// open is a file of an image that is read.
type open struct {
	*body
	name  string
	image *Image
	at    int64
}

func (f *open) Close() error               { return nil }
func (f *open) Stat() (fs.FileInfo, error) { return f, nil }
func (f *open) Name() string               { return f.name }
func (f *open) Size() int64                { return f.size }
func (f *open) Mode() fs.FileMode          { return f.mode }
func (f *open) ModTime() time.Time         { return time.Time{} }
func (f *open) IsDir() bool                { return false }
func (f *open) Sys() any                   { return nil }

func (f *open) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n, err := f.ReadAt(p[:min(int64(len(p)), max(f.size-f.at, 1))], f.at)
	f.at += int64(n)
	if n > 0 && errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

func (f *open) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.read(p, off, false)
	if errors.Is(err, errNotKept) {
		f.image.miss(f.name)
	}
	return n, err
}

// Summary returns the summary that was kept of a Python file instead of its text, or nil.
func (f *open) Summary() *pysource.Summary {
	if f.python.n == 0 {
		return nil
	}
	var sum pysource.Summary
	data := make([]byte, f.python.n)
	if err := f.image.store.readAt(data, f.python.at); err != nil || json.Unmarshal(data, &sum) != nil {
		return nil
	}
	return &sum
}

// Sought returns the file for callers that look for what was searched while it was read. The rest reads as zeros.
func (f *open) Sought() io.ReaderAt { return sought{f} }

type sought struct{ *open }

func (s sought) ReadAt(p []byte, off int64) (int, error) {
	if s.spilled {
		return s.open.ReadAt(p, off)
	}
	return s.read(p, off, true)
}

// read fills p from the pieces; a gap is an error, or zeros.
func (f *open) read(p []byte, off int64, zeros bool) (n int, err error) {
	if off < 0 || off >= f.size {
		return 0, io.EOF
	}
	if int64(len(p)) > f.size-off {
		p, err = p[:f.size-off], io.EOF
	}
	i, _ := slices.BinarySearchFunc(f.pieces, off, func(piece piece, off int64) int {
		return cmp.Compare(piece.off+piece.n, off+1)
	})
	for n < len(p) {
		at := off + int64(n)
		gap := int64(len(p) - n)
		if i < len(f.pieces) {
			gap = min(gap, f.pieces[i].off-at)
		}
		if gap > 0 {
			if !zeros {
				return n, errNotKept
			}
			clear(p[n : n+int(gap)])
			n += int(gap)
			continue
		}
		one := f.pieces[i]
		length := min(int64(len(p)-n), one.off+one.n-at)
		if err := f.image.store.readAt(p[n:n+int(length)], one.at+at-one.off); err != nil {
			return n, err
		}
		n, i = n+int(length), i+1
	}
	return n, err
}
