package driver

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/ulikunitz/xz/lzma"
)

// windowCap bounds the dictionary of a compressed module. modprobe's own writers ask for 1 to 8 MB; no distribution's
// module asks for more.
const windowCap = 16 << 20

// xzReader decompresses an .xz file of LZMA2 blocks (https://tukaani.org/xz/xz-file-format-1.2.1.txt). The library's
// own reader allocates whatever dictionary a block asks for, up to 4 GB.
type xzReader struct {
	in    *countingReader
	check int           // bytes of the check after each block
	block *lzma.Reader2 // nil between blocks
	start int64         // of the block's data
}

// countingReader counts the bytes read through it.
type countingReader struct {
	*bufio.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}

func (c *countingReader) ReadByte() (byte, error) {
	b, err := c.Reader.ReadByte()
	if err == nil {
		c.n++
	}
	return b, err
}

var errXZ = errors.New("not a whole .xz file")

// newXZReader reads the stream header (§2.1.1): magic, flags with the type of check, CRC32.
func newXZReader(r *bufio.Reader) (io.Reader, error) {
	x := &xzReader{in: &countingReader{Reader: r}}
	head := make([]byte, 12)
	if _, err := io.ReadFull(x.in, head); err != nil || !bytes.HasPrefix(head, []byte("\xfd7zXZ\x00\x00")) {
		return nil, errXZ
	}
	sizes := []int{0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64} // §2.1.1.2
	x.check = sizes[head[7]&15]
	return x, nil
}

func (x *xzReader) Read(p []byte) (int, error) {
	for {
		if x.block == nil {
			if err := x.nextBlock(); err != nil {
				return 0, err
			}
		}
		n, err := x.block.Read(p)
		if err == io.EOF {
			err, x.block = x.skipTail(), nil
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// nextBlock reads a block header (§3.1): its size in words of four minus one, flags, sizes, the filter, CRC32. In the
// place of a block's size, the index has a 0.
func (x *xzReader) nextBlock() error {
	size, err := x.in.ReadByte()
	if err != nil {
		return errXZ
	}
	if size == 0 {
		return io.EOF
	}
	header := make([]byte, (int(size)+1)*4)
	header[0] = size
	if _, err := io.ReadFull(x.in, header[1:]); err != nil {
		return errXZ
	}
	body, sum := header[:len(header)-4], header[len(header)-4:]
	if crc32.ChecksumIEEE(body) != binary.LittleEndian.Uint32(sum) {
		return errXZ
	}
	window, err := dictionarySize(body)
	if err != nil {
		return err
	}
	x.start = x.in.n
	x.block, err = lzma.Reader2Config{DictCap: int(max(window, lzma.MinDictCap))}.NewReader2(x.in)
	return err
}

// dictionarySize returns the dictionary size of a block's only filter, LZMA2 (§5.3.1).
func dictionarySize(header []byte) (int64, error) {
	flags, rest := header[1], header[2:]
	if flags&3 != 0 {
		return 0, errors.New("packed with a filter that is not read")
	}
	for range int(flags>>6&1) + int(flags>>7) { // the sizes, where they are given
		_, n := binary.Uvarint(rest)
		if n <= 0 {
			return 0, errXZ
		}
		rest = rest[n:]
	}
	if len(rest) < 3 || rest[0] != 0x21 || rest[1] != 1 {
		return 0, errors.New("packed with a filter that is not read")
	}
	window, err := lzma.DecodeDictCap(rest[2])
	if err == nil && window > windowCap {
		err = fmt.Errorf("packed with a window of %d MB; more than %d are not read", window>>20, windowCap>>20)
	}
	return window, err
}

// skipTail skips a block's padding to a multiple of four, and its check.
func (x *xzReader) skipTail() error {
	padding := -(x.in.n - x.start) & 3
	if _, err := io.CopyN(io.Discard, x.in, padding+int64(x.check)); err != nil {
		return errXZ
	}
	return nil
}
