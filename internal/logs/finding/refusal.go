package finding

import (
	"sync"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/record"
)

// caller says whose code made the last call in a traceback outside Python's standard library.
type caller string

const (
	anyone        caller = ""
	ownCaller     caller = "the program's own file"
	packageCaller caller = "an installed distribution"
	clonedCaller  caller = "a clone of a project that is not the user's"
	visible       caller = "whoever's call is shown"
	unseen        caller = "no call is shown"
	ending        caller = "no call is shown, and the log ends with it"
)

// refusal is the meaning of an exception by its class, its words and its caller: a line of data/diagnosis.
type refusal struct {
	class  *lazyregexp.Regexp
	said   *lazyregexp.Regexp
	by     caller
	answer string // empty: the log does not say whose fault it is
}

// callers maps the words of data/diagnosis to callers.
var callers = map[string]caller{"anyone": anyone, "own": ownCaller, "theirs": packageCaller, "cloned": clonedCaller, "visible": visible,
	"unseen": unseen, "ending": ending}

// refusals are tried in order; the first that fits wins. A distribution that calls another one wrongly, or uses a name
// that the other lacks, was made for another release of it. A mistake in a program's own file is the program's. If only
// a package fails, its own fault, its neighbour's and its input look alike, and nothing is said.
var refusals = sync.OnceValue(func() []refusal {
	var all []refusal
	for _, r := range Book().Refusals {
		f := refusal{lazyregexp.New(r.Class), lazyregexp.New(r.Said), callers[r.By], r.Answer}
		if f.answer == "nobody" {
			f.answer = ""
		}
		all = append(all, f)
	}
	return all
})

// wrongCall matches Python's errors for a call with arguments that the function does not have.
const wrongCall = `(?:got an unexpected keyword argument|missing \d+ required (?:positional|keyword-only) argument|` +
	`takes (?:from )?\d+ .*positional arguments? but \d+ |got multiple values for (?:keyword )?argument)`

// findCaller returns whose call raised the exception.
func findCaller(r *record.Record) caller {
	switch {
	case r.Frames == nil && r.Final && !r.Notice:
		return ending
	case r.Frames == nil:
		return unseen
	case r.FindDeepestPackage() == "":
		return ownCaller
	}
	return packageCaller
}

// findRefusal returns the first entry of the table that fits an exception.
func findRefusal(r *record.Record) *refusal {
	if r.Edited {
		return &refusal{answer: "program"}
	}
	by, text := findCaller(r), r.Slot("message")
	all := refusals()
	for i := range all {
		f := &all[i]
		refuses := f.by == anyone || f.by == by || f.by == visible && r.Frames != nil || f.by == clonedCaller && r.IsFromClone()
		if refuses && f.class.MatchString(r.Slot("class")) && f.said.MatchString(text) {
			return f
		}
	}
	return nil
}
