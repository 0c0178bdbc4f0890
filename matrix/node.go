package matrix

import (
	"slices"

	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// Settle takes out of facts what differs from one look at a machine to the next and decides nothing where many are
// judged: how long a probe took, which process led to an environment, how much memory is in use, for how long a machine runs once its fabric had the time to
// start.
func Settle(f *facts.Facts) {
	f.Machine.Uptime = min(f.Machine.Uptime, model.RegisterSeconds+1)
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

// Part is one part of the stack that programs run on.
type Part struct {
	Name    string // "driver", "CUDA", "torch", "NCCL"
	Of      string // the framework that takes it; empty: it is taken by none
	Version string
}

// Stack is the parts of a machine's stack whose versions are known: the driver, its CUDA, and of the environments that
// count each framework with its NCCL.
func Stack(t *Tables, f *facts.Facts) []Part {
	m := model.NewMachine(t, f, Target{}, verdict.Policy{})
	var list []Part
	add := func(p Part) {
		same := func(o Part) bool { return o.Name == p.Name && o.Of == p.Of }
		if p.Version != "" && !slices.ContainsFunc(list, same) {
			list = append(list, p)
		}
	}
	add(Part{Name: "driver", Version: m.Driver().Version.String()})
	add(Part{Name: "CUDA", Version: m.Driver().CUDA.Short()})
	for _, b := range m.Builds {
		if !b.Counts || !b.IsFramework() || b.Device == "cpu" {
			continue
		}
		add(Part{Name: b.Name, Version: b.Version})
		if l, known := b.Takes("nccl"); known {
			add(Part{Name: "NCCL", Of: b.Name, Version: l.Version.String()})
		}
	}
	return list
}
