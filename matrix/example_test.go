package matrix_test

import (
	"context"
	"fmt"

	"cudacompat/matrix"
	"cudacompat/probe"
)

// An agent that has gathered facts asks what they mean, for this machine or for another one.
func ExampleCheck() {
	facts := probe.Facts{
		Driver: probe.Driver{Version: "535.183.01", From: "/proc/driver/nvidia/version"},
		GPUs:   []probe.GPU{{Name: "NVIDIA L4", Capability: "8.9", From: []string{"NVML"}}},
		Environments: []probe.Environment{{Path: "/opt/venv", Python: "3.12", Active: true,
			Builds: []probe.Build{{Name: "torch", Version: "2.9.0+cu130", Origin: "wheel"}}}},
	}
	verdict := matrix.Check(context.Background(), matrix.Embedded(), facts, nil, matrix.Policy{})
	fmt.Println(verdict.Outcome)
	for _, f := range verdict.Findings {
		if f.Severity == matrix.Error {
			fmt.Println(f.Rule, "needs", f.Need, "or", f.Pins[0].Package, f.Pins[0].Version)
		}
	}
	// Output:
	// incompatible
	// driver-too-old needs driver >= 580.65.06 or torch 2.9.0+cu126
}
