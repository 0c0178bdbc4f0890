package driver

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
)

// lz4Block is the maximum block size of a legacy LZ4 file (doc/lz4_Frame_format.md, "Legacy frame"). `lz4 -l` writes
// such files, and the kernel unpacks them.
const lz4Block = 8 << 20

var errLZ4 = errors.New("not a whole LZ4 file")

// lz4Reader decompresses a legacy LZ4 file: its magic number, then blocks, each after its length in four bytes.
type lz4Reader struct {
	in     *bufio.Reader
	packed []byte
	block  []byte
	rest   []byte // of the block, not read yet
}

// newLZ4Reader skips the magic number.
func newLZ4Reader(r *bufio.Reader) io.Reader {
	_, _ = r.Discard(4)
	return &lz4Reader{in: r}
}

// Read decompresses the next block when the one before is read.
func (z *lz4Reader) Read(p []byte) (int, error) {
	for len(z.rest) == 0 {
		if err := z.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, z.rest)
	z.rest = z.rest[n:]
	return n, nil
}

// next decompresses a block. What follows the last one is padding, or another archive.
func (z *lz4Reader) next() error {
	end := io.EOF
	if z.block == nil {
		end = errLZ4 // a file has a block
	}
	head, err := z.in.Peek(4)
	if err != nil {
		return end
	}
	length := int(binary.LittleEndian.Uint32(head))
	if length == 0 || length > lz4Block+lz4Block/255+16 {
		return end
	}
	_, _ = z.in.Discard(4)
	if cap(z.packed) < length {
		z.packed = make([]byte, length)
	}
	packed := z.packed[:length]
	if _, err := io.ReadFull(z.in, packed); err != nil {
		return errLZ4
	}
	if z.block, err = appendLZ4(z.block[:0], packed); err != nil {
		return err
	}
	z.rest = z.block
	return nil
}

// appendLZ4 decompresses one block (doc/lz4_Block_format.md): sequences of a token, literal bytes, and a match, which is a
// distance back in two bytes and a length. The last sequence has no match.
func appendLZ4(to, packed []byte) ([]byte, error) {
	length := func(n int) (int, bool) {
		for more := n == 15; more; {
			if len(packed) == 0 {
				return 0, false
			}
			n += int(packed[0])
			more = packed[0] == 255
			packed = packed[1:]
		}
		return n, true
	}
	for len(packed) > 0 {
		token := packed[0]
		packed = packed[1:]
		literals, ok := length(int(token >> 4))
		if !ok || literals > len(packed) || len(to)+literals > lz4Block {
			return to, errLZ4
		}
		to = append(to, packed[:literals]...)
		if packed = packed[literals:]; len(packed) == 0 {
			return to, nil
		}
		if len(packed) < 2 {
			return to, errLZ4
		}
		back := int(binary.LittleEndian.Uint16(packed))
		packed = packed[2:]
		match, ok := length(int(token & 15))
		if match += 4; !ok || back == 0 || back > len(to) || len(to)+match > lz4Block {
			return to, errLZ4
		}
		for range match { // byte by byte: a match may reach into itself
			to = append(to, to[len(to)-back])
		}
	}
	return to, errLZ4
}
