package ldso

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
)

// Bounds on the symbols of one file. A mangled C++ name can be long; PyTorch 2.8's libtorch_cpu.so has
// 73,000 symbols.
const (
	maxSymbolName = 1 << 16
	maxSymbols    = 1 << 22
)

const symbolSize = 24

// Symbol is a dynamic symbol that an object takes from elsewhere.
type Symbol struct {
	Name    string // mangled
	Version string // "GLIBC_2.34", "libcudart.so.12"; empty if the object was linked without versions
	Library string // DT_NEEDED name of the library that had the version at link time; empty like Version
}

// reference is a symbol that a file takes from elsewhere, and its number there.
type reference struct {
	Symbol
	index uint32
}

// symbols reads the dynamic symbols of an open file.
type symbols struct {
	elf      *ELF
	symtab   uint64  // where DT_SYMTAB is; zero if there is none
	versym   uint64  // where DT_VERSYM is; zero if there is none
	table    *reader // symbols, relocations and version records
	names    *reader
	index    *reader // hash table
	marks    *reader // DT_VERSYM
	versions int     // version records seen
}

func openSymbols(e *ELF, f File, w *work) (*symbols, error) {
	t := &symbols{elf: e, table: newReader(f, w), names: newReader(f, w), index: newReader(f, w), marks: newReader(f, w)}
	for tag, off := range map[elf.DynTag]*uint64{elf.DT_SYMTAB: &t.symtab, elf.DT_VERSYM: &t.versym} {
		if !e.has(tag) {
			continue
		}
		var err error
		if *off, _, err = e.offset(tag); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (t *symbols) name(n uint32, longest uint64) (string, error) {
	return t.elf.name(t.names, uint64(n), longest)
}

// symbol is an entry of DT_SYMTAB.
type symbol struct {
	name    uint32
	bind    elf.SymBind
	kind    elf.SymType
	visible elf.SymVis
	section elf.SectionIndex
	value   uint64
}

func (t *symbols) symbol(i uint32) (symbol, error) {
	b, err := t.table.at(t.symtab+uint64(i)*symbolSize, symbolSize)
	if err != nil {
		return symbol{}, fmt.Errorf("symbol %d: %w", i, err)
	}
	return symbol{
		name:    binary.LittleEndian.Uint32(b),
		bind:    elf.ST_BIND(b[4]),
		kind:    elf.ST_TYPE(b[4]),
		visible: elf.ST_VISIBILITY(b[5]),
		section: elf.SectionIndex(binary.LittleEndian.Uint16(b[6:])),
		value:   binary.LittleEndian.Uint64(b[8:]),
	}, nil
}

// defined reports whether a symbol is one that others can be bound to: what glibc's elf/dl-lookup.c accepts.
func (s symbol) defined() bool {
	switch s.kind {
	case elf.STT_NOTYPE, elf.STT_OBJECT, elf.STT_FUNC, elf.STT_COMMON, elf.STT_TLS, elf.STT_GNU_IFUNC:
	default:
		return false
	}
	if s.bind != elf.STB_GLOBAL && s.bind != elf.STB_WEAK && s.bind != stbUnique {
		return false
	}
	local := s.visible == elf.STV_HIDDEN || s.visible == elf.STV_INTERNAL
	valued := s.value != 0 || s.section == elf.SHN_ABS || s.kind == elf.STT_TLS
	return s.section != elf.SHN_UNDEF && valued && !local
}

const stbUnique elf.SymBind = 10 // STB_GNU_UNIQUE

// undefined lists the symbols that the file needs from elsewhere and that want accepts. It omits weak ones.
func (t *symbols) undefined(want func(Symbol) bool) ([]reference, error) {
	if t.symtab == 0 {
		return nil, nil
	}
	n, err := t.countUndefined()
	if err != nil {
		return nil, err
	}
	needs, err := t.needs()
	if err != nil {
		return nil, err
	}
	var list []reference
	for i := range n {
		ref, err := t.reference(i, needs)
		if err != nil {
			return nil, err
		}
		if ref.Name != "" && (want == nil || want(ref.Symbol)) {
			list = append(list, ref)
		}
	}
	return list, nil
}

// reference returns symbol i with its version if it must be found elsewhere, otherwise a result without a name.
func (t *symbols) reference(i uint32, needs map[uint16]need) (reference, error) {
	s, err := t.symbol(i)
	if err != nil || s.section != elf.SHN_UNDEF || s.bind != elf.STB_GLOBAL || s.name == 0 {
		return reference{}, err
	}
	name, err := t.name(s.name, maxSymbolName)
	if err != nil {
		return reference{}, err
	}
	mark, err := t.mark(i)
	n := needs[mark&versionIndex]
	return reference{Symbol{Name: name, Version: n.version, Library: n.library}, i}, err
}

// mark returns the version mark of a symbol; zero, which needs no version, in a file without.
func (t *symbols) mark(i uint32) (uint16, error) {
	if t.versym == 0 {
		return 0, nil
	}
	b, err := t.marks.at(t.versym+uint64(i)*2, 2)
	if err != nil {
		return 0, fmt.Errorf("DT_VERSYM: %w", err)
	}
	return binary.LittleEndian.Uint16(b), nil
}

// countUndefined returns how many of the first symbols may be undefined. In a library with a GNU hash table these are
// the symbols before those in the table, which is the linkers' order. A program's table can contain undefined ones,
// too: functions whose address it takes.
func (t *symbols) countUndefined() (uint32, error) {
	if h, err := t.gnuHash(); err == nil && !h.empty() {
		if t.elf.Interp == "" {
			return min(h.first, maxSymbols), nil
		}
		if n, err := h.count(); err == nil {
			return n, nil
		}
	}
	if h, err := t.sysvHash(); err == nil {
		return min(h.chains, maxSymbols), nil
	}
	return t.countInSections()
}

// countInSections returns the number of symbols in the section header of .dynsym. Nothing else gives it for a file with
// an empty GNU hash table, as programs have.
func (t *symbols) countInSections() (uint32, error) {
	s := t.elf.sections
	for i := range s.n {
		b, err := t.table.at(s.off+i*s.size, 64)
		if err != nil {
			return 0, fmt.Errorf("section headers: %w", err)
		}
		if elf.SectionType(binary.LittleEndian.Uint32(b[4:])) == elf.SHT_DYNSYM {
			return uint32(min(binary.LittleEndian.Uint64(b[32:])/symbolSize, maxSymbols)), nil
		}
	}
	return 0, fmt.Errorf("the number of dynamic symbols is not known")
}
