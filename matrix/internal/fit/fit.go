// Package fit decides whether a package fits the torch beside it (RULES.md, "A package beside torch").
//
// One function, [Of], compares six keys: torch's release, CUDA, the C++ ABI, Python, the platform and the machine code.
// Each key is compared, exempt for a named reason, or not known. Files, lists, plans, environments, pins, guard and
// explain call it, so that one pair has one answer.
package fit

import (
	"cmp"
	"slices"
	"strings"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/cudaof"
)

// Key is one property in which a package and a torch must agree.
type Key int

// The keys, in the order in which they are reported.
const (
	Release Key = iota
	CUDA
	ABI
	Python
	Platform
	Code
	keys // their number
)

// String names the key, as part of a sentence.
func (k Key) String() string {
	return [keys]string{"torch's release", "CUDA", "the C++ ABI", "Python", "the platform", "the machine code"}[k]
}

// State is the result for one key.
type State int

// The states. The zero State is Unknown, so that a key which nobody checked never counts as good.
const (
	Unknown  State = iota // a fact is missing
	Compared              // both sides are known, and agree
	Exempt                // the key does not apply, for a named reason
	Doubtful              // they disagree, and the package may load all the same
	Lesser                // they disagree, and the package loads without its part for the GPU
	Differs               // they disagree: the package does not load
)

// Answer is the result for one key, with its reason.
type Answer struct {
	State  State
	Have   string   // what the package is for: "CUDA 13.2"
	Want   string   // what torch is: "CUDA 12.6"
	Why    string   // why it is exempt, or what is not known
	Source []string // where Have was read
}

// Fits reports whether the key was compared and agrees, or does not apply.
func (a Answer) Fits() bool { return a.State == Compared || a.State == Exempt }

// Result contains the answer for every key.
type Result [keys]Answer

// Fits reports whether every key was compared or is exempt. Only then may "fits torch" be printed.
func (r Result) Fits() bool { return r.State() == Compared }

// State returns the state of the whole pair: Compared if every key fits, otherwise that of the worst key.
func (r Result) State() State {
	k, found := r.Worst()
	if !found {
		return Compared
	}
	return r[k].State
}

// order ranks the states that are no fit, the worst last.
var order = map[State]int{Doubtful: 1, Unknown: 2, Lesser: 3, Differs: 4}

// Worst returns the key that decides: the first that differs, otherwise the first with less, in doubt or unknown.
func (r Result) Worst() (k Key, found bool) {
	for i, a := range r {
		if order[a.State] > 0 && (!found || order[a.State] > order[r[k].State]) {
			k, found = Key(i), true
		}
	}
	return k, found
}

// Torch is the torch beside a package.
type Torch struct {
	Release  version.Release
	CUDA     cudaof.Answer
	Platform string // "linux_x86_64"
	Vendor   bool   // from source, conda or a vendor: the range of another package proves nothing
}

// Package is the package beside a torch.
type Package struct {
	Name     string
	Release  version.Release
	CUDA     cudaof.Answer
	Rows     []tables.Extension // those that may be it
	Tags     *Tags              // of the wheel's name, where a file names the wheel; nil: the installer chooses it
	Resolved bool               // it is installed, and its libraries found every symbol and library that they need
	Either   bool               // any of several rows may be it, and nothing tells which
}

// Target is the machine that both must run on.
type Target struct {
	Python string               // "3.12"; empty where it is not known
	GPUs   []version.Capability // empty where there is none
}

// Compare compares a package with a torch. If several rows may describe the package, the one that fits best counts: a
// difference is certain only if all of them differ. If nothing shows which row it is and only some differ, the result
// is unknown.
func Compare(t *tables.Tables, torch Torch, p Package, target Target) Result {
	if len(p.Rows) < 2 {
		return compareRow(t, torch, p, target)
	}
	var best, worst Result
	var all []Result
	for i := range p.Rows {
		one := p
		one.Rows = p.Rows[i : i+1]
		if p.CUDA.By == cudaof.Row {
			one.CUDA = cudaof.Find(t, cudaof.Package{Name: p.Name, Release: p.Release, Rows: one.Rows})
		}
		r := compareRow(t, torch, one, target)
		if i == 0 || compare(r, best) < 0 {
			best = r
		}
		if i == 0 || compare(r, worst) > 0 {
			worst = r
		}
		all = append(all, r)
	}
	k, bad := worst.Worst()
	if p.Either && bad && rank(best) < rank(worst) {
		best[k] = unknown("which of its wheels is installed: that for " + k.subject(worst[k].Have) + " or that for " + k.subject(best[k].Have))
	}
	if best[Release].State == Differs {
		best[Release].Have = joinReleases(all)
	}
	return best
}

// subject describes what a wheel is for, by a key: "torch 2.6.0", "CUDA 12.4".
func (k Key) subject(have string) string {
	if k == Release {
		return "torch " + have
	}
	return have
}

// joinReleases lists every torch release that one of several wheels is for.
func joinReleases(all []Result) string {
	var list []string
	for _, r := range all {
		for _, text := range strings.Split(r[Release].Have, " or ") {
			if !slices.Contains(list, text) {
				list = append(list, text)
			}
		}
	}
	if exact(list) {
		slices.SortFunc(list, func(a, b string) int { return exactly(a).Compare(exactly(b)) })
	}
	return strings.Join(list, " or ")
}

// rank orders results, the best first.
func rank(r Result) int { return order[r.State()] }

// compare orders results by their worst key, and then by all keys: of two wheels without code for the GPU, the one for
// this torch is better.
func compare(a, b Result) int {
	sum := func(r Result) (n int) {
		for _, key := range r {
			n += order[key.State]
		}
		return n
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(sum(a), sum(b)))
}

// compareRow compares a package that has at most one row.
func compareRow(t *tables.Tables, torch Torch, p Package, target Target) Result {
	x := pair{t, torch, p, target}
	return Result{x.release(), x.cuda(), x.abi(), x.python(), x.platform(), x.code()}
}

// pair is one package beside one torch.
type pair struct {
	t      *tables.Tables
	torch  Torch
	p      Package
	target Target
}

// row returns the package's row, or nil.
func (x pair) row() *tables.Extension {
	if len(x.p.Rows) == 0 {
		return nil
	}
	return &x.p.Rows[0]
}

// trait reports whether the package's release has a trait.
func (x pair) trait(name string) bool { return x.t.Trait(name, x.p.Name, x.p.Release.Number) }

// source returns the sources of the row.
func (x pair) source() []string {
	if r := x.row(); r != nil {
		return r.Source
	}
	return nil
}

// pure reports whether a package has no library at all and is not an engine that stands for the kernels it brings.
func (x pair) pure() bool {
	r := x.row()
	return r != nil && r.Pure() && !x.trait("pins-torch") && !x.trait("compiled")
}

func exempt(why string) Answer { return Answer{State: Exempt, Why: why} }

func unknown(what string) Answer { return Answer{Why: what} }
