package fatbin

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func FuzzRead(f *testing.F) {
	good := container(
		testEntry{kind: kindCubin, arch: 80, flags: 0x2011, payload: 8},
		testEntry{kind: kindCubin, arch: 100, flags: 0x1108011, header: 112},
		testEntry{kind: kindPTX, arch: 120, flags: 0x8011, major: 8, minor: 7, header: 80, payload: 16},
	)
	f.Add([]byte("\x7fELF"))
	f.Add(elfFile())
	f.Add(fatbinFile(good, good))
	f.Add(fatbinFile(good, make([]byte, 24), good))
	f.Add(fatbinFile(containerHeader(1<<63), good))
	f.Add(cutFile(good))
	f.Add(elfFile(elfSection{name: "__nv_relfatbin", kind: 1, data: good},
		elfSection{name: ".nv_fatbin", kind: 1, data: good, size: 1 << 50}))
	f.Fuzz(func(t *testing.T, file []byte) {
		r := &counter{ReaderAt: bytes.NewReader(file)}
		got, err := Read(r, int64(len(file)))
		if again, err2 := Read(r, int64(len(file))); !cmp.Equal(got, again, cmp.AllowUnexported(Code{})) || (err == nil) != (err2 == nil) {
			t.Errorf("read twice: %v, %v; %v, %v", got, err, again, err2)
		}
		if r.bytes.Load() > 2*maxRead {
			t.Errorf("read %d bytes", r.bytes.Load())
		}
		checkCode(t, got)
		checkCode(t, got.Common(ServedKernels))
	})
}

// checkCode checks what holds for the code of any file.
func checkCode(t *testing.T, c Code) {
	for _, targets := range [][]Target{c.SASS, c.PTX} {
		for i := range targets {
			if i > 0 && compareTargets(targets[i-1], targets[i]) >= 0 {
				t.Errorf("not sorted, or twice the same: %v", targets)
			}
		}
		for _, target := range targets {
			if n := target.Containers; n < 1 || n > c.Containers {
				t.Errorf("%v is in %d of %d containers", target, n, c.Containers)
			}
		}
	}
	isPTX := func(t Target) bool { return t.PTXVersion != "" }
	if slices.ContainsFunc(c.SASS, isPTX) || slices.ContainsFunc(c.PTX, func(t Target) bool { return !isPTX(t) }) {
		t.Errorf("SASS %v, PTX %v", c.SASS, c.PTX)
	}
}
