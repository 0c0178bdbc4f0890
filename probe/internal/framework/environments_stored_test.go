package framework

import (
	"strings"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// storedEnvironments are places where tools keep environments, each with a torch in it.
var storedEnvironments = []string{
	"/home/a/.cache/pypoetry/virtualenvs/app-x1-py3.12",
	"/home/a/.cache/uv/environments-v2/train-1a2b",
	"/home/a/.local/pipx/venvs/vllm",
	"/home/a/.local/share/hatch/env/virtual/app/h4sh/app",
	"/home/a/.local/share/pipx/venvs/sglang",
	"/home/a/.local/share/uv/tools/marimo",
	"/home/a/.local/share/virtualenvs/app-h4sh",
	"/home/a/.virtualenvs/old",
	"/opt/pipx/venvs/tool",
	"/root/.local/share/uv/tools/nvitop",
	"/scratch/envs/train", // in conda's list alone
}

func storeTree(t *testing.T) string {
	archive := &txtar.Archive{}
	add := func(name, text string) {
		archive.Files = append(archive.Files, txtar.File{Name: strings.TrimPrefix(name, "/"), Data: []byte(text)})
	}
	for _, env := range append(storedEnvironments, "/data/run/env", "/data/base") {
		add(env+"/lib/python3.12/site-packages/torch/version.py",
			"__version__ = '2.6.0+cu124'\ncuda: Optional[str] = '12.4'\n")
		if env != "/data/base" {
			add(env+"/pyvenv.cfg", "version = 3.12.3\n")
			add(env+"/bin/python -> /data/base/bin/python3.12", "")
		}
	}
	add("/data/base/bin/python3.12", "#")
	add("/home/a/.conda/environments.txt", "/scratch/envs/train\n/scratch/envs/gone\nnot a path\n")
	add("/proc/17/exe -> /data/base/bin/python3.12", "")
	add("/proc/17/cmdline", "/data/run/env/bin/python\x00train.py\x00--token=x")
	add("/proc/18/exe -> /data/base/bin/python3.12", "")
	add("/proc/18/cmdline", "python3\x00-m\x00http.server")
	add("/proc/19/exe -> /usr/bin/bash", "")
	add("/proc/20/exe -> /gone/bin/python3.12", "")
	add("/proc/self/exe -> /data/base/bin/python3.12", "")
	return hosttest.Plant(t, archive)
}

func environmentsOf(t *testing.T, h *host.Host) []string {
	t.Helper()
	found, err := Read(h, nil)
	if err != nil {
		t.Fatal(err)
	}
	var f facts.Facts
	f.Environments = found.Environments
	var paths []string
	for _, e := range f.Environments {
		paths = append(paths, e.Path)
	}
	return paths
}

// TestStores finds the environments of every tool's store and, on a machine that runs, of running interpreters.
func TestStores(t *testing.T) {
	root := storeTree(t)
	sorted := cmp.Transformer("set", func(paths []string) map[string]bool {
		set := map[string]bool{}
		for _, p := range paths {
			set[p] = true
		}
		return set
	})
	if diff := cmp.Diff(storedEnvironments, environmentsOf(t, &host.Host{Root: root, Rest: true}), sorted); diff != "" {
		t.Errorf("at rest (-want +got):\n%s", diff)
	}
	running := append([]string{"/data/run/env", "/data/base"}, storedEnvironments...)
	if diff := cmp.Diff(running, environmentsOf(t, &host.Host{Root: root}), sorted); diff != "" {
		t.Errorf("running (-want +got):\n%s", diff)
	}
}

// TestWhyEnvironmentsAreLookedAt checks that each environment says what led to it, a running program by its number.
func TestWhyEnvironmentsAreLookedAt(t *testing.T) {
	h := &host.Host{Root: storeTree(t), Env: map[string]string{"VIRTUAL_ENV": "/home/a/.virtualenvs/old"}}
	read, err := Read(h, nil)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, e := range read.Environments {
		found[e.Path] = e.Found
	}
	for env, want := range map[string]string{"/data/run/env": "process 17", "/home/a/.virtualenvs/old": "active by VIRTUAL_ENV",
		"/opt/pipx/venvs/tool": "found in /opt"} {
		if found[env] != want {
			t.Errorf("%s: %q, want %q", env, found[env], want)
		}
	}
}
