// Package nodes writes the verdicts of many nodes: by group and cause as text, and as CSV, JUnit, Prometheus and JSON.
//
// Package fleet judges the nodes and finds the groups, the drift and the outliers. This package says it, the largest
// groups and the worst causes first, so that the page grows with the causes and not with the nodes.
package nodes

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"cudacompat/internal/fleet"
	"cudacompat/internal/report"
	"cudacompat/internal/report/formats"
	"cudacompat/internal/report/layout"
	"cudacompat/internal/report/plaintext"
	"cudacompat/matrix/verdict"
)

// Fleet is the report on a fleet: the summary of all its nodes, and the name and version of the tool that judged them.
type Fleet struct {
	fleet.Summary
	Tool report.Tool `json:"tool"`
}

// Formats lists the output formats of a fleet report.
var Formats = []report.Format[Fleet]{
	{Name: "text", Write: fleetText},
	{Name: "json", Write: func(w io.Writer, f Fleet, _ layout.Style) error { return report.WriteJSON(w, f) }},
	{Name: "junit", Write: fleetJUnit},
	{Name: "prometheus", Write: fleetPrometheus},
	{Name: "csv", Write: fleetCSV},
}

// nodesOf counts the nodes whose outcome is o.
func (f Fleet) nodesOf(o verdict.Outcome) int {
	n := 0
	for _, k := range f.Kinds {
		if k.Outcome == o {
			n += len(k.Nodes)
		}
	}
	return n
}

var outcomes = []verdict.Outcome{verdict.Incompatible, verdict.Inconclusive, verdict.Compatible}

// fleetText writes the page: the counts, what a change would break, the nodes by cause, the differences, and documents
// that are old, missing or unreadable. It grows with the causes, not with the nodes.
func fleetText(w io.Writer, f Fleet, s layout.Style) error {
	p := &layout.Page{Style: s}
	p.WriteWrapped(2, fleetWords(f), layout.Paint(outcomeColour[f.Outcome], string(f.Outcome)), ": ")
	writeDoubtful(p, f)
	writeFleetPlan(p, f)
	writeCauseTable(p, f)
	writeGroups(p, f)
	writeDrifts(p, f)
	writeStale(p, f.Stale)
	writeUnreadDocuments(p, f)
	writeNodes(p, "? missing", "no document of", f.Missing)
	writeNodes(p, "? not expected", "not in the inventory:", f.Beyond)
	p.WriteLine()
	p.WriteWrapped(0, fleetCounts(f))
	_, err := w.Write(p.Bytes())
	return err
}

// unreadName returns the node that a document names, with the document's place.
func unreadName(u fleet.Unread) string {
	if u.Node == "" {
		return u.Document
	}
	return u.Node + " (" + u.Document + ")"
}

var outcomeColour = map[verdict.Outcome]string{
	verdict.Incompatible: layout.Red, verdict.Inconclusive: layout.Yellow, verdict.Compatible: layout.Green}

// drifts reports whether the nodes of a group only differ from others.
func drifts(g fleet.Group) bool { return slices.Equal(g.Rules, []string{"fleet-drift"}) }

// fleetWords describes the fleet in one sentence. It counts each node once.
func fleetWords(f Fleet) string {
	if f.Nodes == 0 {
		return "no node was found in what was given" + besidesNodes(f)
	}
	with := ""
	if len(f.WhatIf) > 0 {
		with = "with " + strings.Join(f.WhatIf, " and ") + ", "
	}
	count := map[string]int{}
	for _, g := range f.Groups {
		word := string(g.Outcome)
		if drifts(g) {
			word = "unlike others of the group"
		}
		count[word] += len(g.Nodes)
	}
	var parts []string
	for _, word := range []string{"incompatible", "unlike others of the group", "inconclusive", "compatible"} {
		switch n := count[word]; {
		case n > 0 && len(parts) == 0:
			parts = append(parts, fmt.Sprintf("%d of %s %s", n, layout.CountNoun(f.Nodes, "node"), word))
		case n > 0:
			parts = append(parts, fmt.Sprintf("%d %s", n, word))
		}
	}
	return with + strings.Join(parts, ", ") + besidesNodes(f)
}

// besidesNodes describes what the outcomes of the nodes do not show.
func besidesNodes(f Fleet) string {
	text := ""
	for _, c := range []struct {
		n    int
		noun string
	}{{len(f.Stale), "outdated document"}, {len(f.Unread) + f.More, "unread document"}, {len(f.Missing), "missing node"}} {
		if c.n > 0 {
			text += "; " + layout.CountNoun(c.n, c.noun)
		}
	}
	return text
}

// writeFleetPlan says what the planned change breaks.
func writeFleetPlan(p *layout.Page, f Fleet) {
	if f.Plan == nil {
		return
	}
	p.WriteLine()
	names := func(list []fleet.Broken) (named []string) {
		for _, b := range list {
			named = append(named, b.Node+" ("+strings.Join(b.Rules, ", ")+")")
		}
		return named
	}
	if len(f.Plan.Breaks) > 0 {
		p.WriteWrapped(10, nameNodes(p, names(f.Plan.Breaks)), "  breaks  ")
	}
	if len(f.Plan.Worsens) > 0 {
		p.WriteWrapped(10, nameNodes(p, names(f.Plan.Worsens)), "  worse   ")
	}
	if len(f.Plan.Warns) > 0 {
		p.WriteWrapped(10, nameNodes(p, names(f.Plan.Warns)), "  warns   ")
	}
	if len(f.Plan.Mends) > 0 {
		p.WriteWrapped(10, nameNodes(p, f.Plan.Mends), "  fixes   ")
	}
	p.WriteWrapped(10, f.Plan.Why, "  plan    ")
}

// nameNodes names some of the nodes.
func nameNodes(p *layout.Page, names []string) string {
	if len(names) <= 5 || p.Style.All {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:4], ", "), len(names)-4)
}

// kindsByNode maps each node to its facts.
func kindsByNode(f Fleet) map[string]*fleet.Kind {
	kinds := map[string]*fleet.Kind{}
	for i := range f.Kinds {
		for _, n := range f.Kinds[i].Nodes {
			kinds[n.Node] = &f.Kinds[i]
		}
	}
	return kinds
}

// causeRows is the number of causes in the table at the top.
const causeRows = 10

// causeRow is one line of that table.
type causeRow struct {
	mark                       layout.Painted
	cause, nodes, groups, step string
	rank, count                int
}

// writeCauseTable writes the table at the top if there are several causes: for each the number of nodes, their groups,
// and what to do.
func writeCauseTable(p *layout.Page, f Fleet) {
	rows := causesOf(f)
	if len(rows) < 2 {
		return
	}
	shown := rows[:min(len(rows), causeRows)]
	if p.Style.All {
		shown = rows
	}
	var cause, nodes, groups int
	for i := range shown {
		r := &shown[i]
		r.cause, r.groups = p.FormatCell(r.cause, 30), p.FormatCell(r.groups, 16)
		cause, nodes, groups = max(cause, layout.CountColumns(r.cause)), max(nodes, layout.CountColumns(r.nodes)), max(groups, layout.CountColumns(r.groups))
	}
	p.WriteLine()
	for _, r := range shown {
		lead := fmt.Sprintf(" %-*s  %-*s  %-*s", cause, r.cause, nodes, r.nodes, groups, r.groups)
		if room := p.Style.Width - layout.CountColumns(lead) - 6; p.Style.Width > 0 && room >= 12 {
			r.step = p.FormatCell(r.step, room)
		} else if p.Style.Width > 0 {
			r.step = ""
		}
		p.WriteLine("  ", r.mark, strings.TrimRight(lead+"  "+r.step, " "))
	}
	if n := len(rows) - len(shown); n > 0 {
		p.WriteLine(fmt.Sprintf("    and %s", layout.CountNoun(n, "other cause")))
	}
}

// causesOf returns the causes of errors and unknowns, and the differences within groups: errors first, then the most
// frequent.
func causesOf(f Fleet) []causeRow {
	groupOf := map[string]string{}
	for _, k := range f.Kinds {
		for _, n := range k.Nodes {
			groupOf[n.Node] = n.Group
		}
	}
	var rows []causeRow
	add := func(mark layout.Painted, rank int, cause, step string, names []string) {
		groups := map[string]bool{}
		for _, n := range names {
			if g := groupOf[n]; g != "" {
				groups[g] = true
			}
		}
		rows = append(rows, causeRow{mark, cause, layout.CountNoun(len(names), "node"), strings.Join(slices.Sorted(maps.Keys(groups)), ","), step, rank, len(names)})
	}
	for _, g := range f.Groups {
		switch {
		case drifts(g):
		case g.Outcome == verdict.Incompatible:
			add(plaintext.SeverityMarks[verdict.Error], 0, strings.Join(g.Rules, ", "), g.Step, g.Nodes)
		case g.Outcome == verdict.Inconclusive:
			add(layout.Paint(layout.Yellow, "?"), 1, cmp.Or(strings.Join(g.Rules, ", "), "nothing to compare"), "", g.Nodes)
		}
	}
	for _, same := range alikeDrifts(f.Drift) {
		d, rank := same[0], 2
		if d.Severity == verdict.Error {
			rank = 0
		}
		step, _, _ := strings.Cut(d.Step(), ", ")
		add(plaintext.SeverityMarks[d.Severity], rank, d.What+" differs", step, d.Outliers())
	}
	slices.SortStableFunc(rows, func(a, b causeRow) int { return cmp.Or(a.rank-b.rank, b.count-a.count) })
	return rows
}

// inFull is how many groups with one outcome get a paragraph. The others, which are the smallest, get a line each.
const inFull = 12

// writeGroups writes the nodes by cause.
func writeGroups(p *layout.Page, f Fleet) {
	kinds := kindsByNode(f)
	shown, rule := map[verdict.Outcome]int{}, ""
	for _, g := range f.Groups {
		if drifts(g) {
			continue
		}
		if shown[g.Outcome]++; shown[g.Outcome] == inFull+1 && !p.Style.All {
			p.WriteLine()
		}
		writeGroup(p, g, kinds, shown[g.Outcome] <= inFull || p.Style.All)
		if rule == "" && g.Outcome == verdict.Incompatible {
			rule = g.Rules[0]
		}
	}
	if rule != "" {
		p.WriteLine()
		p.WriteCommand("more", "cudacompat explain "+rule)
	}
}

// writeGroup writes one paragraph, or a line: the nodes, the cause, what to do, and what the nodes have.
func writeGroup(p *layout.Page, g fleet.Group, kinds map[string]*fleet.Kind, full bool) {
	title := layout.Paint(outcomeColour[g.Outcome], layout.JoinNonEmpty(": ", string(g.Outcome), strings.Join(g.Rules, ", ")))
	who := layout.CountNoun(len(g.Nodes), "node") + ": " + nameNodes(p, g.Nodes)
	if !full {
		if g.Step != "" {
			who += "; do: " + g.Step
		}
		p.WriteWrapped(4, who, title, ", ")
		return
	}
	p.WriteLine()
	p.WriteWrapped(4, who, title, ", ")
	switch {
	case g.Message != "":
		p.WriteWrapped(10, g.Message, "    why   ")
	case g.Outcome == verdict.Inconclusive:
		p.WriteWrapped(10, "nothing to compare: a driver and a GPU, or a build, must be known", "    why   ")
	}
	if g.Step != "" {
		p.WriteWrapped(10, g.Step, "    do    ")
	}
	if have := countGroupValues(p, g, kinds); have != "" {
		p.WriteWrapped(10, have, "    has   ")
	}
}

// countGroupValues returns the values that the nodes of a group have, and the number of nodes with each.
func countGroupValues(p *layout.Page, g fleet.Group, kinds map[string]*fleet.Kind) string {
	var drivers, gpus, builds, warnings tally
	for _, node := range g.Nodes {
		k := kinds[node]
		if k.Driver != "" {
			drivers.add("driver " + k.Driver)
		}
		if len(k.GPUs) > 0 {
			gpus.add(layout.CountEqual(k.GPUs))
		}
		var of []string
		for _, a := range k.Answers {
			switch {
			case !a.Counts:
			case g.Outcome == verdict.Incompatible && a.Answer != verdict.Broken: // the node's error is what counts
				of = layout.AppendUnique(of, a.About.Words())
			default:
				of = layout.AppendUnique(of, a.About.Words()+": "+plaintext.AnswerWords[a.Answer].Text)
			}
		}
		for _, text := range of {
			builds.add(text)
		}
		for rule := range strings.FieldsSeq(rulesOf(*k, verdict.Warning)) {
			warnings.add("warning " + rule)
		}
	}
	var lines []string
	for _, t := range []tally{drivers, gpus, builds, warnings} {
		if text := t.words(len(g.Nodes), p.Style.All); text != "" {
			lines = append(lines, text)
		}
	}
	return strings.Join(lines, "; ")
}

// tally counts values.
type tally struct {
	values []string
	count  map[string]int
}

func (t *tally) add(value string) {
	if t.count == nil {
		t.count = map[string]int{}
	}
	if t.count[value] == 0 {
		t.values = append(t.values, value)
	}
	t.count[value]++
}

// words returns the values, most frequent first, with the number of nodes if they differ. It shortens a long list.
func (t tally) words(nodes int, all bool) string {
	slices.SortStableFunc(t.values, func(a, b string) int { return t.count[b] - t.count[a] })
	var parts []string
	for i, v := range t.values {
		if i == 4 && len(t.values) > 5 && !all {
			parts = append(parts, fmt.Sprintf("%d others", len(t.values)-i))
			break
		}
		if t.count[v] < nodes {
			v += fmt.Sprintf(" (%s)", layout.CountNoun(t.count[v], "node"))
		}
		parts = append(parts, v)
	}
	return strings.Join(parts, ", ")
}

// writeDrifts writes a paragraph for each difference: what differs, and which nodes stand out. Differences with the
// same division, such as a driver and its CUDA, share one.
func writeDrifts(p *layout.Page, f Fleet) {
	for _, same := range alikeDrifts(f.Drift) {
		d := same[0]
		p.WriteLine()
		mark := plaintext.SeverityMarks[d.Severity]
		p.WriteWrapped(4, d.Message(), layout.Paint(mark.Colour, mark.Text+" "+d.Rule), ": ")
		for _, other := range same[1:] {
			p.WriteWrapped(10, other.Message(), "    and   ")
		}
		writeOutliers(p, d)
		p.WriteWrapped(10, d.Step(), "    do    ")
	}
	if len(f.Drift) > 0 {
		p.WriteCommand("more", "cudacompat explain "+f.Drift[0].Rule)
	}
}

// alikeDrifts groups differences that divide the nodes in the same way. CUDA comes after the driver.
func alikeDrifts(list []fleet.Drift) [][]fleet.Drift {
	var groups [][]fleet.Drift
	for i, d := range list {
		if slices.ContainsFunc(list[:i], d.Alike) {
			continue
		}
		same := slices.DeleteFunc(slices.Clone(list[i:]), func(o fleet.Drift) bool { return !d.Alike(o) })
		slices.SortStableFunc(same, func(a, b fleet.Drift) int { return isCUDA[a.What] - isCUDA[b.What] })
		groups = append(groups, same)
	}
	return groups
}

var isCUDA = map[string]int{"CUDA": 1}

// writeOutliers names the nodes with a value that most do not have.
func writeOutliers(p *layout.Page, d fleet.Drift) {
	others := slices.DeleteFunc(slices.Clone(d.Values), func(v fleet.Value) bool { return v.Value == d.Usual })
	for i, v := range others {
		if i == 4 && len(others) > 5 && !p.Style.All {
			p.WriteLine(fmt.Sprintf("    has   %d other values", len(others)-i))
			return
		}
		p.WriteWrapped(10, v.Value+": "+nameNodes(p, v.Nodes), "    has   ")
	}
}

// writeDoubtful names documents with impossible times, or times that do not show which is the newest.
func writeDoubtful(p *layout.Page, f Fleet) {
	writeNodes(p, "! named twice", "the worse counts, because the times do not tell which is newer:", f.Twice)
	var future []string
	for _, s := range f.Stale {
		if s.Reason == fleet.Future {
			future = append(future, s.Node)
		}
	}
	writeNodes(p, "! from the future", "documents dated after today:", future)
}

// writeStale writes a paragraph for old documents, and one for each kind of wrong time.
func writeStale(p *layout.Page, list []fleet.Stale) {
	list = slices.DeleteFunc(slices.Clone(list), func(s fleet.Stale) bool { return s.Reason == fleet.Future })
	var order []string
	names, oldest := map[string][]string{}, map[string]fleet.Stale{}
	for _, s := range list {
		reason := s.Reason
		if s.Behind > 0 {
			reason = "old"
		}
		if names[reason] == nil {
			order = append(order, reason)
		}
		if names[reason] = append(names[reason], s.Node); s.Behind >= oldest[reason].Behind {
			oldest[reason] = s
		}
	}
	for _, reason := range order {
		text := oldest[reason].Reason
		if n := len(names[reason]); n > 1 && oldest[reason].Behind > 0 {
			text = "up to " + fleet.Hours(oldest[reason].Behind) + " older than the newest document"
		}
		writeNodes(p, "? stale", text+":", names[reason])
	}
}

// writeNodes writes a paragraph that says one thing about some nodes.
func writeNodes(p *layout.Page, title, text string, names []string) {
	switch len(names) {
	case 0:
		return
	case 1:
		text += " " + names[0]
	default:
		text = layout.CountNoun(len(names), "node") + ", " + text + " " + nameNodes(p, names)
	}
	p.WriteLine()
	p.WriteWrapped(4, text, layout.Paint(layout.Yellow, title), ": ")
}

// writeUnreadDocuments writes a paragraph for each reason why documents cannot be read, ignoring byte positions and
// versions.
func writeUnreadDocuments(p *layout.Page, f Fleet) {
	var order []string
	names, first := map[string][]string{}, map[string]string{}
	for _, u := range f.Unread {
		key := strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return -1
			}
			return r
		}, u.Reason)
		if names[key] == nil {
			order, first[key] = append(order, key), u.Reason
		}
		names[key] = append(names[key], unreadName(u))
	}
	for _, key := range order {
		text := names[key][0] + ": " + first[key]
		if n := len(names[key]); n > 1 {
			text = layout.CountNoun(n, "document") + ", such as " + text + "; " + nameNodes(p, names[key][1:])
		}
		p.WriteLine()
		p.WriteWrapped(4, text, layout.Paint(layout.Yellow, "? not judged"), ": ")
	}
	if f.More > 0 {
		p.WriteLine()
		p.WriteWrapped(4, fmt.Sprintf("and %d more documents", f.More), layout.Paint(layout.Yellow, "? not judged"), ": ")
	}
}

func fleetCounts(f Fleet) string {
	return fmt.Sprintf("%s, %s of node, %s within a group, %s, %d not judged", layout.CountNoun(f.Nodes, "node"),
		layout.CountNoun(len(f.Kinds), "kind"), layout.CountNoun(len(f.Drift), "difference"), layout.CountNoun(len(f.Stale), "outdated report"), len(f.Unread)+f.More)
}

// fleetCSV writes a line for each node.
func fleetCSV(w io.Writer, f Fleet, _ layout.Style) error {
	c := csv.NewWriter(w)
	header := []string{"node", "group", "taken", "outcome", "was", "driver", "cuda", "gpus", "errors", "warnings"}
	_ = c.Write(header) // Error says whether it could
	for _, k := range f.Kinds {
		for _, n := range k.Nodes {
			_ = c.Write([]string{formula(n.Node), formula(n.Group), formula(n.Taken), string(k.Outcome), string(k.Was),
				formula(k.Driver), formula(k.CUDA), formula(strings.Join(k.GPUs, "; ")),
				rulesOf(k, verdict.Error), rulesOf(k, verdict.Warning)})
		}
	}
	c.Flush()
	return c.Error()
}

// formula escapes a cell that a spreadsheet would read as a formula, because text from the nodes is data.
func formula(cell string) string {
	if cell = layout.Clean(cell); cell != "" && strings.ContainsAny(cell[:1], "=+-@") {
		return "'" + cell
	}
	return cell
}

// rulesOf returns the rules of a kind's findings with one severity.
func rulesOf(k fleet.Kind, s verdict.Severity) string {
	var rules []string
	for _, f := range k.Findings {
		if f.Severity == s {
			rules = layout.AppendUnique(rules, f.Rule)
		}
	}
	return strings.Join(rules, " ")
}

// fleetJUnit writes a test case for each node and each drift. Incompatible is a failure; unknown or unreadable is an
// error.
func fleetJUnit(w io.Writer, f Fleet, _ layout.Style) error {
	var list []formats.JUnitCase
	for _, k := range f.Kinds {
		for _, n := range k.Nodes {
			list = append(list, fleetCase(k, n))
		}
	}
	for _, d := range f.Drift {
		c := formats.JUnitCase{Class: "cudacompat.fleet-drift", Name: layout.Clean(d.Group + ": " + d.What)}
		if d.Severity == verdict.Error {
			c.Failure = &formats.JUnitMessage{Message: layout.Clean(d.Message()), Type: string(d.Severity)}
		} else {
			c.Out = &formats.JUnitText{Text: layout.Clean(d.Message())}
		}
		list = append(list, c)
	}
	for _, u := range f.Unread {
		reason := &formats.JUnitMessage{Message: layout.Clean(u.Reason)}
		list = append(list, formats.JUnitCase{Class: "cudacompat.fleet", Name: layout.Clean(unreadName(u)), Error: reason})
	}
	for _, name := range f.Missing {
		reason := &formats.JUnitMessage{Message: "the inventory names it, and there is no document of it"}
		list = append(list, formats.JUnitCase{Class: "cudacompat.fleet", Name: layout.Clean(name), Error: reason})
	}
	counts := formats.CountCases(list)
	counts.Name = "cudacompat fleet"
	suites := formats.JUnitSuites{JUnitCounts: counts, Suite: formats.JUnitSuite{JUnitCounts: counts, Cases: list,
		Properties: []formats.JUnitProperty{{Name: "outcome", Value: string(f.Outcome)}, {Name: "matrix", Value: f.Tool.Matrix}}}}
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

func fleetCase(k fleet.Kind, n fleet.Member) formats.JUnitCase {
	c := formats.JUnitCase{Class: "cudacompat.fleet", Name: layout.Clean(n.Node)}
	switch {
	case k.Outcome == verdict.Incompatible:
		var lines []string
		for _, f := range k.Findings {
			if f.Severity == verdict.Error {
				lines = append(lines, f.Rule+": "+layout.Clean(f.Message))
			}
		}
		c.Failure = &formats.JUnitMessage{Message: strings.Join(lines, "; "), Type: "error"}
	case k.Outcome == verdict.Inconclusive:
		c.Error = &formats.JUnitMessage{Message: "not known"}
		if len(k.Unknown) > 0 {
			c.Error.Message = layout.Clean(k.Unknown[0].Subject + ": " + k.Unknown[0].Missing)
		}
	}
	return c
}

// fleetPrometheus writes gauges for the fleet. Only the outcome metric, which alerts need, has a label for the node.
func fleetPrometheus(w io.Writer, f Fleet, _ layout.Style) error {
	var b bytes.Buffer
	for _, g := range fleetGauges {
		fmt.Fprintf(&b, "# HELP cudacompat_fleet_%s %s\n# TYPE cudacompat_fleet_%s gauge\n", g.name, g.help, g.name)
		for _, s := range g.samples(f) {
			fmt.Fprintf(&b, "cudacompat_fleet_%s%s %s\n", g.name, s.Labels, strconv.FormatFloat(s.Value, 'f', -1, 64))
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

var fleetGauges = []struct {
	name, help string
	samples    func(Fleet) []formats.Sample
}{
	{"nodes", "Nodes by outcome.", func(f Fleet) (list []formats.Sample) {
		for _, o := range outcomes {
			list = append(list, formats.NewSample(float64(f.nodesOf(o)), "outcome", string(o)))
		}
		return list
	}},
	{"node_outcome", "Outcome of each node; 1 for the one that holds.", func(f Fleet) (list []formats.Sample) {
		for _, k := range f.Kinds {
			for _, n := range k.Nodes {
				list = append(list, formats.NewSample(1, "node", n.Node, "group", n.Group, "outcome", string(k.Outcome)))
			}
		}
		return sortSamples(list)
	}},
	{"kinds", "Kinds of nodes that are judged alike.", func(f Fleet) []formats.Sample { return countSample(len(f.Kinds)) }},
	{"finding_nodes", "Nodes that a rule finds something on.", fleetFindingSamples},
	{"drift", "Values that the nodes of a group have of one thing, where they are more than one.", driftSamples},
	{"missing_nodes", "Nodes of the inventory without a document.", func(f Fleet) []formats.Sample { return countSample(len(f.Missing)) }},
	{"stale_nodes", "Nodes whose document is old.", func(f Fleet) []formats.Sample { return countSample(len(f.Stale)) }},
	{"unread_documents", "Documents that could not be judged.", func(f Fleet) []formats.Sample { return countSample(len(f.Unread) + f.More) }},
	{"run_timestamp_seconds", "Unix time of the last run.", func(f Fleet) []formats.Sample { return formats.SampleRun(f.Tool) }},
}

// countSample returns a metric with one sample, n, and no labels.
func countSample(n int) []formats.Sample { return []formats.Sample{{Labels: "", Value: float64(n)}} }

func driftSamples(f Fleet) []formats.Sample {
	var list []formats.Sample
	for _, d := range f.Drift {
		list = append(list, formats.NewSample(float64(len(d.Values)), "group", d.Group, "what", d.What, "severity", string(d.Severity)))
	}
	return sortSamples(list)
}

func sortSamples(list []formats.Sample) []formats.Sample {
	slices.SortFunc(list, func(a, b formats.Sample) int { return cmp.Compare(a.Labels, b.Labels) })
	return list
}

func fleetFindingSamples(f Fleet) []formats.Sample {
	var list []formats.Sample
	for _, k := range f.Kinds {
		for _, s := range []verdict.Severity{verdict.Error, verdict.Warning} {
			for rule := range strings.FieldsSeq(rulesOf(k, s)) {
				list = append(list, formats.NewSample(float64(len(k.Nodes)), "rule", rule, "severity", string(s)))
			}
		}
	}
	return formats.MergeSamples(list)
}
