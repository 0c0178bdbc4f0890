package matrix

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"cudacompat/internal/version"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/rules"
	"cudacompat/matrix/internal/rules/rule"
	"cudacompat/matrix/requires"
	"cudacompat/matrix/verdict"
)

// meeting says whether a host meets a need, or all of them.
type meeting int8

const (
	notAsked meeting = iota // the question does not arise
	isMet
	isUndecided // a fact is missing
	unmet
)

// inquiry calls every rule about an artefact on one kind of GPU, with one driver after another, and lets Check's own
// chain judge the results. Only the driver changes, so a rule that did not read it is called once.
type inquiry struct {
	questions []*question
	answered  map[asker]*question
	known     map[string]outcomes // by what the rules said that read the driver
}

// question is one rule to call about a build or, if there is none, about the machine.
type question struct {
	asker
	rule  *Rule
	moves bool           // it reads the driver
	meets []meeting      // by driver; one for all where it does not move
	last  []*rule.Result // what was said of the driver that was asked about last
	said  []*rule.Result // of the driver nearest to one that will do, among those that will not
	which meeting        // of said
}

// hear stores a result for the next driver: for all drivers whether they meet the need, and for the last one why.
func (one *question) hear(results []*rule.Result) {
	worst := notAsked
	for _, r := range results {
		worst = max(worst, meetingOf(r))
	}
	switch before := len(one.meets) - 1; {
	case worst > isMet && one.said == nil:
		one.said, one.which = results, worst
	case worst <= isMet && before >= 0 && one.meets[before] > isMet:
		one.said, one.which = one.last, one.meets[before]
	}
	one.meets, one.last = append(one.meets, worst), results
}

// asker calls a rule.
type asker struct {
	id    string
	build *model.Build
}

// outcomes are Check's outcomes on a driver: as things are, and if the image brings what the artefact leaves to it.
type outcomes struct{ now, provided meeting }

// outcomeOn returns the outcomes on one driver. They are undecided if ctx ends before the rules were called.
func (q *inquiry) outcomeOn(ctx context.Context, at *model.Machine) outcomes {
	if q.questions == nil {
		q.begin(ctx, at)
	} else {
		for _, one := range q.questions {
			if ctx.Err() != nil {
				break
			}
			if one.moves {
				one.hear(rule.Ask(at, *one.rule, one.build))
			}
		}
	}
	// Where every rule says what it said on another driver, the answers are the same.
	if ctx.Err() != nil {
		return outcomes{isUndecided, isUndecided}
	}
	key := q.outline()
	o, ok := q.known[key]
	if !ok {
		o.now = q.outcome(ctx, at, false)
		if o.provided = o.now; o.now == isUndecided {
			o.provided = q.outcome(ctx, at, true)
		}
		q.known[key] = o
	}
	return o
}

// begin calls every rule on the first driver, and notes which rules read it.
func (q *inquiry) begin(ctx context.Context, at *model.Machine) {
	q.answered, q.known = map[asker]*question{}, map[string]outcomes{}
	ask := func(asked *Rule, b *model.Build) {
		*at.DriverRead = false
		one := &question{asker: asker{asked.ID, b}, rule: asked}
		one.hear(rule.Ask(at, *asked, b))
		one.moves = *at.DriverRead
		q.questions, q.answered[one.asker] = append(q.questions, one), one
	}
	for i := range rules.All {
		rule := &rules.All[i]
		if rule.OnlyRemarks() {
			continue
		}
		if rule.OnMachine != nil {
			ask(rule, nil)
		}
		if rule.OnBuild != nil {
			for _, b := range at.Builds {
				if ctx.Err() != nil {
					return
				}
				ask(rule, b)
			}
		}
	}
}

// outline returns everything in the results of driver-dependent rules that answers depend on. Drivers with equal
// outlines have equal outcomes.
func (q *inquiry) outline() string {
	var b strings.Builder
	for _, one := range q.questions {
		if !one.moves {
			continue
		}
		for _, r := range one.last {
			if b.WriteString(r.Subject); r.Finding != nil {
				b.WriteString(string(r.Finding.Severity))
			}
			for _, is := range []bool{r.Missing.IsMissing(), r.Open, r.Decides, r.Judged, r.Noted, r.Implied, r.CPUOnly, r.Without} {
				b.WriteString(strconv.FormatBool(is))
			}
			b.WriteString(string(r.Link))
			b.WriteString(strconv.Itoa(len(r.Builds)))
			b.WriteString(string(r.Answer))
			b.WriteByte(' ')
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// outcome lets the chain judge the rules' last results.
func (q *inquiry) outcome(ctx context.Context, at *model.Machine, provided bool) meeting {
	v := emptyVerdict()
	j := newJudgement(at, &v)
	j.provided = provided
	j.askRule = func(rule Rule, b *model.Build) []*rule.Result {
		if one, ok := q.answered[asker{rule.ID, b}]; ok {
			return one.last
		}
		return nil
	}
	j.runRules(ctx)
	switch outcome(&v, j.answers(ctx)) {
	case verdict.Compatible:
		return isMet
	case verdict.Incompatible:
		return unmet
	}
	return isUndecided
}

// need is one thing that an artefact needs of a host or of its image.
type need struct {
	rule    Rule
	build   *model.Build // nil: asked of the machine itself
	words   string
	thing   bool                // words name a thing, and are no sentence
	missing verdict.MissingFact // the fact without which it cannot be judged
	row     string              // the table's row that it rests on
	source  []string
	meets   []meeting // by driver
	mild    bool      // a part that is not served is done without
	image   bool      // the image must bring it; no host can
}

// needs returns what the rules ask for: needs that no driver changes, and driver-dependent needs with the drivers that
// meet them.
func (q *inquiry) needs(drivers int) []need {
	var list []need
	for _, one := range q.questions {
		if one.moves {
			if n, ok := one.driverNeed(); ok {
				list = append(list, n)
			}
			continue
		}
		for _, r := range one.last {
			mild := r.Without && r.Finding.Severity != verdict.Error
			if how := meetingOf(r); mild || how > isMet || r.Need != "" {
				n := one.newNeed(r)
				n.mild, n.image = mild, isImageLink(one.rule.Link)
				n.meets = slices.Repeat([]meeting{how}, drivers)
				list = append(list, n)
			}
		}
	}
	return list
}

// driverNeed returns the need of a driver-dependent rule, in the words for the driver closest to one that meets it. It
// returns false if every driver meets it.
func (one *question) driverNeed() (need, bool) {
	if one.said == nil {
		return need{}, false
	}
	i := slices.IndexFunc(one.said, func(r *rule.Result) bool { return meetingOf(r) == one.which })
	n := one.newNeed(one.said[i])
	n.meets = one.meets
	return n, true
}

// newNeed returns what one result asks for.
func (one *question) newNeed(r *rule.Result) need {
	n := need{rule: *one.rule, build: one.build, missing: r.Missing, row: r.Row}
	switch f := r.Finding; {
	case r.Missing.IsMissing():
		n.words = cmp.Or(r.Need, r.Missing.Missing)
	case f != nil:
		thing := r.Need
		if one.moves {
			thing = cmp.Or(r.Need, f.Need)
		}
		n.words, n.thing, n.source = cmp.Or(thing, f.Message), thing != "", f.Source
	default:
		n.words, n.thing, n.source = cmp.Or(r.Need, one.rule.Title), r.Need != "", r.Source
	}
	return n
}

// publicNeed returns the need in its published form. label is the GPU that the rules were asked about; the need applies
// to every GPU of its entry.
func (n need) publicNeed(cuts []version.Number, label string) requires.Need {
	words := func(s string) string { return strings.ReplaceAll(s, label, "the GPU") }
	need := requires.Need{Rule: n.rule.ID, Kind: requires.OfHost, Need: words(n.words), Missing: words(n.missing.Missing),
		Drivers: ranges(cuts, n.meets, isMet, notAsked), Row: n.row, Source: verdict.OrEmpty(n.source), Question: n.missing.Question, Thing: n.thing}
	if n.image {
		need.Kind = requires.OfImage
	}
	if n.build != nil {
		need.Subject, need.From = n.build.Subject, cmp.Or(n.build.From, n.build.Path)
	}
	return need
}

// meetingOf says whether a host meets the need of one result.
func meetingOf(r *rule.Result) meeting {
	switch {
	case r.Implied, r.Finding != nil && r.Finding.Severity == verdict.Error && !r.Noted:
		return unmet
	case r.Missing.IsMissing() && (r.Open || r.Decides):
		return isUndecided
	case r.Missing.IsMissing() || r.Finding != nil && r.Finding.Severity == verdict.Note:
		return notAsked
	}
	return isMet
}

// isImageLink reports whether the image has to bring what a link lacks: an interpreter, packages and libraries.
func isImageLink(link verdict.LinkName) bool {
	return link == verdict.LinkPython || link == verdict.LinkLibraries
}
