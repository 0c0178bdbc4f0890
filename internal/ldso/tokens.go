package ldso

import (
	"path"
	"strings"
)

// tokens are the values of the dynamic string tokens of one object. An empty value is unknown.
type tokens struct{ origin, lib, platform string }

// expand replaces $ORIGIN, $LIB and $PLATFORM, or ${ORIGIN} and so on. Any other $ stays. It returns "" if a value is
// unknown, because the loader drops such a path.
func (t tokens) expand(s string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "$")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		value, n := t.value(after)
		switch {
		case n == 0:
			b.WriteByte('$')
		case value == "":
			return ""
		}
		b.WriteString(value)
		s = after[n:]
	}
}

// value returns the value of the token that s starts with, and its length; no token has length 0.
func (t tokens) value(s string) (value string, n int) {
	name, braced := strings.CutPrefix(s, "{")
	end := strings.IndexFunc(name, func(r rune) bool { return !isIdentifier(r) })
	if end < 0 {
		end = len(name)
	}
	n = end
	if braced {
		if !strings.HasPrefix(name[end:], "}") {
			return "", 0
		}
		n += len("{}")
	}
	switch name[:end] {
	case "ORIGIN":
		return t.origin, n
	case "LIB":
		return t.lib, n
	case "PLATFORM":
		return t.platform, n
	}
	return "", 0
}

func isIdentifier(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
}

// SplitLibraryPath splits the value of LD_LIBRARY_PATH at colons and semicolons. An empty element is
// the working directory; an empty value has no elements.
func SplitLibraryPath(value string) []string {
	return splitPath(strings.ReplaceAll(value, ";", ":"))
}

func splitPath(value string) []string {
	if value == "" {
		return nil
	}
	return strings.Split(value, ":")
}

// directories expands the elements of a search path, makes them absolute and drops trailing slashes,
// so that the root is empty. Elements whose tokens are unknown are left out, and relative ones where
// workDir is unknown.
func (t tokens) directories(elements []string, workDir string) []string {
	var dirs []string
	for _, element := range elements {
		dir := t.expand(element)
		if dir == "" && element != "" {
			continue
		}
		if dir = absolute(dir, workDir); dir != "" {
			dirs = append(dirs, strings.TrimRight(dir, "/"))
		}
	}
	return dirs
}

// absolute returns the path that name means for a process in workDir, or "" if that needs an unknown workDir.
func absolute(name, workDir string) string {
	switch {
	case path.IsAbs(name):
		return name
	case workDir == "":
		return ""
	}
	return workDir + "/" + name
}
