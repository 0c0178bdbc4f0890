package libversion

import (
	"bytes"
	"strings"
	"testing"

	"cudacompat/probe/host/hosttest"
)

// TestCompiler checks the banner of NVRTC 11.8.89, whose soname says 11.2. A banner further in than any known one is
// not searched for.
func TestCompiler(t *testing.T) {
	const banner = "Cuda compilation tools, release 11.8, V11.8.89\x00"
	for _, tt := range []struct{ constants, want string }{
		{"nvrtc\x00" + banner, "11.8.89"},
		{"nvrtc\x00", ""},
		{strings.Repeat("\x00", PTXAS) + banner, ""},
	} {
		library := hosttest.ELF(t, "x86_64", ".rodata", []byte(tt.constants))
		if got, err := Compiler(bytes.NewReader(library), PTXAS); got != tt.want || err != nil {
			t.Errorf("%q, %v; want %q", got, err, tt.want)
		}
	}
}
