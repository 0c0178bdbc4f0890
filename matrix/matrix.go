// Package matrix knows which versions work together. It judges facts by published tables and says what to install
// instead. It never reads the machine; package probe does that.
//
// Check judges a machine: it takes tables, facts and targets and returns a verdict.Verdict. Pins says what to install
// on it and returns a pin.Sets. Requires says what an artefact needs of any host and returns a requires.Requirement.
// Rules lists the rules, and Whys explains what a value of a table is based on. Embedded returns the program's own
// tables, LoadOver those with a site's rows over them; Load reads and lints a directory of tables.
//
// The types of the answers are in packages verdict, pin and requires.
package matrix

import (
	"strings"

	"cudacompat/internal/version"
	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/internal/resolver"
	"cudacompat/matrix/internal/rules"
	"cudacompat/matrix/internal/rules/coverage"
	"cudacompat/matrix/internal/rules/rule"
	"cudacompat/matrix/pin"
	"cudacompat/probe/facts"
)

// Target describes the machine that facts are judged for, if it differs from the probed one. The zero Target is the
// probed machine itself.
type Target = hardware.Target

// ForLinux reports whether facts name a package that has no wheel for Windows: what was frozen or locked on Linux does.
func ForLinux(t *Tables, f *facts.Facts) bool { return model.ForLinux(t, f) }

// PlatformOf returns the platform of the machine that a target names, "linux_aarch64", or "" if the target does not
// say.
func PlatformOf(t *Tables, target Target) string {
	return hardware.PlatformOf(t, target)
}

// Subject names a build in findings and answers: "torch 2.9.0+cu130 in /opt/venv".
func Subject(b *facts.Build, env *facts.Environment) string {
	return model.Subject(b, env)
}

// RemovePrivate returns facts without the packages that the tables do not know. Reports are pasted into public threads,
// and the names of private packages do not belong there.
func RemovePrivate(t *Tables, f facts.Facts) facts.Facts {
	return model.OmitPrivate(t, f)
}

// Frameworks returns the package names of the frameworks whose releases the tables list.
func Frameworks() []string {
	return model.Frameworks()
}

// KnowsRelease reports whether the tables have a release of a framework, such as torch 2.9.0, on any platform. The
// newest one that they have is also returned.
func KnowsRelease(t *Tables, framework, release string) (known bool, newest string) {
	public, _, _ := strings.Cut(release, "+")
	for _, r := range model.ReleasesOf(t, framework) {
		known = known || version.SameRelease(r, public)
		if newest == "" || version.ParseOrZero(newest).Less(version.ParseOrZero(r)) {
			newest = r
		}
	}
	return known, newest
}

// KnowsImage reports whether a row of the tables, or the image's own tag, says which CUDA an image such as
// "nvidia/cuda:12.6.3-base" contains.
func KnowsImage(t *Tables, reference string) bool {
	return model.KnowsImage(t, reference)
}

// A Rule is the part of a rule that does not depend on a machine. Its id is used everywhere: in JSON, as the key of a
// waiver, and as the name of its page and of its test cases. Ids are never reused.
type Rule = rule.Rule

// RuleNamed returns the rule with an id, or false if no rule has it.
func RuleNamed(id string) (Rule, bool) {
	return rules.Named(id)
}

// Requirements lists what verdict.Policy.Require may contain, in the order of the documentation.
func Requirements() []string {
	return coverage.Requirements()
}

// Refuses says why Check does not accept a set on a machine, or returns "" if it does.
type Refuses = resolver.Refuses

// Pins computes the sets to install on the machine that the facts describe, with target laid over it. Every set passes
// Check.
func Pins(t *Tables, f facts.Facts, target Target, want pin.Wanted) pin.Sets {
	return pins.Pins(t, f, target, want)
}

// PinsWanted picks one set of releases from the tables that contains everything in wants. It tries the newest framework
// first and takes the first set that refuses accepts. If there is none, Sets.Missing says which wishes and properties
// of the machine exclude each other.
func PinsWanted(t *Tables, f facts.Facts, target Target, wants []pin.Want, refuses Refuses) pin.Sets {
	return resolver.PinsWanted(t, f, target, wants, refuses)
}

// PythonOf returns the Python for which Pins and PinsWanted choose, "3.12": the target's, or that of the environment
// that counts; empty if neither is known.
func PythonOf(t *Tables, f facts.Facts, target Target) string {
	return pins.PythonOf(t, f, target)
}

// Pythons returns the Pythons that the tables have wheels of a framework for, oldest first, without the free-threaded
// builds: wheels of want's release, or of any release if it names none.
func Pythons(t *Tables, want pin.Wanted) []string {
	return pins.Pythons(t, want)
}

// IsEngine reports whether a package is an engine, such as vLLM, whose releases each ask for one PyTorch.
func IsEngine(t *Tables, name string) bool {
	return resolver.IsEngine(t, name)
}

// Engine works out the sets for one engine on one machine, as Pins does for a framework.
type Engine = resolver.Engine

// NewEngine returns the sets for one engine, on the machine of the facts with a target laid over it. The check decides
// about each set.
func NewEngine(t *Tables, f facts.Facts, target Target, want pin.Want, refuses Refuses) *Engine {
	return resolver.NewEngine(t, f, target, want, refuses)
}

// DriverEndOfLife returns the end of life of a driver's branch, or false if none is published.
func DriverEndOfLife(t *Tables, driver string) (pin.End, bool) {
	return pins.DriverEndOfLife(t, version.ParseOrZero(driver))
}

// HasPackage reports whether the tables know a package.
func HasPackage(t *Tables, name string) bool {
	return resolver.HasPackage(t, name)
}

// PackageNames returns the names of all packages that the tables know.
func PackageNames(t *Tables) []string {
	return resolver.PackageNames(t)
}

// IsSpecifier reports whether text is a range of a Python package's releases, such as ">=2.8,<2.10". The empty text
// allows all releases.
func IsSpecifier(text string) bool {
	return resolver.IsSpecifier(text)
}
