package model

import (
	"fmt"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables"
	"cudacompat/internal/version"
)

// Target is the machine that facts are judged for, over what was probed. The zero Target is the machine itself.
type Target struct {
	Instance string   // EC2 instance type, "g5.xlarge"
	Driver   string   // version, "580.95.05", or a branch, "580"
	GPUs     []string // names, "L4", or compute capabilities, "8.9"; one for each GPU of the machine
	Python   string   // "3.12", or "3.13t" for the free-threaded build
}

// Check says what is wrong with a target's words: a driver that is no version, a GPU that nobody knows. The error names
// the flag. Whether the tables have an instance type, Tables.HasInstance tells.
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

var (
	driverText = lazyregexp.New(`^\d{3,4}(\.\d+){0,2}$`)
	pythonText = lazyregexp.New(`^3\.\d+(\.\d+)?t?$`)
)

// Label returns the machine in a word, as --instance or --gpu name it: "g5.xlarge", "L4", "8xL4", "P100+H100"; empty if
// the target names neither.
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

// Named reports whether the target names the GPUs, itself or by an instance type.
func (target Target) Named() bool { return len(target.GPUs) > 0 || target.Instance != "" }
