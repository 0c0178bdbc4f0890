package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// answer is what NVML said: the driver, what CUDA its user space speaks, the GPUs that this process may see.
type answer struct {
	NVML   NVML   `json:"nvml"`
	Driver string `json:"driver"`
	CUDA   string `json:"cuda"`
	GPUs   []GPU  `json:"gpus"`
}

// nvmlArg starts this program as the child that asks NVML.
const nvmlArg = "__nvml"

// served says that this program calls ServeNVML, so that starting it again reaches the child's code. A program that
// does not would start itself for ever.
var served bool

// ServeNVML must be called first in main by a program that wants NVML asked in a child process: in the child it
// answers on standard output and does not return. A program that never calls it gets NVML in its own process.
func ServeNVML() {
	served = true
	if len(os.Args) != 2 || os.Args[1] != nvmlArg {
		return
	}
	runtime.LockOSThread()
	if err := json.NewEncoder(os.Stdout).Encode(askNVML()); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// startNVML asks NVML while the files are read; the function that it returns waits for the answer, nil when this
// host has none to ask.
func startNVML(ctx context.Context, h *Host, opt Options) func() *answer {
	if h.Rest {
		return func() *answer { return &answer{NVML: NVML{Status: "left out", Message: "a tree at rest"}} }
	}
	if !builtIn {
		return func() *answer { return &answer{NVML: NVML{Status: "not built in", Message: noNVML}} }
	}
	limit := opt.Timeout
	if limit == 0 {
		limit = nvmlTimeout(h)
	}
	done := make(chan *answer, 1)
	go func() {
		if served {
			done <- askChild(ctx, limit)
		} else {
			a := askNVML()
			done <- &a
		}
	}()
	return func() *answer {
		select {
		case a := <-done:
			return a
		case <-time.After(limit + time.Second): // in-process, or a child that cannot even be waited for
			return late(limit)
		}
	}
}

// nvmlTimeout is 10 s and 4 s more for each NVIDIA device: without persistence mode every GPU is initialised anew,
// and healthy hosts with eight take 25 to 30 s.
func nvmlTimeout(h *Host) time.Duration {
	gpus, _ := h.ReadDir("/proc/driver/nvidia/gpus")
	return time.Duration(10+4*len(gpus)) * time.Second
}

func late(limit time.Duration) *answer {
	return &answer{NVML: NVML{Status: "timeout", Message: fmt.Sprintf("no answer within %s; "+
		"without persistence mode every start initialises all GPUs (nvidia-smi -pm 1), or give --timeout", limit)}}
}

// askChild asks NVML in a child process, so that a crash, a missing symbol or a hang in the driver's library is a
// fact and not this program's end. A child that cannot be killed is left behind.
func askChild(ctx context.Context, limit time.Duration) *answer {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		return &answer{NVML: NVML{Status: "crashed", Message: "cannot find this program to start it again: " + err.Error()}}
	}
	var out, errs bytes.Buffer
	cmd := exec.Command(self, nvmlArg)
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return &answer{NVML: NVML{Status: "crashed", Message: "cannot start the child process: " + err.Error()}}
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	select {
	case err := <-exited:
		return childAnswer(out.Bytes(), errs.String(), err)
	case <-ctx.Done():
		return abandon(cmd.Process, exited, limit)
	}
}

// abandon ends a child that is late. State D after that is proof that the driver hangs: nothing can end such a
// process, so it is left behind.
func abandon(child *os.Process, exited <-chan error, limit time.Duration) *answer {
	stuck := processState(child.Pid) == "D"
	_ = child.Kill()
	select {
	case <-exited:
		stuck = false
	case <-time.After(500 * time.Millisecond):
		stuck = stuck && processState(child.Pid) == "D"
	}
	if stuck {
		return &answer{NVML: NVML{Status: "stuck", Message: fmt.Sprintf("NVML hangs in the kernel (process %d, state D, for %s)", child.Pid, limit)}}
	}
	return late(limit)
}

// processState reads the one-letter state of /proc/PID/stat: "4711 (cudacompat) D 1 …".
func processState(pid int) string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	state, _, _ := strings.Cut(rest, " ")
	return state
}

// childAnswer reads what the child wrote; a child that wrote nothing died of the driver's library.
func childAnswer(out []byte, errs string, exit error) *answer {
	var a answer
	if err := json.Unmarshal(out, &a); err == nil && exit == nil {
		return &a
	}
	why := "it wrote no answer"
	var ee *exec.ExitError
	if errors.As(exit, &ee) {
		why = ee.ProcessState.String()
	}
	if line := lastLine(errs); line != "" {
		why += ": " + line
	}
	return &answer{NVML: NVML{Status: "crashed", Message: "the child that asked NVML died: " + why}}
}

// lastLine is the loader's complaint, "…: symbol lookup error: …: undefined symbol: nvmlInit_v2"; a Go traceback's
// first line says more than its last.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for _, line := range lines {
		if strings.HasPrefix(line, "SIG") || strings.HasPrefix(line, "fatal error:") {
			return line
		}
	}
	return lines[len(lines)-1]
}

// apply writes NVML's answer over what the files said: it speaks for the running driver.
func (a *answer) apply(f *Facts) {
	f.Driver.NVML = a.NVML
	if a.Driver != "" && f.Driver.Version == "" {
		f.Driver.Version, f.Driver.From = a.Driver, "NVML"
	}
	if a.CUDA != "" {
		f.Driver.CUDA, f.Driver.CUDAFrom = a.CUDA, "NVML"
	}
	for _, gpu := range a.GPUs {
		f.GPUs = mergeGPU(f.GPUs, gpu)
	}
}

// mergeGPU joins what NVML and PCI say of the device at one address.
func mergeGPU(gpus []GPU, gpu GPU) []GPU {
	for i := range gpus {
		if gpu.Bus != "" && gpus[i].Bus == gpu.Bus {
			gpus[i].Name, gpus[i].Capability = gpu.Name, gpu.Capability
			gpus[i].From = append([]string{"NVML"}, gpus[i].From...)
			return gpus
		}
	}
	return append(gpus, gpu)
}

func (a *answer) status(took time.Duration) Status {
	s := Status{Name: "nvml", Status: "failed", Error: a.NVML.Message, Seconds: took.Seconds()}
	switch a.NVML.Status {
	case "ok":
		s.Status, s.Error = "ok", ""
	case "absent":
		s.Status = "absent"
	case "left out", "not built in":
		s.Status = "skipped"
	}
	return s
}

// NVMLSupport says in words whether this build can ask NVML.
func NVMLSupport() string {
	if builtIn {
		return "with NVML"
	}
	return "without NVML"
}
