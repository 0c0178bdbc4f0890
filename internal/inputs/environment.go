package inputs

import (
	"os"
	"path"
	"path/filepath"
	"strings"

	"cudacompat/probe"
)

// FindEnvironment returns the environment that a path belongs to: the path itself, or the one whose bin contains it
// (E/bin, E/bin/python, E/bin/activate). It returns "" if there is none. If a part of the path cannot be read, it may
// be an environment, and the report says so.
func FindEnvironment(h *probe.Host, name string) string {
	for _, dir := range []string{name, path.Dir(strings.TrimRight(name, "/")), path.Dir(path.Dir(name))} {
		below := strings.TrimPrefix(strings.TrimPrefix(strings.TrimRight(name, "/"), dir), "/")
		if bin, _, _ := strings.Cut(below, "/"); (below == "" || bin == "bin") && (probe.IsEnvironment(h, dir) || h.Unseen(dir)) {
			return dir
		}
	}
	return ""
}

// LocateSource returns the file as seen from the working directory, in a workflow the repository; empty for what is no file,
// and for facts, whose lines are those of another file.
func LocateSource(name string) string {
	if !IsFile(name) || filepath.Ext(name) == ".json" {
		return ""
	}
	if here, err := os.Getwd(); err == nil && filepath.IsAbs(name) {
		if relative, err := filepath.Rel(here, name); err == nil {
			name = relative
		}
	}
	return filepath.ToSlash(filepath.Clean(name))
}
