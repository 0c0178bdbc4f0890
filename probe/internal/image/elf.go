package image

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"

	"cudacompat/internal/ldso"
	"cudacompat/probe/internal/libversion"
)

// A program or library is read once, and the position of its tables is known late, because the section table is at its
// end. So parts that may be needed go to a scratch file, and those that are needed are kept from there.
const (
	chunk = 256 << 10 // read at a time
	ahead = 16 << 10  // bytes behind what is looked at that are at hand, unless the file ends

	// From the beginning on, where linkers put the tables of the loader: behind them is code, or in a segment of its
	// own. libtensorflow_cc.so.2 2.20.0 has 120 MB of them.
	mixedCaught = 32 << 20
	plainCaught = 128 << 20
	// Of a segment, and of one that has the dynamic table and no .bss: patchelf puts the tables that it writes into one of
	// their own. libcusparseLt.so.0 0.7.1 has 27 MB of them; libcurand.so.10 10.3.9.90 has 21 MB of numbers and its .bss
	// beside the dynamic table.
	loadCaught    = 8 << 20
	dynamicCaught = 48 << 20
	tailCaught    = 1 << 20   // before the end, and before the section table: where the names of the sections stand
	maxTexts      = 8 << 20   // of PTX
	maxCaught     = 256 << 20 // of one file

	headKept  = 16 << 10
	tableRead = 4 << 10  // a table is read in blocks of this size, also its last bytes
	textRead  = 64 << 10 // and a long name of a symbol in one of up to this size
	readAhead = 128      // likewise a header of a fat binary

	maxRanges = 1 << 17 // of one file
)

var le = binary.LittleEndian

// begin is the start of a fat binary's container: its magic, its version and the size of its header. The bytes after
// the first are rarer than the first.
var begin = []byte("\x50\xed\x55\xba\x01\x00\x10\x00")

// banners are the texts that are looked for among the constants of libraries; bannerKept bytes from their beginning
// on are enough for all.
var banners = [][]byte{[]byte("NCCL version "), []byte("Cuda compilation tools"), []byte("libcublas.so."),
	[]byte("GNU C Library ")}

const bannerKept = 320

// span is a part of a file.
type span struct{ off, end int64 }

// watcher reads one ELF file as it goes by.
type watcher struct {
	size    int64
	scratch *store
	caught  []piece // in the scratch store
	fill    int64   // bytes of it
	loaded  int64   // where the last segment ends
	front   int64   // where the tables at the file's beginning end at the latest
	want    []span  // still to be caught, in order and apart
	keep    []span  // to be kept in any case
	texts   []span  // beginnings of PTX texts, to be kept where no section for fat binaries has them
	entries []span  // fat-binary entries whose header has not come by, each to the end of its container
	text    int64   // bytes of texts
	spilled bool    // more was wanted than is caught
}

// elfFile keeps what is needed of an ELF file.
func (s *shelf) elfFile(name string, r io.Reader, size int64) ([]piece, bool, error) {
	if s.scratch == nil {
		var err error
		if s.scratch, err = newStore(maxScratch); err != nil {
			return nil, false, err
		}
		s.scratch.most = scratchPlain
	}
	s.scratch.reset()
	w := &watcher{size: size, scratch: s.scratch}
	w.wants(size-tailCaught, size)
	if err := w.watch(r, s.buffer); err != nil {
		return nil, false, err
	}
	pieces, err := w.settle(name, s.store)
	return pieces, w.spilled, err
}

// wants catches a part of the file that has not gone by.
func (w *watcher) wants(off, end int64) {
	off, end = max(off, 0), min(end, w.size)
	if off >= end {
		return
	}
	if len(w.want) >= maxRanges {
		w.spilled = true
		return
	}
	i, _ := slices.BinarySearchFunc(w.want, off, func(s span, off int64) int {
		if s.end < off {
			return -1
		}
		return 1
	})
	j := i
	for ; j < len(w.want) && w.want[j].off <= end; j++ {
		off, end = min(off, w.want[j].off), max(end, w.want[j].end)
	}
	w.want = slices.Replace(w.want, i, j, span{off, end})
}

// keeps is wants for what is kept in any case.
func (w *watcher) keeps(off, end int64) {
	if len(w.keep) >= maxRanges {
		w.spilled = true
		return
	}
	w.keep = append(w.keep, span{off, end})
	w.wants(off, end)
}

// watch lets the file go by.
func (w *watcher) watch(r io.Reader, buffer []byte) error {
	have := 0
	for pos := int64(0); pos < w.size; {
		n, err := io.ReadFull(r, buffer[have:min(int64(len(buffer)), w.size-pos)])
		have += n
		if err != nil {
			return cutShort(err)
		}
		if pos == 0 {
			w.head(buffer[:have])
		}
		done := have
		if pos+int64(have) < w.size {
			done -= ahead
		}
		w.look(buffer[:have], pos, done)
		if err := w.catch(buffer[:done], pos); err != nil {
			return err
		}
		pos += int64(done)
		have = copy(buffer, buffer[done:have])
	}
	return nil
}

// head requests the parts that the header and the program headers name.
func (w *watcher) head(b []byte) {
	w.keeps(0, headKept)
	if len(b) < 64 || b[elf.EI_CLASS] != byte(elf.ELFCLASS64) || b[elf.EI_DATA] != byte(elf.ELFDATA2LSB) {
		return
	}
	if off := le.Uint64(b[40:]); off < uint64(w.size) {
		w.wants(int64(off)-tailCaught, int64(off))
	}
	w.keepsTable(le.Uint64(b[40:]), le.Uint16(b[58:]), le.Uint16(b[60:]))
	w.keepsTable(le.Uint64(b[32:]), le.Uint16(b[54:]), le.Uint16(b[56:]))
	w.front = mixedCaught
	segments := w.segments(b)
	dynamic := slices.IndexFunc(segments, func(s segment) bool { return s.kind == elf.PT_DYNAMIC })
	for _, s := range segments {
		size := s.end - s.off
		switch s.kind {
		case elf.PT_LOAD:
			if s.off == 0 && s.flags&elf.PF_X == 0 {
				w.front = min(plainCaught, size) // code has a segment of its own
			}
			w.loaded = max(w.loaded, s.end)
			limit := int64(loadCaught)
			if dynamic >= 0 && s.off <= segments[dynamic].off && segments[dynamic].off < s.end && s.memory == size {
				limit = dynamicCaught
			}
			if size <= limit {
				w.wants(s.off, s.end)
			}
		case elf.PT_DYNAMIC, elf.PT_NOTE, elf.PT_INTERP:
			if size <= loadCaught {
				w.keeps(s.off, s.end+tableRead)
			}
		}
	}
}

// segment is the content of a program header.
type segment struct {
	span
	memory int64 // what it takes when it is loaded, with its .bss
	kind   elf.ProgType
	flags  elf.ProgFlag
}

// segments returns those of which b, the file's beginning, has the headers.
func (w *watcher) segments(b []byte) (list []segment) {
	at := le.Uint64(b[32:])
	for range le.Uint16(b[56:]) {
		if at > uint64(len(b)) || uint64(len(b))-at < 56 {
			break
		}
		p := b[at:]
		at += 56
		off, size := int64(le.Uint64(p[8:])), int64(le.Uint64(p[32:]))
		if off >= 0 && size >= 0 && off <= w.size {
			list = append(list, segment{span{off, off + size}, int64(le.Uint64(p[40:])), elf.ProgType(le.Uint32(p)), elf.ProgFlag(le.Uint32(p[4:]))})
		}
	}
	return list
}

func (w *watcher) keepsTable(off uint64, entry, count uint16) {
	if size := int64(entry) * int64(count); off < uint64(w.size) {
		w.keeps(int64(off), int64(off)+size+tableRead)
	}
}

// look finds fat binaries and banners among the first bytes of b, which stand at pos.
func (w *watcher) look(b []byte, pos int64, done int) {
	for from := 0; from < done; {
		i := bytes.Index(b[from:min(done+len(begin)-1, len(b))], begin[1:])
		if i < 0 {
			break
		}
		if from += i; from > 0 && b[from-1] == begin[0] {
			w.container(b[from-1:], pos+int64(from-1))
		}
		from += len(begin) - 1
	}
	w.names(b, pos)
	for _, text := range banners {
		for from := 0; from < done; {
			i := bytes.Index(b[from:min(done+len(text)-1, len(b))], text)
			if i < 0 {
				break
			}
			from += i
			w.keeps(pos+int64(from), pos+int64(from+bannerKept))
			from += len(text)
		}
	}
	for len(w.entries) > 0 && w.entries[0].off < pos+int64(done) {
		e := w.entries[0]
		w.entries = w.entries[1:]
		w.entry(b[e.off-pos:], e)
	}
}

// sectionNames is a name that every table of section names has.
var sectionNames = []byte("\x00.shstrtab\x00")

// names requests the table of section names, which follows the segments. In some libraries, the symbols come after it.
// A table of names inside a segment belongs to an embedded cubin, which is an ELF file itself, and is ignored. It
// searches all of b, because it also needs the bytes before a match.
func (w *watcher) names(b []byte, pos int64) {
	for from := 0; ; {
		i := bytes.Index(b[from:], sectionNames)
		if i < 0 {
			return
		}
		from += i
		if at := pos + int64(from); at >= w.loaded {
			w.wants(max(pos, at-ahead/2), at+ahead/2)
		}
		from += len(sectionNames)
	}
}

// container requests the header of a fat binary's container, and then the headers of its entries.
func (w *watcher) container(b []byte, off int64) {
	first := off + 16
	w.front = min(w.front, max(off, headKept)) // the tables come before
	w.keeps(off, first+readAhead)
	if len(b) < 16 {
		return
	}
	if size := le.Uint64(b[8:]); size <= uint64(w.size-first) {
		w.expect(span{first, first + int64(size)})
	}
}

// expect notes an entry that will come by.
func (w *watcher) expect(e span) {
	i, have := slices.BinarySearchFunc(w.entries, e, func(a, b span) int { return int(min(max(a.off-b.off, -1), 1)) })
	switch {
	case e.end-e.off < 64 || have:
	case len(w.entries) >= maxRanges:
		w.spilled = true
	default:
		w.entries = slices.Insert(w.entries, i, e)
	}
}

// Offsets in an entry's header (package fatbin): the kind of PTX, the architecture and the flags.
const (
	kindPTX     = 1
	entryArch   = 28
	entryFlags  = 40
	flagsSuffix = 1<<20 | 1<<21
	flagZstd    = 1 << 15
	textKept    = 512     // of a text, plain or packed by LZ4: what package fatbin reads
	zstdKept    = 8 << 10 // what unpacks the first words of one by zstd: it has mostly a kilobyte
)

// entry wants the header of an entry and what follows it.
func (w *watcher) entry(b []byte, e span) {
	w.keeps(e.off, e.off+readAhead)
	if len(b) < 64 {
		return
	}
	head, payload, room := uint64(le.Uint32(b[4:])), le.Uint64(b[8:]), uint64(e.end-e.off)
	if head < 64 || head > room || payload > room-head {
		return
	}
	first := e.off + int64(head)
	if le.Uint16(b) == kindPTX && le.Uint32(b[entryArch:]) >= 90 && le.Uint64(b[entryFlags:])&flagsSuffix == 0 {
		kept := int64(textKept)
		if le.Uint64(b[entryFlags:])&flagZstd != 0 {
			kept = zstdKept
		}
		text := span{first, first + min(int64(payload), kept)}
		if w.text += text.end - text.off; w.text <= maxTexts {
			w.texts = append(w.texts, text)
			w.wants(text.off, text.end)
		}
	}
	w.expect(span{first + int64(payload), e.end})
}

// catch writes what is wanted of the bytes at pos into the scratch file.
func (w *watcher) catch(b []byte, pos int64) error {
	end := pos + int64(len(b))
	w.wants(pos, min(end, w.front))
	for len(w.want) > 0 && w.want[0].off < end {
		from, to := max(w.want[0].off, pos), min(w.want[0].end, end)
		if from < to && w.fill+to-from <= maxCaught {
			at, err := w.scratch.add(b[from-pos : to-pos])
			switch {
			case errors.Is(err, errFull):
				w.spilled = true
			case err != nil:
				return err
			default:
				w.caught = appendPiece(w.caught, piece{from, to - from, at})
				w.fill += to - from
			}
		} else if from < to {
			w.spilled = true
		}
		if w.want[0].end > end {
			w.want[0].off = end
			break
		}
		w.want = w.want[1:]
	}
	return nil
}

// settle moves what is needed into the store.
func (w *watcher) settle(name string, to *store) ([]piece, error) {
	tables, fatbins := w.tables()
	keep := append(w.keep, tables...)
	for _, text := range w.texts {
		if !slices.ContainsFunc(fatbins, func(s span) bool { return s.off <= text.off && text.off < s.end }) {
			keep = append(keep, text)
		}
	}
	keep = append(keep, w.numbers(name)...)
	var pieces []piece
	buffer := make([]byte, chunk)
	next := 0 // of what was caught
	for _, s := range mergeSpans(keep) {
		for next < len(w.caught) && w.caught[next].off+w.caught[next].n <= s.off {
			next++
		}
		for _, c := range w.caught[next:] {
			if c.off >= s.end {
				break
			}
			from, end := max(s.off, c.off), min(s.end, c.off+c.n)
			for from < end {
				b := buffer[:min(end-from, chunk)]
				if err := w.scratch.readAt(b, c.at+from-c.off); err != nil {
					return nil, err
				}
				at, err := to.add(b)
				if err != nil {
					return nil, err
				}
				pieces = appendPiece(pieces, piece{from, int64(len(b)), at})
				from += int64(len(b))
			}
		}
	}
	return pieces, nil
}

// appendPiece appends a piece, joining it to the last one if it continues that.
func appendPiece(list []piece, p piece) []piece {
	if last := len(list) - 1; last >= 0 && list[last].off+list[last].n == p.off && list[last].at+list[last].n == p.at {
		list[last].n += p.n
		return list
	}
	return append(list, p)
}

// mergeSpans returns spans in order, apart from one another.
func mergeSpans(list []span) []span {
	slices.SortFunc(list, func(a, b span) int { return int(min(max(a.off-b.off, -1), 1)) })
	var all []span
	for _, s := range list {
		if last := len(all) - 1; last >= 0 && s.off <= all[last].end {
			all[last].end = max(all[last].end, s.end)
		} else {
			all = append(all, s)
		}
	}
	return all
}

// tables returns the sections that the loader reads, and those with only fat binaries.
func (w *watcher) tables() (tables, fatbins []span) {
	file, err := w.sections()
	if err != nil || len(file.Sections) == 0 {
		return []span{{0, loadCaught}}, nil // without a section table: where compilers put them
	}
	relative := uint64(0) // relocations that name no symbol, which come first
	if d := file.SectionByType(elf.SHT_DYNAMIC); d == nil || d.FileSize > tailCaught {
		// none of ours
	} else if values, err := file.DynValue(elf.DynTag(0x6ffffff9)); err == nil && len(values) > 0 {
		relative = values[0]
	}
	for _, s := range file.Sections {
		one := span{int64(s.Offset), int64(s.Offset + s.FileSize)}
		if one.off < 0 || one.end < one.off {
			continue
		}
		switch s.Type {
		case elf.SHT_RELA:
			if s.Name == ".rela.dyn" && relative <= s.FileSize/24 {
				one.off += int64(relative) * 24
			}
		case elf.SHT_STRTAB:
			if s.Flags&elf.SHF_ALLOC == 0 && s.Name != ".shstrtab" {
				continue
			}
			one.end += w.nameRead(one)
		case elf.SHT_DYNSYM, elf.SHT_HASH, elf.SHT_GNU_HASH, elf.SHT_DYNAMIC, elf.SHT_NOTE, elf.SHT_GNU_VERSYM,
			elf.SHT_GNU_VERDEF, elf.SHT_GNU_VERNEED:
		case elf.SHT_PROGBITS:
			if strings.Contains(s.Name, "fatbin") {
				fatbins = append(fatbins, one)
			}
			continue
		default:
			continue
		}
		tables = append(tables, span{one.off, one.end + tableRead})
	}
	return tables, fatbins
}

// nameRead returns how much behind a table of names can be read with its last ones, beyond tableRead: a name is read
// with 64 bytes, and with four times as many until it ends in them (package ldso).
func (w *watcher) nameRead(table span) int64 {
	names := make([]byte, min(table.end-table.off, textRead))
	if _, err := w.ReadAt(names, table.end-int64(len(names))); err != nil && !errors.Is(err, io.EOF) {
		return textRead
	}
	longest := 0
	for name := range bytes.SplitSeq(names, []byte{0}) {
		longest = max(longest, len(name))
	}
	read := int64(64)
	for read <= int64(longest) {
		read *= 4
	}
	if read <= tableRead {
		return 0
	}
	return read
}

var errLargeNames = errors.New("its section names are larger than any known")

// sections returns the file's section table, unless it would take much memory.
func (w *watcher) sections() (*elf.File, error) {
	var head, section [64]byte
	if _, err := w.ReadAt(head[:], 0); err != nil {
		return nil, err
	}
	at := int64(le.Uint64(head[40:])) + int64(le.Uint16(head[62:]))*64
	if _, err := w.ReadAt(section[:], at); err != nil {
		return nil, err
	}
	if le.Uint64(section[32:]) > tailCaught {
		return nil, errLargeNames
	}
	return elf.NewFile(w)
}

// ReadAt reads what was caught.
func (w *watcher) ReadAt(p []byte, off int64) (int, error) {
	for _, c := range w.caught {
		if off < c.off || off >= c.off+c.n {
			continue
		}
		n := int(min(int64(len(p)), c.off+c.n-off))
		err := w.scratch.readAt(p[:n], c.at+off-c.off)
		if err == nil && n < len(p) {
			err = errNotKept
			if off+int64(n) == w.size {
				err = io.EOF
			}
		}
		return n, err
	}
	return 0, errNotKept
}

func (w *watcher) Size() int64  { return w.size }
func (w *watcher) Close() error { return nil }

// numbers returns the positions of the numbers that a cuDNN library exports.
func (w *watcher) numbers(name string) []span {
	if !strings.HasPrefix(name, "libcudnn") {
		return nil
	}
	r := &recorder{watcher: w}
	for _, symbol := range libversion.CuDNNNumbers {
		_, _, _ = ldso.Number(r, symbol) // what is wrong with it will be said when it is judged
	}
	return r.read
}

// recorder notes what is read of a file.
type recorder struct {
	*watcher
	read []span
}

func (r *recorder) ReadAt(p []byte, off int64) (int, error) {
	r.read = append(r.read, span{off, off + int64(len(p))})
	return r.watcher.ReadAt(p, off)
}
