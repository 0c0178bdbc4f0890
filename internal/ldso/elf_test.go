package ldso_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"cudacompat/internal/ldso"
)

// memFS is a tree of files without links; those that are not in files are made by generate.
type memFS struct {
	files    map[string][]byte
	generate func(name string) []byte
}

type memFile struct{ *bytes.Reader }

func (memFile) Close() error { return nil }

func (t memFS) Open(name string) (ldso.File, error) {
	b, ok := t.files[path.Clean(name)]
	if !ok && t.generate != nil {
		b, ok = t.generate(name), true
	}
	if !ok {
		return nil, fs.ErrNotExist
	}
	return memFile{bytes.NewReader(b)}, nil
}

func (t memFS) Resolve(name string) (string, error)        { return path.Clean(name), nil }
func (t memFS) ReadDir(name string) ([]fs.DirEntry, error) { return nil, fs.ErrNotExist }

// entry is one of a dynamic section; text, if there is one, is put into the string table.
type entry struct {
	tag   elf.DynTag
	value uint64
	text  string
}

const (
	phoff  = 64
	dynoff = phoff + 2*56
)

// makeELF returns a library for x86-64 of nothing but a dynamic section, all of it mapped at its offset.
func makeELF(entries ...entry) []byte {
	strings := []byte{0}
	var dynamic []elf.Dyn64
	for _, e := range entries {
		if e.text != "" {
			e.value = uint64(len(strings))
			strings = append(append(strings, e.text...), 0)
		}
		dynamic = append(dynamic, elf.Dyn64{Tag: int64(e.tag), Val: e.value})
	}
	stroff := uint64(dynoff + 16*(len(dynamic)+2))
	dynamic = append(dynamic, elf.Dyn64{Tag: int64(elf.DT_STRTAB), Val: stroff}, elf.Dyn64{})
	header := elf.Header64{
		Ident: [16]byte{0x7f, 'E', 'L', 'F', 2, 1, 1}, Type: uint16(elf.ET_DYN), Machine: uint16(elf.EM_X86_64), Version: 1,
		Phoff: phoff, Ehsize: phoff, Phentsize: 56, Phnum: 2,
	}
	size := stroff + uint64(len(strings))
	segments := []elf.Prog64{
		{Type: uint32(elf.PT_LOAD), Filesz: size, Memsz: size},
		{Type: uint32(elf.PT_DYNAMIC), Off: dynoff, Vaddr: dynoff, Filesz: stroff - dynoff},
	}
	var b bytes.Buffer
	for _, part := range []any{header, segments, dynamic, strings} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			panic(err)
		}
	}
	return b.Bytes()
}

func readELF(b []byte) (*ldso.ELF, error) { return ldso.Read(memFile{bytes.NewReader(b)}) }

func TestRead(t *testing.T) {
	long := strings.Repeat("/a/long/directory:", 3000) // beyond one block
	for _, c := range []struct {
		name    string
		entries []entry
		want    ldso.ELF
	}{
		{"nothing", nil, ldso.ELF{}},
		{
			"names", []entry{{elf.DT_NEEDED, 0, "libb.so"}, {elf.DT_SONAME, 0, "liba.so"}, {elf.DT_NEEDED, 0, "libc.so.6"},
				{elf.DT_RPATH, 0, long}},
			ldso.ELF{Soname: "liba.so", Needed: []string{"libb.so", "libc.so.6"}, RPath: long},
		},
		{"rpath-and-runpath", []entry{{elf.DT_RPATH, 0, "/a"}, {elf.DT_RUNPATH, 0, "/b"}}, ldso.ELF{RunPath: "/b"}},
		{"rpath-and-empty-runpath", []entry{{elf.DT_RPATH, 0, "/a"}, {elf.DT_RUNPATH, 0, ""}}, ldso.ELF{}},
		{"last-soname-counts", []entry{{elf.DT_SONAME, 0, "a"}, {elf.DT_SONAME, 0, "b"}}, ldso.ELF{Soname: "b"}},
		{"after-the-end", []entry{{elf.DT_NULL, 0, ""}, {elf.DT_NEEDED, 0, "libb.so"}}, ldso.ELF{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := readELF(makeELF(c.entries...))
			if err != nil {
				t.Fatal(err)
			}
			c.want.Machine, c.want.Type = elf.EM_X86_64, elf.ET_DYN
			if diff := cmp.Diff(&c.want, got, cmpopts.IgnoreUnexported(ldso.ELF{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadRefuses(t *testing.T) {
	good := makeELF(entry{elf.DT_NEEDED, 0, "libb.so"}, entry{elf.DT_SONAME, 0, "liba.so"}, entry{elf.DT_RUNPATH, 0, "/a"})
	if _, err := readELF(good); err != nil {
		t.Fatal(err)
	}
	const load, dynamic = phoff, phoff + 56
	put := func(at int, value ...byte) []byte {
		b := bytes.Clone(good)
		copy(b[at:], value)
		return b
	}
	most := bytes.Repeat([]byte{0xff}, 8)
	for _, c := range []struct {
		name string
		b    []byte
		want string
	}{
		{"empty", nil, "file too short"},
		{"short", good[:63], "file too short"},
		{"text", []byte(strings.Repeat("#!/bin/sh\n", 10)), "invalid ELF header"},
		{"32-bit", put(4, 1), "wrong ELF class"},
		{"big-endian", put(5, 2), "not little-endian"},
		{"version", put(20, 9), "version"},
		{"osabi", put(7, 9), "OS ABI"},
		{"object-file", put(16, 1), "only ET_DYN and ET_EXEC"},
		{"phentsize", put(54, 1), "phentsize"},
		{"phoff", put(32, most...), "program headers: a table lies outside the file"},
		{"phoff-wraps", put(32, 0xe0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff),
			"program headers: a table lies outside the file"},
		{"phnum", put(56, 0xff, 0xff), "65535 program headers"},
		{"dynamic-offset", put(dynamic+8, most...), "dynamic section: a table lies outside the file"},
		{"dynamic-size", put(dynamic+32, most...), "a dynamic section of 18446744073709551615 bytes"},
		{"dynamic-size-outside", put(dynamic+32, 0, 0x20), "dynamic section: a table lies outside the file"},
		{"needed-outside", put(dynoff+8, most...), "DT_NEEDED: a table lies outside the file"},
		{"soname-outside", put(dynoff+16+8, 0xff, 0xff), "DT_SONAME: a table lies outside the file"},
		{"runpath-outside", put(dynoff+32+8, 0xff, 0xff), "DT_RUNPATH: a table lies outside the file"},
		{"strings-unmapped", put(dynoff+48+8, most...), "DT_STRTAB: a table lies outside the file"},
		{"segment-outside", put(load+8, 0, 0, 0, 0, 1), "the file is cut off"},
		{"segment-wraps", put(load+8, most...), "the file is cut off"},
		{"string-without-end", good[:len(good)-1], "has no end"},
		{"long-name", makeELF(entry{elf.DT_NEEDED, 0, strings.Repeat("x", 1<<17)}), "has no end"},
		{"many-entries", makeELF(make([]entry, 1<<15)...), "a dynamic section of"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := readELF(c.b)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

// TestReadTruncated reads every beginning of a library: an error or less, but an answer.
func TestReadTruncated(t *testing.T) {
	w := newTree(t, false)
	w.build(library{path: "/libx.so", needs: "liby.so", flags: runpath + "/a",
		source: "extern int f(void); int user(void) { return f(); }"})
	b, err := os.ReadFile(w.dir + "/libx.so")
	if err != nil {
		t.Fatal(err)
	}
	for n := range b {
		exercise(t, b[:n])
	}
}

// TestReadSparse reads a library that claims 100 GB.
func TestReadSparse(t *testing.T) {
	w := newTree(t, false)
	w.build(library{path: "/libx.so", source: "extern int f(void); int user(void) { return f(); }"})
	if err := os.Truncate(w.dir+"/libx.so", 100<<30); err != nil {
		t.Skip(err)
	}
	p, err := w.resolver().Host()
	if err != nil {
		t.Fatal(err)
	}
	o, err := p.Open(w.dir+"/libx.so", nil, ldso.Local)
	if err != nil || o == nil {
		t.Fatal(err, p.Missing)
	}
	if diff := cmp.Diff([]string{"f"}, missing(t, p, o)); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
}

// exercise loads a library of any content and looks at all of it.
func exercise(t testing.TB, b []byte) {
	t.Helper()
	r := &ldso.Resolver{FS: memFS{files: map[string][]byte{"/lib/libx.so": b}}, Machine: elf.EM_X86_64,
		LibraryPath: []string{"/lib"}}
	p, err := r.Host()
	if err != nil {
		t.Fatal(err)
	}
	o, err := p.Open("libx.so", nil, ldso.Local)
	if o == nil {
		if err == nil && len(p.Missing) != 1 {
			t.Errorf("not loaded, and missing %v", p.Missing)
		}
		return
	}
	_, symbols := p.MissingSymbols(o, nil)
	_, versions := p.MissingVersions(o)
	for _, err := range []error{symbols, versions} {
		if err != nil && (len(err.Error()) > 300 || strings.Contains(err.Error(), "\n")) {
			t.Errorf("error %q", err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(makeELF(entry{elf.DT_NEEDED, 0, "libb.so"}, entry{elf.DT_SONAME, 0, "libx.so"},
		entry{elf.DT_RPATH, 0, "$ORIGIN/../${LIB}:"}))
	f.Add(compile(f, "extern int f(void); int user(void) { return f(); }", "-shared", "-fPIC", "-nostdlib", "-s"))
	f.Add(compile(f, "extern int f(void); int user(void) { return f(); }", "-shared", "-fPIC", "-s",
		"-Wl,--hash-style=sysv"))
	f.Fuzz(func(t *testing.T, b []byte) {
		start := time.Now()
		exercise(t, b)
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

// TestBounds loads libraries that never end.
func TestBounds(t *testing.T) {
	needs := func(names ...string) []byte {
		var entries []entry
		for _, name := range names {
			entries = append(entries, entry{elf.DT_NEEDED, 0, name})
		}
		return makeELF(entries...)
	}
	many := make([]string, 8000)
	for i := range many {
		many[i] = fmt.Sprintf("lib%d.so", i)
	}
	for _, c := range []struct {
		name     string
		generate func(name string) []byte
		dirs     []string
	}{
		{"each-needs-another", func(name string) []byte { return needs("x" + path.Base(name)) }, []string{"/a"}},
		{"each-needs-many", func(string) []byte { return needs(many...) }, []string{"/a"}},
		{"none-is-there", nil, strings.Split(strings.Repeat("/a:", 1000), ":")},
	} {
		t.Run(c.name, func(t *testing.T) {
			fsys := memFS{files: map[string][]byte{"/libx.so": needs(many...)}, generate: c.generate}
			p, err := (&ldso.Resolver{FS: fsys, Machine: elf.EM_X86_64, LibraryPath: c.dirs}).Host()
			if err != nil {
				t.Fatal(err)
			}
			_, err = p.Open("/libx.so", nil, ldso.Local)
			if err == nil || !strings.Contains(err.Error(), "more than 4096 objects") {
				t.Errorf("error %v, want a bound", err)
			}
			if len(p.Objects) > 4096 {
				t.Errorf("%d objects", len(p.Objects))
			}
		})
	}
}

// endlessFile is a library of 1 TB that, after the beginning, contains only undefined symbols with one long name.
type endlessFile struct{ head []byte }

func (f endlessFile) Close() error { return nil }
func (f endlessFile) Size() int64  { return 1 << 40 }

func (f endlessFile) ReadAt(b []byte, off int64) (int, error) {
	symbol := make([]byte, 24)
	symbol[0], symbol[4] = 1, byte(elf.STB_GLOBAL)<<4
	for i := range b {
		if at := off + int64(i); at < int64(len(f.head)) {
			b[i] = f.head[at]
		} else {
			b[i] = symbol[at%24]
		}
	}
	return len(b), nil
}

type endlessFS struct {
	memFS
	file endlessFile
}

func (t endlessFS) Open(string) (ldso.File, error) { return t.file, nil }

func TestMissingSymbolsBound(t *testing.T) {
	const symbols = 24 << 20
	long := entry{elf.DT_NULL, 0, strings.Repeat("x", 60000)}
	table := entry{elf.DT_SONAME, 0, "\x01\x01\x01\x01\xff\xff\xff\x01"} // DT_HASH: buckets, symbols
	b := makeELF(entry{elf.DT_SYMTAB, symbols, ""}, entry{elf.DT_HASH, 0, ""}, entry{elf.DT_DEBUG, 0, long.text}, table)
	binary.LittleEndian.PutUint64(b[dynoff+16+8:], uint64(bytes.Index(b, []byte(table.text))))
	binary.LittleEndian.PutUint64(b[phoff+32:], 1<<40) // all of it is mapped
	p, err := (&ldso.Resolver{FS: endlessFS{file: endlessFile{b}}, Machine: elf.EM_X86_64}).Host()
	if err != nil {
		t.Fatal(err)
	}
	o, err := p.Open("/libx.so", nil, ldso.Local)
	if o == nil {
		t.Fatal(err, p.Missing)
	}
	_, err = p.MissingSymbols(o, nil)
	if err == nil || !strings.Contains(err.Error(), "lead round in circles") {
		t.Errorf("error %v, want a bound", err)
	}
}
