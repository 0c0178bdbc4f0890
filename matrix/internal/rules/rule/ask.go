package rule

import (
	"cmp"
	"slices"

	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
)

// Ask runs a rule and returns its results.
func Ask(m *model.Machine, rule Rule, b *model.Build) []*Result {
	return withholdUnseen(m, rule, b, ask(m, rule, b))
}

// withholdUnseen replaces errors and warnings about an absence by a missing fact if a probe that the rule relies on
// could not look everywhere, because the thing may be in the place that was skipped. It drops notes, since the skipped
// place is itself reported.
func withholdUnseen(m *model.Machine, rule Rule, b *model.Build, results []*Result) []*Result {
	place := ""
	for _, probe := range rule.Absence {
		place = cmp.Or(place, m.Unseen(probe))
		if probe == "python" && b != nil && rule.Link == verdict.LinkLibraries {
			place = cmp.Or(place, m.UnseenIn(b.Env.Path))
		}
		if probe != "python" { // much of a machine is not in its containers, and this source tells them apart
			place = cmp.Or(place, m.Unseen("system"))
		}
	}
	if place == "" {
		return results
	}
	results = slices.DeleteFunc(results, func(r *Result) bool {
		return r.Finding != nil && r.Finding.Severity == verdict.Note && !r.Proven
	})
	for i, r := range results {
		if r.Finding == nil || r.Proven {
			continue
		}
		missing := verdict.Statement(place)
		results[i] = &Result{Subject: r.Subject, Missing: missing, Need: r.Need, Decides: true, Open: rule.OnMachine != nil, Unseen: true, Link: r.Link}
	}
	return results
}

// ask runs a rule on the facts that were found.
func ask(m *model.Machine, rule Rule, b *model.Build) []*Result {
	switch {
	case b != nil && rule.Link == verdict.LinkCode: // which GPUs a program is shown decides
		return AddVenvStep(b.Env, lowerErrors(b, rule, AskForVisibleGPUs(m, rule.OnBuild, b)))
	case b != nil:
		return AddVenvStep(b.Env, lowerErrors(b, rule, rule.OnBuild(m, b)))
	case rule.OnMachine != nil:
		return rule.OnMachine(m)
	}
	return nil
}

// AddVenvStep adds a step to results whose pins change a Python that the distribution protects from pip (PEP 668).
func AddVenvStep(e *model.Environment, results []*Result) []*Result {
	if pins.Interpreter(e) == "" || e.Managed == "" {
		return results
	}
	for _, r := range results {
		if r.Finding != nil && slices.ContainsFunc(r.Finding.Pins, func(p verdict.Pin) bool { return p.Commands["pip"] != "" }) {
			r.Finding.Steps = append(r.Finding.Steps, pin.Say("install into a venv (python3 -m venv), or ask apt or dnf for the package: the distribution manages this Python ("+pin.Word(e.Managed)+", PEP 668), so pip refuses to install into it").Instead())
		}
	}
	return results
}

// lowerErrors turns errors into warnings for a build that continues without the GPU. It marks them, because they still
// suppress their consequences as errors do.
func lowerErrors(b *model.Build, rule Rule, results []*Result) []*Result {
	for _, r := range results {
		if r.Finding != nil && r.Finding.Severity == verdict.Error && b.GoesOn() && !b.FailsWithout() && rule.Link != verdict.LinkPython {
			f := *r.Finding
			f.Message += "; " + b.Name + " continues on the CPU"
			r.Finding, r.CPUOnly = &f, true
		}
	}
	return results
}

// AskForVisibleGPUs runs a check that depends on the GPUs. If it is unknown which GPUs a program sees, it runs the
// check for each GPU alone and for all together, and returns a result only if they agree. While all GPUs are hidden it
// returns nothing above a note.
func AskForVisibleGPUs(m *model.Machine, ask func(*model.Machine, *model.Build) []*Result, b *model.Build) []*Result {
	results := ask(m, b)
	if !m.Shown.Unsure.IsMissing() {
		return results
	}
	weights := []verdict.Severity{weight(results)}
	for i := range m.Kinds {
		alone := *m
		alone.Memo = &model.Memo{}
		alone.Judge(m.Kinds[i : i+1])
		weights = append(weights, weight(ask(&alone, b)))
	}
	hidden := m.Shown.Hidden && weights[0] != "" && weights[0] != verdict.Note
	switch {
	case len(slices.Compact(slices.Clone(weights))) == 1 && !hidden:
		return results
	case slices.Contains(weights, verdict.Error):
		return ReportUndecided(b.Subject, m.Shown.Unsure)
	}
	return ReportMissing(b.Subject, m.Shown.Unsure)
}

// weight returns the highest severity among a rule's results, or "" if there are none.
func weight(results []*Result) verdict.Severity {
	for _, r := range results {
		if r.Finding != nil {
			return r.Finding.Severity
		}
	}
	return ""
}
