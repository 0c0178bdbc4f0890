package rules

import (
	"slices"

	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/verdict"
)

// Rule is what can be said without looking at any machine. A rule's id is one word used everywhere: in JSON, as the
// key of a waiver, as the name of its page and of its cases. Ids are never used again.
type Rule struct {
	ID    string // "driver-too-old"
	Title string // a clause without a name of anything: "the driver is too old for the build's CUDA"
	// Link is the link of the chain on which it stands: an error of it breaks that link. A rule without one is advice: its
	// error decides the outcome, and never an answer.
	Link verdict.LinkName
	// Rests are the links without whose sight it cannot be asked: it is silent where one of them is broken. What compares
	// versions or files names none, so that two causes are both said.
	Rests  []verdict.LinkName
	SaidBy string // the rule whose error says its cause better: it is silent then
	// LeavesNoGPU reports whether its fault leaves a program no GPU to run on: where a kernel ran, it was not to blame.
	LeavesNoGPU bool
	Reads       []string // the tables' columns that it decides by
	// Absence names the probes on whose "not there" its errors and warnings rest: while one of them could not see a place,
	// what the rule misses may be there, and its link is unseen.
	Absence []string

	// OnMachine judges the machine, OnBuild one build on it; a rule has one of them. No result means that the question
	// does not arise.
	OnMachine func(*model.Machine) []*Result
	OnBuild   func(*model.Machine, *model.Build) []*Result
}

// SilentAfter reports whether another rule's error silences this one: by saying its cause better, or by breaking a link
// on which it rests.
func (r Rule) SilentAfter(id string) bool {
	other, ok := Named(id)
	return id == r.SaidBy || ok && slices.Contains(r.Rests, other.Link)
}

// OnlyRemarks reports whether the rule's results change no answer and no outcome. What a machine must have can be found
// without it.
func (r Rule) OnlyRemarks() bool { return r.ID == "driver-eol" || r.ID == "matrix-outdated" }

// OfFleet reports whether the rule is about many nodes: one alone is never asked (package fleet).
func (r Rule) OfFleet() bool { return r.OnMachine == nil && r.OnBuild == nil }

// Result is what one rule says of one subject: a finding, a missing fact, or, with neither, that it holds.
type Result struct {
	Subject    string               // what it is said of
	Finding    *verdict.Finding     // what is wrong
	Missing    verdict.MissingFact  // the fact without which nothing can be said
	Need       string               // what the rule asks for; beside missing: all the same
	Row        string               // the table's row that the need rests on
	Source     []string             // of a need that is met: where it is published
	Decides    bool                 // beside missing: the build's answer is unknown without it
	Open       bool                 // beside missing: the outcome is inconclusive without it
	Unseen     bool                 // beside missing: the rule's link is unseen without it
	Proven     bool                 // beside a finding: it does not rest on anything that was not found
	Judged     bool                 // it holds, so that a machine was judged at all
	Answer     verdict.Answer       // beside a finding: the answer of a build with which nothing is wrong
	Noted      bool                 // in an environment that does not count
	Implied    bool                 // broken by what has been said of another build
	Link       verdict.LinkName     // the link that it breaks, where that is not the rule's
	Builds     []*model.Build       // beside a finding of the machine: the builds whose link it breaks; nil: it breaks the machine's own
	TakesGPU   func(model.GPU) bool // beside a finding of the machine: whether it takes this kind of GPU from programs; nil: every one
	Rests      []verdict.LinkName   // where one of these links of the machine is broken, its error has said why
	EndsImport bool                 // beside an error of its libraries: a framework is not imported
	Without    bool                 // beside a finding that is no error: the build, a part that the rest does without, has no GPU
	CPUOnly    bool                 // an error after which the build goes on without the GPU: it is reported as a warning
}

// holds returns a rule that was asked, compared, and has nothing to say: it is listed as passed.
func holds(subject string) []*Result { return []*Result{{Subject: subject}} }

// holdsCompared returns holds of a driver, a GPU and a build that were compared with each other: where nothing was,
// nothing was judged.
func holdsCompared(subject string) []*Result { return []*Result{{Subject: subject, Judged: true}} }

// unknown returns a rule that lacks a fact.
func unknown(subject string, missing verdict.MissingFact) []*Result {
	return []*Result{{Subject: subject, Missing: missing}}
}

// undecidable returns unknown of a fact without which nobody can say whether a build works.
func undecidable(subject string, missing verdict.MissingFact) []*Result {
	return []*Result{{Subject: subject, Missing: missing, Decides: true}}
}

// leftOpen returns unknown of a fact without which nobody can say how it stands with the whole machine.
func leftOpen(subject string, missing verdict.MissingFact) []*Result {
	return []*Result{{Subject: subject, Missing: missing, Open: true}}
}

// oneFinding returns one finding, of its own subject.
func oneFinding(f verdict.Finding) []*Result { return []*Result{{Subject: f.Subject, Finding: &f}} }
