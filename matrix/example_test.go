package matrix_test

import (
	"context"
	"fmt"
	"os"
	"testing/fstest"

	"cudacompat/matrix"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
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
	result := matrix.Check(context.Background(), matrix.Embedded(), node, nil, verdict.Policy{})
	fmt.Println(result.Outcome)
	for _, f := range result.Findings {
		if f.Severity == verdict.Error {
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
	need := matrix.Requires(context.Background(), matrix.Embedded(), node, "3.12")
	for _, name := range []string{"L4", "V100"} {
		gpu := need.ForGPU(name)
		fmt.Printf("%s: drivers %s %v\n", name, gpu.Drivers, gpu.Because)
	}
	// Output:
	// L4: drivers >= 580.65.06 []
	// V100: drivers none [gpu-arch-missing]
}

// An image builder asks what to install for an instance type whose driver must stay as it is.
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

// Tables that are kept elsewhere are read whole and checked; all of them have to be there.
func ExampleLoad() {
	_, err := matrix.Load(fstest.MapFS{"nccl.csv": {Data: []byte("release,cuda\n2.27.3,12\n")}})
	fmt.Println(err)
	tables, err := matrix.Load(os.DirFS("../data"))
	fmt.Println(tables.Date() == matrix.Embedded().Date(), err)
	// Output:
	// open cuda.csv: file does not exist
	// true <nil>
}

// A dashboard shows which of a node's GPUs programs are not shown, and why.
func ExampleJudgedGPU() {
	node := facts.Facts{
		Driver: facts.Driver{Version: "580.95.05", From: "NVML"},
		GPUs: []facts.GPU{
			{Name: "NVIDIA L4", Capability: "8.9", Bus: "0000:31:00.0", From: []string{"NVML"}},
			{Name: "NVIDIA L4", Capability: "8.9", Bus: "0000:32:00.0", From: []string{"/sys/bus/pci"}, Bound: "vfio-pci"},
		},
	}
	result := matrix.Check(context.Background(), matrix.Embedded(), node, nil, verdict.Policy{})
	for _, gpu := range result.Judged[0].Devices {
		fmt.Printf("%s: %s, hidden: %q\n", gpu.Address, gpu.Label, gpu.Hidden)
	}
	// Output:
	// 0000:31:00.0: NVIDIA L4 (8.9), hidden: ""
	// 0000:32:00.0: NVIDIA L4 (8.9), hidden: "held by vfio-pci"
}

// Whoever keeps the tables hears where a build that was read tells otherwise than its row.
func ExampleDisagreement() {
	node := facts.Facts{Environments: []facts.Environment{{Path: "/opt/venv", Python: "3.12", Active: true,
		Builds: []facts.Build{{Name: "torch", Version: "2.9.0+cu128", Origin: "wheel", Accelerator: "cuda",
			SASS: []string{"sm_90"}, Path: "/opt/venv/lib/libtorch_cuda.so"}}}}}
	result := matrix.Check(context.Background(), matrix.Embedded(), node, nil, verdict.Policy{})
	for _, d := range result.Disagreements {
		fmt.Printf("%s: %s %s\nthe table: %s\n", d.Subject, d.Fact, d.Read, d.Table)
	}
	// Output:
	// torch 2.9.0+cu128 in /opt/venv: machine code sm_90
	// the table: sm_70 sm_75 sm_80 sm_86 sm_90 sm_100 sm_120
}

// An inventory lists the parts of the stack whose versions are known.
func ExampleComponent() {
	node := facts.Facts{
		Driver: facts.Driver{Version: "570.133.20", From: "NVML"},
		Environments: []facts.Environment{{Path: "/opt/venv", Python: "3.12", Active: true,
			Builds: []facts.Build{{Name: "torch", Version: "2.9.0+cu128", Origin: "wheel"}}}},
	}
	for _, part := range matrix.Components(matrix.Embedded(), &node, matrix.Target{}) {
		fmt.Println(part.Name, part.Version)
	}
	// Output:
	// driver 570.133.20
	// CUDA 12.8
	// torch 2.9.0+cu128
}

// A site lays rows of its own over the embedded tables: here an advisory against a driver of its fleet.
func ExampleLoadOver() {
	own := fstest.MapFS{"advisory.csv": {Data: []byte("id,severity,when,message,fix,source\n" +
		"our-nodes,warning,driver=570.133.20,jobs hang on our nodes with this driver,take driver 570.158.01," +
		"https://example.org/incidents/42\n")}}
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
	result := matrix.Check(context.Background(), tables, node, nil, verdict.Policy{})
	for _, f := range result.Findings {
		if f.Severity != verdict.Note {
			fmt.Println(f.Severity, f.Rule, f.Message, f.Do)
		}
	}
	// Output:
	// warning known-bad jobs hang on our nodes with this driver [take driver 570.158.01]
}
