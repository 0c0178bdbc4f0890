package pages

import (
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDriverStatuses(t *testing.T) {
	got, err := driverStatuses(`
typedef enum CUlimit_enum { CU_LIMIT_STACK_SIZE = 0 } CUlimit;
typedef enum cudaError_enum {
    /**
     * The API call returned with no errors.
     */
    CUDA_SUCCESS                              = 0,
    /** CUDA_ERROR_OLD = 7 was meant once. */
    CUDA_ERROR_UNKNOWN                        = 999
} CUresult;
typedef enum other { CUDA_OTHER = 1 } other;
`)
	want := []status{{name: "CUDA_SUCCESS", api: "cuda-driver"}, {name: "CUDA_ERROR_UNKNOWN", api: "cuda-driver", code: 999}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(status{})); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

// TestRuntimeStatuses reads a library with a table of two errors, and with the name of a third that is in no table.
func TestRuntimeStatuses(t *testing.T) {
	const texts = "cudaSuccess\x00no error\x00cudaErrorInvalidValue\x00invalid argument\x00cudaErrorLoose\x00"
	le := binary.LittleEndian
	var table, filled []byte
	for _, e := range []struct{ code, name, text uint64 }{{0, 0, 12}, {1, 21, 43}} {
		for i, to := range []uint64{e.name, e.text} {
			filled = le.AppendUint64(filled, 0x2000+uint64(len(table)+8*(i+1)))
			filled = le.AppendUint64(filled, 8) // R_X86_64_RELATIVE
			filled = le.AppendUint64(filled, 0x1000+to)
		}
		table = append(le.AppendUint64(table, e.code), make([]byte, 16)...)
	}
	library := elfAt([]sectionAt{{".rodata", 0x1000, []byte(texts)}, {".data.rel.ro", 0x2000, table}, {".rela.dyn", 0, filled}})
	got, err := runtimeStatuses(library)
	want := []status{{"cudaSuccess", "cuda-runtime", 0, "no error"}, {"cudaErrorInvalidValue", "cuda-runtime", 1, "invalid argument"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(status{})); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if _, err := runtimeStatuses(elfAt([]sectionAt{{".rodata", 0x1000, []byte(texts)}, {".data.rel.ro", 0x2000, table}})); err == nil {
		t.Error("a table into which nothing is filled counts as read")
	}
}

type sectionAt struct {
	name string
	addr uint64
	data []byte
}

// elfAt returns a library of these sections alone.
func elfAt(sections []sectionAt) []byte {
	le := binary.LittleEndian
	names, file, table := "\x00", make([]byte, 64), make([]byte, 64)
	add := func(s sectionAt, kind uint32) {
		h := make([]byte, 64)
		le.PutUint32(h, uint32(len(names)))
		le.PutUint32(h[4:], kind)
		le.PutUint64(h[16:], s.addr)
		names += s.name + "\x00"
		if kind == 3 { // the names themselves
			s.data = []byte(names)
		}
		le.PutUint64(h[24:], uint64(len(file)))
		le.PutUint64(h[32:], uint64(len(s.data)))
		file, table = append(file, s.data...), append(table, h...)
	}
	for _, s := range sections {
		add(s, 1)
	}
	add(sectionAt{name: ".shstrtab"}, 3)
	copy(file, "\x7fELF\x02\x01\x01")
	le.PutUint16(file[16:], 3)
	le.PutUint16(file[18:], 62)
	le.PutUint32(file[20:], 1)
	le.PutUint64(file[40:], uint64(len(file)))
	le.PutUint16(file[52:], 64)
	le.PutUint16(file[58:], 64)
	le.PutUint16(file[60:], uint16(len(table)/64))
	le.PutUint16(file[62:], uint16(len(table)/64-1))
	return append(file, table...)
}
