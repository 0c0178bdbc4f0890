package image

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/klauspost/compress/flate"
)

const (
	// blockSize is how many bytes of the store are compressed together. Symbol tables shrink to a third or less.
	blockSize = 64 << 10

	// maxStore limits the compressed size of the store on disk, in bytes, and maxScratch what is kept of one library
	// while it is read. An image with vLLM 0.11.0, its requirements and gcc takes 43 MB. libtensorflow_cc.so.2 2.20.0
	// took 24 MB of scratch with zstd, and takes 5 % more with flate.
	maxStore   = 64 << 20
	maxScratch = 32 << 20

	// scratchPlain is how many blocks of one library's scratch stay uncompressed in memory (24 MB). Compressing what is
	// read again a moment later took a seventh of the time for an image.
	scratchPlain = 384

	// blocksHeld is how many blocks stay unpacked for those who read.
	blocksHeld = 32
)

var errFull = fmt.Errorf("more of it is needed than the %d MB that may be kept", maxStore>>20)

// store contains what is kept of an image, one piece after the other, compressed. Its file has no name, so nothing is
// left however the program ends.
type store struct {
	file  *os.File
	limit int64         // of what it takes on the disk
	pack  *flate.Writer // as fast here as zstd's, which is 0.15 MB of the program

	lock   sync.Mutex
	tail   []byte        // what is not packed yet
	plain  [][]byte      // the first blocks, which are not packed
	used   int           // how many of them
	most   int           // how many there may be
	ends   []int64       // of each packed block, in the file
	unpack io.ReadCloser // flate's
	held   map[int64][]byte
	order  []int64 // of held, the oldest first
}

func newStore(limit int64) (*store, error) {
	file, err := scratchFile()
	if err != nil {
		return nil, err
	}
	s := &store{file: file, limit: limit, unpack: flate.NewReader(nil), held: map[int64][]byte{}}
	s.pack, err = flate.NewWriter(nil, flate.BestSpeed)
	return s, err
}

// scratchFile returns a file without a name.
func scratchFile() (*os.File, error) {
	file, err := os.CreateTemp("", "cudacompat-*")
	if err != nil {
		return nil, fmt.Errorf("what is kept of the image needs a temporary file: %w", err)
	}
	if err := os.Remove(file.Name()); err != nil {
		file.Close()
		return nil, fmt.Errorf("what is kept of the image needs a temporary file without a name: %w", err)
	}
	return file, nil
}

// add keeps some bytes and says where.
func (s *store) add(p []byte) (at int64, err error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	at = int64(s.used+len(s.ends))*blockSize + int64(len(s.tail))
	for len(p) > 0 {
		n := min(len(p), blockSize-len(s.tail))
		s.tail, p = append(s.tail, p[:n]...), p[n:]
		if len(s.tail) == blockSize {
			if err := s.write(); err != nil {
				return 0, err
			}
		}
	}
	return at, nil
}

func (s *store) write() error {
	if s.used < s.most && len(s.ends) == 0 {
		if s.used == len(s.plain) {
			s.plain = append(s.plain, make([]byte, blockSize))
		}
		copy(s.plain[s.used], s.tail)
		s.used, s.tail = s.used+1, s.tail[:0]
		return nil
	}
	begin := s.begin(len(s.ends))
	var packed bytes.Buffer
	s.pack.Reset(&packed)
	_, err := s.pack.Write(s.tail)
	if err = errors.Join(err, s.pack.Close()); err != nil {
		return err
	}
	if begin+int64(packed.Len()) > s.limit {
		return errFull
	}
	if _, err := s.file.WriteAt(packed.Bytes(), begin); err != nil {
		return fmt.Errorf("what is kept of the image cannot be written: %w", err)
	}
	s.ends, s.tail = append(s.ends, begin+int64(packed.Len())), s.tail[:0]
	return nil
}

// begin returns where a block begins in the file.
func (s *store) begin(block int) int64 {
	if block == 0 {
		return 0
	}
	return s.ends[block-1]
}

// readAt reads what was added.
func (s *store) readAt(p []byte, at int64) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	for len(p) > 0 {
		block, err := s.block(at / blockSize)
		if err != nil {
			return err
		}
		within := at % blockSize
		if within >= int64(len(block)) {
			return io.ErrUnexpectedEOF
		}
		n := copy(p, block[within:])
		p, at = p[n:], at+int64(n)
	}
	return nil
}

func (s *store) block(n int64) ([]byte, error) {
	if n < int64(s.used) {
		return s.plain[n], nil
	}
	if n -= int64(s.used); n == int64(len(s.ends)) {
		return s.tail, nil
	}
	if block, ok := s.held[n]; ok {
		return block, nil
	}
	packed := make([]byte, s.ends[n]-s.begin(int(n)))
	if _, err := s.file.ReadAt(packed, s.begin(int(n))); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var block []byte
	if len(s.order) == blocksHeld {
		block = s.held[s.order[0]]
		delete(s.held, s.order[0])
		s.order = s.order[1:]
	} else {
		block = make([]byte, blockSize)
	}
	err := s.unpack.(flate.Resetter).Reset(bytes.NewReader(packed), nil)
	if err == nil {
		_, err = io.ReadFull(s.unpack, block)
	}
	if err != nil {
		return nil, fmt.Errorf("what was kept of the image has changed: %w", err)
	}
	s.held[n], s.order = block, append(s.order, n)
	return block, nil
}

// reset empties the store.
func (s *store) reset() {
	s.tail, s.used, s.ends, s.order = s.tail[:0], 0, s.ends[:0], s.order[:0]
	clear(s.held)
}

func (s *store) close() {
	s.unpack.Close()
	s.file.Close()
}
