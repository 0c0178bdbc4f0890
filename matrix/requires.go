package matrix

import (
	"cmp"
	"slices"
	"strings"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/probe/facts"
	"cudacompat/requires"
)

// artefactOf is facts without the machine that they were taken on: what was installed, for whatever host it is put on.
func artefactOf(f facts.Facts) facts.Facts {
	f.Complete()
	system := f.System
	system.Kernel, system.Container, system.Instance = "", "", ""
	system.WSL, system.Jetson, system.Bootable = false, false, false
	a := facts.Facts{Schema: f.Schema, System: system, Driver: facts.Driver{Compat: f.Driver.Compat}, Toolkits: f.Toolkits,
		Environments: f.Environments, Libraries: f.Libraries, Unread: f.Unread, Building: f.Building}
	a.Complete()
	return a
}

// Requires works out what the artefact in facts needs of a host, whatever machine the facts were taken on. Of the
// target only the Python counts.
func Requires(t *Tables, f facts.Facts, python string) requires.Requirement {
	a := artefactOf(f)
	r := &gathering{of: map[string][]int{}, Requirement: &requires.Requirement{Schema: requires.Schema,
		Builds: []requires.Build{}, Needs: []requires.Need{}, GPUs: []requires.GPU{},
		Forward: []requires.Forward{}, Unknown: []requires.Missing{}}}
	for _, k := range kinds(t) {
		m := newMachine(t, &a, Target{Driver: newestDriver(t), GPUs: []string{k.asked}, Python: python}, Policy{NoPins: true})
		if len(r.GPUs) == 0 {
			r.describe(m)
		}
		r.add(k, m)
	}
	r.settle()
	r.Forward = forwardNeeds(t, *r.Requirement)
	return *r.Requirement
}

// RequiresOn is what the artefact in facts needs on the GPUs and instance types of targets alone; of their drivers
// none counts.
func RequiresOn(t *Tables, f facts.Facts, targets []Target) requires.Requirement {
	r := Requires(t, f, targets[0].Python)
	r.GPUs = []requires.GPU{}
	for _, target := range targets {
		r.GPUs = append(r.GPUs, requiredOn(t, f, target))
	}
	return r
}

// requiredOn is what the artefact needs on one target, whose GPUs are of one kind.
func requiredOn(t *Tables, f facts.Facts, target Target) requires.GPU {
	a := artefactOf(f)
	target.Driver = newestDriver(t)
	m := newMachine(t, &a, target, Policy{NoPins: true})
	if len(m.gpus) == 0 {
		none := requires.Drivers{}
		return requires.GPU{Drivers: none, Undecided: none, Because: []string{}, Names: []string{target.Instance}}
	}
	g := m.demand().gpu(m)
	g.Names = []string{cmp.Or(target.Instance, m.gpus[0].name, m.gpus[0].label)}
	return g
}

// newestDriver is the newest release of the last branch.
func newestDriver(t *Tables) string {
	branches := tables.Rows[tables.Branch](t)
	last := branches[len(branches)-1]
	return cmp.Or(last.Newest.String(), last.Branch)
}

// describe writes down what is there, and what is missing of it whatever the host.
func (r *gathering) describe(m *machine) {
	for _, b := range m.builds {
		r.Builds = append(r.Builds, b.required(m))
	}
	for _, u := range notLookedAt(m) {
		if u.missing != "" {
			r.Unknown = append(r.Unknown, requires.Missing{Rule: "not-looked-at", Subject: u.subject,
				Missing: u.missing, Need: u.need})
		}
	}
}

func (b *build) required(m *machine) requires.Build {
	list := requires.Build{Subject: b.subject, CUDA: b.cuda.String(), Code: slices.Concat(b.SASS, b.PTX),
		Python: []string{}, Glibc: b.Glibc, Arch: cmp.Or(b.Arch, m.f.System.Arch),
		From: cmp.Or(b.From, b.Path), Counts: b.counts}
	if len(b.rows) > 0 {
		row := b.rows[0]
		list.Python, list.Glibc = orEmpty(row.Python), cmp.Or(list.Glibc, row.Glibc.String())
		if len(list.Code) == 0 {
			list.Code = slices.DeleteFunc(slices.Concat(row.SASS, row.PTX), func(s string) bool { return s == "none" })
		}
	}
	if b.Python != "" {
		list.Python = []string{b.Python}
	}
	list.Code = orEmpty(list.Code)
	return list
}

// demand is every need of an artefact for one kind of GPU, with the drivers that make a difference.
type demand struct {
	needs   []need
	cuts    []version.Number
	meets   [][]meeting // by need, by cut
	outcome []meeting   // by cut
	code    string
}

// demand asks every rule what it needs, and every driver that makes a difference whether it has it.
func (m *machine) demand() demand {
	d := demand{needs: m.needs(), cuts: m.cuts(), code: m.codeWords()}
	d.meets = make([][]meeting, len(d.needs))
	for _, v := range d.cuts {
		at := m.on(v)
		for i, n := range d.needs {
			d.meets[i] = append(d.meets[i], n.meets(at))
		}
		d.outcome = append(d.outcome, m.outcomeOf(d.needs, func(i int) meeting { return d.meets[i][len(d.meets[i])-1] }))
	}
	return d
}

// needs are those of all rules, of the machine first.
func (m *machine) needs() []need {
	var list []need
	of := func(rule Rule, b *build) {
		needs := rule.needs
		if needs == nil {
			needs = func(m *machine, b *build) []need { return m.asked(rule, b) }
		}
		for _, n := range needs(m, b) {
			n.rule, n.build = rule.ID, b
			list = append(list, n)
		}
	}
	for _, rule := range rules {
		if rule.ofFleet {
			continue
		}
		if rule.onMachine != nil {
			of(rule, nil)
			continue
		}
		for _, b := range m.builds {
			if b.counts || rule.compares {
				of(rule, b)
			}
		}
	}
	return list
}

// outcomeOf puts together how one driver stands to all needs: a build that is broken refuses the host, unless it goes
// on without the GPU or another environment stands in for its own.
func (m *machine) outcomeOf(needs []need, meets func(int) meeting) meeting {
	answers := map[*build]Answer{}
	outcome, compared := met, false
	for i, n := range needs {
		got := meets(i)
		compared = compared || n.compares && (got == met || got == unmet)
		if n.build == nil {
			outcome = max(outcome, got)
			continue
		}
		answers[n.build] = graver(answers[n.build], n.answer(got))
	}
	gives := anySound(m.builds, func(i int) Answer { return answers[m.builds[i]] })
	for _, b := range m.builds {
		switch a := answers[b]; {
		case !b.counts || a == WorksCPUOnly || a == Broken && b.goesOn():
		case a == Broken && gives && b.standing == searched:
			if b.env.Pythons != "" { // which Python is it?
				outcome = max(outcome, undecided)
			}
		case a == Broken:
			outcome = max(outcome, unmet)
		case a == Unknown:
			outcome = max(outcome, undecided)
		}
	}
	if outcome == met && !compared {
		return undecided
	}
	return outcome
}

// answer is what a need, met or not, makes of its build.
func (n need) answer(got meeting) Answer {
	switch {
	case got == unmet && n.mild:
		return WorksCPUOnly
	case got == unmet:
		return Broken
	case got == undecided:
		return Unknown
	}
	return Works
}

// graver is what two needs together make of a build: what is broken, or does without the GPU, asks for no more facts.
func graver(a, b Answer) Answer {
	rank := map[Answer]int{Unknown: 1, WorksCPUOnly: 2, Broken: 3}
	if rank[a] >= rank[b] {
		return a
	}
	return b
}

// codeWords is what all builds that count have for the GPU, together.
func (m *machine) codeWords() string {
	words, lowest := "", version.BySASS+1
	for _, b := range m.builds {
		if !b.counts || !b.comparesCode() || b.optional() || b.Extension && !b.Standalone && b.named == nil {
			continue
		}
		if c, _ := m.code(b, m.gpus[0]); c < lowest {
			lowest, words = c, map[version.Coverage]string{
				version.BySASS: "machine code", version.ByPTX: "ptx", version.Unsure: "unknown", version.Uncovered: "none"}[c]
		}
	}
	return words
}

// gpu is a demand as it is published.
func (d demand) gpu(m *machine) requires.GPU {
	g := requires.GPU{Capability: m.gpus[0].capability.String(), Names: []string{}, Code: d.code, Because: []string{},
		Arch:    strings.TrimPrefix(m.platform, "linux_"),
		Drivers: ranges(d.cuts, d.outcome, met), Undecided: ranges(d.cuts, d.outcome, undecided)}
	if chip := m.gpus[0].chip; chip != nil {
		g.Architecture = chip.Architecture
	}
	if len(g.Drivers)+len(g.Undecided) == 0 {
		g.Because = orEmpty(d.refusing())
	}
	return g
}

// refusing are the rules that refuse every driver, else those that do so together.
func (d demand) refusing() []string {
	var always, some []string
	for i, n := range d.needs {
		switch refuses := slices.Contains(d.meets[i], unmet) && !n.mild; {
		case !refuses:
		case slices.Contains(d.meets[i], met):
			some = append(some, n.rule)
		default:
			always = append(always, n.rule)
		}
	}
	if len(always) == 0 {
		always = some
	}
	slices.Sort(always)
	return slices.Compact(always)
}

// limits are the needs that not every driver meets, those that lack a fact, and what code there is. Rules name the GPU
// that they judge by its label; here a need holds for every GPU that it is published for.
func (d demand) limits(label string) []requires.Need {
	var list []requires.Need
	for i, n := range d.needs {
		words := strings.ReplaceAll(n.words, label, "the GPU")
		if n.mild || n.build != nil && !n.build.counts {
			continue
		}
		drivers := ranges(d.cuts, d.meets[i], met, unasked)
		lacks := slices.Contains(d.meets[i], undecided)
		if drivers.Any() && (n.rule != "gpu-arch-missing" || !slices.Contains(d.meets[i], met)) {
			continue
		}
		need := requires.Need{Rule: n.rule, Need: words, Drivers: drivers, Row: n.row, Source: orEmpty(n.source)}
		if lacks {
			need.Missing = words
		}
		if n.build != nil {
			need.Subject, need.From = n.build.subject, cmp.Or(n.build.From, n.build.Path)
		}
		list = append(list, need)
	}
	return list
}

// forwardNeeds is the lowest cuda-compat package that lifts older drivers to every build's CUDA.
func forwardNeeds(t *Tables, r requires.Requirement) []requires.Forward {
	var cuda version.Number
	for _, b := range r.Builds {
		if v := version.Of(b.CUDA); b.Counts && v.Parts() > 1 && (!cuda.Known() || cuda.Less(v)) {
			cuda = v
		}
	}
	rows := tables.Rows[tables.Forward](t)
	i := slices.IndexFunc(rows, func(f tables.Forward) bool { return cuda.Known() && !f.CUDA.LessShort(cuda) })
	if i < 0 {
		return []requires.Forward{}
	}
	_, least, _ := t.Floor(cuda, false)
	older := slices.DeleteFunc(slices.Clone(rows[i].Base), func(branch string) bool {
		return branch == "none" || !least.Known() || version.Int(branch) >= least.Major()
	})
	if len(older) == 0 {
		return []requires.Forward{}
	}
	row := rows[i]
	return []requires.Forward{{Package: row.Package, CUDA: row.CUDA.String(), Branches: older, Source: row.Source}}
}
