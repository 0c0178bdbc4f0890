package nvml

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"cudacompat/probe/host/hosttest"
	"cudacompat/probe/internal/nvml/nvmltest"
)

// TestMain lets this program serve as the child that asks NVML.
func TestMain(m *testing.M) {
	Serve()
	os.Exit(m.Run())
}

// TestHangsInKernel waits on a vfork, which the kernel shows as state D, in a thread of a child.
func TestHangsInKernel(t *testing.T) {
	if !builtIn {
		t.Skip("built without cgo: NVML is not asked")
	}
	dir := nvmltest.Library(t, "-DINIT=if (vfork() == 0) { prctl(PR_SET_PDEATHSIG, SIGKILL); sleep(30); _exit(0); } "+
		"return 0")
	self, err := os.Executable()
	hosttest.Must(t, err)
	cmd := exec.Command(self, nvmlArg)
	cmd.Env = []string{"LD_LIBRARY_PATH=" + dir}
	hosttest.Must(t, cmd.Start())
	stuck := false
	for end := time.Now().Add(10 * time.Second); !stuck && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		stuck = hangsInKernel(cmd.Process.Pid)
	}
	hosttest.Must(t, cmd.Process.Kill())
	_ = cmd.Wait()
	if !stuck {
		t.Error("a child that waits in the kernel does not count as one")
	}
	if hangsInKernel(cmd.Process.Pid) {
		t.Error("a child that has ended counts as one that hangs")
	}
}

func TestThreadState(t *testing.T) {
	for stat, want := range map[string]string{
		"4711 (cudacompat) D 1 4711 4711 0 -1": "D",
		"4711 (a) b (c) S 1 4711":              "S",
		"4711 (cudacompat)":                    "",
		"":                                     "",
	} {
		if got := threadState(stat); got != want {
			t.Errorf("threadState(%q) = %q, want %q", stat, got, want)
		}
	}
}
