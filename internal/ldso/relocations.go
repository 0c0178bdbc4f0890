package ldso

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
)

// maxRelocations bounds the relocations that are looked through. libtorch_cuda.so of 1 GB has 61,000.
const maxRelocations = 1 << 22

const relocationSize = 24

// relocatedSymbols returns the symbols of a set that a relocation of the file names. The loader never looks for others,
// which linkers sometimes leave behind.
func (t *symbols) relocatedSymbols(set map[uint32]bool) (map[uint32]bool, error) {
	found := map[uint32]bool{}
	relative := t.elf.tags[dtRelaCount] // these come first and name no symbol
	if err := t.collectRelocated(elf.DT_RELA, elf.DT_RELASZ, relative, set, found); err != nil {
		return nil, err
	}
	return found, t.collectRelocated(elf.DT_JMPREL, elf.DT_PLTRELSZ, 0, set, found)
}

const dtRelaCount elf.DynTag = 0x6ffffff9 // DT_RELACOUNT

func (t *symbols) collectRelocated(tag, size elf.DynTag, first uint64, set, found map[uint32]bool) error {
	if !t.elf.has(tag) {
		return nil
	}
	off, _, err := t.elf.offset(tag)
	if err != nil {
		return err
	}
	n := t.elf.tags[size] / relocationSize
	if n > maxRelocations {
		return fmt.Errorf("%v: %d relocations", tag, n)
	}
	for i := min(first, n); i < n; i++ {
		b, err := t.table.at(off+i*relocationSize, relocationSize)
		if err != nil {
			return fmt.Errorf("%v: %w", tag, err)
		}
		if symbol := uint32(binary.LittleEndian.Uint64(b[8:]) >> 32); set[symbol] {
			found[symbol] = true
		}
	}
	return nil
}
