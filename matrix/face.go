// Package matrix knows which versions work together: it judges facts by published tables, and says what to install
// instead. It never reads the machine; package probe does that. Package report prints a verdict.
//
//   - Check judges a machine: tables, facts and targets in, a Verdict out.
//   - Pins says what to install on it; package pin has the form of the answer.
//   - Requires says what an artefact needs of a host, whatever host that is; package requires has the form.
//   - Rules lists what is asked, Whys what a value of a table rests on.
//   - Embedded returns the program's own tables, LoadOver those with a site's rows over them; Load reads and lints a
//     directory of tables.
//
// Package fleet judges many machines at once.
package matrix

import (
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/internal/rules"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// About is a subject in its parts, for who writes a sentence of it.
type About = verdict.About

// Subject names a build in findings and answers: "torch 2.9.0+cu130 in /opt/venv".
func Subject(b *facts.Build, env *facts.Environment) string {
	return model.Subject(b, env)
}

// Disagreement is a fact of a build that its row in the tables tells otherwise than the build itself. What was read is
// judged; the row has a bug.
type Disagreement = verdict.Disagreement

// LinkName is one link of the chain on which a build runs on a GPU.
type LinkName = verdict.LinkName

// The links, in the order in which a program meets them.
const (
	LinkGPU       = verdict.LinkGPU       // on the bus, bound to the module, neither lost nor excluded
	LinkModule    = verdict.LinkModule    // the kernel module is loaded and drives this GPU
	LinkDevices   = verdict.LinkDevices   // the nodes under /dev are there, may be opened and were given to this process
	LinkLibcuda   = verdict.LinkLibcuda   // the loader takes a whole libcuda.so.1 of the module's release
	LinkAnswers   = verdict.LinkAnswers   // the driver, where it was asked, answers and lets programs in
	LinkDriver    = verdict.LinkDriver    // it is new enough for the build's CUDA
	LinkPython    = verdict.LinkPython    // the interpreter starts and imports the package
	LinkLibraries = verdict.LinkLibraries // what it opens resolves, symbols and versions included
	LinkCode      = verdict.LinkCode      // it has machine code or PTX for this GPU that this driver takes
)

// LinkState is what is known of a link.
type LinkState = verdict.LinkState

// The states, from the best to the worst that decides: what is broken goes before what was not seen.
const (
	Held       = verdict.Held       // seen
	Assumed    = verdict.Assumed    // the target was named, a file was given, or the tree is at rest
	Unseen     = verdict.Unseen     // a fact is missing
	LinkBroken = verdict.LinkBroken // by a finding
)

// Link is one link of a chain.
type Link = verdict.Link

// Withheld is the value of the link devices where this process was given no GPU, or hides every one on purpose.
const Withheld = verdict.Withheld

// WithoutPrivate is facts without the packages of which nothing is known here: their names may be nobody else's
// business, and reports are pasted into public threads.
func WithoutPrivate(t *Tables, f facts.Facts) facts.Facts {
	return model.WithoutPrivate(t, f)
}

// PlatformOf is the platform of the machine that a target names, "linux_aarch64"; empty where the target does not tell.
func PlatformOf(t *Tables, target Target) string {
	return model.PlatformOf(t, target)
}

// Frameworks are the frameworks whose releases the tables have, by the names of their packages.
func Frameworks() []string {
	return model.Frameworks()
}

// KnowsImage reports whether a row of the tables, or its own tag, says which CUDA is in an image, "nvidia/cuda:12.6.3-base".
func KnowsImage(t *Tables, reference string) bool {
	return model.KnowsImage(t, reference)
}

// Rule is what can be said without looking at any machine. A rule's id is one word used everywhere: in JSON, as the
// key of a waiver, as the name of its page and of its cases. Ids are never used again.
type Rule = rules.Rule

// RuleNamed is the rule of an id; false for an id that no rule has.
func RuleNamed(id string) (Rule, bool) {
	return rules.Named(id)
}

// Requirements are the things that can be required, in the order in which they are listed for people.
func Requirements() []string {
	return rules.Requirements()
}

// Pins works out the sets for the machine of the facts with a target laid over it. Every set passes Check.
func Pins(t *Tables, f facts.Facts, target Target, want pin.Wanted) pin.Sets {
	return pins.Pins(t, f, target, want)
}

// Target is the machine that facts are judged for, over what was probed. The zero Target is the machine itself.
type Target = model.Target

// Severity is how much a finding matters.
type Severity = verdict.Severity

// The severities: an error means that something will not work, a warning that it may hurt, a note that it is worth
// knowing.
const (
	Error   = verdict.Error
	Warning = verdict.Warning
	Note    = verdict.Note
)

// Answer is what is known of one build on one machine. A minor version, or a cuda-compat library, is named because of
// the limits that come with it.
type Answer = verdict.Answer

// The answers. Unknown is neither fine nor broken: a fact is missing.
const (
	Works             = verdict.Works
	WorksMinorVersion = verdict.WorksMinorVersion
	WorksForward      = verdict.WorksForward
	// WorksCPUOnly is the answer of what asked for no GPU, carries CUDA code that cannot run here, and goes on without it.
	WorksCPUOnly = verdict.WorksCPUOnly
	Broken       = verdict.Broken
	Unknown      = verdict.Unknown
)

// Outcome is what is known of the whole.
type Outcome = verdict.Outcome

// The outcomes, worked out once, here, and never by a format. One error makes it incompatible, unless it is waived;
// without one, what is not known and counts makes it inconclusive.
const (
	Compatible   = verdict.Compatible
	Incompatible = verdict.Incompatible
	Inconclusive = verdict.Inconclusive
)

// Evidence is one fact that a finding rests on.
type Evidence = verdict.Evidence

// Pin is a version to install that mends a finding.
type Pin = verdict.Pin

// Finding is a rule that a machine breaks.
type Finding = verdict.Finding

// BuildAnswer is the answer for one build on one target.
type BuildAnswer = verdict.BuildAnswer

// Passed is a rule that was compared and holds. A rule that is neither passed, nor unknown, nor has a finding did not
// arise on this machine, or its cause has an error.
type Passed = verdict.Passed

// Missing is a rule that could not be judged, and the fact that it lacks.
type Missing = verdict.Missing

// Suppressed is a finding that a waiver hides; it stays in every report.
type Suppressed = verdict.Suppressed

// Judged is one machine that was judged for: what the target says over what was found.
type Judged = verdict.Judged

// JudgedGPU is one GPU, and why programs here are not shown it.
type JudgedGPU = verdict.JudgedGPU

// Verdict is everything that Check has to say. No list is nil, so that JSON never says null.
type Verdict = verdict.Verdict

// Policy is what the caller asks beyond the facts.
type Policy = verdict.Policy

// Waiver hides findings of one rule until its day.
type Waiver = verdict.Waiver

// WaiverUse is what became of a waiver.
type WaiverUse = verdict.WaiverUse

// Refuses says why the check of a machine does not let a set pass; empty where it does.
type Refuses = pins.Refuses

// PinsWanted picks one set of releases that has everything that is wanted, among the rows of the tables, the newest
// framework first: the first set that the check does not refuse. Where there is none, Missing says which of the wishes
// and of the machine's properties exclude each other.
func PinsWanted(t *Tables, f facts.Facts, target Target, wants []pin.Want, refuses Refuses) pin.Sets {
	return pins.PinsWanted(t, f, target, wants, refuses)
}

// HasPackage reports whether the tables know anything of a package.
func HasPackage(t *Tables, name string) bool {
	return pins.HasPackage(t, name)
}

// IsSpecifier reports whether a text is a range of a Python package's releases, ">=2.8,<2.10"; an empty one is all.
func IsSpecifier(text string) bool {
	return pins.IsSpecifier(text)
}

// PackageNames are those of which the tables know something.
func PackageNames(t *Tables) []string {
	return pins.PackageNames(t)
}
