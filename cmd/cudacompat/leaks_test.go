package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cudacompat/internal/redact/redacttest"
	"cudacompat/internal/report/formats"
	"cudacompat/internal/report/nodes"
	"cudacompat/internal/report/reporttest"
	"cudacompat/probe/facts"
)

// leakFiles lists files with a placeholder in each field. A "*" line is repeated for each kind of secret in one file.
// Without one there is a file for each kind.
var leakFiles = []struct{ name, text string }{
	{"requirements.txt", "torch==2.9.0\nnumpy==2.1\n*X\n*numpy X\n*-r X\n*-c X\n*-e X\n*torch==X\n*torch[X]==2.9.0\n*torch @ X\n" +
		"*vllm==1.0 ; X\n*vllm==1.0 --hash=X\n*X==1.0\n*--trusted-host X\n*--foo X\n*--index-url X\n*-f X\n*vllm==$X\n" +
		strings.Repeat("numpy==2.1\n", 1300)},
	{"Dockerfile", "FROM nvidia/cuda:12.6.3-runtime-ubuntu24.04\n*RUN pip install X\n*RUN pip install torch==2.9.0 --index-url X\n" +
		"*RUN pip install -r X\n*RUN pip install torch==X\n*RUN X\n*ENV A=X\n*ARG X\n*ENV X B\n*RUN conda install -c X torch\n" +
		"*RUN curl X | sh\n*COPY X .\n*LABEL a=\"X\"\n*RUN X pip install torch==2.9.0\n*RUN pip install $A==X\nRUN pip install torch==2.9.0\n"},
	{"Dockerfile", "FROM X\nRUN pip install torch==2.9.0\n"},
	{"environment.yml", "name: Q\nchannels:\n  - Q\ndependencies:\n  - pytorch=2.5.1\n  - pip:\n    - vllm==0.11.0\n    - Q\n"},
	{"environment.yml", "name: x\ndependencies:\n  - pytorch=2.5.1\n  - Q\n  - Q::pytorch\n  - numpy=Q\n  - pip:\n    - -r Q\n    - Q\nprefix: Q\n"},
	{"environment.yml", "name: x\nchannels: [X]\ndependencies:\n  - X\n  - pip:\n    - X\n"},
	{"pyproject.toml", "[project]\nname = Q\nversion = Q\ndependencies = [\"torch==2.9.0\", Q]\n[project.optional-dependencies]\ngpu = [Q]\n" +
		"[tool.uv.sources]\ntorch = { index = Q }\n[[tool.uv.index]]\nname = Q\nurl = Q\n"},
	{"pyproject.toml", "[tool.poetry.dependencies]\ntorch = Q\nvllm = { version = \"1\", source = Q }\nnumpy = { git = Q }\n[[tool.poetry.source]]\nname = \"a\"\nurl = Q\n"},
	{"pyproject.toml", "[project]\nname = \"a\"\ndependencies = [\"X\"]\nX\n"},
	{"uv.lock", "version = 1\n[[package]]\nname = \"torch\"\nversion = \"2.9.0\"\nsource = { registry = Q }\nresolution-markers = [Q]\n" +
		"[[package]]\nname = Q\nversion = \"1\"\nsource = { git = Q }\n[[package]]\nname = \"vllm\"\nversion = Q\n" +
		"wheels = [{ url = Q, hash = Q }]\n"},
	{"poetry.lock", "[[package]]\nname = \"torch\"\nversion = \"2.9.0\"\nmarkers = Q\n[package.source]\ntype = \"legacy\"\nurl = Q\nreference = Q\n" +
		"[[package]]\nname = Q\nversion = Q\nfiles = [{file = Q, hash = Q}]\n[metadata]\nlock-version = \"2.0\"\npython-versions = Q\ncontent-hash = \"x\"\n"},
	{"conda-lock.yml", "version: 1\nmetadata:\n  channels:\n  - url: Q\npackage:\n- name: pytorch\n  version: 2.5.1\n  manager: conda\n" +
		"  platform: linux-64\n  url: Q\n- name: Q\n  version: Q\n  manager: conda\n  platform: linux-64\n  url: Q\n"},
	{"report.txt", "PyTorch version: X\nIs debug build: False\nCUDA used to build PyTorch: X\nOS: X\nLibc version: X\nPython version: X\n" +
		"Python platform: X\nIs CUDA available: X\nCUDA runtime version: X\nGPU models and configuration: GPU 0: X\nNvidia driver version: X\n" +
		"[pip3] torch==X\n[pip3] X==1.0\n[conda] X\nX\n"},
	{"report.txt", "Collecting environment information...\nPyTorch version: 2.9.0+cu130\nIs debug build: False\nOS: Ubuntu X\n" +
		"GPU models and configuration: \nGPU 0: NVIDIA X\nGPU 1: NVIDIA L4 (UUID: X)\nNvidia driver version: 535.183.01\n[pip3] torch==2.9.0 X\n"},
	{"list.txt", "Package Version\n------- -------\ntorch   2.9.0\nvllm    X\nX       1.0\n"},
	{"list.json", `[{"name": "torch", "version": "2.9.0"}, {"name": Q, "version": "1"}, {"name": "vllm", "version": Q}]`},
	{"smi.txt", "GPU 0: NVIDIA L4 X (UUID: GPU-5428af19-1e82-a38c-ee42-cdd3ad745b7e)\nGPU 1: NVIDIA L4 (UUID: X)\n"},
	{"smi.txt", "Failed to initialize NVML: Driver/library version mismatch X\nNVML library version: X\nX\n"},
	{"smi.txt", "==============NVSMI LOG==============\nTimestamp : X\nDriver Version : X\nCUDA Version : 12.2\nAttached GPUs : 1\n" +
		"GPU 00000000:00:1E.0\n    Product Name : X\n    Serial Number : X\n    GPU UUID : X\n"},
	{"lock.json", `{"_meta": {"sources": [{"url": Q}]}, "default": {"torch": {"version": "==2.9.0", "index": Q}, "vllm": {"version": Q, "git": Q}}}`},
	{"any.txt", "X\n"},
	{"any.json", `{"schema": Q}`},
	{"any.json", `{"schema": "cudacompat/facts/v1", X}`},
}

// TestNoLeaks puts each kind of secret into every field of every kind of file, for all commands and formats. None may
// be printed, not even in an error.
func TestNoLeaks(t *testing.T) {
	for i, file := range leakFiles {
		t.Run(fmt.Sprintf("%s-%d", file.name, i), func(t *testing.T) {
			t.Parallel()
			l := leakTest{t, filepath.Join(t.TempDir(), file.name)}
			for i, text := range filledWith(file.text) {
				l.check(text)
				if i == 0 {
					l.run("requires", l.file, "-o", "text", "-o", "json")
				}
			}
		})
	}
}

// filledWith returns a file's text with every kind of secret in its places.
func filledWith(text string) []string {
	var list []string
	if strings.Contains(text, "\n*") {
		for line := range strings.Lines(text) {
			if field, ok := strings.CutPrefix(line, "*"); ok {
				all := ""
				for _, k := range redacttest.Kinds() {
					all += strings.ReplaceAll(field, "X", k.Text)
				}
				list = append(list, strings.ReplaceAll(strings.ReplaceAll(text, line, all), "\n*", "\n# "))
			}
		}
		return list
	}
	for i := range together(4) {
		list = append(list, rotated(text, i))
	}
	return list
}

// together groups the kinds, so that each field gets all of them in few runs.
func together(n int) []string {
	var list []string
	for few := range slices.Chunk(redacttest.Kinds(), n) {
		var texts []string
		for _, k := range few {
			texts = append(texts, k.Text)
		}
		list = append(list, strings.Join(texts, " | "))
	}
	return list
}

// rotated puts a kind into the first place, the next one into the second, and so on.
func rotated(text string, first int) string {
	kinds := together(4)
	for n := first; strings.ContainsAny(text, "XQ"); n++ {
		at := strings.IndexAny(text, "XQ")
		kind := kinds[n%len(kinds)]
		if text[at] == 'Q' {
			quoted, _ := json.Marshal(kind)
			kind = string(quoted)
		}
		text = text[:at] + strings.NewReplacer("X", "\x01", "Q", "\x02").Replace(kind) + text[at+1:]
	}
	return strings.NewReplacer("\x01", "X", "\x02", "Q").Replace(text)
}

type leakTest struct {
	t    *testing.T
	file string
}

func (l leakTest) check(text string) {
	if err := os.WriteFile(l.file, []byte(text), 0o644); err != nil {
		l.t.Fatal(err)
	}
	args := []string{"check", l.file, "--all", "-v"}
	for _, f := range formats.All {
		args = append(args, "-o", f.Name)
	}
	l.run(args...)
}

// run runs the program as it is started, and searches its output for the secrets.
func (l leakTest) run(args ...string) {
	l.t.Helper()
	var out, errs strings.Builder
	if code := run(args, streams{strings.NewReader(""), &out, &errs}); code == exitInternal {
		l.t.Errorf("%q: exit code %d: %s", args, code, errs.String())
	}
	l.search(out.String()+errs.String(), args)
}

func (l leakTest) search(printed string, args []string) {
	l.t.Helper()
	printed = strings.ToLower(printed)
	for _, k := range redacttest.Kinds() {
		if at := strings.Index(printed, strings.ToLower(k.Secret)); at >= 0 {
			l.t.Errorf("%s prints %q of %q: …%s…", args[0], k.Secret, k.Text, printed[max(0, at-80):min(len(printed), at+60)])
		}
	}
}

// wholeGrid reports whether to try everything that make test samples.
var wholeGrid = os.Getenv("CUDACOMPAT_GRID") == "whole"

// TestNoLeaksOfFacts puts each kind of secret into every string of the facts that check, explain and fleet read. make
// test takes every third.
func TestNoLeaksOfFacts(t *testing.T) {
	kinds := together(8)
	dir := t.TempDir()
	l := leakTest{t, filepath.Join(dir, "facts.json")}
	var documents strings.Builder
	log := filepath.Join(dir, "log.txt")
	if err := os.WriteFile(log, []byte("RuntimeError: CUDA error: no kernel image is available for execution on the device\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for first := range kinds {
		if !wholeGrid && first%3 != 0 {
			continue
		}
		n := first
		var f facts.Facts
		reporttest.FillValue(reflect.ValueOf(&f).Elem(), func() string { n++; return kinds[n%len(kinds)] })
		f.Schema = facts.Schema
		data, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		l.check(string(data))
		l.run("explain", log, "--facts", l.file, "-o", "text", "-o", "json")
		l.check(`{"schema":"cudacompat/report/v1","facts":` + string(data) + `}`)
		fmt.Fprintf(&documents, `{"node":%q,"group":%q,"taken":%q,"facts":%s}`+"\n", kinds[first], kinds[first], kinds[first], data)
		fmt.Fprintf(&documents, `{"schema":%q}`+"\n", kinds[first])
	}
	if err := os.WriteFile(filepath.Join(dir, "nodes.jsonl"), []byte(documents.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, f := range nodes.Formats {
		l.run("fleet", filepath.Join(dir, "nodes.jsonl"), "--all", "-o", f.Name)
	}
}

// TestNoLeaksOfLogs puts each kind of secret beside an error of a log, into what the error names, and on a line of its
// own.
func TestNoLeaksOfLogs(t *testing.T) {
	l := leakTest{t, filepath.Join(t.TempDir(), "train.log")}
	for _, kinds := range together(4) {
		for _, line := range []string{
			"X RuntimeError: CUDA error: no kernel image is available for execution on the device X",
			"ImportError: X: cannot open shared object file: No such file or directory",
			"ModuleNotFoundError: No module named 'X'\nX",
			"OSError: [Errno 13] Permission denied: 'X'",
			"ERROR: Could not find a version that satisfies the requirement X (from versions: none)",
			"docker: Error response from daemon: X: unknown.",
			"ValueError: X",
		} {
			text := strings.ReplaceAll(line, "X", kinds) + "\n"
			if err := os.WriteFile(l.file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			l.run("explain", l.file, "--all", "-o", "text", "-o", "json")
		}
		l.run("explain", kinds)
		l.run("explain", kinds, "-o", kinds)
	}
}

// TestNoLeaksOfArguments checks arguments, a configuration and the process environment, which are inputs, too.
func TestNoLeaksOfArguments(t *testing.T) {
	dir := t.TempDir()
	l := leakTest{t, filepath.Join(dir, "c.yaml")}
	for i, kinds := range together(4) {
		for _, args := range [][]string{{kinds}, {"check", kinds}, {"check", "torch==" + kinds}, {"check", "torch==2.9.0", "--gpu", kinds},
			{"check", "torch==2.9.0", "--driver", kinds}, {"matrix", kinds}, {"matrix", "torch", kinds}, {"fleet", kinds},
			{"fleet", "--what-if", kinds, l.file}, {"pins", "--want", kinds}, {"version", "--matrix", kinds}, {"check", "-o", kinds, "-"}} {
			l.run(args...)
		}
		quoted, _ := json.Marshal(kinds)
		for _, text := range []string{kinds, "version: " + kinds, "version: 1\nrequire: [" + string(quoted) + "]\n",
			"version: 1\nignore:\n  - rule: " + string(quoted) + "\n    reason: x\n",
			"version: 1\nignore:\n  - rule: driver-too-old\n    reason: " + string(quoted) + "\n    until: 2020-01-01\n    match: {subject: " + string(quoted) + "}\n"} {
			if err := os.WriteFile(l.file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			l.run("check", "torch==2.9.0", "--gpu", "L4", "--driver", "535.183.01", "--config", l.file, "-o", "text", "-o", "json")
		}
		if i%2 == 0 { // the environment of a process
			for j, name := range []string{"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "NCCL_COMM_ID", "NCCL_HOSTID",
				"LD_LIBRARY_PATH", "CUDA_HOME", "NCCL_TOKEN", "NCCL_TOPO_FILE"} {
				t.Setenv(name, redacttest.Kinds()[(i+j)%len(redacttest.Kinds())].Text)
			}
			l.run("probe", "--env", "none")
		}
	}
}
