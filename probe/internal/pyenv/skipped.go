package pyenv

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
)

// Skipped writes down the places that the search could not see. They are needed if an environment that was named or is
// active is in one of them or has one of them in it, if nothing runs here, or if the place failed for another reason than
// that it is closed: an environment may be there then, which this user can import. needed are the roots and the import
// paths of the environments that count.
func (s *Search) Skipped(needed []string) {
	homes := map[string]bool{}
	for _, skipped := range host.Topmost(s.DrainSkipped()) {
		concerns := slices.ContainsFunc(needed, func(root string) bool { return within(root, skipped.Place) || within(skipped.Place, root) })
		kind := facts.UnreadNeeded
		switch {
		case skipped.Cut:
			kind = facts.UnreadCut
		case concerns:
		case skipped.Closed && host.IsPrivate(skipped.Place):
			if home := s.homeOf(skipped.Place); home != "" {
				homes[home] = true
			}
			continue
		case s.Rest:
		case skipped.Closed && !isSearched(skipped.Place) && !IsPrefix(s.Host, skipped.Place), host.IsPrivate(skipped.Place):
			kind = facts.UnreadClosed
		}
		if i := s.unreadAt(skipped.Place); i >= 0 {
			s.Found.Unread[i].Probe = "python" // rules that miss something there are withheld
		} else {
			s.Found.Unread = append(s.Found.Unread, facts.Unread{Place: skipped.Place, Reason: skipped.Reason, Kind: kind, Probe: "python"})
		}
	}
	s.closedHomes(homes)
}

// closedHomes records how many homes were closed, without their names, which are users' names. This user cannot import
// what he may not read there; a tree at rest may be meant for another user. On a running machine, nobody else's
// programs are in root's home or in another user's process.
func (s *Search) closedHomes(homes map[string]bool) {
	count := map[string]int{}
	for home := range homes {
		count[path.Dir(home)]++
	}
	kind := facts.UnreadClosed
	if s.Rest {
		kind = facts.UnreadNeeded
	}
	for _, parent := range slices.Sorted(maps.Keys(count)) {
		place := fmt.Sprintf("%d directories under %s", count[parent], parent)
		if count[parent] == 1 {
			place = "1 directory under " + parent
		}
		s.Found.Unread = append(s.Found.Unread, facts.Unread{Place: place, Kind: kind, Reason: "this user may not read what is there"})
	}
}

// homeOf returns the home that a place is in: /home/NAME, and root's at rest; "" for any other place.
func (s *Search) homeOf(place string) string {
	if name, ok := strings.CutPrefix(place, "/home/"); ok {
		name, _, _ = strings.Cut(name, "/")
		return "/home/" + name
	}
	if s.Rest && within(place, "/root") {
		return "/root"
	}
	return ""
}

// isSearched reports whether a place is one of the directories that are searched for environments, or above one. On a
// healthy machine everybody may list these.
func isSearched(place string) bool {
	return slices.ContainsFunc(bases, func(base string) bool { return within(strings.TrimSuffix(base, "/*"), place) })
}

// unreadAt returns the index of the entry that names a place, directly or in the reason for its directory, or -1.
func (s *Search) unreadAt(place string) int {
	return slices.IndexFunc(s.Found.Unread, func(u facts.Unread) bool {
		return u.Place == place || path.IsAbs(u.Place) && within(place, u.Place) && strings.Contains(u.Reason, place)
	})
}

// within reports whether a place is a directory or lies in it.
func within(place, dir string) bool {
	return place == dir || strings.HasPrefix(place, strings.TrimSuffix(dir, "/")+"/")
}
