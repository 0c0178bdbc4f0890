package input

import (
	"strings"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/internal/input/paste"
	"cudacompat/probe/internal/input/pyproject"
)

// What people paste, block by block.
const (
	reportA = `Collecting environment information...
PyTorch version: 2.7.1+cu126
CUDA used to build PyTorch: 12.6
OS: Ubuntu 22.04.5 LTS (x86_64)
Python version: 3.11.9
Is CUDA available: True
GPU models and configuration:
GPU 0: NVIDIA L4
GPU 1: NVIDIA L4
Nvidia driver version: 535.183.01
`
	reportB = `PyTorch version: 2.9.0+cu130
CUDA used to build PyTorch: 13.0
OS: Ubuntu 22.04.5 LTS (x86_64)
Is CUDA available: False
GPU models and configuration: GPU 0: NVIDIA L4
Nvidia driver version: 550.90.07
`
	vllmA = `==============================
        System Info
==============================
OS                           : Ubuntu 22.04.5 LTS (x86_64)
PyTorch version              : 2.7.1+cu126
CUDA used to build PyTorch   : 12.6
Is CUDA available            : True
GPU models and configuration :
GPU 0: NVIDIA L4
GPU 1: NVIDIA L4
Nvidia driver version        : 535.183.01
`
	tableA = `| NVIDIA-SMI 535.183.01             Driver Version: 535.183.01   CUDA Version: 12.2     |
|   0  NVIDIA L4                      Off | 00000000:00:1E.0 Off |                    0 |
`
	tableB = `| NVIDIA-SMI 550.90.07              Driver Version: 550.90.07      CUDA Version: 12.4     |
|   0  NVIDIA L4                      Off |   00000000:00:1E.0 Off |                    0 |
`
	listA = `Package     Version
----------- -----------
torch       2.7.1
xformers    0.0.31
`
	listB = `Package     Version
----------- -----------
torch       2.8.0+cu128
`
	condaB = `# packages in environment at /opt/conda:
#
# Name                    Version                   Build  Channel
pytorch                   2.5.1           py3.12_cuda12.4_cudnn9.1.0_0    pytorch

`
	briefA = "- PyTorch version (GPU?): 2.7.1+cu126 (True)\n- Python version: 3.11.9\n"
	prose  = "It worked before, now it does not:\n"
)

// TestMachines divides a text where a block denies an earlier one of its kind, and nowhere else.
func TestMachines(t *testing.T) {
	for _, test := range []struct {
		name  string
		parts []string // each of one machine
	}{
		{"one report", []string{prose + reportA}},
		{"a report twice", []string{reportA + prose + reportA}},
		{"a brief report before the long one", []string{briefA + reportA}},
		{"what an issue's form asks, then the report", []string{"OS: Linux\nPython version: 3.11\n" + reportA}},
		{"all kinds, of one machine", []string{tableA + prose + reportA + listA + prose}},
		{"two reports", []string{prose + reportA + prose, reportB}},
		{"PyTorch's and vLLM's form of one machine", []string{reportA + vllmA}},
		{"vLLM's form first", []string{vllmA, reportB}},
		{"two tables", []string{tableA + listA, tableB}},
		{"a table and a report each", []string{tableA + reportA + prose, tableB + reportB}},
		{"two lists", []string{tableA + listA + prose, listB}},
	} {
		list := Machines(Document{Data: []byte(strings.Join(test.parts, ""))})
		var got []string
		for _, d := range list {
			got = append(got, string(d.Data))
		}
		if want := paste.StripMarkdown([]byte(strings.Join(test.parts, "\n=====\n"))); strings.Join(got, "\n=====\n") != string(want) {
			t.Errorf("%s: %d machines:\n%s", test.name, len(got), strings.Join(got, "\n=====\n"))
		}
	}
	above := Machines(Document{Data: []byte(prose + reportA + reportB)})[1].Above
	if want := 1 + strings.Count(reportA, "\n"); above != want {
		t.Errorf("%d lines stand before the second machine, want %d", above, want)
	}
}

// TestMachinesBound checks that a text with too many machines is rejected and not mixed up.
func TestMachinesBound(t *testing.T) {
	for _, n := range []int{20, 1000} {
		list := Machines(Document{Data: []byte(strings.Repeat(reportA+reportB, n))})
		if _, err := Read(list[0]); len(list) != 1 || err == nil {
			t.Errorf("%d machines, %v", len(list), err)
		}
	}
}

// TestPaste merges the blocks of one machine by kind, in any order.
func TestPaste(t *testing.T) {
	for _, text := range []string{tableA + listA + reportA, reportA + listA + tableA, listA + prose + reportA} {
		f, err := Read(Document{Data: []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Environments) != 1 || f.Driver.Version != "535.183.01" || len(f.Unread) > 0 {
			t.Fatalf("%d environments, driver %q, unread %v", len(f.Environments), f.Driver.Version, f.Unread)
		}
		env := f.Environments[0]
		if len(env.Builds) != 1 || env.Builds[0].Version != "2.7.1+cu126" || len(env.Requested) != 1 ||
			env.Requested[0].Name != "xformers" {
			t.Errorf("builds %v, wanted %v", env.Builds, env.Requested)
		}
	}
}

// TestPasteDisagrees names what two blocks of one machine tell otherwise.
func TestPasteDisagrees(t *testing.T) {
	for _, test := range []struct{ text, place string }{
		{reportA + tableB, "the driver"},
		{reportA + listB, "torch"},
		{reportA + condaB, "torch"},
		{reportA + strings.Replace(tableA, "NVIDIA L4 ", "Tesla T4  ", 1), "the GPU"},
	} {
		f, err := Read(Document{Data: []byte(test.text)})
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Unread) != 1 || f.Unread[0].Place != test.place || f.Unread[0].Kind != facts.UnreadNeeded {
			t.Errorf("want %s, got %v", test.place, f.Unread)
		}
	}
}

// TestTogether keeps what the first document says about the driver if the second says nothing.
func TestTogether(t *testing.T) {
	machine, _ := Read(Document{Data: []byte(tableA + "Failed to initialize NVML: Driver/library version mismatch\n")})
	list, _ := Read(Document{Data: []byte("torch==2.7.1\nvllm==0.10.0\n"), Name: "requirements.txt"})
	for _, order := range [][]facts.Facts{{machine, list}, {list, machine}} {
		f := paste.Together(order)
		if f.Driver.Version != "535.183.01" || f.Driver.NVML.Code != 18 || len(f.GPUs) != 1 ||
			len(f.Environments) != 1 || len(f.Environments[0].Builds) != 1 || len(f.Environments[0].Requested) != 1 {
			t.Errorf("driver %+v, GPUs %v, environments %v", f.Driver, f.GPUs, f.Environments)
		}
	}
}

// TestCUDAOfTheDriver checks that a "CUDA Driver Version" of two small numbers is not taken for a driver release, which
// may be beside it.
func TestCUDAOfTheDriver(t *testing.T) {
	for _, beside := range []string{"NVIDIA Driver: 570.124.06\n", "Nvidia driver version: 570.124.06\n", ""} {
		f, err := Read(Document{Data: []byte("GPU 0: NVIDIA GeForce RTX 4090\nCUDA Driver Version: 12.8\n" + beside + "PyTorch Version: 2.7.1+cu128\n")})
		if err != nil {
			t.Fatal(err)
		}
		want := ""
		if beside != "" {
			want = "570.124.06"
		}
		if f.Driver.CUDA != "12.8" || f.Driver.Version != want {
			t.Errorf("%q: driver %q, CUDA %q", beside, f.Driver.Version, f.Driver.CUDA)
		}
	}
}

// TestOtherReports reads the output of SGLang's check_env, and a hand-written Markdown list.
func TestOtherReports(t *testing.T) {
	for _, text := range []string{
		"Python: 3.10.16 (main)\nCUDA available: True\nGPU 0,1: NVIDIA H20\nGPU 0,1 Compute Capability: 9.0\n" +
			"CUDA Driver Version: 535.183.06\nPyTorch: 2.5.1+cu124\nsglang: 0.4.1\n",
		"- **PyTorch version**: `2.5.1+cu124` (wheel)\n- **NVIDIA driver version:** 535.183.06\n" +
			"- **GPU models and configuration**: GPU 0: NVIDIA H20\nGPU 1: NVIDIA H20\n",
	} {
		f, err := Read(Document{Data: []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		if f.Driver.Version != "535.183.06" || len(f.GPUs) != 2 || f.GPUs[1].Name != "NVIDIA H20" ||
			len(f.Environments) != 1 || f.Environments[0].Builds[0].Version != "2.5.1+cu124" {
			t.Errorf("driver %q, GPUs %v, environments %v", f.Driver.Version, f.GPUs, f.Environments)
		}
	}
}

// TestHeadings removes the mark of a heading and keeps that of a comment, also in UTF-16, which PowerShell's > writes.
func TestHeadings(t *testing.T) {
	const gpu = "NVIDIA GeForce RTX 5070 Ti with CUDA capability sm_120 is not compatible with the current PyTorch installation."
	for _, test := range []struct{ text, want string }{
		{"# " + gpu + "\n\nhow can I mend this?\n", gpu + "\n\nhow can I mend this?\n"},
		{"it says\n\n## " + gpu, "it says\n\n" + gpu},
		{"# " + gpu + "\nimport torch\n", "# " + gpu + "\nimport torch\n"},
		{"```\n\n# " + gpu + "\n\n```\n", "```\n\n# " + gpu + "\n\n```\n"},
		{"#" + gpu + "\n", "#" + gpu + "\n"},
	} {
		for _, data := range [][]byte{[]byte(test.text), utf16LE(test.text)} {
			if got := Machines(Document{Data: data}); len(got) != 1 || string(got[0].Data) != test.want {
				t.Errorf("%q became %q", test.text, got[0].Data)
			}
		}
	}
}

// TestPastedFreeze reads the output of uv and pip freeze in other text, and no sentence.
func TestPastedFreeze(t *testing.T) {
	const nightly = "https://download.pytorch.org/whl/nightly/cu128/torch-2.8.0.dev20250326%2Bcu128-cp312-cp312-linux_x86_64.whl"
	for _, test := range []struct{ text, torch string }{
		{"$ uv pip install torch\nInstalled 2 packages in 34ms\n - torch==2.7.1\n + torch==2.8.0\n + triton==3.4.0\n", "2.8.0"},
		{"my env:\n```\nnumpy==1.26.4\ntorch==2.3.0\n```\n", "2.3.0"},
		{"my env:\nnumpy==1.26.4\npillow==11.0.0\ntorch @ " + nightly + "\n", "2.8.0.dev20250326+cu128"},
	} {
		f, err := Read(Document{Data: []byte(test.text)})
		if err != nil || len(f.Environments) != 1 || len(f.Environments[0].Builds) != 1 || f.Environments[0].Builds[0].Version != test.torch {
			t.Errorf("%q: %v, %+v", test.text, err, f.Environments)
		}
	}
	if _, err := Read(Document{Data: []byte("Try to install\ntorch==2.8.0\nfirst, please.\n")}); err == nil {
		t.Error("a release in a sentence was taken for a list of packages")
	}
}

// TestXFormersInfo reads the output of python -m xformers.info, by itself and beside a report of the same machine.
func TestXFormersInfo(t *testing.T) {
	const info = "xFormers 0.0.22.post7+cu118\nindexing.index_select:                             available\n" +
		"pytorch.version:                                   2.0.1+cu118\npytorch.cuda:                                      available\n" +
		"gpu.compute_capability:                            6.0\ngpu.name:                                          Tesla P100-PCIE-16GB\n"
	const report = "PyTorch version: 2.0.1+cu118\nCUDA used to build PyTorch: 11.8\nIs CUDA available: True\n" +
		"GPU models and configuration: GPU 0: Tesla P100-PCIE-16GB\nNvidia driver version: 470.161.03\n"
	for _, text := range []string{info, report + prose + info, info + report} {
		if n := len(Machines(Document{Data: []byte(text)})); n != 1 {
			t.Errorf("%d machines in\n%s", n, text)
		}
		f, err := Read(Document{Data: []byte(text)})
		if err != nil || len(f.GPUs) != 1 || f.GPUs[0].Name != "Tesla P100-PCIE-16GB" || f.Observed.CUDAAvailable == nil || !*f.Observed.CUDAAvailable {
			t.Fatalf("%v, GPUs %+v, observed %+v", err, f.GPUs, f.Observed)
		}
		env := f.Environments[0]
		if env.Builds[0].Version != "2.0.1+cu118" || len(env.Requested) != 1 || env.Requested[0].Version != "0.0.22.post7+cu118" {
			t.Errorf("%+v", env)
		}
	}
	if f, err := Read(Document{Data: []byte("pytorch.version: 2.0.1+cu118\npytorch.cuda: not available\n")}); err != nil || *f.Observed.CUDAAvailable {
		t.Errorf("%v, %+v", err, f.Observed)
	}
}

// TestDeviceQuery reads the CUDA that the driver speaks, and the GPUs.
func TestDeviceQuery(t *testing.T) {
	f, err := Read(Document{Data: []byte(`Detected 1 CUDA Capable device(s)

Device 0: "Tesla T4"
  CUDA Driver Version / Runtime Version          11.4 / 12.2
  CUDA Capability Major/Minor version number:    7.5
`)})
	if err != nil || f.Driver.CUDA != "11.4" || len(f.GPUs) != 1 || f.GPUs[0].Name != "Tesla T4" || f.GPUs[0].Capability != "7.5" {
		t.Errorf("%v, driver %+v, GPUs %+v", err, f.Driver, f.GPUs)
	}
}

// TestQuotedProject checks that a thread which quotes a pyproject.toml is not taken for one, and that one with comments
// is.
func TestQuotedProject(t *testing.T) {
	const project = "[project]\nname = \"a\"\ndependencies = [\"torch==2.8.0\"]\n"
	if pyproject.Is(Document{Data: []byte("# Title\n\nHere it is:\n" + project)}) {
		t.Error("a thread was taken for a pyproject.toml")
	}
	for _, text := range []string{project, "# made by hand\n\n" + project, "requires-python = \">=3.10\"\n" + project} {
		if !pyproject.Is(Document{Data: []byte(text)}) {
			t.Errorf("not taken for a pyproject.toml:\n%s", text)
		}
	}
}

// TestLightning reads the report of PyTorch Lightning, and no list of another kind.
func TestLightning(t *testing.T) {
	report := Document{Data: []byte(`It stops.

* CUDA:
	- GPU:
		- NVIDIA GeForce RTX 4090
		- NVIDIA GeForce RTX 4090
	- available:         True
	- version:           11.8
* Lightning:
	- lightning:         2.5.1
	- torch:             2.6.0+cu118
	- torchvision:       0.21.0+cu118
* Packages:
	- numpy:             1.26.4
* System:
	- version:           12.4
Thanks!
`)}
	f, err := Read(Machines(report)[0])
	if err != nil || len(f.GPUs) != 2 || f.Observed.CUDAAvailable == nil || !*f.Observed.CUDAAvailable {
		t.Fatalf("%v, GPUs %+v, observed %+v", err, f.GPUs, f.Observed)
	}
	env := f.Environments[0]
	if b := env.Builds[0]; len(env.Builds) != 1 || b.Version != "2.6.0+cu118" || b.CUDA != "11.8" || b.Accelerator != "cuda" {
		t.Errorf("%+v", env.Builds)
	}
	if len(env.Packages) != 3 || env.Packages[1].Name != "torchvision" || env.Packages[2].Version != "1.26.4" {
		t.Errorf("%+v", env.Packages)
	}
	if _, err := Read(Document{Data: []byte("It needs\n* Lightning:\n\t- torch: 2.6.0\n")}); err == nil {
		t.Error("a list was taken for a report")
	}
}

// TestComfyUI reads the GPU of ComfyUI's report.
func TestComfyUI(t *testing.T) {
	report := Document{Data: []byte("## System Information\n- **OS:** nt\n- **PyTorch Version:** 2.8.0+cu129\n## Devices\n\n" +
		"- **Name:** cuda:0 NVIDIA GeForce GTX 1070 : cudaMallocAsync\n  - **Type:** cuda\n  - **VRAM Total:** 8589803520\n")}
	f, err := Read(Machines(report)[0])
	if err != nil || len(f.GPUs) != 1 || f.GPUs[0].Name != "NVIDIA GeForce GTX 1070" {
		t.Errorf("got GPUs %+v and error %v, want one GTX 1070", f.GPUs, err)
	}
}

// TestTyped reads the GPU and the driver that somebody typed.
func TestTyped(t *testing.T) {
	f, err := Read(Document{Data: []byte("CUDA: 11.2\nNvidia-driver: 460.91.03\nGPU model: RTX 2080 Ti\npip install torch worked for me.\n")})
	if err != nil || f.Driver.Version != "460.91.03" || len(f.GPUs) != 1 || f.GPUs[0].Name != "RTX 2080 Ti" || f.Observed.Named != "PyTorch" {
		t.Errorf("%v, driver %+v, GPUs %+v, %q", err, f.Driver, f.GPUs, f.Observed.Named)
	}
}
