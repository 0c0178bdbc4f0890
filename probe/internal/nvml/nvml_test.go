package nvml

import (
	"os"
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

// TestNowhere: no child is started where the loader finds no NVML, and one is where LD_LIBRARY_PATH has it.
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
