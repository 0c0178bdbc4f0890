package paste

import (
	"testing"

	"cudacompat/probe/internal/input/document"
)

// TestSaid reads the machine that sentences name, and nothing of two machines.
func TestSaid(t *testing.T) {
	for text, want := range map[string]struct{ gpu, driver, torch, os string }{
		"Windows 11, RTX 5090, driver 576.88\n\n`pip install torch==2.7.1+cu128`\npip install torch==2.7.1+cu128\n":              {"RTX 5090", "576.88", "2.7.1+cu128", "Windows"},
		"**Setup:** i7-8750H, GTX 1070, 16 GB RAM.\n**Versions:** PyTorch 2.8.0 + cu129\n":                                       {"GTX 1070", "", "2.8.0+cu129", ""},
		"this is a win10 machine with NVIDIA GPU - NVS 310 and driver version 392.56\ntorch-1.3.0+cu92-cp37-cp37m-win_amd64\n":   {"NVS 310", "392.56", "1.3.0+cu92", "Windows"},
		"It worked on my GTX 1070, and not on the RTX 5090, with PyTorch 2.8.0+cu129\n":                                          {},
		"RTX 5070 and RTX 5070 Ti, PyTorch 2.8.0+cu129\n":                                                                        {},
		"RTX 5060, that is an RTX 5060 Laptop GPU, PyTorch 2.8.0+cu129\n":                                                        {"RTX 5060 Laptop GPU", "", "2.8.0+cu129", ""},
		"PyTorch 2.8.0+cu129 needs NVIDIA driver 528.33 or newer on a GTX 1070\n":                                                {"GTX 1070", "", "2.8.0+cu129", ""},
		"PyTorch 2.8.0+cu129 on a GTX 1070 requires driver 528.33\n":                                                             {"GTX 1070", "", "2.8.0+cu129", ""},
		"GTX 1070 with driver 551.61, before it was driver 546.33; PyTorch 2.8.0+cu129\n":                                        {"GTX 1070", "551.61", "2.8.0+cu129", ""},
		"I installed 596.36-desktop-win10-win11-64bit-international-nsd-dch-whql for the GTX 1070; PyTorch 2.8.0+cu129\n":        {"GTX 1070", "596.36", "2.8.0+cu129", "Windows"},
		"Windows 11 with WSL2, GTX 1070, PyTorch 2.8.0+cu129\n":                                                                  {"GTX 1070", "", "2.8.0+cu129", ""},
		"OS: Windows 11 (WSL2)\nPyTorch version: 2.8.0+cu129\n":                                                                  {"", "", "2.8.0+cu129", "WSL"},
		"C:\\Users\\me> python\nGPU: NVIDIA GeForce RTX 4090\nDriver: 581.57 | CUDA 13.0 | torch 2.9.0+cu128\n":                  {"NVIDIA GeForce RTX 4090", "581.57", "2.9.0+cu128", "Windows"},
		"OS: Windows 11\nNvidia driver version: 596.36\nGPU 0: NVIDIA GeForce RTX 5090\nTensor: tensor([1.], device='cuda:0')\n": {"NVIDIA GeForce RTX 5090", "596.36", "", "Windows"},
	} {
		d := document.Document{Data: []byte(text)}
		f, err := Read(d)
		got := struct{ gpu, driver, torch, os string }{driver: f.Driver.Version}
		if err != nil || Is(d) != (want != struct{ gpu, driver, torch, os string }{}) {
			t.Errorf("%q: read %v, %v", text, Is(d), err)
			continue
		}
		if !Is(d) {
			continue
		}
		if len(f.GPUs) > 0 {
			got.gpu = f.GPUs[0].Name
		}
		for _, e := range f.Environments {
			for _, b := range e.Builds {
				got.torch = b.Version
			}
		}
		switch {
		case f.System.WSL:
			got.os = "WSL"
		case f.System.Windows():
			got.os = "Windows"
		}
		if got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}

// TestRan holds that a printed value of a GPU shows that its kernels ran.
func TestRan(t *testing.T) {
	for text, want := range map[string]bool{
		"Torch version: 2.9.0.dev20250729+cu128\nTensor on GPU: tensor([1.], device='cuda:0')\n": true,
		"Torch version: 2.9.0.dev20250729+cu128\ntensor([1.])\n":                                 false,
		"Torch version: 2.9.0.dev20250729+cu128\nx = torch.zeros(1, device='cuda:0')\n":          false,
	} {
		if f, err := Read(document.Document{Data: []byte(text)}); err != nil || f.Observed.Ran != want {
			t.Errorf("%q: %v, %v", text, f.Observed.Ran, err)
		}
	}
}

// TestForm reads TensorFlow's form for issues, in its two forms.
func TestForm(t *testing.T) {
	for _, text := range []string{
		"### TensorFlow version\n\ntf 2.13.0\n\n### OS platform and distribution\n\nWindows 10\n\n### GPU model and memory\n\n4080 RTX\n",
		"TensorFlow version\n\n2.13.0\n\nOS platform and distribution\n\nWindows 10\n\nGPU model and memory\n\nRTX 4080 16GB\n",
		"- OS Platform and Distribution (e.g., Linux Ubuntu 16.04): Windows 10\n- TensorFlow version (use command below): 2.13.0\n- GPU model and memory: Nvidia RTX 4080\n",
	} {
		d := document.Document{Data: []byte(text)}
		f, err := Read(d)
		if err != nil || !Is(d) || len(f.Environments) != 1 || len(f.Environments[0].Builds) != 1 || len(f.GPUs) != 1 {
			t.Errorf("%q: %v, %+v, %+v", text, err, f.Environments, f.GPUs)
			continue
		}
		if b := f.Environments[0].Builds[0]; b.Name+" "+b.Version != "tensorflow 2.13.0" || !f.System.Windows() || f.GPUs[0].Name != "NVIDIA RTX 4080" {
			t.Errorf("%q: %s %s, %q, %q", text, b.Name, b.Version, f.System.OS, f.GPUs[0].Name)
		}
	}
}
