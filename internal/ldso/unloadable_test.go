package ldso_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"cudacompat/internal/ldso"
)

// TestUnloadable asks for a library of which there is a file that the loader does not take.
func TestUnloadable(t *testing.T) {
	whole := makeELF(entry{elf.DT_SONAME, 0, "libx.so"})
	put := func(at int, value uint16) []byte {
		b := bytes.Clone(whole)
		binary.LittleEndian.PutUint16(b[at:], value)
		return b
	}
	large := bytes.Clone(whole) // whose one segment has three pages
	binary.LittleEndian.PutUint64(large[phoff+32:], 3*4096)
	for _, c := range []struct {
		name   string
		file   []byte
		reason string
	}{
		{"whole", whole, ""},
		{"empty", nil, "file too short"},
		{"text", []byte(strings.Repeat("INPUT ( libx.so.1 ) ", 10)), "invalid ELF header"},
		{"other-machine", put(18, uint16(elf.EM_AARCH64)), "wrong ELF machine: EM_AARCH64"},
		{"other-class", append([]byte(elf.ELFMAG+"\x01\x01\x01"), make([]byte, 64)...), "wrong ELF class"},
		{"no-dynamic-section", put(56, 1), "object file has no dynamic section"},
		{"cut", append(bytes.Clone(large), make([]byte, 4096)...), "the file is cut off: it has"},
		{"cut-within-a-page", append(bytes.Clone(large), make([]byte, 2*4096)...), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &ldso.Resolver{FS: memFS{files: map[string][]byte{"/lib/libx.so": c.file}}, Machine: elf.EM_X86_64, LibraryPath: []string{"/lib"}}
			p, err := r.Host()
			if err != nil {
				t.Fatal(err)
			}
			o, err := p.Open("libx.so", nil, ldso.Local)
			if err != nil || (o != nil) != (c.reason == "") {
				t.Fatalf("loaded %v, error %v", o, err)
			}
			for _, m := range p.Missing {
				file, reason := m.Unloadable()
				if file != "/lib/libx.so" || !strings.HasPrefix(reason, c.reason) {
					t.Errorf("%q for %q, want %q", file, reason, c.reason)
				}
			}
		})
	}
}

// TestPassedOver checks that the loader skips a file for another machine and takes the next one.
func TestPassedOver(t *testing.T) {
	good := makeELF(entry{elf.DT_SONAME, 0, "libx.so"})
	other := bytes.Clone(good)
	binary.LittleEndian.PutUint16(other[18:], uint16(elf.EM_AARCH64))
	files := map[string][]byte{"/a/libx.so": other, "/b/libx.so": good}
	p, err := (&ldso.Resolver{FS: memFS{files: files}, Machine: elf.EM_X86_64, LibraryPath: []string{"/a", "/b"}}).Host()
	if err != nil {
		t.Fatal(err)
	}
	o, err := p.Open("libx.so", nil, ldso.Local)
	if err != nil || o == nil || o.Path != "/b/libx.so" || len(p.Missing) > 0 {
		t.Errorf("took %v (%v), missing %v", o, err, p.Missing)
	}
	if _, err = p.Open("liby.so", nil, ldso.Local); err != nil {
		t.Fatal(err)
	}
	if file, _ := p.Missing[0].Unloadable(); file != "" {
		t.Errorf("a name that no file bears is unloadable: %s", file)
	}
}

// closedFS is a tree in which this user may not open a file, or look into a directory.
type closedFS struct {
	ldso.FS
	file, dir string
}

func (c closedFS) Open(name string) (ldso.File, error) {
	if name == c.file {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return c.FS.Open(name)
}

func (c closedFS) Resolve(name string) (string, error) {
	if name == c.dir {
		return "", &fs.PathError{Op: "lstat", Path: name, Err: fs.ErrPermission}
	}
	return c.FS.Resolve(name)
}

// TestClosed checks that the loader searches on after a directory it may not read, and that a name it then does not
// find counts as closed.
func TestClosed(t *testing.T) {
	good := makeELF(entry{elf.DT_SONAME, 0, "libx.so"})
	for _, c := range []struct{ name, file, dir, want string }{
		{"file", "/a/libx.so", "", "/a/libx.so"},
		{"directory", "", "/a/", "/a/libx.so"},
		{"further", "/a/libx.so", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := map[string][]byte{"/a/libx.so": good, "/b/other": good}
			if c.want == "" {
				files["/b/libx.so"] = good
			}
			r := &ldso.Resolver{FS: closedFS{memFS{files: files}, c.file, c.dir}, Machine: elf.EM_X86_64, LibraryPath: []string{"/a", "/b"}}
			p, err := r.Host()
			if err != nil {
				t.Fatal(err)
			}
			o, err := p.Open("libx.so", nil, ldso.Local)
			if err != nil || (o == nil) != (c.want != "") {
				t.Fatalf("loaded %v, error %v", o, err)
			}
			for _, m := range p.Missing {
				if file, _ := m.Unloadable(); file != c.want || !m.Closed() {
					t.Errorf("%q, closed %v, want %q", file, m.Closed(), c.want)
				}
			}
		})
	}
}

// brokenFS is a disk of which no file can be opened.
type brokenFS struct{ ldso.FS }

func (brokenFS) Open(name string) (ldso.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EIO}
}

// TestFileThatCannotBeOpened checks that the result is unknown, and that the error names the file once.
func TestFileThatCannotBeOpened(t *testing.T) {
	r := &ldso.Resolver{FS: brokenFS{memFS{}}, Machine: elf.EM_X86_64, LibraryPath: []string{"/lib"}}
	p, err := r.Host()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Open("libx.so", nil, ldso.Local); err != nil || len(p.Missing) != 1 {
		t.Fatalf("missing %v, error %v", p.Missing, err)
	}
	file, _ := p.Missing[0].Unloadable()
	if got := p.Missing[0].Err.Error(); file != "" || got != "open /lib/libx.so: input/output error" {
		t.Errorf("%q is unloadable: %s", file, got)
	}
}
