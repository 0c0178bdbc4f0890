//go:build unix

package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"cudacompat/internal/inputs"
)

// TestUnseenIsNotCompatible checks that what could not be read, or is no file, never counts as absent.
func TestUnseenIsNotCompatible(t *testing.T) {
	node, err := os.ReadFile("../../examples/facts/p5-48xlarge.json")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := func(to, name string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
	}
	pipe := func(name string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(name, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link("/mnt/gone", "lost/lib/python3.11")
	link("nowhere", "lost-sites/lib/python3.11/site-packages")
	link("python3.11", "loop/lib/python3.11")
	pipe("log")
	write("project/requirements.txt", "torch==2.8.0+cu126\n")
	link("nowhere", "project/uv.lock")
	write("piped/requirements.txt", "torch==2.8.0+cu126\n")
	pipe("piped/requirements-gpu.txt")
	pipe("hidden/requirements.txt")
	write("plain/requirements.txt", "torch==2.14.1\n")
	for side, torch := range map[string]string{"old": "2.7.1+cu126", "new": "2.9.0+cu130"} {
		project := "[project]\nname = \"p\"\nversion = \"1\"\ndependencies = [\"torch==" + torch + "\"]\n"
		write("linked-"+side+"/pyproject.toml", project)
		write("linked-"+side+"/other", "numpy==2.0.0\n")
		link("other", "linked-"+side+"/uv.lock")
		write("bare-"+side+"/pyproject.toml", project)
		write("bare-"+side+"/uv.lock", "")
		write("junk-"+side+"/pyproject.toml", project)
		write("junk-"+side+"/uv.lock", "<<<<<<< HEAD\n")
		write("vendored-"+side+"/.venv/requirements.txt", "torch=="+torch+"\n")
		write("vendored-"+side+"/node_modules/requirements.txt", "numpy\n")
		write("venv-"+side+"/requirements.txt", "torch==2.7.1+cu126\n")
		write("venv-"+side+"/.venv/pyvenv.cfg", "home = /usr/bin\n")
		write("venv-"+side+"/.venv/requirements.txt", "torch=="+torch+"\n")
	}
	for _, python := range []string{"3.12", "3.13"} {
		site := "bom-" + python + "/lib/python" + python + "/site-packages/"
		write("bom-"+python+"/pyvenv.cfg", "home = /opt/python\nversion_info = "+python+".1\n")
		write(site+"a.pth", "\ufeff../../../../other\n")
		write(site+"numpy-2.0.0.dist-info/METADATA", "Name: numpy\nVersion: 2.0.0\n")
		write("bare-torch-"+python+"/lib/python"+python+"/site-packages/torch/lib/libtorch_cuda.so", "")
		write("bare-torch-"+python+"/lib/python"+python+"/site-packages/torch/__init__.py", "")
	}
	write("other/torch/__init__.py", "")
	write("other/torch/version.py", "__version__ = '2.9.0+cu130'\ncuda = '13.0'\n")
	write("more/requirements.txt", "torch==2.7.1+cu126\n")
	write("more/requirements-gpu.txt", "torch==2.9.0+cu130\n")
	large := strings.Repeat("#", inputs.MaxFile+1)
	write("large/requirements.txt", large+"a")
	write("large-same/requirements.txt", large+"a")
	write("large-other/requirements.txt", large+"b")
	for name, make := range map[string]func(string){"empty": func(n string) { write(n, "") }, "dangling": func(n string) { link("nowhere", n) }, "pipe": pipe} {
		write("fleet-"+name+"/ok.json", string(node))
		make("fleet-" + name + "/bad.json")
	}
	write("fleet-volume/..data/ok.json", string(node))
	link("..data/ok.json", "fleet-volume/ok.json")
	var junk bytes.Buffer
	for _, part := range []string{string(node), "", string(node)} {
		if part == "" {
			junk.WriteString("JUNK")
			continue
		}
		z := gzip.NewWriter(&junk)
		if _, err := z.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
	}
	write("junk.json.gz", junk.String())
	write("both.json", `{"node":"n","facts":`+string(node)+`,"report":`+string(node)+"}")
	write("closed/requirements.txt", "torch==2.8.0+cu126\n")
	link("requirements", "closed/requirements")
	const bad, good = "torch==2.9.0+cu130\n", "torch==2.8.0+cu126\n"
	write("edited/requirements.txt", good)
	write("edited/Dockerfile", "FROM python:3.12\nCOPY . .\nRUN perl -pi -e s/x/y/ requirements.txt && pip install -r requirements.txt\n")
	write("settings/Dockerfile", "FROM python:3.12\nCOPY pip.conf /etc/pip.conf\nRUN pip install torch==2.9.0\n")
	write("settings/pip.conf", "[global]\nindex-url = https://download.pytorch.org/whl/cu130\n")
	write("built/Dockerfile", "FROM python:3.12 AS gpu\nARG V=2.8.0+cu126\nRUN pip install torch==$V\nFROM python:3.12\n")
	write("built/compose.yaml", "services:\n  a:\n    build: {context: ., target: gpu, args: [V]}\n")
	write("built/.env", "V=2.9.0+cu130 # the newest\n")
	write("context/Dockerfile", "FROM python:3.12\nCOPY --from=other /r.txt /r.txt\nRUN pip install -r /r.txt\n")
	write("context/compose.yaml", "services:\n  a:\n    build: {context: ., additional_contexts: {other: ./other}}\n")
	write("context/other/r.txt", bad)
	write("pipfile/requirements.txt", good)
	write("pipfile/Pipfile", "[packages]\ntorch = '==2.9.0+cu130'\n")
	write("locked/Pipfile", "[packages]\ntorch = '==2.8.0+cu126'\n")
	write("locked/Pipfile.lock", `{"_meta": {"pipfile-spec": 6}, "default": {"torch": {"version": "==2.8.0+cu126"}}}`)
	write("locked/setup.py", "from torch.utils import cpp_extension\nsetup(install_requires=['torch'])\n")
	write("stale/pyproject.toml", "[project]\nname = 'p'\nversion = '1'\ndependencies = ['torch==2.9.0+cu130']\n")
	write("stale/uv.lock", "version = 1\n[[package]]\nname = 'p'\nversion = '1'\nsource = { virtual = '.' }\n")
	const machine = " --driver 535.183.01 --gpu L4"
	for _, c := range []struct {
		command, says string
		code          int
	}{
		{"doctor --env lost" + machine, "it leads to /mnt/gone, which is not there", exitInconclusive},
		{"doctor --env lost-sites" + machine, "which is not there", exitInconclusive},
		{"doctor --env bom-3.13" + machine, "other/torch", exitIncompatible},
		{"doctor --env bare-torch-3.13" + machine, "it has PyTorch's libraries and no version.py", exitInconclusive},
		{"doctor --env loop" + machine, "which is not there", exitInconclusive},
		{"doctor --env none --log log --timeout 1s" + machine, "log was not read to its end", exitInconclusive},
		{"check project" + machine, "project/uv.lock: it cannot be read", exitInconclusive},
		{"check piped" + machine, "piped/requirements-gpu.txt: it is not a regular file", exitInconclusive},
		{"requires hidden --diff project", "not compared: requirements.txt: it is not a regular file", exitInconclusive},
		{"requires plain --diff hidden", "not compared: requirements.txt: before the change: it is not a regular file", exitInconclusive},
		{"requires large --diff large-same", "nothing checked", exitOK},
		{"requires large --diff large-other", "not compared: requirements.txt", exitInconclusive},
		{"requires linked-new --diff linked-old" + machine, "pyproject.toml: torch 2.7.1+cu126 → 2.9.0+cu130: driver 525.60.13", exitIncompatible},
		{"requires bare-new --diff bare-old" + machine, "pyproject.toml: torch 2.7.1+cu126 → 2.9.0+cu130: driver 525.60.13", exitIncompatible},
		{"requires junk-new --diff junk-old" + machine, "not compared: uv.lock", exitInconclusive},
		{"requires vendored-new --diff vendored-old" + machine, "L4, driver 535.183.01 lost", exitIncompatible},
		{"requires venv-new --diff venv-old" + machine, "nothing checked", exitOK},
		{"requires more --diff venv-old" + machine, "adds builds that a named host cannot run, in 1 file", exitIncompatible},
		{"requires more --diff venv-old", "needs no newer driver and drops no GPU", exitOK},
		{"fleet fleet-empty", "bad.json: it is empty", exitInconclusive},
		{"fleet fleet-dangling", "bad.json: it is not a regular file", exitInconclusive},
		{"fleet fleet-pipe", "bad.json: it is not a regular file", exitInconclusive},
		{"fleet fleet-volume", "compatible: 1 of 1 node compatible", exitOK},
		{"fleet junk.json.gz", "it was not read to its end: gzip: invalid header", exitInconclusive},
		{"fleet both.json", "it has facts at two places", exitInconclusive},
		{"check closed" + machine, "closed/requirements: it cannot be read", exitInconclusive},
		{"check edited/Dockerfile" + machine, "perl in line 3 changes it, and that is not followed", exitInconclusive},
		{"check settings/Dockerfile" + machine, "torch 2.9.0+cu130", exitIncompatible},
		{"check built/compose.yaml" + machine, "torch 2.9.0+cu130", exitIncompatible},
		{"check context/compose.yaml" + machine, "torch 2.9.0+cu130", exitIncompatible},
		{"check pipfile" + machine, "Pipfile: it names packages of a CUDA stack", exitInconclusive},
		{"check locked" + machine, "compatible: torch 2.8.0+cu126 works", exitOK},
		{"check stale" + machine, "torch: pyproject.toml asks for a release that the lock does not have", exitInconclusive},
		{"requires torch==2.8.0 -o markdown=log --timeout 1s", "the time was up", exitUsage},
	} {
		var out bytes.Buffer
		code := run(strings.Fields(c.command), streams{strings.NewReader(""), &out, &out})
		if code != c.code || !strings.Contains(out.String(), c.says) {
			t.Errorf("%s: exit %d, want %d with %q:\n%s", c.command, code, c.code, c.says, out.String())
		}
	}
}
