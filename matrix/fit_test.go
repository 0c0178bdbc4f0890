package matrix

import (
	"context"
	"encoding/csv"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"cudacompat/internal/tables"
	"cudacompat/matrix/verdict"
	"cudacompat/probe"
)

// pairTests are packages beside a torch, with what is true of them: read from the wheels, their own checks at import, or
// the thread that reported the failure. "fits" is a package of which every key was compared or is exempt.
var pairTests = []struct {
	name, torch, beside string
	target              Target
	want                string // "fits", "error", "warning", "unknown"
}{
	// The table of issue 53.
	{"what uv installs today", "torch==2.14.1+cu126", "torchvision==0.29.2", l4, "error"},
	{"its own", "torch==2.14.1+cu126", "torchvision==0.29.1+cu126", l4, "fits"},
	{"the index's, with the index's", "torch==2.15.0", "torchvision==0.29.2", l4, "fits"},
	{"stable: an older release with a newer torch", "torch==2.15.0", "torchvision==0.29.1", l4, "fits"},
	{"stable: not beside an older torch", "torch==2.13.0", "torchvision==0.29.1", l4, "error"},
	{"torchaudio for CUDA 13.2", "torch==2.11.0+cu128", "torchaudio==2.11.1", l4, "error"},
	{"torchaudio for CUDA 13.2", "torch==2.12.1+cu126", "torchaudio==2.11.1", l4, "error"},
	{"torchaudio for CUDA 13.2", "torch==2.14.1+cu126", "torchaudio==2.11.1", l4, "error"},
	{"which compares majors", "torch==2.15.0", "torchaudio==2.11.1", l4, "fits"},
	{"and its predecessor minors", "torch==2.15.0", "torchaudio==2.11.0", l4, "error"},
	{"of its own CUDA", "torch==2.14.1+cu126", "torchaudio==2.11.0+cu126", l4, "fits"},
	{"xformers needs libcudart.so.12", "torch==2.13.0", "xformers==0.0.35", l4, "error"},
	{"and finds it", "torch==2.10.0", "xformers==0.0.35", l4, "fits"},
	{"a companion without a tag is the index's", "torch==2.9.0+cu130", "torchvision==0.24.0", l4, "error"},
	{"which is cu128 on x86-64", "torch==2.9.0", "torchvision==0.24.0", l4, "fits"},
	{"and within the major", "torch==2.9.0+cu126", "torchvision==0.24.0", l4, "fits"},
	{"a CUDA companion beside a torch for CPUs", "torch==2.8.0+cpu", "torchvision==0.23.0", Target{Driver: "595.91.07"}, "error"},
	{"and its own", "torch==2.8.0+cpu", "torchvision==0.23.0+cpu", Target{Driver: "595.91.07"}, "fits"},
	{"a companion for CPUs beside CUDA", "torch==2.8.0", "torchvision==0.23.0+cpu", l4, "warning"},
	{"the new ABI beside the old", "torch==2.5.1", flashAttn("2.8.3", "2.5", "TRUE", "311"), a100, "error"},
	{"the old beside the old", "torch==2.5.1", flashAttn("2.8.3", "2.5", "FALSE", "311"), a100, "fits"},
	{"the old beside the new", "torch==2.7.1", flashAttn("2.8.3", "2.7", "FALSE", "311"), a100, "error"},
	{"the new beside the new", "torch==2.7.1", flashAttn("2.8.3", "2.7", "TRUE", "311"), a100, "fits"},
	{"the old beside cu128", "torch==2.8.0+cu128", flashAttn("2.8.3", "2.8", "FALSE", "311"), a100, "error"},
	{"the new beside cu128", "torch==2.8.0+cu128", flashAttn("2.8.3", "2.8", "TRUE", "311"), a100, "fits"},
	{"cu126 of 2.6.0 is new", "torch==2.6.0+cu126", flashAttn("2.8.3", "2.6", "TRUE", "311"), a100, "fits"},
	{"cu126 of 2.6.0 is new", "torch==2.6.0+cu126", flashAttn("2.8.3", "2.6", "FALSE", "311"), a100, "error"},
	{"cu124 of 2.6.0 is old", "torch==2.6.0+cu124", flashAttn("2.8.3", "2.6", "FALSE", "311"), a100, "fits"},
	{"a wheel for another torch", "torch==2.7.1", flashAttn("2.8.3", "2.8", "TRUE", "311"), a100, "error"},
	{"a wheel for another Python", "torch==2.8.0", flashAttn("2.8.3", "2.8", "TRUE", "310"),
		Target{Driver: "570.133.20", GPUs: []string{"A100"}, Python: "3.12"}, "error"},
	{"and for this one", "torch==2.8.0", flashAttn("2.8.3", "2.8", "TRUE", "312"),
		Target{Driver: "570.133.20", GPUs: []string{"A100"}, Python: "3.12"}, "fits"},
	{"a wheel for Windows on g5", "torch==2.8.0",
		"https://x.example/flash_attn-2.8.3+cu12torch2.8cxx11abiTRUE-cp312-cp312-win_amd64.whl",
		Target{Driver: "570.133.20", Instance: "g5.xlarge"}, "error"},
	{"sgl-kernel needs libcudart.so.12", "torch==2.9.1+cu130", "sgl-kernel==0.3.21", h100, "error"},
	{"and finds it", "torch==2.9.1", "sgl-kernel==0.3.21", h100, "fits"},
	{"the new name", "torch==2.9.1", "sglang-kernel==0.4.2", h100, "error"},
	{"torchvision of PyPI for aarch64 is for CPUs", "torch==2.9.0+cu130", "torchvision==0.24.0", Target{Driver: "580.95.05", GPUs: []string{"GH200"}}, "warning"},
	// Healthy pairs that a naive rule would call broken.
	{"a range of torchcodec", "torch==2.9.1", "torchcodec==0.8.0", l4, "fits"},
	{"torchaudio for CPUs of its day", "torch==2.8.0+cpu", "torchaudio==2.8.0+cpu", Target{Driver: "595.91.07"}, "fits"},
	{"an engine with its torch", "torch==2.9.1", "vllm==0.16.0", Target{Driver: "595.91.07"}, "fits"},
	{"an engine with another", "torch==2.8.0", "vllm==0.16.0", Target{Driver: "595.91.07"}, "error"},
	{"bitsandbytes falls back within the major", "torch==2.9.0+cu130", "bitsandbytes==0.50.2", Target{Driver: "595.91.07"}, "fits"},
	{"bitsandbytes without a library for torch's CUDA", "torch==2.9.0+cu126", "bitsandbytes==0.44.0", Target{Driver: "595.91.07"}, "warning"},
	{"Triton of its torch", "torch==2.9.1", "triton==3.5.1", Target{Driver: "595.91.07"}, "fits"},
	{"Triton of another", "torch==2.9.1", "triton==3.2.0", Target{Driver: "595.91.07"}, "warning"},
}

var (
	l4   = Target{Driver: "595.91.07", GPUs: []string{"L4"}}
	a100 = Target{Driver: "570.133.20", GPUs: []string{"A100"}, Python: "3.11"}
	h100 = Target{Driver: "580.95.05", GPUs: []string{"H100"}}
)

// flashAttn returns the address of a wheel on the page of flash-attention's releases.
func flashAttn(release, torch, abi, python string) string {
	return fmt.Sprintf("https://github.com/Dao-AILab/flash-attention/releases/download/v%s/flash_attn-%s+cu12torch%scxx11abi%s-cp%s-cp%s-linux_x86_64.whl",
		release, release, torch, abi, python, python)
}

// TestPairs judges each pair as a file names it.
func TestPairs(t *testing.T) {
	for _, c := range pairTests {
		t.Run(c.name+" "+c.torch+" "+c.beside[strings.LastIndexByte(c.beside, '/')+1:], func(t *testing.T) {
			v := checkText(t, c.torch+"\n"+c.beside+"\n", c.target)
			if got := pairAnswer(v, nameIn(c.beside)); got != c.want {
				t.Errorf("%s, want %s:\n%s", got, c.want, summary(v, everyRule))
			}
		})
	}
}

func checkText(t *testing.T, text string, target Target) verdict.Verdict {
	t.Helper()
	node, err := probe.GivenFile(probe.Document{Name: "requirements.txt", Data: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	return Check(context.Background(), Embedded(), node, []Target{target}, verdict.Policy{})
}

// nameIn returns the package of a line of a requirements file.
func nameIn(line string) string {
	line = line[strings.LastIndexByte(line, '/')+1:]
	name, _, _ := strings.Cut(line, "==")
	name, _, _ = strings.Cut(name, "-2")
	return strings.ReplaceAll(name, "_", "-")
}

// pairAnswer returns what a verdict says of a package beside torch, by the rules that compare them.
func pairAnswer(v verdict.Verdict, name string) string {
	of := func(rule, subject string) bool {
		return (rule == "companion-mismatch" || rule == "extension-mismatch") && (strings.HasPrefix(subject, name+" ") || name == "triton")
	}
	answer := ""
	for _, f := range v.Findings {
		if of(f.Rule, f.Subject) && f.Severity == verdict.Error {
			return "error"
		} else if of(f.Rule, f.Subject) && f.Severity == verdict.Warning {
			answer = "warning"
		}
	}
	for _, u := range v.Unknown {
		if of(u.Rule, u.Subject) && answer == "" {
			answer = "unknown"
		}
	}
	for _, p := range v.Passed {
		if of(p.Rule, p.Subject) && answer == "" {
			answer = "fits"
		}
	}
	return answer
}

// TestWheels holds the relation against 80 pairs whose wheels were read: by DT_NEEDED, by undefined symbols, and by the
// package's own check at import. None that cannot be imported fits, and at most three that the wheels decide are unknown.
func TestWheels(t *testing.T) {
	data, err := os.ReadFile("testdata/wheels.csv")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(string(data))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	unknown := 0
	for _, row := range rows[1:] {
		name, pair := row[0], fmt.Sprintf("torch==%s+%s\n%s==%s\n", row[2], row[3], row[0], row[1])
		switch got := pairAnswer(checkText(t, pair, Target{Driver: "595.91.07"}), name); {
		case row[4] == "no" && got == "fits", row[4] == "yes" && (got == "error" || got == ""):
			t.Errorf("%s %s beside torch %s+%s: %q; loads: %s %s", name, row[1], row[2], row[3], got, row[4], row[5])
		case got == "unknown", got == "warning":
			unknown++
		}
	}
	if unknown > 3 {
		t.Errorf("%d pairs that the wheels decide are unknown", unknown)
	}
}

// TestTritonOfAarch64: no row names the Triton that torch 2.9.0 brings on aarch64; that of x86-64 is too old for GB10. An
// empty cell is not known.
func TestTritonOfAarch64(t *testing.T) {
	for text, want := range map[string]string{"torch==2.9.0+cu130\n": "unknown", "torch==2.9.0+cu130\ntriton==3.5.0\n": "warning",
		"torch==2.9.0+cu130\ntriton==3.6.0\n": ""} {
		v := checkText(t, text, Target{Driver: "580.95.05", GPUs: []string{"GB10"}})
		got := ""
		for _, u := range v.Unknown {
			if u.Rule == "jit-too-old-for-gpu" {
				got = "unknown"
			}
		}
		for _, f := range v.Findings {
			if f.Rule == "jit-too-old-for-gpu" {
				got = string(f.Severity)
			}
		}
		if got != want {
			t.Errorf("%q: %q, want %q:\n%s", text, got, want, summary(v, everyRule))
		}
	}
}

// TestToBeCompiled: of a release that the package index has as a source alone, a file and a plan say that it will be compiled,
// and do not call it fitting. A list says what is there: it was compiled for its torch.
func TestToBeCompiled(t *testing.T) {
	for text, want := range map[string]bool{
		"torch==2.8.0\nflash-attn==2.8.3.post2\n":                                 true,
		"torch==2.8.0\nflash-attn==2.8.3\n":                                       true, // its wheels are on the page of its releases
		"torch==2.8.0\ntorch-scatter==2.1.2\n":                                    true,
		"torch==2.8.0\n" + flashAttn("2.8.3", "2.8", "TRUE", "312") + "\n":        false,
		"torch==2.8.0\ndeepspeed==0.18.4\n":                                       false, // when it is used
		"torch==2.9.1\nxformers==0.0.33.post2\n":                                  false,
		"Package Version\n------- -------\nflash-attn 2.8.3.post2\ntorch 2.8.0\n": false,
		"Package Version\n------- -------\ntorch 2.8.0\ntorch-scatter 2.1.2\n":    false,
	} {
		v := checkText(t, text, Target{Driver: "595.91.07", GPUs: []string{"A100"}, Python: "3.12"})
		got := slices.ContainsFunc(v.Unknown, func(u verdict.Missing) bool {
			return strings.Contains(fmt.Sprint(u), "it is compiled when it is installed")
		})
		if fits := pairAnswer(v, nameIn(strings.Split(strings.TrimSpace(text), "\n")[1])); got != want || want && fits != "" {
			t.Errorf("%q: %t, %q:\n%s", text, got, fits, summary(v, everyRule))
		}
	}
}

// TestTraitsOfRenamedPackages holds that a package has the same traits under its old name and its new one, and rows under both:
// its old releases are still installed.
func TestTraitsOfRenamedPackages(t *testing.T) {
	traits := func(name string) (list []string) {
		for _, r := range tables.Rows[tables.Trait](Embedded()) {
			if r.Package == name {
				list = append(list, fmt.Sprint(r.Trait, " ", r.Releases))
			}
		}
		return list
	}
	for was, is := range map[string]string{"sgl-kernel": "sglang-kernel"} { // sglang renamed its kernels with 0.4
		if !slices.Equal(traits(was), traits(is)) || len(traits(is)) == 0 {
			t.Errorf("%s: %q, %s: %q", was, traits(was), is, traits(is))
		}
		for _, name := range []string{was, is} {
			if len(tables.RowsOf[tables.Extension](Embedded(), name)) == 0 {
				t.Errorf("%s has no rows", name)
			}
		}
	}
}
