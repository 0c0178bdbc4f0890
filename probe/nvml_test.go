package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"cudacompat/probe/facts"
	"cudacompat/probe/host/hosttest"
	"cudacompat/probe/internal/nvml/nvmltest"

	"github.com/google/go-cmp/cmp"
)

// unservedMark in the environment makes this test program one that does not call ServeNVML.
const unservedMark = "CUDACOMPAT_TEST_UNSERVED"

// fakeNVML returns the directory of an NVML that answers as the defines say.
func fakeNVML(t *testing.T, defines ...string) string {
	t.Helper()
	if NVMLSupport() != "with NVML" {
		t.Skip("built without cgo: NVML is not asked")
	}
	return nvmltest.Library(t, defines...)
}

// l4 returns a GPU as the fake library tells of it.
func l4(bus string) facts.GPU {
	return facts.GPU{Name: "NVIDIA L4", PCIID: "10de:27b8", Capability: "8.9", Bus: bus, From: []string{"NVML"}}
}

// lateMessage is the message about a library that does not answer in a short time.
const lateMessage = "no answer within 300ms; " +
	"without persistence mode every start initialises all GPUs (nvidia-smi -pm 1), or give --timeout"

const patient, hasty = 30 * time.Second, 300 * time.Millisecond

// slack is what a busy machine may add to a deadline; what hangs here hangs for a minute.
const slack = 20 * time.Second

var bothL4 = []facts.GPU{l4("0000:1e:00.0"), l4("0000:1f:00.0")}

var wellL4 = facts.Driver{Version: "550.54.15", From: "NVML", CUDA: "12.4", CUDAFrom: "NVML", NVML: facts.NVML{Status: "ok"}}

// withHealth returns the first GPU with this health.
func withHealth(h facts.Health) facts.GPU {
	gpu := l4("0000:1e:00.0")
	gpu.Health = &h
	return gpu
}

// nvmls are libraries that are well and libraries that are not.
var nvmls = []struct {
	name    string
	defines []string
	limit   time.Duration
	driver  facts.Driver
	gpus    []facts.GPU
	probe   string
}{
	{"healthy", nil, patient, facts.Driver{Version: "550.54.15", From: "NVML", CUDA: "12.4", CUDAFrom: "NVML",
		NVML: facts.NVML{Status: "ok"}}, bothL4, "ok"},
	{"ill", []string{"-DHEALTH=0", "-DREASONS=0x89", "-DFABRIC=2", "-DCOUNT=1"}, patient, wellL4,
		[]facts.GPU{withHealth(facts.Health{RemapPending: true, Uncorrectable: 3,
			Slowdown: []string{"hardware", "power brake", "idle"}, Fabric: "in progress", Persistence: "off"})}, "ok"},
	// values that nobody knows
	{"odd", []string{"-DHEALTH=3", "-DREASONS=0x4000", "-DFABRIC=99", "-DCOUNT=1"}, patient, wellL4,
		[]facts.GPU{withHealth(facts.Health{RemapPending: true, Uncorrectable: 3})}, "ok"},
	{"mismatch", []string{"-DINIT=return 18"}, patient,
		facts.Driver{NVML: facts.NVML{Status: "error", Code: 18, Message: "driver/library version mismatch (NVML error 18)"}}, nil,
		"failed"},
	{"not-loaded", []string{"-DINIT=return 9"}, patient,
		facts.Driver{NVML: facts.NVML{Status: "error", Code: 9, Message: "driver not loaded (NVML error 9)"}}, nil, "failed"},
	{"unheard-of", []string{"-DINIT=return 4242"}, patient,
		facts.Driver{NVML: facts.NVML{Status: "error", Code: 4242, Message: "nvmlInit failed with code 4242"}}, nil, "failed"},
	{"no-init", []string{"-DNO_INIT"}, patient,
		facts.Driver{NVML: facts.NVML{Status: "error", Message: "libnvidia-ml.so.1 has no nvmlInit"}}, nil, "failed"},
	{"no-count", []string{"-DNO_COUNT"}, patient,
		facts.Driver{Version: "550.54.15", From: "NVML", CUDA: "12.4", CUDAFrom: "NVML",
			NVML: facts.NVML{Status: "ok", Code: 0,
				Message: "this NVML cannot list GPUs " +
					"(it has no nvmlDeviceGetCount_v2 or nvmlDeviceGetHandleByIndex_v2)",
				Unanswered: []facts.Unanswered{{Function: "nvmlDeviceGetCount_v2", Code: 13}}}},
		nil, "ok"},
	{"old", []string{"-DOLD", "-DCOUNT=1"}, patient,
		facts.Driver{Version: "550.54.15", From: "NVML", CUDA: "12.4", CUDAFrom: "NVML", NVML: facts.NVML{Status: "ok"}},
		[]facts.GPU{{Name: "NVIDIA L4", From: []string{"NVML"}}}, "ok"},
	{"gpu-lost", []string{"-DLOST=0"}, patient,
		facts.Driver{Version: "550.54.15", From: "NVML", CUDA: "12.4", CUDAFrom: "NVML",
			NVML: facts.NVML{Status: "ok", Code: 15, Message: "GPU 0 cannot be asked (NVML error 15)",
				Failed: []facts.FailedGPU{{Index: 0, Code: 15}}}}, bothL4[1:], "ok"},
	{"crash", []string{"-DINIT=*(volatile int *)0 = 1; return 0"}, patient,
		facts.Driver{NVML: facts.NVML{Status: "crashed", Code: 0,
			Message: "the child that asked NVML died: exit status 2: SIGSEGV: segmentation violation"}}, nil, "failed"},
	{"exit", []string{"-DINIT=_exit(0); return 0"}, patient,
		facts.Driver{NVML: facts.NVML{Status: "crashed", Code: 0, Message: "the child that asked NVML died: it wrote no answer"}},
		nil, "failed"},
	{"hang", []string{"-DINIT=sleep(60); return 0"}, hasty, facts.Driver{NVML: facts.NVML{Status: "timeout", Message: lateMessage}},
		nil, "failed"},
	{"hang-deaf", []string{"-DINIT=for (int i = 1; i < 32; i++) signal(i, SIG_IGN); for (;;) sleep(60)"}, hasty,
		facts.Driver{NVML: facts.NVML{Status: "timeout", Message: lateMessage}}, nil, "failed"},
	{"garbage", []string{`-DDRIVER="\033[31mred"`, "-DCUDA=-7", "-DCOUNT=4000000000"}, patient,
		facts.Driver{NVML: facts.NVML{Status: "ok", Code: 0,
			Message:    `NVML counts 4000000000 GPUs; "\x1b[31mred" is not a driver version`,
			Unanswered: []facts.Unanswered{{Function: "nvmlDeviceGetCount_v2"}}}}, nil, "ok"},
	{"garbage-gpu", []string{"-DNAME='x'", "-DMAJOR=-3", "-DBUS=0x12345678", "-DCOUNT=1"}, patient,
		facts.Driver{Version: "550.54.15", From: "NVML", CUDA: "12.4", CUDAFrom: "NVML", NVML: facts.NVML{Status: "ok"}},
		[]facts.GPU{{Name: strings.Repeat("x", 96), From: []string{"NVML"}}}, "ok"},
}

// TestNVML asks each library in a child process, as the doctor does.
func TestNVML(t *testing.T) {
	for _, tt := range nvmls {
		t.Run(tt.name, func(t *testing.T) {
			h := &Host{Root: t.TempDir(), Env: map[string]string{"LD_LIBRARY_PATH": fakeNVML(t, tt.defines...)}}
			started := time.Now()
			got := Run(context.Background(), h, Options{Timeout: tt.limit})
			if took := time.Since(started); took > tt.limit+slack {
				t.Errorf("took %s, the deadline was %s", took, tt.limit)
			}
			want := Facts{Driver: tt.driver, GPUs: tt.gpus}
			want.Complete()
			got.Driver.Libcuda = nil // of the files
			if diff := cmp.Diff(want.Driver, got.Driver); diff != "" {
				t.Errorf("driver (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want.GPUs, got.GPUs); diff != "" {
				t.Errorf("GPUs (-want +got):\n%s", diff)
			}
			if status := got.Probes[len(got.Probes)-1]; status.Name != "nvml" || status.Status != tt.probe {
				t.Errorf("last probe is %+v, want nvml %s", status, tt.probe)
			}
			if left := nvmlChildren(t); len(left) > 0 {
				t.Errorf("left running: %q", left)
			}
		})
	}
}

// nvmlChildren lists the command lines of this process's children that ask NVML.
func nvmlChildren(t *testing.T) []string {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	hosttest.Must(t, err)
	var left []string
	for _, name := range stats {
		stat, err := os.ReadFile(name)
		if err != nil {
			continue // gone meanwhile
		}
		after := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		command, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "cmdline"))
		if after[1] == strconv.Itoa(os.Getpid()) && bytes.Contains(command, []byte(childArg)) {
			left = append(left, fmt.Sprintf("%s %q", after[0], command))
		}
	}
	return left
}

// TestNVMLWithFiles joins what NVML and the files say: the loaded module's version is the files', CUDA and the GPUs'
// names are NVML's, and a GPU that NVML does not show stays.
func TestNVMLWithFiles(t *testing.T) {
	h := hosttest.Tree(t, `
-- @env --
-- proc/driver/nvidia/version --
NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.90.07  Release Build  (dvs-builder@U16-I3-D08-1-2)
-- sys/bus/pci/devices/0000:1e:00.0/vendor --
0x10de
-- sys/bus/pci/devices/0000:1e:00.0/class --
0x030200
-- sys/bus/pci/devices/0000:1e:00.0/device --
0x27b8
-- sys/bus/pci/devices/0000:2f:00.0/vendor --
0x10de
-- sys/bus/pci/devices/0000:2f:00.0/class --
0x030200
-- sys/bus/pci/devices/0000:2f:00.0/device --
0x1db6
`)
	h.Env["LD_LIBRARY_PATH"] = fakeNVML(t, "-DCOUNT=1")
	got := Run(context.Background(), h, Options{})
	seen := l4("0000:1e:00.0")
	seen.From = []string{"NVML", "/sys/bus/pci"}
	want := []facts.GPU{seen, {PCIID: "10de:1db6", Bus: "0000:2f:00.0", From: []string{"/sys/bus/pci"}}}
	if diff := cmp.Diff(want, got.GPUs); diff != "" {
		t.Errorf("GPUs (-want +got):\n%s", diff)
	}
	if d := got.Driver; d.Version != "550.90.07" || d.From != "/proc/driver/nvidia/version" || d.Module != "open" ||
		d.CUDA != "12.4" {
		t.Errorf("driver is %+v", d)
	}
}

// TestNVMLGivenUp ends the child when the caller loses patience before the deadline.
func TestNVMLGivenUp(t *testing.T) {
	h := &Host{Root: t.TempDir(), Env: map[string]string{"LD_LIBRARY_PATH": fakeNVML(t, "-DINIT=sleep(60); return 0")}}
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	started := time.Now()
	got := Run(ctx, h, Options{Timeout: time.Minute})
	if took := time.Since(started); took > slack || got.Driver.NVML.Status != "timeout" {
		t.Errorf("after %s: %+v", took, got.Driver.NVML)
	}
	if left := nvmlChildren(t); len(left) > 0 {
		t.Errorf("left running: %q", left)
	}
}

// TestNVMLLeftOut asks nothing for a tree at rest, and says so where NVML is not built in.
func TestNVMLLeftOut(t *testing.T) {
	rest, err := Tree(t.TempDir())
	hosttest.Must(t, err)
	if got := Run(context.Background(), rest, Options{}); got.Driver.NVML.Status != "left out" {
		t.Errorf("tree at rest: %+v", got.Driver.NVML)
	}
	if NVMLSupport() == "with NVML" {
		return
	}
	got := Run(context.Background(), &Host{Root: t.TempDir()}, Options{})
	if status := got.Probes[len(got.Probes)-1]; got.Driver.NVML.Status != "not built in" ||
		status.Status != "skipped" || status.Error == "" {
		t.Errorf("without cgo: %+v, %+v", got.Driver.NVML, status)
	}
}

// TestUnservedProgram runs this program as one that does not call ServeNVML. It must not start itself for NVML; it must
// ask in its own process, within the limit.
func TestUnservedProgram(t *testing.T) {
	if os.Getenv(unservedMark) != "" {
		limit, err := time.ParseDuration(os.Getenv(unservedMark))
		hosttest.Must(t, err)
		started := time.Now()
		ran := Run(context.Background(), This(), Options{Timeout: limit})
		got := ran.Driver.NVML
		for _, s := range ran.Probes {
			if s.Name == "nvml" {
				got.Message = s.Error
			}
		}
		got.Code = int(time.Since(started).Milliseconds())
		hosttest.Must(t, json.NewEncoder(os.Stdout).Encode(got))
		return
	}
	self, err := os.Executable()
	hosttest.Must(t, err)
	for _, tt := range []struct {
		name, init string
		limit      time.Duration
		status     string
		message    string
	}{
		{"healthy", "return 0", patient, "ok", "asked in this program's own process"},
		{"mismatch", "return 18", patient, "error", "(NVML error 18)"},
		{"hang", "sleep(60); return 0", hasty, "timeout", "no answer within 300ms"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd := exec.Command(self, "-test.run=^TestUnservedProgram$")
			cmd.Env = append(os.Environ(), unservedMark+"="+tt.limit.String(),
				"LD_LIBRARY_PATH="+fakeNVML(t, "-DINIT="+tt.init))
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			var got facts.NVML
			hosttest.Must(t, json.NewDecoder(bytes.NewReader(out)).Decode(&got))
			if got.Status != tt.status || !strings.Contains(got.Message, tt.message) ||
				time.Duration(got.Code)*time.Millisecond > tt.limit+slack {
				t.Errorf("NVML is %+v (the code is milliseconds)", got)
			}
		})
	}
}
