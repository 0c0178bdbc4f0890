package kernel

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"

	"cudacompat/probe/host"
)

// The parts of a journal that are read (systemd's journal-def.h): a header, and objects one after the other, each on
// a multiple of eight bytes with its kind and size in front.
const (
	journalMagic  = "LPKSHHRH"
	journalCap    = 256 << 20 // journald begins a new file at 128 MB
	compactForm   = 1 << 4    // HEADER_INCOMPATIBLE_COMPACT
	dataObject    = 1
	entryObject   = 3
	objectHeader  = 16
	objectsPacked = 7 // flags of an object's compression: xz, lz4, zstd
	entryBoot     = 40
	entryItems    = 64
)

var errNoJournal = errors.New("not a journal")

// readJournal returns the driver's messages that the kernel logged in the last boot in a journal file, and that boot's
// id, 32 hexadecimal digits.
func readJournal(h *host.Host, name string) (messages []string, boot string, err error) {
	f, err := h.Open(name)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() > journalCap {
		return nil, "", err
	}
	messages, boot, err = parseJournal(f, info.Size())
	if err != nil {
		return nil, "", host.Damaged(name, err.Error())
	}
	return messages, boot, nil
}

// journal collects the relevant fields of a journal file by their offsets while its objects are read.
type journal struct {
	r        io.ReaderAt
	boot     []byte
	compact  bool
	messages map[uint64]string // MESSAGE=NVRM: …
	kernel   uint64            // _TRANSPORT=kernel
	found    []string
}

// parseJournal walks over the objects of a journal file. A field precedes the first entry that refers to it. Long
// values are compressed; none of the driver's are that long.
func parseJournal(r io.ReaderAt, size int64) (messages []string, boot string, err error) {
	var head [208]byte
	if _, err := r.ReadAt(head[:], 0); err != nil || string(head[:8]) != journalMagic {
		return nil, "", errNoJournal
	}
	le := binary.LittleEndian
	j := journal{r: &window{r: r, size: size}, boot: head[56:72], compact: le.Uint32(head[12:])&compactForm != 0,
		messages: map[uint64]string{}}
	at, last := le.Uint64(head[88:]), le.Uint64(head[136:])
	for at >= 208 && at <= last && at < uint64(size) {
		n := j.object(at)
		if n < objectHeader || n > uint64(size) {
			break
		}
		at = (at + n + 7) &^ 7
	}
	return j.found, hex.EncodeToString(j.boot), nil
}

// object reads the object at an offset and returns its size.
func (j *journal) object(at uint64) uint64 {
	var head [objectHeader]byte
	if _, err := j.r.ReadAt(head[:], int64(at)); err != nil {
		return 0
	}
	size := binary.LittleEndian.Uint64(head[8:])
	switch {
	case head[0] == dataObject && head[1]&objectsPacked == 0:
		j.addField(at, size)
	case head[0] == entryObject && len(j.messages) > 0:
		j.addEntry(at, size)
	}
	return size
}

// addField keeps a field such as "MESSAGE=NVRM: Xid (PCI:0000:00:1e): 79, …".
func (j *journal) addField(at, size uint64) {
	start := uint64(64)
	if j.compact {
		start = 72
	}
	const longest = 1 << 10 // of a field that matters
	if size <= start || size > start+longest {
		return
	}
	value := make([]byte, size-start)
	if _, err := j.r.ReadAt(value, int64(at+start)); err != nil {
		return
	}
	if text, ok := bytes.CutPrefix(value, []byte("MESSAGE=")); ok && bytes.HasPrefix(text, []byte("NVRM: ")) {
		j.messages[at] = string(text)
	} else if string(value) == "_TRANSPORT=kernel" {
		j.kernel = at
	}
}

// addEntry adds the message of an entry if the kernel itself wrote it in the last boot. Anyone who may log can write
// the same words.
func (j *journal) addEntry(at, size uint64) {
	const longest = 64 << 10 // some forty fields of 16 bytes
	if size < entryItems || size > longest {
		return
	}
	entry := make([]byte, size)
	if _, err := j.r.ReadAt(entry, int64(at)); err != nil || !bytes.Equal(entry[entryBoot:entryBoot+16], j.boot) {
		return
	}
	text, kernel := "", false
	item := func(place uint64) {
		if message, ok := j.messages[place]; ok {
			text = message
		}
		kernel = kernel || place == j.kernel && place != 0
	}
	if j.compact {
		for items := entry[entryItems:]; len(items) >= 4; items = items[4:] {
			item(uint64(binary.LittleEndian.Uint32(items)))
		}
	} else {
		for items := entry[entryItems:]; len(items) >= 16; items = items[16:] {
			item(binary.LittleEndian.Uint64(items))
		}
	}
	if text != "" && kernel {
		j.found = append(j.found, text)
	}
}

// window reads a file in large blocks, because a journal's objects are small and adjacent.
type window struct {
	r    io.ReaderAt
	size int64
	at   int64
	data []byte
}

func (w *window) ReadAt(p []byte, off int64) (int, error) {
	if off < w.at || off+int64(len(p)) > w.at+int64(len(w.data)) {
		if w.data == nil {
			w.data = make([]byte, 256<<10)
		}
		w.data = w.data[:cap(w.data)]
		n, err := w.r.ReadAt(w.data, off)
		if n < len(p) {
			w.data = w.data[:0]
			return 0, errors.Join(err, io.ErrUnexpectedEOF)
		}
		w.at, w.data = off, w.data[:n]
	}
	return copy(p, w.data[off-w.at:]), nil
}
