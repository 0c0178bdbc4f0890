package ldso

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// ConfPath is what ldconfig reads to make the cache.
const ConfPath = "/etc/ld.so.conf"

// Bounds on configuration files; ldconfig has none. Distributions ship files of a line or two.
const (
	maxConf      = 1 << 20 // bytes of one file
	maxConfFiles = 1 << 10
)

// ConfDir is a directory that an ld.so.conf names. The loader itself never looks into it: only what
// the last run of ldconfig wrote into the cache counts. Of libraries of one soname ldconfig lists those
// of an earlier directory first; the system directories come after all of these.
type ConfDir struct {
	Path string // without a trailing slash; it need not exist
	From string // the file that names it
	Line int
}

// ReadConf returns the directories named by the ld.so.conf at file and by what it includes, in the order
// that ldconfig gives them. The error satisfies [fs.ErrNotExist] if there is no such file; included
// files that are not there are no error.
//
// Format, one directory or include a line:
//
//	include /etc/ld.so.conf.d/*.conf
//	/usr/local/cuda/compat  # a comment
func ReadConf(fsys FS, file string) ([]ConfDir, error) {
	c := conf{fsys: fsys}
	err := c.read(file)
	return c.dirs, err
}

// conf is a reading of configuration files under way.
type conf struct {
	fsys FS
	dirs []ConfDir
	seen []string
}

func (c *conf) read(file string) error {
	if slices.Contains(c.seen, file) {
		return nil
	}
	if c.seen = append(c.seen, file); len(c.seen) > maxConfFiles {
		return fmt.Errorf("read %q: more than %d files are included", file, maxConfFiles)
	}
	b, err := readAll(c.fsys, file, maxConf)
	if err != nil {
		return err
	}
	for i, line := range strings.Split(string(b), "\n") {
		if err := c.line(line, file, i+1); err != nil {
			return err
		}
	}
	return nil
}

// line takes one line: "include GLOB…", the obsolete "hwcap …", or a directory.
func (c *conf) line(line, file string, n int) error {
	line, _, _ = strings.Cut(line, "#")
	line = strings.Trim(line, " \t\r\v\f\x00")
	word, rest, _ := strings.Cut(strings.ReplaceAll(line, "\t", " "), " ")
	switch {
	case word == "include":
		return c.include(strings.Fields(rest), path.Dir(file))
	case strings.EqualFold(word, "hwcap"):
		return nil
	}
	dir := strings.TrimRight(line, "/")
	known := slices.ContainsFunc(c.dirs, func(d ConfDir) bool { return d.Path == dir })
	if dir != "" && !known {
		c.dirs = append(c.dirs, ConfDir{Path: dir, From: file, Line: n})
	}
	return nil
}

func (c *conf) include(patterns []string, dir string) error {
	for _, pattern := range patterns {
		if !path.IsAbs(pattern) {
			pattern = path.Join(dir, pattern)
		}
		files, err := glob(c.fsys, pattern)
		if err != nil {
			return err
		}
		for _, file := range files {
			if err := c.read(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// glob returns the paths that match a pattern as glob(3) does: sorted, without those whose name starts
// with a dot that the pattern does not spell. A directory that cannot be listed and a malformed
// pattern match nothing.
func glob(fsys FS, pattern string) ([]string, error) {
	found := []string{"/"}
	for part := range strings.SplitSeq(strings.Trim(pattern, "/"), "/") {
		var next []string
		for _, dir := range found {
			next = append(next, match(fsys, dir, part)...)
		}
		if found = next; len(found) > maxConfFiles {
			return nil, fmt.Errorf("more than %d files match %q", maxConfFiles, pattern)
		}
	}
	return found, nil
}

// match returns the paths in dir whose last part matches.
func match(fsys FS, dir, part string) []string {
	if !strings.ContainsAny(part, `*?[\`) {
		return []string{path.Join(dir, part)}
	}
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return nil
	}
	var list []string
	for _, e := range entries {
		ok, err := path.Match(part, e.Name())
		if err == nil && ok && (e.Name()[0] != '.' || part[0] == '.') {
			list = append(list, path.Join(dir, e.Name()))
		}
	}
	return list
}
