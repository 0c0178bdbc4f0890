package pyenv

import (
	pip "cudacompat/probe/internal/input/requirements"
)

// Unmet is a requirement that an environment does not meet: it has no such distribution, or an older release of it.
type Unmet struct {
	pip.Requirement
	By      string   // the dist-info directory of the distribution that requires it
	Have    string   // the release that is there; empty where there is none
	Modules []string // that it brings to the top of the import path; nil where it is not there
}

// String returns how an installer is asked for it, "mpmath>=1.1.0,<1.4".
func (u Unmet) String() string { return u.Name + u.Range }

// Requirements are the requirements of one distribution: the dist-info directories of those that are installed, and the
// unmet ones.
type Requirements struct {
	Met   []string
	Unmet []Unmet
}
