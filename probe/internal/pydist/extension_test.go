package pydist

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLibrariesIn(t *testing.T) {
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
	if diff := cmp.Diff(want, LibrariesIn([]byte(record))); diff != "" {
		t.Errorf("libraries (-want +got):\n%s", diff)
	}
}

func FuzzLibrariesIn(f *testing.F) {
	f.Add([]byte("a.so,sha256=x,1048576\n"))
	f.Fuzz(func(t *testing.T, record []byte) {
		for _, name := range LibrariesIn(record) {
			if strings.HasPrefix(name, "..") || !strings.Contains(name, ".so") {
				t.Errorf("%q is no library of the distribution", name)
			}
		}
	})
}

func TestRequires(t *testing.T) {
	const metadata = "Metadata-Version: 2.4\nName: sglang\nRequires-Dist: sgl-flash-mla==1.0.0\n" +
		"Requires-Dist: sgl_deep_ep>=0.1; platform_system == \"Linux\"\n" +
		"Requires-Dist: flash-attn>=2; extra == \"flash\"\nRequires-Dist: sgl-kernel-extra\n\nRequires-Dist: vllm\n"
	for name, want := range map[string]bool{"sgl-flash-mla": true, "sgl-deep-ep": true, "sgl-kernel-extra": true,
		"sgl-kernel": false, "flash-attn": false, "vllm": false} {
		if got := Requires([]byte(metadata), name, false); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
