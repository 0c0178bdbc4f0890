package logs

import (
	"sync"

	"cudacompat/internal/lazyregexp"
)

// caller is whose code made the last call of a traceback that is not Python's own.
type caller string

const (
	anyone       caller = ""
	ownCaller    caller = "the program's own file"
	theirs       caller = "an installed distribution"
	clonedCaller caller = "a clone of a project that is not the user's"
	visible      caller = "whoever's call is shown"
	unseen       caller = "no call is shown"
	ending       caller = "no call is shown, and the log ends with it"
)

// refusal is what an exception means by its class, its words and whose call raised it: a line of data/diagnosis.
type refusal struct {
	class  *lazyregexp.Regexp
	said   *lazyregexp.Regexp
	by     caller
	answer string // empty: the log does not say whose fault it is
}

// callers are the words of data/diagnosis for whose call raised an exception.
var callers = map[string]caller{"anyone": anyone, "own": ownCaller, "theirs": theirs, "cloned": clonedCaller, "visible": visible,
	"unseen": unseen, "ending": ending}

// refusals are looked through in their order; the first that fits has it. One distribution that calls another wrongly, or
// asks for a name that it has not, was released beside another one than is installed; what a program's own file does
// wrong is the program's. Where only a package is seen to fail, its own fault, its neighbour's and what it was given
// look alike, and nothing is said.
var refusals = sync.OnceValue(func() []refusal {
	var all []refusal
	for _, r := range diagnoses().Refusals {
		f := refusal{lazyregexp.New(r.Class), lazyregexp.New(r.Said), callers[r.By], r.Answer}
		if f.answer == "nobody" {
			f.answer = ""
		}
		all = append(all, f)
	}
	return all
})

// wrongCall are the words in which Python refuses a call whose arguments the function does not have.
const wrongCall = `(?:got an unexpected keyword argument|missing \d+ required (?:positional|keyword-only) argument|` +
	`takes (?:from )?\d+ .*positional arguments? but \d+ |got multiple values for (?:keyword )?argument)`

// caller returns whose call raised the exception.
func (r *record) caller() caller {
	switch {
	case r.frames == nil && r.final && !r.notice:
		return ending
	case r.frames == nil:
		return unseen
	case r.deepest() == "":
		return ownCaller
	}
	return theirs
}

// refusal returns the first of the table that fits an exception.
func (r *record) refusal() *refusal {
	if r.edited {
		return &refusal{answer: "program"}
	}
	by, text := r.caller(), r.slot("message")
	all := refusals()
	for i := range all {
		f := &all[i]
		refuses := f.by == anyone || f.by == by || f.by == visible && r.frames != nil || f.by == clonedCaller && r.isCloned()
		if refuses && f.class.MatchString(r.slot("class")) && f.said.MatchString(text) {
			return f
		}
	}
	return nil
}
