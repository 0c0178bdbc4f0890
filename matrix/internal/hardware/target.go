package hardware

import (
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/probe/facts"
)

// Target is the machine that facts are judged for. Its values replace those that were probed. The zero Target is the
// machine itself.
type Target struct {
	Instance string   // EC2 instance type, "g5.xlarge"
	Driver   string   // version, "580.95.05", or a branch, "580"
	GPUs     []string // names, "L4", or compute capabilities, "8.9"; one for each GPU of the machine
	Python   string   // "3.12", or "3.13t" for the free-threaded build
}

// OtherThan reports whether a target contradicts what a text says of its machine: another driver, or another GPU. A
// target that only adds what the text leaves out describes the same machine.
func (target Target) OtherThan(t *tables.Tables, f *facts.Facts) bool {
	if own := version.ParseOrZero(f.Driver.CUDA); target.Driver != "" {
		given := t.BranchCUDA(version.ParseOrZero(target.Driver))
		if f.Driver.Version != "" && f.Driver.Version != target.Driver ||
			f.Driver.Version == "" && own.Known() && given.Known() && own.Compare(given) != 0 {
			return true
		}
	}
	words := target.GPUs
	if row := t.Instance(target.Instance); len(words) == 0 && row != nil {
		words = []string{row.GPU}
	}
	return len(words) > 0 && slices.ContainsFunc(f.GPUs, func(g facts.GPU) bool {
		chip := t.ChipNamed(g.Name)
		return chip == nil || !slices.ContainsFunc(words, func(word string) bool { return t.ChipNamed(word) == chip })
	})
}

// Check returns an error that names the flag if a target cannot be understood: a driver that is not a version, an
// unknown GPU. Tables.HasInstance checks instance types.
func (target Target) Check(t *tables.Tables) error {
	if target.Driver != "" && !driverText.MatchString(target.Driver) {
		return fmt.Errorf("--driver %s is not a driver version such as 580.95.05", target.Driver)
	}
	if target.Python != "" && !pythonText.MatchString(target.Python) {
		return fmt.Errorf("--python %s is not a Python version such as 3.12", target.Python)
	}
	for _, name := range target.GPUs {
		if _, err := version.ParseCapability(name); err != nil && t.ChipNamed(name) == nil {
			return fmt.Errorf("--gpu %s is neither a GPU in the tables nor a compute capability such as 8.9", name)
		}
	}
	return nil
}

// OnlyWindows reports whether the target's driver is of a branch that NVIDIA made for Windows alone.
func (target Target) OnlyWindows(t *tables.Tables) bool {
	return target.Driver != "" && t.OnlyWindows(version.ParseOrZero(target.Driver))
}

var (
	driverText = lazyregexp.New(`^\d{3}(\.\d+){0,2}$`)
	pythonText = lazyregexp.New(`^3\.\d+(\.\d+)?t?$`)
)

// Label returns a short name of the machine, as given to --instance or --gpu: "g5.xlarge", "L4", "8xL4", "P100+H100".
// It returns "" if the target names neither.
func (target Target) Label() string {
	if target.Instance != "" {
		return target.Instance
	}
	var words []string
	for i := 0; i < len(target.GPUs); {
		name, first := target.GPUs[i], i
		for i < len(target.GPUs) && target.GPUs[i] == name {
			i++
		}
		if i-first > 1 {
			name = fmt.Sprintf("%dx%s", i-first, name)
		}
		words = append(words, name)
	}
	return strings.Join(words, "+")
}

// Named reports whether the target names the GPUs, directly or by an instance type.
func (target Target) Named() bool { return len(target.GPUs) > 0 || target.Instance != "" }
