package logs

import (
	"cmp"
	"slices"
	"strings"

	"cudacompat/internal/logs/finding"
	"cudacompat/internal/logs/logtext"
	"cudacompat/internal/logs/readers"
	"cudacompat/internal/logs/record"
	"cudacompat/matrix"
	"cudacompat/matrix/verdict"
)

// Beside combines a diagnosis with the verdict on its machine. If something is broken there that can cause the log's
// error, it becomes the answer, with its steps; brings lists such faults, likeliest first. Faults that cannot cause the
// error are listed separately, and the log's blame stays. A fault that the log proves to be the program's own stays the
// program's.
func (d *Diagnosis) Beside(v verdict.Verdict, t *matrix.Tables) (brings, apart []verdict.Finding) {
	var alike []verdict.Finding // of the log's own rule, and no error
	for _, f := range v.Findings {
		same := d.Rule != "" && f.Rule == d.Rule && !d.concernsOtherPackage(f)
		switch {
		case f.Severity == verdict.Error && same:
			brings = slices.Insert(brings, 0, f)
		case f.Severity == verdict.Error && d.Blame != Program && d.Blame != None && t.Brings(f.Rule, d.Cause) && !d.concernsOtherPackage(f):
			brings = append(brings, f)
		case f.Severity == verdict.Error:
			apart = append(apart, f)
		case same:
			alike = append(alike, f)
		}
	}
	if len(brings) == 0 {
		for _, f := range apart {
			d.Candidates = append(slices.Clone(d.Candidates), Candidate{f.Rule, blameOf(f.Rule, t), "cudacompat doctor"})
		}
		return alike, apart
	}
	d.blameMachine(brings[0], t)
	d.Steps = stepsIn(d.Do)
	return brings, apart
}

// Names reports whether the deciding line names the package of a subject, in a verdict's form: "torch 2.9.0 in /venv".
func (d *Diagnosis) Names(subject string) bool {
	name, _, _ := strings.Cut(subject, " ")
	return name != "" && len(d.Lines) > 0 && strings.Contains(strings.ToLower(d.Lines[0].Text), strings.ToLower(name))
}

// ofPackages lists the rules whose findings are about packages. The same fault in another package does not explain the
// log.
var ofPackages = []string{"extension-mismatch", "companion-mismatch", "not-importable"}

// concernsOtherPackage reports whether a finding is about other packages than the one in the log.
func (d *Diagnosis) concernsOtherPackage(f verdict.Finding) bool {
	if !slices.Contains(ofPackages, f.Rule) || len(d.Lines) == 0 {
		return false
	}
	name := readers.FindPackage(d.Lines[0].Text)
	if m := finding.NoModule.FindStringSubmatch(logtext.TrimLoggerPrefix(logtext.TrimCollectorPrefix(d.Lines[0].Text))); m != nil {
		name, _, _ = strings.Cut(m[1], ".")
	}
	if name == "" && d.Cause == "packages-do-not-fit" {
		name = d.project
	}
	plain := func(text string) string { return strings.ReplaceAll(strings.ToLower(text), "_", "-") }
	said := f.Subject + " " + f.Message
	for _, e := range f.Evidence {
		said += " " + e.Fact + " " + e.Value
	}
	return name != "" && !strings.Contains(plain(said), plain(name))
}

// blameOf returns the side that a rule's fault belongs to.
func blameOf(rule string, t *matrix.Tables) Blame {
	if c := t.CauseOf(rule); c != nil {
		return Blame(c.Blame)
	}
	return Environment
}

// blameMachine replaces the diagnosis by a fault of the machine. If the log shows the same fault, its own sentence
// stays.
func (d *Diagnosis) blameMachine(f verdict.Finding, t *matrix.Tables) {
	d.Candidates = []Candidate{}
	d.Confidence = Certain // the machine has it
	if steps := stepsFor(f); len(steps) > 0 {
		d.Do = steps
	}
	if d.Rule == f.Rule && (d.Blame == Environment || d.Blame == Hardware) {
		return
	}
	log := d.Because
	d.Blame, d.Cause, d.Because = blameOf(f.Rule, t), f.Rule, sentenceOf(f)
	if d.Rule != f.Rule {
		d.Why = "In the log: " + log
		if c := t.CauseOf(f.Rule); c != nil {
			d.Why = c.Why + " " + d.Why
		}
	}
	d.Rule = f.Rule
}

// sentenceOf returns a finding's message, or the rule's title if the message is too long for an answer.
func sentenceOf(f verdict.Finding) string {
	text := f.Message
	if rule, known := matrix.RuleNamed(f.Rule); len(text) > record.MaxSentence && known {
		text = rule.Title
	}
	return strings.TrimSuffix(text, ".") + "."
}

// stepsFor returns the steps of a finding: one pin for each package, and everything else to do.
func stepsFor(f verdict.Finding) []string {
	var all []string
	var packages []string
	for _, p := range f.Pins {
		if slices.Contains(packages, p.Package) {
			continue
		}
		packages = append(packages, p.Package)
		command := cmp.Or(p.Commands["pip"], p.Commands["uv"], p.Commands["apt"], p.Commands["dnf"])
		command = command[strings.LastIndexByte(command, '\n')+1:] // what stands above it says where it is from
		step := "install " + p.Package + " " + p.Version
		if command != "" {
			step = "run `" + command + "`: it installs " + p.Package + " " + p.Version
		}
		all = append(all, step)
	}
	for _, s := range f.Steps {
		text := s.Say
		if s.Run != "" {
			text = strings.TrimSuffix("run `"+s.Run+"`: "+s.Say, ": ")
		}
		if s.Or {
			text = "or " + text
		}
		all = append(all, text)
	}
	return all
}
