package matrix

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables"
	"cudacompat/internal/tables/sheet"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// Space returns what to install for a wanted package on every GPU and instance type in the tables, with every driver.
// It calls answer for each, as the command pins does. Hosts with equal answers form a group, and drivers with equal
// answers form a band. Of the facts in here, Space uses only the operating system: Linux or Windows.
func Space(t *Tables, here facts.Facts, want pin.Want, python string, answer func(Target) pin.Sets) pin.Space {
	s := &spacing{here: facts.Facts{System: facts.System{OS: here.System.OS}}, of: want.Package, python: python, answer: answer, seen: map[string]int{}, Space: pin.Space{Schema: pin.SpaceSchema,
		Want: want.String(), Python: python, Date: t.Date(), Answers: []pin.Answer{}, Groups: []pin.HostGroup{}}}
	for _, h := range s.hosts(t) {
		s.add(t, h)
	}
	s.Breaks = s.breaks()
	return s.Space
}

// spacing is a Space in the making.
type spacing struct {
	pin.Space
	here   facts.Facts
	of     string // the framework
	python string
	answer func(Target) pin.Sets
	seen   map[string]int // answers by their JSON
}

// host is GPUs or instance types that are answered alike.
type host struct {
	pin.HostGroup
	target Target // one of them
}

// hosts returns every GPU and every instance type of the tables in groups that nothing in them tells apart.
func (s *spacing) hosts(t *Tables) []*host {
	var list []*host
	at := map[string]*host{}
	add := func(key string, target Target) *host {
		if at[key] == nil {
			m := model.NewMachine(t, &s.here, target, verdict.Policy{})
			at[key] = &host{target: target, HostGroup: pin.HostGroup{Platform: m.Platform, GPUs: []string{}, Instances: []string{},
				Capability: m.GPUs[0].Capability.String()}}
			if chip := m.GPUs[0].Chip; chip != nil {
				at[key].Architecture = chip.Architecture
			}
			list = append(list, at[key])
		}
		return at[key]
	}
	chips := tables.Rows[tables.Chip](t)
	for i := range chips {
		c := chips[i].Capability.String()
		add("capability "+c, Target{GPUs: []string{c}})
	}
	for i := range chips {
		for _, name := range chips[i].Names {
			if t.ChipNamed(name) != &chips[i] {
				continue
			}
			h := add(hostKey(t, &chips[i], name), Target{GPUs: []string{name}})
			h.GPUs = append(h.GPUs, name)
		}
	}
	for _, name := range t.InstanceNames() {
		i := t.Instance(name)
		chip := t.ChipNamed(i.GPU)
		if chip == nil {
			continue
		}
		key := fmt.Sprint("instance ", hostKey(t, chip, i.GPU), i.Platform, i.GRID, i.LastBranch, ec2Name.MatchString(name))
		if i.LastBranch.Known() && i.LastBranch != chip.LastBranch {
			key += fmt.Sprint(i.Source)
		}
		// Without an AMI to choose, an instance type is a GPU.
		if like := at[hostKey(t, chip, i.GPU)]; like != nil && like.Platform == i.Platform && i.GRID != "yes" && !ec2Name.MatchString(name) {
			key = hostKey(t, chip, i.GPU)
		}
		h := add(key, Target{Instance: name})
		h.Instances = append(h.Instances, name)
	}
	list = slices.DeleteFunc(list, func(h *host) bool { return h.Platform == "win_arm64" || h.windowsTegra() })
	slices.SortStableFunc(list, func(a, b *host) int { return sheet.CompareNaturally(a.Capability, b.Capability) })
	return list
}

// windowsTegra reports whether a host is a Tegra with Windows, of which there is none.
func (h *host) windowsTegra() bool {
	c, err := version.ParseCapability(h.Capability)
	return err == nil && c.Tegra() && strings.HasPrefix(h.Platform, "win_")
}

// ec2Name matches the instance types for which an AMI can be chosen.
var ec2Name = lazyregexp.New(`^[a-z][a-z0-9-]*\.[a-z0-9-]+$`)

// hostKey returns everything by which pins tells a product from others.
func hostKey(t *Tables, chip *tables.Chip, name string) string {
	return alikeKey(t, chip, name) + chip.OpenModule + pins.WindowsEdition(hardware.GPU{Name: name, Chip: chip}) + fmt.Sprint(strings.Contains(strings.ToLower(name), "laptop"))
}

// add asks for every driver that makes a difference, and writes down where the answer changes.
func (s *spacing) add(t *Tables, h *host) {
	m := model.NewMachine(t, &s.here, h.target, verdict.Policy{})
	g := h.HostGroup
	g.Bands, g.Branches, g.Ends = []pin.Band{}, []pin.Band{}, pins.GPUEnds(m, s.of)
	for i := range g.Ends {
		g.Ends[i].Why = strings.ReplaceAll(g.Ends[i].Why, m.GPUs[0].Label, pin.GPUWord)
	}
	for _, v := range spaceCuts(m) {
		from := v.String()
		if v.Parts() == 1 { // a branch alone stands for its newest release
			v = version.ParseOrZero(from + ".0")
		}
		if from == "100" {
			from = ""
		}
		n := s.ask(m, h.target, v.String())
		if last := len(g.Bands) - 1; last < 0 || g.Bands[last].Answer != n {
			g.Bands = append(g.Bands, pin.Band{From: from, Answer: n})
		}
	}
	for _, b := range readBranches(m) {
		if n := s.ask(m, h.target, b); n != g.On(b) {
			g.Branches = append(g.Branches, pin.Band{From: b, Answer: n})
		}
	}
	g.Without = s.ask(m, h.target, "")
	same := slices.IndexFunc(s.Groups, func(o pin.HostGroup) bool {
		return len(o.GPUs) > 0 == (len(g.GPUs) > 0) && len(o.Instances) > 0 == (len(g.Instances) > 0) && o.Capability == g.Capability &&
			len(o.GPUs)+len(o.Instances) > 0 &&
			o.Platform == g.Platform && slices.Equal(o.Bands, g.Bands) && slices.Equal(o.Branches, g.Branches) && o.Without == g.Without && reflect.DeepEqual(o.Ends, g.Ends)
	})
	if same >= 0 {
		s.Groups[same].GPUs = append(s.Groups[same].GPUs, g.GPUs...)
		s.Groups[same].Instances = append(s.Groups[same].Instances, g.Instances...)
		return
	}
	s.Groups = append(s.Groups, g)
}

// spaceCuts returns the drivers at which an answer can change: branches, what is published of the product, and the
// minimum drivers of CUDA's releases. There is one answer for all drivers before the chip's first.
func spaceCuts(m *model.Machine) []version.Number {
	list := cutList{}
	branches := tables.Rows[tables.Branch](m.Tables)
	for _, b := range branches {
		list.add(version.ParseOrZero(b.Branch))
		if m.PartOfGPU() {
			list.addBranch(b.Number())
		}
	}
	list.addBranch(branches[len(branches)-1].Number())
	for _, f := range tables.Rows[tables.Forward](m.Tables) {
		for _, base := range f.Base {
			list.addBranch(version.Int(base))
		}
	}
	for _, family := range tables.Rows[tables.Minor](m.Tables) {
		list.add(family.DriverLinux)
		if m.Windows() {
			list.add(family.DriverWindows)
		}
	}
	for _, c := range tables.Rows[tables.CUDA](m.Tables) {
		_, least, _ := m.Tables.Floor(c.Release, m.Windows())
		list.add(least)
		if m.Windows() {
			list.add(c.DriverWindows)
		}
	}
	g := m.GPUs[0]
	list.addGPU(m, g)
	first := version.ParseOrZero("100")
	if g.Chip != nil && g.Chip.FirstBranch.Known() && !m.Jetson() {
		first = g.Chip.FirstBranch
	}
	list = slices.DeleteFunc(list, func(v version.Number) bool { return v.Less(first) })
	list.add(version.ParseOrZero("100"))
	return list.sorted()
}

// readBranches returns the branches of which something is published for a release and not for all: their number alone,
// as in "525", may be answered otherwise than their first release.
func readBranches(m *model.Machine) []string {
	var list []string
	for _, p := range m.ProductsOf(m.GPUs[0]) {
		for _, v := range p.Mentioned() {
			if b := fmt.Sprint(v.Major()); !slices.Contains(list, b) {
				list = append(list, b)
			}
		}
	}
	slices.Sort(list)
	return list
}

// ask returns the number of the answer for a driver.
func (s *spacing) ask(m *model.Machine, target Target, driver string) int {
	target.Driver, target.Python = driver, s.python
	sets := s.answer(target)
	label := m.GPUs[0].Label
	words := func(text string) string {
		text = strings.ReplaceAll(text, label, pin.GPUWord)
		if driver != "" {
			text = strings.ReplaceAll(text, "driver "+driver, "driver "+pin.DriverWord)
		}
		return text
	}
	for i := range sets.Sets {
		sets.Sets[i].Why = words(sets.Sets[i].Why)
	}
	for i := range sets.Missing {
		sets.Missing[i].Why = words(sets.Missing[i].Why)
	}
	a := pin.Answer{Sets: sets.Sets, Missing: sets.Missing}
	key, _ := json.Marshal(a)
	n, ok := s.seen[string(key)]
	if !ok {
		n = len(s.Answers)
		s.seen[string(key)] = n
		s.Answers = append(s.Answers, a)
	}
	return n
}

// breaks returns the drivers at which some group's answer changes.
func (s *spacing) breaks() []string {
	list := []string{}
	for _, g := range s.Groups {
		for _, b := range g.Bands {
			if b.From != "" && !slices.Contains(list, b.From) {
				list = append(list, b.From)
			}
		}
	}
	slices.SortFunc(list, version.CompareTexts)
	return list
}
