package probe_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cudacompat/matrix"
	"cudacompat/matrix/verdict"
	"cudacompat/probe"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"
	"cudacompat/probe/internal/nvml/nvmltest"

	"golang.org/x/tools/txtar"
)

var (
	faultTrees = flag.String("fault-trees", "", "let NVML fail on the machines of this `directory`, as `kit.py BINARY trees` writes them, too")
	faultSeed  = flag.Uint64("fault-seed", 0, "draw faults by this `seed`; 0: by the time")
	faultShare = flag.Int("fault-share", 40, "try one fault in `N`")
	faultMost  = flag.Int("fault-machines", 3, "the `number` of broken machines and of sound ones")
)

// nvmlCodes are the codes by which a call fails: nvmlReturn_t in nvml.h.
var nvmlCodes = []int{1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16, 17, 18, 19, 20, 23, 25, 27, 999}

// nvmlMachine is a tree of files beside an NVML that answers for it.
type nvmlMachine struct {
	name, root string
	env        map[string]string
	outcome    verdict.Outcome
	rules      []string // its errors
	calls      []string
}

// look judges the machine while NVML fails.
func (m *nvmlMachine) look(fault, calls string) (verdict.Verdict, probe.Facts) {
	env := maps.Clone(m.env)
	env["NVML_FAULT"], env["NVML_CALLS"] = fault, calls
	f := probe.Run(context.Background(), &host.Host{Root: m.root, Env: env}, probe.Options{Timeout: time.Minute})
	return matrix.Check(context.Background(), matrix.Embedded(), f, []matrix.Target{{}}, verdict.Policy{Today: "2026-11-29"}), f
}

// errorsOf returns the rules that found errors.
func errorsOf(v verdict.Verdict) []string {
	var rules []string
	for _, f := range v.Findings {
		if f.Severity == verdict.Error {
			rules = append(rules, f.Rule)
		}
	}
	return rules
}

// hostFiles are the files of a host whose only GPU looks healthy in them.
const hostFiles = `
-- @env --
PATH=/usr/bin
-- etc/os-release --
PRETTY_NAME="Ubuntu 24.04.3 LTS"
ID=ubuntu
VERSION_ID="24.04"
-- boot/vmlinuz-6.8.0-1021-aws --
-- proc/sys/kernel/osrelease --
6.8.0-1021-aws
-- proc/uptime --
3600.00 7000.00
-- proc/driver/nvidia/version --
NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build
-- proc/driver/nvidia/gpus/0000:1e:00.0/information --
Model: 		 NVIDIA L4
Device Minor: 	 7
GPU Excluded:	 No
-- proc/devices --
Character devices:
  1 mem
-- proc/self/mountinfo --
22 1 259:1 / / rw - ext4 /dev/root rw
23 22 0:21 / /proc rw - proc proc rw
24 22 0:22 / /sys rw - sysfs sysfs rw
25 22 0:5 / /dev rw - devtmpfs devtmpfs rw
-- proc/1/mountinfo --
22 1 259:1 / / rw - ext4 /dev/root rw
-- proc/2/stat --
2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 22 0 0
-- sys/module/nvidia/version --
570.86.15
-- sys/module/nvidia_uvm/refcnt --
2
-- sys/bus/pci/drivers/nvidia/ --
-- sys/bus/pci/devices/0000:1e:00.0/driver -> ../../../../bus/pci/drivers/nvidia --
-- sys/bus/pci/devices/0000:1e:00.0/vendor --
0x10de
-- sys/bus/pci/devices/0000:1e:00.0/class --
0x030200
-- sys/bus/pci/devices/0000:1e:00.0/device --
0x27b8
-- lib/modules/6.8.0-1021-aws/updates/dkms/nvidia.ko = elf x86_64 .modinfo --
version=570.86.15
license=Dual MIT/GPL
-- lib/firmware/nvidia/570.86.15/gsp_ga10x.bin --
-- usr/lib/x86_64-linux-gnu/libcuda.so.1 -> libcuda.so.570.86.15 --
-- usr/lib/x86_64-linux-gnu/libcuda.so.570.86.15 --
-- usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1 -> libnvidia-ml.so.570.86.15 --
-- usr/lib/x86_64-linux-gnu/libnvidia-ml.so.570.86.15 --
-- usr/lib/x86_64-linux-gnu/libnvidia-ptxjitcompiler.so.1 -> libnvidia-ptxjitcompiler.so.570.86.15 --
-- usr/lib/x86_64-linux-gnu/libnvidia-ptxjitcompiler.so.570.86.15 --
-- usr/bin/nvidia-modprobe --
-- dev/nvidiactl --
-- dev/nvidia-uvm --
-- dev/nvidia7 --
`

// ownMachines returns one host with several NVML libraries: a healthy one, and those of GPUs whose fault only NVML
// knows.
func ownMachines(t *testing.T) []*nvmlMachine {
	h := hosttest.Host(t, txtar.Parse([]byte(hostFiles)))
	var all []*nvmlMachine
	for name, defines := range map[string]string{
		"sound":            "-DHEALTH=0 -DREASONS=0 -DFABRIC=0 -DRECOVERY=0 -DCONFIDENTIAL=0 -DMODE=0",
		"sound, few calls": "-DRECOVERY=0 -DCONFIDENTIAL=0 -DMODE=0",
		"needs a reset":    "-DHEALTH=0 -DREASONS=0 -DFABRIC=0 -DRECOVERY=1 -DCONFIDENTIAL=0 -DMODE=0",
		"slowed down":      "-DHEALTH=0 -DREASONS=0x40 -DFABRIC=0",
		"not ready":        "-DRECOVERY=0 -DCONFIDENTIAL=1 -DMODE=0",
		"prohibited":       "-DSTATE -DBRAND=2 -DMODE=2 -DMIG_REST=6",
		"lost":             "-DLOST=0",
	} {
		env := maps.Clone(h.Env)
		env["LD_LIBRARY_PATH"] = nvmltest.Library(t, append(strings.Fields(defines), "-DCOUNT=1", "-DDRIVER=\"570.86.15\"", "-DCUDA=12080",
			"-DFIELD=0", "-DREADY=0", "-DLICENSED=0")...)
		all = append(all, &nvmlMachine{name: name, root: h.Root, env: env})
	}
	slices.SortFunc(all, func(a, b *nvmlMachine) int { return strings.Compare(a.name, b.name) })
	return all
}

// nvmlMachines returns broken and sound machines, as many of each as are asked for.
func nvmlMachines(t *testing.T, draw *rand.Rand) []*nvmlMachine {
	t.Helper()
	all := ownMachines(t)
	trees, _ := filepath.Glob(filepath.Join(*faultTrees, "*/machine.json"))
	for _, file := range trees {
		var m struct{ Env map[string]string }
		data, err := os.ReadFile(file)
		hosttest.Must(t, err)
		hosttest.Must(t, json.Unmarshal(data, &m))
		root := filepath.Dir(file)
		m.Env["LD_LIBRARY_PATH"] = root + "/usr/lib/x86_64-linux-gnu:" + root + "/usr/lib64"
		all = append(all, &nvmlMachine{name: filepath.Base(root), root: root, env: m.Env})
	}
	draw.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	count := map[verdict.Outcome]int{}
	return slices.DeleteFunc(all, func(m *nvmlMachine) bool {
		calls := filepath.Join(t.TempDir(), "calls")
		v, f := m.look("", calls)
		m.outcome, m.rules = v.Outcome, errorsOf(v)
		list, _ := os.ReadFile(calls)
		m.calls = strings.Fields(string(list))
		unloaded := f.Driver.From == "NVML" && !f.System.WSL // no such machine has an NVML that answers
		if m.outcome == verdict.Inconclusive || unloaded || len(m.calls) == 0 || count[m.outcome] == *faultMost {
			return true
		}
		count[m.outcome]++
		return false
	})
}

// TestNVMLFaults makes the calls of NVML fail on broken and healthy machines, each with NVML's own codes: only the nth
// call, or all from the nth on. A broken machine must never be compatible. A healthy one must never be incompatible,
// except for the codes that RULES.md calls errors. A failed call must be named.
func TestNVMLFaults(t *testing.T) {
	if probe.NVMLSupport() != "with NVML" {
		t.Skip("built without cgo: NVML is not asked")
	}
	seed := *faultSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	draw := rand.New(rand.NewPCG(seed, 0))
	tried := map[string]int{}
	var mu sync.Mutex
	for _, m := range nvmlMachines(t, draw) {
		choose := rand.New(rand.NewPCG(draw.Uint64(), 0))
		t.Run(fmt.Sprintf("%s %s", m.outcome, m.name), func(t *testing.T) {
			t.Parallel()
			for n := range m.calls {
				for _, code := range nvmlCodes {
					for _, on := range []string{"", "+"} {
						if choose.IntN(*faultShare) != 0 {
							continue
						}
						why := m.wrong(n+1, on, code)
						mu.Lock()
						tried[fmt.Sprintf("%s %s", m.outcome, map[bool]string{true: "right", false: "wrong"}[why == ""])]++
						mu.Unlock()
						if why != "" {
							t.Errorf("%s: call %d%s (%s) fails by %d: %s", m.name, n+1, on, m.calls[n], code, why)
						}
					}
				}
			}
		})
	}
	t.Cleanup(func() { t.Logf("seed %d: %v", seed, tried) })
}

// wrong says what is wrong with the verdict if a call of NVML fails by a code.
func (m *nvmlMachine) wrong(n int, on string, code int) string {
	v, f := m.look(fmt.Sprintf("%d%s %d", n, on, code), os.DevNull)
	rules := errorsOf(v)
	switch {
	case v.Outcome == verdict.Compatible && m.outcome == verdict.Incompatible && !m.isUntold(n, on, code):
		return "compatible"
	case v.Outcome == verdict.Incompatible && m.outcome == verdict.Compatible && !provesFault(n, code, rules):
		return fmt.Sprint("incompatible: ", rules)
	}
	if text, _ := json.Marshal([]any{f.Driver.NVML, f.Probes}); !bytes.Contains(text, []byte(fmt.Sprint(code))) && !isQuiet(code) {
		return "nothing says that it failed"
	}
	return ""
}

// provesFault reports whether RULES.md calls a code an error: 18 from nvmlInit is a mismatch, and 8, 11, 15 and 16
// describe a broken GPU.
func provesFault(n, code int, rules []string) bool {
	want := map[int]string{8: "gpu-health", 11: "gpu-health", 15: "gpu-health", 16: "gpu-health"}[code]
	if n == 1 {
		want = map[int]string{15: "driver-unresponsive", 18: "driver-mismatch"}[code]
	}
	return want != "" && !slices.ContainsFunc(rules, func(rule string) bool { return rule != want })
}

// isQuiet reports whether a code means that this NVML release, kind of GPU or user gets no answer to a single query. By
// DESIGN.md that leaves no link unseen.
func isQuiet(code int) bool { return slices.Contains([]int{3, 4, 13, 25}, code) }

// isUntold reports whether such a code refused the only query that shows a machine's fault. The calls that list the
// GPUs are no such queries.
func (m *nvmlMachine) isUntold(n int, on string, code int) bool {
	called := m.calls[n-1:]
	if on == "" {
		called = called[:1]
	}
	listing := func(function string) bool {
		return slices.Contains([]string{"nvmlInit_v2", "nvmlDeviceGetCount_v2", "nvmlDeviceGetHandleByIndex_v2"}, function)
	}
	return isQuiet(code) && !slices.ContainsFunc(called, listing)
}
