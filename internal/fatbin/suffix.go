package fatbin

import (
	"bytes"
	"io"
	"strconv"

	"github.com/klauspost/compress/zstd"
)

// ptxHead is how many bytes of a PTX text are searched for its target. Its directives follow comments of about 200
// bytes.
const ptxHead = 512

// suffixInside reads the suffix in the PTX of the entry with header b at off. It returns "" if the text cannot be read.
func (w *window) suffixInside(b []byte, off, end int64) (string, error) {
	arch, flags := le.Uint32(b[28:]), le.Uint64(b[40:])
	first, length := off+int64(le.Uint32(b[4:])), int64(le.Uint32(b[16:]))
	if length == 0 || length > end-first { // not compressed
		length = end - first
	}
	if flags&flagZstd != 0 {
		w.spent.unpacking.Lock()
		defer w.spent.unpacking.Unlock()
		return ptxSuffix(unzstd(io.NewSectionReader(w.r, first, length)), arch), w.spent.read(min(length, zstdInput))
	}
	text, err := w.at(first, int(min(length, windowSize)))
	if err != nil {
		return "", err
	}
	if flags&flagLZ4 != 0 {
		text = unlz4(text, ptxHead)
	}
	return ptxSuffix(text, arch), nil
}

// ptxSuffix finds the suffix of an architecture's target in the beginning of a PTX text:
//
//	.version 8.5
//	.target sm_90a
//	.address_size 64
func ptxSuffix(text []byte, arch uint32) string {
	_, rest, ok := bytes.Cut(text, []byte("\n.target sm_"))
	digits := len(rest) - len(bytes.TrimLeft(rest, "0123456789"))
	if !ok || string(rest[:digits]) != strconv.Itoa(int(arch)) || digits == len(rest) {
		return ""
	}
	if c := rest[digits]; c == 'a' || c == 'f' {
		return string(c)
	}
	return ""
}

// zstdInput is what a decoder reads for the first bytes of a text, at most: a block.
const zstdInput = 128 << 10

// unzstd returns the beginning of a zstd frame's content.
func unzstd(r io.Reader) []byte {
	d, err := zstd.NewReader(io.LimitReader(r, zstdInput), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(8<<20))
	if err != nil {
		return nil
	}
	defer d.Close()
	text := make([]byte, ptxHead)
	n, _ := io.ReadFull(d, text)
	return text[:n]
}

// unlz4 returns at least the first want bytes of an LZ4 block's content, or fewer if the block is truncated or damaged.
// Existing decoders only take whole blocks, of up to megabytes.
func unlz4(block []byte, want int) []byte {
	var text []byte
	for len(block) > 0 && len(text) < want {
		token := block[0]
		n, rest := lz4Length(int(token>>4), block[1:])
		n = min(n, len(rest))
		text, block = append(text, rest[:n]...), rest[n:]
		if len(block) < 2 {
			break
		}
		back := int(le.Uint16(block))
		if n, block = lz4Length(int(token&15), block[2:]); back == 0 || back > len(text) {
			break
		}
		for range min(n+4, want) { // a match may run into what it writes
			text = append(text, text[len(text)-back])
		}
	}
	return text
}

// lz4Length reads on a length of 15 or more: bytes are added until one is not 255.
func lz4Length(n int, block []byte) (int, []byte) {
	for more := n == 15; more && len(block) > 0; block = block[1:] {
		n += int(block[0])
		more = block[0] == 255
	}
	return n, block
}
