package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cudacompat/examples"
)

// readExample returns an embedded file.
func readExample(t *testing.T, name string) string {
	t.Helper()
	data, err := examples.FS.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// asCommand runs the command for a paste as it would be typed, with the paste on standard input or, if two are
// compared, as files.
func asCommand(t *testing.T, p paste, command []string) (code int, out, says string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = runWithin(t.Context(), append(slices.Clone(command), "-o", "json"), streams{strings.NewReader(p.Text), &stdout, &stderr})
	return code, stdout.String(), stderr.String()
}

// withoutRun returns a report's JSON without the time of its run.
func withoutRun(t *testing.T, document string) string {
	t.Helper()
	if document == "" {
		return ""
	}
	var d map[string]any
	if err := json.Unmarshal([]byte(document), &d); err != nil {
		t.Fatal(err)
	}
	if tool, ok := d["tool"].(map[string]any); ok {
		delete(tool, "run")
	}
	data, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestPaste checks which command runs for a text, and that its output equals the command line's.
func TestPaste(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	log := "step 1\nTraceback (most recent call last):\n  File \"x.py\", line 3\nRuntimeError: CUDA error: no kernel image is available for execution on the device\n"
	facts := readExample(t, "facts/p100-cu130.json")
	var line bytes.Buffer
	if err := json.Compact(&line, []byte(facts)); err != nil {
		t.Fatal(err)
	}
	node := `{"node":"n1","facts":` + line.String() + "}\n"
	_, report, _ := asCommand(t, paste{Text: readExample(t, "collect_env/broken.txt")}, []string{"check", "-"})
	for _, c := range []struct {
		name, command string
		p             paste
		code          int
		has           string
	}{
		{"report", "check -", paste{Text: readExample(t, "collect_env/broken.txt")}, exitIncompatible, `"driver-too-old"`},
		{"thread", "check -", paste{Text: readExample(t, "collect_env/broken.txt") + "\n" + log}, exitIncompatible, `"log": {`},
		{"list", "check - --driver 535.183.01 --gpu L4", paste{Text: "torch==2.9.0\nvllm==0.11.0\n", Driver: "535.183.01", GPU: "L4"}, exitIncompatible, `"extension-mismatch"`},
		{"machines", "check - --gpu P100,L4 --python 3.12 --platform linux", paste{Text: "torch==2.9.0\n", GPU: "P100,L4", Python: "3.12", Platform: "linux"}, exitIncompatible, `"P100"`},
		{"facts", "check -", paste{Text: facts}, exitIncompatible, `"gpu-arch-missing"`},
		{"doctor's JSON", "check -", paste{Text: report}, exitIncompatible, `"driver-too-old"`},
		{"log", "explain - --no-here", paste{Text: log}, exitIncompatible, `"gpu-arch-missing"`},
		{"long log", "explain - --no-here", paste{Text: strings.Repeat("[rank0] step\n", 20_001) + log}, exitIncompatible, `"gpu-arch-missing"`},
		{"long list", "check -", paste{Text: strings.Repeat("package==1\n", 20_001)}, exitUsage, ""},
		{"nothing", "explain - --no-here", paste{Text: "hello\n"}, exitInconclusive, `"nothing-found"`},
		{"empty", "explain - --no-here", paste{}, exitInconclusive, `"blame": "unknown"`},
		{"node", "fleet -", paste{Text: node}, exitIncompatible, `"node": "n1"`},
		{"nodes", "fleet -", paste{Text: node + strings.ReplaceAll(node, "n1", "n2")}, exitIncompatible, `"node": "n2"`},
		{"change", "requires new --diff old --gpu V100", paste{Text: "torch==2.14.1\n", Old: "torch==2.9.0\n", Compare: true, GPU: "V100"}, exitIncompatible, `"kind": "lost"`},
		{"unknown-gpu", "check - --gpu L44", paste{Text: "torch==2.9.0\n", GPU: "L44"}, exitUsage, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, text := range map[string]string{newName: c.p.Text, oldName: c.p.Old} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got := judgePaste(t.Context(), c.p)
			if words := strings.Join(got.Command, " "); words != c.command || got.Code != c.code || !strings.Contains(string(got.Document), c.has) {
				t.Errorf("%s: %d: %.300s, want %s: %d: %s", words, got.Code, got.Document, c.command, c.code, c.has)
			}
			code, out, says := asCommand(t, c.p, got.Command)
			if code != got.Code || withoutRun(t, out) != withoutRun(t, string(got.Document)) {
				t.Errorf("%d: %s\nthe command line: %d: %s", got.Code, got.Document, code, out)
			}
			if says := strings.TrimSpace(strings.ReplaceAll(says, "cudacompat: ", "")); says != got.Error {
				t.Errorf("%q, the command line: %q", got.Error, says)
			}
		})
	}
}

// TestPasteTooLong checks that a text that is too long gets one sentence and no judgement.
func TestPasteTooLong(t *testing.T) {
	got := judgePaste(t.Context(), paste{Text: strings.Repeat("torch==2.9.0\n", 170_000)})
	if want := "the text has 2.2 MB, and a page judges up to 2 MB; the program reads more."; got.Error != want || got.Document != nil || got.Code != exitUsage {
		t.Errorf("%d %q %.100s, want %q", got.Code, got.Error, got.Document, want)
	}
}
