package verdict

import (
	"regexp"
	"slices"
	"strings"
)

// Waiver hides findings of one rule until a date.
type Waiver struct {
	Rule string `json:"rule"`
	// Match restricts the waiver to findings for which all entries match: "subject" and "target" by their names; any
	// other key is a fact of the evidence. A value is a glob: "*" matches any text, "?" one character.
	Match  map[string]string `json:"match"`
	Reason string            `json:"reason"`
	Until  string            `json:"until"` // ISO date, the last day on which it holds; empty: no end
}

// WaiverUse records how a waiver was used.
type WaiverUse struct {
	Waiver
	Expired bool `json:"expired"` // its day has passed: it hides nothing
	Matched int  `json:"matched"` // findings that it is about
}

// Covers reports whether a waiver applies to a finding, whatever the date.
func (w Waiver) Covers(f Finding) bool {
	if f.Rule != w.Rule {
		return false
	}
	for key, glob := range w.Match {
		if !slices.ContainsFunc(keyValues(f, key), globMatcher(glob)) {
			return false
		}
	}
	return true
}

// keyValues returns a finding's values for a key of Waiver.Match.
func keyValues(f Finding, key string) []string {
	switch key {
	case "subject":
		return []string{f.Subject}
	case "target":
		return []string{f.Target}
	}
	var values []string
	for _, e := range f.Evidence {
		if strings.EqualFold(e.Fact, key) {
			values = append(values, e.Value)
		}
	}
	return values
}

var globSigns = strings.NewReplacer(`\*`, ".*", `\?`, ".")

// globMatcher returns a function that matches a glob against a whole text. Its "*" also matches slashes, because
// subjects contain paths.
func globMatcher(glob string) func(string) bool {
	glob = regexp.QuoteMeta(strings.ToValidUTF8(glob, "\uFFFD")) // regexp takes nothing else
	return regexp.MustCompile("(?s)^" + globSigns.Replace(glob) + "$").MatchString
}

// Waive moves waived findings into Suppressed, each under the first waiver that covers it.
func (v *Verdict) Waive(waivers []Waiver, today string) {
	for _, w := range waivers {
		if w.Match == nil {
			w.Match = map[string]string{}
		}
		v.Waivers = append(v.Waivers, WaiverUse{Waiver: w, Expired: w.Until != "" && w.Until < today})
	}
	v.Findings = slices.DeleteFunc(v.Findings, v.suppress)
}

// suppress counts the waivers that cover a finding, and reports whether one hides it.
func (v *Verdict) suppress(f Finding) bool {
	hidden := false
	for i := range v.Waivers {
		w := &v.Waivers[i]
		if !w.Covers(f) {
			continue
		}
		w.Matched++
		if !w.Expired && !hidden {
			v.Suppressed = append(v.Suppressed, Suppressed{f, w.Reason, w.Until})
			hidden = true
		}
	}
	return hidden
}
