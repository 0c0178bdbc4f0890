// Package rpmdb lists the packages of an RPM database by reading its files, in each of the three forms that rpm has
// used: SQLite (since 4.16: Fedora 33, RHEL 9, Amazon Linux 2023), ndb (SUSE) and Berkeley DB's hash (before).
//
// No library fits. Those that read SQLite's form bring all of SQLite: modernc.org/sqlite adds 4.2 MB to the binary.
// github.com/anchore/go-rpmdb needs such a driver and opens the file as immutable, so it misses entries in the
// write-ahead log. It reads the other two forms in a goroutine, which can panic or hang on a damaged file, and it locks
// the file that it examines.
package rpmdb

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
)

// Package is one installed package.
type Package struct {
	Name    string
	Version string // "3:580.95.05-1.amzn2023": epoch where there is one, version, release
}

// Limits for a file. A machine has some thousands of packages, and the values that are read are at the beginning of a
// header.
const (
	maxPackages = 1 << 16
	maxPrefix   = 1 << 22
)

// Read lists the packages of a database of size bytes. log is SQLite's write-ahead log, or nil; the latest
// installations may be only there. It returns what was read before an error together with the error.
func Read(db io.ReaderAt, size int64, log io.ReaderAt) ([]Package, error) {
	head := make([]byte, 32)
	if _, err := db.ReadAt(head, 0); err != nil {
		return nil, errors.New("too short for an RPM database")
	}
	headers := readBDB(db, size)
	switch {
	case strings.HasPrefix(string(head), sqliteMagic):
		headers = readSQLite(db, size, log)
	case strings.HasPrefix(string(head), ndbMagic):
		headers = readNDB(db, size)
	}
	var list []Package
	for b, err := range headers {
		if err != nil {
			return list, err
		}
		p, err := parseHeader(b)
		if err != nil {
			return list, fmt.Errorf("package %d: %w", len(list)+1, err)
		}
		if list = append(list, p); len(list) > maxPackages {
			return list, fmt.Errorf("more than %d packages", maxPackages)
		}
	}
	return list, nil
}

// blobs are the headers of a database's packages, one after the other; an error is the last.
type blobs = iter.Seq2[*blob, error]

// blob is the header of one package. Only its beginning is read, because file lists make some headers megabytes long.
type blob struct {
	size int64 // of the whole
	data []byte
	more func() ([]byte, error) // the next piece
}

// prefix returns the first n bytes.
func (b *blob) prefix(n int64) ([]byte, error) {
	if n > min(b.size, maxPrefix) {
		return nil, fmt.Errorf("its header ends after %d bytes", b.size)
	}
	for int64(len(b.data)) < n {
		piece, err := b.more()
		if err != nil {
			return nil, err
		}
		if len(piece) == 0 {
			return nil, fmt.Errorf("its header breaks off after %d bytes", len(b.data))
		}
		b.data = append(b.data, piece...)
	}
	return b.data[:n], nil
}
