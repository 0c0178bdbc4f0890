package ldso

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
)

// Limits on the work that a file may cause. None of 2,826 files from Debian 12 and PyTorch's wheels had more than 14
// program headers or 51 entries in the dynamic section.
const (
	maxSegments = 1 << 10
	maxDynamic  = 1 << 14 // entries
	maxName     = 1 << 12 // a file name: PATH_MAX
	maxPath     = 1 << 16 // a search path
)

const (
	headerSize  = 64 // of ELF64
	segmentSize = 56
	dynSize     = 16
)

var (
	errOtherClass   = errors.New("wrong ELF class")
	errOtherMachine = errors.New("wrong ELF machine")
)

// ELF is what the loader reads of a file before it maps it.
type ELF struct {
	Machine elf.Machine
	Type    elf.Type
	Interp  string   // PT_INTERP: the loader that the kernel starts; empty in a library
	Soname  string   // DT_SONAME
	Needed  []string // DT_NEEDED in file order, tokens not expanded
	RPath   string   // DT_RPATH; empty where there is a DT_RUNPATH, which makes the loader ignore it
	RunPath string   // DT_RUNPATH

	dynamic     bool // has a dynamic section: not a static program
	hasRunPath  bool // DT_RUNPATH is there, maybe empty
	noSystemDir bool // DF_1_NODEFLIB: not in the system directories, nor in the cache's entries there
	sections    table
	segments    []segment
	tags        map[elf.DynTag]uint64 // of each tag the last entry, as the loader keeps it
}

// segment is a PT_LOAD: where a part of the file is mapped.
type segment struct{ addr, off, size uint64 }

// table is an array in the file.
type table struct {
	off  uint64
	size uint64 // bytes of an entry
	n    uint64
}

// Read reads the ELF header, the program headers and the dynamic section of a 64-bit little-endian
// program or library, some kilobytes however large the file is. Section headers are not needed.
func Read(f File) (*ELF, error) { return read(f, elf.EM_NONE) }

// read does what Read does for a file that must be for machine m, if one is given.
func read(f File, m elf.Machine) (*ELF, error) {
	r := newReader(f, new(work))
	block := blocks.Get().(*[blockSize]byte)
	defer blocks.Put(block)
	r.buf = block[:0]
	if r.end < headerSize {
		return nil, errors.New("file too short")
	}
	h, err := r.at(0, headerSize)
	if err != nil {
		return nil, err
	}
	if err := checkHeader(h, m); err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	e := &ELF{
		Type:     elf.Type(le.Uint16(h[16:])),
		Machine:  elf.Machine(le.Uint16(h[18:])),
		sections: table{le.Uint64(h[40:]), uint64(le.Uint16(h[58:])), uint64(le.Uint16(h[60:]))},
	}
	return e, e.readSegments(r, table{le.Uint64(h[32:]), uint64(le.Uint16(h[54:])), uint64(le.Uint16(h[56:]))})
}

// checkHeader makes the loader's checks in the loader's order. A wrong class or machine makes the loader search on;
// everything else is an error.
func checkHeader(h []byte, m elf.Machine) error {
	le := binary.LittleEndian
	osabi := elf.OSABI(h[elf.EI_OSABI])
	switch {
	case string(h[:4]) != elf.ELFMAG:
		return errors.New("invalid ELF header")
	case elf.Class(h[elf.EI_CLASS]) != elf.ELFCLASS64:
		return errOtherClass
	case elf.Data(h[elf.EI_DATA]) != elf.ELFDATA2LSB:
		return errors.New("ELF file data encoding not little-endian")
	case h[elf.EI_VERSION] != 1 || le.Uint32(h[20:]) != 1:
		return errors.New("ELF file version does not match current one")
	case osabi != elf.ELFOSABI_NONE && osabi != elf.ELFOSABI_LINUX:
		return errors.New("ELF file OS ABI invalid")
	case m != elf.EM_NONE && elf.Machine(le.Uint16(h[18:])) != m:
		return fmt.Errorf("%w: %v", errOtherMachine, elf.Machine(le.Uint16(h[18:])))
	}
	if t := elf.Type(le.Uint16(h[16:])); t != elf.ET_DYN && t != elf.ET_EXEC {
		return errors.New("only ET_DYN and ET_EXEC can be loaded")
	}
	if le.Uint16(h[54:]) != segmentSize {
		return errors.New("ELF file's phentsize not the expected size")
	}
	return nil
}

// readSegments reads the program headers, and what those name: the interpreter and the dynamic section.
func (e *ELF) readSegments(r *reader, t table) error {
	if t.n > maxSegments {
		return fmt.Errorf("%d program headers", t.n)
	}
	b, err := r.at(t.off, t.n*t.size)
	if err != nil {
		return fmt.Errorf("program headers: %w", err)
	}
	var interp, dynamic *segment
	for ; len(b) > 0; b = b[segmentSize:] {
		le := binary.LittleEndian
		s := segment{le.Uint64(b[16:]), le.Uint64(b[8:]), le.Uint64(b[32:])}
		switch elf.ProgType(le.Uint32(b)) {
		case elf.PT_LOAD:
			if err := s.cutOff(r.end); err != nil {
				return err
			}
			e.segments = append(e.segments, s)
		case elf.PT_INTERP:
			interp = &s
		case elf.PT_DYNAMIC:
			dynamic = &s
		}
	}
	if interp != nil {
		if e.Interp, err = r.text(interp.off, r.end, maxName); err != nil {
			return fmt.Errorf("program interpreter: %w", err)
		}
	}
	if dynamic == nil {
		return nil
	}
	e.dynamic = true
	return e.readDynamic(r, *dynamic)
}

// CutOff begins the reason why a library that lacks its end is not loaded: nothing that Python catches.
const CutOff = "the file is cut off"

// cutOff returns an error for a segment that lacks whole pages at the end of the file. The loader maps it all the same,
// and a program that touches such a page is ended by SIGBUS.
func (s segment) cutOff(end uint64) error {
	const page = 4096
	whole := s.off + s.size
	if last := (end + page - 1) &^ (page - 1); whole < s.off || whole > last {
		return fmt.Errorf(CutOff+": it has %d bytes, and a segment ends at %d", end, whole)
	}
	return nil
}

// readDynamic reads the dynamic section up to its DT_NULL.
func (e *ELF) readDynamic(r *reader, s segment) error {
	if s.size/dynSize > maxDynamic {
		return fmt.Errorf("a dynamic section of %d bytes", s.size)
	}
	b, err := r.at(s.off, s.size)
	if err != nil {
		return fmt.Errorf("dynamic section: %w", err)
	}
	e.tags = map[elf.DynTag]uint64{}
	var needed []uint64
	for ; len(b) >= dynSize; b = b[dynSize:] {
		tag := elf.DynTag(binary.LittleEndian.Uint64(b))
		value := binary.LittleEndian.Uint64(b[8:])
		if tag == elf.DT_NULL {
			break
		}
		if tag == elf.DT_NEEDED {
			needed = append(needed, value)
		}
		e.tags[tag] = value
	}
	e.noSystemDir = elf.DynFlag1(e.tags[elf.DT_FLAGS_1])&elf.DF_1_NODEFLIB != 0
	return e.readNames(r, needed)
}

// readNames reads the strings that the dynamic section points to.
func (e *ELF) readNames(r *reader, needed []uint64) (err error) {
	for _, n := range needed {
		name, err := e.name(r, n, maxName)
		if err != nil {
			return fmt.Errorf("DT_NEEDED: %w", err)
		}
		e.Needed = append(e.Needed, name)
	}
	if e.Soname, err = e.stringOfTag(r, elf.DT_SONAME, maxName); err != nil {
		return err
	}
	if e.hasRunPath = e.has(elf.DT_RUNPATH); e.hasRunPath {
		e.RunPath, err = e.stringOfTag(r, elf.DT_RUNPATH, maxPath)
		return err
	}
	e.RPath, err = e.stringOfTag(r, elf.DT_RPATH, maxPath)
	return err
}

// stringOfTag reads the string of a tag, empty if the tag is not there.
func (e *ELF) stringOfTag(r *reader, tag elf.DynTag, longest uint64) (string, error) {
	if !e.has(tag) {
		return "", nil
	}
	s, err := e.name(r, e.tags[tag], longest)
	if err != nil {
		return "", fmt.Errorf("%v: %w", tag, err)
	}
	return s, nil
}

// name reads a string of the dynamic string table.
func (e *ELF) name(r *reader, n, longest uint64) (string, error) {
	off, limit, err := e.offset(elf.DT_STRTAB)
	if err != nil {
		return "", err
	}
	if n > limit-off {
		return "", errOutside
	}
	return r.text(off+n, limit, longest)
}

// has reports whether the dynamic section has a tag.
func (e *ELF) has(tag elf.DynTag) bool {
	_, ok := e.tags[tag]
	return ok
}

// offset returns the file offset of a tag's table, and the end of the segment that contains it. The loader does not
// trust DT_STRSZ and the like beyond that.
func (e *ELF) offset(tag elf.DynTag) (off, limit uint64, err error) {
	addr, ok := e.tags[tag]
	if !ok {
		return 0, 0, fmt.Errorf("no %v", tag)
	}
	if off, limit, ok = e.fileOffset(addr); !ok {
		return 0, 0, fmt.Errorf("%v: %w", tag, errOutside)
	}
	return off, limit, nil
}

// fileOffset returns the file offset of an address, and the end of the segment that contains it.
func (e *ELF) fileOffset(addr uint64) (off, limit uint64, ok bool) {
	for _, s := range e.segments {
		if addr >= s.addr && addr-s.addr < s.size && s.off+s.size > s.off {
			return s.off + (addr - s.addr), s.off + s.size, true
		}
	}
	return 0, 0, false
}
