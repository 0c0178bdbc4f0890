package judge

import (
	"cmp"
	"slices"

	"cudacompat/internal/inputs"
	"cudacompat/internal/report"
	"cudacompat/matrix"
	"cudacompat/matrix/verdict"
	"cudacompat/probe"
	"cudacompat/probe/facts"
)

// JoinReports combines the reports of several machines.
func JoinReports(machines []inputs.Description, reports []report.Report) report.Report {
	joined := reports[0]
	var verdicts []verdict.Verdict
	var names []string
	joined.Facts, joined.Machines = probe.Facts{}, nil
	for i, r := range reports {
		verdicts, names = append(verdicts, r.Verdict), append(names, machines[i].Name)
		joined.Machines = append(joined.Machines, report.Machine{Name: machines[i].Name, Facts: r.Facts})
		joined.Facts.Environments = addEnvironments(joined.Facts.Environments, r.Facts.Environments)
		joined.Facts.Programs = addEnvironments(joined.Facts.Programs, r.Facts.Programs)
		joined.Facts.Toolkits = append(joined.Facts.Toolkits, r.Facts.Toolkits...)
		joined.Facts.Probes = append(joined.Facts.Probes, r.Facts.Probes...)
		joined.Facts.Unread = append(joined.Facts.Unread, r.Facts.Unread...)
		if r.Log != nil && (joined.Log == nil || !blamesMachine(joined.Log.Blame)) {
			joined.Log = r.Log
		}
	}
	joined.Facts.System.Arch = reports[0].Facts.System.Arch
	joined.Facts.Complete()
	joined.Verdict = matrix.Join(names, verdicts)
	return joined
}

// addEnvironments appends the environments of another machine, without builds that the list has under the same name.
func addEnvironments(list, more []facts.Environment) []facts.Environment {
	known := map[string]bool{}
	named := func(w facts.Requested) string { return w.Name + " " + cmp.Or(w.Version, w.Specifier) + " " + w.From }
	for _, e := range list {
		for _, b := range e.Builds {
			known[matrix.Subject(&b, &e)] = true
		}
		for _, w := range e.Requested {
			known[named(w)] = true
		}
	}
	for _, e := range more {
		e.Builds = slices.DeleteFunc(slices.Clone(e.Builds), func(b facts.Build) bool { return known[matrix.Subject(&b, &e)] })
		e.Requested = slices.DeleteFunc(slices.Clone(e.Requested), func(w facts.Requested) bool { return known[named(w)] })
		list = append(list, e)
	}
	return list
}
