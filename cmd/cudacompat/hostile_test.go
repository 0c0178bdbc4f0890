package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cudacompat/probe/facts"
)

// TestDialectsHoldNoInput checks that formats for schedulers, installers and shells contain only text of tables and
// numbers, and nothing from the input. make test takes every other one.
func TestDialectsHoldNoInput(t *testing.T) {
	file := filepath.Join(t.TempDir(), "facts.json")
	said := 0
	for n, text := range []string{"", "$(zx)", ";zx", "\nzx=1", "\"zx", "'zx", " zx", ",zx", "`zx`", "#zx", "]zx"} {
		for i, field := range []string{"version", "cuda"} {
			if !wholeGrid && (n+i)%2 != 0 {
				continue
			}
			b := map[string]string{"version": "2.9.0+cu130", "cuda": "13.0"}
			b[field] += text
			f := facts.Facts{System: facts.System{Arch: "x86_64"}, Environments: []facts.Environment{{Path: "/opt/venv" + text,
				Python: "3.12", Active: true, Builds: []facts.Build{{Name: "torch", Version: b["version"], CUDA: b["cuda"],
					SASS: []string{"sm_90" + text, "sm_75"}, Path: "/opt/venv/torch" + text, Accelerator: "cuda", Origin: "wheel"}}}}}
			f.Complete()
			data, _ := json.Marshal(f)
			if err := os.WriteFile(file, data, 0o644); err != nil {
				t.Fatal(err)
			}
			var out, errs strings.Builder
			run([]string{"requires", file, "-o", "env", "-o", "nvidia-require", "-o", "cel", "-o", "nodeaffinity"},
				streams{strings.NewReader(""), &out, &errs})
			for line := range strings.Lines(out.String()) {
				if comment := strings.HasPrefix(line, "#") || strings.HasPrefix(line, "//"); !comment && strings.Contains(line, "zx") {
					t.Errorf("%s %q: %s", field, b[field], line)
				}
				said++
			}
		}
	}
	if said < 50 {
		t.Errorf("%d lines", said)
	}
}
