package logs

import (
	"cmp"
	"slices"
	"strings"

	"cudacompat/matrix"
	"cudacompat/matrix/verdict"
)

// Beside holds a diagnosis against the verdict on its machine. What is broken there and can bring the log's error about is
// the answer, with its steps: brings has it, the likeliest first. What is broken and cannot is told apart, and the log's
// blame stays. A fault that the log shows to be the program's own is not the machine's, whatever is broken there.
func (d *Diagnosis) Beside(v verdict.Verdict, t *matrix.Tables) (brings, apart []verdict.Finding) {
	var alike []verdict.Finding // of the log's own rule, and no error
	for _, f := range v.Findings {
		same := d.Rule != "" && f.Rule == d.Rule && !d.ofAnother(f)
		switch {
		case f.Severity == verdict.Error && same:
			brings = slices.Insert(brings, 0, f)
		case f.Severity == verdict.Error && d.Blame != Program && d.Blame != None && t.Brings(f.Rule, d.Cause) && !d.ofAnother(f):
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
	d.because(brings[0], t)
	d.Steps = stepsIn(d.Do)
	return brings, apart
}

// Names reports whether the deciding line names the package of a subject, as a verdict names it: "torch 2.9.0 in /venv".
func (d *Diagnosis) Names(subject string) bool {
	name, _, _ := strings.Cut(subject, " ")
	return name != "" && len(d.Lines) > 0 && strings.Contains(strings.ToLower(d.Lines[0].Text), strings.ToLower(name))
}

// ofPackages are the rules of which each finding is about packages: the same fault of another one is not the log's.
var ofPackages = []string{"extension-mismatch", "companion-mismatch", "not-importable"}

// ofAnother reports whether a finding is about other packages than the one that the log names.
func (d *Diagnosis) ofAnother(f verdict.Finding) bool {
	if !slices.Contains(ofPackages, f.Rule) || len(d.Lines) == 0 {
		return false
	}
	name := packageIn(d.Lines[0].Text)
	if m := noModule.FindStringSubmatch(message(bare(d.Lines[0].Text))); m != nil {
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

// blameOf returns the side on which a rule's fault lies.
func blameOf(rule string, t *matrix.Tables) Blame {
	if c := t.CauseOf(rule); c != nil {
		return Blame(c.Blame)
	}
	return Environment
}

// because makes a fault of the machine the answer. Where the log says the same, its own sentence stays.
func (d *Diagnosis) because(f verdict.Finding, t *matrix.Tables) {
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

// sentenceOf returns a finding's message, or its rule's title where that is longer than an answer's sentence may be.
func sentenceOf(f verdict.Finding) string {
	text := f.Message
	if rule, known := matrix.RuleNamed(f.Rule); len(text) > maxSentence && known {
		text = rule.Title
	}
	return strings.TrimSuffix(text, ".") + "."
}

// stepsFor returns the steps of a finding: what to install, one pin of each package, and what else to do.
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
