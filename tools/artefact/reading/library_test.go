package reading

import (
	"slices"
	"testing"
)

// TestConstants checks the code in jax_cuda12_plugin 0.9.2's _versions.so that returns 12090, as the two compilers
// wrote it.
func TestConstants(t *testing.T) {
	// push rbp; mov rbp,rsp; mov edi,0x2f3a; call; pop rbp; ret; then a mov before no call
	x86 := []byte{0x55, 0x48, 0x89, 0xe5, 0xbf, 0x3a, 0x2f, 0, 0, 0xe8, 0x12, 0x08, 0x05, 0, 0x5d, 0xc3, 0xbf, 1, 0, 0,
		0, 0x5d}
	if got := constantsX86(x86); !slices.Equal(got, []int{12090}) {
		t.Errorf("x86-64: %v", got)
	}
	// mov w0,#0x2f3a; b; mov w0,#0x637a; movk w0,#1,lsl #16; bl; mov w0,#5; ret; mov w1,#6; bl
	arm := []byte{0x40, 0xe7, 0x85, 0x52, 0x10, 0, 0, 0x14, 0x40, 0x6f, 0x8c, 0x52, 0x20, 0, 0xa0, 0x72, 0x10, 0, 0, 0x94,
		0xa0, 0, 0x80, 0x52, 0xc0, 0x03, 0x5f, 0xd6, 0xc1, 0, 0x80, 0x52, 0x10, 0, 0, 0x94}
	if got := constantsARM(arm); !slices.Equal(got, []int{12090, 91002}) {
		t.Errorf("aarch64: %v", got)
	}
	if got := FindCuDNN([]int{12090, 91002, 11705}); got != "9.10.2" {
		t.Errorf("cuDNN %q", got)
	}
	if got := FindCuDNN([]int{8907, 91002}); got != "" {
		t.Errorf("of two that may be cuDNN's, %q was taken", got)
	}
}
