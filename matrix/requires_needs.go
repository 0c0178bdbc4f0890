package matrix

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/version"
	"cudacompat/requires"
)

// meeting is how a host stands to a need, or to all of them.
type meeting int8

const (
	unasked meeting = iota // the question does not arise
	met
	undecided // a fact is missing
	unmet
)

// inquiry asks every rule about an artefact on one kind of GPU, with one driver after another, and has Check's own chain
// judge what they say. Nothing but the driver differs, so a rule that did not read it is asked once.
type inquiry struct {
	questions []*question
	answered  map[asker]*question
	known     map[string]outcomes // by what the rules said that read the driver
}

// question is a rule that is asked about a build, or about the machine, where there is none.
type question struct {
	asker
	rule  *Rule
	moves bool      // it reads the driver
	meets []meeting // by driver; one for all where it does not move
	last  []*result // what was said of the driver that was asked about last
	said  []*result // of the driver nearest to one that will do, among those that will not
	which meeting   // of said
}

// hears keeps what is said of the next driver: of all drivers only how they stand, and of the last one why.
func (one *question) hears(results []*result) {
	worst := unasked
	for _, r := range results {
		worst = max(worst, r.meeting())
	}
	switch before := len(one.meets) - 1; {
	case worst > met && one.said == nil:
		one.said, one.which = results, worst
	case worst <= met && before >= 0 && one.meets[before] > met:
		one.said, one.which = one.last, one.meets[before]
	}
	one.meets, one.last = append(one.meets, worst), results
}

type asker struct {
	id    string
	build *build
}

// outcomes are what Check says of a driver: as things are, and where the image brings what the artefact leaves to it.
type outcomes struct{ now, provided meeting }

// on is the outcome on one driver, of which nothing is decided where ctx ends before it was asked.
func (q *inquiry) on(ctx context.Context, at *machine) outcomes {
	if q.questions == nil {
		q.begin(ctx, at)
	} else {
		for _, one := range q.questions {
			if ctx.Err() != nil {
				break
			}
			if one.moves {
				one.hears(at.ask(*one.rule, one.build))
			}
		}
	}
	// Where every rule says what it said on another driver, the answers are the same.
	if ctx.Err() != nil {
		return outcomes{undecided, undecided}
	}
	key := q.outline()
	o, ok := q.known[key]
	if !ok {
		o.now = q.outcome(ctx, at, false)
		if o.provided = o.now; o.now == undecided {
			o.provided = q.outcome(ctx, at, true)
		}
		q.known[key] = o
	}
	return o
}

// begin asks every rule on the first driver, and notes which of them read it.
func (q *inquiry) begin(ctx context.Context, at *machine) {
	q.answered, q.known = map[asker]*question{}, map[string]outcomes{}
	ask := func(rule *Rule, b *build) {
		*at.driverRead = false
		one := &question{asker: asker{rule.ID, b}, rule: rule}
		one.hears(at.ask(*rule, b))
		one.moves = *at.driverRead
		q.questions, q.answered[one.asker] = append(q.questions, one), one
	}
	for i := range rules {
		rule := &rules[i]
		if rule.onMachine != nil {
			ask(rule, nil)
		}
		if rule.onBuild != nil {
			for _, b := range at.builds {
				if ctx.Err() != nil {
					return
				}
				ask(rule, b)
			}
		}
	}
}

// outline is all that the answers rest on of what the rules that read the driver say of it.
func (q *inquiry) outline() string {
	var b strings.Builder
	for _, one := range q.questions {
		if !one.moves {
			continue
		}
		for _, r := range one.last {
			severity := Severity("")
			if r.finding != nil {
				severity = r.finding.Severity
			}
			fmt.Fprint(&b, r.subject, severity, r.missing != "", r.open, r.decides, r.judged, r.noted, r.implied, r.link, r.cpuOnly, r.without, len(r.builds), r.says, " ")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// outcome has the chain judge what the rules said last.
func (q *inquiry) outcome(ctx context.Context, at *machine, provided bool) meeting {
	v := emptyVerdict()
	j := newJudgement(at, &v)
	j.provided = provided
	j.asking = func(rule Rule, b *build) []*result { return q.answered[asker{rule.ID, b}].last }
	j.rules(ctx)
	switch v.outcome(j.answers(ctx)) {
	case Compatible:
		return met
	case Incompatible:
		return unmet
	}
	return undecided
}

// need is one thing that an artefact asks of a host, or of the image in which it runs.
type need struct {
	rule    Rule
	build   *build // nil: asked of the machine itself
	words   string
	missing string // the fact without which it cannot be judged
	row     string // the table's row that it rests on
	source  []string
	meets   []meeting // by driver
	mild    bool      // a part that is not served is done without
	image   bool      // the image must bring it; no host can
}

// needs are what the rules ask for: each thing that no driver changes by itself, and of what moves with the driver the
// drivers that will do.
func (q *inquiry) needs(drivers int) []need {
	var list []need
	for _, one := range q.questions {
		if one.moves {
			if n, ok := one.ofDrivers(); ok {
				list = append(list, n)
			}
			continue
		}
		for _, r := range one.last {
			mild := r.without && r.finding.Severity != Error
			if how := r.meeting(); mild || how > met || r.need != "" {
				n := one.need(r)
				n.mild, n.image = mild, ofImage(one.rule.Link)
				n.meets = slices.Repeat([]meeting{how}, drivers)
				list = append(list, n)
			}
		}
	}
	return list
}

// ofDrivers is the need of a rule that reads the driver, in the words of the driver that is nearest to one that will do;
// false where every driver will.
func (one *question) ofDrivers() (need, bool) {
	if one.said == nil {
		return need{}, false
	}
	i := slices.IndexFunc(one.said, func(r *result) bool { return r.meeting() == one.which })
	n := one.need(one.said[i])
	n.meets = one.meets
	return n, true
}

// need is what one result asks for.
func (one *question) need(r *result) need {
	n := need{rule: *one.rule, build: one.build, missing: r.missing, row: r.row}
	switch f := r.finding; {
	case r.missing != "":
		n.words = cmp.Or(r.need, r.missing)
	case f != nil:
		n.words, n.source = cmp.Or(r.need, f.Message), f.Source
		if one.moves {
			n.words = cmp.Or(r.need, f.Need, f.Message)
		}
	default:
		n.words, n.source = cmp.Or(r.need, one.rule.Title), r.source
	}
	return n
}

// published is the need as a reader takes it: label is the GPU that was asked about, and the need holds for every GPU
// that it is published for.
func (n need) published(cuts []version.Number, label string) requires.Need {
	words := func(s string) string { return strings.ReplaceAll(s, label, "the GPU") }
	list := requires.Need{Rule: n.rule.ID, Kind: requires.OfHost, Need: words(n.words), Missing: words(n.missing),
		Drivers: ranges(cuts, n.meets, met, unasked), Row: n.row, Source: orEmpty(n.source)}
	lack := Missing{Missing: list.Missing}
	partsOfMissing(&lack)
	list.Question = lack.Question
	if n.image {
		list.Kind = requires.OfImage
	}
	if n.build != nil {
		list.Subject, list.From = n.build.subject, cmp.Or(n.build.From, n.build.Path)
	}
	return list
}

// meeting is what one result of a rule says of a host.
func (r *result) meeting() meeting {
	switch {
	case r.implied, r.finding != nil && r.finding.Severity == Error && !r.noted:
		return unmet
	case r.missing != "" && (r.open || r.decides):
		return undecided
	case r.missing != "" || r.finding != nil && r.finding.Severity == Note:
		return unasked
	}
	return met
}

// ofImage reports whether what a link lacks is for the image to bring: an interpreter, packages and libraries.
func ofImage(link LinkName) bool { return link == LinkPython || link == LinkLibraries }

// on is the machine with another driver. A branch alone would stand for its newest release (Product.Unlisted); meant
// is the first number of it.
func (m *machine) on(v version.Number) *machine {
	if v.Parts() == 1 {
		v = version.Of(v.String() + ".0")
	}
	at := *m
	at.kmd = driver{version: v, from: "--driver", cuda: m.t.BranchCUDA(v), loaded: true}
	at.lift, at.worked = forward{}, &worked{}
	at.layCompat()
	return &at
}
