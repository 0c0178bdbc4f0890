package nvml

import (
	"debug/elf"
	"os"
	"path/filepath"
	"testing"
	"time"

	"cudacompat/probe/host"
	"cudacompat/probe/internal/nvml/nvmltest"
)

// TestMain lets this program serve as the child that asks NVML.
func TestMain(m *testing.M) {
	Serve()
	os.Exit(m.Run())
}

// TestNowhere checks that no child is started if the loader finds no NVML, and that one is if LD_LIBRARY_PATH has it.
func TestNowhere(t *testing.T) {
	dir := nvmltest.Library(t)
	if nowhere(&host.Host{Root: "/", Env: map[string]string{"LD_LIBRARY_PATH": dir}}) {
		t.Error("the library that LD_LIBRARY_PATH leads to is not found")
	}
	h := &host.Host{Root: "/", Env: map[string]string{}}
	if !nowhere(h) {
		t.Skip("this machine has an NVML")
	}
	if a := Start(t.Context(), h, time.Second)(); a.NVML.Status != notFound.Status || a.NVML.Code != notFound.Code {
		t.Errorf("without the library NVML is %+v", a.NVML)
	}
}

// TestNowhereForThisProgram checks that a library for another machine does not count and does not hide a later one.
func TestNowhereForThisProgram(t *testing.T) {
	own, other := nvmltest.Library(t), t.TempDir()
	data, err := os.ReadFile(filepath.Join(own, "libnvidia-ml.so.1"))
	if err != nil {
		t.Fatal(err)
	}
	const machine = 18 // where e_machine stands, whose second byte is 0 for both
	foreign := elf.EM_AARCH64
	if data[machine] == byte(foreign) {
		foreign = elf.EM_X86_64
	}
	data[machine] = byte(foreign)
	if err := os.WriteFile(filepath.Join(other, "libnvidia-ml.so.1"), data, 0o644); err != nil {
		t.Fatal(err)
	}
	in := func(path string) *host.Host {
		return &host.Host{Root: "/", Env: map[string]string{"LD_LIBRARY_PATH": path}}
	}
	if nowhere(in(other + ":" + own)) {
		t.Error("a library for another machine hides this program's")
	}
	if !nowhere(in("")) {
		t.Skip("this machine has an NVML")
	}
	if !nowhere(in(other)) {
		t.Error("a library for another machine counts as found")
	}
}
