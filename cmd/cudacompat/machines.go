package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"cudacompat/internal/report"
	"cudacompat/matrix"
	"cudacompat/matrix/verdict"
	"cudacompat/probe"
	"cudacompat/probe/facts"
)

// description is a machine that documents describe.
type description struct {
	name    string // the file that describes it; empty for the only machine
	facts   probe.Facts
	text    []byte        // what it was read from, at its own lines
	pasted  bool          // whether an error may stand beside the description, as in a bug report
	foreign error         // why nothing but an error is read in the text; nil for any other text
	unknown []unknownText // the texts of no known kind, which only an error that is known in them makes sense of
	apart   bool          // whether it is judged by itself: its text describes several machines, or it is one of a project's files
}

// unknownText is a text of an unknown kind.
type unknownText struct {
	text []byte
	err  error // what to say if no error is known in it
}

// merge returns the machine with the facts of another document added.
func (m description) merge(o description) description {
	both := description{name: m.name, apart: m.apart, text: slices.Concat(m.text, o.text), pasted: m.pasted || o.pasted,
		unknown: slices.Concat(m.unknown, o.unknown)}
	switch {
	case m.foreign == nil && o.foreign == nil:
		both.facts = probe.Merge([]probe.Facts{m.facts, o.facts})
	case o.foreign == nil:
		both.facts = o.facts
	default:
		both.facts, both.foreign = m.facts, m.foreign
	}
	return both
}

// describesMachine reports whether the document names a driver or a GPU, or is judged separately.
func (m description) describesMachine() bool {
	return m.apart || m.facts.Driver.Version != "" || len(m.facts.GPUs) > 0
}

// completes reports whether a document may describe the same machine as m: neither contradicts the other, and each
// states a fact that the other lacks. Two reports of one kind, or two with packages, describe two machines.
func (m description) completes(o description) bool {
	driver, other := m.facts.Driver.Version, o.facts.Driver.Version
	switch {
	case m.apart && o.apart:
		return false
	case driver != "" && other != "" && driver != other, !sameGPUs(m.facts.GPUs, o.facts.GPUs):
		return false
	case len(m.facts.Environments) > 0 && len(o.facts.Environments) > 0:
		return false
	case (driver == "" || other == "") && (len(m.facts.GPUs) == 0 || len(o.facts.GPUs) == 0):
		return true
	}
	return !slices.ContainsFunc(m.facts.Probes, func(p facts.Status) bool {
		return slices.ContainsFunc(o.facts.Probes, func(other facts.Status) bool { return other.Name == p.Name })
	})
}

// sameGPUs reports whether two lists may be of the same GPUs: one is empty, or both contain the same names equally
// often.
func sameGPUs(a, b []facts.GPU) bool {
	if len(a) == 0 || len(b) == 0 {
		return true
	}
	names := func(list []facts.GPU) []string {
		var names []string
		for _, g := range list {
			names = append(names, strings.TrimPrefix(g.Name, "NVIDIA "))
		}
		slices.Sort(names)
		return names
	}
	return slices.EqualFunc(names(a), names(b), func(one, other string) bool { // a table cuts long names
		return strings.HasPrefix(one, other) || strings.HasPrefix(other, one)
	})
}

// groupMachines returns the machines that the documents of all files describe. A document without driver and GPU
// applies to each machine. If all are such, they describe one machine.
func groupMachines(documents []description) []description {
	var machines, shared []description
	for _, d := range documents {
		at := slices.IndexFunc(machines, func(m description) bool { return m.completes(d) })
		switch {
		case !d.describesMachine():
			shared = append(shared, d)
		case at >= 0:
			machines[at] = machines[at].merge(d)
		default:
			machines = append(machines, d)
		}
	}
	if len(machines) == 0 {
		machines, shared = shared[:1:1], shared[1:]
	}
	for i := range machines {
		for _, d := range shared {
			machines[i] = machines[i].merge(d)
		}
	}
	nameMachines(machines)
	return machines
}

// nameMachines names each of several machines by its files.
func nameMachines(machines []description) {
	if len(machines) == 1 {
		machines[0].name = ""
		return
	}
	count, base := map[string]int{}, map[string]int{}
	for _, m := range machines {
		count[m.name]++
		base[filepath.Base(m.name)]++
	}
	number := map[string]int{}
	for i, m := range machines {
		short := filepath.Base(m.name)
		if base[short] > count[m.name] { // files of the same name in several directories
			short = m.name
		}
		if m.name == "-" || count[m.name] == len(machines) {
			short = ""
		}
		if number[m.name]++; count[m.name] > 1 || short == "" {
			short = strings.TrimSpace(fmt.Sprintf("%s machine %d", short, number[m.name]))
		}
		machines[i].name = short
	}
}

// joinReports combines the reports of several machines.
func joinReports(machines []description, reports []report.Report) report.Report {
	joined := reports[0]
	var verdicts []verdict.Verdict
	var names []string
	joined.Facts, joined.Machines = probe.Facts{}, nil
	for i, r := range reports {
		verdicts, names = append(verdicts, r.Verdict), append(names, machines[i].name)
		joined.Machines = append(joined.Machines, report.Machine{Name: machines[i].name, Facts: r.Facts})
		joined.Facts.Environments = addEnvironments(joined.Facts.Environments, r.Facts.Environments)
		joined.Facts.Programs = addEnvironments(joined.Facts.Programs, r.Facts.Programs)
		joined.Facts.Toolkits = append(joined.Facts.Toolkits, r.Facts.Toolkits...)
		joined.Facts.Probes = append(joined.Facts.Probes, r.Facts.Probes...)
		joined.Facts.Unread = append(joined.Facts.Unread, r.Facts.Unread...)
		if r.Log != nil && (joined.Log == nil || !atFault(joined.Log.Blame)) {
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
