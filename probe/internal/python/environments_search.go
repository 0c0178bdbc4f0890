package python

import (
	"fmt"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
)

// search is the search on its way.
type search struct {
	*host.Host
	found  Found
	failed host.Errors
	seen   map[string]int // a prefix's key → its index in found.Environments, -1 when it holds nothing
	places map[string]int // directory → how many places below it this user may not read
}

func (s *search) unread(place, reason, kind string) {
	s.found.Unread = append(s.found.Unread, facts.Unread{Place: place, Reason: reason, Kind: kind})
}

// firstOf is as much of a list as is looked at; where that is not all of it, the place was not looked at as a whole.
func firstOf[T any](s *search, list []T, most int, place, reason string) []T {
	if len(list) <= most {
		return list
	}
	s.unread(place, fmt.Sprintf(reason, most, len(list)), facts.UnreadCut)
	return list[:most]
}

// Found is what the search for environments came to.
type Found struct {
	Environments []facts.Environment
	Programs     []facts.Environment // CUDA programs outside Python
	Unread       []facts.Unread      // places that could hold one and were not looked at
}
