package matrix

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"cudacompat/pin"
	"cudacompat/probe/facts"
)

// Check judges facts for every target, or for the machine itself when there is none. When ctx ends before everything
// is judged the verdict is what was found until then, and inconclusive unless an error stands.
func Check(ctx context.Context, t *Tables, f facts.Facts, targets []Target, policy Policy) Verdict {
	f.Complete()
	if len(targets) == 0 {
		targets = []Target{{}}
	}
	v := emptyVerdict()
	inconclusive, parts := false, map[string]About{}
	for _, target := range targets {
		if ctx.Err() != nil {
			v.Unknown = append(v.Unknown, outOfTime(ctx, target.Instance))
			inconclusive = true
			continue
		}
		j := newJudgement(newMachine(t, &f, target, policy), &v)
		v.Judged = append(v.Judged, j.judged())
		v.Disagreements = j.disagreements() // the same for every target
		j.rules(ctx)
		inconclusive = j.answers(ctx) || inconclusive
		v.Judged[len(v.Judged)-1].Links = j.machineLinks()
		for _, b := range j.builds {
			parts[b.subject] = b.about()
		}
	}
	v.describe(&f, parts)
	v.waive(policy.Waivers, cmp.Or(policy.Today, t.Date()))
	v.sort()
	v.Outcome = v.outcome(inconclusive)
	return v
}

// outOfTime is what is missing of a target when the time is up.
func outOfTime(ctx context.Context, target string) Missing {
	return Missing{Rule: "not-looked-at", Subject: "judgement", Target: target, Missing: context.Cause(ctx).Error()}
}

// emptyVerdict is one that has nothing to say yet; JSON knows no list that is null.
func emptyVerdict() Verdict {
	return Verdict{Judged: []Judged{}, Answers: []BuildAnswer{}, Findings: []Finding{}, Passed: []Passed{},
		Unknown: []Missing{}, Suppressed: []Suppressed{}, Waivers: []WaiverUse{}, Disagreements: []Disagreement{}}
}

// judgement is one target on its way through the rules.
type judgement struct {
	*machine
	verdict   *Verdict
	failed    map[about]bool      // errors
	spoken    map[about]bool      // findings of any severity
	undecided map[string][]string // by subject: the rules that lack a fact which decides
	compared  bool                // something was there to compare
	open      bool                // a fact is missing that leaves the outcome open
	cut       bool                // the time was up before every rule was asked
	how       map[string]way      // by subject: how a build works with which nothing is wrong
	without   map[string][]string // by subject: the rules that found no GPU for a part that the rest does without
	faults    []fault             // of the machine
	broken    map[string][]fault  // by subject: of builds
	asking    asking
	provided  bool // what an image must bring and what is not known of that is there
}

// way is how a build works, by the rule that says so.
type way struct {
	answer Answer
	rule   string
}

// fault is a link that a rule's error breaks.
type fault struct {
	rule  string
	link  LinkName
	takes func(gpu) bool // of the machine: the kinds of GPU that programs lose; nil: every one
	stops bool           // of a build: it is not imported, or runs no kernel
}

// asking is how a rule is asked, about a build or, where that is nil, the machine.
type asking func(Rule, *build) []*result

func newJudgement(m *machine, v *Verdict) *judgement {
	return &judgement{machine: m, verdict: v, failed: map[about]bool{}, spoken: map[about]bool{},
		undecided: map[string][]string{}, how: map[string]way{}, without: map[string][]string{}, broken: map[string][]fault{}, asking: m.ask}
}

// ask asks a rule.
func (m *machine) ask(rule Rule, b *build) []*result {
	switch {
	case b != nil && rule.Link == LinkCode: // which GPUs a program is shown decides
		return b.env.unmanaged(b.withoutGPU(rule, m.asShown(rule.onBuild, b)))
	case b != nil:
		return b.env.unmanaged(b.withoutGPU(rule, rule.onBuild(m, b)))
	case rule.onMachine != nil:
		return rule.onMachine(m)
	}
	return nil
}

// about is what a rule said something of. A rule about the machine speaks of every build too: its subject is empty.
type about struct{ rule, subject string }

// rules asks each rule once about the machine, or about every build, in the order of the list: a rule can only be
// silenced by those before it.
func (j *judgement) rules(ctx context.Context) {
	for _, rule := range rules {
		if rule.onMachine != nil && !j.silenced(rule, "") {
			j.record(rule, j.asking(rule, nil), true)
		}
		if rule.onBuild == nil {
			continue
		}
		for _, b := range j.builds {
			if ctx.Err() != nil {
				j.verdict.Unknown = append(j.verdict.Unknown, outOfTime(ctx, j.name))
				j.open, j.cut = true, true
				return
			}
			if !j.silenced(rule, b.subject) {
				j.record(rule, j.asking(rule, b), b.counts)
			}
		}
	}
}

// judged is the machine in a few words.
func (m *machine) judged() Judged {
	list := Judged{Target: m.name, Driver: m.driver().version.String(), CUDA: m.driver().cuda.String(), From: m.driver().from,
		State: m.driverState(), GPUs: []string{}, Hidden: m.hidden(), Devices: m.devices()}
	for _, g := range m.present {
		list.GPUs = append(list.GPUs, g.label)
		if g.chip != nil {
			list.Module = cmp.Or(list.Module, map[string]string{"required": "open", "unsupported": "proprietary"}[g.chip.OpenModule])
		}
	}
	return list
}

// driverState is how a driver that does not run is there.
func (m *machine) driverState() string {
	switch {
	case m.driver().loaded, m.f.Driver.NVML.Status == "ok", !m.driver().version.Known():
		return ""
	case m.f.System.Rest:
		return "on disk"
	}
	return "installed, not loaded"
}

// devices are the target's GPUs, else all that were found, with the reason why programs are not shown one.
func (m *machine) devices() []JudgedGPU {
	list := []JudgedGPU{}
	if m.target.named() {
		for _, g := range m.present {
			list = append(list, JudgedGPU{Label: g.label, From: g.from})
		}
		return list
	}
	why, hidden := withheld(m.f), map[string]bool{}
	for _, address := range m.hidden() {
		hidden[address] = true
	}
	for _, g := range m.f.GPUs {
		device := JudgedGPU{Address: g.Bus, Label: m.gpuFound(g).label, From: cmp.Or(g.From...), Hidden: why(g)}
		if device.Hidden == "" && hidden[g.Bus] {
			device.Hidden = "hidden by CUDA_VISIBLE_DEVICES"
		}
		list = append(list, device)
	}
	return list
}

// silenced reports whether a rule cannot be asked of the machine or of this subject, or is said better by another. Only
// errors silence: a warning's GPU or build still runs, and what follows from it is worth saying.
func (j *judgement) silenced(rule Rule, subject string) bool {
	if rule.SaidBy != "" && (j.failed[about{rule.SaidBy, ""}] || j.failed[about{rule.SaidBy, subject}]) {
		return true
	}
	rested := func(f fault) bool { return slices.Contains(rule.Rests, f.link) }
	return slices.ContainsFunc(j.faults, rested) || slices.ContainsFunc(j.broken[subject], rested)
}

// record writes a rule's results down. What is found in an environment that does not count is a note. A fact that is
// missing makes the answer unknown only for rules that decide whether a build runs.
func (j *judgement) record(rule Rule, results []*result, counts bool) {
	for _, r := range results {
		switch {
		case j.rests(r): // what it rests on is broken: it counts as failed, so that what it says better stays silent too
			j.mark(j.failed, rule, r.subject)
		case r.implied:
			j.mark(j.failed, rule, r.subject)
			j.breaks(rule, r)
		case r.finding != nil:
			if r.says != "" && j.how[r.subject].rule == "" {
				j.how[r.subject] = way{r.says, rule.ID}
			}
			if r.without {
				j.without[r.subject] = append(j.without[r.subject], rule.ID)
			}
			j.find(rule, r, counts && !r.noted)
		case r.missing != "":
			j.verdict.Unknown = append(j.verdict.Unknown, Missing{Rule: rule.ID, Subject: r.subject, Target: j.name,
				Missing: r.missing, Need: r.need})
			if r.decides && !slices.Contains(j.undecided[r.subject], rule.ID) {
				j.undecided[r.subject] = append(j.undecided[r.subject], rule.ID)
			}
			j.open = j.open || r.open
		default:
			j.verdict.Passed = append(j.verdict.Passed, Passed{rule.ID, r.subject, j.name})
			j.compared = j.compared || r.judged
		}
	}
}

// rests reports whether a link of the machine is broken without which a result is not worth saying.
func (j *judgement) rests(r *result) bool {
	return slices.ContainsFunc(j.faults, func(f fault) bool { return slices.Contains(r.rests, f.link) })
}

// find writes one finding down.
func (j *judgement) find(rule Rule, r *result, counts bool) {
	f := *r.finding
	f.Rule, f.Target = rule.ID, j.name
	j.mark(j.spoken, rule, f.Subject)
	if f.Severity == Error {
		j.mark(j.failed, rule, f.Subject)
		j.breaks(rule, r)
	}
	switch {
	// Marked as errors all the same, so that consequences of what lies in other environments are not said instead.
	case !counts:
		f.Severity = Note
	case r.cpuOnly:
		f.Severity = Warning
	}
	j.compared = j.compared || f.Severity != Note
	f.complete()
	j.verdict.Findings = append(j.verdict.Findings, f)
}

// breaks notes the link that an error breaks: the machine's, those of some builds, or that of the build it is about.
func (j *judgement) breaks(rule Rule, r *result) {
	broken := fault{rule: rule.ID, link: cmp.Or(r.link, rule.Link), takes: r.takes}
	switch {
	case rule.onBuild != nil:
		broken.stops = r.stops || slices.Contains([]LinkName{LinkDriver, LinkPython, LinkCode}, broken.link)
		j.broken[r.subject] = append(j.broken[r.subject], broken)
	case r.builds == nil:
		j.faults = append(j.faults, broken)
	}
	for _, b := range r.builds {
		j.broken[b.subject] = append(j.broken[b.subject], broken)
	}
}

// mark notes that a rule failed or spoke for a subject; a rule about the machine did so for every build.
func (j *judgement) mark(list map[about]bool, rule Rule, subject string) {
	list[about{rule.ID, subject}] = true
	if rule.onMachine != nil {
		list[about{rule.ID, ""}] = true
	}
}

// complete replaces nil lists, so that JSON never says null, and leaves out evidence of facts that are not known.
func (f *Finding) complete() {
	f.Evidence = slices.DeleteFunc(orEmpty(f.Evidence), func(e Evidence) bool { return e.Value == "" })
	f.Pins, f.Steps, f.Source = orEmpty(f.Pins), orEmpty(f.Steps), orEmpty(f.Source)
	f.Do = pin.Texts(f.Steps)
	for i := range f.Pins {
		f.Pins[i].Steps = orEmpty(f.Pins[i].Steps)
		if f.Pins[i].Commands == nil {
			f.Pins[i].Commands = map[string]string{}
		}
	}
}

// orEmpty is a list that JSON does not call null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// answers works out each build's answer; true says that the whole is inconclusive unless an error stands.
func (j *judgement) answers(ctx context.Context) (inconclusive bool) {
	first := len(j.verdict.Answers)
	for _, b := range j.builds {
		a := BuildAnswer{Subject: b.subject, Target: j.name, Answer: Unknown, Because: []string{"not-looked-at"},
			Counts: b.counts, Links: []Link{}}
		if ctx.Err() == nil {
			a = j.answer(b)
		} else if !j.cut {
			j.verdict.Unknown = append(j.verdict.Unknown, outOfTime(ctx, j.name))
			j.open, j.cut = true, true
		}
		j.verdict.Answers = append(j.verdict.Answers, a)
		// What goes on without a GPU that was withheld shows nothing of the GPU.
		if a.Counts && (a.Answer == Unknown || a.Answer == WorksCPUOnly && j.withheld()) {
			inconclusive = true
		}
	}
	j.withFrameworks(j.verdict.Answers[first:])
	j.yield(j.verdict.Answers[first:])
	// Without a GPU, or where no rule compared anything, nothing was judged: silence is not "compatible".
	return inconclusive || !j.compared || len(j.gpus) == 0 || j.open || j.machineUnseen()
}

// machineUnseen reports whether module or driver were not seen where no build stands for them, and writes it down: a host
// whose driver does not answer is not compatible for having no framework yet.
func (j *judgement) machineUnseen() bool {
	if slices.ContainsFunc(j.builds, func(b *build) bool { return b.counts && usesGPU(b) }) || len(j.gpus) == 0 {
		return false
	}
	links := j.machineLinks()
	if decisive(links).State != Unseen {
		return false
	}
	i := slices.IndexFunc(links, func(l Link) bool {
		return l.State == Unseen && (l.Link == LinkModule || l.Link == LinkAnswers)
	})
	if i < 0 {
		return false
	}
	j.verdict.Unknown = append(j.verdict.Unknown, Missing{Rule: links[i].Because[0], Subject: "driver", Target: j.name,
		Missing: j.wordsOf(links[i])})
	return true
}

// withFrameworks breaks what cannot do without a build that is broken.
func (j *judgement) withFrameworks(answers []BuildAnswer) {
	for i, b := range j.builds {
		if b.Extension && answers[i].Answer != Broken {
			if f := j.brokenUnder(b, answers); f >= 0 {
				answers[i].Answer, answers[i].Because = Broken, answers[f].Because
			}
		}
	}
}

// brokenUnder is what keeps an extension from running: its framework that does not start, as torchvision's torch that
// has lost its cuBLAS, or the library that came along with it, as cuDF's libcudf; -1 where nothing does. Where only a
// part of the framework fails, as cuDNN's engines, what does not use it goes on.
func (j *judgement) brokenUnder(b *build, answers []BuildAnswer) int {
	for i, o := range j.builds {
		if o.env != b.env || answers[i].Answer != Broken {
			continue
		}
		library := o.PartOf == b.Name && strings.HasPrefix(o.Name, "lib")
		stops := slices.ContainsFunc(j.broken[o.subject], func(f fault) bool { return f.stops })
		if library || o.Name == b.Framework && stops {
			return i
		}
	}
	return -1
}

// answer is what the build's chain comes to: broken where a link is, else unknown where one was not seen, else what a
// rule says of how it works.
func (j *judgement) answer(b *build) BuildAnswer {
	chain := j.bestChain(b)
	a := BuildAnswer{Subject: b.subject, Target: j.name, Counts: b.counts, Because: []string{}, Links: []Link{}}
	for _, l := range chain {
		if slices.Contains(ofBuild, l.Link) {
			a.Links = append(a.Links, l)
		}
	}
	worst := decisive(chain)
	switch {
	case j.cut && (worst.State != LinkBroken || b.goesOn()):
		a.Answer, a.Because = Unknown, []string{"not-looked-at"}
	case worst.State == LinkBroken:
		a.Answer, a.Because = Broken, becauseOf(chain, LinkBroken)
		if b.goesOn() && !slices.ContainsFunc(chain, func(l Link) bool { return l.Link == LinkPython && l.State == LinkBroken }) {
			a.Answer = WorksCPUOnly
		}
	case worst.State == Unseen:
		a.Answer, a.Because = Unknown, becauseOf(chain, Unseen)
		if j.withheld() && b.goesOn() {
			a.Answer = WorksCPUOnly
		}
		j.lacks(b, chain)
	default:
		a.Answer, a.Because = j.works(b)
	}
	return a
}

// becauseOf are the rules of the links of a state, in the order of the chain.
func becauseOf(chain []Link, state LinkState) []string {
	list := []string{}
	for _, l := range chain {
		if l.State != state || l.Link == LinkGPU && state == Unseen { // that there is no GPU is the outcome's own sentence
			continue
		}
		for _, id := range l.Because {
			if !slices.Contains(list, id) {
				list = append(list, id)
			}
		}
	}
	return list
}

// lacks writes down what was not seen of a build's chain, where no rule has said so.
func (j *judgement) lacks(b *build, chain []Link) {
	var said []string
	for _, l := range chain {
		words := j.wordsOf(l)
		if l.State != Unseen || l.Link == LinkGPU || slices.Contains(j.undecided[b.subject], l.Because[0]) ||
			slices.Contains(said, words) {
			continue
		}
		said = append(said, words)
		missing := Missing{Rule: l.Because[0], Subject: b.subject, Target: j.name, Missing: words}
		if l.Value == Withheld { // the reason that stands before all others
			j.verdict.Unknown = slices.Insert(j.verdict.Unknown, 0, missing)
			continue
		}
		j.verdict.Unknown = append(j.verdict.Unknown, missing)
	}
}

// works is how a build works whose links are all held or assumed: without the GPU where a part does without it, else as
// a rule says, else without limits.
func (j *judgement) works(b *build) (Answer, []string) {
	if without := j.without[b.subject]; len(without) > 0 {
		return WorksCPUOnly, without
	}
	if how := j.how[b.subject]; how.rule != "" {
		return how.answer, []string{how.rule}
	}
	return Works, []string{}
}

// outcome is worked out here once, so that every format and exit code says the same. An error that is proven stands,
// whatever else is not known.
func (v *Verdict) outcome(inconclusive bool) Outcome {
	switch {
	case v.Count(Error) > 0:
		return Incompatible
	case inconclusive:
		return Inconclusive
	}
	return Compatible
}

// Count is the number of findings of one severity.
func (v *Verdict) Count(s Severity) int {
	n := 0
	for _, f := range v.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}

// Fires reports whether a rule has an unwaived finding.
func (v *Verdict) Fires(rule string) bool {
	return slices.ContainsFunc(v.Findings, func(f Finding) bool { return f.Rule == rule })
}

// rank is the order in which severities are printed.
var rank = map[Severity]int{Error: 0, Warning: 1, Note: 2}

// sort puts the worst first and keeps the order of the rules within one severity.
func (v *Verdict) sort() {
	slices.SortStableFunc(v.Findings, func(a, b Finding) int {
		if c := rank[a.Severity] - rank[b.Severity]; c != 0 {
			return c
		}
		return strings.Compare(a.Target, b.Target)
	})
}

// yield turns the errors of environments that a search found into warnings where another one works: that is the one
// which people use on this machine. What is not known of an environment stays unknown, as it is unknown which Python
// a file is for that names other packages for others.
func (j *judgement) yield(answers []BuildAnswer) {
	if !anySound(j.builds, func(i int) Answer { return answers[i].Answer }) {
		return
	}
	broken := map[string]*build{} // those that give way, by their subject
	for i, b := range j.builds {
		if b.standing == searched && answers[i].Answer == Broken {
			broken[b.subject], answers[i].Counts = b, b.env.Pythons != ""
			if answers[i].Counts {
				answers[i].Answer = Unknown
			}
		}
	}
	for i := range j.verdict.Findings {
		f := &j.verdict.Findings[i]
		if b := broken[f.Subject]; b != nil && f.Target == j.name && f.Severity == Error {
			f.Severity = Warning
			j.askPython(b, f.Rule)
		}
	}
}

// askPython says that a build may be the one that is installed, by the Python, where a file names others for others.
func (j *judgement) askPython(b *build, rule string) {
	if b.env.Pythons != "" {
		j.open = true
		j.verdict.Unknown = append(j.verdict.Unknown, Missing{Rule: rule, Subject: b.subject, Target: j.name,
			Missing: "which Python this file is installed on (add --python)"})
	}
}

// anySound reports whether all builds of one of the environments that a search found, and that uses CUDA, work.
func anySound(builds []*build, answer func(int) Answer) bool {
	works := map[string]bool{}
	for i, b := range builds {
		if b.standing != searched || b.accelerator == "cpu" || b.goesOn() {
			continue
		}
		before, met := works[b.env.Path]
		works[b.env.Path] = (before || !met) && answer(i) != Broken && answer(i) != Unknown
	}
	return slices.Contains(slices.Collect(maps.Values(works)), true)
}
