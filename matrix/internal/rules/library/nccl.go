package library

import (
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/internal/rules/rule"
	"cudacompat/matrix/verdict"
)

// NCCLTooOldForGPU reports an NCCL that has neither machine code nor PTX for a GPU. With one GPU NCCL is seldom called,
// so that is a note. With several it is an error, because the first collective fails.
func NCCLTooOldForGPU(m *model.Machine, b *model.Build) []*rule.Result {
	lib, known := b.Takes("nccl")
	if b.Device != "cuda" || !b.IsFramework() || !known || len(m.GPUs) == 0 {
		return nil
	}
	n := m.Tables.NCCL(lib.Version, b.CUDANumber)
	// The table was read from the wheels of each release. It says nothing about the code of any other NCCL.
	if n == nil {
		return nil
	}
	for _, g := range m.GPUs {
		if !g.Capability.Known() || version.Cover(n.SASS, n.PTX, g.Capability) != version.Uncovered {
			continue
		}
		f := verdict.Finding{Severity: verdict.Error, Subject: b.Subject, Need: "an NCCL with code for " + g.Capability.SM(),
			Source:  n.Source,
			Message: fmt.Sprintf("NCCL %s has no code for %s", n.Release, g.Label),
			Evidence: append(b.Evidence(), lib.Evidence("NCCL"), verdict.Evidence{Fact: "GPU", Value: g.Label, From: g.From},
				verdict.Evidence{Fact: "machine code", Value: strings.Join(n.SASS, " "), From: "nccl.csv"})}
		if len(m.GPUs) == 1 {
			f.Severity = verdict.Note
		}
		if other := ncclFor(m, b.CUDANumber); other.Known() {
			f.Pins = pins.PackagePin(b.Env, lib.Wheel, other.String())
			f.Pins[0].Why = "has code for every GPU here; keeps the driver"
		} else {
			f.Pins, f.Steps = pins.ForBuild(m, b)
		}
		return rule.ReportFinding(f)
	}
	return rule.Pass(b.Subject)
}

// ncclFor returns the newest NCCL of a CUDA major version with machine code for every GPU here, or an unknown version.
// It ignores PTX, which works only if the driver knows its version.
func ncclFor(m *model.Machine, cuda version.Number) version.Number {
	for _, n := range slices.Backward(tables.Rows[tables.NCCL](m.Tables)) {
		bad := func(g hardware.GPU) bool { return version.Cover(n.SASS, nil, g.Capability) != version.BySASS }
		if n.CUDA.Major() == cuda.Major() && len(n.SASS) > 0 && !slices.ContainsFunc(m.GPUs, bad) {
			return n.Release
		}
	}
	return version.Number{}
}
