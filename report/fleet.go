package report

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"cudacompat/fleet"
	"cudacompat/matrix"
)

// Fleet is a fleet with the program that judged it.
type Fleet struct {
	fleet.Summary
	Tool Tool `json:"tool"`
}

// FleetFormats is every format of a fleet, by name.
var FleetFormats = []Format[Fleet]{
	{"text", fleetText},
	{"json", func(w io.Writer, f Fleet, _ Style) error { return writeJSON(w, f) }},
	{"junit", fleetJUnit},
	{"prometheus", fleetPrometheus},
	{"csv", fleetCSV},
}

// nodesOf counts the nodes of an outcome.
func (f Fleet) nodesOf(o matrix.Outcome) int {
	n := 0
	for _, k := range f.Kinds {
		if k.Outcome == o {
			n += len(k.Nodes)
		}
	}
	return n
}

var outcomes = []matrix.Outcome{matrix.Incompatible, matrix.Inconclusive, matrix.Compatible}

// fleetText writes the screen for people: the counts, what a change would cost, the kinds that are not sound, what
// differs, what is old, what could not be read.
func fleetText(w io.Writer, f Fleet, s Style) error {
	p := &page{style: s}
	p.wrap(2, fleetWords(f), painted{outcomeColour[f.Outcome], string(f.Outcome)}, ": ")
	p.fleetPlan(f)
	for i, k := range f.Kinds {
		p.fleetKind(i+1, k)
	}
	for _, d := range f.Drift {
		p.drift(d)
	}
	if len(f.Drift) > 0 {
		p.command("more", "cudacompat explain "+f.Drift[0].Rule)
	}
	for _, s := range f.Stale {
		p.line()
		p.wrap(4, s.Node+": "+s.Reason, painted{yellow, "? stale"}, ": ")
	}
	for _, u := range f.Unread {
		p.line()
		p.wrap(4, unreadName(u)+": "+u.Reason, painted{yellow, "? not judged"}, ": ")
	}
	if f.More > 0 {
		p.line()
		p.wrap(4, fmt.Sprintf("and %d more documents", f.More), painted{yellow, "? not judged"}, ": ")
	}
	p.line()
	p.wrap(0, fleetCounts(f))
	_, err := w.Write(p.Bytes())
	return err
}

// unreadName is the node that a document names, with the place of the document.
func unreadName(u fleet.Unread) string {
	if u.Node == "" {
		return u.Document
	}
	return u.Node + " (" + u.Document + ")"
}

var outcomeColour = map[matrix.Outcome]string{
	matrix.Incompatible: red, matrix.Inconclusive: yellow, matrix.Compatible: green}

// fleetWords is the fleet in one sentence.
func fleetWords(f Fleet) string {
	if f.Nodes == 0 {
		return "no node was found in what was given"
	}
	with := ""
	if len(f.WhatIf) > 0 {
		with = "with " + strings.Join(f.WhatIf, " and ") + ", "
	}
	var parts []string
	for _, o := range outcomes {
		n := f.nodesOf(o)
		switch {
		case n > 0 && len(parts) == 0:
			parts = append(parts, fmt.Sprintf("%d of %s %s", n, plural(f.Nodes, "node"), o))
		case n > 0:
			parts = append(parts, fmt.Sprintf("%d %s", n, o))
		}
	}
	return fmt.Sprintf("%s%s (%s of node)", with, strings.Join(parts, ", "), plural(len(f.Kinds), "kind"))
}

// fleetPlan says what the change that is asked about costs.
func (p *page) fleetPlan(f Fleet) {
	if f.Plan == nil {
		return
	}
	p.line()
	var names []string
	for _, b := range f.Plan.Breaks {
		names = append(names, b.Node+" ("+strings.Join(b.Rules, ", ")+")")
	}
	if len(names) > 0 {
		p.wrap(10, p.nodes(names), "  breaks  ")
	}
	if len(f.Plan.Mends) > 0 {
		p.wrap(10, p.nodes(f.Plan.Mends), "  fixes   ")
	}
	p.wrap(10, f.Plan.Why, "  plan    ")
}

// nodes names some nodes.
func (p *page) nodes(names []string) string {
	if len(names) <= 5 || p.style.All {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:4], ", "), len(names)-4)
}

func nodeNames(list []fleet.Member) []string {
	var names []string
	for _, n := range list {
		names = append(names, n.Node)
	}
	return names
}

// fleetKind is one paragraph: who it is, what it has, what is wrong.
func (p *page) fleetKind(number int, k fleet.Kind) {
	p.line()
	title := painted{outcomeColour[k.Outcome], fmt.Sprintf("kind %d: %s", number, k.Outcome)}
	p.wrap(4, plural(len(k.Nodes), "node")+": "+p.nodes(nodeNames(k.Nodes)), title, ", ")
	have := []string{}
	if k.Driver != "" {
		have = append(have, "driver "+k.Driver)
	}
	if len(k.GPUs) > 0 {
		have = append(have, gpuList(k.GPUs))
	}
	for _, a := range k.Answers {
		if a.Counts {
			have = append(have, a.Subject+": "+answers[a.Answer].text)
		}
	}
	if len(have) > 0 {
		p.wrap(10, strings.Join(have, "; "), "    has   ")
	}
	var pages []string
	for _, f := range k.Findings {
		if f.Severity == matrix.Error || p.style.All {
			p.wrap(10, f.Rule+": "+f.Message, "    "+marks[f.Severity].text+"     ")
			pages = add(pages, f.Rule)
		}
	}
	for _, page := range pages {
		p.line("    more  cudacompat explain " + page)
	}
	switch {
	case k.Outcome != matrix.Inconclusive:
	case len(k.Unknown) > 0:
		p.wrap(10, k.Unknown[0].Subject+": not known: "+k.Unknown[0].Missing, "    ?     ")
	default:
		p.wrap(10, "nothing to compare: a driver and a GPU, or a build, must be known", "    ?     ")
	}
}

// drift is one paragraph: what differs, and who stands out.
func (p *page) drift(d fleet.Drift) {
	p.line()
	mark := marks[d.Severity]
	p.wrap(4, d.Message(), painted{mark.code, mark.text + " " + d.Rule}, ": ")
	for _, v := range d.Values {
		if v.Value != d.Usual {
			p.wrap(10, v.Value+": "+p.nodes(v.Nodes), "    has   ")
		}
	}
}

func fleetCounts(f Fleet) string {
	return fmt.Sprintf("%s, %s of node, %s within a group, %s, %d not judged", plural(f.Nodes, "node"),
		plural(len(f.Kinds), "kind"), plural(len(f.Drift), "difference"), plural(len(f.Stale), "outdated report"), len(f.Unread)+f.More)
}

// fleetCSV writes a line a node.
func fleetCSV(w io.Writer, f Fleet, _ Style) error {
	c := csv.NewWriter(w)
	header := []string{"node", "group", "taken", "outcome", "was", "driver", "cuda", "gpus", "errors", "warnings"}
	_ = c.Write(header) // Error says whether it could
	for _, k := range f.Kinds {
		for _, n := range k.Nodes {
			_ = c.Write([]string{formula(n.Node), formula(n.Group), formula(n.Taken), string(k.Outcome), string(k.Was),
				formula(k.Driver), formula(k.CUDA), formula(strings.Join(k.GPUs, "; ")),
				rulesOf(k, matrix.Error), rulesOf(k, matrix.Warning)})
		}
	}
	c.Flush()
	return c.Error()
}

// formula keeps a spreadsheet from taking a cell for one: text from the nodes is data.
func formula(cell string) string {
	if cell = clean(cell); cell != "" && strings.ContainsAny(cell[:1], "=+-@") {
		return "'" + cell
	}
	return cell
}

// rulesOf are the rules of a kind's findings of one severity.
func rulesOf(k fleet.Kind, s matrix.Severity) string {
	var rules []string
	for _, f := range k.Findings {
		if f.Severity == s {
			rules = add(rules, f.Rule)
		}
	}
	return strings.Join(rules, " ")
}

// fleetJUnit writes a test case a node and one a drift: what is incompatible is a failure, what is not known or could
// not be read an error.
func fleetJUnit(w io.Writer, f Fleet, _ Style) error {
	var list []junitCase
	for _, k := range f.Kinds {
		for _, n := range k.Nodes {
			list = append(list, fleetCase(k, n))
		}
	}
	for _, d := range f.Drift {
		c := junitCase{Class: "cudacompat.fleet-drift", Name: clean(d.Group + ": " + d.What)}
		if d.Severity == matrix.Error {
			c.Failure = &junitMessage{Message: clean(d.Message()), Type: string(d.Severity)}
		} else {
			c.Out = &junitText{clean(d.Message())}
		}
		list = append(list, c)
	}
	for _, u := range f.Unread {
		reason := &junitMessage{Message: clean(u.Reason)}
		list = append(list, junitCase{Class: "cudacompat.fleet", Name: clean(unreadName(u)), Error: reason})
	}
	counts := count(list)
	counts.Name = "cudacompat fleet"
	suites := junitSuites{junitCounts: counts, Suite: junitSuite{junitCounts: counts, Cases: list,
		Properties: []junitProperty{{"outcome", string(f.Outcome)}, {"matrix", f.Tool.Matrix}}}}
	var b bytes.Buffer
	b.WriteString(xml.Header)
	e := xml.NewEncoder(&b)
	e.Indent("", "  ")
	if err := e.Encode(suites); err != nil {
		return err
	}
	b.WriteByte('\n')
	_, err := w.Write(b.Bytes())
	return err
}

func fleetCase(k fleet.Kind, n fleet.Member) junitCase {
	c := junitCase{Class: "cudacompat.fleet", Name: clean(n.Node)}
	switch {
	case k.Outcome == matrix.Incompatible:
		var lines []string
		for _, f := range k.Findings {
			if f.Severity == matrix.Error {
				lines = append(lines, f.Rule+": "+clean(f.Message))
			}
		}
		c.Failure = &junitMessage{Message: strings.Join(lines, "; "), Type: "error"}
	case k.Outcome == matrix.Inconclusive:
		c.Error = &junitMessage{Message: "not known"}
		if len(k.Unknown) > 0 {
			c.Error.Message = clean(k.Unknown[0].Subject + ": " + k.Unknown[0].Missing)
		}
	}
	return c
}

// fleetPrometheus writes gauges of the whole; what names one node is in no label but that of its outcome, which alerts
// need.
func fleetPrometheus(w io.Writer, f Fleet, _ Style) error {
	var b bytes.Buffer
	for _, g := range fleetGauges {
		fmt.Fprintf(&b, "# HELP cudacompat_fleet_%s %s\n# TYPE cudacompat_fleet_%s gauge\n", g.name, g.help, g.name)
		for _, s := range g.samples(f) {
			fmt.Fprintf(&b, "cudacompat_fleet_%s%s %s\n", g.name, s.labels, strconv.FormatFloat(s.value, 'f', -1, 64))
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

var fleetGauges = []struct {
	name, help string
	samples    func(Fleet) []sample
}{
	{"nodes", "Nodes by outcome.", func(f Fleet) (list []sample) {
		for _, o := range outcomes {
			list = append(list, valued(float64(f.nodesOf(o)), "outcome", string(o)))
		}
		return list
	}},
	{"node_outcome", "Outcome of each node; 1 for the one that holds.", func(f Fleet) (list []sample) {
		for _, k := range f.Kinds {
			for _, n := range k.Nodes {
				list = append(list, valued(1, "node", n.Node, "group", n.Group, "outcome", string(k.Outcome)))
			}
		}
		return sorted(list)
	}},
	{"kinds", "Kinds of nodes that are judged alike.", func(f Fleet) []sample { return howMany(len(f.Kinds)) }},
	{"finding_nodes", "Nodes that a rule finds something on.", fleetFindingSamples},
	{"drift", "Values that the nodes of a group have of one thing, where they are more than one.", driftSamples},
	{"stale_nodes", "Nodes whose document is old.", func(f Fleet) []sample { return howMany(len(f.Stale)) }},
	{"unread_documents", "Documents that could not be judged.", func(f Fleet) []sample { return howMany(len(f.Unread) + f.More) }},
}

// howMany is one sample without labels.
func howMany(n int) []sample { return []sample{{"", float64(n)}} }

func driftSamples(f Fleet) []sample {
	var list []sample
	for _, d := range f.Drift {
		list = append(list, valued(float64(len(d.Values)), "group", d.Group, "what", d.What, "severity", string(d.Severity)))
	}
	return sorted(list)
}

func sorted(list []sample) []sample {
	slices.SortFunc(list, func(a, b sample) int { return cmp.Compare(a.labels, b.labels) })
	return list
}

func fleetFindingSamples(f Fleet) []sample {
	var list []sample
	for _, k := range f.Kinds {
		for _, s := range []matrix.Severity{matrix.Error, matrix.Warning} {
			for rule := range strings.FieldsSeq(rulesOf(k, s)) {
				list = append(list, valued(float64(len(k.Nodes)), "rule", rule, "severity", string(s)))
			}
		}
	}
	return merged(list)
}
