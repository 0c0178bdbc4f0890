// Package verdict has the types of package matrix's answer: findings, links, answers, waivers, and missing facts. It
// knows nothing about machines, tables and rules.
package verdict

import (
	"slices"
	"strings"

	"cudacompat/matrix/pin"
)

// OrEmpty returns list, or an empty list for nil, which JSON would print as null.
func OrEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Count counts the findings of a severity.
func (v *Verdict) Count(s Severity) int {
	n := 0
	for _, f := range v.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}

// Fires reports whether a rule has a finding that no waiver hides.
func (v *Verdict) Fires(rule string) bool {
	return slices.ContainsFunc(v.Findings, func(f Finding) bool { return f.Rule == rule })
}

// Disagreement is a fact of a build in which the build and its row in the tables differ. Check uses what was read; the
// row has a bug.
type Disagreement struct {
	Subject string   `json:"subject"`
	Fact    string   `json:"fact"` // "machine code"
	Read    string   `json:"read"`
	From    string   `json:"from"` // where it was read
	Table   string   `json:"table"`
	Source  []string `json:"source"` // the row's
}

// Severity says how much a finding matters.
type Severity string

// The severities: an error means that something will not work, a warning that it may hurt, a note that it is worth
// knowing.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Note    Severity = "note"
)

// Answer says whether one build works on one machine. Minor-version compatibility and cuda-compat libraries have
// answers of their own because they come with limits.
type Answer string

// The answers. Unknown is neither fine nor broken: a fact is missing.
const (
	Works             Answer = "works"
	WorksMinorVersion Answer = "works-minor-version"
	WorksForward      Answer = "works-forward-compat"
	// WorksCPUOnly is the answer for a build that nobody installed for the GPU, whose CUDA code cannot run here, and
	// that works without it.
	WorksCPUOnly Answer = "works-cpu-only"
	Broken       Answer = "broken"
	Unknown      Answer = "unknown"
)

// Outcome is the result of a whole run.
type Outcome string

// The outcomes. They are computed once, here, and never by a format. One error makes the outcome incompatible, unless
// it is waived. Otherwise an unknown that matters makes it inconclusive.
const (
	Compatible   Outcome = "compatible"
	Incompatible Outcome = "incompatible"
	Inconclusive Outcome = "inconclusive"
)

// Evidence is one fact that a finding rests on.
type Evidence struct {
	Fact  string `json:"fact"`  // "driver", "torch CUDA", "libcuda.so.1"
	Value string `json:"value"` // "535.183.01"
	From  string `json:"from"`  // where it was read, as the target sees it: a file, "NVML", a table's row, a flag
}

// Pin is a version to install that fixes a finding.
type Pin struct {
	Package  string            `json:"package"`  // "torch"; "driver" for the driver
	Version  string            `json:"version"`  // "2.9.0+cu126"; a range such as ">=9.8,<10.0" where more will do
	Why      string            `json:"why"`      // what it costs: "keeps the driver", "needs a reboot"
	Commands map[string]string `json:"commands"` // by tool: pip, uv, apt, dnf, env (of a Dockerfile)
	Steps    []pin.Step        `json:"steps"`    // ways to the same that no installer has: an AMI with the driver
}

// Finding reports a rule that a machine violates.
type Finding struct {
	Rule     string     `json:"rule"`
	Severity Severity   `json:"severity"`
	Subject  string     `json:"subject"`  // "torch 2.9.0+cu130 in /opt/venv", "driver"
	Target   string     `json:"target"`   // instance type it is for; empty for this machine
	Message  string     `json:"message"`  // one sentence: what is wrong
	Need     string     `json:"need"`     // "driver >= 580.65.06"
	Evidence []Evidence `json:"evidence"` // of a value that is not known there is none
	Pins     []Pin      `json:"pins"`     // each will do by itself; first the one that changes least
	Steps    []pin.Step `json:"steps"`    // what else to do, or instead
	Do       []string   `json:"do"`       // the steps, each as one text
	Source   []string   `json:"source"`   // addresses, or wheels with their SHA-256
	// URL is the address of the rule's page; empty where Policy.Site is.
	URL   string       `json:"url,omitempty"`
	About SubjectParts `json:"-"` // the subject in its parts
}

// RulePage returns the address of a rule's page on a web site, "https://cudacompat.example", or "" if site is "".
func RulePage(site, rule string) string {
	if site == "" {
		return ""
	}
	return strings.TrimSuffix(site, "/") + "/rule/" + rule + "/"
}

// Link gives each finding the address of its rule's page.
func (v *Verdict) Link(site string) {
	for i := range v.Findings {
		v.Findings[i].URL = RulePage(site, v.Findings[i].Rule)
	}
	for i := range v.Suppressed {
		v.Suppressed[i].URL = RulePage(site, v.Suppressed[i].Rule)
	}
}

// StatedSubject is the subject of an error that a pasted text shows.
const StatedSubject = "the error in the text"

// BuildAnswer is the answer for one build on one target.
type BuildAnswer struct {
	Subject string       `json:"subject"` // as in the findings about it
	Target  string       `json:"target"`  // instance type; empty for this machine
	Answer  Answer       `json:"answer"`
	Because []string     `json:"because"` // ids of the rules that decided; none where it works
	Counts  bool         `json:"counts"`  // whether it can make the outcome; other environments are only noted
	About   SubjectParts `json:"of"`      // the subject in its parts
	Links   []Link       `json:"links"`   // its own links, on the kind of GPU that serves it best
}

// Passed is a rule that compared something and found no fault. A rule that has neither passed, nor is unknown, nor has
// a finding did not apply, or its cause has an error.
type Passed struct {
	Rule    string `json:"rule"`
	Subject string `json:"subject"`
	Target  string `json:"target"`
}

// Suppressed is a finding that a waiver hides. Every report still lists it.
type Suppressed struct {
	Finding
	Reason string `json:"reason"`
	Until  string `json:"until"` // ISO date; empty: no end
}

// Judged describes one judged machine: what was probed, with the target's values over it.
type Judged struct {
	Target  string      `json:"target"`  // instance type; empty for this machine
	Driver  string      `json:"driver"`  // version, "580.95.05"; empty when not known
	CUDA    string      `json:"cuda"`    // what the driver supports, "13.0": seen, else by its branch's row
	From    string      `json:"from"`    // where the driver was read
	State   string      `json:"state"`   // "on disk" or "installed, not loaded"; empty of a driver that runs
	GPUs    []string    `json:"gpus"`    // those that a program can be shown, "Tesla T4 (7.5)"
	Hidden  []string    `json:"hidden"`  // the addresses of those that CUDA_VISIBLE_DEVICES hides
	Devices []JudgedGPU `json:"devices"` // every GPU that is there, in the order of the facts
	Links   []Link      `json:"links"`   // the links that all builds share, once for each kind of GPU
	// Module is the kernel module that its GPUs need, "open" or "proprietary", or "" if both work, or if
	// the boot chooses among several.
	Module string `json:"module,omitempty"`
}

// JudgedGPU is one GPU of a machine, with the reason why programs cannot see it, if so.
type JudgedGPU struct {
	Address string `json:"address"` // on PCI; empty where it is not known
	Label   string `json:"label"`   // "Tesla T4 (7.5)"
	From    string `json:"from"`    // where it was found, or the flag that names it
	Hidden  string `json:"hidden"`  // "held by vfio-pci"; empty: programs are shown it
}

// Verdict is the complete result of Check. None of its lists is nil, so that JSON never contains null.
type Verdict struct {
	Judged     []Judged      `json:"judged"` // one for each target
	Outcome    Outcome       `json:"outcome"`
	Answers    []BuildAnswer `json:"answers"`
	Findings   []Finding     `json:"findings"` // the worst first, then in the order of Rules
	Passed     []Passed      `json:"passed"`
	Unknown    []Missing     `json:"unknown"`
	Suppressed []Suppressed  `json:"suppressed"`
	Waivers    []WaiverUse   `json:"waivers"` // every waiver that was given, in order
	// Disagreements are facts of builds that the tables tell otherwise; they decide nothing.
	Disagreements []Disagreement `json:"disagreements"`
}

// Policy contains the caller's wishes beyond the facts.
type Policy struct {
	Require []string // of Requirements: what is absent is an error, what could not be looked for is unknown
	Waivers []Waiver
	Health  bool   // a health check of what runs here: its surroundings are left out
	Today   string // ISO date for which ends of life and of waivers are judged; empty: the tables' own
	Site    string // of the rules' pages, "https://cudacompat.example"; empty: findings have no URL
	NoPins  bool   // findings do not say what to install instead: for who judges many machines and prints none of it
}
