package framework

import (
	"errors"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/version"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/pydist"
	"cudacompat/probe/internal/pyenv"
)

// Read reads the environments in envs, otherwise the active one and all in known places. If an environment cannot be
// read, the others are not affected.
func Read(h *host.Host, envs []string) (pyenv.Found, error) {
	return ReadTelling(h, envs, func(pyenv.Found) {})
}

// ReadTelling is Read, but also reports after each environment what it has found so far, for a caller that may not wait
// for the rest.
func ReadTelling(h *host.Host, envs []string, soFar func(pyenv.Found)) (pyenv.Found, error) {
	s := &pyenv.Search{Host: h, Seen: map[string]int{}, OnPath: map[string]bool{}}
	var needed []string // where the environments that count are
	for _, c := range s.Candidates(envs) {
		if c.Active || c.Named {
			needed = append(needed, c.Root)
		}
		for _, p := range pyenv.PrefixesAt(h, c.Root, &s.Failed) {
			if c.Active || c.Named {
				needed = append(needed, pyenv.ImportPath(h, p)...)
			}
			if c.Python == "" || strings.HasPrefix(p.Python+".", c.Python+".") {
				read(s, p, c)
				soFar(pyenv.Found{Environments: slices.Clone(s.Found.Environments), Unread: slices.Clone(s.Found.Unread)})
			}
		}
	}
	if len(envs) == 0 {
		var failed host.Errors
		s.Found.Programs = readPrograms(h, &failed)
		unreadFiles(s, "CUDA programs outside Python", failed, s.Rest)
	}
	s.Skipped(needed)
	if len(s.Found.Environments)+len(s.Found.Programs)+len(s.Found.Unread)+len(s.Failed) == 0 {
		return pyenv.Found{}, host.ErrAbsent
	}
	return s.Found, s.Failed.Err()
}

// read adds one environment, or the marks of another way to one that is known.
func read(s *pyenv.Search, p pyenv.Prefix, c pyenv.Candidate) {
	imported := func(dir string) bool { return s.OnPath[dir] }
	if p.Kind == "user" && !c.Active && !c.Named && len(p.Sites) > 0 && !slices.ContainsFunc(p.Sites, func(dir string) bool { return !imported(dir) }) {
		return // what is in there is judged with the environment that imports it
	}
	p.Started = (c.Active || c.Named) && p.Kind != "target" && s.Starts()
	p.Own = p.Sites
	p.Sites = pyenv.ImportPath(s.Host, p)
	i, known := s.Seen[p.Key(s.Host)]
	if !known {
		var failed host.Errors
		index := pydist.NewIndex(s.Host, p.Sites)
		env := readEnvironment(s.Host, p, index, &failed)
		env.Found = c.Found
		env.OtherUser = !s.Rest && !c.Active && !c.Named && pyenv.BelongsToOther(s.Host, p.Path)
		for _, dir := range p.Sites {
			if p.Started {
				s.OnPath[dir] = true
			}
		}
		i = -1
		if c.Active || c.Named || len(env.Builds)+len(env.Packages) > 0 {
			i = len(s.Found.Environments)
			s.Found.Environments = append(s.Found.Environments, env)
		}
		s.Seen[p.Key(s.Host)] = i
		unreadSites(s, p, c, index, env.Builds)
		unreadFiles(s, p.Path, failed, c.Active || c.Named || s.Rest || !env.OtherUser)
	}
	if i >= 0 {
		env := &s.Found.Environments[i]
		env.Active, env.Named = env.Active || c.Active, env.Named || c.Named
	}
}

// unreadSites names the directories on the import path that could not be read.
func unreadSites(s *pyenv.Search, p pyenv.Prefix, c pyenv.Candidate, index *pydist.Index, builds []facts.Build) {
	for _, dir := range p.Sites {
		if _, err := s.ReadDir(dir); pyenv.Unreadable(err) {
			kind := facts.UnreadClosed
			if c.Active || c.Named || s.Rest {
				kind = facts.UnreadNeeded
			}
			s.Unread(dir, host.Plain(err).Error(), kind)
		}
	}
	for _, file := range pyenv.UnfollowedFiles(s.Host, index, p, builds) {
		if c.Active || c.Named {
			s.Unread(file, "Python runs this file when it starts, and which directories it adds to the import path cannot be determined", facts.UnreadNeeded)
		}
	}
	if s.Rest && (p.Kind == "venv" || p.Kind == "conda") || len(p.Sites) == 0 && (s.Rest || c.Active || c.Named) {
		lostSites(s, p)
	}
}

// lostSites names the first package directory whose link leads nowhere. In a tree at rest, a file system may be mounted
// there later. If a named or active environment has no other package directory, it counts as not seen.
func lostSites(s *pyenv.Search, p pyenv.Prefix) {
	for _, tail := range pyenv.SiteTails(version.ShortPython(p.Python)) {
		for _, dir := range []string{p.Path + tail, path.Dir(p.Path + tail)} {
			if leads, err := s.Readlink(dir); err == nil && !s.Exists(dir) {
				where := "which is not there"
				if s.Rest {
					where = "which is not in this tree"
				}
				s.Unread(dir, "it leads to "+pyenv.LastLink(s.Host, dir, leads)+", "+where, facts.UnreadNeeded)
				return
			}
		}
	}
}

// unreadFiles names what of a place could not be read, and so was not judged.
func unreadFiles(s *pyenv.Search, place string, failed host.Errors, needed bool) {
	for _, text := range failed {
		s.Failed.Add(errors.New(text))
	}
	kind := facts.UnreadClosed
	if needed {
		kind = facts.UnreadNeeded
	}
	if list := failed.Unread(); len(list) > 0 {
		s.Unread(place, strings.Join(list, "; "), kind)
	}
}

// IsEnvironment reports whether root is a Python environment or a directory of distributions.
func IsEnvironment(h *host.Host, root string) bool {
	root = pyenv.NamedPython(h, root).Root
	return pyenv.IsPrefix(h, root) || pyenv.IsTarget(h, root)
}
