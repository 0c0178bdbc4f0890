package image

import (
	"debug/elf"
	"strings"
	"testing"
)

// header returns the beginning of a library of 64-bit little-endian machines, with its program headers.
func header(segments ...elf.Prog64) []byte {
	b := make([]byte, 64, 64+56*len(segments))
	copy(b, "\x7fELF\x02\x01\x01")
	le.PutUint64(b[32:], 64)
	le.PutUint16(b[54:], 56)
	le.PutUint16(b[56:], uint16(len(segments)))
	for _, s := range segments {
		p := make([]byte, 56)
		le.PutUint32(p, s.Type)
		le.PutUint32(p[4:], s.Flags)
		for i, v := range []uint64{s.Off, s.Vaddr, s.Paddr, s.Filesz, s.Memsz, s.Align} {
			le.PutUint64(p[8+8*i:], v)
		}
		b = append(b, p...)
	}
	return b
}

// TestSegmentsCaught checks that a large segment with the dynamic table is kept if patchelf put tables into it, as in
// libcusparseLt.so.0, and not if it is data with a .bss, as in libcurand.so.10.
func TestSegmentsCaught(t *testing.T) {
	const off, size = 100 << 20, 20 << 20
	for _, c := range []struct {
		what   string
		memory uint64
		want   bool
	}{{"patchelf's", size, true}, {"data with a .bss", size + 1, false}} {
		w := &watcher{size: 130 << 20}
		w.head(header(
			elf.Prog64{Type: uint32(elf.PT_LOAD), Off: off, Filesz: size, Memsz: c.memory},
			elf.Prog64{Type: uint32(elf.PT_DYNAMIC), Off: off + 16<<20, Filesz: 592, Memsz: 592}))
		all := false
		for _, s := range w.want {
			all = all || s.off <= off && off+size <= s.end
		}
		if all != c.want {
			t.Errorf("%s: caught whole: %v, want %v (%v)", c.what, all, c.want, w.want)
		}
	}
}

// TestNameRead checks that enough bytes are kept after a table of names for reading its last name.
func TestNameRead(t *testing.T) {
	for _, c := range []struct {
		what   string
		names  string
		caught bool
		want   int64
	}{
		{"short names", "\x00cuInit\x00cuMemAlloc\x00", true, 0},
		{"one that a block has", "\x00" + strings.Repeat("n", 4095) + "\x00", true, 0},
		{"one that a block lacks", "\x00" + strings.Repeat("n", 4096) + "\x00cuInit\x00", true, 16 << 10},
		{"what was not caught", "\x00cuInit\x00", false, textRead},
	} {
		scratch, err := newStore(maxScratch)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(scratch.close)
		w := &watcher{size: int64(len(c.names)), scratch: scratch}
		if c.caught {
			w.wants(0, w.size)
		}
		if err := w.catch([]byte(c.names), 0); err != nil {
			t.Fatal(err)
		}
		if got := w.nameRead(span{0, w.size}); got != c.want {
			t.Errorf("%s: %d, want %d", c.what, got, c.want)
		}
	}
}
