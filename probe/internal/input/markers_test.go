package input

import (
	"fmt"
	"strings"
	"testing"

	"cudacompat/probe/internal/input/inputtest"
)

// TestForOneMachine checks that of a package resolved for several machines one is installed, and that for aarch64 only
// what has no other counts.
func TestForOneMachine(t *testing.T) {
	const arm, both = " ; platform_machine == 'aarch64'", " ; sys_platform == 'linux' or sys_platform == 'darwin'"
	for text, want := range map[string]string{
		"torch==2.9.0 ; platform_machine == 'x86_64'\ntorch==2.8.0" + arm:                 "torch|2.9.0|||default|line 1",
		"tensorflow-cpu==2.21.0 ; platform_machine == 'x86_64'\ntensorflow==2.18.0" + arm: "tensorflow|2.21.0|cpu||default|line 1",
		"torch==2.8.0" + arm:  "torch|2.8.0|||default|line 1",
		"torch==2.8.0" + both: "torch|2.8.0|||default|line 1",
		"version = 1\n[[package]]\nname = \"app\"\nversion = \"1\"\nsource = { virtual = \".\" }\n" +
			uvTorch("2.8.0+cpu", "aarch64") + uvTorch("2.8.0+cu128", "x86_64"): "torch|2.8.0+cu128||||package torch",
		"[tool.poetry.dependencies]\ntorch = [{version = \"2.8.0\", platform = \"darwin\"}, " +
			"{version = \"2.7.0\", markers = \"platform_machine == 'aarch64'\"}, " +
			"{version = \"2.9.0\", markers = \"platform_machine == 'x86_64'\"}]\n": "torch|2.9.0|||default|package torch",
		"[project]\ndependencies = [\"torch==2.9.0\"]\n[[tool.uv.index]]\nname = \"c\"\nurl = \"https://example.org/whl/cpu\"\n" +
			"[[tool.uv.index]]\nname = \"g\"\nurl = \"" + cu126 + "\"\n[tool.uv.sources]\ntorch = [" +
			"{ index = \"c\", marker = \"platform_machine != 'x86_64' and sys_platform != 'darwin'\" }," +
			"{ index = \"g\", marker = \"platform_machine == 'x86_64'\" }]\n": "torch|2.9.0+cu126|||cu126|package torch",
	} {
		f, err := Read(Document{Data: []byte(text)})
		if got := strings.Join(inputtest.Lines(f), "\n"); err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
}

func uvTorch(version, machine string) string {
	return uvFork("torch", version, "platform_machine == '"+machine+"' and sys_platform == 'linux'")
}

// TestDynamic checks that dependencies in another file are read, and that computed ones are named.
func TestDynamic(t *testing.T) {
	const head = "[project]\nname = \"x\"\ndynamic = [\"dependencies\"]\n"
	for text, want := range map[string]string{
		head: "unread dependencies",
		head + "[tool.setuptools.dynamic]\ndependencies = {file = [\"requirements.txt\"]}\n": "torch|2.9.0|||default|requirements.txt line 1",
		head + "[tool.setuptools.dynamic]\ndependencies = {file = \"r.in\"}\n":               "torch|2.9.0|||default|r.in line 1",
		head + "[tool.hatch.metadata.hooks.requirements_txt]\nfiles = [\"r.in\"]\n":          "torch|2.9.0|||default|r.in line 1",
		head + "[tool.poetry.dependencies]\ntorch = \"2.9.0\"\n":                             "torch|2.9.0|||default|package torch",
	} {
		f, err := Read(Document{Data: []byte(text),
			Beside: func(string) ([]byte, error) { return []byte("torch==2.9.0\n"), nil }})
		got := inputtest.Lines(f)
		for _, u := range f.Unread {
			got = append(got, "unread "+u.Place)
		}
		if strings.Join(got, " ") != want || err != nil {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
}

// TestPipAmongConda checks that pip's packages have their own CUDA, whatever conda's cudatoolkit is.
func TestPipAmongConda(t *testing.T) {
	text := "dependencies:\n  - cudatoolkit=11.8.0\n  - pip:\n    - torch==2.7.1\n    - torchaudio==2.7.1\n"
	f, err := Read(Document{Data: []byte(text)})
	if got := strings.Join(inputtest.Lines(f), " "); err != nil || got != "torch|2.7.1|||default|package torch" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestForks checks that packages for different Pythons are never judged together.
func TestForks(t *testing.T) {
	const old, recent = " ; python_version < '3.10'", " ; python_full_version >= '3.10'"
	for text, want := range map[string]string{
		"torch==2.8.0" + old + "\ntorch==2.9.0" + recent + "\ntorchvision==0.24.0" + recent + "\n": "<3.10 torch 2.8.0 [torch]|" +
			">=3.10 torch 2.9.0 [torch torchvision]",
		"torch==2.9.0\nnumpy==1.26.4" + old + "\nnumpy==2.3.0" + recent + "\n":                   " torch 2.9.0 [torch numpy numpy]",
		"torch==2.9.0" + recent + "\n":                                                           " torch 2.9.0 [torch]",
		"torch==2.8.0 ; python_version == '3.9'\ntorch==2.9.0 ; python_version in '3.10 3.11'\n": ">=3.9,<3.10 torch 2.8.0 [torch]|>=3.10,<3.12 torch 2.9.0 [torch]",
		"torch==2.8.0 ; python_full_version < '3.11.4'\ntorch==2.9.0 ; python_version >= '3.12'\n": "<3.11.4 torch 2.8.0 [torch]|" +
			">=3.12 torch 2.9.0 [torch]",
		"torch==2.8.0 ; python_full_version <= '3.11'\ntorch==2.9.0 ; python_full_version > '3.11'\n": "<3.11.1 torch 2.8.0 [torch]|" +
			">=3.11.1 torch 2.9.0 [torch]",
		"torch==2.8.0\ntorch==2.9.0\n": " torch 2.8.0 torch 2.9.0 [torch torch]", // nothing tells them apart
		"[tool.poetry.dependencies]\ntorch = [{version = \"2.8.0\", python = \"<3.10\"}, " +
			"{version = \"2.9.0\", python = \">=3.10,<4.0\"}]\n": "<3.10 torch 2.8.0 [torch]|>=3.10 torch 2.9.0 [torch]",
		"version = 1\n" + uvFork("jax", "0.4.30", "python_full_version < '3.10'") +
			uvFork("jax", "0.6.2", "python_full_version >= '3.10' and sys_platform == 'linux'"): "<3.10 jax 0.4.30 [jax]|>=3.10 jax 0.6.2 [jax]",
	} {
		f, err := Read(Document{Name: "requirements.txt", Data: []byte(text)})
		var got []string
		for _, e := range f.Environments {
			line, names := e.Pythons, []string{}
			for _, b := range e.Builds {
				line += " " + b.Name + " " + b.Version
			}
			for _, p := range e.Packages {
				names = append(names, p.Name)
			}
			got = append(got, fmt.Sprint(line, " ", names))
			if e.Active != (len(f.Environments) == 1) {
				t.Errorf("%q: %s counts: %v", text, line, e.Active)
			}
		}
		if got := strings.Join(got, "|"); err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
}

func uvFork(name, version, marker string) string {
	return "[[package]]\nname = \"" + name + "\"\nversion = \"" + version + "\"\nresolution-markers = [\"" + marker + "\"]\n"
}
