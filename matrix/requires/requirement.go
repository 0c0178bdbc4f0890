// Package requires describes what an artefact (an environment, a lock file, the facts of a machine) needs of a host:
// which GPUs with which drivers. matrix.Requires computes it. This package parses it, groups it for schedulers and
// compares it.
package requires

import (
	"fmt"
	"slices"
)

// Schema names the form of Requirement in JSON. Fields may be added under the same name, never renamed.
const Schema = "cudacompat/requires/v1"

// Requirement says what an artefact needs of a host: for each GPU in the tables, the drivers on which Check would call
// it compatible, and what each limit is based on. It is computed from the rules' needs and not by calling Check for
// each host.
type Requirement struct {
	Schema   string    `json:"schema"`
	Artefact string    `json:"artefact"` // the file or directory; empty: this machine's environments
	Builds   []Build   `json:"builds"`
	Needs    []Need    `json:"needs"`
	GPUs     []GPU     `json:"gpus"`
	Forward  []Forward `json:"forward_compat"`
	// Declared is what the image asks of the host, if that is less than its builds need.
	Declared *Declared `json:"declared,omitempty"`
	// Unknown lists what is unknown about the artefact itself. If it is not empty, no host is admitted.
	Unknown []Missing `json:"unknown"`
	// Diff is what changed since another artefact; null where none was given.
	Diff *Diff `json:"diff"`
	// Supports is what a configuration promises, and whether it holds; null where it was not asked for.
	Supports *Supports `json:"supports"`
}

// Declared is an NVIDIA_REQUIRE_CUDA that lets in drivers on which no build of the image runs.
type Declared struct {
	Image   string `json:"image"`   // "nvidia/cuda:12.8.0-base-ubuntu22.04"
	Require string `json:"require"` // "cuda>=12.8"
	Branch  string `json:"branch"`  // the oldest driver branch that meets it, "570"
	Needs   string `json:"needs"`   // the oldest driver that the builds need, "580.65.06"
}

// Build is one build in the artefact.
type Build struct {
	Subject string   `json:"subject"` // "torch 2.9.0+cu130 in /opt/venv"
	Name    string   `json:"name"`    // "torch"
	Version string   `json:"version"` // "2.9.0+cu130"; empty: the file leaves it open
	CUDA    string   `json:"cuda"`    // empty: not known
	Code    []string `json:"code"`    // "sm_90", "compute_90"; empty: not known
	Python  []string `json:"python"`  // releases that it is made for; empty: not known
	Glibc   string   `json:"glibc"`   // least one; empty: not known
	Arch    string   `json:"arch"`    // "x86_64"; empty: not known
	From    string   `json:"from"`    // "line 3"
	Counts  bool     `json:"counts"`  // whether hosts are refused for it
}

// Need is one limit, and what it rests on.
type Need struct {
	Rule    string   `json:"rule"`
	Kind    string   `json:"kind"`    // OfHost or OfImage
	Subject string   `json:"subject"` // the build; empty: the GPU and the driver themselves
	Need    string   `json:"need"`
	Missing string   `json:"missing"` // the fact without which it cannot be judged; empty: it can
	Drivers Drivers  `json:"drivers"` // those that meet it; empty: none does
	GPUs    []string `json:"gpus"`    // capabilities or names that it holds for; empty: all
	Row     string   `json:"row"`     // "CUDA 13 in minor_compat.csv"
	From    string   `json:"from"`    // where the artefact asks for it: "line 3"
	Source  []string `json:"source"`
	// Question reports whether Missing can follow "it is unknown", Thing whether Need can follow "needs".
	Question, Thing bool `json:"-"`
}

// What a need is asked of: a host, by its driver and GPU, or the image that is put on it, by what is installed there.
const (
	OfHost  = "host"
	OfImage = "image"
)

// GPU groups GPUs that are judged alike.
type GPU struct {
	Capability   string `json:"compute_capability"`
	Architecture string `json:"architecture"`
	// as NVML prints them; empty: any of this capability of which no more is known
	Names     []string `json:"names"`
	Arch      string   `json:"arch"` // the host's: "x86_64", "aarch64"
	Code      string   `json:"code"` // "machine code", "ptx", "none", "unknown"; empty: nothing asks
	Drivers   Drivers  `json:"drivers"`
	Undecided Drivers  `json:"undecided"` // those for which a fact is missing
	// Drivers, and those that would be where the image meets the needs of which it is not known.
	Provided Drivers `json:"provided"`
	// the rules that refuse every driver; empty where not every one is refused
	Because []string `json:"because"`
}

// Forward is a cuda-compat package with which older drivers suffice, on data centre GPUs.
type Forward struct {
	Package  string   `json:"package"` // "cuda-compat-13-0"
	CUDA     string   `json:"cuda"`
	Branches []string `json:"branches"` // of the kernel-mode driver
	Source   []string `json:"source"`
}

// Missing is a rule that could not be judged because a fact is missing.
type Missing struct {
	Rule    string `json:"rule"`
	Subject string `json:"subject"`
	Target  string `json:"target"`
	Need    string `json:"need,omitempty"` // what is asked for all the same, "driver >= 525.60.13"
	MissingFact
	Of string `json:"-"` // Subject without its place
}

// Admits reports whether the artefact is compatible with these GPUs on a driver.
func (g GPU) Admits(driver string) bool { return g.Drivers.Has(driver) }

// ImageNeeds returns, in words, the needs of which nobody knows whether the image meets them.
func (r Requirement) ImageNeeds() []string {
	var list []string
	for _, n := range r.Needs {
		if n.Kind == OfImage && n.Missing != "" && !slices.Contains(list, n.Need) {
			list = append(list, n.Need)
		}
	}
	return list
}

// Given returns the entry for an image that is known to bring some things: everything that the artefact needs of it, or
// too little.
func (g GPU) Given(needs, brought []string) GPU {
	if slices.ContainsFunc(needs, func(n string) bool { return !slices.Contains(brought, n) }) {
		return g
	}
	g.Drivers, g.Undecided = g.Provided, subtract(g.Undecided, g.Provided)
	return g
}

// Undecided reports whether no driver is accepted with any GPU because facts are missing.
func (r Requirement) Undecided() bool {
	admits := func(g GPU) bool { return len(g.Drivers) > 0 }
	undecided := func(g GPU) bool { return len(g.Undecided) > 0 }
	return len(r.Builds) > 0 && !slices.ContainsFunc(r.GPUs, admits) && slices.ContainsFunc(r.GPUs, undecided)
}

// Missing returns what is missing to tell which hosts the artefact runs on: what was not judged, or the first fact for want
// of which no driver is decided, even in an image that brings all it is left.
func (r Requirement) Missing() []Missing {
	list := append([]Missing{}, r.Unknown...)
	provided := func(g GPU) bool { return len(g.Provided) > 0 }
	knowsDriver := func(n Need) bool { return n.Rule == "driver-too-old" && n.Missing == "" }
	if len(list) > 0 || !r.Undecided() || slices.ContainsFunc(r.GPUs, provided) || slices.ContainsFunc(r.Needs, knowsDriver) {
		return list
	}
	for _, n := range r.Needs {
		if n.Subject != "" && n.Missing != "" {
			return append(list, Missing{Rule: n.Rule, Subject: n.Subject, MissingFact: Statement(n.Missing)})
		}
	}
	return list
}

// Unsatisfiable reports whether it is known that no GPU of the tables meets the needs with any driver.
func (r Requirement) Unsatisfiable() bool {
	return len(r.Builds) > 0 && len(r.Unknown) == 0 && len(r.GPUs) > 0 && !slices.ContainsFunc(r.GPUs, func(g GPU) bool {
		return len(g.Drivers)+len(g.Undecided)+len(g.Provided) > 0
	})
}

// IgnoresDriver reports whether the answer is the same with every driver, as with a Tegra module.
func (g GPU) IgnoresDriver() bool { return g.Drivers.Any() || g.Undecided.Any() }

// Key returns a key that is equal for needs that say the same.
func (n Need) Key() string { return fmt.Sprint(n.Rule, n.Subject, n.Need, n.Drivers) }

// HoldsFor reports whether a need applies to a GPU.
func (n Need) HoldsFor(capability, name string) bool {
	return len(n.GPUs) == 0 || slices.Contains(n.GPUs, name) || slices.Contains(n.GPUs, capability)
}

// ForGPU returns the entry of a GPU by its name, or nil.
func (r Requirement) ForGPU(name string) *GPU {
	i := slices.IndexFunc(r.GPUs, func(g GPU) bool { return slices.Contains(g.Names, name) })
	if i < 0 {
		return nil
	}
	return &r.GPUs[i]
}
