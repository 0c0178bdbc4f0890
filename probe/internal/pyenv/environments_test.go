package pyenv

import (
	"path/filepath"
	"testing"

	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"
)

func TestBracketsInName(t *testing.T) {
	h := hosttest.Tree(t, "-- srv/[x]/lib/python3.12/site-packages/torch/version.py --\n")
	if !IsPrefix(h, "/srv/[x]") || len(PrefixesAt(h, "/srv/[x]", &host.Errors{})) != 1 {
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
	for name, want := range map[string]Candidate{
		"/opt/venv":               {Root: "/opt/venv"},
		"/opt/venv/":              {Root: "/opt/venv"},
		"opt/venv":                {Root: "/opt/venv"},
		"/opt/venv/bin/python":    {Root: "/opt/venv"},
		"/opt/venv/bin/python3":   {Root: "/opt/venv"},
		"/opt/link/bin/python3":   {Root: "/opt/link"},
		"/usr/bin/python3":        {Root: "/usr", Python: "3.12"},
		"/usr/bin/python3.12":     {Root: "/usr", Python: "3.12"},
		"/usr/bin/../../opt/venv": {Root: "/opt/venv"},
	} {
		if got := NamedPython(h, name); got != want {
			t.Errorf("namedPython(%q) = %+v, want %+v", name, got, want)
		}
	}
	dir := t.TempDir()
	t.Chdir(dir)
	if got := NamedPython(host.This(), ".venv"); got.Root != filepath.Join(dir, ".venv") {
		t.Errorf("a relative path on this machine is %+v", got)
	}
}
