package fatbin

import (
	"bytes"
	"errors"
	"io"
	"sync/atomic"
	"testing"
)

var errBroken = errors.New("broken")

type failing struct{}

func (failing) ReadAt([]byte, int64) (int, error) { return 0, errBroken }

// counter counts what is read.
type counter struct {
	io.ReaderAt
	bytes, calls atomic.Int64
}

func (c *counter) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, off)
	c.bytes.Add(int64(n))
	c.calls.Add(1)
	return n, err
}

// endless is a file that goes on with one pattern after its beginning.
type endless struct{ head, pattern []byte }

func (e endless) ReadAt(p []byte, off int64) (int, error) {
	for i := range p {
		if at := off + int64(i); at < int64(len(e.head)) {
			p[i] = e.head[at]
		} else {
			p[i] = e.pattern[(at-int64(len(e.head)))%int64(len(e.pattern))]
		}
	}
	return len(p), nil
}

// A file of 100 GB, all of it claimed by one fat-binary section, costs no more than a library does.
func TestReadIsBounded(t *testing.T) {
	const size = 100 << 30
	head := elfFile(elfSection{name: ".nv_fatbin", kind: 1, size: size})
	le.PutUint64(head[len(head)-2*sectionHeaderSize+24:], uint64(len(head)))
	empty := testEntry{kind: kindCubin, arch: 80}
	for _, tc := range []struct {
		name           string
		begin, pattern []byte
		err            error
	}{
		{"zeros", nil, []byte{0}, errNoFatbin},
		{"empty-containers", nil, container(), errCrowded},
		{"empty-entries", containerHeader(1 << 40), empty.bytes(), errTooMany},
		{"spread-entries", containerHeader(1 << 40), sass(80, 0x11).bytes(), errTooMany},
		{"spread-containers", nil, container(sass(80, 0x11)), errCrowded},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := &counter{ReaderAt: endless{append(head[:len(head):len(head)], tc.begin...), tc.pattern}}
			if _, err := Read(r, size); !errors.Is(err, tc.err) {
				t.Errorf("error %v, want %v", err, tc.err)
			}
			if r.bytes.Load() > maxRead {
				t.Errorf("read %d bytes, want at most %d", r.bytes.Load(), maxRead)
			}
		})
	}
}

// As many sections as ELF can count, all of them claiming the same containers.
func TestReadManySections(t *testing.T) {
	sections := make([]elfSection, 65000)
	for i := range sections {
		sections[i] = elfSection{name: ".nv_fatbin", kind: 1}
	}
	c := container(sass(80, 0x11))
	file := append(elfFile(sections...), c...)
	table := len(file) - len(c) - 65002*sectionHeaderSize
	for i := 1; i <= 65000; i++ {
		h := file[table+i*sectionHeaderSize:]
		le.PutUint64(h[24:], uint64(len(file)-len(c)))
		le.PutUint64(h[32:], uint64(len(c)))
	}
	r := &counter{ReaderAt: bytes.NewReader(file)}
	got, err := Read(r, int64(len(file)))
	if r.bytes.Load() > maxRead {
		t.Errorf("read %d bytes, want at most %d", r.bytes.Load(), maxRead)
	}
	if err != nil && !errors.Is(err, errTooMuch) {
		t.Error(err)
	}
	if len(got.SASS) > 1 {
		t.Errorf("%v, want sm_80 alone", got.SASS)
	}
}

// Payloads of the size that torch 2.8.0's libtorch_cuda.so has on average are hopped over.
func TestReadHops(t *testing.T) {
	var cs [][]byte
	for range 40 {
		cs = append(cs, container(
			testEntry{kind: kindCubin, arch: 80, payload: 320 << 10},
			testEntry{kind: kindCubin, arch: 90, payload: 320 << 10},
			testEntry{kind: kindPTX, arch: 90, major: 8, minor: 7, header: 80, payload: 320 << 10},
		))
	}
	file := fatbinFile(cs...)
	r := &counter{ReaderAt: bytes.NewReader(file)}
	got, err := Read(r, int64(len(file)))
	if err != nil || got.Containers != 40 {
		t.Fatalf("%d containers, %v", got.Containers, err)
	}
	if r.bytes.Load()*100 > int64(len(file)) {
		t.Errorf("read %d of %d bytes, want under one in a hundred", r.bytes.Load(), len(file))
	}
	if n := r.calls.Load(); n > 40*4+10 {
		t.Errorf("%d reads for 40 containers with 120 entries", n)
	}
}
