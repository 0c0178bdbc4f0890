package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFirstGuesses checks that what people type first gets an answer, or names the right command.
func TestFirstGuesses(t *testing.T) {
	dir := t.TempDir()
	venv := filepath.Join(dir, "venv")
	for _, name := range []string{"bin/python3", "bin/activate", "pyvenv.cfg", "lib/python3.12/site-packages/x"} {
		write(t, filepath.Join(venv, name), "home = /usr/bin\nversion = 3.12.1\n")
	}
	write(t, filepath.Join(dir, "empty.txt"), "")
	t.Chdir(dir)
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"check torch --gpu L4 --driver 580.95.05", exitOK, "torch (no version given) works"},                                      // an installer takes the newest
		{"check torch --gpu L4 --driver 535.183.01", exitInconclusive, "the Python decides which one is installed (add --python)"}, // Python 3.9 gets 2.8
		{"check torch>=2.6,<2.14 --gpu L4 --driver 535.183.01", exitInconclusive, "the file does not pin a version, so it"},        // anything may hold it back
		{"check torch --gpu L4 --driver 535.183.01 --python 3.12", exitIncompatible, "cannot run on driver 535.183.01"},
		{"check torch>=2.9 --gpu L4 --driver 580.95.05", exitOK, "torch >=2.9 works"},
		{"check torch==2.9.0+cu130 --gpu L4 --driver 535.183.01", exitIncompatible, "cannot run on driver 535.183.01"},
		{"check torch==2.9.0 --instance ml.g5.xlarge --driver 580.95.05", exitOK, "torch 2.9.0 works on ml.g5.xlarge"},
		{"check torch==2.9.0+cu130 --instance ml.g5.xlarge --driver al2-ami-sagemaker-inference-gpu-2-1", exitIncompatible,
			"cannot run on driver 535"},
		{"check torch==2.9.0 --gpu L4 --driver al2-ami-sagemaker-inference-gpu-9", exitUsage, "is not a driver version"},
		{"check torch==2.9.0 --instance ml.g5.tiny --driver 580.95.05", exitUsage, "is not a known GPU instance type"},
		{"check vllm==0.11.0 torch==2.9.0+cu130 --gpu GH200 --driver 580.95.05", exitInconclusive,
			"the tables know no wheel of vllm 0.11.0 for linux_aarch64"},
		{"check torch==2.9.0+cu130 xformers==0.0.31 --gpu GB10 --driver 580.95.05", exitInconclusive, "cannot judge xformers 0.0.31"},
		{"check vllm==0.11.0 torch==2.9.0+cu130 --gpu H100 --driver 580.95.05", exitIncompatible, "was compiled for torch 2.8.0"},
		{"check torch==2.9.0+cu130 torchvision==0.24.0+cu130 --gpu GH200 --driver 580.95.05", exitOK, "torch 2.9.0+cu130 works"},
		{"requires vllm==0.11.0 torch==2.9.0+cu130", exitInconclusive, "0 GPU products can run it"},
		{"requires torch==2.9.0+cu130 bitsandbytes==0.50.1", exitOK, "the tables know no wheel of bitsandbytes 0.50.1 for linux_aarch64"},
		{"check torch==2.6.0 --gpu L4 --driver 5350", exitUsage, "is not a driver version"},
		{"check torch==2.6.0 --gpu L4 --driver 550.999.99", exitOK, "do not know driver 550.999.99"},
		{"check torch==2.6.0 --gpu L4 --driver 12.4", exitUsage, "that is a version of CUDA"},
		{"check torch==2.6.0 --gpu L4 --driver CUDA|12.4", exitUsage, "that is a version of CUDA"},
		{"check torch==2.6.0 --gpu sm_90 --driver 580.95.05", exitOK, "torch 2.6.0 works"},
		{"check torch==2.6.0 --gpu RTX|5090|Ti --driver 580.95.05", exitUsage, `did you mean --gpu "RTX 5090"?`},
		{"check torch==2.6.0 --gpu Orin|Nano --driver 580.95.05", exitUsage, "Jetson Orin Nano"},
		{"check torch==2.6.0 --instance g5 --driver 580.95.05", exitUsage, "g5.xlarge"},
		{"pins --want pytorch==2.9.0 --gpu L4 --driver 580.95.05", exitUsage, "hint: --want torch==2.9.0: conda's pytorch channel ended"},
		{"explain 12020", exitUsage, "it is CUDA 12.2"},
		{"venv/pyvenv.cfg", exitUsage, "did you mean cudacompat explain venv/pyvenv.cfg?"},
		{"explain empty.txt", exitInconclusive, "the log is empty"},
		{"check torhc", exitUsage, "torhc==VERSION"},
		{"check nosuch.lock", exitUsage, "check the path"},
		{"check ./torch", exitUsage, "check the path"},
		{"doctor --json", exitUsage, "did you mean -o json?"},
		{"doctor --markdown", exitUsage, "did you mean -o markdown?"},
		{"doctor -q", exitUsage, "-o line prints one line"},
		{"explain -q 79", exitUsage, ">/dev/null"},
		{"version -o json", exitUsage, "leave -o out"},
		{"explain xid|79", exitOK, "Xid 79"},
		{"explain libcuda.so.1", exitOK, "Part of the NVIDIA driver"},
		{"explain |", exitUsage, "is a variable unset?"},
		{"doctor --env venv/bin -o json", exitInconclusive, "\"path\": \"" + venv + "\""},
		{"doctor --env venv/bin/ -o json", exitInconclusive, "\"path\": \"" + venv + "\""},
		{"doctor --env venv/bin/activate -o json", exitInconclusive, "\"path\": \"" + venv + "\""},
		{"doctor --env venv/lib -o json", exitUsage, "no Python environment at venv/lib"},
	} {
		var out, errs bytes.Buffer
		args := strings.Fields(c.args)
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "|", " ")
		}
		code := run(args, streams{strings.NewReader(""), &out, &errs})
		if text := out.String() + errs.String(); code != c.code || !strings.Contains(text, c.want) {
			t.Errorf("%s: exit %d, want %d and %q:\n%.600s", c.args, code, c.code, c.want, text)
		}
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}
