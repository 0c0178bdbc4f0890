package python

import (
	"bufio"
	"bytes"
	"io"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/host"
)

// stores are where tools keep the environments that they make, under a home directory or an own one below /opt.
var stores = []string{
	".pyenv/versions/*",
	".conda/envs/*",
	// uv tool, uv python, uv run --script
	".local/share/uv/tools/*", ".local/share/uv/python/*", ".cache/uv/environments-v*/*",
	".local/share/pipx/venvs/*", ".local/pipx/venvs/*", "venvs/*", // pipx, its older place, and PIPX_HOME=/opt/pipx
	".cache/pypoetry/virtualenvs/*",
	".local/share/virtualenvs/*", ".virtualenvs/*", // pipenv, virtualenvwrapper
	".local/share/hatch/env/virtual/*/*/*",
}

// storedIn lists the environments of the tools' stores under one base directory.
func storedIn(h *host.Host, base string) []string {
	var roots []string
	for _, pattern := range stores {
		roots = append(roots, h.GlobIn(base, pattern)...)
	}
	return append(roots, condaList(h, base+"/.conda/environments.txt")...)
}

// maxCondaList bounds how many lines of conda's list are taken.
const maxCondaList = 1000

// condaList reads the environments that conda has ever made for a user, one path a line: "/data/envs/train".
func condaList(h *host.Host, name string) []string {
	data, err := h.ReadFile(name)
	if err != nil {
		return nil
	}
	var roots []string
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan() && len(roots) < maxCondaList; {
		if root := strings.TrimSpace(lines.Text()); path.IsAbs(root) {
			roots = append(roots, path.Clean(root))
		}
	}
	return roots
}

// maxProcesses bounds how many processes are looked at: a look costs two system calls.
const maxProcesses = 4000

var (
	processID     = lazyregexp.New(`^\d+$`)
	pythonProgram = lazyregexp.New(`^(python|pypy)[\d.]*t?$`)
)

// runningPythons lists the environments of the interpreters that run here, as far as this user may see them. The name
// that a program was started by tells an environment from the Python that it was made of.
func runningPythons(h *host.Host) []candidate {
	if h.Rest {
		return nil
	}
	entries, err := h.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var list []candidate
	for _, e := range entries[:min(len(entries), maxProcesses)] {
		if !processID.MatchString(e.Name()) {
			continue
		}
		exe, err := h.Readlink("/proc/" + e.Name() + "/exe")
		if err != nil || !pythonProgram.MatchString(path.Base(exe)) {
			continue
		}
		name := startedAs(h, "/proc/"+e.Name()+"/cmdline")
		if !path.IsAbs(name) || !pythonProgram.MatchString(path.Base(name)) {
			name = exe
		}
		if c, ok := pythonPrefix(h, name); ok && !slices.Contains(list, c) {
			list = append(list, c)
		}
	}
	return list
}

// startedAs is the first argument of a process, of which nothing else is read.
func startedAs(h *host.Host, name string) string {
	f, err := h.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, 4096)) // PATH_MAX
	if err != nil {
		return ""
	}
	first, _, _ := bytes.Cut(head, []byte{0})
	return string(first)
}
