package bundle

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
)

// Limits for a set of tables, several times those of 2026 (44 files, 1.8 MB, 21,000 lines). A row takes about 1.5 kB of
// memory.
const (
	maxTables  = 6 << 20 // bytes
	maxLines   = 40_000
	maxEntries = 10_000 // of a directory
)

var errSpecial = errors.New("not a regular file")

// Dir returns a directory of tables. Each file is read once, and only as far as tables go; devices and pipes are not
// opened.
func Dir(name string) (fs.FS, error) {
	dir, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(maxEntries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(entries) > maxEntries {
		return nil, fmt.Errorf("more than %d files are in it, which is not a directory of tables", maxEntries)
	}
	return &boundedFS{FS: os.DirFS(name), files: map[string][]byte{}}, nil
}

// boundedFS keeps the files that were read of another file system.
type boundedFS struct {
	fs.FS
	mutex        sync.Mutex
	files        map[string][]byte
	bytes, lines int
}

// Open returns a file that was already read, or reads it. For a directory the file system does the listing.
func (b *boundedFS) Open(name string) (fs.File, error) {
	info, err := fs.Stat(b.FS, name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return b.FS.Open(name)
	}
	data, err := b.read(name, info)
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: name, Err: err}
	}
	return &memoryFile{Reader: bytes.NewReader(data), info: info}, nil
}

func (b *boundedFS) read(name string, info fs.FileInfo) ([]byte, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if data, ok := b.files[name]; ok {
		return data, nil
	}
	if !info.Mode().IsRegular() {
		return nil, errSpecial
	}
	f, err := b.FS.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	left := maxTables - b.bytes
	data, err := io.ReadAll(io.LimitReader(f, int64(left)+1))
	if err != nil {
		return nil, err
	}
	if len(data) > left {
		return nil, fmt.Errorf("the tables are larger than %d MiB in all", maxTables>>20)
	}
	b.bytes, b.lines = b.bytes+len(data), b.lines+bytes.Count(data, []byte("\n"))
	if b.lines > maxLines {
		return nil, fmt.Errorf("the tables have more than %d lines in all", maxLines)
	}
	b.files[name] = data
	return data, nil
}

// memoryFile is an open file of which the bytes are in memory.
type memoryFile struct {
	*bytes.Reader
	info fs.FileInfo
}

func (k *memoryFile) Stat() (fs.FileInfo, error) { return k.info, nil }
func (k *memoryFile) Close() error               { return nil }
