package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"cudacompat/probe/facts"
)

// document is a node's facts in the envelope that a collector adds.
type document struct {
	Node  string      `json:"node"`
	Group string      `json:"group"`
	Taken string      `json:"taken"`
	Facts facts.Facts `json:"facts"`
}

// machine is a kind of node that is sound.
type machine struct {
	instance, gpu, pci, capability string
	count                          int
	driver, cuda                   string
}

// workload is what is installed on it.
type workload struct{ name, version, cuda, nccl string }

var machines = []machine{
	{"p5.48xlarge", "NVIDIA H100 80GB HBM3", "10de:2330", "9.0", 8, "580.95.05", "13.0"},
	{"g6e.12xlarge", "NVIDIA L40S", "10de:26b9", "8.9", 4, "580.95.05", "13.0"},
	{"g5.xlarge", "NVIDIA A10G", "10de:2237", "8.6", 1, "570.172.08", "12.8"},
	{"g4dn.xlarge", "Tesla T4", "10de:1eb8", "7.5", 1, "550.163.01", "12.4"},
}

var workloads = []workload{{"torch", "2.8.0+cu128", "12.8", "2.27.3"}, {"torch", "2.6.0+cu124", "12.4", "2.21.5"},
	{"jax", "0.6.2", "12", "2.26.2"}}

// packages are what lies beside a workload on real nodes: most of a document's bytes.
var packages = strings.Fields(`
	nvidia-cublas-cu12 nvidia-cuda-cupti-cu12 nvidia-cuda-nvrtc-cu12 nvidia-cuda-runtime-cu12 nvidia-cufft-cu12
	nvidia-cufile-cu12 nvidia-curand-cu12 nvidia-cusolver-cu12 nvidia-cusparse-cu12 nvidia-nvjitlink-cu12
	nvidia-nvtx-cu12 nvidia-npp-cu12 nvidia-nvjpeg-cu12 nvidia-cuda-nvcc-cu12 nvidia-cuda-cccl-cu12
	nvidia-cuda-opencl-cu12 nvidia-nvml-dev-cu12 nvidia-nvfatbin-cu12 nvidia-cuda-sanitizer-api-cu12
	nvidia-cuda-cuobjdump-cu12 nvidia-cuda-cuxxfilt-cu12 nvidia-cuda-nvdisasm-cu12 nvidia-cuda-nvprune-cu12
	nvidia-cuda-profiler-api-cu12 nvidia-ml-py`)

// probed lists what a run reads besides what the example's did.
var probed = strings.Fields(`boot installers firmware driver-packages fabric grid updates processes peer-to-peer efa
	building devices container container-runtimes caches`)

// base returns a sound node as `cudacompat probe` finds it: a real one's facts, put on another machine.
func base(example facts.Facts, m machine, w workload) facts.Facts {
	f := example
	f.System.Instance = m.instance
	f.Driver.Version, f.Driver.CUDA = m.driver, m.cuda
	f.Driver.Libraries = []facts.Library{{Name: "libcuda", Version: m.driver, Path: "/usr/lib64/libcuda.so.1"},
		{Name: "libnvidia-ml", Version: m.driver, Path: "/usr/lib64/libnvidia-ml.so.1"}}
	f.Driver.Modules = []facts.Module{{Kernel: f.System.Kernel, Version: m.driver,
		Path: "/lib/modules/" + f.System.Kernel + "/extra/nvidia.ko.xz"}}
	f.GPUs = nil
	for i := range m.count {
		f.GPUs = append(f.GPUs, facts.GPU{Name: m.gpu, PCIID: m.pci, Capability: m.capability,
			Bus: fmt.Sprintf("0000:%02x:00.0", 0x53+i), Bound: "nvidia",
			From:  []string{"NVML", "/proc/driver/nvidia", "/sys/bus/pci"},
			Brand: "tesla", Mode: "default",
			Health: &facts.Health{Slowdown: []string{}, Persistence: "on", Fabric: "not supported"}})
	}
	site := "/opt/venv/lib/python3.12/site-packages/"
	e := facts.Environment{Path: "/opt/venv", Python: "3.12.3", Kind: "venv", Active: true}
	e.Builds = []facts.Build{{Name: w.name, Version: w.version, CUDA: w.cuda, Accelerator: "cuda", Origin: "wheel",
		Looked: true, Path: site + w.name, From: site + w.name + "/version.py", Taken: []facts.Taken{{Name: "libnccl.so.2",
			Version: w.nccl, CUDA: "12", Path: site + "nvidia/nccl/lib/libnccl.so.2",
			Reason: "DT_RPATH of " + site + w.name}}}}
	e.Packages = []facts.Package{{Name: "nvidia-nccl-cu12", Version: w.nccl,
		Path: site + "nvidia_nccl_cu12-" + w.nccl + ".dist-info"}}
	for _, p := range packages {
		e.Packages = append(e.Packages, facts.Package{Name: p, Version: "12.8.90", Path: site + p + "-12.8.90.dist-info"})
	}
	f.Environments = []facts.Environment{e}
	f.Machine.Uptime, f.Machine.Firmware = 86400, []string{m.driver}
	for _, name := range probed {
		if !slices.ContainsFunc(f.Probes, func(p facts.Status) bool { return p.Name == name }) {
			f.Probes = append(f.Probes, facts.Status{Name: name, Status: "ok", Seconds: 0.001})
		}
	}
	f.Complete()
	return f
}

// example returns the report of a real machine that is published with the program.
func example(path string) (facts.Facts, error) {
	var d struct {
		facts.Facts
		Inner *facts.Facts `json:"facts"`
	}
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &d)
	}
	if d.Inner != nil {
		return *d.Inner, err
	}
	return d.Facts, err
}

// copied returns facts that share nothing with others.
func copied(f facts.Facts) facts.Facts {
	data, err := json.Marshal(f)
	if err != nil {
		panic(err)
	}
	var c facts.Facts
	if err := json.Unmarshal(data, &c); err != nil {
		panic(err)
	}
	return c
}

// vary changes what does not matter: times, memory in use, how long the machine runs, clocks that are lowered.
func vary(f *facts.Facts, r *rand.Rand) {
	f.Machine.Uptime = 3600 + 1e6*r.Float64()
	for i := range f.Probes {
		f.Probes[i].Seconds = r.Float64() / 10
	}
	for i := range f.GPUs {
		f.GPUs[i].Memory = &facts.Memory{Used: r.Uint64N(80 << 30), Here: -1}
		if h := f.GPUs[i].Health; h != nil && r.IntN(2) == 0 {
			h.Slowdown = append(h.Slowdown, []string{"idle", "power cap"}[r.IntN(2)])
		}
	}
}

// pool is many nodes. Each is made when it is asked for, always the same: a parent that held them all would pass on
// its own peak of memory to the program that is measured.
type pool struct {
	kinds   []facts.Facts
	n       int
	changes map[int]func(*document) // by place: what is wrong there
}

// newPool returns n sound nodes of every machine and workload.
func newPool(example facts.Facts, n int) *pool {
	p := &pool{n: n, changes: map[int]func(*document){}}
	for _, m := range machines {
		for _, w := range workloads {
			p.kinds = append(p.kinds, base(example, m, w))
		}
	}
	return p
}

// group returns that of a place; nodes of one kind are one group.
func (p *pool) group(i int) string { return fmt.Sprintf("pool-%d", i%len(p.kinds)) }

func nodeName(i int) string { return fmt.Sprintf("node-%05d", i) }

// document returns the node at a place.
func (p *pool) document(i int) document {
	r := rand.New(rand.NewPCG(17, uint64(i)))
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	taken := noon.Add(-time.Duration(r.IntN(3600)) * time.Second).Format(time.RFC3339)
	d := document{nodeName(i), p.group(i), taken, copied(p.kinds[i%len(p.kinds)])}
	vary(&d.Facts, r)
	if change := p.changes[i]; change != nil {
		change(&d)
	}
	return d
}
