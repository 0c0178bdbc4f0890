package matrix

import (
	"cmp"
	"context"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/links"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/rules/build"
	"cudacompat/matrix/internal/rules/coverage"
	"cudacompat/matrix/requires"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// stripMachine removes the machine from facts and keeps only what is installed, for any host.
func stripMachine(f facts.Facts) facts.Facts {
	f.Complete()
	system := f.System
	system.Kernel, system.Container, system.Instance = "", "", ""
	system.WSL, system.Jetson, system.Bootable = false, false, false
	a := facts.Facts{Schema: f.Schema, System: system, Driver: facts.Driver{Compat: f.Driver.Compat}, Toolkits: f.Toolkits,
		Environments: f.Environments, Libraries: f.Libraries, Unread: f.Unread, Building: f.Building, Image: f.Image}
	if f.Image != nil { // what it sets goes with it; a process's own variables stay
		a.Variables = f.Variables
	}
	a.Complete()
	return a
}

// Requires computes what the artefact in facts needs of a host, on whatever machine the facts were read. Of the target
// it uses only the Python. If ctx ends before every kind of GPU is judged, nothing is known about any of them, and the
// requirement says so.
func Requires(ctx context.Context, t *Tables, f facts.Facts, python string) requires.Requirement {
	a := stripMachine(f)
	r := &gathering{of: map[string][]int{}, Requirement: &requires.Requirement{Schema: requires.Schema,
		Builds: []requires.Build{}, Needs: []requires.Need{}, GPUs: []requires.GPU{},
		Forward: []requires.Forward{}, Unknown: []requires.Missing{}}}
	kinds := allKinds(t)
	judged := judgeKinds(ctx, t, &a, kinds, python)
	r.describe(judged[kinds[0].key].machine)
	if ctx.Err() != nil {
		r.giveUp(context.Cause(ctx))
		return *r.Requirement
	}
	for _, k := range kinds {
		if m := judged[k.key].machine; m.Windows() && (m.Jetson() || m.Platform == "win_arm64") {
			continue // no such machine runs Windows' wheels
		}
		r.add(k, judged[k.key])
	}
	r.assignGPUs()
	if !f.System.Windows() {
		r.Forward = forwardNeeds(t, *r.Requirement)
		r.Declared = declaredBelow(t, judged[kinds[0].key].machine, *r.Requirement)
	}
	return *r.Requirement
}

// artefactOn is an artefact's demand on one kind of GPU, and the machine with that GPU.
type artefactOn struct {
	machine *model.Machine
	demand  demand
}

// judgeKinds judges the artefact in facts once for each key of kinds, on all processors. The demands are invalid if ctx
// has ended; the machines are not.
func judgeKinds(ctx context.Context, t *Tables, f *facts.Facts, kinds []gpuKind, python string) map[string]artefactOn {
	judged := map[string]artefactOn{}
	for _, k := range kinds {
		if _, ok := judged[k.key]; !ok {
			target := Target{Driver: newestDriver(t), GPUs: []string{k.asked}, Python: python}
			judged[k.key] = artefactOn{machine: model.NewMachine(t, f, target, verdict.Policy{NoPins: true, Today: t.Date()})}
		}
	}
	keys := slices.Sorted(maps.Keys(judged))
	demands := make([]demand, len(keys))
	ofTables := tableCuts(t)
	var workers sync.WaitGroup
	var next atomic.Int64
	for range min(runtime.GOMAXPROCS(0), len(keys)) {
		workers.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(keys); i = next.Add(1) - 1 {
				demands[i] = newDemand(ctx, judged[keys[i]].machine, ofTables)
			}
		})
	}
	workers.Wait()
	for i, key := range keys {
		judged[key] = artefactOn{judged[key].machine, demands[i]}
	}
	return judged
}

// giveUp records that the artefact was not judged completely, and discards the needs found until then.
func (r *gathering) giveUp(why error) {
	r.Needs, r.GPUs = []requires.Need{}, []requires.GPU{}
	lack := requires.Missing{Rule: "not-looked-at", Subject: "judgement", MissingFact: requires.Statement(why.Error())}
	if !slices.ContainsFunc(r.Unknown, func(u requires.Missing) bool { return u.Missing == lack.Missing }) {
		r.Unknown = append(r.Unknown, lack)
	}
}

// RequiresOn computes what the artefact in facts needs on the GPUs and instance types of targets. It ignores their
// drivers.
func RequiresOn(ctx context.Context, t *Tables, f facts.Facts, targets []Target) requires.Requirement {
	r := Requires(ctx, t, f, targets[0].Python)
	r.GPUs = RequiredBy(ctx, t, f, targets)
	return r
}

// RequiredBy returns, for each target, the drivers that the artefact in facts needs there.
func RequiredBy(ctx context.Context, t *Tables, f facts.Facts, targets []Target) []requires.GPU {
	list := []requires.GPU{}
	for _, target := range targets {
		g, _ := requiredOn(ctx, t, f, target)
		list = append(list, g)
	}
	return list
}

// requiredOn computes what the artefact needs on one target, whose GPUs are of one kind, and the limits there.
func requiredOn(ctx context.Context, t *Tables, f facts.Facts, target Target) (g requires.GPU, limits []requires.Need) {
	a := stripMachine(f)
	target.Driver = newestDriver(t)
	m := model.NewMachine(t, &a, target, verdict.Policy{NoPins: true, Today: t.Date()})
	var d demand
	if len(m.GPUs) > 0 {
		d = newDemand(ctx, m, tableCuts(t))
	}
	if len(m.GPUs) == 0 || ctx.Err() != nil {
		none := requires.Drivers{}
		return requires.GPU{Drivers: none, Undecided: none, Provided: none, Because: []string{},
			Names: []string{target.Instance}}, nil
	}
	g = d.published(m)
	g.Names = []string{cmp.Or(target.Instance, m.GPUs[0].Name, m.GPUs[0].Label)}
	return g, d.limits(m.GPUs[0].Label)
}

// newestDriver returns the newest release of the newest branch.
func newestDriver(t *Tables) string {
	branches := tables.Rows[tables.Branch](t)
	last := branches[len(branches)-1]
	return cmp.Or(last.Newest.String(), last.Branch)
}

// describe records the artefact's builds, and what is missing about them whatever the host.
func (r *gathering) describe(m *model.Machine) {
	for _, b := range m.Builds {
		r.Builds = append(r.Builds, requiredBuild(b, m))
	}
	if links.IsGPUWithheld(m) { // what it needs of a GPU nobody can say
		r.Unknown = append(r.Unknown, requires.Missing{Rule: "visible-devices", Subject: "the image", MissingFact: links.HiddenByImage(m.Shown.List)})
	}
	for _, u := range coverage.NotLookedAt(m) {
		if u.Missing.IsMissing() {
			r.Unknown = append(r.Unknown, requires.Missing{Rule: "not-looked-at", Subject: u.Subject, MissingFact: u.Missing, Need: u.Need})
		}
	}
}

// requiredBuild describes one build of the artefact.
func requiredBuild(b *model.Build, m *model.Machine) requires.Build {
	build := requires.Build{Subject: b.Subject, Name: b.Name, Version: b.Version, CUDA: b.CUDANumber.String(), Code: slices.Concat(b.SASS, b.PTX),
		Python: []string{}, Glibc: b.Glibc, Arch: cmp.Or(b.Arch, m.Facts.System.Arch),
		From: cmp.Or(b.From, b.Path), Counts: b.Counts}
	if len(b.Rows) > 0 {
		row := b.Rows[0]
		build.Python, build.Glibc = verdict.OrEmpty(row.Python), cmp.Or(build.Glibc, row.Glibc.String())
		if len(build.Code) == 0 {
			build.Code = slices.DeleteFunc(slices.Concat(row.SASS, row.PTX), func(s string) bool { return s == "none" })
		}
	}
	if b.Python != "" {
		build.Python = []string{b.Python}
	}
	build.Code = verdict.OrEmpty(build.Code)
	return build
}

// demand holds the needs of an artefact for one kind of GPU, on each driver that makes a difference.
type demand struct {
	needs    []need
	cuts     []version.Number
	now      []meeting // by cut: what Check says of the driver
	provided []meeting // and where the image brings what the artefact leaves to it
	code     string
}

// newDemand judges the artefact on every driver that makes a difference; ofTables are tableCuts. The result is invalid if ctx has ended.
func newDemand(ctx context.Context, m *model.Machine, ofTables []version.Number) demand {
	d := demand{cuts: cuts(m, ofTables), code: commonCode(m)}
	var q inquiry
	for _, v := range d.cuts {
		o := q.outcomeOn(ctx, m.On(v))
		d.now, d.provided = append(d.now, o.now), append(d.provided, o.provided)
		if ctx.Err() != nil {
			return demand{}
		}
	}
	d.needs = q.needs(len(d.cuts))
	return d
}

// commonCode returns the code for the GPU that all builds that count have.
func commonCode(m *model.Machine) string {
	words, lowest := "", version.BySASS+1
	for _, b := range m.Builds {
		if !b.Counts || !build.ComparesCode(b) || b.Optional() || b.Extension && !b.Standalone && b.Named == nil {
			continue
		}
		if c, _, _ := m.Code(b, m.GPUs[0]); c < lowest {
			lowest, words = c, map[version.Coverage]string{
				version.BySASS: "machine code", version.ByPTX: "ptx", version.Unsure: "unknown", version.Uncovered: "none"}[c]
		}
	}
	return words
}

// published returns the demand in its published form.
func (d demand) published(m *model.Machine) requires.GPU {
	g := requires.GPU{Capability: m.GPUs[0].Capability.String(), Names: []string{}, Code: d.code, Because: []string{},
		Arch:    strings.TrimPrefix(m.Platform, "linux_"),
		Drivers: ranges(d.cuts, d.now, isMet), Undecided: ranges(d.cuts, d.now, isUndecided),
		Provided: ranges(d.cuts, d.provided, isMet)}
	if chip := m.GPUs[0].Chip; chip != nil {
		g.Architecture = chip.Architecture
	}
	if len(g.Drivers)+len(g.Undecided) == 0 {
		g.Because = verdict.OrEmpty(d.refusingRules())
	}
	return g
}

// refusingRules returns the rules that each refuse every driver, or else those that refuse every driver together.
func (d demand) refusingRules() []string {
	var always, some []string
	for _, n := range d.needs {
		switch {
		case !n.decides() || !slices.Contains(n.meets, unmet):
		case slices.Contains(n.meets, isMet):
			some = append(some, n.rule.ID)
		default:
			always = append(always, n.rule.ID)
		}
	}
	if len(always) == 0 {
		always = some
	}
	slices.Sort(always)
	return slices.Compact(always)
}

// decides reports whether a need decides which hosts can run the packages.
func (n need) decides() bool { return !n.mild && (n.build == nil || n.build.Counts) }

// limits returns the needs that some driver does not meet, those that lack a fact, and the available code. Rules name
// the GPU by its label; a published need applies to every GPU of its entry.
func (d demand) limits(label string) []requires.Need {
	var list []requires.Need
	for _, n := range d.needs {
		if n.decides() {
			list = append(list, n.publicNeed(d.cuts, label))
		}
	}
	return list
}

// forwardNeeds returns the lowest cuda-compat package that lets older drivers run every build's CUDA.
func forwardNeeds(t *Tables, r requires.Requirement) []requires.Forward {
	var cuda version.Number
	for _, b := range r.Builds {
		if v := version.ParseOrZero(b.CUDA); b.Counts && v.Parts() > 1 && (!cuda.Known() || cuda.Less(v)) {
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
