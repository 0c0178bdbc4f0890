package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// machineFiles are parts of two machines, by name.
var machineFiles = map[string]string{
	"h100.txt": "| NVIDIA-SMI 580.95.05              Driver Version: 580.95.05      CUDA Version: 13.0     |\n" +
		"|   0  NVIDIA H100 80GB HBM3          On  |   00000000:01:00.0 Off |                    0 |\n",
	"p100.txt": "| NVIDIA-SMI 580.95.05              Driver Version: 580.95.05      CUDA Version: 13.0     |\n" +
		"|   0  Tesla P100-PCIE-16GB           On  |   00000000:01:00.0 Off |                    0 |\n",
	"h100.list": "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-5428af19-1e82-a38c-ee42-cdd3ad745b7e)\n",
	"h100.env": "PyTorch version: 2.9.0+cu130\nCUDA used to build PyTorch: 13.0\nOS: Ubuntu 22.04.5 LTS (x86_64)\nIs CUDA available: True\n" +
		"GPU models and configuration: GPU 0: NVIDIA H100 80GB HBM3\nNvidia driver version: 580.95.05\n",
	"p100.env": "PyTorch version: 2.9.0+cu126\nCUDA used to build PyTorch: 12.6\nOS: Ubuntu 22.04.5 LTS (x86_64)\nIs CUDA available: True\n" +
		"GPU models and configuration: GPU 0: Tesla P100-PCIE-16GB\nNvidia driver version: 580.95.05\n",
	"versions.txt": "NVIDIA-SMI version  : 580.95.05\nNVML version        : 580.95\nDRIVER version      : 580.95.05\nCUDA Version        : 13.0\n",
	"pip.list":     "Package Version\n------- -------\ntorch   2.9.0+cu130\nnumpy   2.1.0\n",
	"reqs.txt":     "torch==2.9.0+cu130\n",
	"p100.json": `{"schema":"cudacompat/facts/v1","driver":{"version":"580.95.05","nvml":{"status":"ok"}},` +
		`"gpus":[{"name":"Tesla P100-PCIE-16GB","compute_capability":"6.0"}]}`,
	"h100.json": `{"schema":"cudacompat/facts/v1","driver":{"version":"580.95.05","nvml":{"status":"ok"}},` +
		`"gpus":[{"name":"NVIDIA H100 80GB HBM3","compute_capability":"9.0"}]}`,
}

// TestMachinesOfFiles checks that drivers and GPUs in files distinguish machines, and that parts of one machine are
// joined.
func TestMachinesOfFiles(t *testing.T) {
	dir := t.TempDir()
	for name, text := range machineFiles {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	for _, test := range []struct {
		files    string
		code     int
		machines []string
		says     string
	}{
		{"h100.json p100.json", 0, []string{"h100.json", "p100.json"}, "on h100.json and p100.json"},
		{"h100.txt p100.txt reqs.txt", 1, []string{"h100.txt", "p100.txt"}, "incompatible on p100.txt: torch 2.9.0+cu130 has no code"},
		{"pip.list h100.txt p100.txt", 1, []string{"h100.txt", "p100.txt"}, "incompatible on p100.txt: torch 2.9.0+cu130 has no code"},
		{"h100.json p100.json torch==2.9.0+cu130", 1, []string{"h100.json", "p100.json"}, "incompatible on p100.json"},
		{"h100.txt pip.list", 0, nil, "compatible: torch 2.9.0+cu130 works"},
		{"h100.txt h100.env", 0, nil, "compatible: torch 2.9.0+cu130 works"},
		{"h100.env pip.list h100.txt", 0, nil, "compatible: torch 2.9.0+cu130 works"},
		{"h100.list versions.txt reqs.txt", 0, nil, "compatible: torch 2.9.0+cu130 works"},
		{"h100.env p100.env", 0, []string{"h100.env", "p100.env"}, "2.9.0+cu126 work on h100.env and p100.env"},
		{"h100.env h100.env", 0, []string{"machine 1", "machine 2"}, "works on machine 1 and machine 2"},
		{"p100.txt h100.env", 0, []string{"p100.txt", "h100.env"}, "torch 2.9.0+cu130 works"},
		{"h100.txt h100.json", 0, nil, "compatible"},
		{"pip.list reqs.txt", 3, nil, "inconclusive"},
		{"h100.json p100.json reqs.txt --gpu L4 --driver 580.95.05", 0, []string{"h100.json", "p100.json"}, "works on"},
		{"h100.json p100.json reqs.txt --gpu L4,A10G --driver 580.95.05", 0,
			[]string{"h100.json, L4", "h100.json, A10G", "p100.json, L4", "p100.json, A10G"}, "works on"},
	} {
		args := append([]string{"check"}, strings.Fields(test.files)...)
		got := runs(t, "", args...)
		if got.code != test.code || !strings.Contains(got.out+got.err, test.says) {
			t.Errorf("%s: exit %d, want %d and %q:\n%s%s", test.files, got.code, test.code, test.says, got.out, got.err)
		}
		asJSON := runs(t, "", append(args, "-o", "json")...)
		var r struct {
			Outcome  string
			Machines []struct{ Name string }
			Judged   []struct{ Target string }
		}
		if err := json.Unmarshal([]byte(asJSON.out), &r); err != nil {
			t.Fatalf("%s: %v", test.files, err)
		}
		var targets []string
		for _, j := range r.Judged {
			if j.Target != "" {
				targets = append(targets, j.Target)
			}
		}
		if !slices.Equal(targets, test.machines) || len(r.Machines) != min(len(test.machines), 2) {
			t.Errorf("%s: targets %q of %d machines, want %q", test.files, targets, len(r.Machines), test.machines)
		}
		if len(r.Machines) == 0 {
			continue
		}
		if err := os.WriteFile("again.json", []byte(asJSON.out), 0o600); err != nil {
			t.Fatal(err)
		}
		if again := runs(t, "", "check", "again.json"); again.code != test.code && !strings.Contains(test.files, "--") {
			t.Errorf("%s: its report gives exit %d, want %d:\n%s", test.files, again.code, test.code, again.out)
		}
		if fleet := runs(t, "", "fleet", "again.json"); !strings.Contains(fleet.out+fleet.err, "a report about 2 machines") {
			t.Errorf("%s: fleet takes its report:\n%s%s", test.files, fleet.out, fleet.err)
		}
	}
}

// TestReportsNamePackages checks that the packages in vLLM's, SGLang's and JAX's reports are judged, and that --all
// names what was not understood.
func TestReportsNamePackages(t *testing.T) {
	torch := "PyTorch version              : 2.9.0+cu128\nCUDA used to build PyTorch   : 12.8\nOS                           : Ubuntu 22.04.5 LTS (x86_64)\n" +
		"Is CUDA available            : True\nGPU models and configuration : GPU 0: NVIDIA H100 80GB HBM3\nNvidia driver version        : 580.95.05\n"
	sglang := "Python: 3.12.3 (main, Feb  4 2025, 14:48:35) [GCC 13.3.0]\nCUDA available: True\nGPU 0,1: NVIDIA H100 80GB HBM3\nGPU 0,1 Compute Capability: 9.0\n" +
		"NVCC: Cuda compilation tools, release 12.8, V12.8.93\nCUDA Driver Version: 580.95.05\nPyTorch: 2.9.0+cu128\n"
	jax := "jax:    0.7.2\njaxlib: 0.7.2\nnumpy:  2.3.1\npython: 3.12.3 (main, Jun 18 2025, 17:59:45) [GCC 13.3.0]\n" +
		"device info: NVIDIA H100 80GB HBM3-8, 8 local devices\nprocess_count: 1\n"
	driver := "\n| NVIDIA-SMI %s             Driver Version: %s     CUDA Version: 12.2     |\n"
	for _, test := range []struct {
		text string
		code int
		says string
	}{
		{torch, 0, "compatible: torch 2.9.0+cu128 works"},
		{torch + "vLLM Version                 : 0.10.1\n", 1, "vllm 0.10.1 was compiled for torch 2.7.1, but torch is 2.9.0+cu128"},
		{torch + "vLLM Version                 : 0.13.0\n", 0, "vllm 0.13.0"},
		{torch + "Sun spots                    : 7\n", 0, "not read in collect-env: Sun spots"},
		{sglang + "vllm: 0.10.2\n", 1, "vllm 0.10.2 was compiled for torch 2.8.0"},
		{sglang + "sgl_kernel: 0.3.9.post2\n", 1, "sgl-kernel 0.3.9.post2"},
		{sglang + "vllm: Module Not Found\n", 0, "compatible: torch 2.9.0+cu128 works"},
		{sglang, 0, "CUDA 12.8"},
		{strings.ReplaceAll(jax, "0.7.2", "0.6.2") + strings.ReplaceAll(driver, "%s", "535.183.01"), 0, "compatible: jax 0.6.2 works"},
		{jax + strings.ReplaceAll(driver, "%s", "535.183.01"), 3, "does not say which of its builds is installed: cuda12, cuda13"},
	} {
		got := runs(t, test.text, "check", "-", "--all")
		if got.code != test.code || !strings.Contains(got.out, test.says) {
			t.Errorf("%s: exit %d, want %d and %q:\n%s%s", test.text, got.code, test.code, test.says, got.out, got.err)
		}
	}
}

// TestListsOfFewRows checks that the output of "pip list | grep torch" is judged like the whole list.
func TestListsOfFewRows(t *testing.T) {
	for _, test := range []struct {
		list string
		args string
		code int
		says string
	}{
		{"torch                     2.9.0+cu130\n", "--gpu L4 --driver 580.95.05", 0, "compatible: torch 2.9.0+cu130 works"},
		{"torch                     2.9.0+cu130\n", "--gpu L4 --driver 470.256.02", 1, "needs driver >= 580.65.06; this is 470.256.02"},
		{"$ pip list | grep torch\ntorch       2.8.0+cpu\ntorchvision 0.23.0+cpu\n", "", 3, "torch 2.8.0+cpu works without them"},
		{"torch       2.8.0+cpu\ntorchvision 0.23.0\n", "", 1, "torchvision 0.23.0 was built for CUDA 12.8, torch 2.8.0+cpu for CPUs"},
		{"torch works 2.0 times\n", "", 64, "cannot tell what kind of file this is"},
		{"numpy 2.0.1\n", "", 64, "cannot tell what kind of file this is"},
		{"Package Version\n------- -------\nonnxruntime 1.20.1\nonnxruntime-gpu 1.20.1\n", "--gpu L4 --driver 580.95.05", 3, "‼ extension-mismatch: onnxruntime-gpu 1.20.1"},
		{"onnxruntime==1.20.1\nonnxruntime-gpu==1.20.1\n", "--gpu L4 --driver 580.95.05", 3, "‼ extension-mismatch: onnxruntime-gpu 1.20.1"},
	} {
		got := runs(t, test.list, append([]string{"check", "-"}, strings.Fields(test.args)...)...)
		if got.code != test.code || !strings.Contains(got.out+got.err, test.says) {
			t.Errorf("%s %s: exit %d, want %d and %q:\n%s%s", test.list, test.args, got.code, test.code, test.says, got.out, got.err)
		}
	}
}

// TestPastedCompat checks that nvidia-smi's CUDA and error 804 show that a cuda-compat library is loaded.
func TestPastedCompat(t *testing.T) {
	table := func(gpu, driver, cuda string) string {
		return "| NVIDIA-SMI " + driver + "             Driver Version: " + driver + "     CUDA Version: " + cuda + "     |\n" +
			"|   0  " + gpu + "          On  |   00000000:01:00.0 Off |                  N/A |\n"
	}
	refused := "\nError 804: forward compatibility was attempted on non supported HW\n"
	for _, test := range []struct {
		text string
		code int
		says string
	}{
		{table("NVIDIA GeForce RTX 4090", "535.183.01", "13.0"), 1, "× forward-compat-unsupported: libcuda of CUDA 13.0"},
		{table("NVIDIA GeForce RTX 4090", "535.183.01", "12.2"), 0, "compatible"},
		{table("NVIDIA L4", "535.183.01", "13.0") + "\ntorch==2.9.0+cu130\n", 0, "works by forward compatibility: CUDA 13.0"},
		{table("NVIDIA GeForce RTX 3090", "525.89.02", "12.0") + refused, 1, "× forward-compat-unsupported: libcuda newer than the driver"},
		{table("NVIDIA A100-SXM4-40GB", "525.89.02", "12.0") + refused, 1, "× forward-compat-unsupported: the error in the text"},
		// A driver for Windows, whose first branch for the chip the tables know.
		{table("NVIDIA GeForce RTX 4090", "560.94", "12.6"), 0, "compatible: the driver supports the GPU"},
	} {
		got := runs(t, test.text, "check", "-")
		if got.code != test.code || !strings.Contains(got.out, test.says) {
			t.Errorf("%s: exit %d, want %d and %q:\n%s%s", test.text, got.code, test.code, test.says, got.out, got.err)
		}
	}
}

// TestProject checks that each file of a directory that says what is installed is judged.
func TestProject(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"app/Dockerfile":                "FROM python:3.12\nRUN pip install torch==2.9.0+cu130\n",
		"app/requirements.txt":          "torch==2.7.1+cu126\n",
		"app/requirements.in":           "torch\n",
		"app/requirements/test.txt":     "torch==2.8.0+cu126\n",
		"app/notes.txt":                 "torch==1.0\n",
		"locked/pyproject.toml":         "[project]\nname = \"x\"\nversion = \"1\"\ndependencies = [\"torch==2.9.0\"]\n",
		"locked/uv.lock":                "version = 1\n\n[[package]]\nname = \"torch\"\nversion = \"2.7.1+cu126\"\nsource = { registry = \"https://download.pytorch.org/whl/cu126\" }\n",
		"strange/requirements.txt":      "torch==2.7.1+cu126\n",
		"strange/requirements-more.txt": "this is\nno requirements file\n",
		"empty/notes.txt":               "hello\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	for _, test := range []struct {
		args string
		code int
		says string
	}{
		{"app --gpu L4 --driver 550.54.15", 1, "incompatible on Dockerfile: torch 2.9.0+cu130 cannot run on driver 550.54.15"},
		{"app --gpu L4 --driver 580.95.05", 0, "work on Dockerfile, requirements.txt and test.txt"},
		{"locked --gpu L4 --driver 550.54.15", 0, "compatible: torch 2.7.1+cu126 works"},
		{"strange --gpu L4 --driver 550.54.15", 3, "requirements-more.txt"},
		{"empty", 64, `"empty" has no lock`},
		{"app locked", 64, "a directory is checked by itself"},
	} {
		got := runs(t, "", append([]string{"check"}, strings.Fields(test.args)...)...)
		if got.code != test.code || !strings.Contains(got.out+got.err, test.says) {
			t.Errorf("%s: exit %d, want %d and %q:\n%s%s", test.args, got.code, test.code, test.says, got.out, got.err)
		}
	}
}
