package ldso

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// CachePath is where distributions' loaders look for the cache.
const CachePath = "/etc/ld.so.cache"

// maxCache bounds the cache file; one of 524 libraries has 34 kB.
const maxCache = 4 << 20

// Magic numbers and sizes of glibc's sysdeps/generic/dl-cache.h. The old format may stand by itself or before the new
// one.
const (
	oldMagic      = "ld.so-1.7.0"
	oldHeaderSize = 16
	oldEntrySize  = 12
	newMagic      = "glibc-ld.so.cache1.1"
	newHeaderSize = 48
	newEntrySize  = 24

	extensionMagic = 0xeaa42174
	tagHwcaps      = 1 // section of names of glibc-hwcaps subdirectories

	hwcapExtension = 1 << 30 // in the upper word of an entry's hwcap: the lower word is an index of tagHwcaps
	hwcapISALevels = 1<<10 - 1
)

// Cache is the content of an ld.so.cache.
type Cache struct {
	Entries []CacheEntry // in file order: by name, descending
}

// CacheEntry is one line of "ldconfig -p".
type CacheEntry struct {
	Name  string // soname
	Path  string
	Flags uint32 // 0x0303: x86-64 with glibc 2; 0x0a03: AArch64
	Hwcap string // glibc-hwcaps subdirectory it stands in, e.g. "x86-64-v3"; empty for none

	platform bool // for a CPU platform; glibc passes these over since 2.37
}

// ReadCache reads [CachePath] of a tree.
func ReadCache(fsys FS) (*Cache, error) {
	b, err := readAll(fsys, CachePath, maxCache)
	if err != nil {
		return nil, err
	}
	c, err := ParseCache(b)
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", CachePath, err)
	}
	return c, nil
}

// ParseCache parses the content of an ld.so.cache, of the old, the new or the joint format, written by
// a little-endian machine.
func ParseCache(b []byte) (*Cache, error) {
	if bytes.HasPrefix(b, []byte(newMagic)) {
		return parseNew(b, 0)
	}
	if !bytes.HasPrefix(b, []byte(oldMagic)) || len(b) < oldHeaderSize {
		return nil, errors.New("not an ld.so.cache")
	}
	n := uint64(binary.LittleEndian.Uint32(b[12:]))
	end := oldHeaderSize + n*oldEntrySize
	if end > uint64(len(b)) {
		return nil, fmt.Errorf("%d entries in %d bytes", n, len(b))
	}
	if start := (end + 7) &^ 7; start < uint64(len(b)) && bytes.HasPrefix(b[start:], []byte(newMagic)) {
		return parseNew(b, start)
	}
	return parseEntries(b[oldHeaderSize:end], oldEntrySize, string(b[end:]), nil)
}

// parseNew parses the new format, which starts at start of the file b and counts its strings from there.
func parseNew(b []byte, start uint64) (*Cache, error) {
	head := b[start:]
	if len(head) < newHeaderSize {
		return nil, errors.New("no room for the header")
	}
	if order := head[28] & 3; head[28] != 0 && order != 2 {
		return nil, errors.New("not written by a little-endian machine")
	}
	n := uint64(binary.LittleEndian.Uint32(head[20:]))
	if n > uint64(len(head)-newHeaderSize)/newEntrySize {
		return nil, fmt.Errorf("%d entries in %d bytes", n, len(head))
	}
	hwcaps, err := parseHwcaps(b, uint64(binary.LittleEndian.Uint32(head[32:])))
	if err != nil {
		return nil, err
	}
	return parseEntries(head[newHeaderSize:newHeaderSize+n*newEntrySize], newEntrySize, string(head), hwcaps)
}

// parseHwcaps returns the names of the glibc-hwcaps subdirectories that entries refer to by index. They are in an
// extension of the file at off; 0 means that there is none.
func parseHwcaps(b []byte, off uint64) ([]string, error) {
	if off == 0 {
		return nil, nil
	}
	le := binary.LittleEndian
	head, ok := part(b, off, 8)
	if !ok || le.Uint32(head) != extensionMagic {
		return nil, errors.New("no extension directory where the header says")
	}
	sections, ok := part(b, off+8, uint64(le.Uint32(head[4:]))*16)
	if !ok {
		return nil, errors.New("the extension directory lies outside the file")
	}
	for ; len(sections) > 0; sections = sections[16:] {
		if le.Uint32(sections) != tagHwcaps {
			continue
		}
		offsets, ok := part(b, uint64(le.Uint32(sections[8:])), uint64(le.Uint32(sections[12:])))
		if !ok {
			return nil, errors.New("the list of glibc-hwcaps lies outside the file")
		}
		return textsAt(offsets, string(b))
	}
	return nil, nil
}

// part returns n bytes of b at off.
func part(b []byte, off, n uint64) ([]byte, bool) {
	if off > uint64(len(b)) || n > uint64(len(b))-off {
		return nil, false
	}
	return b[off : off+n], true
}

// textsAt returns the strings of text at the offsets that b holds.
func textsAt(b []byte, text string) ([]string, error) {
	var list []string
	for ; len(b) >= 4; b = b[4:] {
		s, ok := textAt(text, binary.LittleEndian.Uint32(b))
		if !ok {
			return nil, errors.New("a name lies outside the file")
		}
		list = append(list, s)
	}
	return list, nil
}

// textAt returns the NUL-terminated string at off.
func textAt(text string, off uint32) (string, bool) {
	if uint64(off) >= uint64(len(text)) {
		return "", false
	}
	s, _, ok := strings.Cut(text[off:], "\x00")
	return s, ok
}

func parseEntries(b []byte, size int, text string, hwcaps []string) (*Cache, error) {
	c := &Cache{Entries: make([]CacheEntry, 0, len(b)/size)}
	for i := 0; len(b) >= size; i, b = i+1, b[size:] {
		le := binary.LittleEndian
		e := CacheEntry{Flags: le.Uint32(b)}
		var named, placed bool
		e.Name, named = textAt(text, le.Uint32(b[4:]))
		e.Path, placed = textAt(text, le.Uint32(b[8:]))
		if !named || !placed {
			return nil, fmt.Errorf("entry %d points outside the file", i)
		}
		if size == newEntrySize {
			e.Hwcap, e.platform = hwcapName(le.Uint32(b[20:]), le.Uint32(b[16:]), hwcaps)
		}
		c.Entries = append(c.Entries, e)
	}
	return c, nil
}

// hwcapName returns the CPUs that an entry is for: all, those that use a glibc-hwcaps subdirectory, or a platform. It
// also returns a platform for an index without a name, as ldconfig writes in the joint format.
func hwcapName(high, low uint32, hwcaps []string) (name string, platform bool) {
	if high == 0 && low == 0 {
		return "", false
	}
	if high&^hwcapISALevels != hwcapExtension || uint64(low) >= uint64(len(hwcaps)) {
		return "", true
	}
	return hwcaps[low], hwcaps[low] == ""
}

// Lookup returns the path that the loader takes for a soname on machine m, or "". hwcaps are the glibc-hwcaps
// subdirectories that the CPU uses, best first.
func (c *Cache) Lookup(name string, m elf.Machine, hwcaps []string) string {
	best, rank := "", len(hwcaps)
	// The entries stand in descending order.
	i, _ := slices.BinarySearchFunc(c.Entries, name, func(e CacheEntry, name string) int { return compareNames(name, e.Name) })
	for ; i < len(c.Entries) && compareNames(c.Entries[i].Name, name) == 0; i++ {
		e := &c.Entries[i]
		switch {
		case e.Flags != cacheFlags(m) || e.platform:
		case e.Hwcap != "":
			if at := slices.Index(hwcaps, e.Hwcap); at >= 0 && at < rank {
				best, rank = e.Path, at
			}
		case best != "":
			return best // plain entries come after those of subdirectories
		default:
			return e.Path
		}
	}
	return best
}

// cacheFlags returns _DL_CACHE_DEFAULT_ID of glibc's sysdeps/x86_64/dl-cache.h and
// sysdeps/unix/sysv/linux/aarch64/dl-cache.h.
func cacheFlags(m elf.Machine) uint32 {
	switch m {
	case elf.EM_X86_64:
		return 0x0303
	case elf.EM_AARCH64:
		return 0x0a03
	}
	return 0
}

// compareNames returns the order of the cache: digits compare as the numbers they spell, and come after
// everything else.
func compareNames(a, b string) int {
	for a != "" && b != "" {
		switch da, db := digits(a), digits(b); {
		case da > 0 && db > 0:
			if c := compareNumbers(a[:da], b[:db]); c != 0 {
				return c
			}
			a, b = a[da:], b[db:]
		case da > 0:
			return 1
		case db > 0:
			return -1
		case a[0] != b[0]:
			return int(a[0]) - int(b[0])
		default:
			a, b = a[1:], b[1:]
		}
	}
	return len(a) - len(b)
}

func digits(s string) int {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	return i
}

func compareNumbers(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}
