// Package decide chooses, among the claims of all log lines, the one that answers, and says why it won.
//
// A row of data/signature or a form of grammar makes a claim. The rules are in one list and are tried in order; the
// first that can distinguish two claims decides. A decision says whose fault it is. Package advise adds what to do and
// never changes the decision.
package decide

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Blame is the side a fault lies on.
type Blame string

// The sides. Unknown is an answer: the log alone cannot show it. None is one, too: the log's alarming lines are
// harmless.
const (
	Environment Blame = "environment"
	Program     Blame = "program"
	Hardware    Blame = "hardware"
	Unknown     Blame = "unknown"
	None        Blame = "none"
)

// Blames lists the sides in the order for display.
var Blames = []Blame{Environment, Program, Hardware, Unknown, None}

// How much a claim decides. The heaviest of a log names the cause, the first of equals; so a failed assertion outranks
// the "device-side assert triggered" that follows it.
const (
	Fact        = 0 // no fault: something that other claims need to know
	Consequence = 1 // another rank or call failed first
	Warning     = 2 // the program went on after it
	Symptom     = 3 // several causes print it
	Fault       = 4 // names the failing part, which a cause may still explain
	Cause       = 5 // decides alone
)

// Claim is a cause that a line shows.
type Claim struct {
	Name   string // who makes it: "row torch-memory", "form library"
	Cause  string
	Blame  Blame
	Weight int
	Source int // the log that the line stands in
	Line   int
	Order  int // of two on one line, the lower comes first

	Root bool // the line names what failed, whatever its program says of it at its end
	Echo bool // a generic last line, which passes on what another line names

	Exact    bool // nothing that a warning tells brings it about
	General  bool // a row of the signature table that matches the same line decides instead
	Raised   bool // an exception that a program's own code raised
	Which    bool // it says which of several processes ended first
	Aborted  bool // that one aborted itself, as a rank does that lost another
	OfOne    bool // it only tells that one of several processes ended
	LosesGPU bool // it leaves no GPU to run on

	Clock int // how its time is written; 0: no time is known
	At    time.Time
}

// Decision is the claim that won, and why.
type Decision struct {
	Form  bool // the winner is one of the forms
	Log   int  // of a row: in whose list it stands
	Index int  // in its list; -1: nothing claims anything
	Along int  // in the same list, a claim that rests on it; -1: none
	Trace []string
}

// AMD is the cause of what AMD's stack prints.
const AMD = "amd-not-judged"

// contest is what the rules compare: the strongest row and the strongest form.
type contest struct{ row, form *Claim }

// rules are asked in this order. A rule that does not tell is followed by the next.
var rules = []struct {
	why  string
	asks func(contest) (form, tells bool)
}{
	{"AMD's stack repeats CUDA's words and is not judged", func(c contest) (bool, bool) {
		return true, c.form != nil && c.form.Cause == AMD
	}},
	{"no row knows a line of it", func(c contest) (bool, bool) { return true, c.row == nil }},
	{"no form reads a line of it", func(c contest) (bool, bool) { return false, c.form == nil }},
	{"a GPU that is lost is not found either", func(c contest) (bool, bool) {
		return true, c.form.Blame == Hardware && c.form.Weight == Cause && c.row.Blame == Environment && c.row.LosesGPU
	}},
	{"it says which process ended first", func(c contest) (bool, bool) {
		return true, c.form.Which && c.row.OfOne && !(c.form.Aborted && c.row.Cause == "rank-lost")
	}},
	{"the program went on after the row's line and ended by this one", func(c contest) (bool, bool) {
		return true, c.form.Weight >= Symptom && c.row.Weight == Warning && c.form.Line > c.row.Line &&
			(c.form.Raised && c.form.Blame == Program || c.form.Exact)
	}},
	{"the row cannot tell whose fault it is, and the form can", func(c contest) (bool, bool) {
		same := c.form.Source == c.row.Source && c.form.Line == c.row.Line
		return true, c.row.Blame == Unknown && c.row.Weight <= Symptom && c.form.Blame != Unknown && !(same && c.form.General)
	}},
	{"a row knows its line better than a form", func(contest) (bool, bool) { return false, true }},
}

// Decide chooses between the rows of several logs, a list a log, and the forms of all of them.
func Decide(rows [][]Claim, forms []Claim) Decision {
	d := Decision{Index: -1, Along: -1}
	rows, forms = d.dropEchoes(rows, forms)
	form, along := heaviest(forms)
	row, alongRow := -1, -1
	for i := range rows {
		j, with := heaviest(rows[i])
		if j < 0 {
			continue
		}
		if row < 0 || firstToFail(rows[i][j], rows[d.Log][row]) < 0 {
			if row >= 0 {
				d.say("%s failed before %s", rows[i][j], rows[d.Log][row])
			}
			d.Log, row, alongRow = i, j, with
		}
	}
	if row < 0 && form < 0 {
		return d
	}
	var c contest
	if row >= 0 {
		c.row = &rows[d.Log][row]
		d.losers(rows[d.Log], row)
	}
	if form >= 0 {
		c.form = &forms[form]
		d.losers(forms, form)
	}
	for _, r := range rules {
		byForm, tells := r.asks(c)
		if !tells {
			continue
		}
		if d.Form, d.Index, d.Along = byForm, row, alongRow; byForm {
			d.Index, d.Along = form, along
		}
		d.Trace = append([]string{d.winner(c) + ": " + r.why}, d.Trace...)
		return d
	}
	return d
}

// String names a claim with its weight and place.
func (c Claim) String() string {
	return fmt.Sprintf("%s (%s, %s, weight %d) at line %d", c.Name, c.Cause, c.Blame, c.Weight, c.Line)
}

func (d *Decision) say(format string, args ...any) {
	d.Trace = append(d.Trace, fmt.Sprintf(format, args...))
}

func (d *Decision) winner(c contest) string {
	if d.Form {
		return c.form.String()
	}
	return c.row.String()
}

// maxLosers is how many claims a trace names that were not chosen.
const maxLosers = 4

// losers adds the claims over which one of its list was chosen.
func (d *Decision) losers(all []Claim, chosen int) {
	named := 0
	for i := range all {
		if i != chosen && all[i].Weight > Fact && all[i].Name != "" && named < maxLosers {
			d.say("over %s", all[i])
			named++
		}
	}
}

// dropEchoes empties the claims of generic last lines if the line that they pass on is present: above, or, as NCCL
// prints it, just below. The lists keep their length.
func (d *Decision) dropEchoes(rows [][]Claim, forms []Claim) ([][]Claim, []Claim) {
	const below = 4 // lines
	rows, forms = slices.Clone(rows), slices.Clone(forms)
	var roots []Claim
	for _, list := range append(slices.Clone(rows), forms) {
		for _, c := range list {
			if c.Root {
				roots = append(roots, c)
			}
		}
	}
	without := func(list []Claim) []Claim {
		list = slices.Clone(list)
		for i, c := range list {
			at := slices.IndexFunc(roots, func(r Claim) bool { return r.Source == c.Source && r.Line <= c.Line+below })
			if c.Echo && at >= 0 {
				d.say("%s passes on %s", c, roots[at])
				list[i] = Claim{Weight: Fact, Blame: Unknown}
			}
		}
		return list
	}
	for i := range rows {
		rows[i] = without(rows[i])
	}
	return rows, without(forms)
}

// heaviest chooses within one list: the most decisive claim, the first of equals. An error with several possible causes
// yields to a warning that names one, which then rests on it. Emptied claims do not count.
func heaviest(all []Claim) (index, along int) {
	index, along = -1, -1
	better := func(a, b Claim) bool {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Order, b.Order)) < 0
	}
	for i, c := range all {
		if c.Name != "" && (index < 0 || better(c, all[index])) {
			index = i
		}
	}
	if index < 0 || all[index].Blame != Unknown || all[index].Weight > Symptom {
		return index, -1
	}
	named := -1
	for i, c := range all {
		if c.Name != "" && c.Weight == Warning && c.Blame != Unknown && (named < 0 || better(c, all[named])) {
			named = i
		}
	}
	if named >= 0 {
		return named, index
	}
	return index, -1
}

// firstToFail orders the strongest claims of several logs: a failure before its consequence, the earlier one if the
// clocks show it, otherwise the more decisive.
func firstToFail(a, b Claim) int {
	failedA, failedB := a.Weight >= Symptom, b.Weight >= Symptom
	switch {
	case failedA && !failedB:
		return -1
	case failedB && !failedA:
		return 1
	case a.before(b):
		return -1
	case b.before(a):
		return 1
	}
	return cmp.Compare(b.Weight, a.Weight)
}

// before reports whether a claim is known to be earlier than another: their times were written alike.
func (c Claim) before(other Claim) bool {
	return c.Clock != 0 && c.Clock == other.Clock && c.At.Before(other.At)
}
