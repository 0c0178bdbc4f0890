package inputs

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"cudacompat/probe"
	"cudacompat/probe/facts"
)

// Description is a machine that documents describe.
type Description struct {
	Name    string // the file that describes it; empty for the only machine
	Facts   probe.Facts
	Text    []byte        // what it was read from, at its own lines
	Pasted  bool          // whether an error may stand beside the description, as in a bug report
	Foreign error         // why nothing but an error is read in the text; nil for any other text
	Unknown []UnknownText // the texts of no known kind, which only an error that is known in them makes sense of
	apart   bool          // whether it is judged by itself: its text describes several machines, or it is one of a project's files
}

// UnknownText is a text of an unknown kind.
type UnknownText struct {
	Text []byte
	Err  error // what to say if no error is known in it
}

// merge returns the machine with the facts of another document added.
func (m Description) merge(o Description) Description {
	both := Description{Name: m.Name, apart: m.apart, Text: slices.Concat(m.Text, o.Text), Pasted: m.Pasted || o.Pasted,
		Unknown: slices.Concat(m.Unknown, o.Unknown)}
	switch {
	case m.Foreign == nil && o.Foreign == nil:
		both.Facts = probe.Merge([]probe.Facts{m.Facts, o.Facts})
	case o.Foreign == nil:
		both.Facts = o.Facts
	default:
		both.Facts, both.Foreign = m.Facts, m.Foreign
	}
	return both
}

// describesMachine reports whether the document names a driver or a GPU, or is judged separately.
func (m Description) describesMachine() bool {
	return m.apart || m.Facts.Driver.Version != "" || len(m.Facts.GPUs) > 0
}

// completes reports whether a document may describe the same machine as m: neither contradicts the other, and each
// states a fact that the other lacks. Two reports of one kind, or two with packages, describe two machines.
func (m Description) completes(o Description) bool {
	driver, other := m.Facts.Driver.Version, o.Facts.Driver.Version
	switch {
	case m.apart && o.apart:
		return false
	case driver != "" && other != "" && driver != other, !sameGPUs(m.Facts.GPUs, o.Facts.GPUs):
		return false
	case len(m.Facts.Environments) > 0 && len(o.Facts.Environments) > 0:
		return false
	case (driver == "" || other == "") && (len(m.Facts.GPUs) == 0 || len(o.Facts.GPUs) == 0):
		return true
	}
	return !slices.ContainsFunc(m.Facts.Probes, func(p facts.Status) bool {
		return slices.ContainsFunc(o.Facts.Probes, func(other facts.Status) bool { return other.Name == p.Name })
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
func groupMachines(documents []Description) []Description {
	var machines, shared []Description
	for _, d := range documents {
		at := slices.IndexFunc(machines, func(m Description) bool { return m.completes(d) })
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
func nameMachines(machines []Description) {
	if len(machines) == 1 {
		machines[0].Name = ""
		return
	}
	count, base := map[string]int{}, map[string]int{}
	for _, m := range machines {
		count[m.Name]++
		base[filepath.Base(m.Name)]++
	}
	number := map[string]int{}
	for i, m := range machines {
		short := filepath.Base(m.Name)
		if base[short] > count[m.Name] { // files of the same name in several directories
			short = m.Name
		}
		if m.Name == "-" || count[m.Name] == len(machines) {
			short = ""
		}
		if number[m.Name]++; count[m.Name] > 1 || short == "" {
			short = strings.TrimSpace(fmt.Sprintf("%s machine %d", short, number[m.Name]))
		}
		machines[i].Name = short
	}
}
