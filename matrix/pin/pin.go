// Package pin contains the answers to "what do I install on this machine": a framework with the packages made for it,
// and the driver that it needs. matrix.Pins computes these sets. Package report writes them as requirements or
// constraints.
package pin

import "slices"

// Schema names the form of Sets in JSON. Fields may be added under the same name, never renamed.
const Schema = "cudacompat/pins/v1"

// Choice says what a set of pins changes and what it keeps.
type Choice string

// The choices, cheapest first.
const (
	KeepDriver     Choice = "keep-driver"     // what runs on the driver that is there, or with the one that it needs if none is known
	SmallestDriver Choice = "smallest-driver" // what was asked for, on the lowest driver that runs it
	Newest         Choice = "newest"          // the newest release on the newest driver branch
	ForwardCompat  Choice = "forward-compat"  // a newer release on the driver that is there, by a cuda-compat package
	Together       Choice = "together"        // everything that is wanted, in one set, on the driver that is there, or with the one that it needs if none is known
)

// Choices lists the choices for one framework or engine. ForwardCompat is present only if it offers a newer release
// than KeepDriver.
func Choices() []Choice { return []Choice{KeepDriver, ForwardCompat, SmallestDriver, Newest} }

// Sets answers the question what to install on a machine.
type Sets struct {
	Schema  string `json:"schema"`
	Target  Target `json:"target"`
	Sets    []Set  `json:"sets"`
	Missing []None `json:"missing"`
	Ends    []End  `json:"ends"`
}

// End describes something that ends or has ended: support of the GPU by drivers or by a framework, or the driver's
// branch.
type End struct {
	Kind   EndKind  `json:"kind"`
	Last   string   `json:"last"` // the last release or branch: "2.14.1", "580"
	Date   string   `json:"date"` // the end of life, "2028-06" or "2026-01-27"; empty: not known
	Why    string   `json:"why"`
	Source []string `json:"source"`
}

// EndKind says what an End is about.
type EndKind string

// The kinds of an End.
const (
	EndOfDriver EndKind = "driver"     // the branch of the driver that is there
	EndOfGPU    EndKind = "gpu-driver" // the last branch that drives the GPU
	EndOfCode   EndKind = "gpu-code"   // the last release of the framework that is made for the GPU
)

// Target describes the machine that the sets are for.
type Target struct {
	Instance  string   `json:"instance"`  // EC2 instance type; empty: none was named
	Driver    string   `json:"driver"`    // empty: not known
	GPUs      []string `json:"gpus"`      // "NVIDIA L4 (8.9)"
	Python    string   `json:"python"`    // "3.12"; empty: not known
	Platform  string   `json:"platform"`  // "linux_x86_64"
	Libc      string   `json:"libc"`      // glibc's version, or "musl"; empty: not known
	Framework string   `json:"framework"` // "torch"
	Release   string   `json:"release"`   // the release that was asked for; empty: the newest that runs
	Wanted    []string `json:"wanted"`    // what one set is to have, "flash-attn==2.8.3"; empty: one framework was asked for
	Assumed   []string `json:"assumed"`   // what nobody told and nothing showed, "Python 3.12 (--python changes it)"
}

// Set is one complete set: a framework with the packages made for it, and the driver that it needs.
type Set struct {
	Choice   Choice            `json:"choice"`
	Driver   string            `json:"driver"` // the driver to install; empty: the one that is there stays
	Python   string            `json:"python"` // where it is another one than the target's: "3.8"
	Packages []Package         `json:"packages"`
	Index    string            `json:"index"`    // package index of the packages; empty: the installer's own
	Extra    string            `json:"extra"`    // other package indexes that have some of them, separated by spaces; empty: none
	Commands map[string]string `json:"commands"` // by tool: pip, uv; for the driver apt, dnf, runfile
	Steps    []Step            `json:"steps"`    // ways to the driver that no installer has: an AMI that has it
	Why      string            `json:"why"`
	Lacks    []string          `json:"lacks"` // what the tables do not say of the set
	Source   []string          `json:"source"`
}

// ForJetson says where builds for a Jetson come from.
const ForJetson = "install the build made for this JetPack: from https://pypi.jetson-ai-lab.io, or NVIDIA's image for its L4T release"

// None is a choice that has no set, with the reason.
type None struct {
	Choice Choice   `json:"choice"`
	Why    string   `json:"why"`
	Source []string `json:"source"` // of what Why says, where it is of single rows
	Driver bool     `json:"-"`      // whether the driver is the reason: it is unknown, or does not support the GPU
}

// Wanted names the framework to pin, and the release to stay close to. Without a release, it means the newest.
type Wanted struct {
	Framework string // "torch", "tensorflow", "jax"
	Release   string // "2.6.0"
}

// Want is one package that a set must have.
type Want struct {
	Package   string // as pip normalises it, "flash-attn"
	Extras    string // "[cuda]"; empty: none
	Specifier string // "==2.8.3", ">=0.11,<0.15"; empty: any release
}

func (w Want) String() string { return w.Named() + w.Specifier }

// Named returns the package's name with its extras.
func (w Want) Named() string { return w.Package + w.Extras }

// Package is one package at one version.
type Package struct {
	Package   string `json:"package"`   // with the extra that it needs, "jax[cuda12]"
	Version   string `json:"version"`   // with its local version, "2.9.0+cu126"; empty: the installer picks one
	Specifier string `json:"specifier"` // of what has no version here: what was asked for
	URL       string `json:"url"`       // of the wheel, where no package index has it
	Wheel     string `json:"wheel"`     // its file's name, where it is known
	SHA256    string `json:"sha256"`    // of the wheel, where a source has it
}

// Spec returns the package as pip names it.
func (p Package) Spec() string {
	switch {
	case p.URL != "":
		return p.Package + " @ " + p.URL
	case p.Version == "":
		return p.Package + p.Specifier
	}
	return p.Package + "==" + p.Version
}

// Only keeps one choice.
func (p Sets) Only(c Choice) Sets {
	p.Sets = slices.DeleteFunc(slices.Clone(p.Sets), func(s Set) bool { return s.Choice != c })
	p.Missing = slices.DeleteFunc(slices.Clone(p.Missing), func(n None) bool { return n.Choice != c })
	return p
}
