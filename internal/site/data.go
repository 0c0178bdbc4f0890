package site

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"cudacompat/internal/offer"
	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix"
	"cudacompat/matrix/pin"
	"cudacompat/probe/facts"
)

// wants are the frameworks and engines that the page answers for, the default first.
var wants = []string{"torch", "tensorflow", "jax", "vllm", "sglang"}

// defaultPython is the Python that the first view answers for.
const defaultPython = "3.12"

// spaces works out the answers for some wants and one Python, side by side.
func spaces(ctx context.Context, t *matrix.Tables, system facts.System, wants []string, python string) map[string]pin.Space {
	all := map[string]pin.Space{}
	var lock sync.Mutex
	var work sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, want := range wants {
		work.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			s := offer.Space(ctx, t, facts.Facts{System: system}, pin.Want{Package: want}, python)
			lock.Lock()
			all[want] = s
			lock.Unlock()
		})
	}
	work.Wait()
	return all
}

// pageData is what lookup.js reads. Every text is in Strings once; answers name them by number.
type pageData struct {
	Date     string              `json:"date"`
	Python   string              `json:"python"`
	Pythons  []string            `json:"pythons,omitempty"` // that have a file of their own
	Strings  []string            `json:"strings"`
	Hosts    []pageHost          `json:"hosts"`
	Wants    map[string]pageWant `json:"wants"`
	Branches []pageBranch        `json:"branches"`
	Images   map[string]string   `json:"images"` // SageMaker's machine images, with their drivers
	// The end of life of a branch: its date, why and sources. Windows' drivers have none.
	DriverEnds map[string][]any `json:"driverEnds"`
	// The minimum driver for builds of a CUDA major version, in the form for comparing and in the form for printing.
	Floors map[string][2]string `json:"floors"`
}

// pageHost is GPUs and instance types that are in one group of every Space.
type pageHost struct {
	Capability   string   `json:"c"`
	Architecture string   `json:"a"`
	Platform     string   `json:"p"`
	GPUs         []string `json:"g,omitempty"`
	Instances    []string `json:"i,omitempty"`
	// The GPU of the instance types, in their order, as a label: "L4 (8.9)".
	Labels []string `json:"l,omitempty"`
	Tegra  bool     `json:"t,omitempty"` // no branch of a driver is its own
}

// pageWant is one Space: for each host its group, the groups' bands and the answers.
type pageWant struct {
	Of      []int    `json:"of"`
	Groups  [][]any  `json:"groups"` // [bands, branches, without, ends], where bands are [from, answer, from, answer ...]
	Answers [][]any  `json:"answers"`
	Newest  string   `json:"newest"` // the newest release of all
	Breaks  []string `json:"breaks"`
	Sets    [][]any  `json:"sets"`
}

// pageBranch is a driver branch: its number, type, CUDA, end of life, newest release.
type pageBranch [5]string

// tools are the keys of a set's commands, in the order in which the page has them.
var tools = []string{"pip", "uv", "apt", "dnf", "runfile"}

// encoder writes Spaces compactly.
type encoder struct {
	pageData
	at map[string]int
}

func (e *encoder) text(s string) int {
	n, ok := e.at[s]
	if !ok {
		n = len(e.Strings)
		e.at[s], e.Strings = n, append(e.Strings, s)
	}
	return n
}

func (e *encoder) texts(list []string) []int {
	numbers := make([]int, len(list))
	for i, s := range list {
		numbers[i] = e.text(s)
	}
	return numbers
}

// encode puts the Spaces of all wants together.
func encode(t *matrix.Tables, all map[string]pin.Space, python string, windows bool) pageData {
	e := &encoder{at: map[string]int{}, pageData: pageData{Date: t.Date(), Python: python, Wants: map[string]pageWant{}, Images: map[string]string{}, DriverEnds: map[string][]any{}, Floors: map[string][2]string{}}}
	e.hosts(t, all)
	for _, want := range wants {
		if s, ok := all[want]; ok {
			e.want(want, s)
		}
	}
	for _, b := range tables.Rows[tables.Branch](t) {
		e.Branches = append(e.Branches, pageBranch{b.Branch, b.Type, b.CUDA.String(), b.EndOfLife, b.Newest.String()})
		if end, ok := matrix.DriverEndOfLife(t, b.Branch); ok && !windows {
			e.DriverEnds[b.Branch] = e.end(end)
		}
	}
	for _, f := range tables.Rows[tables.Minor](t) {
		need, least, _ := t.Floor(f.Family, windows)
		e.Floors[f.Family.String()] = [2]string{least.String(), strings.TrimPrefix(need, "driver >= ")}
	}
	for _, i := range tables.Rows[tables.MachineImage](t) {
		e.Images[i.Image] = i.Driver.String()
	}
	return e.pageData
}

// hosts lists the hosts, and for each want the group of each host.
func (e *encoder) hosts(t *matrix.Tables, all map[string]pin.Space) {
	of := map[string][]int{} // by host's key
	at := map[string]int{}   // by its groups
	first := all[present(all)[0]]
	names := map[string]map[string]int{}
	for want, s := range all {
		names[want] = map[string]int{}
		for i, g := range s.Groups {
			for _, key := range keysOf(g) {
				names[want][key] = i
			}
		}
	}
	for _, g := range first.Groups {
		for _, key := range keysOf(g) {
			groups := make([]int, 0, len(wants))
			for _, want := range wants {
				if _, ok := all[want]; ok {
					groups = append(groups, names[want][key])
				}
			}
			id := fmt.Sprint(groups, strings.HasPrefix(key, "c "))
			n, ok := at[id]
			if !ok {
				n = len(e.Hosts)
				at[id], of[id] = n, groups
				e.Hosts = append(e.Hosts, pageHost{Capability: g.Capability, Architecture: g.Architecture, Platform: g.Platform, Tegra: isTegra(g.Capability)})
				for i, want := range present(all) {
					w := e.Wants[want]
					w.Of = append(w.Of, groups[i])
					e.Wants[want] = w
				}
			}
			switch kind, name, _ := strings.Cut(key, " "); kind {
			case "g":
				e.Hosts[n].GPUs = append(e.Hosts[n].GPUs, name)
			case "i":
				i := t.Instance(name)
				e.Hosts[n].Instances = append(e.Hosts[n].Instances, name)
				e.Hosts[n].Labels = append(e.Hosts[n].Labels, i.GPU)
			}
		}
	}
}

func present(all map[string]pin.Space) []string {
	return slices.DeleteFunc(slices.Clone(wants), func(w string) bool { _, ok := all[w]; return !ok })
}

// keysOf returns the hosts of a group: "g L4", "i g6.xlarge", "c 8.9".
func keysOf(g pin.HostGroup) []string {
	var list []string
	for _, name := range g.GPUs {
		list = append(list, "g "+name)
	}
	for _, name := range g.Instances {
		list = append(list, "i "+name)
	}
	if len(list) == 0 {
		list = append(list, "c "+g.Capability)
	}
	return list
}

// isTegra reports whether a capability is of Tegra, "8.7".
func isTegra(capability string) bool {
	c, err := version.ParseCapability(capability)
	return err == nil && c.Tegra()
}

// want writes one Space.
func (e *encoder) want(want string, s pin.Space) {
	w := e.Wants[want]
	w.Breaks = s.Breaks
	for _, g := range s.Groups {
		w.Groups = append(w.Groups, []any{bandsOf(g.Bands), bandsOf(g.Branches), g.Without, e.ends(g.Ends)})
	}
	sets := map[string]int{}
	for _, a := range s.Answers {
		list := []any{}
		for _, set := range a.Sets {
			if own := set.Packages[0].Version; newer(own, w.Newest) {
				w.Newest = own
			}
			row := e.set(set)
			key := fmt.Sprint(row)
			n, ok := sets[key]
			if !ok {
				n = len(w.Sets)
				sets[key], w.Sets = n, append(w.Sets, row)
			}
			list = append(list, n)
		}
		missing := []any{}
		for _, m := range a.Missing {
			missing = append(missing, []any{string(m.Choice), e.text(m.Why), e.texts(m.Source)})
		}
		w.Answers = append(w.Answers, []any{list, missing})
	}
	e.Wants[want] = w
}

// end returns [kind, last, date, why, sources].
func (e *encoder) end(end pin.End) []any {
	return []any{string(end.Kind), end.Last, end.Date, e.text(end.Why), e.texts(end.Source)}
}

func (e *encoder) ends(ends []pin.End) []any {
	list := []any{}
	for _, end := range ends {
		list = append(list, e.end(end))
	}
	return list
}

func newer(a, b string) bool { return b == "" || compareReleases(a, b) > 0 }

// set returns [choice, driver, packages, index, extra, commands by tool, steps, why, lacks, sources], each text by its
// number.
func (e *encoder) set(s pin.Set) []any {
	specs := []int{}
	for _, p := range s.Packages {
		specs = append(specs, e.text(p.Spec()))
	}
	commands := []int{}
	for _, tool := range tools {
		switch command, ok := s.Commands[tool]; {
		case !ok:
			commands = append(commands, -1)
		case tool == "uv" && command == "uv "+s.Commands["pip"]:
			commands = append(commands, -2)
		default:
			commands = append(commands, e.text(command))
		}
	}
	steps := []any{}
	for _, step := range s.Steps {
		steps = append(steps, []any{e.text(step.Say), e.text(step.Run), step.Or})
	}
	return []any{string(s.Choice), e.text(s.Driver), specs, e.text(s.Index), e.text(s.Extra), commands, steps, e.text(s.Why),
		e.texts(s.Lacks), e.texts(s.Source)}
}

func bandsOf(bands []pin.Band) []any {
	list := []any{}
	for _, b := range bands {
		list = append(list, b.From, b.Answer)
	}
	return list
}

// compareReleases compares releases by their public versions, then by their variants.
func compareReleases(a, b string) int {
	x, _, _ := strings.Cut(a, "+")
	y, _, _ := strings.Cut(b, "+")
	return cmp.Or(version.CompareTexts(x, y), strings.Compare(a, b))
}
