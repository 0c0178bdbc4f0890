package matrix

import (
	"slices"

	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/internal/links"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/rules"
	"cudacompat/matrix/verdict"
)

// chain returns the links that a build needs on one kind of GPU. An error of a rule breaks its link. A link is unseen
// if one of its rules lacks a fact that decides; otherwise it has the state that was observed. The chain of a CPU build
// has no GPU links.
func (j *judgement) chain(b *model.Build, g hardware.GPU) []verdict.Link {
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

// usesGPU reports whether a build needs the GPU links.
func usesGPU(b *model.Build) bool { return b.Device != "cpu" }

// link returns one link of the chain between a build and a kind of GPU, and whether it applies: a link of the machine,
// or one of the build's own, which is broken, unseen, or what was observed.
func (j *judgement) link(name verdict.LinkName, b *model.Build, g hardware.GPU) (verdict.Link, bool) {
	if slices.Contains(verdict.MachineLinks, name) {
		l, arises := j.machineLink(name, g)
		if name == verdict.LinkDevices && b.Kept != "" && l.State != verdict.LinkBroken {
			l = links.Withheld(verdict.LinkDevices, "visible-devices")
			l.GPU = g.Label
		}
		return l, arises
	}
	l := verdict.Link{Link: name, Because: j.rulesBreaking(name, b)}
	switch {
	case len(l.Because) > 0:
		l.State = verdict.LinkBroken
	default:
		if l.Because = j.rulesLacking(name, b); len(l.Because) == 0 {
			l = links.ObserveBuild(j.Machine, name, b, g)
			break
		}
		l.State, l.Lacks = verdict.Unseen, j.missingFact(l.Because[0], b.Subject)
		l.Value = l.Lacks.Missing
	}
	if name == verdict.LinkCode || name == verdict.LinkDriver {
		l.GPU = g.Label
	}
	return l, true
}

// machineLink returns one of the links that all builds on this machine share.
func (j *judgement) machineLink(name verdict.LinkName, g hardware.GPU) (verdict.Link, bool) {
	l := verdict.Link{Link: name, Because: j.rulesDisablingGPU(name, g)}
	arises := true
	if len(l.Because) > 0 {
		l.State = verdict.LinkBroken
		if seen, _ := links.Observe(j.Machine, name, g); seen.State == verdict.Held {
			l.Value, l.From = seen.Value, seen.From
		}
	} else if hidden, ok := j.hidden[name]; ok && g.Label != "" {
		l = hidden
	} else {
		l, arises = links.Observe(j.Machine, name, g)
	}
	// Without a GPU there is nothing to ask about its driver.
	if g.Label == "" && name != verdict.LinkGPU && l.State == verdict.Unseen && l.Value != verdict.Withheld {
		return l, false
	}
	l.GPU = g.Label
	return l, arises
}

// rulesDisablingGPU returns the machine rules on a link whose errors take this kind of GPU away from every build.
func (j *judgement) rulesDisablingGPU(name verdict.LinkName, g hardware.GPU) []string {
	var list []string
	for _, f := range j.faults {
		if f.link == name && (f.takes == nil || f.takes(g)) && !slices.Contains(list, f.rule) {
			list = append(list, f.rule)
		}
	}
	return list
}

// rulesBreaking returns the rules on a link whose errors keep this build from the GPU.
func (j *judgement) rulesBreaking(name verdict.LinkName, b *model.Build) []string {
	var list []string
	for _, f := range j.broken[b.Subject] {
		if f.link == name && !slices.Contains(list, f.rule) {
			list = append(list, f.rule)
		}
	}
	return list
}

// rulesLacking returns the rules on a link that lack a fact which decides whether the build runs.
func (j *judgement) rulesLacking(name verdict.LinkName, b *model.Build) []string {
	var list []string
	if j.provided && isImageLink(name) {
		return nil
	}
	for _, id := range j.undecided[b.Subject] {
		if rule, ok := rules.Named(id); ok && rule.Link == name {
			list = append(list, id)
		}
	}
	return list
}

// missingFact returns the fact that a rule lacks for a subject.
func (j *judgement) missingFact(rule, subject string) verdict.MissingFact {
	for _, u := range j.verdict.Unknown {
		if u.Rule == rule && u.Subject == subject && u.Target == j.Name {
			return u.MissingFact
		}
	}
	return verdict.MissingFact{}
}

// bestChain returns the best of a build's chains over the kinds of GPU that its process would use. If there is no GPU,
// it returns the chain for an absent one, whose first link is unseen.
func (j *judgement) bestChain(b *model.Build) []verdict.Link {
	var best []verdict.Link
	for _, g := range j.gpuKinds() {
		chain := j.chain(b, g)
		if best == nil || decisive(chain).State.Weight() < decisive(best).State.Weight() {
			best = chain
		}
	}
	return best
}

// gpuKinds returns the kinds of GPU to judge for, or a placeholder if there is none.
func (j *judgement) gpuKinds() []hardware.GPU {
	if len(j.Kinds) == 0 {
		return []hardware.GPU{{}}
	}
	return j.Kinds
}

// machineLinks returns the links of the machine for each kind of GPU.
func (j *judgement) machineLinks() []verdict.Link {
	list := []verdict.Link{}
	for _, g := range j.gpuKinds() {
		for _, name := range verdict.MachineLinks {
			if l, arises := j.machineLink(name, g); arises {
				list = append(list, l)
			}
		}
	}
	return list
}

// decisive returns the first of the chain's links with the worst state. If all links are held, it returns an empty link
// that is held.
func decisive(chain []verdict.Link) verdict.Link {
	worst := verdict.Link{State: verdict.Held}
	for _, l := range chain {
		if l.State.Weight() > worst.State.Weight() {
			worst = l
		}
	}
	return worst
}
