package fatbin

import (
	"bytes"
	"debug/elf"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// BenchmarkRows lists the fat-binary sections of the library that FATBIN_LIB names, and reports how much of the file
// that takes; BenchmarkSearch searches its other data.
//
//	FATBIN_LIB=torch/lib/libtorch_cuda.so go test -bench . -run '^$' ./internal/fatbin
func BenchmarkRows(b *testing.B) {
	benchmark(b, fatbin, func(w *walker, sections []section) error {
		for _, s := range sections {
			if err := w.row(s); err != nil {
				return err
			}
		}
		_, err := w.list()
		return err
	})
}

func BenchmarkSearch(b *testing.B) {
	benchmark(b, data, func(w *walker, sections []section) error {
		err := w.search(sections)
		if err == nil {
			_, err = w.list()
		}
		return err
	})
}

func benchmark(b *testing.B, role role, read func(*walker, []section) error) {
	path := os.Getenv("FATBIN_LIB")
	if path == "" {
		b.Skip("FATBIN_LIB names no library")
	}
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		b.Fatal(err)
	}
	r := &counter{ReaderAt: f}
	for b.Loop() {
		r.bytes.Store(0)
		r.calls.Store(0)
		w := &walker{window: window{r: r, size: info.Size(), spent: new(spent)}}
		sections, err := w.sections()
		if err == nil {
			sections = sectionsOfRole(sections, role)
			err = read(w, sections)
		}
		if err != nil {
			b.Fatal(err)
		}
		length := int64(0)
		for _, s := range sections {
			length += s.end - s.off
		}
		b.SetBytes(length)
	}
	b.ReportMetric(float64(r.bytes.Load())*100/float64(info.Size()), "%-of-the-file-read")
	b.ReportMetric(float64(r.calls.Load()), "reads")
}

// TestAgainstCuobjdump compares with NVIDIA's own tool, on the libraries (separated by colons) and with the tool
// that the environment names. -v prints what each library holds. cuobjdump's known differences, all its own:
// 13.x passes over what is older than sm_75; it says sm_50a of an old sm_50 cubin with another use of the bit
// (cuBLAS 12.1); it does not list relocatable code, the only place of bitsandbytes's PTX, which is let through.
//
//	FATBIN_LIBS=a.so:b.so CUOBJDUMP=cuobjdump go test -v -run Cuobjdump ./internal/fatbin
func TestAgainstCuobjdump(t *testing.T) {
	libs, tool := os.Getenv("FATBIN_LIBS"), os.Getenv("CUOBJDUMP")
	if libs == "" || tool == "" {
		t.Skip("FATBIN_LIBS and CUOBJDUMP name no libraries and no tool")
	}
	for _, lib := range filepath.SplitList(libs) {
		t.Run(filepath.Base(lib), func(t *testing.T) {
			f, err := os.Open(lib)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			info, err := f.Stat()
			if err != nil {
				t.Fatal(err)
			}
			code, err := Read(f, info.Size())
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d containers: %s\n\tserved %s\n\tbuild list %s",
				code.Containers, counts(code), names(code.Common(ServedKernels)), names(code.Common(BuildList)))
			ours, theirs := forCuobjdump(code), cuobjdump(t, tool, lib)
			if relocatable(t, f) {
				ours = slices.DeleteFunc(ours, func(s string) bool {
					return strings.HasPrefix(s, "compute_") &&
						!slices.Contains(theirs, s)
				})
			}
			if diff := cmp.Diff(theirs, ours); diff != "" {
				t.Errorf("-cuobjdump +fatbin:\n%s", diff)
			}
		})
	}
}

// relocatable reports whether a library has device code that is linked when it is loaded.
func relocatable(t *testing.T, f *os.File) bool {
	file, err := elf.NewFile(f)
	if err != nil {
		t.Fatal(err)
	}
	return file.Section("__nv_relfatbin") != nil
}

func counts(c Code) string {
	var all []string
	for _, t := range slices.Concat(c.SASS, c.PTX) {
		zstd := ""
		if t.Zstd {
			zstd = ",zstd"
		}
		all = append(all, strings.TrimSuffix(fmt.Sprintf("%v(%d%s,%s", t, t.Containers, zstd, t.PTXVersion), ",")+")")
	}
	return strings.Join(all, " ")
}

// forCuobjdump names the targets as cuobjdump 13 does: SASS without "f".
func forCuobjdump(c Code) []string {
	set := make(map[string]bool)
	for _, t := range c.SASS {
		set[strings.TrimSuffix(t.String(), "f")] = true
	}
	for _, t := range c.PTX {
		set[t.String()] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// ELF file   11: libtorch_cuda.11.sm_90a.cubin
var cuobjdumpLine = regexp.MustCompile(`(?m)^(?:ELF|PTX) file.*\.sm_(\d+[af]?)\.(cubin|ptx)$`)

func cuobjdump(t *testing.T, tool, lib string) []string {
	var out bytes.Buffer
	for _, list := range []string{"--list-elf", "--list-ptx"} {
		cmd := exec.Command(tool, list, lib)
		cmd.Stdout = &out
		if err := cmd.Run(); err != nil {
			t.Logf("%s %s: %v", tool, list, err) // it fails where there is nothing to list
		}
	}
	set := make(map[string]bool)
	for _, m := range cuobjdumpLine.FindAllStringSubmatch(out.String(), -1) {
		set[map[string]string{"cubin": "sm_", "ptx": "compute_"}[m[2]]+m[1]] = true
	}
	return slices.Sorted(maps.Keys(set))
}
