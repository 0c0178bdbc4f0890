package guard

import (
	"slices"
	"strings"

	"cudacompat/internal/config"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// Schema names the form of Forecast in JSON. Fields may be added under the same name, never renamed.
const Schema = "cudacompat/guard/v1"

// Decision is what guard does with a command.
type Decision string

// The decisions.
const (
	Fine    Decision = "fine"    // nothing breaks that is not broken already
	Breaks  Decision = "breaks"  // something that works, or that comes, will not
	Unclear Decision = "unknown" // it cannot be determined beforehand
)

// Forecast is what a command would do to an environment, and what became of it.
type Forecast struct {
	Schema      string          `json:"schema"`
	Command     []string        `json:"command"`     // as it was typed
	Environment string          `json:"environment"` // the one that it changes
	Plan        facts.Plan      `json:"plan"`        // what it removes and installs, as far as it matters to CUDA
	Others      int             `json:"others"`      // how many further packages it removes or installs
	Decision    Decision        `json:"decision"`
	Before      verdict.Outcome `json:"before"`
	After       verdict.Outcome `json:"after"` // as it is foretold
	Changes     []Change        `json:"changes"`
	// Breaks are errors that are not there now, Fixes those that will be gone, Still those that stay.
	Breaks  []verdict.Finding `json:"breaks"`
	Fixes   []verdict.Finding `json:"fixes"`
	Still   []verdict.Finding `json:"still"`
	Warns   []verdict.Finding `json:"warns"`   // warnings that are not there now
	Unknown []verdict.Missing `json:"unknown"` // what cannot be determined beforehand
	Instead *Instead          `json:"instead"` // what to ask for in its place; null where nothing was found
	Ran     bool              `json:"ran"`     // whether the command was run
	Exit    int               `json:"exit"`    // its own exit code where it ran, else guard's
	Differs []Difference      `json:"differs"` // what came out otherwise than it was foretold
	// Configuration is the configuration file that was found; nil where there was none.
	Configuration *config.Effect `json:"configuration,omitempty"`
}

// Change is one build whose answer, or whose release, is another one afterwards.
type Change struct {
	Build  string         `json:"build"`  // "torch"
	Target string         `json:"target"` // instance type; empty for one machine
	From   string         `json:"from"`   // its release now; empty where it is not there
	To     string         `json:"to"`     // its release afterwards; empty where it is gone
	Was    verdict.Answer `json:"was"`    // empty where it is not there
	Will   verdict.Answer `json:"will"`   // empty where it is gone
}

// Instead is a command that was tried, by its own dry run, and found to break nothing.
type Instead struct {
	Command []string        `json:"command"`
	After   verdict.Outcome `json:"after"`
}

// Difference is a build that came out otherwise than it was foretold.
type Difference struct {
	Build    string         `json:"build"`
	Target   string         `json:"target"`
	Foretold verdict.Answer `json:"foretold"` // empty: it was not to be there
	Is       verdict.Answer `json:"is"`       // empty: it is not there
}

// State is the state of an environment with its verdict.
type State struct {
	Facts   facts.Facts
	Verdict verdict.Verdict
}

// Compare returns the forecast of a command by the verdicts before and after it; plan is what of its plan matters to
// CUDA.
func Compare(c Command, environment string, plan facts.Plan, before, after State) Forecast {
	f := Forecast{Schema: Schema, Command: c.Argv, Environment: environment, Plan: plan, Before: before.Verdict.Outcome,
		After: after.Verdict.Outcome, Decision: Fine, Changes: foretold(before.Verdict, after),
		Differs: []Difference{}}
	f.Breaks = fresh(after.Verdict, before.Verdict, verdict.Error)
	f.Fixes = slices.DeleteFunc(fresh(before.Verdict, after.Verdict, verdict.Error), f.isOpen)
	f.Warns = fresh(after.Verdict, before.Verdict, verdict.Warning)
	f.Still = slices.DeleteFunc(findingsOfSeverity(after.Verdict, verdict.Error), func(x verdict.Finding) bool {
		return slices.ContainsFunc(f.Breaks, func(y verdict.Finding) bool { return keyOf(x) == keyOf(y) })
	})
	f.Unknown = freshUnknown(after.Verdict, before.Verdict)
	switch {
	case len(f.Breaks) > 0 || slices.ContainsFunc(f.Changes, Change.breaks):
		f.Decision = Breaks
	case f.unclear(after.Verdict):
		f.Decision = Unclear
	}
	return f
}

// isOpen reports whether the plan leaves the build of a finding unknown. The finding then does not count as gone.
func (f *Forecast) isOpen(x verdict.Finding) bool {
	return slices.ContainsFunc(f.Changes, func(c Change) bool {
		return c.Build == name(x.Subject) && c.Target == x.Target && c.Will == verdict.Unknown
	})
}

// unclear reports whether the effect of the command is unknown. If it changes nothing that concerns CUDA, earlier
// unknowns do not count.
func (f *Forecast) unclear(after verdict.Verdict) bool {
	if len(f.Unknown) > 0 && after.Outcome == verdict.Inconclusive {
		return true
	}
	if slices.ContainsFunc(f.Changes, func(c Change) bool { return c.Will == verdict.Unknown }) {
		return true
	}
	return f.matters() && after.Outcome == verdict.Inconclusive && slices.ContainsFunc(after.Judged,
		func(j verdict.Judged) bool { return len(j.GPUs) == 0 })
}

// matters reports whether the plan moves more than what serves every framework alike.
func (f *Forecast) matters() bool {
	return slices.ContainsFunc(slices.Concat(f.Plan.Installs, f.Plan.Removes), func(p facts.Planned) bool {
		return p.Name != "numpy" && p.Name != "protobuf"
	})
}

// breaks reports whether a build that is not broken now, or not there, will be broken.
func (c Change) breaks() bool { return c.Will == verdict.Broken && c.Was != verdict.Broken }

// key identifies what a finding is about, whatever the release: "driver-too-old torch".
type key struct{ rule, name, target string }

func keyOf(f verdict.Finding) key { return key{f.Rule, name(f.Subject), f.Target} }

// name returns the package that a subject begins with, "torch" of "torch 2.9.0 in /opt/venv".
func name(subject string) string { first, _, _ := strings.Cut(subject, " "); return first }

// release returns what follows it, "2.9.0".
func release(subject string) string {
	words := strings.Fields(subject)
	if len(words) < 2 {
		return ""
	}
	return words[1]
}

func findingsOfSeverity(v verdict.Verdict, s verdict.Severity) []verdict.Finding {
	list := []verdict.Finding{}
	for _, f := range v.Findings {
		if f.Severity == s {
			list = append(list, f)
		}
	}
	return list
}

// fresh returns the findings of one verdict that the other one does not have, or has as something less.
func fresh(of, than verdict.Verdict, s verdict.Severity) []verdict.Finding {
	return slices.DeleteFunc(findingsOfSeverity(of, s), func(x verdict.Finding) bool {
		return slices.ContainsFunc(than.Findings, func(y verdict.Finding) bool {
			return keyOf(x) == keyOf(y) && (y.Severity == s || y.Severity == verdict.Error)
		})
	})
}

func freshUnknown(of, than verdict.Verdict) []verdict.Missing {
	list := []verdict.Missing{}
	for _, x := range of.Unknown {
		known := slices.ContainsFunc(than.Unknown, func(y verdict.Missing) bool {
			return x.Rule == y.Rule && name(x.Subject) == name(y.Subject) && x.Target == y.Target
		})
		if !known {
			list = append(list, x)
		}
	}
	return list
}

// changes returns the builds that have another release or another answer afterwards.
func changes(before, after verdict.Verdict) []Change {
	list := []Change{}
	for _, a := range before.Answers {
		if !a.Counts {
			continue
		}
		c := Change{Build: name(a.Subject), Target: a.Target, From: release(a.Subject), Was: a.Answer}
		if b := answerOf(after, a); b != nil {
			c.To, c.Will = release(b.Subject), b.Answer
		}
		if c.From != c.To || c.Was != c.Will {
			list = append(list, c)
		}
	}
	for _, b := range after.Answers {
		if b.Counts && answerOf(before, b) == nil {
			list = append(list, Change{Build: name(b.Subject), Target: b.Target, To: release(b.Subject), Will: b.Answer})
		}
	}
	return list
}

// foretold returns the changes. Packages that come and have no answer of their own are included if they were compared
// with their framework.
func foretold(before verdict.Verdict, after State) []Change {
	list := changes(before, after.Verdict)
	if after.Facts.Plan == nil {
		return list
	}
	for i := range list {
		c := &list[i]
		if to, comes := after.Facts.Plan.Installed(c.Build); comes && c.To == "" {
			c.To = to
			c.Will = comparison(after.Verdict, c.Build)
		}
	}
	return slices.DeleteFunc(list, func(c Change) bool { return c.From == c.To && c.Was == c.Will })
}

// comparison returns the answer that follows from comparing a package with its framework, or "" if they were not
// compared.
func comparison(v verdict.Verdict, build string) verdict.Answer {
	about := func(rule, subject string) bool {
		return name(subject) == build && (rule == "companion-mismatch" || rule == "extension-mismatch")
	}
	switch {
	case slices.ContainsFunc(v.Findings, func(f verdict.Finding) bool {
		return about(f.Rule, f.Subject) && f.Severity == verdict.Error
	}):
		return verdict.Broken
	case slices.ContainsFunc(v.Passed, func(p verdict.Passed) bool { return about(p.Rule, p.Subject) }):
		return verdict.Works
	}
	return ""
}

// answerOf returns another verdict's answer for the same build; nil where it has none.
func answerOf(v verdict.Verdict, like verdict.BuildAnswer) *verdict.BuildAnswer {
	i := slices.IndexFunc(v.Answers, func(a verdict.BuildAnswer) bool {
		return a.Counts && name(a.Subject) == name(like.Subject) && a.Target == like.Target
	})
	if i < 0 {
		return nil
	}
	return &v.Answers[i]
}

// Learn records what differs from the forecast. Any kind of compatibility counts as working. It is no surprise if a
// package without a forecast works. A command that failed and changed nothing says so itself.
func (f *Forecast) Learn(before verdict.Verdict, after State, is verdict.Verdict) {
	if f.Exit != 0 && len(changes(before, is)) == 0 {
		return
	}
	for _, c := range changes(after.Verdict, is) {
		_, comes := after.Facts.Plan.Installed(c.Build)
		if class(c.Was) != class(c.Will) && !(comes && c.Was == "" && class(c.Will) == verdict.Works) {
			f.Differs = append(f.Differs, Difference{Build: c.Build, Target: c.Target, Foretold: c.Was, Is: c.Will})
		}
	}
}

func class(a verdict.Answer) verdict.Answer {
	if strings.HasPrefix(string(a), string(verdict.Works)) {
		return verdict.Works
	}
	return a
}

// TouchedPackages returns the packages that a plan touches, each once.
func TouchedPackages(p facts.Plan) []string {
	var names []string
	for _, one := range slices.Concat(p.Installs, p.Removes) {
		if !slices.Contains(names, one.Name) {
			names = append(names, one.Name)
		}
	}
	return names
}
