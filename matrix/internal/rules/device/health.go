package device

import (
	"fmt"
	"slices"

	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/internal/rules/rule"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// GPUCount reports a bus with fewer GPUs than the instance type has, or NVML with fewer than the bus. It is an error: a
// GPU that fell off the bus comes back only by a reset or on another machine. Containers and jobs see fewer by design.
func GPUCount(m *model.Machine) []*rule.Result {
	// A job sees only the GPUs that its scheduler assigned. Statements about a named machine say nothing about this
	// one. A driver that is named for this machine does not change its hardware.
	if m.Facts.System.Rest || m.Target.Named() {
		return nil
	}
	if m.Facts.System.Container != "" || m.Facts.Machine.Job != "" {
		return givenCount(m)
	}
	if !m.Host() {
		return nil
	}
	if failed := m.ProbeFailure("pci"); failed != "" {
		return rule.ReportMissing("GPUs", verdict.Statement(failed))
	}
	bus := onBus(m)
	// The row counts the fraction of a GPU in g6f and gr6f as one.
	if m.Instance != nil && m.Looked("pci") && len(bus) < m.Instance.Count {
		return fewerOnBus(m, len(bus))
	}
	// Other rules say why NVML does not answer. Without its answer there is nothing to compare the bus with.
	if m.Facts.Driver.NVML.Status != "ok" {
		return nil
	}
	if slices.ContainsFunc(m.Facts.Driver.NVML.Unanswered, func(u facts.Unanswered) bool { return u.Function == "nvmlDeviceGetCount_v2" }) {
		return rule.ReportMissing("GPUs", verdict.Statement(m.Facts.Driver.NVML.Message))
	}
	shown := len(slices.DeleteFunc(slices.Clone(m.Facts.GPUs),
		func(g facts.GPU) bool { return !slices.Contains(g.From, "NVML") }))
	// NVML should not show GPUs that belong to a virtual machine or to nouveau, or whose chip the driver branch
	// dropped.
	should := len(slices.DeleteFunc(slices.Clone(bus), func(g facts.GPU) bool { return !driverShouldShow(m, g) }))
	lost := unshown(m)
	switch {
	case shown >= should || len(lost) == 0: // an old NVML does not tell addresses
		return append(rule.Pass("GPUs"), reportDrained(m)...)
	// NVML counts them all: gpu-health or driver-unresponsive reports their faults. Or another user has them.
	case m.Facts.Devices.Counted >= should, len(lost) <= len(m.Facts.Driver.NVML.Failed):
		return nil
	case slices.ContainsFunc(m.Facts.Driver.NVML.Unanswered, func(u facts.Unanswered) bool { return u.Function == "nvmlDeviceQueryDrainState" }):
		return rule.ReportMissing("GPUs", verdict.Question("whether "+lost[0].Bus+", which the driver does not show, is drained"))
	case shown == 0 && nodesShut(m): // device-nodes-missing or device-permission says why
		return nil
	}
	return fewerShown(m, shown, should, lost)
}

// countSource tells how many GPUs each instance type has.
var countSource = []string{"https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/accelerated-computing-instances.html"}

// fewerOnBus reports a bus with fewer GPUs than the instance type has.
func fewerOnBus(m *model.Machine, bus int) []*rule.Result {
	f := verdict.Finding{Severity: verdict.Error, Subject: "GPUs",
		Message: fmt.Sprintf("%s has %s, but the PCI bus shows %d", m.Instance.Instance, gpus(m.Instance.Count), bus),
		Need:    gpus(m.Instance.Count), Evidence: []verdict.Evidence{{Fact: "GPUs on PCI", Value: fmt.Sprint(bus),
			From: "/sys/bus/pci"}},
		Steps:  []pin.Step{pin.Say("stop and start the instance, which moves it to another host; report the old one to AWS")},
		Source: countSource}
	if bus > 0 {
		return rule.ReportFinding(f)
	}
	return []*rule.Result{{Subject: f.Subject, Finding: &f, Link: verdict.LinkGPU}}
}

// fewerShown reports a driver that shows fewer GPUs than it should; lost are those that it does not show.
func fewerShown(m *model.Machine, shown, should int, lost []facts.GPU) []*rule.Result {
	f := verdict.Finding{Severity: verdict.Error, Subject: "GPUs",
		Message: fmt.Sprintf("the driver shows %d of the %s on the PCI bus; it is missing %s at %s", shown, gpus(should),
			m.GPUFound(lost[0]).Label, lost[0].Bus),
		Need: "an answer from every GPU on the bus", Evidence: []verdict.Evidence{{Fact: lost[0].Bus, Value: "not seen by NVML",
			From: "/sys/bus/pci"}},
		Steps: append(LostGPUSteps(m), pin.Say("run `sudo dmesg | grep -iE 'nvrm|xid'`: it says why the driver left it out")), Source: countSource}
	if should == 1 {
		f.Message = fmt.Sprintf("the driver does not show %s at %s, which is on the PCI bus", m.GPUFound(lost[0]).Label, lost[0].Bus)
	}
	return []*rule.Result{{Subject: f.Subject, Finding: &f, Link: verdict.LinkGPU, TakesGPU: func(kind hardware.GPU) bool {
		return shown == 0 || slices.ContainsFunc(lost, func(g facts.GPU) bool { return g.Bus == kind.Bus })
	}}}
}

// nodesShut reports whether no GPU node can be opened or made here.
func nodesShut(m *model.Machine) bool {
	nodes := m.GPUNodes()
	if len(nodes) == 0 {
		return !m.Makes()
	}
	return !slices.ContainsFunc(nodes, func(n facts.Node) bool { return n.Access == "ok" })
}

// unshown returns the GPUs on the bus that the driver should show but does not.
func unshown(m *model.Machine) []facts.GPU {
	return slices.DeleteFunc(onBus(m), func(g facts.GPU) bool { return slices.Contains(g.From, "NVML") || !driverShouldShow(m, g) })
}

func gpus(n int) string {
	if n == 1 {
		return "1 GPU"
	}
	return fmt.Sprintf("%d GPUs", n)
}

// onBus returns the GPUs that PCI lists.
func onBus(m *model.Machine) []facts.GPU {
	return slices.DeleteFunc(slices.Clone(m.Facts.GPUs),
		func(g facts.GPU) bool { return !slices.Contains(g.From, "/sys/bus/pci") })
}

// reportDrained notes the GPUs that an administrator has withdrawn from new programs.
func reportDrained(m *model.Machine) []*rule.Result {
	i := slices.IndexFunc(m.Facts.GPUs, func(g facts.GPU) bool { return g.Drained })
	if i < 0 {
		return nil
	}
	g := m.Facts.GPUs[i]
	return rule.ReportFinding(verdict.Finding{Severity: verdict.Note, Subject: "GPUs", Need: "nothing, if it is to stay drained",
		Message:  fmt.Sprintf("%s at %s is drained: no new program gets it", m.GPUFound(g).Label, g.Bus),
		Evidence: []verdict.Evidence{{Fact: "drain state", Value: "on", From: "NVML"}},
		Steps:    []pin.Step{pin.Run(pins.HostSystem(m).AsRoot("nvidia-smi", "drain", "-p", g.Bus, "-m", "0")).Explained("gives it back to programs")},
		Source:   []string{"https://docs.nvidia.com/deploy/nvml-api/group__nvmlZPI.html"}})
}

// driverShouldShow reports whether the NVIDIA driver should show this GPU: the driver's branch supports the GPU, and no
// virtual machine has it.
func driverShouldShow(m *model.Machine, g facts.GPU) bool {
	return !hardware.ToVM(g) && !hardware.Nouveaus(g) && !g.Excluded && !g.Drained && m.DrivenBy(m.GPUFound(g), m.Driver().Version)
}

var healthSource = []string{"https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html",
	"https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/error-recovery-and-response-flags.html"}

// PersistenceOff notes that persistence is off. The driver then initialises each GPU anew for every program, which
// takes seconds: a first call that takes half a minute on eight GPUs looks like a hang. NVML decides, because it
// reports the mode as on if the daemon keeps the GPU initialised. A running daemon proves nothing, because Ubuntu's
// unit starts it with --no-persistence-mode (man nvidia-persistenced). In a container the host decides.
func PersistenceOff(m *model.Machine) []*rule.Result {
	if !m.Host() || m.Facts.System.Rest || m.Target.Driver != "" || m.Target.Instance != "" ||
		m.Facts.Driver.NVML.Status != "ok" {
		return nil
	}
	asked := false
	for _, g := range m.Facts.GPUs {
		if g.Health == nil || g.Health.Persistence == "" {
			continue
		}
		asked = true
		if g.Health.Persistence == "off" {
			return rule.ReportFinding(reportPersistenceOff(m))
		}
	}
	if !asked {
		return nil
	}
	return rule.Pass("GPUs")
}

func reportPersistenceOff(m *model.Machine) verdict.Finding {
	f := verdict.Finding{Severity: verdict.Note, Subject: "GPUs", Need: "persistence mode on",
		Message:  "persistence mode is off: the driver initialises the GPUs again for every program",
		Evidence: []verdict.Evidence{{Fact: "persistence mode", Value: "off", From: m.NVMLFrom()}},
		Steps: []pin.Step{pin.Run("sudo systemctl enable --now nvidia-persistenced"),
			pin.Run("sudo nvidia-smi -pm 1").Explained("until the next boot").Instead()},
		Source: []string{"https://docs.nvidia.com/deploy/driver-persistence/"}}
	// The daemon runs but its unit has the option that leaves the mode off, so starting it again does not help.
	if m.Facts.Machine.Persistenced {
		f.Evidence = append(f.Evidence, verdict.Evidence{Fact: "nvidia-persistenced", Value: "running", From: "/proc"})
		f.Steps = []pin.Step{pin.Run("sudo nvidia-smi -pm 1"),
			pin.Say("to keep it on, remove --no-persistence-mode from nvidia-persistenced.service")}
	}
	return f
}
