package pyenv

import (
	"os"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/version"
	"cudacompat/probe/host"
)

// ImportPath returns where an interpreter looks for packages (https://docs.python.org/3/library/site.html): PYTHONPATH,
// then its own directories, the user's before the system's. Only the environments that this user starts get his own
// parts.
func ImportPath(h *host.Host, p Prefix) []string {
	if !p.Started {
		return p.Sites
	}
	list := pythonPath(h)
	if p.Kind == "venv" && p.base == 0 {
		return append(list, p.Sites...)
	}
	list = append(list, p.Sites[:p.base]...)
	return append(append(list, userSite(h, p)...), p.Sites[p.base:]...)
}

// pythonPath returns the directories of PYTHONPATH; a relative one counts from the working directory.
func pythonPath(h *host.Host) []string {
	var list []string
	for dir := range strings.SplitSeq(h.Var("PYTHONPATH"), ":") {
		if dir == "" {
			continue
		}
		if !path.IsAbs(dir) {
			dir = path.Join(h.Var("PWD"), dir)
		}
		if real, err := h.Resolve(dir); err == nil && !slices.Contains(list, real) {
			list = append(list, real)
		}
	}
	return list
}

// userSite returns where `pip install --user` puts packages, none where it is switched off.
func userSite(h *host.Host, p Prefix) []string {
	base := h.Var("PYTHONUSERBASE")
	if base == "" && homeOf(h) != "" {
		base = homeOf(h) + "/.local"
	}
	dir := base + "/lib/python" + version.ShortPython(p.Python) + "/site-packages"
	if !path.IsAbs(base) || h.Var("PYTHONNOUSERSITE") != "" || !h.Exists(dir) {
		return nil
	}
	return []string{dir}
}

// homeOf returns the home of the user who asks; services and health checks often run without HOME.
func homeOf(h *host.Host) string {
	if home := h.Var("HOME"); home != "" || h.Root != "/" || os.Getuid() != 0 {
		return home
	}
	return "/root"
}

// Homes returns those that count: of a tree at rest all, of a running machine the one of the user who asks.
func Homes(h *host.Host) []string {
	if h.Rest {
		return append([]string{"/root"}, subdirs(h, "/home")...)
	}
	return []string{homeOf(h)}
}

// BelongsToOther reports whether a path is in the home of a user who is neither the caller nor the user who called sudo.
func BelongsToOther(h *host.Host, name string) bool {
	below := func(dir string) bool { return dir != "" && strings.HasPrefix(name+"/", path.Clean(dir)+"/") }
	if below(homeOf(h)) || h.Var("SUDO_USER") != "" && below("/home/"+h.Var("SUDO_USER")) {
		return false
	}
	return below("/home") || below("/root")
}
