package collectenv_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host/hosttest"
	"cudacompat/probe/internal/input"
	"cudacompat/probe/internal/input/collectenv"
	"cudacompat/probe/internal/input/document"
	"cudacompat/probe/internal/input/inputtest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// reports are collect_env reports as people paste them, with what they say.
var reports = map[string]func(*facts.Facts){
	"pytorch-new.txt": func(f *facts.Facts) {
		f.System = facts.System{OS: "Ubuntu 24.10 (x86_64)", ID: "ubuntu", IDLike: "debian", Arch: "x86_64", Libc: "2.40",
			LibcFrom: collectenv.From}
		f.Driver.Version, f.Driver.From = "570.124.04", collectenv.From
		f.GPUs = []facts.GPU{{Name: "NVIDIA GeForce RTX 5090 D", Capability: "12.0"}, {Name: "NVIDIA A100-SXM4-80GB"}}
		f.Toolkits = []facts.Toolkit{{Version: "12.8", From: collectenv.From}}
		f.Environments = reported("3.12.9",
			facts.Build{Version: "2.6.0+cu126", Accelerator: "cuda", CUDA: "12.6", Origin: "wheel",
				SASS: []string{"sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90"}},
			"numpy", "2.1.2", "nvidia-cudnn-cu12", "9.5.1.17", "nvidia-nccl-cu12", "2.21.5", "torch", "2.6.0+cu126",
			"torchvision", "0.21.0+cu126", "triton", "3.2.0")
		f.Observed = facts.Observed{CUDAAvailable: said(true), Imported: true}
	},
	"pytorch-old.txt": func(f *facts.Facts) {
		f.System = facts.System{OS: "Ubuntu 18.04.3 LTS", ID: "ubuntu", IDLike: "debian"}
		f.Driver.Version, f.Driver.From = "418.87.00", collectenv.From
		f.GPUs = []facts.GPU{{Name: "Tesla V100-SXM2-16GB"}, {Name: "Tesla V100-SXM2-16GB"}}
		f.Toolkits = []facts.Toolkit{{Version: "10.1", From: collectenv.From}}
		f.Environments = reported("3.7",
			facts.Build{Version: "1.4.0", Accelerator: "cuda", CUDA: "10.1", Origin: "conda"},
			"numpy", "1.17.4", "torch", "1.4.0", "torchvision", "0.5.0")
		f.Observed = facts.Observed{CUDAAvailable: said(true), Imported: true}
	},
	"vllm.txt": func(f *facts.Facts) {
		f.System = facts.System{OS: "Ubuntu 22.04.5 LTS (x86_64)", ID: "ubuntu", IDLike: "debian", Arch: "x86_64",
			Libc: "2.35", LibcFrom: collectenv.From}
		f.Driver.Version, f.Driver.From = "580.126.20", collectenv.From
		f.GPUs = []facts.GPU{{Name: "NVIDIA H20"}, {Name: "NVIDIA H20"}}
		f.Toolkits = []facts.Toolkit{{Version: "13.0", From: collectenv.From}}
		f.Environments = reported("3.12.13",
			facts.Build{Version: "2.10.0+cu130", Accelerator: "cuda", CUDA: "13.0", Origin: "wheel"},
			"nvidia-nccl-cu13", "2.28.9", "torch", "2.10.0")
		e := &f.Environments[0] // its line "vLLM Version"
		e.Packages = append(e.Packages, facts.Package{Name: "vllm", Version: "0.16.0"})
		e.Requested = []facts.Requested{{Name: "vllm", Version: "0.16.0", Index: "default", From: collectenv.From}}
		f.Observed = facts.Observed{CUDAAvailable: said(true), Imported: true}
	},
	"rocm.txt": func(f *facts.Facts) {
		f.System = facts.System{OS: "Ubuntu 22.04.3 LTS (x86_64)", ID: "ubuntu", IDLike: "debian", Arch: "x86_64",
			Libc: "2.35", LibcFrom: collectenv.From}
		f.Environments = reported("3.10.12",
			facts.Build{Version: "2.3.1+rocm5.7", Accelerator: "rocm", Origin: "wheel"})
		f.Observed = facts.Observed{CUDAAvailable: said(true), Imported: true}
	},
	"quoted.txt": func(f *facts.Facts) {
		f.System = facts.System{OS: "Microsoft Windows 11 (10.0.22631 64-bit)", Arch: "x86_64", WSL: true}
		f.Driver.Version, f.Driver.From = "560.94", collectenv.From
		f.GPUs = []facts.GPU{{Name: "NVIDIA GeForce RTX 4090"}}
		f.Environments = reported("", facts.Build{Version: "2.8.0+cpu", Accelerator: "cpu", Origin: "wheel"})
		f.Observed = facts.Observed{CUDAAvailable: said(false), Imported: true}
	},
	// https://github.com/vllm-project/vllm/issues/5640
	"jetson.txt": func(f *facts.Facts) {
		f.System = facts.System{OS: "Ubuntu 20.04.5 LTS (aarch64)", ID: "ubuntu", IDLike: "debian", Arch: "aarch64",
			Libc: "2.31", LibcFrom: collectenv.From,
			Jetson: true}
		f.Toolkits = []facts.Toolkit{{Version: "11.4", From: collectenv.From}}
		f.Environments = reported("3.8.10",
			facts.Build{Version: "2.0.0a0+ec3941ad.nv23.02", Accelerator: "cuda", CUDA: "11.4", Origin: "ngc"})
		f.Observed = facts.Observed{CUDAAvailable: said(true), Imported: true}
	},
}

func said(b bool) *bool { return &b }

// reported returns the one environment of a report; packages are names and versions in turn.
func reported(python string, b facts.Build, packages ...string) []facts.Environment {
	b.Name, b.From = "torch", collectenv.From
	e := facts.Environment{Python: python, Builds: []facts.Build{b}}
	for i := 0; i < len(packages); i += 2 {
		e.Packages = append(e.Packages, facts.Package{Name: packages[i], Version: packages[i+1], Path: collectenv.From})
	}
	return []facts.Environment{e}
}

func TestCollectEnv(t *testing.T) {
	for name, fill := range reports {
		t.Run(strings.TrimSuffix(name, ".txt"), func(t *testing.T) {
			var want facts.Facts
			fill(&want)
			for i := range want.GPUs {
				want.GPUs[i].From = []string{collectenv.From}
			}
			want.Probes = []facts.Status{{Name: "collect-env", Status: "ok"}}
			want.Complete()
			text := readReport(t, name)
			for _, whole := range []string{text, "\uFEFF\n " + text, strings.ReplaceAll(text, "\n", "\r\n"),
				strings.ReplaceAll(text, ": ", ":\u00a0"), strings.ReplaceAll(text, "\n", "<br>\n"),
				"```\n" + text + "\n```\n"} {
				got, err := input.Read(document.Document{Data: []byte(whole)})
				if diff := cmp.Diff(want, got); diff != "" || err != nil {
					t.Errorf("%v; -want +got:\n%s", err, diff)
				}
				hosttest.RoundTrip(t, got)
			}
		})
	}
}

// collected returns what a text tells, complete as Read makes it.
func collected(text string) facts.Facts {
	f := collectenv.Parse(text)
	f.Complete()
	return f
}

func readReport(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestBriefReports: the shorter reports of other programs, and those of which lines are missing: the builds, whether
// CUDA was there, the GPUs.
func TestBriefReports(t *testing.T) {
	for text, want := range map[string]string{
		"- `transformers` version: 4.46.0\n- Platform: Linux-5.15.153.1-microsoft-standard-WSL2-x86_64-with-glibc2.29\n" +
			"- PyTorch version (GPU?): 2.4.1+cu121 (True)\n- Tensorflow version (GPU?): not installed (NA)\n" +
			"- Using GPU in script?: <fill in>\n- GPU type: NVIDIA GeForce RTX 3060 Ti\n": "torch|2.4.1+cu121|||| WSL true NVIDIA GeForce RTX 3060 Ti",
		"- PyTorch version (GPU?): 2.1.0+cu118 (False)\n- Tensorflow version (GPU?): 2.14.0 (False)\n": "torch|2.1.0+cu118|||| " +
			"tensorflow|2.14.0|||| false",
		"- PyTorch version (accelerator?): 2.7.0+cu126 (CUDA)\n- Accelerator: NVIDIA A100-SXM4-80GB, 81920 MiB\n": "torch|2.7.0+cu126|||| " +
			"true NVIDIA A100-SXM4-80GB",
		"DeepSpeed general environment info:\ntorch install path ............... ['/x/torch']\n" +
			"torch version .................... 1.9.0\ntorch cuda version ............... 11.1\n": "torch|1.9.0|cuda|11.1||",
		"PyTorch version: N/A\nNvidia driver version: 535.288.01\n[pip3] torch==2.12.0+cu126\n": "torch|2.12.0+cu126||||",
		"PyTorch version: 2.2.2\nCUDA used to build PyTorch: Could not collect\nIs CUDA available: False\n" +
			"Nvidia driver version: 551.86\n": "torch|2.2.2|cpu||| false",
		"PyTorch version: N/A\nCUDA used to build PyTorch: N/A\nNvidia driver version: 551.86\n": "",
	} {
		f, err := input.Read(document.Document{Data: []byte(text)})
		var got []string
		for _, line := range inputtest.Lines(f) {
			got = append(got, strings.TrimSuffix(line, collectenv.From))
		}
		if f.System.WSL {
			got = append(got, "WSL")
		}
		if f.Observed.CUDAAvailable != nil {
			got = append(got, strconv.FormatBool(*f.Observed.CUDAAvailable))
		}
		for _, g := range f.GPUs {
			got = append(got, g.Name)
		}
		if strings.Join(got, " ") != want || err != nil || f.Probes[0].Status != "ok" {
			t.Errorf("%q: %q, %v, %v, want %q", text, got, err, f.Probes, want)
		}
	}
}

// TestListBesideTable: a pip list that is pasted above nvidia-smi's table.
func TestListBesideTable(t *testing.T) {
	smi, err := os.ReadFile("../testdata/samples/smi-535.txt")
	if err != nil {
		t.Fatal(err)
	}
	f, err := input.Read(document.Document{Data: append([]byte("My list:\nPackage  Version\n-------- -------\ntorch    2.4.0+cu124\n\n"), smi...)})
	if err != nil || len(inputtest.Lines(f)) != 1 || f.Driver.Version != "535.183.01" || len(f.Environments[0].Requested) != 0 {
		t.Errorf("%+v, %v", f, err)
	}
}

// TestCollectEnvWarnings reads what PyTorch warns of beside the report: a GPU and a driver that it cannot use.
func TestCollectEnvWarnings(t *testing.T) {
	old := facts.GPU{Name: "NVIDIA GTX TITAN Black", Capability: "3.5", From: []string{collectenv.From}}
	for _, tt := range []struct {
		line, cuda string
		gpus       []facts.GPU
	}{
		// https://github.com/AUTOMATIC1111/stable-diffusion-webui/issues/3003
		{"Found GPU0 NVIDIA GTX TITAN Black which is of cuda capability 3.5. PyTorch no longer supports this GPU " +
			"because it is too old.", "", []facts.GPU{old}},
		{"    Found GPU0 NVIDIA GTX TITAN Black which is of cuda capability 3.5.", "", []facts.GPU{old}},
		// https://github.com/vllm-project/vllm/issues/11623
		{"UserWarning: CUDA initialization: The NVIDIA driver on your system is too old (found version 11040). " +
			"Please update your GPU driver", "11.4", nil},
		{"The NVIDIA driver on your system is too old (found version 9010).", "9.1", nil},
	} {
		got := collected(tt.line + "\nPyTorch version: 1.12.1+cu113\n")
		if diff := cmp.Diff(tt.gpus, got.GPUs, cmpopts.EquateEmpty()); diff != "" || got.Driver.CUDA != tt.cuda {
			t.Errorf("%q: driver CUDA %q, want %q; GPUs -want +got:\n%s", tt.line, got.Driver.CUDA, tt.cuda, diff)
		}
	}
}

// TestCollectEnvCut cuts every report everywhere. What is left says nothing that the whole does not say. Who built a
// PyTorch is inferred from the absence of a local version until conda's line comes, and left out of this.
func TestCollectEnvCut(t *testing.T) {
	for name := range reports {
		t.Run(strings.TrimSuffix(name, ".txt"), func(t *testing.T) {
			text := readReport(t, name)
			whole := withoutOrigin(collected(text))
			for at := range len(text) {
				cut := withoutOrigin(collected(text[:at]))
				if invented := notIn(reflect.ValueOf(cut), reflect.ValueOf(whole), "Facts"); invented != "" {
					t.Fatalf("cut after %q: %s", text[max(0, at-60):at], invented)
				}
			}
		})
	}
}

func withoutOrigin(f facts.Facts) facts.Facts {
	f.Probes = nil
	for _, e := range f.Environments {
		for i := range e.Builds {
			e.Builds[i].Origin = ""
		}
	}
	return f
}

// notIn names what part says and whole does not: a list must begin whole's, a value be empty or the same.
func notIn(part, whole reflect.Value, where string) string {
	switch part.Kind() {
	case reflect.Struct:
		for i := range part.NumField() {
			if s := notIn(part.Field(i), whole.Field(i), where+"."+part.Type().Field(i).Name); s != "" {
				return s
			}
		}
	case reflect.Slice:
		if part.Len() > whole.Len() {
			return where + " is longer"
		}
		for i := range part.Len() {
			if s := notIn(part.Index(i), whole.Index(i), where); s != "" {
				return s
			}
		}
	default:
		if !part.IsZero() && !reflect.DeepEqual(part.Interface(), whole.Interface()) {
			return cmp.Diff(whole.Interface(), part.Interface())
		}
	}
	return ""
}

// TestCollectEnvSaysThatItIsCut names in one sentence what is missing.
func TestCollectEnvSaysThatItIsCut(t *testing.T) {
	text := readReport(t, "pytorch-new.txt")
	before := func(s string) string { return text[:strings.Index(text, s)] }
	for _, tt := range []struct{ name, text, status, err string }{
		{"whole", text, "ok", ""},
		{"at-a-line", before("Nvidia driver"), "failed",
			`collect_env report: no line "Nvidia driver version" in it; is it cut off?`},
		{"in-the-driver", before(".124.04"), "failed",
			"collect_env report: the last line may be cut off and was not read"},
		{"in-a-gpu", before("-SXM4"), "failed", "collect_env report: the last line may be cut off and was not read"},
		{"after-the-driver", before("\ncuDNN version"), "ok", ""},
		{"in-the-cpu", before("7R13"), "ok", ""},
		{"in-a-package", before(".5\n[pip3] torch=="), "failed",
			"collect_env report: the last line may be cut off and was not read"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := collected(tt.text).Probes
			if diff := cmp.Diff([]facts.Status{{Name: "collect-env", Status: tt.status, Error: tt.err}},
				got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestNoReport finds nothing in prose, logs and nothing, and does not say that it looked.
func TestNoReport(t *testing.T) {
	for _, text := range []string{"", "\n\n", "Hello, torch does not work.\n",
		"RuntimeError: CUDA error: out of memory\nGPU 0: busy\n",
		"OS error occurred\nos.environ['X']\nPyTorch versions differ\n"} {
		var want facts.Facts
		want.Complete()
		if diff := cmp.Diff(want, collected(text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
	for _, text := range []string{"Driver Version: 535.183.01\n", "PyTorch: 2.7.1\nPyTorch: 2.8.0\n",
		"GPU: NVIDIA L4\nDriver: overlay2\n", "PyTorch 2.7.1 works\nGPU available\n"} {
		if collectenv.Is(document.Document{Data: []byte(text)}) {
			t.Errorf("%q is taken for a report", text)
		}
	}
}

// TestShortReports reads what other programs print of a machine, and what people type.
func TestShortReports(t *testing.T) {
	type machine struct{ torch, gpu, driver, sees string }
	for text, want := range map[string]machine{
		"sys.platform: linux\nCUDA available: True\nGPU 0,1: NVIDIA A40\nPyTorch: 1.9.1+cu111\n": {"1.9.1+cu111", "NVIDIA A40", "", "yes"},
		"PyTorch                 1.13.1+cu116 @/usr/lib/torch\nGPU available           Yes\n" +
			"GPU 0                   Tesla T4 (arch=7.5)\nDriver version          525.85.12\n": {"1.13.1+cu116", "Tesla T4", "525.85.12", "yes"},
		"- OS: Windows 11\n- PyTorch: `2.11.0+cpu`\n- GPU: NVIDIA GeForce RTX 5080 (16 GB)\n- NVIDIA driver: `580.88`\n": {
			"2.11.0+cpu", "NVIDIA GeForce RTX 5080", "580.88", ""},
		"**GPU**: RTX 4090, 24 GB\n**Driver version**: 550.54\n": {"", "RTX 4090", "550.54", ""},
		"PyTorch version: 2.9.0+cu130\nNVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build\n": {
			"2.9.0+cu130", "", "570.86.15", ""},
		"torch          2.9.1+cu128\ntorchvision    0.24.1+cu128\nCUDA toolkit 12.8\n": {"2.9.1+cu128", "", "", ""},
	} {
		f, err := input.Read(document.Document{Data: []byte(text)})
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		got := machine{driver: f.Driver.Version}
		if len(f.Environments) > 0 {
			got.torch = f.Environments[0].Builds[0].Version
		}
		if len(f.GPUs) > 0 {
			got.gpu = f.GPUs[0].Name
		}
		if seen := f.Observed.CUDAAvailable; seen != nil && *seen {
			got.sees = "yes"
		}
		if got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
		for _, s := range f.Probes {
			if s.Status != "ok" {
				t.Errorf("%q: %s", text, s.Error)
			}
		}
	}
}
