package main

import (
	"encoding/json"
	"strings"
	"testing"

	"cudacompat/matrix/pin"
)

// wantedSets are packages that people install together.
var wantedSets = []string{
	"vllm", "vllm flash-attn", "vllm flash-attn==2.8.3", "vllm==0.11.0 flash-attn", "vllm xformers", "vllm torchaudio",
	"vllm bitsandbytes", "sglang", "sglang torchaudio", "lmdeploy", "lmdeploy xformers", "xformers", "xformers torchvision",
	"flash-attn", "flash-attn==2.7.4.post1 torch==2.6.0", "flash-attn transformers", "mamba-ssm causal-conv1d",
	"mamba-ssm flash-attn", "causal-conv1d torchvision", "bitsandbytes transformers", "bitsandbytes peft accelerate",
	"deepspeed transformers", "deepspeed flash-attn", "torchaudio torchvision", "torchcodec torchvision",
	"torchao torchvision", "torch>=2.8,<2.10 torchvision", "torch<2.5 torchaudio", "torch-tensorrt", "torchtext",
	"jax torch", "jax onnxruntime-gpu", "tensorflow torch", "tensorflow jax", "onnxruntime-gpu torch",
	"cupy-cuda12x torch", "cupy-cuda13x", "xgboost lightgbm", "ctranslate2 torch", "faiss-gpu-cu12 torch",
}

// wantedMachines are the machines for them, as flags: a driver, a GPU and a Python.
var wantedMachines = []string{
	"550.90.07 L4 3.12", "580.95.05 H100 3.12", "535.183.01 A100 3.11", "570.172.08 B200 3.12", "535.183.01 T4 3.10",
	"580.95.05 V100 3.13",
}

// machineFlags returns a line of wantedMachines as flags.
func machineFlags(line string) []string {
	f := strings.Fields(line)
	return []string{"--driver", f[0], "--gpu", f[1], "--python", f[2]}
}

// TestWantedSetsPassCheck checks that every set of pins passes check on its machine. If there is no set, pins must name
// the conflict. CUDACOMPAT_GRID=whole tries all 40 sets on 6 machines, make test each eleventh.
func TestWantedSetsPassCheck(t *testing.T) {
	count, found := 0, 0
	for _, wanted := range wantedSets {
		for _, machine := range wantedMachines {
			if count++; !wholeGrid && count%11 != 1 {
				continue
			}
			args := append([]string{"pins", "-o", "json"}, machineFlags(machine)...)
			for _, w := range strings.Fields(wanted) {
				args = append(args, "--want", w)
			}
			got := runs(t, "", args...)
			var sets pin.Sets
			if err := json.Unmarshal([]byte(got.out), &sets); err != nil {
				t.Fatalf("%s on %s: %v\n%s%s", wanted, machine, err, got.out, got.err)
			}
			if len(sets.Sets) == 0 {
				if got.code != 1 || len(sets.Missing) == 0 || sets.Missing[0].Why == "" {
					t.Errorf("%s on %s: exit %d and no conflict: %s", wanted, machine, got.code, got.out)
				}
				t.Logf("none   %-40s %-22s %s", wanted, machine, sets.Missing[0].Why)
				continue
			}
			found++
			args[2] = "requirements"
			file := runs(t, "", args...).out
			check := runs(t, file, append([]string{"check", "-"}, machineFlags(machine)...)...)
			if check.code != 0 {
				t.Errorf("%s on %s: check says %d of\n%s%s", wanted, machine, check.code, file, check.out)
			}
			t.Logf("set    %-40s %-22s %s", wanted, machine, strings.ReplaceAll(file[strings.LastIndex(file, "# "):], "\n", " "))
		}
	}
	t.Logf("%d sets of %d", found, count)
}

// TestWantedByHand checks single answers against the tables' sources: vLLM 0.11.0 pins torch 2.8.0, for which
// flash-attn 2.8.3 has a wheel with the new ABI, and flash-attn has no code for a T4 (7.5).
func TestWantedByHand(t *testing.T) {
	const wheel = "https://github.com/Dao-AILab/flash-attention/releases/download/v2.8.3/" +
		"flash_attn-2.8.3+cu12torch2.8cxx11abiTRUE-cp312-cp312-linux_x86_64.whl"
	l4 := "550.90.07 L4 3.12"
	for _, c := range []struct {
		name, machine, format string
		want                  []string
		code                  int
		out                   string
	}{
		{"extension", l4, "requirements", []string{"vllm", "flash-attn==2.8.3"}, 0,
			"\nvllm==0.11.0\nflash-attn @ " + wheel + "\ntorch==2.8.0\n"},
		{"command", l4, "text", []string{"vllm", "flash-attn==2.8.3"}, 0,
			"  uv       uv pip install vllm==0.11.0 'flash-attn @ " + wheel + "' torch==2.8.0\n"},
		{"old-abi", l4, "requirements", []string{"flash-attn==2.7.4.post1", "torch==2.6.0"}, 0,
			"flash_attn-2.7.4.post1+cu12torch2.6cxx11abiFALSE-cp312-cp312-linux_x86_64.whl\ntorch==2.6.0\n"},
		{"constraints", l4, "constraints", []string{"cupy-cuda12x", "accelerate", "torch==2.9.1"}, 0,
			"\ncupy-cuda12x==14.2.0\ntorch==2.9.1\n"},
		{"one-toolkit", "580.95.05 H100 3.12", "requirements", []string{"cupy-cuda12x", "torch"}, 0,
			"cupy-cuda12x[ctk]==14.2.0\ntorch==2.14.1+cu126\n"},
		{"not-in-tables", l4, "text", []string{"accelerate", "torch==2.9.1"}, 0,
			"  accelerate: the tables have no releases of it, so the installer picks one\n"},
		{"second-index", l4, "text", []string{"torchvision", "torch==2.14.1"}, 0,
			"torchvision==0.29.1+cu126 torch==2.14.1+cu126 --extra-index-url https://download.pytorch.org/whl/cu126 --index-strategy unsafe-best-match\n"},
		{"two-torches", l4, "text", []string{"vllm==0.33.0", "flash-attn==2.8.3"}, 1,
			"together: none: vllm==0.33.0 is made for torch 2.14, but flash-attn==2.8.3 is made for torch 2.4 to 2.8\n"},
		{"driver", l4, "text", []string{"vllm==0.33.0", "accelerate"}, 1,
			"together: none: vllm==0.33.0 needs CUDA 13, but driver 550.90.07 runs CUDA 12 and older\n"},
		{"gpu", "550.90.07 T4 3.12", "text", []string{"vllm", "flash-attn"}, 1,
			"together: none: flash-attn has code for sm_80 sm_90 sm_100 sm_120, but the GPU is T4 (7.5)\n"},
		// vLLM 0.2.2 allows every torch from 2.1 on, and loads only with the one that it was compiled for.
		{"not-the-oldest", "580.95.05 H100 3.10", "requirements", []string{"vllm"}, 0, "\nvllm==0.31.0\ntorch==2.13.0\n"},
		{"python-of-torch", "550.90.07 L4 3.13", "text", []string{"torchtext"}, 1, "of which no wheel is for this Python, but this is Python 3.13\n"},
		{"source-only", l4, "text", []string{"flash-attn==2.8.3.post2"}, 1,
			"flash-attn==2.8.3.post2 is on the package index as a source only: what it will be compiled for is not known\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append([]string{"pins", "-o", c.format}, machineFlags(c.machine)...)
			for _, w := range c.want {
				args = append(args, "--want", w)
			}
			got := runs(t, "", args...)
			if got.code != c.code || !strings.Contains(got.out, c.out) {
				t.Errorf("exit %d, want %d with %q:\n%s%s", got.code, c.code, c.out, got.out, got.err)
			}
		})
	}
	unknown := []string{"pins", "--want", "vllm", "--driver", "550.90.07", "--root", t.TempDir()}
	if got := runs(t, "", unknown...); got.code != 3 {
		t.Errorf("%q: exit %d, want 3: %s%s", unknown, got.code, got.out, got.err)
	}
}

// TestFlashAttentionByItsName checks that a wheel's name selects the row with its code.
func TestFlashAttentionByItsName(t *testing.T) {
	file := "torch==2.8.0\nflash-attn==2.8.3+cu12torch2.8cxx11abiTRUE\n"
	for gpu, code := range map[string]int{"L4": 0, "T4": 1} {
		if got := runs(t, file, "check", "-", "--driver", "550.90.07", "--gpu", gpu, "--python", "3.12"); got.code != code {
			t.Errorf("%s: exit %d, want %d:\n%s", gpu, got.code, code, got.out)
		}
	}
}
