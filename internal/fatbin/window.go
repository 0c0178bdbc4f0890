package fatbin

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
)

const (
	// minFetch is what one positioned read fetches at least: a container's header with its first entry's, which are 80
	// bytes. Payloads are mostly tens of kilobytes, so more would only be copied: 512 bytes for each of the 2758
	// entries of torch 2.8.0's libtorch_cuda.so (1015 MB) take a tenth longer.
	minFetch = 128

	// windowSize is the most that is read at once.
	windowSize = 512

	// maxRead limits what is read of one file. The file with the most headers seen, cuBLASLt 12.8 and 13.0, takes 0.8
	// MB.
	maxRead = 64 << 20

	// maxHeaders bounds the containers and entries of one file. libcublasLt.so.12 (12.8.4.1) and .13 have the
	// most seen, about 8800.
	maxHeaders = 1 << 18

	// maxContainers limits the containers of one file, which are all kept until the end. cuFFT 11.3.3.83 has the most
	// seen, 23531.
	maxContainers = 1 << 16
)

var (
	errTooMuch = errors.New("its fat-binary headers are spread over too much of the file")
	errTooMany = fmt.Errorf("it has more than %d fat-binary headers", maxHeaders)
	errCrowded = fmt.Errorf("it has more than %d fat binaries", maxContainers)
)

// spent is what the windows of one file have used up together.
type spent struct {
	bytes, headers atomic.Int64
	unpacking      sync.Mutex // a decoder holds megabytes: one at a time
}

func (s *spent) read(n int64) error {
	if s.bytes.Add(n) > maxRead {
		return errTooMuch
	}
	return nil
}

func (s *spent) header() error {
	if s.headers.Add(1) > maxHeaders {
		return errTooMany
	}
	return nil
}

// spentOut reports whether an error is that of a file which asks for too much.
func spentOut(err error) bool {
	return errors.Is(err, errTooMuch) || errors.Is(err, errTooMany) || errors.Is(err, errCrowded)
}

// window serves small reads from one buffer, refilled where a read leaves it.
type window struct {
	r     io.ReaderAt
	size  int64 // of the file
	spent *spent

	mem    [windowSize]byte
	filled []byte // part of mem
	start  int64  // file offset of held
}

// at returns n bytes, at most windowSize, at a file offset. They are good until the next call.
func (w *window) at(off int64, n int) ([]byte, error) {
	if off < 0 || off > w.size-int64(n) {
		return nil, fmt.Errorf("the file ends at %#x, inside a header at %#x", w.size, off)
	}
	if off < w.start || off+int64(n) > w.start+int64(len(w.filled)) {
		if err := w.fill(off, max(n, minFetch)); err != nil {
			return nil, err
		}
	}
	i := off - w.start
	if i+int64(n) > int64(len(w.filled)) {
		return nil, fmt.Errorf("read at %#x: %w", off, io.ErrUnexpectedEOF)
	}
	return w.filled[i : i+int64(n)], nil
}

func (w *window) fill(off int64, n int) error {
	want := min(int64(n), w.size-off)
	if err := w.spent.read(want); err != nil {
		return err
	}
	n, err := w.r.ReadAt(w.mem[:want], off)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read at %#x: %w", off, err)
	}
	w.filled, w.start = w.mem[:n], off
	return nil
}

// along returns a copy of the entry's header at off, if the last read has fetched it.
func (w *window) along(off int64) []byte {
	i := off - w.start
	if i < 0 || i > int64(len(w.filled)-entryHeaderSize) {
		return nil
	}
	return bytes.Clone(w.filled[i : i+entryHeaderSize])
}
