// Package hosttest plants the files of a machine for tests.
package hosttest

import (
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"cudacompat/internal/rpmdb/rpmdbtest"
	"cudacompat/probe/host"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
	"golang.org/x/tools/txtar"
)

// Site is the package directory of the environment that tests plant.
const Site = "opt/venv/lib/python3.12/site-packages/"

// Plant unpacks the files of an archive under a fresh directory and returns it. Entries whose names begin with @ are
// the test's own. The name of an entry can say more than a path:
//
//	usr/lib/libcuda.so.1 -> libcuda.so.550.90.07         a symbolic link
//	sys/bus/pci/drivers/nvidia/                          an empty directory
//	lib/x86_64-linux-gnu/libc.so.6 = elf x86_64 .rodata  an ELF file with one section, which holds the lines, each
//	                                                     ended by NUL; compressed when it ends in .gz, .xz or .zst
//	usr/lib/i386-linux-gnu/libcuda.so.1 = elf32          the beginning of a 32-bit ELF file
//	var/lib/rpm/rpmdb.sqlite = rpmdb                     RPM's database of the packages that the lines name
//	run/pipe = fifo
//	etc/ld.so.conf = sparse 40000000                     that many NUL bytes
func Plant(t *testing.T, archive *txtar.Archive) string {
	t.Helper()
	root := t.TempDir()
	for _, f := range archive.Files {
		if !strings.HasPrefix(f.Name, "@") {
			plantOne(t, root, f)
		}
	}
	return root
}

func plantOne(t *testing.T, root string, f txtar.File) {
	t.Helper()
	name, how, _ := strings.Cut(f.Name, " = ")
	name, target, isLink := strings.Cut(name, " -> ")
	file := filepath.Join(root, name)
	Must(t, os.MkdirAll(filepath.Dir(file), 0o755))
	kind := strings.Fields(how)
	switch {
	case isLink:
		Must(t, os.Symlink(target, file))
	case strings.HasSuffix(name, "/"):
		Must(t, os.MkdirAll(file, 0o755))
	case len(kind) == 0 && len(f.Data) == 0 && strings.Contains(name, ".so."):
		Must(t, os.WriteFile(file, EmptyLibrary(t), 0o644))
	case len(kind) == 0:
		Must(t, os.WriteFile(file, f.Data, 0o644))
	case kind[0] == "elf":
		Must(t, os.WriteFile(file, Compressed(t, name, ELF(t, kind[1], kind[2], f.Data)), 0o644))
	case kind[0] == "elf32":
		Must(t, os.WriteFile(file, []byte(elf.ELFMAG+"\x01\x01\x01"), 0o644))
	case kind[0] == "rpmdb":
		db, err := rpmdbtest.SQLite(string(f.Data))
		Must(t, err)
		Must(t, os.WriteFile(file, db, 0o644))
	case kind[0] == "fifo":
		Must(t, syscall.Mkfifo(file, 0o644))
	case kind[0] == "sparse":
		size, err := strconv.ParseInt(kind[1], 10, 64)
		Must(t, err)
		Must(t, os.WriteFile(file, nil, 0o644))
		Must(t, os.Truncate(file, size))
	default:
		t.Fatalf("entry %q: no such kind", f.Name)
	}
}

// EmptyLibrary returns a shared library without anything in it, which the loader takes.
func EmptyLibrary(t testing.TB) []byte {
	t.Helper()
	header := elf.Header64{Type: uint16(elf.ET_DYN), Machine: uint16(elf.EM_X86_64), Version: 1, Ehsize: 64,
		Phentsize: 56}
	copy(header.Ident[:], elf.ELFMAG+"\x02\x01\x01")
	var out bytes.Buffer
	Must(t, binary.Write(&out, binary.LittleEndian, header))
	return out.Bytes()
}

// Must ends the test on an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Entry returns the body of one of the test's own entries, such as "@env".
func Entry(archive *txtar.Archive, name string) (string, bool) {
	i := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == name })
	if i < 0 {
		return "", false
	}
	return string(archive.Files[i].Data), true
}

// Host returns the host in an archive: a tree at rest, or with an @env of NAME=VALUE lines a running machine.
func Host(t *testing.T, archive *txtar.Archive) *host.Host {
	t.Helper()
	root := Plant(t, archive)
	env, live := Entry(archive, "@env")
	if !live {
		h, err := host.Tree(root)
		Must(t, err)
		return h
	}
	h := &host.Host{Root: root, Env: map[string]string{}}
	for line := range strings.Lines(env) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		h.Env[name] = value
	}
	return h
}

// Tree does what Of does for archives that stand in a test.
func Tree(t *testing.T, text string) *host.Host {
	t.Helper()
	return Host(t, txtar.Parse([]byte(text)))
}

var elfMachines = map[string]elf.Machine{"x86_64": elf.EM_X86_64, "aarch64": elf.EM_AARCH64}

// ELF writes a 64-bit little-endian ELF file with one section and its name table: lines become NUL-ended strings.
func ELF(t testing.TB, machine, section string, lines []byte) []byte {
	t.Helper()
	const headerSize, entrySize = 64, 64
	data := bytes.ReplaceAll(lines, []byte("\n"), []byte{0})
	names := "\x00" + section + "\x00.shstrtab\x00"
	at := uint64(headerSize)
	var out bytes.Buffer
	write := func(v any) { Must(t, binary.Write(&out, binary.LittleEndian, v)) }
	header := elf.Header64{Type: uint16(elf.ET_DYN), Machine: uint16(elfMachines[machine]), Version: 1,
		Ehsize: headerSize, Phentsize: 56,
		Shoff: at + uint64(len(data)+len(names)), Shentsize: entrySize, Shnum: 3, Shstrndx: 2}
	copy(header.Ident[:], elf.ELFMAG+"\x02\x01\x01")
	write(header)
	out.Write(data)
	out.WriteString(names)
	write(elf.Section64{})
	write(elf.Section64{Name: 1, Type: uint32(elf.SHT_PROGBITS), Off: at, Size: uint64(len(data)), Addralign: 1})
	write(elf.Section64{Name: uint32(len(section)) + 2, Type: uint32(elf.SHT_STRTAB), Off: at + uint64(len(data)),
		Size: uint64(len(names)), Addralign: 1})
	return out.Bytes()
}

// Compressed packs data as the end of the name says: once in a run of the tests, for a packer of xz takes megabytes.
func Compressed(t testing.TB, name string, data []byte) []byte {
	t.Helper()
	key := filepath.Ext(name) + "\x00" + string(data)
	if packed, ok := compressed.Load(key); ok {
		return packed.([]byte)
	}
	packed := compress(t, filepath.Ext(name), data)
	compressed.Store(key, packed)
	return packed
}

var compressed sync.Map

func compress(t testing.TB, end string, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser
	var err error
	switch end {
	case ".gz":
		w = gzip.NewWriter(&out)
	case ".xz":
		w, err = xz.NewWriter(&out)
	case ".zst":
		w, err = zstd.NewWriter(&out)
	default:
		return data
	}
	Must(t, err)
	_, err = w.Write(data)
	Must(t, err)
	Must(t, w.Close())
	return out.Bytes()
}
