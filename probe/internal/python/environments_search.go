package python

import (
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

// Found is what the search for environments came to.
type Found struct {
	Environments []facts.Environment
	Programs     []facts.Environment // CUDA programs outside Python
	Unread       []facts.Unread      // places that could hold one and were not looked at
}
