package pyenv

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
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
func (s *Search) storedIn(base string) []string {
	var roots []string
	for _, pattern := range stores {
		roots = append(roots, s.GlobIn(base, pattern)...)
	}
	return append(roots, s.condaList(base+"/.conda/environments.txt")...)
}

// maxCondaList bounds how many lines of conda's list are taken.
const maxCondaList = 1000

// condaList reads the environments that conda has ever made for a user, one path a line: "/data/envs/train".
func (s *Search) condaList(name string) []string {
	data, err := s.ReadFile(name)
	if err != nil {
		return nil
	}
	var roots []string
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		root := strings.TrimSpace(lines.Text())
		if len(roots) == maxCondaList {
			s.Unread("conda's list of environments", fmt.Sprintf("only its first %d lines were read: name those that matter with --env", maxCondaList), facts.UnreadCut)
			break
		}
		if path.IsAbs(root) {
			roots = append(roots, path.Clean(root))
		}
	}
	return roots
}

// maxProcesses bounds how many processes are looked at, at two system calls each: Linux's own limit on most machines
// (pid_max of proc(5)).
const maxProcesses = 32768

var (
	processID     = lazyregexp.New(`^\d+$`)
	pythonProgram = lazyregexp.New(`^(python|pypy)[\d.]*t?$`)
)

// runningPythons lists the environments of the interpreters that run here, as far as this user may see them.
func (s *Search) runningPythons() []Candidate {
	if s.Rest {
		return nil
	}
	entries, err := s.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var list []Candidate
	for _, e := range firstOf(s, entries, maxProcesses, "running processes", "only the first %d of %d were looked at") {
		if !processID.MatchString(e.Name()) {
			continue
		}
		c, ok := pythonOfProcess(s.Host, "/proc/"+e.Name())
		if ok && !slices.ContainsFunc(list, func(o Candidate) bool { return o.Root == c.Root && o.Python == c.Python }) {
			c.Found = "process " + e.Name()
			list = append(list, c)
		}
	}
	return list
}

// pythonOfProcess returns the environment of a process that is an interpreter. The name that it was started by
// distinguishes an environment from its base Python.
func pythonOfProcess(h *host.Host, dir string) (Candidate, bool) {
	exe, err := h.Readlink(dir + "/exe")
	if err != nil || !pythonProgram.MatchString(path.Base(exe)) {
		return Candidate{}, false
	}
	name := startedAs(h, dir+"/cmdline")
	if !path.IsAbs(name) || !pythonProgram.MatchString(path.Base(name)) {
		name = exe
	}
	return pythonPrefix(h, name)
}

// startedAs returns the first argument of a process, of which nothing else is read.
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
