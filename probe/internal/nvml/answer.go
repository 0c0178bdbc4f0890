package nvml

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"cudacompat/probe/facts"
	"cudacompat/probe/internal/libversion"
)

// Answer is NVML's answer: the driver, its CUDA version, and the GPUs that this process may see.
type Answer struct {
	NVML   facts.NVML          `json:"nvml"`
	Driver string              `json:"driver"`
	CUDA   string              `json:"cuda"`
	GPUs   []facts.GPU         `json:"gpus"`
	Named  []facts.NamedDevice `json:"named"`
	// Counted is how many GPUs there are, those that could not be asked too.
	Counted int `json:"counted"`
	// Drained are the addresses of GPUs that an administrator drained, so that NVML does not list them.
	Drained []string `json:"drained,omitempty"`
	Peers   string   `json:"peers"`
	Holders []holder `json:"holders"` // processes; they go no further
	// Confidential is "ready" or "not ready" where confidential computing is on.
	Confidential string `json:"confidential,omitempty"`
	// Opened holds the results of open(2) on device nodes. A child sends it first, by itself.
	Opened map[string]string `json:"opened,omitempty"`
	Whole  bool              `json:"whole"` // nothing more follows

	took  time.Duration // measured by the one who asks
	aside string        // what is to be said of an answer that is whole
}

// note adds a clause to the message.
func (a *Answer) note(clause string) {
	if a.NVML.Message != "" {
		a.NVML.Message += "; "
	}
	a.NVML.Message += clause
}

// addAside adds a remark to an otherwise complete answer.
func (a *Answer) addAside(clause string) { a.aside = strings.TrimPrefix(a.aside+"; "+clause, "; ") }

// Apply writes NVML's answer over the results from files, because it comes from the running driver.
func (a *Answer) Apply(f *facts.Facts) {
	if a.Driver != "" && !libversion.Driver.MatchString(a.Driver) {
		a.note(fmt.Sprintf("%q is not a driver version", a.Driver))
		a.Driver = ""
	}
	f.Driver.NVML, f.Driver.Confidential = a.NVML, a.Confidential
	if a.Driver != "" && f.Driver.Version == "" {
		f.Driver.Version, f.Driver.From = a.Driver, "NVML"
	}
	if a.CUDA != "" {
		f.Driver.CUDA, f.Driver.CUDAFrom = a.CUDA, "NVML"
	}
	f.Devices.Named, f.Devices.Counted, f.Devices.Peers = a.Named, a.Counted, a.Peers
	for i, node := range f.Devices.Nodes {
		f.Devices.Nodes[i].Open = a.Opened[node.Path]
	}
	for _, gpu := range a.GPUs {
		f.GPUs = mergeGPU(f.GPUs, gpu)
	}
	for i := range f.GPUs {
		f.GPUs[i].Drained = slices.Contains(a.Drained, f.GPUs[i].Bus)
	}
}

// mergeGPU joins what NVML and PCI say of the device at one address.
func mergeGPU(gpus []facts.GPU, gpu facts.GPU) []facts.GPU {
	for i := range gpus {
		if gpu.Bus != "" && gpus[i].Bus == gpu.Bus {
			gpus[i].Name, gpus[i].Capability, gpus[i].Health = gpu.Name, gpu.Capability, gpu.Health
			gpus[i].Brand, gpus[i].Mode, gpus[i].MIG, gpus[i].Instances, gpus[i].Memory = gpu.Brand, gpu.Mode, gpu.MIG,
				gpu.Instances, gpu.Memory
			gpus[i].Licence = gpu.Licence
			if gpus[i].Minor == nil {
				gpus[i].Minor = gpu.Minor
			}
			gpus[i].From = append([]string{"NVML"}, gpus[i].From...)
			return gpus
		}
	}
	return append(gpus, gpu)
}

func (a *Answer) Status() facts.Status {
	s := facts.Status{Name: "nvml", Status: "failed", Error: a.NVML.Message, Seconds: a.took.Seconds()}
	switch a.NVML.Status {
	case "ok":
		s.Status, s.Error = "ok", a.aside
	case "absent":
		s.Status = "absent"
	case "left out", "not built in":
		s.Status = "skipped"
	}
	return s
}
