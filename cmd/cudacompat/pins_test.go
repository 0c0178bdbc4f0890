package main

import (
	"encoding/json"
	"strings"
	"testing"

	"cudacompat/matrix/pin"
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
