// Package needs writes what an artefact needs of a host: as text, and in the words of schedulers and installers
// (NVIDIA_REQUIRE_CUDA, CEL, node affinity, variables, a README's table, a badge).
//
// With an older version of the artefact, or with two directories, it writes what a change costs: which drivers and GPUs
// are lost, and by which package. A dialect admits no host that the requirement does not, and says nothing of what is
// unknown. Package matrix/requires computes the requirement.
package needs

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"cudacompat/internal/budget"
	"cudacompat/internal/report"
	"cudacompat/internal/report/layout"
	"cudacompat/internal/version"
	"cudacompat/matrix/requires"
	"cudacompat/probe/facts"
)

// Requires is a requirement and the program that computed it.
type Requires struct {
	requires.Requirement
	Tool   report.Tool `json:"tool"`
	Source string      `json:"-"` // the file, relative to where the caller works; empty where it has no lines
	Facts  facts.Facts `json:"-"`
}

// Leave records that a requirement was shortened for lack of time, so that it admits no host.
func (r *Requires) Leave(left map[string]int) {
	r.Unknown = append(r.Unknown, requires.Missing{Subject: r.Artefact, MissingFact: requires.Statement(
		"the time was up before all of it was written; left out: " + budget.Words(left))})
}

// Formats lists every format of a requirement.
var Formats = []report.Format[Requires]{
	{Name: "text", Write: requiresText},
	{Name: "json", Write: func(w io.Writer, r Requires, _ layout.Style) error { return report.WriteJSON(w, r) }},
	{Name: "nvidia-require", Write: dialect(nvidiaRequire)},
	{Name: "cel", Write: dialect(cel)},
	{Name: "nodeaffinity", Write: dialect(nodeAffinity)},
	{Name: "env", Write: dialect(installerVariables)},
	{Name: "markdown", Write: requiresMarkdown},
	{Name: "badge", Write: requiresBadge},
}

// writePromised writes whether a configuration's promise holds, with the line that breaks it.
func writePromised(p *layout.Page, r Requires) {
	if r.Supports == nil {
		return
	}
	p.WriteLine()
	p.WriteWrapped(2, "promised in "+r.Supports.From, "  ")
	for _, t := range r.Supports.Targets {
		switch {
		case t.Holds:
			p.WriteLine("  ", layout.Paint(layout.Green, "holds  "), "  ", t.Target)
		case t.Unknown:
			p.WriteLine("  ", layout.Paint(layout.Yellow, "unknown"), "  ", t.Target)
		default:
			p.WriteLine("  ", layout.Paint(layout.Red, "broken "), "  ", t.Target)
		}
		for _, n := range t.Because {
			p.WriteWrapped(13, limitWords(n), "           ", layout.Paint(layout.Cyan, n.Rule), "  ")
		}
	}
}

// promiseWords describes the first part of a promise that is broken or cannot be judged. ok is false if all of it
// holds.
func promiseWords(r Requires) (text, colour string, ok bool) {
	for _, broken := range []bool{true, false} {
		for _, t := range r.Supports.Targets {
			if t.Holds || t.Broken() != broken {
				continue
			}
			why := ""
			if len(t.Because) > 0 {
				why = ": " + limitWords(t.Because[0])
			}
			if broken {
				return t.Target + " is promised and not supported" + why, layout.Red, true
			}
			return "it is unknown whether " + t.Target + ", which is promised, is supported" + why, layout.Yellow, true
		}
	}
	return "", "", false
}

// requiresText writes the page: the need in a sentence, the builds, the drivers for each GPU, and what each limit is
// based on.
func requiresText(w io.Writer, r Requires, s layout.Style) error {
	p := &layout.Page{Style: s}
	if r.Supports != nil {
		text, colour, broken := promiseWords(r)
		if !broken {
			text, colour = "everything that is promised is supported", layout.Green
		}
		p.WriteWrapped(2, text, layout.Paint(colour, "requires"), ": ")
		writePromised(p, r)
		_, err := w.Write(p.Bytes())
		return err
	}
	text, colour := requiresWords(r)
	p.WriteWrapped(2, text, layout.Paint(colour, "requires"), ": ")
	r = r.conditional()
	writeBuilds(p, r)
	writeHosts(p, r)
	writeLimits(p, r)
	if r.Declared != nil {
		p.WriteLine()
		p.WriteWrapped(4, declaredWords(*r.Declared, plainSpeech), layout.Paint(layout.Yellow, "! declared"), ": ")
	}
	for _, u := range r.Unknown {
		p.WriteLine()
		p.WriteWrapped(4, u.Subject+": "+u.Missing, layout.Paint(layout.Yellow, "? unknown"), ": ")
	}
	if len(r.Builds) > 0 || s.All {
		p.WriteLine()
		p.WriteWrapped(0, requiresCount(r))
	}
	_, err := w.Write(p.Bytes())
	return err
}

// conditional returns the requirement for hosts if the image brings the rest. The first sentence states this condition.
func (r Requires) conditional() Requires {
	if !r.leftToImage() {
		return r
	}
	r.GPUs = slices.Clone(r.GPUs)
	for i, g := range r.GPUs {
		r.GPUs[i] = g.Given(nil, nil)
	}
	return r
}

// leftToImage reports whether more hosts are sufficient for an image that brings what is needed.
func (r Requires) leftToImage() bool {
	return slices.ContainsFunc(r.GPUs, func(g requires.GPU) bool { return !slices.Equal(g.Provided, g.Drivers) })
}

// requiresWords describes in one sentence which hosts can run the packages, and returns the colour of that sentence.
func requiresWords(r Requires) (text, colour string) {
	groups := hostGroups(r)
	switch {
	case len(r.Unknown) > 0:
		return "no host can be named, because facts about " + r.Unknown[0].Subject + " are missing", layout.Yellow
	case len(r.Builds) == 0:
		return "nothing here asks for a driver or a GPU", layout.Green
	case r.leftToImage():
		return hostWords(hostGroups(r.conditional())) + ", if the image has " + strings.Join(r.ImageNeeds(), ", ") +
			", which this does not install", layout.Yellow
	case r.Undecided():
		return "no host can be named" + r.forLackOf(), layout.Yellow
	case len(groups) == 0:
		return "no GPU in the tables can run this" + r.refusal(), layout.Red
	}
	return hostWords(groups), layout.Green
}

// forLackOf returns the first missing fact of a build without which no host can be named.
func (r Requires) forLackOf() string {
	i := slices.IndexFunc(r.Needs, func(n requires.Need) bool { return n.Subject != "" && n.Missing != "" })
	if i < 0 {
		return ", because facts are missing"
	}
	n := r.Needs[i]
	if n.Question {
		return ", because it is unknown of " + n.Subject + " " + n.Missing
	}
	return ", because facts about " + n.Subject + " are missing"
}

// refusal returns the need that no host meets, whatever its GPU and driver. It returns "" if only several needs
// together exclude all hosts.
func (r Requires) refusal() string {
	i := slices.IndexFunc(r.Needs, func(n requires.Need) bool {
		return len(n.Drivers)+len(n.GPUs) == 0 && n.Missing == ""
	})
	if i < 0 {
		return ""
	}
	return ": " + limitWords(r.Needs[i])
}

// hostWords names the oldest sufficient driver and the capabilities, and says so if only Arm hosts are sufficient.
func hostWords(groups []hostGroup) string {
	var capabilities []string
	var differ bool
	var least requires.Range
	arch := ""
	for _, g := range groups {
		capabilities = append(capabilities, g.capabilities...)
		if first := g.drivers[0]; first.From != "" {
			differ = differ || least.From != "" && first.From != least.From
			if least.From == "" || version.ParseOrZero(first.From).Less(version.ParseOrZero(least.From)) {
				least, arch = requires.Range{From: first.From}, g.arch
			}
		}
	}
	host := ""
	if !slices.ContainsFunc(groups, func(g hostGroup) bool { return g.arch != "aarch64" }) {
		host = " on an Arm host"
	}
	if least.From == "" {
		return "a GPU of compute capability " + either(capabilityWords(capabilities)) + host
	}
	newer := ""
	if differ {
		newer = " (some GPUs have other limits, listed below)"
	}
	return "driver " + requires.Drivers{least}.On(arch) + newer + " and a GPU of compute capability " + either(capabilityWords(capabilities)) + host
}

// capabilityWords names the capabilities, oldest first.
func capabilityWords(list []string) string {
	slices.SortFunc(list, version.CompareTexts)
	return strings.Join(slices.Compact(list), ", ")
}

// either formats a list of alternatives: "7.5, 8.0 or 9.0".
func either(list string) string {
	if i := strings.LastIndex(list, ", "); i >= 0 {
		return list[:i] + " or" + list[i+1:]
	}
	return list
}

// writeBuilds lists the builds with a need.
func writeBuilds(p *layout.Page, r Requires) {
	if len(r.Builds) > 0 {
		p.WriteLine()
	}
	for _, b := range r.Builds {
		var facts []string
		for _, f := range []struct{ lead, text string }{{"CUDA ", b.CUDA}, {"glibc >= ", b.Glibc},
			{"Python ", strings.Join(b.Python, " ")}, {"", b.Arch}} {
			if f.text != "" {
				facts = append(facts, f.lead+f.text)
			}
		}
		if !b.Counts {
			facts = append(facts, "only noted")
		}
		p.WriteWrapped(8, cmp.Or(strings.Join(facts, ", "), "CUDA unknown"), "  "+b.Subject, "  ")
	}
}

// hostGroup is a set of GPUs that accept the same drivers, on hosts of one architecture.
type hostGroup struct {
	drivers             requires.Drivers
	code, arch          string
	capabilities, names []string
}

// addHost adds a GPU to the group of equal ones, or makes a group.
func addHost(list []hostGroup, like hostGroup, g requires.GPU) []hostGroup {
	i := slices.IndexFunc(list, func(h hostGroup) bool {
		return h.code == like.code && h.arch == like.arch && slices.Equal(h.drivers, like.drivers)
	})
	if i < 0 {
		i, list = len(list), append(list, like)
	}
	list[i].names = append(list[i].names, g.Names...)
	list[i].capabilities = layout.AppendUnique(list[i].capabilities, g.Capability)
	return list
}

// hostGroups groups the admitted GPUs by their drivers.
func hostGroups(r Requires) []hostGroup {
	var list []hostGroup
	for _, g := range r.GPUs {
		products := func(o requires.GPU) bool { return o.Capability == g.Capability && len(o.Names) > 0 }
		if len(g.Drivers) == 0 || len(g.Names) == 0 && slices.ContainsFunc(r.GPUs, products) {
			continue
		}
		list = addHost(list, hostGroup{drivers: g.Drivers, code: g.Code, arch: g.Arch}, g)
	}
	return list
}

// writeHosts lists the drivers, each with the groups of GPUs that accept it, then the GPUs that are excluded.
func writeHosts(p *layout.Page, r Requires) {
	if len(r.Builds) == 0 && !p.Style.All {
		return
	}
	p.WriteLine()
	groups := hostGroups(r)
	var oldest []string
	for _, g := range groups {
		oldest = append(oldest, g.drivers[0].From)
	}
	slices.SortFunc(oldest, version.CompareTexts)
	for _, from := range slices.Compact(oldest) {
		writeHostsOfDriver(p, r, from, groups)
	}
	for _, f := range r.Forward {
		if len(groups) > 0 {
			branches := "driver branch " + strings.Join(f.Branches, " or ")
			p.WriteWrapped(5, branches+" with the package "+f.Package+", on data-centre GPUs (forward compatibility)", "  or ")
		}
	}
	writeExcluded(p, r)
}

// writeHostsOfDriver lists the driver ranges that begin at one driver, each with its groups.
func writeHostsOfDriver(p *layout.Page, r Requires, from string, groups []hostGroup) {
	for i, g := range groups {
		same := func(h hostGroup) bool { return slices.Equal(h.drivers, g.drivers) }
		if g.drivers[0].From != from || slices.ContainsFunc(groups[:i], same) {
			continue
		}
		drivers := "driver " + g.drivers.On(g.arch)
		if g.drivers[0] == (requires.Range{}) {
			drivers = "any driver" // a Tegra module's driver comes with it
		}
		writeHostGroups(p, r, drivers, slices.DeleteFunc(slices.Clone(groups),
			func(h hostGroup) bool { return !same(h) }))
	}
}

// writeHostGroups writes a heading and a line for each group of GPUs.
func writeHostGroups(p *layout.Page, r Requires, head string, groups []hostGroup) {
	if p.Style.Width > 0 && len(head)+2 > p.Style.Width {
		p.WriteWrapped(4, head, "  ")
	} else {
		p.WriteLine("  ", layout.Paint(layout.Bold, head))
	}
	for _, arch := range []string{"x86_64", "aarch64", ""} {
		for _, g := range groups {
			if g.arch == arch {
				writeHostLine(p, g, r.onBoth())
			}
		}
	}
}

// onBoth reports whether the list has GPUs of both x86 and Arm hosts.
func (r Requires) onBoth() bool {
	on := map[string]bool{}
	for _, g := range r.GPUs {
		on[g.Arch] = on[g.Arch] || len(g.Names) > 0
	}
	return on["x86_64"] && on["aarch64"]
}

// writeHostLine names the GPUs of a group. If onBoth is set, it also names their hosts.
func writeHostLine(p *layout.Page, g hostGroup, on bool) {
	text := capabilityWords(g.capabilities)
	if on {
		text += map[string]string{"aarch64": " on Arm hosts", "x86_64": " on x86 hosts"}[g.arch]
	}
	text += ": " + nameProducts(p, g.names)
	if g.code == "ptx" {
		text += "; only PTX, which the driver compiles"
	}
	p.WriteWrapped(8, text, "    compute capability ")
}

// writeExcluded lists the GPUs that no driver makes work, by the rules that say so, then those with a missing fact, by
// that fact.
func writeExcluded(p *layout.Page, r Requires) {
	rules := func(g requires.GPU) (string, bool) {
		return strings.Join(g.Because, ", "), len(g.Drivers)+len(g.Undecided) == 0
	}
	facts := func(g requires.GPU) (string, bool) {
		return missingFacts(r, g), len(g.Drivers) == 0 && len(g.Undecided) > 0
	}
	writeGPUsBy(p, r, "cannot run it", rules)
	writeGPUsBy(p, r, "unknown", facts)
}

// writeGPUsBy lists GPUs, grouped by what is said about them.
func writeGPUsBy(p *layout.Page, r Requires, lead string, said func(requires.GPU) (string, bool)) {
	var order []string
	groups := map[string][]hostGroup{}
	for _, g := range r.GPUs {
		why, ok := said(g)
		if !ok || len(g.Names) == 0 {
			continue
		}
		if groups[why] == nil {
			order = append(order, why)
		}
		groups[why] = addHost(groups[why], hostGroup{arch: g.Arch}, g)
	}
	for _, why := range order {
		head := lead
		if why != "" {
			head += ": " + why
		}
		writeHostGroups(p, r, head, groups[why])
	}
}

// missingFacts returns the missing facts that concern some GPUs. Facts missing about the artefact itself are listed
// once for all.
func missingFacts(r Requires, g requires.GPU) string {
	if len(r.Unknown) > 0 {
		return ""
	}
	var facts []string
	for _, n := range r.Needs {
		holds := func(name string) bool { return n.HoldsFor(g.Capability, name) }
		if n.Missing != "" && n.Kind == requires.OfHost && slices.ContainsFunc(g.Names, holds) && !slices.Contains(facts, n.Missing) {
			facts = append(facts, n.Missing)
		}
	}
	return strings.Join(facts, "; ")
}

// nameProducts names some GPUs. Data-centre GPUs come first, because machines are rented by them.
func nameProducts(p *layout.Page, names []string) string {
	if len(names) == 0 {
		return "no product that the tables know yet"
	}
	if p.Style.All {
		return strings.Join(names, ", ")
	}
	known := slices.DeleteFunc(slices.Clone(popular), func(name string) bool { return !slices.Contains(names, name) })
	for _, name := range names {
		if len(known) < 3 && !slices.Contains(known, name) {
			known = append(known, name)
		}
	}
	known = known[:min(len(known), 6)]
	if n := len(names) - len(known); n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(known, ", "), n)
	}
	return strings.Join(known, ", ")
}

// popular lists the GPUs that most people own or rent, as points of reference.
var popular = []string{"T4", "A100", "A10G", "A10", "L4", "L40S", "H100", "H200", "GH200", "B200", "GB200",
	"B300", "GB300", "GB10", "RTX PRO 6000 Blackwell Server Edition", "GeForce RTX 3090", "GeForce RTX 4090",
	"GeForce RTX 5090", "V100", "P100", "K80", "M60"}

// writeLimits lists what each limit is based on, each row once, with the number of GPUs that it excludes. Without --all
// it omits the branches of chips and unknown limits.
func writeLimits(p *layout.Page, r Requires) {
	refused := map[string]int{}
	for _, n := range r.Needs {
		if len(n.Drivers) == 0 && n.Missing == "" {
			refused[limitWords(n)] += r.products(n)
		}
	}
	var said []string
	for _, n := range r.Needs {
		text := limitWords(n)
		hidden := n.Subject == "" || n.Missing != "" && n.Kind == requires.OfHost
		if hidden && !p.Style.All || slices.Contains(said, text) {
			continue
		}
		if len(said) == 0 {
			p.WriteLine()
			p.WriteWrapped(2, "the rules that set these limits, with their table rows", "  ")
		}
		said = append(said, text)
		if refused[text] > 0 {
			text += "; rules out " + layout.CountNoun(refused[text], "GPU product")
		}
		p.WriteWrapped(8, text, "  ", layout.Paint(layout.Cyan, n.Rule), "  ")
		if p.Style.All {
			for _, source := range n.Source {
				p.WriteCommand("see", source)
			}
		}
	}
}

// limitWords formats a need as a sentence: the build, the line that requests the build, the need, and the row.
func limitWords(n requires.Need) string {
	subject, text := cmp.Or(n.Subject, "the GPU"), n.Need
	if n.From != "" {
		subject += " (" + n.From + ")"
	}
	switch {
	case n.Kind == requires.OfImage && n.Missing != "" && n.Missing != n.Need:
		text = subject + " needs an image with " + n.Need
	case n.Question:
		text = subject + ": it is unknown " + n.Missing
	case n.Missing != "":
		text = subject + ": unknown: " + n.Missing
	case n.Thing:
		text = subject + " needs " + text
	case n.Subject != "" && strings.HasPrefix(text, n.Subject+" "):
		text = subject + strings.TrimPrefix(text, n.Subject)
	default:
		text = subject + ": " + text
	}
	if n.Row != "" {
		text += " (" + n.Row + ")"
	}
	return text
}

// products counts the GPU products that a need applies to.
func (r Requires) products(n requires.Need) int {
	count := 0
	for _, g := range r.GPUs {
		for _, name := range g.Names {
			if n.HoldsFor(g.Capability, name) {
				count++
			}
		}
	}
	return count
}

// requiresCount returns the last line.
func requiresCount(r Requires) string {
	admitted, undecided, refused := 0, 0, 0
	for _, g := range r.GPUs {
		n := len(g.Names)
		switch {
		case len(g.Drivers) > 0:
			admitted += n
		case len(g.Undecided) > 0:
			undecided += n
		default:
			refused += n
		}
	}
	return fmt.Sprintf("%s can run it, %d cannot, %d unknown (--all names them; tables of %s)",
		layout.CountNoun(admitted, "GPU product"), refused, undecided, r.Tool.Matrix)
}
