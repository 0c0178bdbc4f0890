package judge

import (
	"testing"

	"cudacompat/internal/report"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// TestCanChange checks the two lists: what --wait waits for, and what ends it at once.
func TestCanChange(t *testing.T) {
	finding := func(rule string, evidence ...verdict.Evidence) verdict.Finding {
		return verdict.Finding{Rule: rule, Severity: verdict.Error, Evidence: evidence}
	}
	missing := func(rule, reason string) verdict.Missing {
		return verdict.Missing{Rule: rule, MissingFact: verdict.MissingFact{Missing: "x", Reason: reason}}
	}
	manager := facts.Facts{Machine: facts.Machine{Fabric: facts.Fabric{Manager: "/usr/bin/nv-fabricmanager"}}}
	for _, c := range []struct {
		name     string
		found    facts.Facts
		findings []verdict.Finding
		unknown  []verdict.Missing
		outcome  verdict.Outcome
		want     bool
	}{
		{name: "module not loaded yet", findings: []verdict.Finding{finding("driver-missing")}, want: true},
		{name: "DKMS builds", findings: []verdict.Finding{finding("module-missing-for-kernel")}, want: true},
		{name: "DKMS failed", found: facts.Facts{Machine: facts.Machine{MakeError: "error"}}, findings: []verdict.Finding{finding("module-missing-for-kernel")}},
		{name: "DKMS failed and builds again", found: facts.Facts{Machine: facts.Machine{MakeError: "error", Installing: "dkms"}}, findings: []verdict.Finding{finding("module-missing-for-kernel")}, want: true},
		{name: "nodes of a host", findings: []verdict.Finding{finding("device-nodes-missing")}, want: true},
		{name: "nodes of a container", found: facts.Facts{System: facts.System{Container: "docker"}}, findings: []verdict.Finding{finding("device-nodes-missing")}},
		{name: "no fabric manager", findings: []verdict.Finding{finding("fabric-manager")}},
		{name: "fabric manager not up", found: manager, findings: []verdict.Finding{finding("fabric-manager", verdict.Evidence{Fact: "fabric manager", From: "/proc"})}, want: true},
		{name: "fabric manager of another version", found: manager, findings: []verdict.Finding{finding("fabric-manager", verdict.Evidence{Fact: "fabric manager", From: "package nvidia-fabricmanager"})}},
		{name: "fabric completed with an error", found: manager, findings: []verdict.Finding{finding("fabric-manager", verdict.Evidence{Fact: "fabric status"})}},
		{name: "a late bus", findings: []verdict.Finding{finding("gpu-count")}, want: true},
		{name: "a GPU gone beside others", found: facts.Facts{GPUs: []facts.GPU{{}}}, findings: []verdict.Finding{finding("gpu-count")}},
		{name: "a mismatch", findings: []verdict.Finding{finding("driver-mismatch")}},
		{name: "a mismatch while an installer runs", found: facts.Facts{Machine: facts.Machine{Installing: "dpkg"}}, findings: []verdict.Finding{finding("driver-mismatch")}, want: true},
		{name: "a refused key", findings: []verdict.Finding{finding("secure-boot")}},
		{name: "DKMS failed for another kernel", found: facts.Facts{System: facts.System{Kernel: "6.8.0-1021-aws"}, Machine: facts.Machine{MakeError: "error", MakeKernel: "6.8.0-1015-aws"}}, findings: []verdict.Finding{finding("module-missing-for-kernel")}, want: true},
		{name: "nouveau", findings: []verdict.Finding{finding("nouveau-loaded")}},
		{name: "Xid 79", findings: []verdict.Finding{finding("gpu-health")}},
		{name: "the wrong kind of module", findings: []verdict.Finding{finding("open-module-required")}},
		{name: "a driver that is too old", findings: []verdict.Finding{finding("driver-too-old")}},
		{name: "no driver yet, and a wheel without code", findings: []verdict.Finding{finding("driver-missing"), finding("gpu-arch-missing")}},
		{name: "confidential computing not ready", findings: []verdict.Finding{finding("gpu-not-ready")}, want: true},
		{name: "cold NVML", unknown: []verdict.Missing{missing("driver-unresponsive", "nvml")}, outcome: verdict.Inconclusive, want: true},
		{name: "fabric in progress", unknown: []verdict.Missing{missing("fabric-manager", "")}, outcome: verdict.Inconclusive, want: true},
		{name: "withheld", unknown: []verdict.Missing{missing("container-driver-libs", "withheld")}, outcome: verdict.Inconclusive},
		{name: "a closed environment", unknown: []verdict.Missing{missing("not-looked-at", "")}, outcome: verdict.Inconclusive},
		{name: "well", outcome: verdict.Compatible},
	} {
		r := report.Report{Facts: c.found}
		r.Findings, r.Unknown, r.Outcome = c.findings, c.unknown, c.outcome
		if len(c.findings) > 0 {
			r.Outcome = verdict.Incompatible
		}
		if got := CanChange(r, []string{"driver", "gpu"}); got != c.want {
			t.Errorf("%s: waits %v, want %v", c.name, got, c.want)
		}
	}
}
