package matrix

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/internal/links"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/rules"
	"cudacompat/matrix/internal/rules/environment"
	"cudacompat/matrix/internal/rules/rule"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// Check judges facts for every target, or for the machine itself if there is none. If ctx ends early, the verdict
// contains what was found until then and is inconclusive unless it has an error.
func Check(ctx context.Context, t *Tables, f facts.Facts, targets []Target, policy verdict.Policy) verdict.Verdict {
	f.Complete()
	if len(targets) == 0 {
		targets = []Target{{}}
	}
	v := emptyVerdict()
	inconclusive, parts := false, map[string]verdict.SubjectParts{}
	all := otherTargets(t, &f, targets)
	for _, target := range targets {
		if ctx.Err() != nil {
			v.Unknown = append(v.Unknown, outOfTime(ctx, nameOf(target, targets)))
			inconclusive = true
			continue
		}
		m := model.NewMachine(t, &f, target, policy)
		m.Name = nameOf(target, targets)
		m.Beside = slices.DeleteFunc(slices.Clone(all), func(o *model.Machine) bool { return o.Name == m.Name })
		j := newJudgement(m, &v)
		v.Judged = append(v.Judged, judgedMachine(j.Machine))
		v.Disagreements = links.FindDisagreements(j.Machine) // the same for every target
		j.runRules(ctx)
		j.fitFixes()
		inconclusive = j.answers(ctx) || inconclusive
		v.Judged[len(v.Judged)-1].Links = j.machineLinks()
		for _, b := range j.Builds {
			parts[b.Subject] = b.About()
		}
	}
	describeSubjects(&v, &f, parts)
	v.Waive(policy.Waivers, cmp.Or(policy.Today, t.Date()))
	sortFindings(&v)
	v.Link(policy.Site)
	v.Outcome = outcome(&v, inconclusive)
	return v
}

// otherTargets returns the machines of several targets, each as the other targets of the rest. Pins for one target must
// suit all of them, because one image is made for all. The returned machines have only the system and the driver.
func otherTargets(t *Tables, f *facts.Facts, targets []Target) []*model.Machine {
	if len(targets) < 2 {
		return nil
	}
	var list []*model.Machine
	for _, target := range targets {
		m := model.NewMachine(t, &facts.Facts{System: f.System, Driver: f.Driver}, target, verdict.Policy{})
		m.Name = nameOf(target, targets)
		list = append(list, m)
	}
	return list
}

// nameOf returns what a verdict calls a target: its instance type, and its GPUs if there are several targets. One
// machine that is described by its GPUs needs no name.
func nameOf(target Target, targets []Target) string {
	if len(targets) < 2 {
		return target.Instance
	}
	return target.Label()
}

// outOfTime returns the missing fact of a target that was not judged in time.
func outOfTime(ctx context.Context, target string) verdict.Missing {
	return verdict.Missing{Rule: "not-looked-at", Subject: "judgement", Target: target, MissingFact: verdict.Statement(context.Cause(ctx).Error())}
}

// emptyVerdict returns a verdict whose lists are empty, not nil.
func emptyVerdict() verdict.Verdict {
	return verdict.Verdict{Judged: []verdict.Judged{}, Answers: []verdict.BuildAnswer{}, Findings: []verdict.Finding{}, Passed: []verdict.Passed{},
		Unknown: []verdict.Missing{}, Suppressed: []verdict.Suppressed{}, Waivers: []verdict.WaiverUse{}, Disagreements: []verdict.Disagreement{}}
}

// judgement collects the results of the rules for one target.
type judgement struct {
	*model.Machine
	verdict   *verdict.Verdict
	failed    map[ruleSubject]bool              // errors
	about     map[ruleSubject]bool              // findings of any severity
	undecided map[string][]string               // by subject: the rules that lack a fact which decides
	compared  bool                              // something was there to compare
	open      bool                              // a fact is missing that leaves the outcome open
	cut       bool                              // the time was up before every rule was asked
	how       map[string]answerSource           // by subject: how a build works with which nothing is wrong
	cpuParts  map[string][]string               // by subject: the rules that found a part which gets no GPU, while the build works without that part
	faults    []fault                           // of the machine
	hidden    map[verdict.LinkName]verdict.Link // links of the machine that were not seen because a place was not
	broken    map[string][]fault                // by subject: of builds
	askRule   askRule                           // calls a rule, or looks up what an earlier call returned
	provided  bool                              // what an image must bring and what is not known of that is there
}

// answerSource is an answer with the rule that reported it.
type answerSource struct {
	answer verdict.Answer
	rule   string
}

// fault is a link that a rule's error breaks.
type fault struct {
	rule  string
	link  verdict.LinkName
	takes func(hardware.GPU) bool // of the machine: the kinds of GPU that programs lose; nil: every one
	stops bool                    // of a build: it is not imported, or runs no kernel
}

// askRule returns a rule's results for a build or, if that is nil, for the machine.
type askRule func(Rule, *model.Build) []*rule.Result

// newJudgement prepares to judge one target.
func newJudgement(m *model.Machine, v *verdict.Verdict) *judgement {
	return &judgement{Machine: m, verdict: v, failed: map[ruleSubject]bool{}, about: map[ruleSubject]bool{},
		undecided: map[string][]string{}, hidden: map[verdict.LinkName]verdict.Link{}, how: map[string]answerSource{}, cpuParts: map[string][]string{}, broken: map[string][]fault{}, askRule: func(asked Rule, b *model.Build) []*rule.Result { return rule.Ask(m, asked, b) }}
}

// ruleSubject identifies what a rule has reported on. A machine rule reports on every build, too, under the empty
// subject.
type ruleSubject struct{ rule, subject string }

// runRules calls each rule once for the machine or for every build. The order of rules.All matters: only earlier rules
// can silence a rule.
func (j *judgement) runRules(ctx context.Context) {
	defer j.recordStated()
	for _, rule := range rules.All {
		if rule.OnMachine != nil && !j.isSilenced(rule, "") {
			j.record(rule, j.askRule(rule, nil), true)
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
				j.record(rule, j.askRule(rule, b), b.Counts)
			}
		}
	}
}

// fitFixes makes the fixes of this target's findings fit each other.
func (j *judgement) fitFixes() {
	var own []*verdict.Finding
	for i, f := range j.verdict.Findings {
		if f.Target == j.Name {
			own = append(own, &j.verdict.Findings[i])
		}
	}
	environment.FitTogether(j.Machine, own)
}

// recordStated stores the error that a pasted text shows, unless a rule has found one, because a text has one cause. It
// breaks the link of a machine rule. The text does not say which build a program's own error is about.
func (j *judgement) recordStated() {
	stated := rules.Stated(j.Machine)
	if stated == nil || slices.ContainsFunc(j.verdict.Findings, func(f verdict.Finding) bool {
		return f.Target == j.Name && f.Severity == verdict.Error
	}) {
		return
	}
	named, _ := rules.Named(j.Facts.Observed.Stated.Rule)
	j.record(named, []*rule.Result{stated}, true)
}

// judgedMachine summarizes the machine for the report.
func judgedMachine(m *model.Machine) verdict.Judged {
	judged := verdict.Judged{Target: m.Name, Driver: m.Driver().Version.String(), CUDA: m.Driver().CUDA.String(), From: m.Driver().From,
		State: driverState(m), GPUs: []string{}, Hidden: m.Hidden(), Devices: devices(m)}
	for _, g := range m.Present {
		judged.GPUs = append(judged.GPUs, g.Label)
		if g.Chip != nil && len(m.ArchivedDrivers()) == 0 { // otherwise the boot takes the right one for each
			judged.Module = cmp.Or(judged.Module, map[string]string{"required": "open", "unsupported": "proprietary"}[g.Chip.OpenModule])
		}
	}
	return judged
}

// driverState describes a driver that is there but does not run.
func driverState(m *model.Machine) string {
	switch {
	case m.Driver().Loaded, m.Facts.Driver.NVML.Status == "ok", !m.Driver().Version.Known():
		return ""
	case m.Facts.System.Rest:
		return "on disk"
	}
	return "installed, not loaded"
}

// devices returns the target's GPUs, or else all that were found, with the reason why programs cannot see one.
func devices(m *model.Machine) []verdict.JudgedGPU {
	list := []verdict.JudgedGPU{}
	if m.Target.Named() {
		for _, g := range m.Present {
			list = append(list, verdict.JudgedGPU{Label: g.Label, From: g.From})
		}
		return list
	}
	why, hidden := hardware.Withheld(m.Facts), map[string]bool{}
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

// isSilenced reports whether a rule does not apply to a subject because something it depends on is broken, or because
// another rule reports the cause. Only errors silence rules: with a warning the build still runs, so its consequences
// matter.
func (j *judgement) isSilenced(rule Rule, subject string) bool {
	if rule.SaidBy != "" && (j.failed[ruleSubject{rule.SaidBy, ""}] || j.failed[ruleSubject{rule.SaidBy, subject}]) {
		return true
	}
	rested := func(f fault) bool { return slices.Contains(rule.Rests, f.link) }
	return slices.ContainsFunc(j.faults, rested) || slices.ContainsFunc(j.broken[subject], rested)
}

// record stores a rule's results. Findings in environments that do not count become notes. A missing fact makes the
// answer unknown only for rules that decide whether a build runs.
func (j *judgement) record(rule Rule, results []*rule.Result, counts bool) {
	for _, r := range results {
		switch {
		case j.isMoot(r): // what it rests on is broken: it counts as failed, so that what it says better stays silent too
			j.mark(j.failed, rule, r.Subject)
		case r.Implied:
			j.mark(j.failed, rule, r.Subject)
			j.breakLink(rule, r)
		case r.Finding != nil:
			if r.Answer != "" && j.how[r.Subject].rule == "" {
				j.how[r.Subject] = answerSource{r.Answer, rule.ID}
			}
			if r.Without {
				j.cpuParts[r.Subject] = append(j.cpuParts[r.Subject], rule.ID)
			}
			j.addFinding(rule, r, counts && !r.Noted)
		case r.Missing.IsMissing():
			j.verdict.Unknown = append(j.verdict.Unknown, verdict.Missing{Rule: rule.ID, Subject: r.Subject, Target: j.Name,
				MissingFact: r.Missing, Need: r.Need})
			if r.Unseen && rule.OnMachine != nil {
				j.hideLink(rule, r)
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

// isMoot reports whether a broken link of the machine makes a result not worth reporting.
func (j *judgement) isMoot(r *rule.Result) bool {
	return slices.ContainsFunc(j.faults, func(f fault) bool { return slices.Contains(r.Rests, f.link) })
}

// addFinding stores one finding.
func (j *judgement) addFinding(rule Rule, r *rule.Result, counts bool) {
	f := *r.Finding
	f.Rule, f.Target = rule.ID, j.Name
	j.mark(j.about, rule, f.Subject)
	if f.Severity == verdict.Error {
		j.mark(j.failed, rule, f.Subject)
		j.breakLink(rule, r)
	}
	switch {
	// Marked as errors all the same, so that consequences of what lies in other environments are not said instead.
	case !counts:
		f.Severity = verdict.Note
	case r.CPUOnly:
		f.Severity = verdict.Warning
	}
	j.compared = j.compared || f.Severity != verdict.Note
	if j.Windows() {
		fitWindows(&f)
	}
	complete(&f)
	j.verdict.Findings = append(j.verdict.Findings, f)
}

// fitWindows removes what only Linux understands from the remedies of a finding.
func fitWindows(f *verdict.Finding) {
	f.Steps = pin.ForWindows(f.Steps)
	for i := range f.Pins {
		p := &f.Pins[i]
		p.Steps, p.Commands = pin.ForWindows(p.Steps), maps.Clone(p.Commands)
		pin.CommandsForWindows(p.Commands)
	}
}

// hideLink records the link of the machine that was not seen because a fact is missing.
func (j *judgement) hideLink(rule Rule, r *rule.Result) {
	link := cmp.Or(r.Link, rule.Link)
	if link == "" || len(r.Builds) > 0 {
		return
	}
	if _, known := j.hidden[link]; !known {
		j.hidden[link] = links.Unseen(link, r.Missing, rule.ID)
	}
}

// breakLink records the link that an error breaks: of the machine, of some builds, or of the finding's own build.
func (j *judgement) breakLink(rule Rule, r *rule.Result) {
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

// mark records that a rule reported on a subject. A rule about the machine did so for every build.
func (j *judgement) mark(subjects map[ruleSubject]bool, rule Rule, subject string) {
	subjects[ruleSubject{rule.ID, subject}] = true
	if rule.OnMachine != nil {
		subjects[ruleSubject{rule.ID, ""}] = true
	}
}

// complete replaces nil lists with empty ones, so that JSON never contains null, and removes evidence whose value is
// not known.
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

// answers computes each build's answer. It returns true if the outcome is inconclusive unless there is an error.
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
		// A build that continues without the withheld GPU proves nothing about the GPU.
		if a.Counts && (a.Answer == verdict.Unknown || a.Answer == verdict.WorksCPUOnly && (links.IsGPUWithheld(j.Machine) || b.Kept != "")) {
			inconclusive = true
		}
	}
	j.propagateBroken(j.verdict.Answers[first:])
	j.downgradeDiscovered(j.verdict.Answers[first:])
	// Without a GPU, or if no rule compared anything, nothing was judged. Silence does not mean compatible.
	return inconclusive || !j.compared || len(j.GPUs) == 0 || j.open || j.machineUnseen()
}

// machineUnseen reports whether module or driver were not seen although no build depends on them, and records what is
// missing. A host whose driver does not answer is not compatible just because no framework is installed yet.
func (j *judgement) machineUnseen() bool {
	if slices.ContainsFunc(j.Builds, func(b *model.Build) bool { return b.Counts && usesGPU(b) }) || len(j.GPUs) == 0 {
		return false
	}
	chain := j.machineLinks()
	if decisive(chain).State != verdict.Unseen {
		return false
	}
	i := slices.IndexFunc(chain, func(l verdict.Link) bool {
		return l.State == verdict.Unseen && (l.Link == verdict.LinkModule || l.Link == verdict.LinkAnswers)
	})
	if i < 0 {
		return false
	}
	j.verdict.Unknown = append(j.verdict.Unknown, verdict.Missing{Rule: chain[i].Because[0], Subject: "driver", Target: j.Name,
		MissingFact: links.MissingFact(j.Machine, chain[i])})
	return true
}

// propagateBroken marks extensions as broken if the framework that they need is broken.
func (j *judgement) propagateBroken(answers []verdict.BuildAnswer) {
	for i, b := range j.Builds {
		if b.Extension && answers[i].Answer != verdict.Broken {
			if f := j.brokenBase(b, answers); f >= 0 {
				answers[i].Answer, answers[i].Because = verdict.Broken, answers[f].Because
			}
		}
	}
}

// brokenBase returns the build that keeps an extension from running, or -1: its framework that does not start, such as
// a torch without cuBLAS under torchvision, or the library that it was installed with, such as cuDF's libcudf. If only
// a part of the framework fails, such as cuDNN's engines, an extension that does not use the part still works.
func (j *judgement) brokenBase(b *model.Build, answers []verdict.BuildAnswer) int {
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

// answer computes the answer from the build's chain: broken if a link is broken, unknown if a link is unseen, and
// otherwise what the rules report about how it works.
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
		a.Answer, a.Because = verdict.Broken, rulesBehind(chain, verdict.LinkBroken)
		if b.GoesOn() && !b.FailsWithout() && !slices.ContainsFunc(chain, func(l verdict.Link) bool { return l.Link == verdict.LinkPython && l.State == verdict.LinkBroken }) {
			a.Answer = verdict.WorksCPUOnly
		}
	case worst.State == verdict.Unseen:
		a.Answer, a.Because = verdict.Unknown, rulesBehind(chain, verdict.Unseen)
		if (links.IsGPUWithheld(j.Machine) || b.Kept != "") && b.GoesOn() {
			a.Answer = verdict.WorksCPUOnly
		}
		j.addMissing(b, chain)
	default:
		a.Answer, a.Because = j.howItWorks(b)
	}
	return a
}

// rulesBehind returns the rules of the links with a state, in the order of the chain.
func rulesBehind(chain []verdict.Link, state verdict.LinkState) []string {
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

// addMissing records what was not seen of a build's chain, unless a rule has already reported it.
func (j *judgement) addMissing(b *model.Build, chain []verdict.Link) {
	var said []verdict.MissingFact
	for _, l := range chain {
		lack := links.MissingFact(j.Machine, l)
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

// howItWorks returns the answer for a build whose links are all held or assumed: on the CPU if a part works without the
// GPU, with limits that a rule reported, or without limits.
func (j *judgement) howItWorks(b *model.Build) (verdict.Answer, []string) {
	if found := j.cpuParts[b.Subject]; len(found) > 0 {
		return verdict.WorksCPUOnly, found
	}
	if how := j.how[b.Subject]; how.rule != "" {
		return how.answer, []string{how.rule}
	}
	return verdict.Works, []string{}
}

// outcome computes the outcome, here only, so that every format and exit code agrees. A proven error stands whatever
// else is unknown.
func outcome(v *verdict.Verdict, inconclusive bool) verdict.Outcome {
	switch {
	case v.Count(verdict.Error) > 0:
		return verdict.Incompatible
	case inconclusive:
		return verdict.Inconclusive
	}
	return verdict.Compatible
}

// severityRank orders severities for printing.
var severityRank = map[verdict.Severity]int{verdict.Error: 0, verdict.Warning: 1, verdict.Note: 2}

// sortFindings puts the worst findings first and keeps the order of the rules within a severity.
func sortFindings(v *verdict.Verdict) {
	slices.SortStableFunc(v.Findings, func(a, b verdict.Finding) int {
		if c := severityRank[a.Severity] - severityRank[b.Severity]; c != 0 {
			return c
		}
		return strings.Compare(a.Target, b.Target)
	})
}

// downgradeDiscovered turns errors in discovered environments into warnings if another discovered environment works,
// because people use that one. Unknown answers stay unknown. So do the builds of a file that names different packages
// for different Pythons, because nobody knows which Python it is for.
func (j *judgement) downgradeDiscovered(answers []verdict.BuildAnswer) {
	if !anyWorks(j.Builds, func(i int) verdict.Answer { return answers[i].Answer }) {
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

// askPython records that the Python decides whether a build of a file is installed at all.
func (j *judgement) askPython(b *model.Build, rule string) {
	if b.Env.Pythons != "" {
		j.open = true
		j.verdict.Unknown = append(j.verdict.Unknown, verdict.Missing{Rule: rule, Subject: b.Subject, Target: j.Name,
			MissingFact: verdict.Question("which Python this file is installed on (add --python)")})
	}
}

// anyWorks reports whether all CUDA builds of one discovered environment work.
func anyWorks(builds []*model.Build, answer func(int) verdict.Answer) bool {
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
