package matrix

import (
	"context"
	"fmt"
	"testing"

	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// many returns a machine with environments that each hold one torch, and with GPUs of several kinds.
func many(environments, gpus int) facts.Facts {
	kinds := []facts.GPU{
		{Name: "NVIDIA L4", Capability: "8.9"}, {Name: "Tesla T4", Capability: "7.5"},
		{Name: "NVIDIA H100 80GB HBM3", Capability: "9.0"}, {PCIID: "10de:2236"},
	}
	f := facts.Facts{
		System: facts.System{OS: "Ubuntu 22.04", Arch: "x86_64", Libc: "2.35", Rest: true},
		Driver: facts.Driver{Version: "535.183.01", From: "/lib/modules"},
	}
	for i := range gpus {
		g := kinds[i%len(kinds)]
		g.Bus, g.From = fmt.Sprintf("0000:%02x:%02x.0", i/32, i%32), []string{"/sys/bus/pci"}
		f.GPUs = append(f.GPUs, g)
	}
	for i := range environments {
		path := fmt.Sprintf("/opt/e%d", i)
		f.Environments = append(f.Environments, facts.Environment{Path: path, Python: "3.12.3", Builds: []facts.Build{
			{Name: "torch", Version: "2.9.0+cu130", CUDA: "13.0", Path: path + "/lib/torch", Origin: "wheel",
				Accelerator: "cuda",
				SASS:        []string{"sm_75", "sm_80"}, PTX: []string{"compute_80"}}}})
	}
	return f
}

// requirements returns an environment with one package on many lines, as in a generated file.
func requirements(lines int) facts.Facts {
	f := many(1, 4)
	e := &f.Environments[0]
	e.Builds = nil
	for i := range lines {
		e.Builds = append(e.Builds, facts.Build{Name: "torch", Version: fmt.Sprintf("2.%d.%d+cu1%d", i%10, i%7, 21+i%9),
			Accelerator: "cuda", Origin: "wheel"})
		e.Packages = append(e.Packages, facts.Package{Name: "torch", Version: e.Builds[i].Version})
	}
	return f
}

// BenchmarkManyGPUs judges 200 environments on 400 GPUs, in about a second.
func BenchmarkManyGPUs(b *testing.B) {
	for b.Loop() {
		Check(context.Background(), Embedded(), many(200, 400), nil, verdict.Policy{})
	}
}

// BenchmarkManyLines judges 4,000 lines of torch, in about a second.
func BenchmarkManyLines(b *testing.B) {
	for b.Loop() {
		Check(context.Background(), Embedded(), requirements(4000), nil, verdict.Policy{})
	}
}
