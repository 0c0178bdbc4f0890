package pyenv

import (
	"debug/elf"
	"errors"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strings"

	"cudacompat/internal/version"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/pydist"
)

// Unusable returns a virtual environment's python3 if it cannot import what is installed there: its link leads nowhere,
// because the base Python is gone, to where this user may not go, to another version, whose packages are in another
// directory, or to a file that nobody may execute. Otherwise, and if it is unknown, it returns nil.
func Unusable(h *host.Host, p Prefix, index *pydist.Index) *facts.Interpreter {
	if home := wrongPythonHome(h, p); home != "" {
		return &facts.Interpreter{Path: path.Join(p.Path, "bin/python3"), Leads: home, Home: true}
	}
	if p.Kind == "system" {
		return interpreterWithoutConfig(h, p)
	}
	if p.Kind != "venv" {
		return nil
	}
	var gone *facts.Interpreter
	for _, name := range []string{"python3", "python"} {
		file := path.Join(p.Path, "bin", name)
		leads, err := h.Readlink(file)
		if err != nil && !h.Exists(file) && host.Absent(err) {
			if gone == nil && hadPrograms(h, p, index) {
				gone = &facts.Interpreter{Path: file, Gone: true}
			}
			continue
		}
		if err != nil {
			return nil // closed to this user
		}
		switch real, err := h.Resolve(file); {
		case err == nil && programNobodyMayExecute(h, real):
			gone = &facts.Interpreter{Path: file, Leads: real, NoExecute: true}
		case err == nil:
			m := pythonBinary.FindStringSubmatch(path.Base(real))
			if m == nil || m[1] == version.ShortPython(p.Python) {
				return nil
			}
			return &facts.Interpreter{Path: file, Leads: real, Python: m[1]}
		case (gone == nil || gone.Leads == "") && host.Absent(err):
			gone = &facts.Interpreter{Path: file, Leads: LastLink(h, file, leads), Gone: true}
		case errors.Is(err, fs.ErrPermission):
			return &facts.Interpreter{Path: file, Leads: LastLink(h, file, leads), Closed: true}
		case !host.Absent(err):
			return nil
		}
	}
	return gone
}

// hadPrograms reports whether an environment has or had a bin directory: its packages list files there,
// "../../../bin/torchrun". A copy of only the packages never had an interpreter.
func hadPrograms(h *host.Host, p Prefix, index *pydist.Index) bool {
	if len(h.GlobIn(p.Path, "bin/python*")) > 0 {
		return false // by another name
	}
	return h.Exists(path.Join(p.Path, "bin")) || slices.ContainsFunc(p.Sites, func(dir string) bool {
		list, _ := index.In(dir)
		return slices.ContainsFunc(list, func(d *pydist.Distribution) bool { return d.Record().HasPrefix("../../../bin/") })
	})
}

// interpreterWithoutConfig returns the interpreter of a virtual environment that has lost its pyvenv.cfg: a link out of
// a directory without a standard library, so that Python uses the directory that the link leads to.
func interpreterWithoutConfig(h *host.Host, p Prefix) *facts.Interpreter {
	file := path.Join(p.Path, "bin/python3")
	real, err := h.Resolve(file)
	if err != nil || p.Path == "/usr" || p.Path == "/usr/local" {
		return nil
	}
	root, err := h.Resolve(p.Path)
	if err != nil || strings.HasPrefix(real, root+"/") {
		return nil
	}
	for _, dir := range []string{"lib", "lib64"} {
		if h.Exists(path.Join(p.Path, dir, "python"+p.Python, "os.py")) || h.Exists(path.Join(p.Path, dir, "python"+p.Python, "os.pyc")) {
			return nil
		}
	}
	return &facts.Interpreter{Path: file, Leads: real, NoConfig: true}
}

// wrongPythonHome returns PYTHONHOME if this process has it and it lacks the standard library of this Python: "No
// module named 'encodings'". Otherwise, also for an environment of unknown version, it returns "".
func wrongPythonHome(h *host.Host, p Prefix) string {
	home, _, _ := strings.Cut(h.Var("PYTHONHOME"), ":")
	python := version.ShortPython(p.Python)
	if !path.IsAbs(home) || python == "" {
		return ""
	}
	for _, name := range []string{"lib/python" + python, "lib64/python" + python, "lib/python" + python + "t"} {
		if h.Exists(path.Join(home, name, "os.py")) || h.Exists(path.Join(home, name, "os.pyc")) {
			return ""
		}
	}
	if h.Exists(path.Join(home, "lib/python"+strings.ReplaceAll(python, ".", "")+".zip")) {
		return ""
	}
	return home
}

// programNobodyMayExecute reports whether a file is a program (ELF) and has no execute bit at all: "Permission denied",
// for root too. A copy by an archive that keeps no modes is so. Windows' file systems have no such bit.
func programNobodyMayExecute(h *host.Host, file string) bool {
	f, err := h.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Mode()&0o111 != 0 || runtime.GOOS == "windows" {
		return false
	}
	magic := make([]byte, len(elf.ELFMAG))
	_, err = f.ReadAt(magic, 0)
	return err == nil && string(magic) == elf.ELFMAG
}

// LastLink returns where a chain of links breaks: python3 of uv's environments leads to python beside it.
func LastLink(h *host.Host, file, leads string) string {
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
