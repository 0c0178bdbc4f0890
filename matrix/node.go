package matrix

import (
	"slices"
	"strings"

	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// Normalize clears the facts that differ between two looks at the same machine and decide nothing in a fleet: how long
// a probe took, which process led to an environment, how much memory is in use, and how long ago the GPUs could begin
// to join their fabric, beyond the time that this takes. Equal nodes then compare equal.
func Normalize(f *facts.Facts) {
	if since, _ := hardware.FabricSince(f); f.Machine.Uptime > 0 {
		f.Machine.Uptime = max(1, min(since, hardware.RegisterSeconds+1))
	}
	f.Machine.ModuleLoaded, f.Machine.Fabric.Started = 0, 0
	for i := range f.Probes {
		f.Probes[i].Seconds = 0
	}
	for i := range f.Environments {
		f.Environments[i].Found = ""
	}
	for i := range f.GPUs {
		f.GPUs[i].Memory = nil
		if h := f.GPUs[i].Health; h != nil {
			h.Slowdown = slices.DeleteFunc(h.Slowdown, func(s string) bool { return s == "idle" || s == "power cap" })
		}
	}
}

// Component is one component of the software stack.
type Component struct {
	Name    string // "driver", "CUDA", "torch", "NCCL"
	Of      string // the framework that takes it; empty: it is taken by none
	Version string
}

// Components returns the components of a machine's stack whose versions are known: the driver, its CUDA, and each
// framework with its NCCL in the environments that count. The version of a framework's CPU build says so. A target's
// driver takes the place of the machine's.
func Components(t *Tables, f *facts.Facts, target Target) []Component {
	m := model.NewMachine(t, f, target, verdict.Policy{})
	var list []Component
	add := func(p Component) {
		same := func(o Component) bool { return o.Name == p.Name && o.Of == p.Of }
		if p.Version != "" && !slices.ContainsFunc(list, same) {
			list = append(list, p)
		}
	}
	add(Component{Name: "driver", Version: m.Driver().Version.String()})
	if m.Driver().CUDA.Known() {
		add(Component{Name: "CUDA", Version: m.Driver().CUDA.Short()})
	}
	for _, b := range m.Builds {
		if !b.Counts || !b.IsFramework() {
			continue
		}
		if b.Device == "cpu" {
			add(Component{Name: b.Name, Version: cpuVersion(b.Version)})
			continue
		}
		add(Component{Name: b.Name, Version: b.Version})
		if l, known := b.Takes("nccl"); known {
			add(Component{Name: "NCCL", Of: b.Name, Version: l.Version.String()})
		}
	}
	return list
}

// cpuVersion marks the version of a CPU build as such.
func cpuVersion(v string) string {
	if v == "" || strings.HasSuffix(v, "+cpu") {
		return v
	}
	return v + " (CPU)"
}
