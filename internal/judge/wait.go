package judge

import (
	"slices"

	"cudacompat/internal/report"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// CanChange reports whether waiting can improve a report: a required thing is not there and healthy yet, or the outcome
// is inconclusive because of something that changes at first boot. It cannot if there is also an error that no waiting
// fixes, such as a wheel without code for the GPU.
func CanChange(r report.Report, required []string) bool {
	installing := r.Facts.Machine.Installing != ""
	mends := false
	for _, f := range r.Findings {
		if f.Severity != verdict.Error {
			continue
		}
		if !mendsByWaiting(f, r.Facts, installing) {
			return false
		}
		mends = true
	}
	if mends {
		return len(required) > 0
	}
	return r.Outcome == verdict.Inconclusive && slices.ContainsFunc(r.Unknown, mayBecomeKnown) ||
		r.Outcome == verdict.Inconclusive && len(r.Unknown) == 0
}

// mendsByWaiting reports whether an error is typical of a machine that is still starting: a module being loaded or
// built, nodes, the fabric, MIG, the ready state, a licence, an IMEX domain, a late bus, or a running installer.
func mendsByWaiting(f verdict.Finding, found facts.Facts, installing bool) bool {
	machine := found.Machine
	switch f.Rule {
	case "required-missing", "driver-missing", "gpu-not-ready", "mig-devices", "imex-channel":
		return true
	case "module-missing-for-kernel": // a build that failed ends only if another one runs
		return machine.MakeError == "" || machine.MakeKernel != "" && machine.MakeKernel != found.System.Kernel || installing
	case "device-nodes-missing": // a container gets its nodes when it starts
		return found.System.Container == ""
	case "fabric-manager":
		return machine.Fabric.Manager != "" && !waitsInVain(f) || installing
	case "gpu-count": // a GPU that is gone beside others does not come back; a bus without any may be late
		return len(found.GPUs) == 0
	case "driver-mismatch", "driver-too-old", "gsp-firmware", "driver-packages-mixed", "container-toolkit":
		return installing
	}
	return false
}

// waitsInVain reports whether a fabric manager's finding will not change: its version differs from the driver's, or the
// fabric completed with an error.
func waitsInVain(f verdict.Finding) bool {
	return slices.ContainsFunc(f.Evidence, func(e verdict.Evidence) bool {
		return e.Fact == "fabric status" || e.Fact == "fabric manager" && e.From != "/proc"
	})
}

// mayBecomeKnown reports whether a missing fact may become known later. What this process was not given, or may not
// read, will not.
func mayBecomeKnown(m verdict.Missing) bool {
	switch m.Reason {
	case "withheld", "withheld-job", "hidden", "excluded", "held":
		return false
	}
	return m.Rule != "not-looked-at"
}
