package matrix

import (
	"slices"
	"strings"

	"cudacompat/probe"
)

// Check judges facts for every target, or for the machine itself when there is none.
func Check(t *Tables, f probe.Facts, targets []Target, policy Policy) Verdict {
	f.Complete()
	if len(targets) == 0 {
		targets = []Target{{}}
	}
	v := Verdict{Judged: []Judged{}, Answers: []BuildAnswer{}, Findings: []Finding{}, Passed: []Passed{}, Unknown: []Missing{}, Suppressed: []Suppressed{}, Waivers: []WaiverUse{}}
	inconclusive := false
	for _, target := range targets {
		j := &judgement{machine: newMachine(t, &f, target, policy), verdict: &v, failed: map[string]bool{}}
		v.Judged = append(v.Judged, j.judged())
		v.Disagreements = j.disagreements() // the same for every target
		j.rules()
		inconclusive = j.answers() || inconclusive
	}
	v.waive(policy.Waivers, cmpOr(policy.Today, t.Date()))
	v.sort()
	v.Outcome = v.outcome(inconclusive)
	return v
}

// judgement is one target on its way through the rules.
type judgement struct {
	*machine
	verdict *Verdict
	failed  map[string]bool // rule and subject with an error
}

func (j *judgement) rules() {
	for _, rule := range Rules {
		if rule.Machine != nil && !j.silenced(rule, "") {
			j.record(rule, rule.Machine(j.machine), true)
		}
		if rule.Build == nil {
			continue
		}
		for _, b := range j.builds {
			if !j.silenced(rule, b.subject) {
				j.record(rule, j.asShown(rule, b), b.counts)
			}
		}
	}
}

// judged is the machine in a few words.
func (m *machine) judged() Judged {
	list := Judged{Target: m.name, Driver: m.driver.version.String(), CUDA: m.driver.cuda.String(), From: m.driver.from, GPUs: []string{}, Hidden: []string{}}
	for _, g := range m.present {
		list.GPUs = append(list.GPUs, g.label)
		if m.hides(g) {
			list.Hidden = append(list.Hidden, g.bus)
		}
	}
	return list
}

// silenced says that a cause of this rule has been found already, for the machine or for this subject.
func (j *judgement) silenced(rule Rule, subject string) bool {
	return slices.ContainsFunc(rule.After, func(cause string) bool {
		return j.failed[cause] || j.failed[cause+" "+subject]
	})
}

// record writes a rule's results down. What is found in an environment that does not count is a note.
func (j *judgement) record(rule Rule, results []*result, counts bool) {
	for _, r := range results {
		switch {
		case r.finding != nil:
			f := *r.finding
			f.Rule, f.Target = rule.ID, j.name
			if f.Severity == Error {
				j.fail(rule, r.subject)
			}
			if !counts || r.noted {
				f.Severity = Note
			}
			f.complete()
			j.verdict.Findings = append(j.verdict.Findings, f)
		case r.missing != "":
			j.verdict.Unknown = append(j.verdict.Unknown, Missing{rule.ID, r.subject, j.name, r.missing})
		default:
			j.verdict.Passed = append(j.verdict.Passed, Passed{rule.ID, r.subject, j.name})
		}
	}
}

func (j *judgement) fail(rule Rule, subject string) {
	if rule.Machine != nil {
		j.failed[rule.ID] = true
	}
	j.failed[rule.ID+" "+subject] = true
}

func (f *Finding) complete() {
	f.Evidence = slices.DeleteFunc(orEmpty(f.Evidence), func(e Evidence) bool { return e.Value == "" })
	f.Pins, f.Do, f.Source = orEmpty(f.Pins), orEmpty(f.Do), orEmpty(f.Source)
	for i := range f.Pins {
		if f.Pins[i].Commands == nil {
			f.Pins[i].Commands = map[string]string{}
		}
	}
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// breaking are the machine's own errors under which no CUDA program runs.
var breaking = []string{"driver-missing", "driver-mismatch", "driver-unresponsive", "device-access-lost", "device-permission",
	"device-nodes-missing", "container-driver-libs", "driver-drops-gpu", "driver-too-old-for-gpu",
	"stub-library", "forward-compat-unsupported", "forward-compat-not-applicable",
	"nouveau-loaded", "module-missing-for-kernel", "open-module-required", "open-module-unsupported", "gsp-firmware", "vgpu-driver", "fabric-manager"}

// deciding are the rules whose missing fact leaves a build's answer unknown.
var deciding = []string{"driver-too-old", "gpu-arch-missing"}

// answers works out each build's answer; true says that the whole is inconclusive unless an error stands.
func (j *judgement) answers() (inconclusive bool) {
	first := len(j.verdict.Answers)
	for _, b := range j.builds {
		a := j.answer(b)
		j.verdict.Answers = append(j.verdict.Answers, a)
		if a.Answer == Unknown && a.Counts {
			inconclusive = true
		}
	}
	j.yield(j.verdict.Answers[first:])
	return inconclusive || !j.compared() || j.leftOpen()
}

func (j *judgement) answer(b *build) BuildAnswer {
	a := BuildAnswer{Subject: b.subject, Target: j.name, Answer: Works, Because: []string{}, Counts: b.counts}
	for _, id := range breaking {
		if j.failed[id] && b.accelerator != "cpu" {
			a.Answer, a.Because = Broken, append(a.Because, id)
		}
	}
	for _, rule := range Rules {
		if rule.Build != nil && j.failed[rule.ID+" "+b.subject] {
			a.Answer, a.Because = Broken, append(a.Because, rule.ID)
		}
	}
	if j.failed["visible-devices"] && j.shown.hidden && b.accelerator != "cpu" {
		a.Answer, a.Because = Broken, append(a.Because, "visible-devices")
	}
	if b.optional() && j.said("gpu-arch-missing", b) {
		a.Answer, a.Because = Broken, append(a.Because, "gpu-arch-missing")
	}
	if b.offGPU() && a.Answer != Broken && j.said("extension-mismatch", b) {
		a.Answer, a.Because = Broken, append(a.Because, "extension-mismatch")
	}
	if a.Answer == Broken {
		return a
	}
	for _, u := range j.verdict.Unknown {
		if u.Subject == b.subject && u.Target == j.name && slices.Contains(deciding, u.Rule) {
			a.Answer, a.Because = Unknown, append(a.Because, u.Rule)
		}
	}
	switch {
	case a.Answer == Works && j.said("forward-compat-in-use", b):
		a.Answer, a.Because = WorksForward, []string{"forward-compat-in-use"}
	case a.Answer == Works && j.said("minor-compat", b):
		a.Answer, a.Because = WorksMinorVersion, []string{"minor-compat"}
	}
	return a
}

// said tells whether a rule has a finding for a build.
func (j *judgement) said(rule string, b *build) bool {
	return slices.ContainsFunc(j.verdict.Findings, func(f Finding) bool {
		return f.Rule == rule && f.Subject == b.subject && f.Target == j.name
	})
}

// compared says that something was there to compare: a build that the driver or a GPU was judged for, or the driver
// with a GPU.
func (j *judgement) compared() bool {
	if len(j.gpus) == 0 {
		return false
	}
	judged := func(rule string) bool {
		return slices.Contains([]string{"driver-drops-gpu", "driver-too-old-for-gpu", "driver-too-old", "gpu-arch-missing", "cpu-only-build"}, rule)
	}
	return slices.ContainsFunc(j.verdict.Passed, func(p Passed) bool { return p.Target == j.name && judged(p.Rule) }) ||
		slices.ContainsFunc(j.verdict.Findings, func(f Finding) bool { return f.Target == j.name && f.Severity != Note })
}

// leftOpen reports whether a required fact, or something that could hold CUDA code, was not looked at.
func (j *judgement) leftOpen() bool {
	return slices.ContainsFunc(j.verdict.Unknown, func(u Missing) bool {
		return (u.Rule == "required-missing" || u.Rule == "not-looked-at") && u.Target == j.name
	})
}

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

// Fires says whether a rule has an unwaived finding.
func (v *Verdict) Fires(rule string) bool {
	return slices.ContainsFunc(v.Findings, func(f Finding) bool { return f.Rule == rule })
}

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
