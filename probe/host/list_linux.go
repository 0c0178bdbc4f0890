package host

import (
	"bytes"
	"encoding/binary"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// entriesOf lists a directory without allocating for each name; package os allocates twice. If a file system does not
// give the type of an entry, package os does the listing. It stops when no more entries may be kept.
func entriesOf(dir *os.File, keep func([]keptEntry) error) ([]keptEntry, error) {
	var all []keptEntry
	var block [8 << 10]byte
	for {
		n, err := unix.Getdents(int(dir.Fd()), block[:])
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return all, err
		}
		told, before := false, len(all)
		if all, told = appendEntries(all, block[:n]); !told {
			if _, err := dir.Seek(0, io.SeekStart); err != nil {
				return nil, err
			}
			return namedEntries(dir, keep)
		}
		if full := keep(all[before:]); full != nil {
			return all[:before], full
		}
	}
}

// Offsets in a linux_dirent64 (getdents(2)): its length, its type, and its name, which ends with a zero byte.
const (
	entryLength = 16
	entryKind   = 18
	entryName   = 19
)

// appendEntries appends the entries of a block, whose bytes it moves. told is false if an entry has no type.
func appendEntries(all []keptEntry, block []byte) (_ []keptEntry, told bool) {
	names, first := block[:0], len(all) // a name's new place lies before its old one
	ends := make([]int, 0, len(block)/entryName)
	for at, length := 0, 0; at+entryName < len(block); at += length {
		length = int(binary.NativeEndian.Uint16(block[at+entryLength:]))
		if length <= entryName || length > len(block)-at {
			return all[:first], false
		}
		name, _, _ := bytes.Cut(block[at+entryName:at+length], []byte{0})
		if string(name) == "." || string(name) == ".." {
			continue
		}
		kind, ok := kindOf(block[at+entryKind])
		if !ok {
			return all[:first], false
		}
		names = append(names, name...)
		ends, all = append(ends, len(names)), append(all, keptEntry{kind: kind})
	}
	text, begin := string(names), 0 // one allocation for all
	for i, end := range ends {
		all[first+i].name, begin = text[begin:end], end
	}
	return all, true
}

// kindOf returns what an entry is.
func kindOf(d byte) (kind fs.FileMode, ok bool) {
	switch d {
	case unix.DT_REG:
		return 0, true
	case unix.DT_DIR:
		return fs.ModeDir, true
	case unix.DT_LNK:
		return fs.ModeSymlink, true
	case unix.DT_CHR:
		return fs.ModeDevice | fs.ModeCharDevice, true
	case unix.DT_BLK:
		return fs.ModeDevice, true
	case unix.DT_FIFO:
		return fs.ModeNamedPipe, true
	case unix.DT_SOCK:
		return fs.ModeSocket, true
	}
	return 0, false
}
