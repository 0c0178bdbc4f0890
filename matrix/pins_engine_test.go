package matrix

import (
	"context"
	"slices"
	"strings"
	"testing"

	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/verdict"
	"cudacompat/probe"
	"cudacompat/probe/facts"
)

// TestEnginePinsRun puts each engine's newest release on drivers that are too old for it, applies the pin, and checks
// again: engine and torch must run and fit. (That each set resolves on the package index was checked by hand.)
func TestEnginePinsRun(t *testing.T) {
	known := Embedded()
	pinned := 0
	for _, name := range []string{"vllm", "sglang", "aphrodite-engine"} {
		rows := pins.EngineRows(model.NewMachine(known, &facts.Facts{}, Target{}, verdict.Policy{}), name)
		newest := rows[len(rows)-1].Release
		for _, driver := range []string{"535.183.01", "550.90.07", "570.86.15"} {
			for _, gpu := range []string{"T4", "A100", "L4", "H100"} {
				pin := enginePinOf(t, known, name+"=="+newest, driver, gpu)
				if pin == nil {
					t.Errorf("%s %s on %s with %s has no pin", name, newest, driver, gpu)
					continue
				}
				pinned++
				_, install, _ := strings.Cut(pin.Commands["pip"], "pip install ")
				again := strings.ReplaceAll(install, " ", "\n") + "\n"
				if v := fileOn(t, known, again, driver, gpu); v.Outcome != verdict.Compatible {
					t.Errorf("%s on %s with %s: %s: %s\n%s", name, driver, gpu, install, v.Outcome, summary(v, everyRule))
				}
			}
		}
	}
	if pinned == 0 {
		t.Error("nothing was pinned")
	}
}

// TestPinsBesideEngines checks that no pin names torch by itself if a file also names a package that requires one
// torch.
func TestPinsBesideEngines(t *testing.T) {
	known := Embedded()
	for _, c := range []struct{ text, driver, want string }{
		{"torch-tensorrt==2.14.0\ntorch==2.14.0\n", "550.90.07", "torch-tensorrt"},
		{"sglang-kernel==0.4.10\ntorch==2.14.1\n", "550.90.07", "sglang-kernel"},
		{"sglang==0.5.23\nsglang-kernel==0.4.10\ntorch==2.14.1\n", "550.90.07", "sglang"},
	} {
		v := fileOn(t, known, c.text, c.driver, "L4")
		i := slices.IndexFunc(v.Findings, func(f verdict.Finding) bool { return f.Severity == verdict.Error && len(f.Pins) > 0 })
		if i < 0 || v.Findings[i].Pins[0].Package != c.want {
			t.Errorf("%q: want a pin of %s:\n%s", c.text, c.want, summary(v, everyRule))
		}
	}
}

// enginePinOf returns the pin for an engine whose driver is too old, or nil.
func enginePinOf(t *testing.T, known *Tables, line, driver, gpu string) *verdict.Pin {
	t.Helper()
	v := fileOn(t, known, line+"\n", driver, gpu)
	name, _, _ := strings.Cut(line, "==")
	for _, f := range v.Findings {
		if f.Rule != "driver-too-old" {
			continue
		}
		if i := slices.IndexFunc(f.Pins, func(p verdict.Pin) bool { return p.Package == name }); i >= 0 {
			return &f.Pins[i]
		}
	}
	return nil
}

// fileOn judges the text of a requirements file.
func fileOn(t *testing.T, known *Tables, text, driver, gpu string) verdict.Verdict {
	t.Helper()
	node, err := probe.GivenFile(probe.Document{Name: "requirements.txt", Data: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	return Check(context.Background(), known, node, []Target{{Driver: driver, GPUs: []string{gpu}}}, verdict.Policy{})
}
