package matrix

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/rules"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// Check judges facts for every target, or for the machine itself when there is none. When ctx ends before everything
// is judged the verdict is what was found until then, and inconclusive unless an error stands.
func Check(ctx context.Context, t *Tables, f facts.Facts, targets []Target, policy verdict.Policy) verdict.Verdict {
	f.Complete()
	if len(targets) == 0 {
		targets = []Target{{}}
	}
	v := emptyVerdict()
	inconclusive, parts := false, map[string]verdict.SubjectParts{}
	all := withoutBuilds(t, &f, targets)
	for _, target := range targets {
		if ctx.Err() != nil {
			v.Unknown = append(v.Unknown, outOfTime(ctx, target.Instance))
			inconclusive = true
			continue
		}
		m := model.NewMachine(t, &f, target, policy)
		m.Beside = slices.DeleteFunc(slices.Clone(all), func(o *model.Machine) bool { return o.Name == m.Name })
		j := newJudgement(m, &v)
		v.Judged = append(v.Judged, judgedMachine(j.Machine))
		v.Disagreements = disagreements(j.Machine) // the same for every target
		j.rules(ctx)
		inconclusive = j.answers(ctx) || inconclusive
		v.Judged[len(v.Judged)-1].Links = j.machineLinks()
		for _, b := range j.Builds {
			parts[b.Subject] = b.About()
		}
	}
	describeSubjects(&v, &f, parts)
	v.Waive(policy.Waivers, cmp.Or(policy.Today, t.Date()))
	sort(&v)
	v.Outcome = outcome(&v, inconclusive)
	return v
}

// withoutBuilds are the machines of several targets, each for the others: what is pinned for one of them is installed for
// all, since one image is made. Of the facts they have the system and the driver alone.
func withoutBuilds(t *Tables, f *facts.Facts, targets []Target) []*model.Machine {
	if len(targets) < 2 {
		return nil
	}
	var list []*model.Machine
	for _, target := range targets {
		list = append(list, model.NewMachine(t, &facts.Facts{System: f.System, Driver: f.Driver}, target, verdict.Policy{}))
	}
	return list
}

// outOfTime is what is missing of a target when the time is up.
func outOfTime(ctx context.Context, target string) verdict.Missing {
	return verdict.Missing{Rule: "not-looked-at", Subject: "judgement", Target: target, MissingFact: verdict.Statement(context.Cause(ctx).Error())}
}

// emptyVerdict is one that has nothing to say yet; JSON knows no list that is null.
func emptyVerdict() verdict.Verdict {
	return verdict.Verdict{Judged: []verdict.Judged{}, Answers: []verdict.BuildAnswer{}, Findings: []verdict.Finding{}, Passed: []verdict.Passed{},
		Unknown: []verdict.Missing{}, Suppressed: []verdict.Suppressed{}, Waivers: []verdict.WaiverUse{}, Disagreements: []verdict.Disagreement{}}
}

// judgement is one target on its way through the rules.
type judgement struct {
	*model.Machine
	verdict   *verdict.Verdict
	failed    map[about]bool                    // errors
	about     map[about]bool                    // findings of any severity
	undecided map[string][]string               // by subject: the rules that lack a fact which decides
	compared  bool                              // something was there to compare
	open      bool                              // a fact is missing that leaves the outcome open
	cut       bool                              // the time was up before every rule was asked
	how       map[string]way                    // by subject: how a build works with which nothing is wrong
	without   map[string][]string               // by subject: the rules that found no GPU for a part that the rest does without
	faults    []fault                           // of the machine
	hidden    map[verdict.LinkName]verdict.Link // links of the machine that were not seen because a place was not
	broken    map[string][]fault                // by subject: of builds
	asking    asking
	provided  bool // what an image must bring and what is not known of that is there
}

// way is how a build works, by the rule that says so.
type way struct {
	answer verdict.Answer
	rule   string
}

// fault is a link that a rule's error breaks.
type fault struct {
	rule  string
	link  verdict.LinkName
	takes func(model.GPU) bool // of the machine: the kinds of GPU that programs lose; nil: every one
	stops bool                 // of a build: it is not imported, or runs no kernel
}

// asking is how a rule is asked, about a build or, where that is nil, the machine.
type asking func(Rule, *model.Build) []*rules.Result

func newJudgement(m *model.Machine, v *verdict.Verdict) *judgement {
	return &judgement{Machine: m, verdict: v, failed: map[about]bool{}, about: map[about]bool{},
		undecided: map[string][]string{}, hidden: map[verdict.LinkName]verdict.Link{}, how: map[string]way{}, without: map[string][]string{}, broken: map[string][]fault{}, asking: func(rule Rule, b *model.Build) []*rules.Result { return rules.Ask(m, rule, b) }}
}

// about is what a rule said something of. A rule about the machine speaks of every build too: its subject is empty.
type about struct{ rule, subject string }

// rules asks each rule once about the machine, or about every build, in the order of the list: a rule can only be
// silenced by those before it.
func (j *judgement) rules(ctx context.Context) {
	for _, rule := range rules.All {
		if rule.OnMachine != nil && !j.isSilenced(rule, "") {
			j.record(rule, j.asking(rule, nil), true)
		}
		if rule.OnBuild == nil {
			continue
		}
		for _, b := range j.Builds {
			if ctx.Err() != nil {
				j.verdict.Unknown = append(j.verdict.Unknown, outOfTime(ctx, j.Name))
				j.open, j.cut = true, true
				return
			}
			if !j.isSilenced(rule, b.Subject) {
				j.record(rule, j.asking(rule, b), b.Counts)
			}
		}
	}
}

// judgedMachine is the machine in a few words.
func judgedMachine(m *model.Machine) verdict.Judged {
	list := verdict.Judged{Target: m.Name, Driver: m.Driver().Version.String(), CUDA: m.Driver().CUDA.String(), From: m.Driver().From,
		State: driverState(m), GPUs: []string{}, Hidden: m.Hidden(), Devices: devices(m)}
	for _, g := range m.Present {
		list.GPUs = append(list.GPUs, g.Label)
		if g.Chip != nil {
			list.Module = cmp.Or(list.Module, map[string]string{"required": "open", "unsupported": "proprietary"}[g.Chip.OpenModule])
		}
	}
	return list
}

// driverState is how a driver that does not run is there.
func driverState(m *model.Machine) string {
	switch {
	case m.Driver().Loaded, m.Facts.Driver.NVML.Status == "ok", !m.Driver().Version.Known():
		return ""
	case m.Facts.System.Rest:
		return "on disk"
	}
	return "installed, not loaded"
}

// devices are the target's GPUs, else all that were found, with the reason why programs are not shown one.
func devices(m *model.Machine) []verdict.JudgedGPU {
	list := []verdict.JudgedGPU{}
	if m.Target.Named() {
		for _, g := range m.Present {
			list = append(list, verdict.JudgedGPU{Label: g.Label, From: g.From})
		}
		return list
	}
	why, hidden := model.Withheld(m.Facts), map[string]bool{}
	for _, address := range m.Hidden() {
		hidden[address] = true
	}
	for _, g := range m.Facts.GPUs {
		device := verdict.JudgedGPU{Address: g.Bus, Label: m.GPUFound(g).Label, From: cmp.Or(g.From...), Hidden: why(g)}
		if device.Hidden == "" && hidden[g.Bus] {
			device.Hidden = "hidden by CUDA_VISIBLE_DEVICES"
		}
		list = append(list, device)
	}
	return list
}

// isSilenced reports whether a rule cannot be asked of the machine or of this subject, or is said better by another. Only
// errors silence: a warning's GPU or build still runs, and what follows from it is worth saying.
func (j *judgement) isSilenced(rule Rule, subject string) bool {
	if rule.SaidBy != "" && (j.failed[about{rule.SaidBy, ""}] || j.failed[about{rule.SaidBy, subject}]) {
		return true
	}
	rested := func(f fault) bool { return slices.Contains(rule.Rests, f.link) }
	return slices.ContainsFunc(j.faults, rested) || slices.ContainsFunc(j.broken[subject], rested)
}

// record writes a rule's results down. What is found in an environment that does not count is a note. A fact that is
// missing makes the answer unknown only for rules that decide whether a build runs.
func (j *judgement) record(rule Rule, results []*rules.Result, counts bool) {
	for _, r := range results {
		switch {
		case j.rests(r): // what it rests on is broken: it counts as failed, so that what it says better stays silent too
			j.mark(j.failed, rule, r.Subject)
		case r.Implied:
			j.mark(j.failed, rule, r.Subject)
			j.breaks(rule, r)
		case r.Finding != nil:
			if r.Answer != "" && j.how[r.Subject].rule == "" {
				j.how[r.Subject] = way{r.Answer, rule.ID}
			}
			if r.Without {
				j.without[r.Subject] = append(j.without[r.Subject], rule.ID)
			}
			j.find(rule, r, counts && !r.Noted)
		case r.Missing.IsMissing():
			j.verdict.Unknown = append(j.verdict.Unknown, verdict.Missing{Rule: rule.ID, Subject: r.Subject, Target: j.Name,
				MissingFact: r.Missing, Need: r.Need})
			if r.Unseen && rule.OnMachine != nil {
				j.hides(rule, r)
			}
			if r.Decides && !slices.Contains(j.undecided[r.Subject], rule.ID) {
				j.undecided[r.Subject] = append(j.undecided[r.Subject], rule.ID)
			}
			j.open = j.open || r.Open
		default:
			j.verdict.Passed = append(j.verdict.Passed, verdict.Passed{Rule: rule.ID, Subject: r.Subject, Target: j.Name})
			j.compared = j.compared || r.Judged
		}
	}
}

// rests reports whether a link of the machine is broken without which a result is not worth saying.
func (j *judgement) rests(r *rules.Result) bool {
	return slices.ContainsFunc(j.faults, func(f fault) bool { return slices.Contains(r.Rests, f.link) })
}

// find writes one finding down.
func (j *judgement) find(rule Rule, r *rules.Result, counts bool) {
	f := *r.Finding
	f.Rule, f.Target = rule.ID, j.Name
	j.mark(j.about, rule, f.Subject)
	if f.Severity == verdict.Error {
		j.mark(j.failed, rule, f.Subject)
		j.breaks(rule, r)
	}
	switch {
	// Marked as errors all the same, so that consequences of what lies in other environments are not said instead.
	case !counts:
		f.Severity = verdict.Note
	case r.CPUOnly:
		f.Severity = verdict.Warning
	}
	j.compared = j.compared || f.Severity != verdict.Note
	complete(&f)
	j.verdict.Findings = append(j.verdict.Findings, f)
}

// hides notes the link of the machine that was not seen for want of a fact.
func (j *judgement) hides(rule Rule, r *rules.Result) {
	link := cmp.Or(r.Link, rule.Link)
	if link == "" || len(r.Builds) > 0 {
		return
	}
	if _, known := j.hidden[link]; !known {
		j.hidden[link] = unseen(link, r.Missing, rule.ID)
	}
}

// breaks notes the link that an error breaks: the machine's, those of some builds, or that of the build it is about.
func (j *judgement) breaks(rule Rule, r *rules.Result) {
	broken := fault{rule: rule.ID, link: cmp.Or(r.Link, rule.Link), takes: r.TakesGPU}
	switch {
	case rule.OnBuild != nil:
		broken.stops = r.EndsImport || slices.Contains([]verdict.LinkName{verdict.LinkDriver, verdict.LinkPython, verdict.LinkCode}, broken.link)
		j.broken[r.Subject] = append(j.broken[r.Subject], broken)
	case r.Builds == nil:
		j.faults = append(j.faults, broken)
	}
	for _, b := range r.Builds {
		j.broken[b.Subject] = append(j.broken[b.Subject], broken)
	}
}

// mark notes that a rule failed or spoke for a subject; a rule about the machine did so for every build.
func (j *judgement) mark(list map[about]bool, rule Rule, subject string) {
	list[about{rule.ID, subject}] = true
	if rule.OnMachine != nil {
		list[about{rule.ID, ""}] = true
	}
}

// complete replaces nil lists, so that JSON never says null, and leaves out evidence of facts that are not known.
func complete(f *verdict.Finding) {
	f.Evidence = slices.DeleteFunc(verdict.OrEmpty(f.Evidence), func(e verdict.Evidence) bool { return e.Value == "" })
	f.Pins, f.Steps, f.Source = verdict.OrEmpty(f.Pins), verdict.OrEmpty(f.Steps), verdict.OrEmpty(f.Source)
	f.Do = pin.Texts(f.Steps)
	for i := range f.Pins {
		f.Pins[i].Steps = verdict.OrEmpty(f.Pins[i].Steps)
		if f.Pins[i].Commands == nil {
			f.Pins[i].Commands = map[string]string{}
		}
	}
}

// answers works out each build's answer; true says that the whole is inconclusive unless an error stands.
func (j *judgement) answers(ctx context.Context) (inconclusive bool) {
	first := len(j.verdict.Answers)
	for _, b := range j.Builds {
		a := verdict.BuildAnswer{Subject: b.Subject, Target: j.Name, Answer: verdict.Unknown, Because: []string{"not-looked-at"},
			Counts: b.Counts, Links: []verdict.Link{}}
		if ctx.Err() == nil {
			a = j.answer(b)
		} else if !j.cut {
			j.verdict.Unknown = append(j.verdict.Unknown, outOfTime(ctx, j.Name))
			j.open, j.cut = true, true
		}
		j.verdict.Answers = append(j.verdict.Answers, a)
		// What goes on without a GPU that was withheld shows nothing of the GPU.
		if a.Counts && (a.Answer == verdict.Unknown || a.Answer == verdict.WorksCPUOnly && (withheld(j.Machine) || b.Kept != "")) {
			inconclusive = true
		}
	}
	j.withFrameworks(j.verdict.Answers[first:])
	j.yield(j.verdict.Answers[first:])
	// Without a GPU, or where no rule compared anything, nothing was judged: silence is not "compatible".
	return inconclusive || !j.compared || len(j.GPUs) == 0 || j.open || j.machineUnseen()
}

// machineUnseen reports whether module or driver were not seen where no build stands for them, and writes it down: a host
// whose driver does not answer is not compatible for having no framework yet.
func (j *judgement) machineUnseen() bool {
	if slices.ContainsFunc(j.Builds, func(b *model.Build) bool { return b.Counts && usesGPU(b) }) || len(j.GPUs) == 0 {
		return false
	}
	links := j.machineLinks()
	if decisive(links).State != verdict.Unseen {
		return false
	}
	i := slices.IndexFunc(links, func(l verdict.Link) bool {
		return l.State == verdict.Unseen && (l.Link == verdict.LinkModule || l.Link == verdict.LinkAnswers)
	})
	if i < 0 {
		return false
	}
	j.verdict.Unknown = append(j.verdict.Unknown, verdict.Missing{Rule: links[i].Because[0], Subject: "driver", Target: j.Name,
		MissingFact: lackOf(j.Machine, links[i])})
	return true
}

// withFrameworks breaks what cannot do without a build that is broken.
func (j *judgement) withFrameworks(answers []verdict.BuildAnswer) {
	for i, b := range j.Builds {
		if b.Extension && answers[i].Answer != verdict.Broken {
			if f := j.brokenUnder(b, answers); f >= 0 {
				answers[i].Answer, answers[i].Because = verdict.Broken, answers[f].Because
			}
		}
	}
}

// brokenUnder is what keeps an extension from running: its framework that does not start, as torchvision's torch that
// has lost its cuBLAS, or the library that came along with it, as cuDF's libcudf; -1 where nothing does. Where only a
// part of the framework fails, as cuDNN's engines, what does not use it goes on.
func (j *judgement) brokenUnder(b *model.Build, answers []verdict.BuildAnswer) int {
	for i, o := range j.Builds {
		if o.Env != b.Env || answers[i].Answer != verdict.Broken {
			continue
		}
		library := o.PartOf == b.Name && strings.HasPrefix(o.Name, "lib")
		stops := slices.ContainsFunc(j.broken[o.Subject], func(f fault) bool { return f.stops })
		if library || o.Name == b.Framework && stops {
			return i
		}
	}
	return -1
}

// answer is what the build's chain comes to: broken where a link is, else unknown where one was not seen, else what a
// rule says of how it works.
func (j *judgement) answer(b *model.Build) verdict.BuildAnswer {
	chain := j.bestChain(b)
	a := verdict.BuildAnswer{Subject: b.Subject, Target: j.Name, Counts: b.Counts, Because: []string{}, Links: []verdict.Link{}}
	for _, l := range chain {
		if slices.Contains(verdict.BuildLinks, l.Link) {
			a.Links = append(a.Links, l)
		}
	}
	worst := decisive(chain)
	switch {
	case j.cut && (worst.State != verdict.LinkBroken || b.GoesOn()):
		a.Answer, a.Because = verdict.Unknown, []string{"not-looked-at"}
	case worst.State == verdict.LinkBroken:
		a.Answer, a.Because = verdict.Broken, becauseOf(chain, verdict.LinkBroken)
		if b.GoesOn() && !slices.ContainsFunc(chain, func(l verdict.Link) bool { return l.Link == verdict.LinkPython && l.State == verdict.LinkBroken }) {
			a.Answer = verdict.WorksCPUOnly
		}
	case worst.State == verdict.Unseen:
		a.Answer, a.Because = verdict.Unknown, becauseOf(chain, verdict.Unseen)
		if (withheld(j.Machine) || b.Kept != "") && b.GoesOn() {
			a.Answer = verdict.WorksCPUOnly
		}
		j.lacks(b, chain)
	default:
		a.Answer, a.Because = j.works(b)
	}
	return a
}

// becauseOf are the rules of the links of a state, in the order of the chain.
func becauseOf(chain []verdict.Link, state verdict.LinkState) []string {
	list := []string{}
	for _, l := range chain {
		if l.State != state || l.Link == verdict.LinkGPU && state == verdict.Unseen { // that there is no GPU is the outcome's own sentence
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
func (j *judgement) lacks(b *model.Build, chain []verdict.Link) {
	var said []verdict.MissingFact
	for _, l := range chain {
		lack := lackOf(j.Machine, l)
		if l.Value == verdict.Withheld && b.Kept != "" {
			lack = verdict.Statement(b.Kept + " keeps " + b.Name + " to the CPU")
		}
		if l.State != verdict.Unseen || l.Link == verdict.LinkGPU || slices.Contains(j.undecided[b.Subject], l.Because[0]) ||
			slices.Contains(said, lack) {
			continue
		}
		said = append(said, lack)
		missing := verdict.Missing{Rule: l.Because[0], Subject: b.Subject, Target: j.Name, MissingFact: lack}
		if l.Value == verdict.Withheld { // the reason that stands before all others
			j.verdict.Unknown = slices.Insert(j.verdict.Unknown, 0, missing)
			continue
		}
		j.verdict.Unknown = append(j.verdict.Unknown, missing)
	}
}

// works is how a build works whose links are all held or assumed: without the GPU where a part does without it, else as
// a rule says, else without limits.
func (j *judgement) works(b *model.Build) (verdict.Answer, []string) {
	if without := j.without[b.Subject]; len(without) > 0 {
		return verdict.WorksCPUOnly, without
	}
	if how := j.how[b.Subject]; how.rule != "" {
		return how.answer, []string{how.rule}
	}
	return verdict.Works, []string{}
}

// outcome is worked out here once, so that every format and exit code says the same. An error that is proven stands,
// whatever else is not known.
func outcome(v *verdict.Verdict, inconclusive bool) verdict.Outcome {
	switch {
	case v.Count(verdict.Error) > 0:
		return verdict.Incompatible
	case inconclusive:
		return verdict.Inconclusive
	}
	return verdict.Compatible
}

// rank is the order in which severities are printed.
var rank = map[verdict.Severity]int{verdict.Error: 0, verdict.Warning: 1, verdict.Note: 2}

// sort puts the worst first and keeps the order of the rules within one severity.
func sort(v *verdict.Verdict) {
	slices.SortStableFunc(v.Findings, func(a, b verdict.Finding) int {
		if c := rank[a.Severity] - rank[b.Severity]; c != 0 {
			return c
		}
		return strings.Compare(a.Target, b.Target)
	})
}

// yield turns the errors of environments that a search found into warnings where another one works: that is the one
// which people use on this machine. What is not known of an environment stays unknown, as it is unknown which Python
// a file is for that names other packages for others.
func (j *judgement) yield(answers []verdict.BuildAnswer) {
	if !anySound(j.Builds, func(i int) verdict.Answer { return answers[i].Answer }) {
		return
	}
	broken := map[string]*model.Build{} // those that give way, by their subject
	for i, b := range j.Builds {
		if b.Standing == model.Searched && answers[i].Answer == verdict.Broken {
			broken[b.Subject], answers[i].Counts = b, b.Env.Pythons != ""
			if answers[i].Counts {
				answers[i].Answer = verdict.Unknown
			}
		}
	}
	for i := range j.verdict.Findings {
		f := &j.verdict.Findings[i]
		if b := broken[f.Subject]; b != nil && f.Target == j.Name && f.Severity == verdict.Error {
			f.Severity = verdict.Warning
			j.askPython(b, f.Rule)
		}
	}
}

// askPython says that a build may be the one that is installed, by the Python, where a file names others for others.
func (j *judgement) askPython(b *model.Build, rule string) {
	if b.Env.Pythons != "" {
		j.open = true
		j.verdict.Unknown = append(j.verdict.Unknown, verdict.Missing{Rule: rule, Subject: b.Subject, Target: j.Name,
			MissingFact: verdict.Question("which Python this file is installed on (add --python)")})
	}
}

// anySound reports whether all builds of one of the environments that a search found, and that uses CUDA, work.
func anySound(builds []*model.Build, answer func(int) verdict.Answer) bool {
	works := map[string]bool{}
	for i, b := range builds {
		if b.Standing != model.Searched || b.Device == "cpu" || b.GoesOn() {
			continue
		}
		before, met := works[b.Env.Path]
		works[b.Env.Path] = (before || !met) && answer(i) != verdict.Broken && answer(i) != verdict.Unknown
	}
	return slices.Contains(slices.Collect(maps.Values(works)), true)
}
