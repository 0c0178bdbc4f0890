package main

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"cudacompat/internal/offer"
	"cudacompat/matrix"
	"cudacompat/matrix/pin"
	"cudacompat/probe"
	"cudacompat/probe/facts"
)

func TestPinsCommand(t *testing.T) {
	p5 := []string{"pins", "--instance", "p5.48xlarge", "--driver", "535.183.01", "--python", "3.12", "--want",
		"torch==2.9.0"}
	for _, c := range []struct {
		name      string
		args      []string
		code      int
		out, errs string
	}{
		{"text", p5, 0, "keep-driver: torch 2.9.0+cu126 (runs on driver 535.183.01)\n", ""},
		{"nearest", []string{"pins", "--gpu", "T4", "--driver", "470.239.06", "--want", "torch==2.9"}, 0,
			"keep-driver: torch 2.7.1+cu118", ""},
		{"requirements", append(p5, "-o", "requirements"), 0,
			"\n--index-url https://download.pytorch.org/whl/cu126\ntorch==2.9.0+cu126\ntorchvision==0.24.0+cu126\ntorchaudio==2.9.0+cu126\ntriton==3.5.0\n", ""},
		{"constraints", append(p5, "-o", "constraints", "--choice", "newest"), 0,
			"# needs driver 620.70.06\n# with --index-url https://download.pytorch.org/whl/cu132\ntorch==2.15.0+cu132\n", ""},
		{"jax-constraint-has-no-extra", []string{"pins", "--gpu", "L4", "--driver", "535.183.01", "--want",
			"jax==0.6.2", "-o", "constraints"}, 0, "\njax==0.6.2\n", ""},
		{"driver-words", append(p5, "--choice", "newest"), 0,
			"           sudo sh ./NVIDIA-Linux-x86_64-620.70.06.run\n", ""},
		{"no-set", []string{"pins", "--gpu", "B200", "--driver", "535.183.01", "--want", "tensorflow"}, 1,
			"newest: none: no TensorFlow wheel", ""},
		{"no-set-no-file", []string{"pins", "--gpu", "B200", "--driver", "535.183.01", "--want", "tensorflow", "-o",
			"requirements"}, 1, "newest: none:", ""},
		{"no-gpu", []string{"pins", "--root", t.TempDir(), "--driver", "535.183.01"}, 3, "", "no GPU is here"},
		{"no-package", []string{"pins", "--want", "tensrflow"}, 64, "", "did you mean tensorflow?"},
		{"no-release", []string{"pins", "--want", "torch==new"}, 64, "", "--want torch==new does not name a package with its releases"},
		{"twice", []string{"pins", "--want", "vllm", "--want", "VLLM==0.11.0"}, 64, "", "--want names vllm twice"},
		{"choice-of-one", []string{"pins", "--want", "vllm", "--want", "accelerate", "--choice", "newest"}, 64, "", "--choice is for the sets of one framework or engine"},
		{"without-flag", []string{"pins", "vllm"}, 64, "", "cudacompat pins --want vllm"},
		{"no-choice", []string{"pins", "--choice", "keepdriver"}, 64, "", "did you mean keep-driver?"},
		{"no-instance", []string{"pins", "--instance", "p5.48xlrge"}, 64, "", "did you mean p5.48xlarge?"},
		{"no-driver", []string{"pins", "--gpu", "L4", "--driver", "newest"}, 64, "", "is not a driver version"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := runs(t, "", c.args...)
			if got.code != c.code || !strings.Contains(got.out, c.out) || !strings.Contains(got.err, c.errs) {
				t.Errorf("exit %d, want %d; stdout must have %q, stderr %q:\n%s%s", got.code, c.code, c.out, c.errs, got.out,
					got.err)
			}
		})
	}
}

// TestPinsElsewhere works sets out for another machine, on two machines that have the same environment and nothing else
// in common, and wants the same sets, without a word of either machine.
func TestPinsElsewhere(t *testing.T) {
	machine := func(kernel, id, os, libc string) probe.Facts {
		f := probe.Facts{Environments: []facts.Environment{{Path: "/opt/v", Kind: "venv", Python: "3.11.7", Active: true}}}
		f.System = facts.System{Kernel: kernel, ID: id, OS: os, Libc: libc, Arch: "x86_64", Container: "docker"}
		f.Driver.Modules = []facts.Module{{Kernel: kernel, Version: "390.157", Path: "/lib/modules/nvidia.ko"}}
		return f
	}
	var first string
	for _, f := range []probe.Facts{machine("6.8.0-1021-aws", "ubuntu", "Ubuntu 24.04.3 LTS", "2.39"),
		machine("4.18.0-553.el8", "rhel", "Red Hat Enterprise Linux 8.10", "2.17")} {
		sets := offer.Sets(context.Background(), matrix.Embedded(), environmentsOf(f), matrix.Target{GPUs: []string{"L4"}, Driver: "535.183.01"},
			[]pin.Want{{Package: "torch"}})
		data, _ := json.Marshal(sets)
		got := string(data)
		if first = cmp.Or(first, got); got != first {
			t.Errorf("the sets for an L4 depend on the machine that works them out:\n%s\n%s", first, got)
		}
		for _, word := range []string{f.System.Kernel, f.System.Libc, "linux-headers", "390.157"} {
			if strings.Contains(got, word) {
				t.Errorf("the sets name %s of this machine: %s", word, got)
			}
		}
		if sets.Target.Python != "3.11" || len(sets.Sets) != 4 || !strings.Contains(sets.Sets[0].Commands["pip"], "/opt/v/bin/python") {
			t.Errorf("the environment that --env names is lost: %s", got)
		}
	}
}

// TestPinsAssume wants every format to say what nobody told, and only that.
func TestPinsAssume(t *testing.T) {
	l4 := []string{"pins", "--gpu", "L4", "--driver", "535.183.01"}
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"text", l4, "\nassumes Python 3.12 (--python changes it) and linux_x86_64 (--platform changes it)\n"},
		{"requirements", append(l4, "-o", "requirements"), "\n# assumes Python 3.12 (--python changes it) and linux_x86_64"},
		{"constraints", append(l4, "-o", "constraints"), "\n# assumes Python 3.12 (--python changes it) and linux_x86_64"},
		{"json", append(l4, "-o", "json"), `"Python 3.12 (--python changes it)"`},
		{"python-told", append(l4, "--python", "3.11"), "\nassumes linux_x86_64 (--platform changes it)\n"},
		{"all-told", append(l4, "--python", "3.11", "--platform", "linux"), "linux_x86_64\nChoose one set"},
		{"older-release", append(l4, "--want", "torch==1.8.1"), "\nassumes Python 3.9 (--python changes it)"},
		{"older-choice", []string{"pins", "--gpu", "V100", "--driver", "418.226.00"},
			"keep-driver: torch 1.8.1+cu101 (runs on driver 418.226.00; for Python 3.9, since nothing for 3.12 does)\n"},
		{"older-file", []string{"pins", "--gpu", "V100", "--driver", "418.226.00", "-o", "requirements"}, "V100 (7.0), Python 3.9, linux"},
		{"made-for-one-python", append(l4, "--want", "flash-attn"), "cp312-cp312-linux_x86_64.whl"},
		{"newest-for-this-python", append(l4, "--python", "3.8"), "(the newest release of torch for Python 3.8, on"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := runs(t, "", c.args...); got.code != 0 || !strings.Contains(got.out, c.want) {
				t.Errorf("exit %d; no %q in\n%s%s", got.code, c.want, got.out, got.err)
			}
		})
	}
}

// TestPinsJSON holds the contract's names, and that no list is null.
func TestPinsJSON(t *testing.T) {
	got := runs(t, "", "pins", "--gpu", "L4", "--driver", "535.183.01", "-o", "json")
	if strings.Contains(got.out, "null") {
		t.Errorf("a null in\n%s", got.out)
	}
	var pins pin.Sets
	d := json.NewDecoder(strings.NewReader(got.out))
	d.DisallowUnknownFields()
	if err := d.Decode(&pins); err != nil {
		t.Fatal(err)
	}
	if pins.Schema != "cudacompat/pins/v1" || len(pins.Sets) != 4 { // forward-compat: L4 is a data-centre GPU
		t.Fatalf("schema %q with %d sets", pins.Schema, len(pins.Sets))
	}
	for _, name := range []string{`"target"`, `"choice": "smallest-driver"`, `"packages"`, `"package"`, `"version"`,
		`"commands"`, `"why"`, `"source"`} {
		if !strings.Contains(got.out, name) {
			t.Errorf("no %s in the JSON", name)
		}
	}
}
