package matrix

import (
	"slices"

	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/rules"
	"cudacompat/matrix/verdict"
)

// chain is every link on which a build runs on one kind of GPU. A link is broken by the errors of the rules that stand on
// it, unseen where one of them lacks a fact that decides, and else what was seen of it. A build for the CPU has no links
// of the machine, and of its own those alone that need no GPU, unless a rule broke another.
func (j *judgement) chain(b *model.Build, g model.GPU) []verdict.Link {
	var chain []verdict.Link
	for _, name := range slices.Concat(verdict.MachineLinks, verdict.BuildLinks) {
		l, arises := j.link(name, b, g)
		own := slices.Contains(verdict.LinksWithoutGPU, name) || slices.Contains(verdict.BuildLinks, name) && l.State == verdict.LinkBroken
		if arises && (usesGPU(b) || own) {
			chain = append(chain, l)
		}
	}
	return chain
}

// usesGPU reports whether a build needs the links of the GPU.
func usesGPU(b *model.Build) bool { return b.Device != "cpu" }

func (j *judgement) link(name verdict.LinkName, b *model.Build, g model.GPU) (verdict.Link, bool) {
	if slices.Contains(verdict.MachineLinks, name) {
		l, arises := j.machineLink(name, g)
		if name == verdict.LinkDevices && b.Kept != "" && l.State != verdict.LinkBroken {
			l = unshown(verdict.LinkDevices, "visible-devices")
			l.GPU = g.Label
		}
		return l, arises
	}
	l := verdict.Link{Link: name, Because: j.breaking(name, b)}
	switch {
	case len(l.Because) > 0:
		l.State = verdict.LinkBroken
	default:
		if l.Because = j.lacking(name, b); len(l.Because) == 0 {
			l = sightOfBuild(j.Machine, name, b, g)
			break
		}
		l.State, l.Lacks = verdict.Unseen, j.missingOf(l.Because[0], b.Subject)
		l.Value = l.Lacks.Missing
	}
	if name == verdict.LinkCode || name == verdict.LinkDriver {
		l.GPU = g.Label
	}
	return l, true
}

// machineLink is a link that every build on this machine shares.
func (j *judgement) machineLink(name verdict.LinkName, g model.GPU) (verdict.Link, bool) {
	l := verdict.Link{Link: name, Because: j.taking(name, g)}
	arises := true
	if len(l.Because) > 0 {
		l.State = verdict.LinkBroken
		if seen, _ := sight(j.Machine, name, g); seen.State == verdict.Held {
			l.Value, l.From = seen.Value, seen.From
		}
	} else if hidden, ok := j.hidden[name]; ok && g.Label != "" {
		l = hidden
	} else {
		l, arises = sight(j.Machine, name, g)
	}
	// Where no GPU is in sight, that is all there is to say: what a driver for none would be is no question.
	if g.Label == "" && name != verdict.LinkGPU && l.State == verdict.Unseen && l.Value != verdict.Withheld {
		return l, false
	}
	l.GPU = g.Label
	return l, arises
}

// taking are the rules about the machine on a link whose error takes this kind of GPU from every build.
func (j *judgement) taking(name verdict.LinkName, g model.GPU) []string {
	var list []string
	for _, f := range j.faults {
		if f.link == name && (f.takes == nil || f.takes(g)) && !slices.Contains(list, f.rule) {
			list = append(list, f.rule)
		}
	}
	return list
}

// breaking are the rules on a link whose error keeps this build from the GPU.
func (j *judgement) breaking(name verdict.LinkName, b *model.Build) []string {
	var list []string
	for _, f := range j.broken[b.Subject] {
		if f.link == name && !slices.Contains(list, f.rule) {
			list = append(list, f.rule)
		}
	}
	return list
}

// lacking are the rules on a link that lack a fact which decides whether the build runs.
func (j *judgement) lacking(name verdict.LinkName, b *model.Build) []string {
	var list []string
	if j.provided && ofImage(name) {
		return nil
	}
	for _, id := range j.undecided[b.Subject] {
		if rule, ok := rules.Named(id); ok && rule.Link == name {
			list = append(list, id)
		}
	}
	return list
}

// missingOf is the fact that a rule lacks of a subject.
func (j *judgement) missingOf(rule, subject string) verdict.MissingFact {
	for _, u := range j.verdict.Unknown {
		if u.Rule == rule && u.Subject == subject && u.Target == j.Name {
			return u.MissingFact
		}
	}
	return verdict.MissingFact{}
}

// bestChain is the best of a build's chains over the kinds of GPU that its process would use; where there is none, the
// chain without one, whose first link is unseen.
func (j *judgement) bestChain(b *model.Build) []verdict.Link {
	var best []verdict.Link
	for _, g := range j.eachKind() {
		chain := j.chain(b, g)
		if best == nil || decisive(chain).State.Weight() < decisive(best).State.Weight() {
			best = chain
		}
	}
	return best
}

// eachKind are the kinds of GPU to judge for, or one that is not there.
func (j *judgement) eachKind() []model.GPU {
	if len(j.Kinds) == 0 {
		return []model.GPU{{}}
	}
	return j.Kinds
}

// machineLinks are the links of the machine, once for each kind of GPU.
func (j *judgement) machineLinks() []verdict.Link {
	list := []verdict.Link{}
	for _, g := range j.eachKind() {
		for _, name := range verdict.MachineLinks {
			if l, arises := j.machineLink(name, g); arises {
				list = append(list, l)
			}
		}
	}
	return list
}

// decisive is the worst state of a chain and the first link that has it.
func decisive(chain []verdict.Link) verdict.Link {
	worst := verdict.Link{State: verdict.Held}
	for _, l := range chain {
		if l.State.Weight() > worst.State.Weight() {
			worst = l
		}
	}
	return worst
}
