package pydist

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLargeLibraries(t *testing.T) {
	const record = "flash_attn_2_cuda.cpython-312-x86_64-linux-gnu.so,sha256=x,987654321\r\n" +
		"pkg/lib/libbig.so.12.1,sha256=x,1048576\n" +
		"pkg/small.so,sha256=x,1048575\n" +
		"torchao/_C_cutlass_100a.abi3.so,sha256=x,261128\n" +
		"pkg/_cuda_stub.so,sha256=x,9000\n" +
		"pkg/notes.so.txt,sha256=x,9999999\n" +
		"pkg/no_size.so,,\n" +
		"../../../etc/evil.so,sha256=x,9999999\n" +
		"pkg/huge.so,sha256=x,99999999999999999999\n"
	want := []string{"flash_attn_2_cuda.cpython-312-x86_64-linux-gnu.so", "pkg/lib/libbig.so.12.1",
		"torchao/_C_cutlass_100a.abi3.so"}
	if diff := cmp.Diff(want, ParseRecord([]byte(record)).LargeLibraries()); diff != "" {
		t.Errorf("libraries (-want +got):\n%s", diff)
	}
}

func FuzzLargeLibraries(f *testing.F) {
	f.Add([]byte("a.so,sha256=x,1048576\n"))
	f.Fuzz(func(t *testing.T, record []byte) {
		for _, name := range ParseRecord(record).LargeLibraries() {
			if strings.HasPrefix(name, "..") || !strings.Contains(name, ".so") {
				t.Errorf("%q is no library of the distribution", name)
			}
		}
	})
}

// TestRecordFile reads lines as installers write them.
func TestRecordFile(t *testing.T) {
	record := ParseRecord([]byte("torch/version.py,sha256=MP9Q,293\r\n\"pkg/a,b.py\",sha256=x,7\npkg/__pycache__/a.pyc,,\n" +
		"pkg-1.dist-info/RECORD,,\n../../../bin/tool,sha256=y,12\nold.py,md5=z,3\n"))
	want := []File{{"torch/version.py", "MP9Q", 293}, {"pkg/a,b.py", "x", 7}, {"pkg/__pycache__/a.pyc", "", -1},
		{"pkg-1.dist-info/RECORD", "", -1}, {"../../../bin/tool", "y", 12}, {"old.py", "md5=z", 3}}
	if diff := cmp.Diff(want, slices.Collect(record.Files())); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if f := parseLine([]byte("torch/ver")); f != (File{"torch/ver", "", -1}) {
		t.Errorf("a line that is cut off: %v", f)
	}
	if f, ok := record.File("torch/version.py"); !ok || f != want[0] {
		t.Errorf("torch/version.py: %v, %v", f, ok)
	}
	if record.Has("version.py") || record.Has("torch/version") || !record.HasPrefix("../../../bin/") {
		t.Error("it has what it does not list, or lacks what it lists")
	}
}

func FuzzRecord(f *testing.F) {
	f.Add([]byte("a/b.py,sha256=x,1\n\"c,d.so\",sha256=y,2\ne,,\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := ParseRecord(data)
		for file := range r.Files() {
			if file.Name == "" || strings.ContainsAny(file.Name, "\n") || file.Size < -1 && file.Hash == "" {
				t.Errorf("%+v", file)
			}
		}
		r.Index().TopModules()
		r.Modules()
	})
}
