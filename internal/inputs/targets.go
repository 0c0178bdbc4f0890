package inputs

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables"
	"cudacompat/internal/usage"
	"cudacompat/matrix"
	"cudacompat/matrix/pin"
)

// CheckTarget rejects values of a target that mean nothing. For a GPU it suggests the nearest known name.
func CheckTarget(target matrix.Target, t *matrix.Tables) error {
	err := target.Check(t)
	if err == nil {
		return nil
	}
	names := ListGPUs(t)
	if cudaWords.MatchString(target.Driver) {
		return &usage.Error{Message: err.Error(), Hint: "that is a version of CUDA; the driver's version is in the first line of nvidia-smi"}
	}
	for _, name := range target.GPUs {
		own := matrix.Target{GPUs: []string{name}}.Check(t)
		if best := nearestGPU(name, names); own != nil && own.Error() == err.Error() && best != "" {
			if strings.Contains(best, " ") {
				best = strconv.Quote(best)
			}
			return &usage.Error{Message: err.Error(), Hint: "did you mean --gpu " + best + "?"}
		}
	}
	return &usage.Error{Message: err.Error()}
}

// cudaWords matches a version of CUDA where a driver's is expected: "12.4", "CUDA 12.4".
var cudaWords = lazyregexp.New(`(?i)^(cuda *)?1\d\.\d{1,2}(\.\d+)?$`)

// nearestGPU returns the GPU that a name means: the shortest that contains it, otherwise the longest that it begins with
// ("RTX 5090 Ti"), otherwise the nearest.
func nearestGPU(name string, names []string) string {
	begins, contains, low := "", "", strings.ToLower(name)
	for _, known := range names {
		k := strings.ToLower(known)
		if strings.HasPrefix(low, k+" ") && len(k) > len(begins) {
			begins = known
		}
		if len(low) > 3 && strings.Contains(k, low) && (contains == "" || len(k) < len(contains)) {
			contains = known
		}
	}
	return cmp.Or(contains, begins, usage.FindNearest(name, names))
}

// ListTargets returns one target for each instance type and each value of --gpu, without duplicates. base has
// everything else that is known about the machines.
func ListTargets(t *matrix.Tables, base matrix.Target, instances, gpus []string) ([]matrix.Target, error) {
	var list []matrix.Target
	add := func(target matrix.Target) error {
		if !slices.ContainsFunc(list, func(o matrix.Target) bool { return o.Label() == target.Label() }) {
			list = append(list, target)
		}
		return CheckTarget(target, t)
	}
	for _, name := range instances {
		if !t.HasInstance(name) {
			return nil, usage.RejectUnknownOfMany("GPU instance type", name, t.InstanceNames(), InstancesCommand)
		}
		target := base
		target.Instance = name
		if err := add(target); err != nil {
			return nil, err
		}
	}
	for _, word := range gpus {
		target := base
		var err error
		if target.GPUs, err = ParseGPUs(word); err == nil {
			err = add(target)
		}
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// countedGPU matches a number of GPUs in a value of --gpu, "8xL4", or as reports print it, "8 × L4".
var countedGPU = lazyregexp.New(`^(\d{1,4}) ?[xX×] ?(.+)$`)

// archName matches a compute capability as nvcc writes it: "sm_90", "compute_120a".
var archName = lazyregexp.New(`^(?:sm|compute)_(\d{1,2})(\d)[af]?$`)

// maxGPUs limits how many GPUs --gpu can give a machine.
const maxGPUs = 64

// ParseGPUs returns the GPUs of the machine in a value of --gpu: L4, 8xL4, P100+H100.
func ParseGPUs(word string) ([]string, error) {
	var list []string
	for name := range strings.SplitSeq(word, "+") {
		count := 1
		name = strings.TrimSpace(name)
		if m := countedGPU.FindStringSubmatch(name); m != nil {
			count, _ = strconv.Atoi(m[1])
			name = strings.TrimSpace(m[2])
		}
		name = archName.ReplaceAllString(name, "$1.$2")
		if name == "" || count == 0 || len(list)+count > maxGPUs {
			return nil, &usage.Error{Message: fmt.Sprintf("--gpu %q does not name a machine with 1 to %d GPUs", word, maxGPUs),
				Hint: "give a name or compute capability: L4, 9.0, 8xL4, P100+H100"}
		}
		list = append(list, slices.Repeat([]string{name}, count)...)
	}
	return list, nil
}

// RejectSeveralMachines rejects flags that name several machines for a command that takes one. The hint shows how to put several
// GPUs into one machine.
func RejectSeveralMachines(command string, instances, gpus []string) error {
	several := command + " takes one machine, but the flags name several"
	switch {
	case len(instances) == 0 && len(gpus) > 1:
		return &usage.Error{Message: several, Hint: "--gpu " + pin.Word(strings.Join(gpus, "+")) + " is one machine with all of them"}
	case len(instances) > 0 && len(instances)+len(gpus) > 1:
		return &usage.Error{Message: several, Hint: "name one: --instance " + pin.Word(instances[0])}
	}
	return nil
}

// InstancesCommand is the command that lists the EC2 instance types, and those of other clouds by the similar EC2 type.
const InstancesCommand = "cudacompat matrix ec2` and `cudacompat matrix instance_alias"

// ListGPUs returns the names of all GPUs, as people say them: RTX 5090.
func ListGPUs(t *matrix.Tables) []string {
	var names []string
	for _, chip := range tables.Rows[tables.Chip](t) {
		for _, name := range chip.Names {
			_, short, _ := strings.Cut(name, "GeForce ")
			names = append(names, cmp.Or(short, name))
		}
	}
	return names
}
