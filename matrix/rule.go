package matrix

import "slices"

// Rule is what can be said without looking at any machine. A rule's id is one word used everywhere: in JSON, as the
// key of a waiver, as the name of its page and of its cases. Ids are never used again.
type Rule struct {
	ID    string // "driver-too-old"
	Title string // a clause without a name of anything: "the driver is too old for the build's CUDA"
	// Link is the link of the chain on which it stands: an error of it breaks that link. A rule without one is advice: its
	// error decides the outcome, and never an answer.
	Link LinkName
	// Rests are the links without whose sight it cannot be asked: it is silent where one of them is broken. What compares
	// versions or files names none, so that two causes are both said.
	Rests  []LinkName
	SaidBy string // the rule whose error says its cause better: it is silent then
	// LeavesNoGPU reports whether its fault leaves a program no GPU to run on: where a kernel ran, it was not to blame.
	LeavesNoGPU bool
	Reads       []string // the tables' columns that it decides by

	// onMachine judges the machine, onBuild one build on it; a rule has one of them. No result means that the question
	// does not arise.
	onMachine func(*machine) []*result
	onBuild   func(*machine, *build) []*result
}

// SilentAfter reports whether another rule's error silences this one: by saying its cause better, or by breaking a link
// on which it rests.
func (r Rule) SilentAfter(id string) bool {
	other, ok := RuleNamed(id)
	return id == r.SaidBy || ok && slices.Contains(r.Rests, other.Link)
}

// ofFleet reports whether the rule is about many nodes: one alone is never asked (package fleet).
func (r Rule) ofFleet() bool { return r.onMachine == nil && r.onBuild == nil }

// result is what one rule says of one subject: a finding, a missing fact, or, with neither, that it holds.
type result struct {
	subject string         // what it is said of
	finding *Finding       // what is wrong
	missing string         // the fact without which nothing can be said
	need    string         // what the rule asks for; beside missing: all the same
	row     string         // the table's row that the need rests on
	source  []string       // of a need that is met: where it is published
	decides bool           // beside missing: the build's answer is unknown without it
	open    bool           // beside missing: the outcome is inconclusive without it
	judged  bool           // it holds, so that a machine was judged at all
	says    Answer         // beside a finding: the answer of a build with which nothing is wrong
	noted   bool           // in an environment that does not count
	implied bool           // broken by what has been said of another build
	link    LinkName       // the link that it breaks, where that is not the rule's
	builds  []*build       // beside a finding of the machine: the builds whose link it breaks; nil: it breaks the machine's own
	takes   func(gpu) bool // beside a finding of the machine: whether it takes this kind of GPU from programs; nil: every one
	rests   []LinkName     // where one of these links of the machine is broken, its error has said why
	stops   bool           // beside an error of its libraries: a framework is not imported
	without bool           // beside a finding that is no error: the build, a part that the rest does without, has no GPU
	cpuOnly bool           // an error after which the build goes on without the GPU: it is reported as a warning
}

// holds is a rule that was asked, compared, and has nothing to say: it is listed as passed.
func holds(subject string) []*result { return []*result{{subject: subject}} }

// compared is holds of a driver, a GPU and a build that were compared with each other: where nothing was, nothing was
// judged.
func compared(subject string) []*result { return []*result{{subject: subject, judged: true}} }

// unknown is a rule that lacks a fact, in words that can follow "not known:".
func unknown(subject, missing string) []*result {
	return []*result{{subject: subject, missing: missing}}
}

// undecidable is unknown of a fact without which nobody can say whether a build works.
func undecidable(subject, missing string) []*result {
	return []*result{{subject: subject, missing: missing, decides: true}}
}

// leftOpen is unknown of a fact without which nobody can say how it stands with the whole machine.
func leftOpen(subject, missing string) []*result {
	return []*result{{subject: subject, missing: missing, open: true}}
}

// found is one finding, of its own subject.
func found(f Finding) []*result { return []*result{{subject: f.Subject, finding: &f}} }
