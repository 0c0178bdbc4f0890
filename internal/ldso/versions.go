package ldso

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
)

// maxVersions bounds the version records of one file. libc has 42.
const maxVersions = 1 << 14

// Bits of glibc's elf/elf.h.
const (
	versionIndex  = 0x7fff // of a symbol's version; the bit above hides it from references without a version
	versionHidden = 0x8000
	firstVersion  = 2 // index; 0 is local and 1 the base
	flagBase      = 1 // VER_FLG_BASE: the name of the file, not of a version
	flagWeak      = 2 // VER_FLG_WEAK
)

// need is one version that a file wants of a library.
type need struct {
	library string // as in DT_NEEDED
	version string
	weak    bool
}

// definition is one version that a file defines.
type definition struct {
	version string
	base    bool
}

// needs reads DT_VERNEED by version index. Records: version and number of aux 16 bits each; file name,
// distance to the first aux, to the next record 32 each. Aux: hash 32; flags and index 16 each; name,
// distance to the next 32 each.
func (t *symbols) needs() (map[uint16]need, error) {
	list := map[uint16]need{}
	err := t.records(elf.DT_VERNEED, 16, func(at uint64, b []byte) error {
		le := binary.LittleEndian
		file, aux := le.Uint32(b[4:]), at+uint64(le.Uint32(b[8:]))
		library, err := t.name(file, maxName)
		if err != nil {
			return err
		}
		return t.chain(aux, 16, func(_ uint64, b []byte) error {
			n := need{library: library, weak: le.Uint16(b[4:])&flagWeak != 0}
			index := le.Uint16(b[6:]) & versionIndex
			n.version, err = t.name(le.Uint32(b[8:]), maxName)
			list[index] = n
			return err
		})
	})
	return list, err
}

// definitions reads DT_VERDEF by version index. Records: version, flags, index, number of aux 16 bits
// each; hash, distance to the first aux, to the next record 32 each. Aux: name 32. The first aux is
// the version's name; others name versions that it succeeds.
func (t *symbols) definitions() (map[uint16]definition, error) {
	list := map[uint16]definition{}
	err := t.records(elf.DT_VERDEF, 20, func(at uint64, b []byte) error {
		le := binary.LittleEndian
		d := definition{base: le.Uint16(b[2:])&flagBase != 0}
		index, aux := le.Uint16(b[4:])&versionIndex, at+uint64(le.Uint32(b[12:]))
		b, err := t.table.at(aux, 4)
		if err != nil {
			return err
		}
		d.version, err = t.name(le.Uint32(b), maxName)
		list[index] = d
		return err
	})
	return list, err
}

// records visits the chain of records that a tag points to; none if the tag is not there.
func (t *symbols) records(tag elf.DynTag, size uint64, visit func(at uint64, record []byte) error) error {
	if !t.elf.has(tag) {
		return nil
	}
	at, _, err := t.elf.offset(tag)
	if err == nil {
		err = t.chain(at, size, visit)
	}
	if err != nil {
		return fmt.Errorf("%v: %w", tag, err)
	}
	return nil
}

// chain visits records that end with the distance to the next, zero in the last. A record is valid
// until the next read.
func (t *symbols) chain(at, size uint64, visit func(at uint64, record []byte) error) error {
	for {
		if t.versions++; t.versions > maxVersions {
			return fmt.Errorf("more than %d versions", maxVersions)
		}
		b, err := t.table.at(at, size)
		if err != nil {
			return err
		}
		next := uint64(binary.LittleEndian.Uint32(b[size-4:]))
		if err := visit(at, b); err != nil {
			return err
		}
		if next == 0 {
			return nil
		}
		at += next
	}
}
