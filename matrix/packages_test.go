package matrix

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cudacompat/matrix/verdict"
)

// needs lists, by hand, what sixty packages need of a driver: from their wheels' names, METADATA and the needs of their
// libraries, for the release in the lists.
var needs = map[string]string{
	"mxnet-cu112": "11", "paddlepaddle-gpu": "11",

	"cucim-cu12": "12", "cudf-cu12": "12", "cugraph-cu12": "12", "cuml-cu12": "12", "cuvs-cu12": "12",
	"cuquantum-cu12": "12", "cupy-cuda12x": "12", "faiss-gpu-cu12": "12", "numba-cuda": "12",
	"nvidia-dali-cuda120": "12", "nx-cugraph-cu12": "12", "spconv-cu120": "12", "tensorflow": "12", "lmdeploy": "12",
	"xformers": "12", "transformer-engine": "12",

	"cuml-cu13": "13", "cuvs-cu13": "13", "rmm-cu13": "13", "cupy-cuda13x": "13", "jax": "13", "onnxruntime-gpu": "13",
	"onnxruntime-genai-cuda": "13", "sglang": "13", "vllm": "13", "tensorrt-llm": "13", "torch": "13",
	"torchvision": "13", "torchcodec": "13",

	// These bring a torch of any release, or are compiled during installation.
	"autoawq": "open", "bitsandbytes": "open", "coqui-tts": "open", "dgl": "open", "easyocr": "open",
	"exllamav2": "open", "flash-attn": "open", "flashinfer-python": "open", "gptqmodel": "open", "gsplat": "open",
	"kornia": "open", "llmcompressor": "open", "mamba-ssm": "open", "nemo-toolkit": "open", "nvidia-modelopt": "open",
	"openai-whisper": "open", "optimum-quanto": "open", "pyannote-audio": "open", "pycuda": "open",
	"speechbrain": "open", "torch-geometric": "open", "torchao": "open", "ultralytics": "open", "whisperx": "open",

	// These are the same with and without a GPU.
	"catboost": "none", "faster-whisper": "none", "lightgbm": "none", "taichi": "none", "warp-lang": "none",
	"xgboost": "none",
}

// TestPackages judges sixty packages that use a GPU, each by itself in a file, on three driver branches. Each must be
// judged by its need, or named as unknown.
func TestPackages(t *testing.T) {
	lines := packageLines(t)
	if len(lines) < 60 || len(needs) != len(lines) {
		t.Fatalf("%d packages, %d of them with what they need", len(lines), len(needs))
	}
	known := Embedded()
	for _, line := range lines {
		name, _, _ := strings.Cut(line, "==")
		name = strings.TrimSuffix(name, "-cuda13-plugin")
		for _, driver := range []string{"470.256.02", "535.183.01", "580.95.05"} {
			v := fileOn(t, known, line+"\n", driver, "A100")
			said := saidOf(v, name)
			t.Logf("%-32s %s %-12s %s", line, driver[:3], v.Outcome, strings.Join(said, "; "))
			if why := wrongly(needs[name], driver, v, said); why != "" {
				t.Errorf("%s on %s: %s: %s: %v", line, driver, why, v.Outcome, said)
			}
		}
	}
}

// wrongly describes the error in a verdict on a package with a need on a driver, or returns "".
func wrongly(need, driver string, v verdict.Verdict, said []string) string {
	works := map[string][]string{"11": {"470", "535", "580"}, "12": {"535", "580"}, "13": {"580"}}
	answered := slices.ContainsFunc(said, func(s string) bool { return strings.HasPrefix(s, "answer ") })
	switch {
	case len(said) == 0:
		return "neither judged nor named"
	case need == "open" && v.Outcome != verdict.Inconclusive:
		return "nobody knows the torch"
	case need == "none" && v.Outcome != verdict.Compatible:
		return "it goes on without a GPU"
	case need == "open", need == "none":
		return ""
	case slices.Contains(works[need], driver[:3]) == (v.Outcome == verdict.Incompatible):
		return "it needs CUDA " + need
	case v.Outcome == verdict.Compatible && !answered:
		return "no build was judged"
	}
	return ""
}

// packageLines returns the packages of the lists without duplicates.
func packageLines(t *testing.T) []string {
	t.Helper()
	files, _ := filepath.Glob("../tools/lab/campaign/packages*.txt")
	var list []string
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			line = strings.TrimSpace(line)
			if line != "" && !strings.HasPrefix(line, "#") && !slices.Contains(list, line) {
				list = append(list, line)
			}
		}
	}
	return list
}

// saidOf returns what a verdict says about one package.
func saidOf(v verdict.Verdict, name string) []string {
	var list []string
	of := func(subject string) bool { return strings.HasPrefix(subject, name+" ") }
	for _, a := range v.Answers {
		if of(a.Subject) {
			list = append(list, fmt.Sprintf("answer %s %v", a.Answer, a.Because))
		}
	}
	for _, f := range v.Findings {
		if of(f.Subject) {
			list = append(list, fmt.Sprintf("%s %s", f.Severity, f.Rule))
		}
	}
	for _, u := range v.Unknown {
		if of(u.Subject) {
			list = append(list, "unknown "+u.Rule)
		}
	}
	return list
}
