package pyenv

import (
	"fmt"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
)

// Search is the search on its way.
type Search struct {
	*host.Host
	Found  Found
	OnPath map[string]bool // the package directories of environments that this user starts
	Failed host.Errors
	Seen   map[string]int // a prefix's key → its index in found.Environments, -1 when it holds nothing
}

func (s *Search) Unread(place, reason, kind string) {
	s.Found.Unread = append(s.Found.Unread, facts.Unread{Place: place, Reason: reason, Kind: kind})
}

// firstOf returns as much of a list as is searched. If it shortens the list, the place counts as not looked at.
func firstOf[T any](s *Search, list []T, most int, place, reason string) []T {
	if len(list) <= most {
		return list
	}
	s.Unread(place, fmt.Sprintf(reason, most, len(list)), facts.UnreadCut)
	return list[:most]
}

// Found is the result of the search for environments.
type Found struct {
	Environments []facts.Environment
	Programs     []facts.Environment // CUDA programs outside Python
	Unread       []facts.Unread      // places that could hold one and were not looked at
}
