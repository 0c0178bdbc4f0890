package python

import (
	"path"

	"cudacompat/internal/version"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
)

// unusable is a virtual environment's python3 that does not import what stands in the environment: its link leads
// nowhere, because the Python that it was made of is gone, or to one of another version, whose packages stand in
// another directory. Nil where it does, and where nothing tells.
func unusable(h *host.Host, p prefix) *facts.Interpreter {
	if p.kind != "venv" {
		return nil
	}
	var gone *facts.Interpreter
	for _, name := range []string{"python3", "python"} {
		file := path.Join(p.path, "bin", name)
		leads, err := h.Readlink(file)
		if err != nil {
			continue
		}
		switch real, err := h.Resolve(file); {
		case err == nil:
			m := pythonBinary.FindStringSubmatch(path.Base(real))
			if m == nil || m[1] == version.ShortPython(p.python) {
				return nil
			}
			return &facts.Interpreter{Path: file, Leads: real, Python: m[1]}
		case gone == nil && host.Absent(err):
			gone = &facts.Interpreter{Path: file, Leads: lastLink(h, file, leads), Gone: true}
		case !host.Absent(err):
			return nil // closed to this user
		}
	}
	return gone
}

// lastLink is where a chain of links breaks: python3 of uv's environments leads to python beside it.
func lastLink(h *host.Host, file, leads string) string {
	for range 8 { // far more than any environment has
		if !path.IsAbs(leads) {
			leads = path.Join(path.Dir(file), leads)
		}
		next, err := h.Readlink(leads)
		if err != nil {
			return leads
		}
		file, leads = leads, next
	}
	return leads
}
