package host

import (
	"encoding/binary"
	"io"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// entriesOf lists a directory without an allocation for each name, of which the os package makes two. A file system
// that does not tell what an entry is leaves that to the os package.
func entriesOf(dir *os.File) ([]listed, error) {
	var all []listed
	var block [8 << 10]byte
	for {
		n, err := unix.Getdents(int(dir.Fd()), block[:])
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return all, err
		}
		told := false
		if all, told = appendEntries(all, block[:n]); !told {
			if _, err := dir.Seek(0, io.SeekStart); err != nil {
				return nil, err
			}
			return namedEntries(dir)
		}
	}
}

// Offsets in a linux_dirent64 (getdents(2)): its length, what it is, and its name, which a zero ends.
const (
	entryLength = 16
	entryKind   = 18
	entryName   = 19
)

// appendEntries adds the entries of a block; told is false where one does not say what it is.
func appendEntries(all []listed, block []byte) (_ []listed, told bool) {
	text := string(block) // of which the names are parts
	for at, length := 0, 0; at+entryName < len(block); at += length {
		length = int(binary.NativeEndian.Uint16(block[at+entryLength:]))
		if length <= entryName || length > len(block)-at {
			return all, false
		}
		name, _, _ := strings.Cut(text[at+entryName:at+length], "\x00")
		if name == "." || name == ".." {
			continue
		}
		kind, ok := kindOf(block[at+entryKind])
		if !ok {
			return all, false
		}
		all = append(all, listed{name, kind})
	}
	return all, true
}

// kindOf is what an entry is.
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
