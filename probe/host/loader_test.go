package host_test

import (
	"debug/elf"
	"runtime"
	"slices"
	"testing"

	"cudacompat/probe/host/hosttest"
)

// TestOwnLoader checks a host with another architecture than this program's, as under qemu's user mode: programs that
// this program starts use the loader and directories of its own architecture; the host's programs do not.
func TestOwnLoader(t *testing.T) {
	want, known := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[runtime.GOARCH]
	if !known {
		t.Skip("CUDA has no libraries for this machine")
	}
	x86, arm := "-- lib64/ld-linux-x86-64.so.2 --\n", "-- lib/ld-linux-aarch64.so.1 --\n"
	for _, c := range []struct {
		name, files string
		machine     elf.Machine
	}{
		{"x86_64", x86, elf.EM_X86_64},
		{"aarch64", arm, elf.EM_AARCH64},
		{"both", x86 + arm, elf.EM_X86_64},
	} {
		h := hosttest.Tree(t, c.files+`
-- lib/x86_64-linux-gnu/libc.so.6 --
-- lib/aarch64-linux-gnu/libc.so.6 --
-- @env --
LD_LIBRARY_PATH=/opt/driver
`)
		checkLoader(t, c.name+", a program here", h.Loader().Machine, h.Loader().SystemDirs, c.machine)
		own := h.OwnLoader()
		checkLoader(t, c.name+", this program", own.Machine, own.SystemDirs, want)
		if !slices.Equal(own.LibraryPath, []string{"/opt/driver"}) {
			t.Errorf("%s: LD_LIBRARY_PATH is %q", c.name, own.LibraryPath)
		}
	}
}

func checkLoader(t *testing.T, of string, machine elf.Machine, dirs []string, want elf.Machine) {
	t.Helper()
	dir := map[elf.Machine]string{elf.EM_X86_64: "/lib/x86_64-linux-gnu", elf.EM_AARCH64: "/lib/aarch64-linux-gnu"}[want]
	if machine != want || dirs[0] != dir {
		t.Errorf("%s: %v in %q, want %v in %s", of, machine, dirs, want, dir)
	}
}
