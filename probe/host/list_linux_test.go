package host

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// TestEntries lists more entries than fit into a block, of every type, and compares the result with package os.
func TestEntries(t *testing.T) {
	dir := t.TempDir()
	for i := range 1000 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("file-%d", i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	if os.Mkdir(filepath.Join(dir, ".d"), 0o755) != nil || os.Symlink("nowhere", filepath.Join(dir, "l\n")) != nil {
		t.Fatal("cannot make a directory and a link")
	}
	for _, name := range []string{dir, "/dev", "/proc/self", "/sys"} {
		got, want := entriesBy(t, name, entriesOf), entriesBy(t, name, namedEntries)
		if len(got) == 0 || !slices.Equal(got, want) {
			t.Errorf("%s: %d entries, want %d:\n%v\n%v", name, len(got), len(want), got, want)
		}
	}
}

func entriesBy(t *testing.T, name string, list func(*os.File, func([]keptEntry) error) ([]keptEntry, error)) []keptEntry {
	dir, err := os.Open(name)
	if err != nil {
		t.Skip(err)
	}
	defer dir.Close()
	all, err := list(dir, func([]keptEntry) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestEntryOfNoKind checks that entries without a type are left to package os, and that invalid ones are not entries.
func TestEntryOfNoKind(t *testing.T) {
	entry := func(kind byte, length uint16) []byte {
		b := make([]byte, 24)
		binary.NativeEndian.PutUint16(b[entryLength:], length)
		b[entryKind] = kind
		copy(b[entryName:], "name")
		return b
	}
	for _, tt := range []struct {
		block []byte
		told  bool
	}{{entry(syscall.DT_REG, 24), true}, {entry(syscall.DT_UNKNOWN, 24), false}, {entry(syscall.DT_REG, 0), false},
		{entry(syscall.DT_REG, 25), false}, {append(entry(syscall.DT_REG, 24), entry(99, 24)...), false}} {
		if _, told := appendEntries(nil, tt.block); told != tt.told {
			t.Errorf("%v: told %v", tt.block, told)
		}
	}
}
