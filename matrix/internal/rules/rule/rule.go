// Package rule contains what every rule of a machine is made of: the type Rule, the results that it returns, and the
// steps that rules of several families recommend.
//
// The rules are in the packages beside this one, one package for a family, and package rules lists them. The function
// of a rule has the rule's id as its name, without the name of its package: driver-missing is driver.Missing. A rule
// reads facts through package model, returns findings of package verdict, and gets the packages that fix them from
// package pins.
package rule

import (
	"slices"

	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/verdict"
)

// Rule is the part of a rule that does not depend on a machine. Its id is used everywhere: in JSON, as the key of a
// waiver, as the name of its page and of its cases. Ids are never reused.
type Rule struct {
	ID    string // "driver-too-old"
	Title string // a clause without a name of anything: "the driver is too old for the build's CUDA"
	// Link is the link of the chain that an error of this rule breaks. A rule without a link is advice: its error
	// decides the outcome but never an answer.
	Link verdict.LinkName
	// Rests lists the links that must be known and whole for this rule to run. If one is broken, the rule is silent. A
	// rule that compares versions or files lists none, so that two causes are both reported.
	Rests  []verdict.LinkName
	SaidBy string // the rule whose error says its cause better: it is silent then
	// LeavesNoGPU reports whether the fault leaves a program no GPU to run on. If a kernel ran, this fault was not the
	// cause.
	LeavesNoGPU bool
	Reads       []string // the tables' columns that it decides by
	// Absence names the probes whose "not found" the rule's errors and warnings depend on. If one of them could not
	// look everywhere, the thing may exist, and the rule's link is unseen.
	Absence []string

	// OnMachine judges the machine, and OnBuild judges one build on it. A rule has one of them. If it returns no
	// result, the question does not arise.
	OnMachine func(*model.Machine) []*Result
	OnBuild   func(*model.Machine, *model.Build) []*Result
}

// SilentAfter reports whether another rule's error silences this one, because it explains the cause better or breaks a
// link that this rule depends on.
func (r Rule) SilentAfter(other Rule) bool {
	return other.ID == r.SaidBy || slices.Contains(r.Rests, other.Link)
}

// OnlyRemarks reports whether the rule's results change no answer and no outcome. Questions about required things can
// be answered without it.
func (r Rule) OnlyRemarks() bool { return r.ID == "driver-eol" || r.ID == "matrix-outdated" }

// ComparesNodes reports whether the rule compares many nodes. It never runs for a single machine (package fleet).
func (r Rule) ComparesNodes() bool { return r.OnMachine == nil && r.OnBuild == nil }

// Result is the result of one rule for one subject: a finding, a missing fact, or, with neither, that the rule passed.
type Result struct {
	Subject    string                  // what it is said of
	Finding    *verdict.Finding        // what is wrong
	Missing    verdict.MissingFact     // the fact without which nothing can be said
	Need       string                  // what the rule asks for; beside missing: all the same
	Row        string                  // the table's row that the need rests on
	Source     []string                // of a need that is met: where it is published
	Decides    bool                    // beside missing: the build's answer is unknown without it
	Open       bool                    // beside missing: the outcome is inconclusive without it
	Unseen     bool                    // beside missing: the rule's link is unseen without it
	Proven     bool                    // beside a finding: it does not rest on anything that was not found
	Judged     bool                    // it holds, so that a machine was judged at all
	Answer     verdict.Answer          // beside a finding: the answer of a build with which nothing is wrong
	Noted      bool                    // in an environment that does not count
	Implied    bool                    // broken by what has been said of another build
	Link       verdict.LinkName        // the link that it breaks, where that is not the rule's
	Builds     []*model.Build          // beside a finding of the machine: the builds whose link it breaks; nil: it breaks the machine's own
	TakesGPU   func(hardware.GPU) bool // beside a finding of the machine: whether it takes this kind of GPU from programs; nil: every one
	Rests      []verdict.LinkName      // where one of these links of the machine is broken, its error has said why
	EndsImport bool                    // beside an error of its libraries: a framework is not imported
	Without    bool                    // beside a finding that is no error: the build, a part that the rest does without, has no GPU
	CPUOnly    bool                    // an error after which the build goes on without the GPU: it is reported as a warning
}

// Pass returns the result of a rule that compared something and found nothing wrong. It is listed as passed.
func Pass(subject string) []*Result { return []*Result{{Subject: subject}} }

// PassJudged returns the result of Pass for a rule that compared a driver, a GPU and a build with each other. Without
// such a comparison nothing was judged.
func PassJudged(subject string) []*Result { return []*Result{{Subject: subject, Judged: true}} }

// ReportMissing returns the result of a rule that lacks a fact.
func ReportMissing(subject string, missing verdict.MissingFact) []*Result {
	return []*Result{{Subject: subject, Missing: missing}}
}

// ReportUndecided returns the result of a rule that lacks a fact without which nobody can say whether a build works.
func ReportUndecided(subject string, missing verdict.MissingFact) []*Result {
	return []*Result{{Subject: subject, Missing: missing, Decides: true}}
}

// ReportOpen returns the result of a rule that lacks a fact without which the outcome of the whole machine is open.
func ReportOpen(subject string, missing verdict.MissingFact) []*Result {
	return []*Result{{Subject: subject, Missing: missing, Open: true}}
}

// ReportFinding returns the result for one finding, under its own subject.
func ReportFinding(f verdict.Finding) []*Result { return []*Result{{Subject: f.Subject, Finding: &f}} }
