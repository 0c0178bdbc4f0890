package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"cudacompat/internal/version"
	"cudacompat/probe"
	"cudacompat/requires"
)

// Requires is a requirement with the program that worked it out.
type Requires struct {
	requires.Requirement
	Tool   Tool        `json:"tool"`
	Source string      `json:"-"` // the file, relative to where the caller works; empty where it has no lines
	Facts  probe.Facts `json:"-"`
}

// RequireFormats is every format of a requirement, by name.
var RequireFormats = []Format[Requires]{
	{"text", requiresText},
	{"json", func(w io.Writer, r Requires, _ Style) error { return writeJSON(w, r) }},
	{"nvidia-require", dialect(nvidiaRequire)},
	{"cel", dialect(cel)},
	{"nodeaffinity", dialect(nodeAffinity)},
	{"slurm", dialect(slurm)},
	{"env", dialect(installerVariables)},
}

// requiresText writes the screen for people: the need in a sentence, the builds, the drivers by GPU, and what each
// limit rests on.
func requiresText(w io.Writer, r Requires, s Style) error {
	p := &page{style: s}
	text, colour := requiresWords(r)
	p.wrap(2, text, painted{colour, "requires"}, ": ")
	p.builds(r)
	p.hosts(r)
	p.limits(r)
	for _, u := range r.Unknown {
		p.line()
		p.wrap(4, u.Subject+": "+u.Missing, painted{yellow, "? not known"}, ": ")
	}
	p.line()
	p.wrap(0, requiresCount(r))
	_, err := w.Write(p.Bytes())
	return err
}

// requiresWords is the need in one sentence.
func requiresWords(r Requires) (text, colour string) {
	groups := hostGroups(r)
	switch {
	case len(r.Unknown) > 0:
		return "no host can be named: " + r.Unknown[0].Subject + ": " + r.Unknown[0].Missing, yellow
	case len(r.Builds) == 0:
		return "nothing here asks for a driver or a GPU", green
	case len(groups) == 0 && slices.ContainsFunc(r.GPUs, func(g requires.GPU) bool { return len(g.Undecided) > 0 }):
		return "no host can be named, for facts are missing", yellow
	case len(groups) == 0:
		return "no GPU of the tables runs this", red
	}
	return hostWords(groups), green
}

// hostWords are the oldest driver that will do, and the capabilities.
func hostWords(groups []hostGroup) string {
	var capabilities []string
	least := requires.Range{}
	for _, g := range groups {
		capabilities = append(capabilities, g.capabilities...)
		if first := g.drivers[0]; first.From != "" && (least.From == "" || version.Of(first.From).Less(version.Of(least.From))) {
			least = requires.Range{From: first.From}
		}
	}
	if least.From == "" {
		return "a GPU of compute capability " + capabilityWords(capabilities)
	}
	return "driver " + least.String() + " and a GPU of compute capability " + capabilityWords(capabilities)
}

// capabilityWords names the capabilities from the oldest on.
func capabilityWords(list []string) string {
	slices.SortFunc(list, version.CompareTexts)
	return strings.Join(slices.Compact(list), ", ")
}

// builds lists what asks.
func (p *page) builds(r Requires) {
	if len(r.Builds) > 0 {
		p.line()
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
		p.wrap(8, strings.Join(facts, ", "), "  "+b.Subject, "  ")
	}
}

// hostGroup is GPUs that take the same drivers.
type hostGroup struct {
	drivers             requires.Drivers
	code                string
	capabilities, names []string
}

// hostGroups puts together the GPUs that are admitted with the same drivers.
func hostGroups(r Requires) []hostGroup {
	var list []hostGroup
	for _, g := range r.GPUs {
		products := func(o requires.GPU) bool { return o.Capability == g.Capability && len(o.Names) > 0 }
		if len(g.Drivers) == 0 || len(g.Names) == 0 && slices.ContainsFunc(r.GPUs, products) {
			continue
		}
		i := slices.IndexFunc(list, func(h hostGroup) bool { return h.code == g.Code && slices.Equal(h.drivers, g.Drivers) })
		if i < 0 {
			i, list = len(list), append(list, hostGroup{drivers: g.Drivers, code: g.Code})
		}
		list[i].names = append(list[i].names, g.Names...)
		if !slices.Contains(list[i].capabilities, g.Capability) {
			list[i].capabilities = append(list[i].capabilities, g.Capability)
		}
	}
	return list
}

// hosts lists the drivers for each group of GPUs, then the GPUs that drop out.
func (p *page) hosts(r Requires) {
	if len(r.Builds) == 0 && !p.style.All {
		return
	}
	groups := hostGroups(r)
	if len(groups) > 0 {
		p.line()
	}
	for _, g := range groups {
		text := capabilityWords(g.capabilities) + ": " + p.products(g.names)
		if g.code == "ptx" {
			text += "; only PTX, which the driver compiles"
		}
		drivers := "driver " + g.drivers.String()
		if g.drivers[0] == (requires.Range{}) {
			drivers = "any system" // a Tegra module's driver comes with it
		}
		p.wrap(10, text, "  ", painted{bold, drivers}, "  ")
	}
	for _, f := range r.Forward {
		branches := strings.Join(f.Branches, ", ")
		p.wrap(10, branches+" with "+f.Package+", on GPUs for data centres (forward compatibility)", "  or      ")
	}
	p.dropped(r)
}

// dropped lists the GPUs that no driver makes run it, by the rule that says so; without --all those only of which a
// driver branch is still made.
func (p *page) dropped(r Requires) {
	var order []string
	names, capabilities := map[string][]string{}, map[string][]string{}
	for _, g := range r.GPUs {
		if len(g.Drivers) > 0 || len(g.Names) == 0 {
			continue
		}
		why := cmp.Or(strings.Join(g.Because, ", "), "not known")
		if names[why] == nil {
			order = append(order, why)
		}
		names[why] = append(names[why], g.Names...)
		capabilities[why] = append(capabilities[why], g.Capability)
	}
	for _, why := range order {
		p.wrap(10, capabilityWords(capabilities[why])+": "+p.products(names[why])+" ("+why+")", "  not     ")
	}
}

// products names some GPUs; those for data centres first, since machines are rented by them.
func (p *page) products(names []string) string {
	if len(names) == 0 {
		return "any GPU of it"
	}
	if p.style.All {
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

// popular are the GPUs that clouds rent out and people own most, by which others are placed at a glance.
var popular = []string{"T4", "Tesla T4", "A100", "A10G", "A10", "L4", "L40S", "H100", "H200", "GH200", "B200", "GB200",
	"B300", "GB300", "GB10", "RTX PRO 6000 Blackwell Server Edition", "GeForce RTX 3090", "GeForce RTX 4090",
	"GeForce RTX 5090", "V100", "P100", "K80", "M60"}

// limits lists what each limit rests on, each row once. Without --all the chips' own branches are left out, and what
// is not known while something is.
func (p *page) limits(r Requires) {
	var said []string
	known := len(hostGroups(r)) > 0
	for _, n := range r.Needs {
		if (n.Subject == "" || n.Missing != "" && known) && !p.style.All {
			continue
		}
		text := cmp.Or(n.Subject, "the GPU") + ": " + n.Need
		if n.Missing != "" {
			text = n.Subject + ": not known: " + n.Missing
		}
		if n.From != "" {
			text += " (" + n.From + ")"
		}
		if n.Row != "" {
			text += "; " + n.Row
		}
		if slices.Contains(said, text) {
			continue
		}
		if len(said) == 0 {
			p.line()
		}
		said = append(said, text)
		p.wrap(8, text, "  ", painted{cyan, n.Rule}, "  ")
		if p.style.All {
			for _, source := range n.Source {
				p.command("see", source)
			}
		}
	}
}

// requiresCount is the last line.
func requiresCount(r Requires) string {
	admitted, undecided, refused := 0, 0, 0
	for _, g := range r.GPUs {
		n := max(len(g.Names), 0)
		switch {
		case len(g.Drivers) > 0:
			admitted += n
		case len(g.Undecided) > 0:
			undecided += n
		default:
			refused += n
		}
	}
	return fmt.Sprintf("%s can run it, %d cannot, %d not known (--all names them; tables of %s)",
		plural(admitted, "GPU product"), refused, undecided, r.Tool.Matrix)
}
