package matrix_test

import (
	"context"
	"fmt"
	"testing/fstest"

	"cudacompat/matrix"
	"cudacompat/pin"
	"cudacompat/probe"
	"cudacompat/probe/facts"
)

// An agent that has gathered facts asks what they mean, for this machine or for another one.
func ExampleCheck() {
	node := facts.Facts{
		Driver: facts.Driver{Version: "535.183.01", From: "/proc/driver/nvidia/version"},
		GPUs:   []facts.GPU{{Name: "NVIDIA L4", Capability: "8.9", From: []string{"NVML"}}},
		Environments: []facts.Environment{{Path: "/opt/venv", Python: "3.12", Active: true,
			Builds: []facts.Build{{Name: "torch", Version: "2.9.0+cu130", Origin: "wheel"}}}},
	}
	verdict := matrix.Check(context.Background(), matrix.Embedded(), node, nil, matrix.Policy{})
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

// A scheduler asks which hosts an artefact can be put on, before it is put on any.
func ExampleRequires() {
	node, err := probe.Given([]byte("torch==2.9.0+cu130\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	need := matrix.Requires(matrix.Embedded(), node, "3.12")
	for _, name := range []string{"L4", "V100"} {
		gpu := need.Of(name)
		fmt.Printf("%s: drivers %s %v\n", name, gpu.Drivers, gpu.Because)
	}
	// Output:
	// L4: drivers >= 580.65.06 []
	// V100: drivers none [gpu-arch-missing]
}

// An image builder asks what to install on an instance type with the driver that it keeps.
func ExamplePins() {
	target := matrix.Target{Instance: "g6.xlarge", Driver: "550.90.07", Python: "3.12"}
	sets := matrix.Pins(matrix.Embedded(), facts.Facts{}, target, pin.Wanted{Framework: "torch", Release: "2.9.0"})
	for _, set := range sets.Only(pin.KeepDriver).Sets {
		for _, p := range set.Packages {
			fmt.Println(p.Package, p.Version)
		}
		fmt.Println(set.Why)
	}
	// Output:
	// torch 2.9.0+cu126
	// torchvision 0.24.0+cu126
	// torchaudio 2.9.0+cu126
	// triton 3.5.0
	// runs on driver 550.90.07
}

// A site lays rows of its own over the embedded tables: here an advisory against a driver of its fleet.
func ExampleLoadOver() {
	own := fstest.MapFS{"advisory.csv": {Data: []byte("id,severity,when,message,fix,source,checked\n" +
		"our-nodes,warning,driver=570.133.20,jobs hang on our nodes with this driver,take driver 570.158.01," +
		"https://example.org/incidents/42,2026-11-22\n")}}
	tables, err := matrix.LoadOver(own)
	if err != nil {
		fmt.Println(err)
		return
	}
	node := facts.Facts{
		Driver: facts.Driver{Version: "570.133.20", From: "/proc/driver/nvidia/version"},
		GPUs:   []facts.GPU{{Name: "NVIDIA L4", Capability: "8.9", From: []string{"NVML"}}},
		Environments: []facts.Environment{{Path: "/opt/venv", Python: "3.12", Active: true,
			Builds: []facts.Build{{Name: "torch", Version: "2.9.0+cu128", Origin: "wheel"}}}},
	}
	verdict := matrix.Check(context.Background(), tables, node, nil, matrix.Policy{})
	for _, f := range verdict.Findings {
		if f.Severity != matrix.Note {
			fmt.Println(f.Severity, f.Rule, f.Message, f.Do)
		}
	}
	// Output:
	// warning known-bad jobs hang on our nodes with this driver [take driver 570.158.01]
}
