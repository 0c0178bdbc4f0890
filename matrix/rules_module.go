package matrix

import (
	"fmt"
	"strings"
)

// openModuleRequired: Blackwell, GH200 and GB10 are driven by the open kernel module alone.
func openModuleRequired(m *machine) []*result {
	if m.target.Driver != "" || m.f.Driver.Module == "" {
		return nil
	}
	bad := func(g gpu) bool { return m.f.Driver.Module == "proprietary" && g.needsModule("required") }
	return m.driverAgainstGPUs(bad, func(g gpu) Finding {
		return Finding{Message: fmt.Sprintf("%s needs the open kernel module; the proprietary one is loaded", g.label),
			Need: "the open kernel module of driver " + m.driver.version.String(), Source: g.chip.Source, Do: m.moduleSteps(true)}
	})
}

// needsModule says what the tables say of the open module and a GPU, unless NVML lists the GPU: then the module that is
// loaded does drive it.
func (g gpu) needsModule(open string) bool {
	return g.chip != nil && g.chip.OpenModule == open && !strings.Contains(g.from, "NVML")
}

// openModuleUnsupported: the open kernel module needs a GPU with a GSP, which Turing is the first to have.
func openModuleUnsupported(m *machine) []*result {
	module, from := m.f.Driver.Module, m.f.Driver.From
	if branch := m.branchRow(m.driver.version); m.target.Driver != "" || module == "" {
		if branch == nil || branch.Module != "open" {
			return nil
		}
		module, from = "open", "driver_branch.csv: branch "+branch.Branch+" has no other"
	}
	bad := func(g gpu) bool { return module == "open" && g.needsModule("unsupported") }
	results := m.driverAgainstGPUs(bad, func(g gpu) Finding {
		return Finding{Message: fmt.Sprintf("the open kernel module does not drive %s, which is older than Turing", g.label),
			Need: "the proprietary kernel module", Source: g.chip.Source, Do: m.moduleSteps(false)}
	})
	for _, r := range results {
		if r.finding != nil {
			r.finding.Evidence = append(r.finding.Evidence, Evidence{Fact: "kernel module", Value: module, From: from})
		}
	}
	return results
}

// moduleSteps changes the kernel module and keeps the driver's release.
func (m *machine) moduleSteps(open bool) []string {
	branch := fmt.Sprint(m.driver.version.Major())
	pick := func(a, b string) string {
		if open {
			return a
		}
		return b
	}
	return []string{
		"Ubuntu: " + aptDriver(branch, "ubuntu", open) + "; elsewhere: " + dnfDriver(branch, open),
		"the runfile: sudo sh ./NVIDIA-Linux-*-" + m.driver.version.String() + ".run " + pick("-m=kernel-open", "-m=kernel"),
		"then reboot",
	}
}
