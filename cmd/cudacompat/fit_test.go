package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// surfacePairs lists packages beside a torch with the truth about each: the eight kinds of pairs that some surface once
// judged wrong, each with one that fits.
var surfacePairs = []struct {
	torch, cuda, beside string // beside: NAME==VERSION, or the address of a wheel
	machine             []string
	says                string // what the program prints; empty: nothing, the pair fits
}{
	{"2.14.1+cu126", "12.6", "torchvision==0.29.2", onL4, twoMajors},
	{"2.14.1+cu126", "12.6", "torchvision==0.29.1+cu126", onL4, ""},
	{"2.11.0+cu128", "12.8", "torchaudio==2.11.1", onL4, "OSError: libcudart.so.13: cannot open shared object file: No such file or directory"},
	{"2.14.1+cu126", "12.6", "torchaudio==2.11.1", onL4, "OSError: libcudart.so.13: cannot open shared object file: No such file or directory"},
	{"2.14.1+cu126", "12.6", "torchaudio==2.11.0+cu126", onL4, ""},
	{"2.13.0", "13.0", "xformers==0.0.35", onL4, "OSError: libcudart.so.12: cannot open shared object file: No such file or directory"},
	{"2.10.0", "12.8", "xformers==0.0.35", onL4, ""},
	{"2.9.0+cu130", "13.0", "torchvision==0.24.0", onL4, twoMajors},
	{"2.9.0+cu130", "13.0", "torchvision==0.24.0+cu130", onL4, ""},
	{"2.8.0+cpu", "", "torchvision==0.23.0", onDriver, "RuntimeError: operator torchvision::nms does not exist"},
	{"2.8.0+cpu", "", "torchvision==0.23.0+cpu", onDriver, ""},
	{"2.5.1", "12.4", flashAttn("2.5", "TRUE", "cp312-cp312-linux_x86_64"), onA100, oldSymbol},
	{"2.5.1", "12.4", flashAttn("2.5", "FALSE", "cp312-cp312-linux_x86_64"), onA100, ""},
	{"2.7.1", "12.6", flashAttn("2.7", "FALSE", "cp312-cp312-linux_x86_64"), onA100, oldSymbol},
	{"2.8.0+cu128", "12.8", flashAttn("2.8", "FALSE", "cp312-cp312-linux_x86_64"), onA100, oldSymbol},
	{"2.8.0+cu128", "12.8", flashAttn("2.8", "TRUE", "cp312-cp312-linux_x86_64"), onA100, ""},
	{"2.8.0", "12.8", flashAttn("2.8", "TRUE", "cp310-cp310-linux_x86_64"), onA100, notInstalled},
	{"2.8.0", "12.8", flashAttn("2.8", "TRUE", "cp312-cp312-win_amd64"), []string{"--driver", "595.91.07", "--instance", "g5.xlarge"}, notInstalled},
	{"2.9.1+cu130", "13.0", "sgl-kernel==0.3.21", onH100, "ImportError: libcudart.so.12: cannot open shared object file: No such file or directory"},
	{"2.9.1", "12.8", "sgl-kernel==0.3.21", onH100, ""},
}

var (
	onL4     = []string{"--driver", "595.91.07", "--gpu", "L4"}
	onA100   = []string{"--driver", "595.91.07", "--gpu", "A100"}
	onH100   = []string{"--driver", "595.91.07", "--gpu", "H100"}
	onDriver = []string{"--driver", "595.91.07"}
)

const (
	twoMajors = "RuntimeError: Detected that PyTorch and torchvision were compiled with different CUDA major versions. " +
		"PyTorch has CUDA Version=12.6 and torchvision has CUDA Version=13.2. Please reinstall the torchvision that matches your PyTorch install."
	oldSymbol = "ImportError: /opt/venv/lib/python3.12/site-packages/flash_attn_2_cuda.cpython-312-x86_64-linux-gnu.so: " +
		"undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
	notInstalled = "not installed" // pip refuses the wheel: no list has it, and no program fails by it
)

// flashAttn returns the address of a wheel of flash-attn 2.8.3.
func flashAttn(torch, abi, tags string) string {
	return fmt.Sprintf("https://github.com/Dao-AILab/flash-attention/releases/download/v2.8.3/flash_attn-2.8.3+cu12torch%scxx11abi%s-%s.whl", torch, abi, tags)
}

// TestPairsOnEverySurface checks each pair as a file, a list, an installer's plan, and in guard, explain and pins.
// TestSurfacesAgree of package matrix covers the files of an environment.
func TestPairsOnEverySurface(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("guard's installer is a shell script")
	}
	for _, c := range surfacePairs {
		name, version, _ := strings.Cut(c.beside, "==")
		url := version == ""
		if url {
			name, version, _ = strings.Cut(filepath.Base(c.beside), "-")
			name, version = strings.ReplaceAll(name, "_", "-"), version[:strings.Index(version, "-")]
		}
		t.Run(c.torch+" "+filepath.Base(c.beside), func(t *testing.T) {
			dir := t.TempDir()
			t.Chdir(dir)
			write := func(name, text string) string {
				t.Helper()
				if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
				return name
			}
			broken := map[bool]int{true: 0, false: 1}[c.says == ""]
			expect := func(surface string, want int, args ...string) {
				t.Helper()
				code, out, complaint := says(t, args...)
				fault := strings.Contains(out, "companion-mismatch") || strings.Contains(out, "extension-mismatch")
				if want == 0 && c.cuda == "" {
					want = 3 // there is no GPU to compare with
				}
				if code != want || fault != (want == 1) {
					t.Errorf("%s: exit %d, want %d:\n%s%s", surface, code, want, out, complaint)
				}
			}
			python := "--python=3.12"
			file := write("requirements.txt", "torch=="+c.torch+"\n"+c.beside+"\n")
			expect("file", broken, slices.Concat([]string{"check", file, python}, c.machine)...)
			list := fmt.Sprintf("torch %s\n%s %s\n", c.torch, name, version)
			if c.says != notInstalled {
				expect("list", broken, slices.Concat([]string{"check", write("list.txt", list), python}, c.machine)...)
			}
			if c.says != notInstalled && c.says != "" {
				expect("explain", 1, "explain", write("run.log", c.says+"\n"+list))
			}
			site := "venv/lib/python3.12/site-packages/"
			write("venv/pyvenv.cfg", "home = /usr/bin\nversion = 3.12.3\n")
			info := site + "torch-" + c.torch + ".dist-info/"
			write(info+"METADATA", "Metadata-Version: 2.1\nName: torch\nVersion: "+c.torch+"\n")
			write(info+"INSTALLER", "pip\n")
			write(info+"RECORD", filepath.Base(info)+"/METADATA,,\ntorch/__init__.py,,\ntorch/version.py,,\n")
			write(site+"torch/__init__.py", "import os\n")
			cuda := "None"
			if c.cuda != "" {
				cuda = "'" + c.cuda + "'"
			}
			own := c.torch
			if !strings.Contains(own, "+") { // version.py of the wheels on the package index has what METADATA has not
				own += "+cu" + strings.ReplaceAll(c.cuda, ".", "")
			}
			write(site+"torch/version.py", "__version__ = '"+own+"'\ncuda: Optional[str] = "+cuda+"\n")
			if runtime := map[string]string{"12": "nvidia_cuda_runtime_cu12", "13": "nvidia_cuda_runtime"}[strings.Split(c.cuda, ".")[0]]; runtime != "" {
				info := site + runtime + "-" + c.cuda + ".0.dist-info/"
				write(info+"METADATA", "Metadata-Version: 2.1\nName: "+runtime+"\nVersion: "+c.cuda+".0\n")
				write(info+"RECORD", filepath.Base(info)+"/METADATA,,\n")
			}
			from := ""
			if url {
				from = " (from " + c.beside + ")"
			}
			write("bin/uv", fmt.Sprintf("#!/bin/sh\necho 'Using Python 3.12.3 environment at: venv' >&2\necho 'Would install 1 package' >&2\necho ' + %s==%s%s' >&2\n", name, version, from))
			t.Setenv("PATH", filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
			expect("guard", broken, slices.Concat([]string{"guard", "--dry-run"}, c.machine, []string{"--", "uv", "pip", "install", "--python", "venv", name})...)
			if !url && c.cuda != "" { // pins may take another build of the release, +cu130
				code, out, complaint := says(t, slices.Concat([]string{"pins", python, "--want", "torch==" + c.torch, "--want", c.beside}, c.machine)...)
				if offered := strings.Contains(out, "pip install ") && strings.Contains(out, " "+c.beside+" "); offered != (c.says == "") {
					t.Errorf("pins: exit %d, offered: %t:\n%s%s", code, offered, out, complaint)
				}
			}
		})
	}
}
