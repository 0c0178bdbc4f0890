package ldso

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
)

// maxBloom bounds the Bloom filter of a GNU hash table; that of libtorch_cpu.so has 64 kB.
const maxBloom = 8 << 20

var errNoEnd = errors.New("a chain of the hash table has no end")

// hash finds symbols by name as the loader does, so that of a library with many symbols only some
// dozens are read.
type hash interface {
	// find calls visit with the number of each symbol that can have the name, until that returns true.
	find(name string, visit func(i uint32) (bool, error)) (bool, error)
}

// hash returns the file's hash table, GNU's if there are two, as in the loader. It returns nil if there is none, so
// that no symbol can be found.
func (t *symbols) hash() (hash, error) {
	switch {
	case t.elf.has(elf.DT_GNU_HASH):
		h, err := t.gnuHash()
		if err == nil {
			err = h.loadBloom()
		}
		return h, err
	case t.elf.has(elf.DT_HASH):
		return t.sysvHash()
	}
	return nil, nil
}

// readWords reads n 32-bit words at off.
func readWords(r *reader, off uint64, n int) ([4]uint32, error) {
	var w [4]uint32
	b, err := r.at(off, uint64(n)*4)
	if err != nil {
		return w, err
	}
	for i := range n {
		w[i] = binary.LittleEndian.Uint32(b[i*4:])
	}
	return w, nil
}

// gnuHash is a DT_GNU_HASH table: four numbers, a Bloom filter of 64-bit words, the buckets, and the
// hashes of the symbols from first on, whose lowest bit ends a chain.
type gnuHash struct {
	r                            *reader
	buckets, first               uint32
	bloomWords, shift            uint32
	bloomAt, bucketsAt, chainsAt uint64
	bloom                        []byte
}

func (t *symbols) gnuHash() (*gnuHash, error) {
	off, _, err := t.elf.offset(elf.DT_GNU_HASH)
	if err != nil {
		return nil, err
	}
	w, err := readWords(t.index, off, 4)
	if err != nil {
		return nil, fmt.Errorf("DT_GNU_HASH: %w", err)
	}
	h := &gnuHash{r: t.index, buckets: w[0], first: w[1], bloomWords: w[2], shift: w[3]}
	if h.buckets == 0 || h.bloomWords&(h.bloomWords-1) != 0 || h.bloomWords == 0 {
		return nil, errors.New("DT_GNU_HASH: malformed header")
	}
	h.bloomAt = off + 16
	h.bucketsAt = h.bloomAt + uint64(h.bloomWords)*8
	h.chainsAt = h.bucketsAt + uint64(h.buckets)*4
	return h, nil
}

// empty reports whether the table has no symbol. Linkers then write one bucket and a meaningless first symbol.
func (h *gnuHash) empty() bool {
	w, err := readWords(h.r, h.bucketsAt, 1)
	return err == nil && h.buckets == 1 && w[0] == 0
}

// count returns the number of symbols of the file: the end of the chain that starts last.
func (h *gnuHash) count() (uint32, error) {
	last := uint32(0)
	for i := range min(h.buckets, maxSymbols) {
		w, err := readWords(h.r, h.bucketsAt+uint64(i)*4, 1)
		if err != nil {
			return 0, fmt.Errorf("DT_GNU_HASH: %w", err)
		}
		last = max(last, w[0])
	}
	for i := last; i >= h.first && i < maxSymbols; i++ {
		w, err := readWords(h.r, h.chainsAt+uint64(i-h.first)*4, 1)
		if err != nil {
			return 0, fmt.Errorf("DT_GNU_HASH: %w", err)
		}
		if w[0]&1 != 0 {
			return i + 1, nil
		}
	}
	return 0, errNoEnd
}

func (h *gnuHash) loadBloom() error {
	if uint64(h.bloomWords)*8 > maxBloom {
		return fmt.Errorf("DT_GNU_HASH: a filter of %d words", h.bloomWords)
	}
	b, err := h.r.at(h.bloomAt, uint64(h.bloomWords)*8)
	if err != nil {
		return fmt.Errorf("DT_GNU_HASH: %w", err)
	}
	h.bloom = append([]byte(nil), b...)
	return nil
}

func (h *gnuHash) find(name string, visit func(uint32) (bool, error)) (bool, error) {
	sum := gnuSum(name)
	word := binary.LittleEndian.Uint64(h.bloom[sum/64%h.bloomWords*8:])
	if word>>(sum%64)&(word>>(sum>>h.shift%64))&1 == 0 {
		return false, nil
	}
	w, err := readWords(h.r, h.bucketsAt+uint64(sum%h.buckets)*4, 1)
	if err != nil || w[0] < h.first {
		return false, err
	}
	for i := w[0]; i-w[0] < maxSymbols; i++ {
		w, err := readWords(h.r, h.chainsAt+uint64(i-h.first)*4, 1)
		if err != nil {
			return false, fmt.Errorf("DT_GNU_HASH: %w", err)
		}
		if w[0]|1 == sum|1 {
			if done, err := visit(i); done || err != nil {
				return done, err
			}
		}
		if w[0]&1 != 0 {
			return false, nil
		}
	}
	return false, errNoEnd
}

func gnuSum(name string) uint32 {
	h := uint32(5381)
	for i := range len(name) {
		h = h*33 + uint32(name[i])
	}
	return h
}

// sysvHash is a DT_HASH table: two numbers, the buckets, and for each symbol the next one of its chain.
type sysvHash struct {
	r                   *reader
	buckets, chains     uint32
	bucketsAt, chainsAt uint64
}

func (t *symbols) sysvHash() (*sysvHash, error) {
	off, _, err := t.elf.offset(elf.DT_HASH)
	if err != nil {
		return nil, err
	}
	w, err := readWords(t.index, off, 2)
	if err != nil {
		return nil, fmt.Errorf("DT_HASH: %w", err)
	}
	if w[0] == 0 {
		return nil, errors.New("DT_HASH: no buckets")
	}
	return &sysvHash{t.index, w[0], w[1], off + 8, off + 8 + uint64(w[0])*4}, nil
}

func (h *sysvHash) find(name string, visit func(uint32) (bool, error)) (bool, error) {
	w, err := readWords(h.r, h.bucketsAt+uint64(sysvSum(name)%h.buckets)*4, 1)
	for n := uint32(0); err == nil && w[0] != 0; n++ {
		if n >= min(h.chains, maxSymbols) {
			return false, errNoEnd
		}
		if done, err := visit(w[0]); done || err != nil {
			return done, err
		}
		w, err = readWords(h.r, h.chainsAt+uint64(w[0])*4, 1)
	}
	if err != nil {
		return false, fmt.Errorf("DT_HASH: %w", err)
	}
	return false, nil
}

func sysvSum(name string) uint32 {
	h := uint32(0)
	for i := range len(name) {
		h = h<<4 + uint32(name[i])
		h = (h ^ h>>24&0xf0) & 0x0fffffff
	}
	return h
}
