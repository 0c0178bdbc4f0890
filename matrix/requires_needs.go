package matrix

import (
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
)

const (
	unasked meeting = iota // the question does not arise
	met
	undecided // a fact is missing
	unmet
)

// needsNothing is for what another rule's needs say already.
func needsNothing(*machine, *build) []need { return nil }

// needsDriven: the driver knows the GPU, and still does.
func needsDriven(m *machine, _ *build) []need {
	if m.windowsNumbers() || m.jetson() {
		return nil
	}
	g := m.gpus[0]
	n := need{words: "a driver that supports the GPU", row: "gpu.csv", compares: g.chip != nil,
		meets: func(at *machine) meeting {
			if !at.drives(at.driver.version) {
				return unmet
			}
			return met
		}}
	if g.chip != nil {
		n.row, n.source = g.chip.Chip+" in gpu.csv", g.chip.Source
		for _, p := range proven(m.productsOf(g)) {
			n.row, n.source = n.row+", "+p.PCIID+" in product.csv", append(n.source[:len(n.source):len(n.source)], p.Source...)
		}
	}
	return []need{n}
}

// needsFloor: the driver reaches the build's CUDA.
func needsFloor(m *machine, b *build) []need {
	r := m.reach(b)
	if r == nil {
		return nil
	}
	n := need{words: r.need, source: r.source, compares: true,
		meets: func(at *machine) meeting { return at.reach(b).meeting() }}
	switch {
	case r.missing != "":
		n.words = r.missing
	case m.t.Family(r.cuda) != nil:
		n.row = fmt.Sprintf("CUDA %d in minor_compat.csv", r.cuda.Major())
	default:
		n.row = "CUDA " + r.cuda.Short() + " in cuda.csv"
	}
	return []need{n}
}

func (r *reach) meeting() meeting {
	switch {
	case r == nil:
		return unasked
	case r.missing != "":
		return undecided
	case r.state == floorBelow:
		return unmet
	}
	return met
}

// needsPTX: the driver's compiler knows the PTX that is all the build has for the GPU.
func needsPTX(m *machine, b *build) []need {
	if _, only, _ := m.uncompiled(b); b.accelerator != "cuda" || !only {
		return nil
	}
	words := "a driver that compiles its PTX"
	if one, _ := m.ptxFor(b, m.gpus[0]); one != nil && one.isa.Known() {
		words = fmt.Sprintf("a driver that supports CUDA %s: all it has for the GPU is PTX %s",
			m.t.CUDAOfPTX(one.isa).Short(), one.isa)
	}
	meets := func(at *machine) meeting {
		if hit, _, _ := at.uncompiled(b); len(hit.gpus) > 0 && hit.severity(at, b) == Error {
			return unmet
		}
		return met
	}
	return []need{{words: words, row: "cuda.csv, driver_branch.csv", source: []string{ptxSource}, meets: meets}}
}

// needsNoZstd: the driver reads the compression of the build's code.
func needsNoZstd(m *machine, b *build) []need {
	if len(m.loadingZstd(b)) < len(m.gpus) {
		return nil
	}
	meets := func(at *machine) meeting {
		if at.driver.cuda.Known() && at.driver.cuda.LessShort(zstdCUDA) {
			return unmet
		}
		return met
	}
	return []need{{words: "driver >= 550.54.14, since its code is compressed with zstd",
		row: strings.Join(b.Zstd, " ") + " in the build", meets: meets}}
}

// needsCodeFor: the build has code for the GPU.
func needsCodeFor(m *machine, b *build) []need {
	switch {
	case b.foreign != "":
		return codeNeeds(m.foreignCode(b), b.codeFrom())
	case !b.comparesCode(), b.kernelless():
		return nil
	case b.base():
		return codeNeeds(m.baseCode(b), "gpu.csv")
	}
	without, _, missing := m.codeless(b)
	if b.named != nil && b.named.openTorch() {
		without, missing = nil, openTorchMissing
	}
	n := need{words: "machine code or PTX for the GPU", row: b.codeFrom(), source: b.source(), mild: b.optional(),
		compares: true}
	result := met
	switch {
	case missing != "" && len(without) < len(m.gpus):
		result, n.words = undecided, missing
	case len(without) > 0:
		result = unmet
	}
	n.meets = func(*machine) meeting { return result }
	return []need{n}
}

// codeNeeds are the results of what has no code that can be compared with the GPU: a build for another architecture, an
// image of CUDA itself, of which more will run than is known.
func codeNeeds(results []*result, row string) []need {
	if len(results) == 0 {
		return nil
	}
	n := need{words: results[0].missing, row: row}
	decided := undecided
	if f := results[0].finding; f != nil {
		n.words, n.source, decided = f.Message, f.Source, unmet
	}
	n.meets = func(*machine) meeting { return decided }
	return []need{n}
}

// codeFrom is where the machine code of a build is told.
func (b *build) codeFrom() string {
	switch {
	case len(b.SASS)+len(b.PTX) > 0:
		return "the build itself"
	case len(b.rows) > 0:
		r := b.rows[0]
		return strings.TrimSpace(fmt.Sprintf("%s %s %s in %s.csv", r.Release, r.Variant, r.Platform, r.framework))
	}
	return "gpu.csv"
}

func always(*machine) bool { return true }

// advisedOfDrivers reports whether an advisory is about certain drivers.
func (m *machine) advisedOfDrivers() bool {
	return slices.ContainsFunc(tables.Rows[tables.Advisory](m.t), func(a tables.Advisory) bool {
		return len(a.When.Mentions("driver")) > 0
	})
}

// asked turns a rule into needs by asking it: with one driver, the newest, or again with each that is in question.
func (m *machine) asked(rule Rule, b *build) []need {
	judge := func(at *machine) []*result {
		if b != nil {
			return rule.onBuild(at, b)
		}
		return rule.onMachine(at)
	}
	var list []need
	for _, r := range judge(m) {
		if r.matters(rule) || b != nil && r.without(m, rule, b) {
			list = append(list, m.fixed(rule, b, r))
		}
	}
	if rule.byDriver == nil || !rule.byDriver(m) {
		return list
	}
	words := rule.Title
	if len(list) > 0 {
		words = list[0].words
	}
	return []need{{words: words, meets: func(at *machine) meeting { return worst(judge(at), rule) }}}
}

// matters reports whether a result can decide, or shows that something was compared.
func (r *result) matters(rule Rule) bool {
	grave := r.finding != nil && r.finding.Severity != Note && !r.noted
	return r.implied || grave || rule.compares || rule.leavesOpen && r.missing != ""
}

// without reports whether a part of the artefact is done without, for what the rule found.
func (r *result) without(m *machine, rule Rule, b *build) bool {
	return r.finding != nil && r.finding.Severity != Error && rule.breaks != nil && rule.breaks(m, b)
}

// fixed is a need that no driver changes.
func (m *machine) fixed(rule Rule, b *build, r *result) need {
	n := need{words: wordsOf(rule, r), compares: rule.compares || r.finding != nil && r.finding.Severity != Note}
	if r.finding != nil {
		n.source = r.finding.Source
	}
	result := r.meeting(rule)
	if b != nil && r.without(m, rule, b) {
		result, n.mild = unmet, true
	}
	n.meets = func(*machine) meeting { return result }
	return n
}

// wordsOf is what a rule's result asks for.
func wordsOf(rule Rule, r *result) string {
	switch {
	case r.finding != nil:
		return r.finding.Message
	case r.missing != "":
		return r.missing
	}
	return rule.Title
}

// meeting is what one result of a rule says of a host.
func (r *result) meeting(rule Rule) meeting {
	switch {
	case r.implied, r.finding != nil && r.finding.Severity == Error && !r.noted:
		return unmet
	case r.missing != "" && (rule.decides || rule.leavesOpen):
		return undecided
	case r.missing != "" || r.finding != nil && r.finding.Severity == Note:
		return unasked
	}
	return met
}

// worst is what decides of several results.
func worst(results []*result, rule Rule) meeting {
	all := unasked
	for _, r := range results {
		all = max(all, r.meeting(rule))
	}
	return all
}

// on is the machine with another driver. A branch alone would stand for its newest release (Product.Unlisted); meant
// is the first number of it.
func (m *machine) on(v version.Number) *machine {
	if v.Parts() == 1 {
		v = version.Of(v.String() + ".0")
	}
	at := *m
	at.driver = driver{version: v, from: "--driver", cuda: m.t.BranchCUDA(v), loaded: true}
	at.forward, at.worked = forward{}, &worked{}
	at.layCompat()
	return &at
}
