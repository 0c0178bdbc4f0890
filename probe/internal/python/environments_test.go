package python

import (
	"path/filepath"
	"testing"

	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"
)

func TestBracketsInName(t *testing.T) {
	h := hosttest.Tree(t, "-- srv/[x]/lib/python3.12/site-packages/torch/version.py --\n")
	if !isPrefix(h, "/srv/[x]") || len(prefixesAt(h, "/srv/[x]", &host.Errors{})) != 1 {
		t.Error("brackets in a directory's name hide an environment")
	}
}

// TestNamedPython reads what people write after --env.
func TestNamedPython(t *testing.T) {
	h := hosttest.Tree(t, `
-- opt/venv/pyvenv.cfg --
-- opt/venv/bin/python -> python3 --
-- opt/venv/bin/python3 -> /outside/python3.12 --
-- usr/bin/python3 -> python3.12 --
-- usr/bin/python3.12 --
-- opt/link -> venv --
`)
	for name, want := range map[string]candidate{
		"/opt/venv":               {root: "/opt/venv"},
		"/opt/venv/":              {root: "/opt/venv"},
		"opt/venv":                {root: "/opt/venv"},
		"/opt/venv/bin/python":    {root: "/opt/venv"},
		"/opt/venv/bin/python3":   {root: "/opt/venv"},
		"/opt/link/bin/python3":   {root: "/opt/link"},
		"/usr/bin/python3":        {root: "/usr", python: "3.12"},
		"/usr/bin/python3.12":     {root: "/usr", python: "3.12"},
		"/usr/bin/../../opt/venv": {root: "/opt/venv"},
	} {
		if got := namedPython(h, name); got != want {
			t.Errorf("namedPython(%q) = %+v, want %+v", name, got, want)
		}
	}
	dir := t.TempDir()
	t.Chdir(dir)
	if got := namedPython(host.This(), ".venv"); got.root != filepath.Join(dir, ".venv") {
		t.Errorf("a relative path on this machine is %+v", got)
	}
}
