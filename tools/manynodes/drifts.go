package main

import "cudacompat/probe/facts"

// drift makes nodes of a group differ from the others.
type drift struct {
	group, severity, what string
	nodes                 int
	change                func(*facts.Facts)
}

// drifts are differences within a group; those that bring two with them stand in both lines.
var drifts = []drift{
	{"pool-0", "warning", "torch", 1, func(f *facts.Facts) { torch(f).Version = "2.7.1+cu128" }},
	{"pool-1", "warning", "driver", 3, driver("580.105.08", "13.0")}, // a rollout that stopped half-way
	{"pool-2", "warning", "jax", 1, func(f *facts.Facts) { torch(f).Version = "0.6.0" }},
	{"pool-3", "warning", "driver", 1, onDriver("580.105.08", "13.0")},
	{"pool-5", "error", "NCCL of jax", 2, func(f *facts.Facts) { torch(f).Taken[0].Version = "2.27.7" }},
	{"pool-6", "error", "NCCL of torch", 1, func(f *facts.Facts) { torch(f).Taken[0].Version = "2.26.2" }},
	{"pool-7", "warning", "driver", 1, driver("570.133.20", "12.8")},
	{"pool-7", "warning", "driver", 1, driver("570.124.06", "12.8")}, // another one, in the same group
	{"pool-9", "warning", "CUDA", 1, func(f *facts.Facts) { compat(f, "570.133.20", "12.8", 535, 550) }},
	{"pool-10", "warning", "torch", 2, func(f *facts.Facts) { torch(f).Version, torch(f).CUDA = "2.6.0+cu126", "12.6" }},
	{"pool-11", "error", "NCCL of jax", 1, func(f *facts.Facts) { torch(f).Taken[0].Version = "2.27.3" }},
	{"pool-11", "error", "NCCL of jax", 2, func(f *facts.Facts) { torch(f).Taken[0].Version = "2.25.1" }},
}

// alike are differences within a group that are none.
var alike = []drift{
	{"pool-8", "", "what is not known", 2, func(f *facts.Facts) { f.Driver.CUDA = "" }},
	{"pool-8", "", "another user's environment", 1, func(f *facts.Facts) {
		other := f.Environments[0]
		other.Path, other.Active, other.OtherUser = "/home/other/venv", false, true
		other.Builds = []facts.Build{{Name: "torch", Version: "2.6.0+cu124", CUDA: "12.4", Accelerator: "cuda",
			Path: "/home/other/venv/lib/python3.12/site-packages/torch"}}
		f.Environments = append(f.Environments, other)
	}},
	{"pool-8", "", "NCCL outside environments", 1, func(f *facts.Facts) {
		f.Libraries = append(f.Libraries,
			facts.Library{Name: "nccl", Version: "2.18.5", Path: "/usr/lib64/libnccl.so.2.18.5"})
	}},
}
