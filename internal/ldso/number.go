package ldso

import (
	"encoding/binary"
	"fmt"
)

// Number reads the 32-bit number that a library exports under a name, as cuDNN's parts export their version. It returns
// false if there is none.
func Number(f File, name string) (uint32, bool, error) {
	e, err := Read(f)
	if err != nil || !e.dynamic {
		return 0, false, err
	}
	t, err := openSymbols(e, f, new(work))
	if err != nil || t.symtab == 0 {
		return 0, false, err
	}
	table, err := t.hash()
	if err != nil || table == nil {
		return 0, false, err
	}
	var addr uint64
	found, err := table.find(name, func(i uint32) (is bool, err error) {
		addr, is, err = t.address(i, name)
		return is, err
	})
	if err != nil || !found {
		return 0, false, err
	}
	off, _, ok := e.fileOffset(addr)
	if !ok {
		return 0, false, fmt.Errorf("%s: %w", name, errOutside)
	}
	b, err := t.table.at(off, 4)
	if err != nil {
		return 0, false, fmt.Errorf("%s: %w", name, err)
	}
	return binary.LittleEndian.Uint32(b), true, nil
}

// address reports whether symbol i has this name and the file defines it, and returns its address.
func (t *symbols) address(i uint32, name string) (uint64, bool, error) {
	s, err := t.symbol(i)
	if err != nil || !s.defined() {
		return 0, false, err
	}
	have, err := t.name(s.name, maxSymbolName)
	return s.value, have == name, err
}
