// Package python reads Python environments: the frameworks in them, what these were built with, and the libraries that
// the loader would map for them. Nothing in an environment is imported.
package python

import (
	"errors"
	"slices"
	"strings"

	"cudacompat/internal/version"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
)

// Read reads the environments that envs names, else the active one and all in known places. An environment that cannot
// be read costs only itself.
func Read(h *host.Host, envs []string) (Found, error) { return ReadTelling(h, envs, func(Found) {}) }

// ReadTelling is Read that tells after each environment what it has by then, for a reader who may not wait for the
// rest.
func ReadTelling(h *host.Host, envs []string, soFar func(Found)) (Found, error) {
	s := &search{Host: h, places: map[string]int{}, seen: map[string]int{}}
	for _, c := range s.candidates(envs) {
		for _, p := range prefixesAt(h, c.root, &s.failed) {
			if c.python == "" || strings.HasPrefix(p.python+".", c.python+".") {
				s.read(p, c)
				soFar(Found{Environments: slices.Clone(s.found.Environments), Unread: slices.Clone(s.found.Unread)})
			}
		}
	}
	s.closedPlaces()
	if len(envs) == 0 {
		var failed host.Errors
		s.found.Programs = readPrograms(h, &failed)
		s.unreadFiles("CUDA programs outside Python", failed, s.Rest)
	}
	if len(s.found.Environments)+len(s.found.Programs)+len(s.found.Unread)+len(s.failed) == 0 {
		return Found{}, host.ErrAbsent
	}
	return s.found, s.failed.Err()
}

// read adds one environment, or the marks of another way to one that is known.
func (s *search) read(p prefix, c candidate) {
	p.started = (c.active || c.named) && p.kind != "target" && s.Starts()
	p.sites = importPath(s.Host, p)
	i, known := s.seen[p.key(s.Host)]
	if !known {
		var failed host.Errors
		env := readEnvironment(s.Host, p, &failed)
		env.Found = c.found
		env.OtherUser = !s.Rest && !c.active && !c.named && ofOtherUser(s.Host, p.path)
		i = -1
		if c.active || c.named || len(env.Builds)+len(env.Packages) > 0 {
			i = len(s.found.Environments)
			s.found.Environments = append(s.found.Environments, env)
		}
		s.seen[p.key(s.Host)] = i
		s.unreadSites(p, c, env.Builds)
		s.unreadFiles(p.path, failed, c.active || c.named || s.Rest || !env.OtherUser)
	}
	if i >= 0 {
		env := &s.found.Environments[i]
		env.Active, env.Named = env.Active || c.active, env.Named || c.named
	}
}

// unreadSites names the directories on the import path that could not be read.
func (s *search) unreadSites(p prefix, c candidate, builds []facts.Build) {
	for _, dir := range p.sites {
		if _, err := s.ReadDir(dir); unreadable(err) {
			kind := facts.UnreadClosed
			if c.active || c.named || s.Rest {
				kind = facts.UnreadNeeded
			}
			s.unread(dir, host.Plain(err).Error(), kind)
		}
	}
	for _, file := range unfollowedFiles(s.Host, p.sites, builds) {
		if c.active || c.named {
			s.unread(file, "Python runs this file when it starts, and which directories it adds to the import path cannot be determined", facts.UnreadNeeded)
		}
	}
	if p.kind == "venv" || p.kind == "conda" {
		s.mountedSites(p)
	}
}

// mountedSites names the package directories of a tree at rest that lead out of it: a file system is mounted there when
// the machine runs. On a running machine nothing is imported from them.
func (s *search) mountedSites(p prefix) {
	for _, tail := range siteTails(version.ShortPython(p.python)) {
		dir := p.path + tail
		if leads, err := s.Readlink(dir); err == nil && s.Rest && !s.Exists(dir) {
			s.unread(dir, "it leads to "+lastLink(s.Host, dir, leads)+", which is not in this tree", facts.UnreadNeeded)
			return
		}
	}
}

// unreadFiles names what of a place could not be read, and so was not judged.
func (s *search) unreadFiles(place string, failed host.Errors, needed bool) {
	for _, text := range failed {
		s.failed.Add(errors.New(text))
	}
	kind := facts.UnreadClosed
	if needed {
		kind = facts.UnreadNeeded
	}
	if list := failed.Unread(); len(list) > 0 {
		s.unread(place, strings.Join(list, "; "), kind)
	}
}

// IsEnvironment reports whether a Python environment stands at root, or a directory of distributions.
func IsEnvironment(h *host.Host, root string) bool {
	root = namedPython(h, root).root
	return isPrefix(h, root) || isTarget(h, root)
}
