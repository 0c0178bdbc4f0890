package requires

import "slices"

// Supported says whether an artefact runs where its repository promises that it does.
type Supported struct {
	Target  string `json:"target"` // "V100, driver 525.60.13", or a platform
	Holds   bool   `json:"holds"`
	Unknown bool   `json:"unknown"` // a fact is missing to tell
	Because []Need `json:"because"` // the needs that are not met there
}

// Broken reports whether the artefact does not run there.
func (s Supported) Broken() bool { return !s.Holds && !s.Unknown }

// Supports is a promise, and what an artefact makes of it.
type Supports struct {
	From    string      `json:"from"` // the configuration that says it
	Targets []Supported `json:"targets"`
}

// Broken reports whether part of the promise is broken.
func (s *Supports) Broken() bool { return s != nil && slices.ContainsFunc(s.Targets, Supported.Broken) }

// Unknown reports whether a fact is missing to tell that the promise holds.
func (s *Supports) Unknown() bool {
	return s != nil && slices.ContainsFunc(s.Targets, func(t Supported) bool { return t.Unknown })
}
