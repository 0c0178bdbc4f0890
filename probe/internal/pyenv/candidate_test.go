package pyenv_test

import (
	"testing"

	"golang.org/x/tools/txtar"

	"cudacompat/probe/host/hosttest"
	"cudacompat/probe/internal/pyenv"
)

// TestNamedPython checks that a prefix, an interpreter and pyenv's shim of it name the same environment.
func TestNamedPython(t *testing.T) {
	h := hosttest.Host(t, txtar.Parse([]byte(`
-- p/version --
3.11
-- p/shims/python3 --
#!/usr/bin/env bash
-- p/versions/3.11.7/bin/python3 -> python3.11 --
-- p/versions/3.11.7/bin/python3.11 --
-- p/versions/3.11.7/lib/python3.11/site-packages/pip/__init__.py --
`)))
	for _, name := range []string{"/p/versions/3.11.7", "/p/versions/3.11.7/bin/python3", "/p/shims/python3"} {
		if got, want := pyenv.NamedPython(h, name).Root, "/p/versions/3.11.7"; got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}
