package tables

import (
	"slices"
	"strconv"
	"strings"
)

// Cause is what a rule's fault on a machine can bring about in the logs of its programs.
type Cause struct {
	Rule     string   `csv:"rule"`     // whose error it is
	As       string   `csv:"as"`       // another rule of this table, all of whose causes it can bring about, too
	Blame    string   `csv:"blame"`    // "environment" or "hardware"
	Statuses []string `csv:"statuses"` // "cuda:803", "nvml:18": what calls return; each stands for its cause in status.csv
	Causes   []string `csv:"causes"`   // of logs, as explain names them
	Why      string   `csv:"why"`      // how it comes to that, in a sentence
	Origin
}

// CauseOf returns what is known about a rule's fault, or nil.
func (t *Tables) CauseOf(rule string) *Cause {
	rows := Rows[Cause](t)
	i := slices.IndexFunc(rows, func(c Cause) bool { return c.Rule == rule })
	if i < 0 {
		return nil
	}
	return &rows[i]
}

// Brings reports whether a rule's fault can bring a cause of a log about.
func (t *Tables) Brings(rule, cause string) bool {
	c := t.CauseOf(rule)
	if c == nil {
		return false
	}
	if slices.Contains(c.Causes, cause) || c.As != "" && t.Brings(c.As, cause) {
		return true
	}
	return slices.ContainsFunc(c.Statuses, func(word string) bool {
		s := t.statusNamed(word)
		return s != nil && s.Cause == cause
	})
}

// statusNamed returns the row of a word such as "cuda:803", or nil. CUDA's driver and runtime share numbers.
func (t *Tables) statusNamed(word string) *Status {
	api, code, _ := strings.Cut(word, ":")
	rows := Rows[Status](t)
	i := slices.IndexFunc(rows, func(s Status) bool {
		return strings.TrimSuffix(strings.TrimSuffix(s.API, "-driver"), "-runtime") == api && strconv.Itoa(s.Code) == code &&
			s.Cause != ""
	})
	if i < 0 {
		return nil
	}
	return &rows[i]
}
