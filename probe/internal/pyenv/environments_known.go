package pyenv

import (
	"errors"
	"path"
	"slices"
	"strings"
	"syscall"

	"cudacompat/probe/host"
)

// bases are the directories under which people put environments.
var bases = []string{"/opt/*", "/usr/local", "/srv", "/app", "/workspace", "/root", "/home/*"}

// maxRoots bounds how many environments are read: far more than any machine has been seen with.
const maxRoots = 4000

// knownRoots lists the places where environments are usually found and where one is.
func (s *Search) knownRoots() []Candidate {
	roots := s.foundIn("/usr", []string{"/usr"})
	for _, name := range bases {
		in := strings.TrimSuffix(name, "/*")
		for _, base := range s.basesAt(name) {
			_, _ = s.ReadDir(base) // so that a closed one is recorded
			roots = append(roots, s.foundIn(in, s.around(base))...)
		}
	}
	return firstOf(s, roots, maxRoots, "Python environments",
		"only the first %d of %d that a search found were read: name those that matter with --env")
}

// foundIn returns the directories in a list that contain an environment.
func (s *Search) foundIn(place string, dirs []string) []Candidate {
	var list []Candidate
	for _, dir := range dirs {
		if IsPrefix(s.Host, dir) {
			list = append(list, Candidate{Root: dir, Found: "found in " + place})
		}
	}
	return list
}

// basesAt returns the directories that a name of bases stands for.
func (s *Search) basesAt(name string) []string {
	if dir, all := strings.CutSuffix(name, "/*"); all {
		return subdirs(s.Host, dir)
	}
	return s.Glob(name)
}

// around lists where environments may be in and below one directory.
func (s *Search) around(base string) []string {
	roots := slices.Concat(listInner(base), s.storedIn(base), []string{base + "/.local"})
	for _, child := range subdirs(s.Host, base) {
		roots = append(roots, listInner(child)...)
		roots = append(roots, subdirs(s.Host, child+"/envs")...)
		roots = append(roots, subdirs(s.Host, child+"/.pixi/envs")...)
	}
	roots = append(roots, subdirs(s.Host, base+"/.pixi/envs")...)
	return append(roots, subdirs(s.Host, base+"/envs")...)
}

func listInner(dir string) []string { return []string{dir, dir + "/venv", dir + "/.venv"} }

func subdirs(h *host.Host, dir string) []string {
	entries, err := h.ReadDir(dir)
	if err != nil {
		return nil
	}
	var dirs []string
	for _, e := range entries {
		if e.Name()[0] != '.' && !e.Type().IsRegular() {
			dirs = append(dirs, path.Join(dir, e.Name()))
		}
	}
	return dirs
}

// Unreadable reports whether something may be there that could not be read; nothing can be behind links that go round
// in a circle.
func Unreadable(err error) bool {
	return err != nil && !host.Absent(err) && !errors.Is(err, syscall.ELOOP)
}
