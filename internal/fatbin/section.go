package fatbin

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// The section table is read here and not by debug/elf, which reads the tables of a hostile file whole, however
// large they claim to be.

var le = binary.LittleEndian

// Sizes and offsets of Elf64_Ehdr and Elf64_Shdr (System V ABI, "Object Files").
const (
	fileHeaderSize    = 64
	sectionHeaderSize = 64

	// maxName is enough to find the word that tells a section's role.
	maxName = 64
)

// section is the part of the file that one ELF section takes.
type section struct {
	name       string
	role       role
	off, end   int64 // end is never past the end of the file
	wouldBeCut bool  // it would be
}

// role is what a section may hold.
type role int

const (
	other    role = iota
	fatbin        // .nv_fatbin, __nv_relfatbin and the like: containers and nothing else
	pointers      // .nvFatBinSegment, which nvcc writes into every object with device code
	data          // anything, a fat binary among it
)

// relocatable reports whether the section's code is linked before it runs. Linked code is in another section.
func (s section) relocatable() bool { return strings.Contains(s.name, "relfatbin") }

// sections lists the sections of known roles.
func (w *window) sections() ([]section, error) {
	if w.size < fileHeaderSize {
		return nil, errors.New("not an ELF file: too short")
	}
	b, err := w.at(0, fileHeaderSize)
	if err != nil {
		return nil, err
	}
	if string(b[:len(elf.ELFMAG)]) != elf.ELFMAG {
		return nil, errors.New("not an ELF file: wrong magic number")
	}
	if b[elf.EI_CLASS] != byte(elf.ELFCLASS64) || b[elf.EI_DATA] != byte(elf.ELFDATA2LSB) {
		return nil, errors.New("not a 64-bit little-endian ELF file")
	}
	table, entry := le.Uint64(b[40:]), le.Uint16(b[58:])
	count, names := le.Uint16(b[60:]), le.Uint16(b[62:])
	if table == 0 {
		return nil, nil // stripped of its section table
	}
	if entry != sectionHeaderSize || names >= count || table > uint64(w.size) { // count 0: over 65279 sections
		return nil, errors.New("ELF section table is malformed")
	}
	return w.roles(int64(table), int(count), int(names))
}

func (w *window) roles(table int64, count, names int) ([]section, error) {
	strtab, err := w.sectionHeader(table, names)
	if err != nil {
		return nil, err
	}
	var found []section
	for i := range count {
		h, err := w.sectionHeader(table, i)
		if err != nil {
			return nil, err
		}
		if h.kind != elf.SHT_PROGBITS {
			continue
		}
		name, err := w.name(strtab, h.name)
		if err != nil {
			return nil, err
		}
		if role := h.role(name); role != other {
			found = append(found, h.section(name, role, w.size))
		}
	}
	return found, nil
}

// role says what a section may contain, by its name and flags. AMD's code is in .hip_fatbin. Compilers generate the
// unwind tables, a tenth of a large library, and these contain no constants.
func (h sectionHeader) role(name string) role {
	const loaded = elf.SHF_ALLOC | elf.SHF_EXECINSTR
	switch {
	case strings.Contains(name, "hip"):
		return other
	case strings.Contains(name, "fatbin"):
		return fatbin
	case name == ".nvFatBinSegment":
		return pointers
	case h.flags&loaded != elf.SHF_ALLOC || strings.HasPrefix(name, ".eh_frame") || name == ".gcc_except_table":
		return other
	}
	return data
}

// sectionHeader is what is needed of an Elf64_Shdr.
type sectionHeader struct {
	name      uint32 // offset in the string table
	kind      elf.SectionType
	flags     elf.SectionFlag
	off, size uint64
}

func (w *window) sectionHeader(table int64, i int) (sectionHeader, error) {
	b, err := w.at(table+int64(i)*sectionHeaderSize, sectionHeaderSize)
	if err != nil {
		return sectionHeader{}, fmt.Errorf("ELF section table: %w", err)
	}
	return sectionHeader{le.Uint32(b), elf.SectionType(le.Uint32(b[4:])), elf.SectionFlag(le.Uint64(b[8:])),
		le.Uint64(b[24:]), le.Uint64(b[32:])}, nil
}

// name gives the first maxName bytes of a section's name.
func (w *window) name(strtab sectionHeader, off uint32) (string, error) {
	if strtab.off > uint64(w.size) || uint64(off) >= uint64(w.size)-strtab.off {
		return "", errors.New("ELF section names are outside the file")
	}
	at := int64(strtab.off) + int64(off)
	b, err := w.at(at, int(min(maxName, w.size-at)))
	if err != nil {
		return "", fmt.Errorf("ELF section names: %w", err)
	}
	name, _, _ := bytes.Cut(b, []byte{0})
	return string(name), nil
}

func (h sectionHeader) section(name string, role role, size int64) section {
	off := min(h.off, uint64(size))
	length := min(h.size, uint64(size)-off)
	return section{name: name, role: role, off: int64(off), end: int64(off + length), wouldBeCut: h.off > off || h.size > length}
}
