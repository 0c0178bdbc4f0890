package matrix

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cudacompat/matrix/verdict"
	"cudacompat/probe"
	"cudacompat/probe/facts"
)

// publicCase is one real case from a public thread, whose cause is known.
type publicCase struct {
	ID    string
	Kind  string // environment, program, hardware, healthy
	Facts struct {
		Driver       string
		DriverCUDA   string `json:"driver_cuda_max"`
		DriverKernel string `json:"driver_kernel"`
		DriverLib    string `json:"driver_lib"`
		GPUs         []string
		Capability   []string `json:"compute_capability"`
		Torch        string
		TorchCUDA    string `json:"torch_cuda"`
		TensorFlow   string
		JAX          string
		Python, NVCC string
		OS           string
		Glibc        string
		ArchList     string `json:"arch_list"`
		Pip, Env     map[string]string
	}
	CollectEnv string `json:"collect_env"`
	Verdict    struct{ Blame, Rule string }
}

// ruleOf maps a case's word for its cause to the rule.
var ruleOf = map[string]string{
	"driver-too-old-for-runtime": "driver-too-old", "gpu-arch-not-in-wheel": "gpu-arch-missing",
	"cpu-only-wheel":          "cpu-only-build",
	"driver-library-mismatch": "driver-mismatch", "cudnn-missing-or-wrong-major": "cudnn-mismatch",
	"cudnn-older-than-build":          "cudnn-mismatch",
	"nvidia-cu11-cu12-packages-mixed": "cuda-packages-mixed", "kernel-module-not-loaded": "driver-missing",
	"no-wheel-for-python":     "python-unsupported",
	"glibc-too-old-for-wheel": "glibc-too-old", "nccl-built-for-other-cuda": "nccl-mismatch",
	"tensorflow-pip-cuda-libs-not-found":    "tensorflow-cuda-libs",
	"toolkit-torch-cuda-mismatch-for-build": "toolkit-framework",
	"toolkit-too-old-for-gpu-arch":          "toolkit-too-old-for-gpu",
	"nvrtc-too-old-for-gpu":                 "jit-too-old-for-gpu", "ptx-newer-than-driver": "ptx-newer-than-driver",
	"needs-open-kernel-module":       "open-module-required",
	"forward-compat-on-consumer-gpu": "forward-compat-unsupported", "cuda-visible-devices-wrong": "visible-devices",
	"mig-visible-devices":       "mig-devices",
	"nvidia-require-cuda-unmet": "container-requirements", "container-lost-gpu-cgroup": "device-access-lost",
	"dev-shm-too-small":    "shm-too-small",
	"p2p-broken-iommu-acs": "peer-to-peer", "fabric-manager-not-running": "fabric-manager",
	"container-runtime-not-nvidia": "container-toolkit",
	"tensorflow-no-gpu-on-windows": "cpu-only-build",
}

// milder lists the rules that never report an error, or that cannot report one from the facts in a forum thread.
var milder = map[string]bool{"toolkit-framework": true, "toolkit-too-old-for-gpu": true, "jit-too-old-for-gpu": true,
	"cuda-packages-mixed": true}

// lacking lists the cases that their rule cannot judge, because the forum thread does not contain a fact that the rule
// needs. The value names this fact.
var lacking = map[string]string{
	"env-driver-435.21-torch1.7.1":        "the CUDA of a torch that the table does not have",
	"env-driver-9010-torch1.3":            "the CUDA of a torch that the table does not have",
	"env-arch-k40m-44253":                 "the build",
	"env-arch-titan-black-minimum-3.7":    "the build",
	"env-arch-gtx960m-torch0.3.1":         "a release in the tables",
	"env-nvml-mismatch-rhel-symlinks":     "both versions",
	"env-cpuonly-mineru":                  "that the wheel came from PyPI: its version carries no +cpu",
	"env-cpuonly-cobra":                   "the build",
	"env-cudnn9-only-need8":               "the build",
	"env-arch-h100-p5-old-torch":          "the build",
	"env-arch-cu102-default-31285":        "the GPU",
	"env-module-dkms-cachyos":             "the GPU",
	"env-glibc-2.31-cosmos":               "the build",
	"env-glibc-flashdepth":                "the build",
	"env-cpuonly-aarch64-168065":          "the build",
	"env-cpuonly-aarch64-160162":          "the local version: 2.8 alone may be a CUDA wheel",
	"env-tf-cudnn-8.1.1-8.6.0":            "the build",
	"env-jax-cudnn-16078":                 "the build",
	"env-nccl-cuda-mismatch-nccl-tests-6": "the driver",
	"env-tf-linux-2.18-85311":             "what the loader finds",
	"env-804-horde-worker":                "the GPU",
	"env-802-gpu-operator-375":            "the GPU",
	"env-802-gpustack-fm":                 "the GPU",
	"env-802-hfjobs-h200-single":          "the fabric's state",
	"env-shm-nccl290":                     "the size of /dev/shm",
	"env-p2p-iommu-a100-450.142":          "IOMMU and ACS",
	"env-ptx-toolchain-gvdb":              "the GPU",
	"env-ptx-toolchain-diffvg":            "the driver",
	"env-require-cuda-12.8-petric":        "the image's NVIDIA_REQUIRE_CUDA",
	"env-require-cuda-11.0-klueska":       "the image's NVIDIA_REQUIRE_CUDA",
	"env-k8s-default-runtime-23":          "the engine's configuration",
	"env-cgroup-daemon-reload-48":         "what opening a device node answers",
	"env-cgroup-daemon-reload-1227":       "what opening a device node answers",
	"env-mig-130181":                      "the MIG devices",
	"env-mig-131650":                      "the MIG devices",
	"env-mig-ordinal-mlcommons":           "the MIG devices",
	"env-visible-1-comosvc":               "how many GPUs there are",
	"env-open-module-5090-872":            "the module's flavour",
}

// TestPublicCases judges every public case. A healthy one, or one whose program is at fault, must not be incompatible.
// For the others, the rule that the case names must report the fault.
func TestPublicCases(t *testing.T) {
	decided, found := 0, 0
	for _, c := range readPublic(t) {
		want := ruleOf[c.Verdict.Rule]
		if c.Kind == "environment" && want == "" {
			continue // a driver's bug, a log's fault: no rule's
		}
		hit := false
		for _, f := range c.inputs(t) {
			v := Check(context.Background(), Embedded(), f, nil, verdict.Policy{})
			if c.Kind != "environment" && c.Kind != "hardware" && v.Outcome == verdict.Incompatible {
				t.Errorf("%s: %s, but comes out incompatible:\n%s", c.ID, c.Kind, summary(v, everyRule))
			}
			hit = hit || slices.ContainsFunc(v.Findings, func(f verdict.Finding) bool {
				return f.Rule == want &&
					(f.Severity == verdict.Error || milder[want])
			})
		}
		if c.Kind != "environment" {
			continue
		}
		if lacking[c.ID] != "" {
			if hit {
				t.Errorf("%s is found now: take it out of the list of those that lack a fact", c.ID)
			}
			continue
		}
		decided++
		if hit {
			found++
		} else {
			t.Logf("%s: %s does not fire", c.ID, want)
		}
	}
	t.Logf("%d of %d environment cases are found by their rule; %d more lack a fact", found, decided, len(lacking))
	if found*100 < decided*95 {
		t.Errorf("only %d of %d environment cases are found", found, decided)
	}
}

func readPublic(t *testing.T) []publicCase {
	t.Helper()
	f, err := os.Open("testdata/public/cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var cases []publicCase
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c publicCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	return cases
}

// inputs returns the case as facts and, where the thread has one, as a pasted report.
func (c *publicCase) inputs(t *testing.T) []facts.Facts {
	t.Helper()
	inputs := []facts.Facts{c.facts()}
	if c.CollectEnv != "" {
		f, err := probe.Given([]byte(c.CollectEnv))
		if err != nil {
			t.Fatal(err)
		}
		inputs = append(inputs, f)
	}
	return inputs
}

var firstWord = regexp.MustCompile(`^\S*`)

func (c *publicCase) facts() facts.Facts {
	f := facts.Facts{Variables: c.Facts.Env}
	f.Driver.Version = firstWord.FindString(c.Facts.Driver)
	f.Driver.CUDA = c.Facts.DriverCUDA
	if c.Facts.DriverKernel != "" {
		f.Driver.Version = c.Facts.DriverKernel
		f.Driver.Libraries = []facts.Library{{Name: "libnvidia-ml", Version: c.Facts.DriverLib}}
	}
	f.System.OS, f.System.Libc = c.Facts.OS, c.Facts.Glibc
	if strings.Contains(c.Facts.OS, "aarch64") {
		f.System.Arch = "aarch64"
	}
	for i, name := range c.Facts.GPUs {
		gpu := facts.GPU{Name: name}
		if i < len(c.Facts.Capability) {
			gpu.Capability = c.Facts.Capability[i]
		}
		f.GPUs = append(f.GPUs, gpu)
	}
	if c.Facts.NVCC != "" {
		f.Toolkits = []facts.Toolkit{{Version: c.Facts.NVCC}}
	}
	f.Environments = c.environments()
	return f
}

func (c *publicCase) environments() []facts.Environment {
	env := facts.Environment{Python: c.Facts.Python}
	for _, b := range []facts.Build{
		{Name: "torch", Version: firstWord.FindString(c.Facts.Torch), CUDA: c.Facts.TorchCUDA},
		{Name: "tensorflow", Version: c.Facts.TensorFlow}, {Name: "jax", Version: c.Facts.JAX},
	} {
		if b.Name == "torch" {
			for _, code := range strings.Fields(c.Facts.ArchList) {
				if strings.HasPrefix(code, "sm_") {
					b.SASS = append(b.SASS, code)
				} else {
					b.PTX = append(b.PTX, code)
				}
			}
		}
		if b.Version != "" || b.CUDA != "" || len(b.SASS) > 0 {
			env.Builds = append(env.Builds, b)
		}
	}
	for name, version := range c.Facts.Pip {
		env.Packages = append(env.Packages, facts.Package{Name: name, Version: version})
	}
	return []facts.Environment{env}
}
