package report

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
	"cudacompat/matrix/verdict"
)

// Fleet is the report on a fleet: the summary of all its nodes, and the name and version of the tool that judged them.
type Fleet struct {
	fleet.Summary
	Tool Tool `json:"tool"`
}

// FleetFormats lists the output formats of a fleet report.
var FleetFormats = []Format[Fleet]{
	{"text", fleetText},
	{"json", func(w io.Writer, f Fleet, _ Style) error { return writeJSON(w, f) }},
	{"junit", fleetJUnit},
	{"prometheus", fleetPrometheus},
	{"csv", fleetCSV},
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
func fleetText(w io.Writer, f Fleet, s Style) error {
	p := &page{style: s}
	p.wrap(2, fleetWords(f), paintedText{outcomeColour[f.Outcome], string(f.Outcome)}, ": ")
	p.doubtful(f)
	p.fleetPlan(f)
	p.causeTable(f)
	p.groups(f)
	p.drifts(f)
	p.stale(f.Stale)
	p.unreadDocuments(f)
	p.nodesOf("? missing", "no document of", f.Missing)
	p.nodesOf("? not expected", "not in the inventory:", f.Beyond)
	p.line()
	p.wrap(0, fleetCounts(f))
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
	verdict.Incompatible: red, verdict.Inconclusive: yellow, verdict.Compatible: green}

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
			parts = append(parts, fmt.Sprintf("%d of %s %s", n, plural(f.Nodes, "node"), word))
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
			text += "; " + plural(c.n, c.noun)
		}
	}
	return text
}

// fleetPlan says what the planned change breaks.
func (p *page) fleetPlan(f Fleet) {
	if f.Plan == nil {
		return
	}
	p.line()
	names := func(list []fleet.Broken) (named []string) {
		for _, b := range list {
			named = append(named, b.Node+" ("+strings.Join(b.Rules, ", ")+")")
		}
		return named
	}
	if len(f.Plan.Breaks) > 0 {
		p.wrap(10, p.nodes(names(f.Plan.Breaks)), "  breaks  ")
	}
	if len(f.Plan.Worsens) > 0 {
		p.wrap(10, p.nodes(names(f.Plan.Worsens)), "  worse   ")
	}
	if len(f.Plan.Warns) > 0 {
		p.wrap(10, p.nodes(names(f.Plan.Warns)), "  warns   ")
	}
	if len(f.Plan.Mends) > 0 {
		p.wrap(10, p.nodes(f.Plan.Mends), "  fixes   ")
	}
	p.wrap(10, f.Plan.Why, "  plan    ")
}

// nodes names some of the nodes.
func (p *page) nodes(names []string) string {
	if len(names) <= 5 || p.style.All {
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
	mark                       paintedText
	cause, nodes, groups, step string
	rank, count                int
}

// causeTable writes the table at the top if there are several causes: for each the number of nodes, their groups, and
// what to do.
func (p *page) causeTable(f Fleet) {
	rows := causesOf(f)
	if len(rows) < 2 {
		return
	}
	shown := rows[:min(len(rows), causeRows)]
	if p.style.All {
		shown = rows
	}
	var cause, nodes, groups int
	for i := range shown {
		r := &shown[i]
		r.cause, r.groups = p.cell(r.cause, 30), p.cell(r.groups, 16)
		cause, nodes, groups = max(cause, columns(r.cause)), max(nodes, columns(r.nodes)), max(groups, columns(r.groups))
	}
	p.line()
	for _, r := range shown {
		lead := fmt.Sprintf(" %-*s  %-*s  %-*s", cause, r.cause, nodes, r.nodes, groups, r.groups)
		if room := p.style.Width - columns(lead) - 6; p.style.Width > 0 && room >= 12 {
			r.step = p.cell(r.step, room)
		} else if p.style.Width > 0 {
			r.step = ""
		}
		p.line("  ", r.mark, strings.TrimRight(lead+"  "+r.step, " "))
	}
	if n := len(rows) - len(shown); n > 0 {
		p.line(fmt.Sprintf("    and %s", plural(n, "other cause")))
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
	add := func(mark paintedText, rank int, cause, step string, names []string) {
		groups := map[string]bool{}
		for _, n := range names {
			if g := groupOf[n]; g != "" {
				groups[g] = true
			}
		}
		rows = append(rows, causeRow{mark, cause, plural(len(names), "node"), strings.Join(slices.Sorted(maps.Keys(groups)), ","), step, rank, len(names)})
	}
	for _, g := range f.Groups {
		switch {
		case drifts(g):
		case g.Outcome == verdict.Incompatible:
			add(marks[verdict.Error], 0, strings.Join(g.Rules, ", "), g.Step, g.Nodes)
		case g.Outcome == verdict.Inconclusive:
			add(paintedText{yellow, "?"}, 1, cmp.Or(strings.Join(g.Rules, ", "), "nothing to compare"), "", g.Nodes)
		}
	}
	for _, same := range alikeDrifts(f.Drift) {
		d, rank := same[0], 2
		if d.Severity == verdict.Error {
			rank = 0
		}
		step, _, _ := strings.Cut(d.Step(), ", ")
		add(marks[d.Severity], rank, d.What+" differs", step, d.Outliers())
	}
	slices.SortStableFunc(rows, func(a, b causeRow) int { return cmp.Or(a.rank-b.rank, b.count-a.count) })
	return rows
}

// inFull is how many groups with one outcome get a paragraph. The others, which are the smallest, get a line each.
const inFull = 12

// groups writes the nodes by cause.
func (p *page) groups(f Fleet) {
	kinds := kindsByNode(f)
	shown, rule := map[verdict.Outcome]int{}, ""
	for _, g := range f.Groups {
		if drifts(g) {
			continue
		}
		if shown[g.Outcome]++; shown[g.Outcome] == inFull+1 && !p.style.All {
			p.line()
		}
		p.fleetGroup(g, kinds, shown[g.Outcome] <= inFull || p.style.All)
		if rule == "" && g.Outcome == verdict.Incompatible {
			rule = g.Rules[0]
		}
	}
	if rule != "" {
		p.line()
		p.command("more", "cudacompat explain "+rule)
	}
}

// fleetGroup writes one paragraph, or a line: the nodes, the cause, what to do, and what the nodes have.
func (p *page) fleetGroup(g fleet.Group, kinds map[string]*fleet.Kind, full bool) {
	title := paintedText{outcomeColour[g.Outcome], join(": ", string(g.Outcome), strings.Join(g.Rules, ", "))}
	who := plural(len(g.Nodes), "node") + ": " + p.nodes(g.Nodes)
	if !full {
		if g.Step != "" {
			who += "; do: " + g.Step
		}
		p.wrap(4, who, title, ", ")
		return
	}
	p.line()
	p.wrap(4, who, title, ", ")
	switch {
	case g.Message != "":
		p.wrap(10, g.Message, "    why   ")
	case g.Outcome == verdict.Inconclusive:
		p.wrap(10, "nothing to compare: a driver and a GPU, or a build, must be known", "    why   ")
	}
	if g.Step != "" {
		p.wrap(10, g.Step, "    do    ")
	}
	if have := p.countGroupValues(g, kinds); have != "" {
		p.wrap(10, have, "    has   ")
	}
}

// countGroupValues returns the values that the nodes of a group have, and the number of nodes with each.
func (p *page) countGroupValues(g fleet.Group, kinds map[string]*fleet.Kind) string {
	var drivers, gpus, builds, warnings tally
	for _, node := range g.Nodes {
		k := kinds[node]
		if k.Driver != "" {
			drivers.add("driver " + k.Driver)
		}
		if len(k.GPUs) > 0 {
			gpus.add(gpuList(k.GPUs))
		}
		var of []string
		for _, a := range k.Answers {
			switch {
			case !a.Counts:
			case g.Outcome == verdict.Incompatible && a.Answer != verdict.Broken: // the node's error is what counts
				of = add(of, a.About.Words())
			default:
				of = add(of, a.About.Words()+": "+answers[a.Answer].text)
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
		if text := t.words(len(g.Nodes), p.style.All); text != "" {
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
			v += fmt.Sprintf(" (%s)", plural(t.count[v], "node"))
		}
		parts = append(parts, v)
	}
	return strings.Join(parts, ", ")
}

// drifts writes a paragraph for each difference: what differs, and which nodes stand out. Differences with the same
// division, such as a driver and its CUDA, share one.
func (p *page) drifts(f Fleet) {
	for _, same := range alikeDrifts(f.Drift) {
		d := same[0]
		p.line()
		mark := marks[d.Severity]
		p.wrap(4, d.Message(), paintedText{mark.code, mark.text + " " + d.Rule}, ": ")
		for _, other := range same[1:] {
			p.wrap(10, other.Message(), "    and   ")
		}
		p.outliers(d)
		p.wrap(10, d.Step(), "    do    ")
	}
	if len(f.Drift) > 0 {
		p.command("more", "cudacompat explain "+f.Drift[0].Rule)
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

// outliers names the nodes with a value that most do not have.
func (p *page) outliers(d fleet.Drift) {
	others := slices.DeleteFunc(slices.Clone(d.Values), func(v fleet.Value) bool { return v.Value == d.Usual })
	for i, v := range others {
		if i == 4 && len(others) > 5 && !p.style.All {
			p.line(fmt.Sprintf("    has   %d other values", len(others)-i))
			return
		}
		p.wrap(10, v.Value+": "+p.nodes(v.Nodes), "    has   ")
	}
}

// doubtful names documents with impossible times, or times that do not show which is the newest.
func (p *page) doubtful(f Fleet) {
	p.nodesOf("! named twice", "the worse counts, because the times do not tell which is newer:", f.Twice)
	var future []string
	for _, s := range f.Stale {
		if s.Reason == fleet.Future {
			future = append(future, s.Node)
		}
	}
	p.nodesOf("! from the future", "documents dated after today:", future)
}

// stale writes a paragraph for old documents, and one for each kind of wrong time.
func (p *page) stale(list []fleet.Stale) {
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
		p.nodesOf("? stale", text+":", names[reason])
	}
}

// nodesOf writes a paragraph that says one thing about some nodes.
func (p *page) nodesOf(title, text string, names []string) {
	switch len(names) {
	case 0:
		return
	case 1:
		text += " " + names[0]
	default:
		text = plural(len(names), "node") + ", " + text + " " + p.nodes(names)
	}
	p.line()
	p.wrap(4, text, paintedText{yellow, title}, ": ")
}

// unreadDocuments writes a paragraph for each reason why documents cannot be read, ignoring byte positions and
// versions.
func (p *page) unreadDocuments(f Fleet) {
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
			text = plural(n, "document") + ", such as " + text + "; " + p.nodes(names[key][1:])
		}
		p.line()
		p.wrap(4, text, paintedText{yellow, "? not judged"}, ": ")
	}
	if f.More > 0 {
		p.line()
		p.wrap(4, fmt.Sprintf("and %d more documents", f.More), paintedText{yellow, "? not judged"}, ": ")
	}
}

func fleetCounts(f Fleet) string {
	return fmt.Sprintf("%s, %s of node, %s within a group, %s, %d not judged", plural(f.Nodes, "node"),
		plural(len(f.Kinds), "kind"), plural(len(f.Drift), "difference"), plural(len(f.Stale), "outdated report"), len(f.Unread)+f.More)
}

// fleetCSV writes a line for each node.
func fleetCSV(w io.Writer, f Fleet, _ Style) error {
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
	if cell = clean(cell); cell != "" && strings.ContainsAny(cell[:1], "=+-@") {
		return "'" + cell
	}
	return cell
}

// rulesOf returns the rules of a kind's findings with one severity.
func rulesOf(k fleet.Kind, s verdict.Severity) string {
	var rules []string
	for _, f := range k.Findings {
		if f.Severity == s {
			rules = add(rules, f.Rule)
		}
	}
	return strings.Join(rules, " ")
}

// fleetJUnit writes a test case for each node and each drift. Incompatible is a failure; unknown or unreadable is an
// error.
func fleetJUnit(w io.Writer, f Fleet, _ Style) error {
	var list []junitCase
	for _, k := range f.Kinds {
		for _, n := range k.Nodes {
			list = append(list, fleetCase(k, n))
		}
	}
	for _, d := range f.Drift {
		c := junitCase{Class: "cudacompat.fleet-drift", Name: clean(d.Group + ": " + d.What)}
		if d.Severity == verdict.Error {
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
	for _, name := range f.Missing {
		reason := &junitMessage{Message: "the inventory names it, and there is no document of it"}
		list = append(list, junitCase{Class: "cudacompat.fleet", Name: clean(name), Error: reason})
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
	case k.Outcome == verdict.Incompatible:
		var lines []string
		for _, f := range k.Findings {
			if f.Severity == verdict.Error {
				lines = append(lines, f.Rule+": "+clean(f.Message))
			}
		}
		c.Failure = &junitMessage{Message: strings.Join(lines, "; "), Type: "error"}
	case k.Outcome == verdict.Inconclusive:
		c.Error = &junitMessage{Message: "not known"}
		if len(k.Unknown) > 0 {
			c.Error.Message = clean(k.Unknown[0].Subject + ": " + k.Unknown[0].Missing)
		}
	}
	return c
}

// fleetPrometheus writes gauges for the fleet. Only the outcome metric, which alerts need, has a label for the node.
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
			list = append(list, valuedSample(float64(f.nodesOf(o)), "outcome", string(o)))
		}
		return list
	}},
	{"node_outcome", "Outcome of each node; 1 for the one that holds.", func(f Fleet) (list []sample) {
		for _, k := range f.Kinds {
			for _, n := range k.Nodes {
				list = append(list, valuedSample(1, "node", n.Node, "group", n.Group, "outcome", string(k.Outcome)))
			}
		}
		return sortSamples(list)
	}},
	{"kinds", "Kinds of nodes that are judged alike.", func(f Fleet) []sample { return countSample(len(f.Kinds)) }},
	{"finding_nodes", "Nodes that a rule finds something on.", fleetFindingSamples},
	{"drift", "Values that the nodes of a group have of one thing, where they are more than one.", driftSamples},
	{"missing_nodes", "Nodes of the inventory without a document.", func(f Fleet) []sample { return countSample(len(f.Missing)) }},
	{"stale_nodes", "Nodes whose document is old.", func(f Fleet) []sample { return countSample(len(f.Stale)) }},
	{"unread_documents", "Documents that could not be judged.", func(f Fleet) []sample { return countSample(len(f.Unread) + f.More) }},
	{"run_timestamp_seconds", "Unix time of the last run.", func(f Fleet) []sample { return runSamples(f.Tool) }},
}

// countSample returns a metric with one sample, n, and no labels.
func countSample(n int) []sample { return []sample{{"", float64(n)}} }

func driftSamples(f Fleet) []sample {
	var list []sample
	for _, d := range f.Drift {
		list = append(list, valuedSample(float64(len(d.Values)), "group", d.Group, "what", d.What, "severity", string(d.Severity)))
	}
	return sortSamples(list)
}

func sortSamples(list []sample) []sample {
	slices.SortFunc(list, func(a, b sample) int { return cmp.Compare(a.labels, b.labels) })
	return list
}

func fleetFindingSamples(f Fleet) []sample {
	var list []sample
	for _, k := range f.Kinds {
		for _, s := range []verdict.Severity{verdict.Error, verdict.Warning} {
			for rule := range strings.FieldsSeq(rulesOf(k, s)) {
				list = append(list, valuedSample(float64(len(k.Nodes)), "rule", rule, "severity", string(s)))
			}
		}
	}
	return mergeSamples(list)
}
