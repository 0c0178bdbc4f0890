package device

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables"
	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/internal/rules/rule"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// GPUHealth reports broken hardware that NVML or the kernel log shows, one finding for each GPU and kind. NVML's
// recovery action decides if the driver provides it (570 and newer). Otherwise the Xids in the log decide.
func GPUHealth(m *model.Machine) []*rule.Result {
	// Statements about a named machine say nothing about the health of this one's GPUs. A driver that is named for this
	// machine does not change its hardware.
	if m.Target.Instance != "" || len(m.Target.GPUs) > 0 {
		return nil
	}
	var results []*rule.Result
	asked := false
	for _, g := range m.Facts.GPUs {
		if g.Health != nil {
			asked = true
			results = append(results, healthOf(m, g)...)
		}
	}
	results = append(results, unaskable(m)...)
	results = append(results, xidFindings(m)...)
	if len(results) == 0 && asked {
		return rule.Pass("GPUs")
	}
	return results
}

// reportFaultyGPU returns a finding about one GPU, or about a GPU that cannot be identified. It removes GPUs of this
// kind from the working ones, because a program that uses the first GPU, or all, meets the fault. GPUs of other kinds
// continue to work.
func reportFaultyGPU(m *model.Machine, f verdict.Finding, bus string) *rule.Result {
	return &rule.Result{Subject: f.Subject, Finding: &f, TakesGPU: func(kind hardware.GPU) bool {
		return bus == "" || !slices.ContainsFunc(m.GPUs, func(g hardware.GPU) bool { return g.Bus == bus && !sameKind(g, kind) })
	}}
}

// healthOf judges the state of one GPU. Corrected errors, a power cap, the clocks of an idle GPU and the driver's own
// thermal control are normal.
func healthOf(m *model.Machine, g facts.GPU) []*rule.Result {
	label := m.GPUFound(g).Label + " at " + cmp.Or(g.Bus, "an unknown address")
	var results []*rule.Result
	say := func(severity verdict.Severity, message, need, value string, steps ...pin.Step) {
		results = append(results, reportFaultyGPU(m, verdict.Finding{Severity: severity, Subject: label, Message: message, Need: need,
			Evidence: []verdict.Evidence{{Fact: g.Bus, Value: value, From: m.NVMLFrom()}}, Steps: steps, Source: healthSource}, g.Bus))
	}
	h := g.Health
	if h.Recovery != "" && h.Recovery != "none" {
		say(verdict.Error, "NVML says that it needs recovery: "+h.Recovery+afterXid(m, g.Bus), "a GPU that asks for no recovery", "recovery action: "+h.Recovery,
			recoverySteps(m, h.Recovery, g.Bus)...)
	}
	// NVIDIA's RMA criteria include a failed row remap (the memory error guide): an error.
	if h.RemapFailure {
		say(verdict.Error, "a broken memory row could not be replaced", "no row-remap failure", "row-remap failure",
			replacement(m))
	}
	// Volatile counters restart with the driver, so these errors are recent. The program that met the error has ended.
	// The GPU continues to work, unless it asks for recovery.
	if h.Uncorrectable > 0 {
		say(verdict.Warning, fmt.Sprintf("%d uncorrectable memory errors since the driver was loaded", h.Uncorrectable),
			"no uncorrectable memory errors",
			fmt.Sprintf("%d volatile uncorrectable ECC errors", h.Uncorrectable),
			resetSteps(m, g.Bus, "if the errors return, replace it")...)
	}
	// The next reset replaces the row. Until then the driver does not use its page, running programs continue and new
	// ones may start (NVIDIA's memory error guide): a warning.
	if h.RemapPending && !h.RemapFailure {
		say(verdict.Warning, "a memory row will be replaced at the next reset", "no pending row remap", "row remap pending",
			resetSteps(m, g.Bus, "")...)
	}
	hard := slices.DeleteFunc(slices.Clone(h.Slowdown), func(s string) bool { return !slices.Contains(hardSlowdowns, s) })
	if len(hard) > 0 {
		say(verdict.Error, "the hardware slows it down ("+strings.Join(hard, ", ")+")", "no hardware slowdown",
			"slowdown: "+strings.Join(hard, ", "),
			pin.Say("check cooling and power (`nvidia-smi -q -d PERFORMANCE,TEMPERATURE` shows more)"))
	}
	return results
}

// afterXid names the Xids in the kernel log for a GPU that needs recovery, as part of a sentence. It returns "" if
// there are none.
func afterXid(m *model.Machine, bus string) string {
	for _, line := range m.Facts.Machine.Xids {
		if x := m.Tables.Xid(line); x != nil && bus != "" && busOf(line) == bus {
			return fmt.Sprintf("; the kernel log has Xid %d: %s", x.Xid, x.Meaning)
		}
	}
	return ""
}

// hardSlowdowns lists the slowdown reasons that mean too little cooling or power. "software thermal", "power cap" and
// "idle" are normal for a healthy GPU.
var hardSlowdowns = []string{"hardware", "hardware thermal", "power brake"}

// sickCodes maps the NVML error codes for a GPU without a handle (nvml.h, nvmlReturn_t) to their meaning and to the Xid
// catalogue's action.
var sickCodes = map[int]struct{ means, action string }{
	8:  {"its external power cables are not properly attached", "power"},
	11: {"the driver does not get its interrupts", "restart-machine"},
	15: {"it has fallen off the bus, or cannot be reached for another reason", "lost"},
	16: {"it has to be reset before it can be used again", "reset-gpu"},
}

// unaskable returns results for GPUs that are broken so that NVML gives no handle. driver-unresponsive reports code 15
// if NVML returned it for the whole driver.
func unaskable(m *model.Machine) []*rule.Result {
	var results []*rule.Result
	for _, failed := range m.Facts.Driver.NVML.Failed {
		code, known := sickCodes[failed.Code]
		if !known {
			continue
		}
		steps := repairSteps(m, code.action, "")
		switch code.action {
		case "lost":
			steps = LostGPUSteps(m)
		case "power":
			steps = []pin.Step{pin.Say("attach the GPU's power cables"), pin.Say("replace the machine").Instead()}
		}
		seen := []verdict.Evidence{{Fact: fmt.Sprintf("GPU %d", failed.Index), Value: fmt.Sprintf("NVML error %d", failed.Code), From: m.NVMLFrom()}}
		if lost := unshown(m); len(lost) == 1 && len(m.Facts.Driver.NVML.Failed) == 1 { // there is no doubt which it is
			seen = append(seen, verdict.Evidence{Fact: lost[0].Bus, Value: "not seen by NVML", From: "/sys/bus/pci"})
		}
		results = append(results, reportFaultyGPU(m, verdict.Finding{Severity: verdict.Error, Subject: fmt.Sprintf("GPU %d", failed.Index),
			Message: fmt.Sprintf("NVML cannot ask GPU %d: %s", failed.Index, code.means), Need: "a GPU that answers", Evidence: seen,
			Steps: steps, Source: []string{"https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceEnumvs.html"}}, ""))
	}
	return results
}

// grave lists the Xids after which a GPU is unusable until it is reset or replaced, for drivers that report no recovery
// action. With the action "none", 48 and 74 are worth a warning (NVIDIA's Xid catalogue).
var (
	grave     = []int{46, 48, 62, 64, 74, 79, 95, 119, 120, 140, 143}
	noticable = []int{48, 74}
)

// xidFindings returns one finding for each Xid number. It skips Xids that a program can cause or that mean nothing by
// themselves, and lines from before the driver was loaded or the GPU was reset.
func xidFindings(m *model.Machine) []*rule.Result {
	var results []*rule.Result
	said := map[string]bool{}
	for _, line := range m.Facts.Machine.Xids {
		x := m.Tables.Xid(line)
		if x == nil || !slices.Contains(grave, x.Xid) {
			continue
		}
		bus := busOf(line)
		severity, of := verdict.Error, fmt.Sprint(x.Xid, " ", bus)
		if recoveryOf(m, bus) != "" {
			severity = verdict.Warning
		}
		if said[of] || severity == verdict.Warning && (!slices.Contains(noticable, x.Xid) || recoveryOf(m, bus) != "none") {
			continue // the recovery action has its own finding
		}
		said[of] = true
		results = append(results, reportFaultyGPU(m, verdict.Finding{Severity: severity, Subject: cmp.Or(gpuAt(m, bus), "GPUs"),
			Message:  fmt.Sprintf("the kernel log has Xid %d: %s", x.Xid, x.Meaning),
			Need:     "no such Xid since the driver was loaded",
			Evidence: []verdict.Evidence{{Fact: "kernel log", Value: line, From: cmp.Or(m.Facts.Driver.KernelFrom, "/dev/kmsg")}},
			Steps:    xidSteps(m, x, bus), Source: x.Source}, bus))
	}
	return results
}

// gpuAt names the GPU at a PCI address, or returns "".
func gpuAt(m *model.Machine, bus string) string {
	i := slices.IndexFunc(m.Facts.GPUs, func(g facts.GPU) bool { return bus != "" && g.Bus == bus })
	if i < 0 {
		return ""
	}
	return m.GPUFound(m.Facts.GPUs[i]).Label + " at " + bus
}

// recoveryOf returns NVML's recovery action for the GPU at a PCI address, or "" if there is none.
func recoveryOf(m *model.Machine, bus string) string {
	for _, g := range m.Facts.GPUs {
		if g.Bus == bus && g.Health != nil {
			return g.Health.Recovery
		}
	}
	return ""
}

// xidAddress matches the PCI address in the line of an Xid: NVRM: Xid (PCI:0000:00:1e): 95, pid=1234, …
var xidAddress = lazyregexp.New(`Xid \(PCI:([0-9a-fA-F:]+)`)

// busOf returns the PCI address in the line of an Xid, in the form of the facts ("0000:00:1e.0"), or "".
func busOf(line string) string {
	found := xidAddress.FindStringSubmatch(line)
	if found == nil {
		return ""
	}
	return strings.ToLower(found[1]) + ".0"
}

// repairSteps returns the steps for an action of the Xid catalogue (xid.csv), or nil if it has none.
func repairSteps(m *model.Machine, action, bus string) []pin.Step {
	const again = "if it happens again, replace the GPU or the machine"
	switch action {
	case "reset-gpu", "workflow-xid-48":
		return resetSteps(m, bus, again)
	case "workflow-nvlink-err": // GPUs that are linked are reset together
		return resetSteps(m, "", again)
	case "restart-machine":
		return []pin.Step{pins.OnHost(m, pins.HostSystem(m).AsRoot("reboot")).Explained(again)}
	}
	return nil
}

// resetSteps returns the steps that reset the GPU at an address, or all GPUs if it is "". The driver refuses a reset
// while something uses the GPU (nvidia-smi's manual).
func resetSteps(m *model.Machine, bus, again string) []pin.Step {
	s := pins.HostSystem(m)
	reset := []string{"nvidia-smi", "--gpu-reset"}
	if bus != "" {
		reset = append(reset, "-i", bus)
	}
	return []pin.Step{pin.Say("stop what runs on the GPU"), pins.OnHost(m, s.AsRoot(reset...)).Explained(again), pins.OnHost(m, s.AsRoot("reboot")).Instead()}
}

// xidSteps returns the steps after an Xid. A GPU that fell off the bus of an EC2 instance comes back only on other
// hardware.
func xidSteps(m *model.Machine, x *tables.Xid, bus string) []pin.Step {
	if x.Xid == 79 {
		return LostGPUSteps(m)
	}
	if steps := repairSteps(m, x.Action, bus); steps != nil {
		return steps
	}
	return []pin.Step{replacement(m)}
}

// LostGPUSteps returns the steps for a GPU that has left the bus. A reboot of an EC2 instance keeps its hardware;
// stopping and starting it moves it.
func LostGPUSteps(m *model.Machine) []pin.Step {
	if m.OnEC2() {
		return []pin.Step{pin.Say("save your work, also from instance-store disks, which a stop erases; then stop and start the instance: it moves to other hardware, which a reboot does not do; if it happens again, report the instance to AWS")}
	}
	return []pin.Step{pins.OnHost(m, pins.HostSystem(m).AsRoot("reboot")).Explained("save your work first; if it happens again, the GPU or its slot is failing")}
}

// ReloadUVMStep returns the step that reloads nvidia_uvm. After a suspend it is often broken, and CUDA returns 999
// until it is reloaded (pytorch#88639).
func ReloadUVMStep(m *model.Machine) pin.Step {
	s := pins.HostSystem(m)
	return pins.OnHost(m, pin.Sequence(s.AsRoot("modprobe", "-r", "nvidia_uvm"), s.AsRoot("modprobe", "nvidia_uvm"))).
		Explained("if the machine was suspended since the driver was loaded; stop what uses the GPU first")
}

// replacement returns the step for a GPU that no reset repairs.
func replacement(m *model.Machine) pin.Step {
	if m.OnEC2() {
		return pin.Say("replace the machine: stop and start the instance")
	}
	return pin.Say("replace the GPU or the machine, and tell its vendor")
}

// recoverySteps returns the steps for NVML's recovery action (nvml.h, nvmlDeviceGpuRecoveryAction_t).
func recoverySteps(m *model.Machine, action, bus string) []pin.Step {
	switch action {
	case "reset":
		return repairSteps(m, "reset-gpu", bus)
	case "reboot":
		return repairSteps(m, "restart-machine", bus)
	}
	steps := resetSteps(m, bus, "")
	steps[0] = pin.Say("let no new program start on it, and wait until those that run have ended")
	return steps
}

// sameKind reports whether two GPUs are equal in everything that matters for builds.
func sameKind(g hardware.GPU, o hardware.GPU) bool {
	g.Bus, g.Index, o.Bus, o.Index = "", "", "", ""
	return g == o
}

// IsUnresponsive reports whether driver-unresponsive already takes a kind of GPU from programs. The kernel log names
// the GPUs, while NVML answers for others.
func IsUnresponsive(m *model.Machine, kind hardware.GPU) bool {
	lost := map[string]bool{}
	for _, line := range m.Facts.Driver.Kernel {
		lost[busOf(line)] = true
	}
	if len(lost) == 0 || lost[""] || !m.DriverAnswers() {
		return true
	}
	return !slices.ContainsFunc(m.GPUs, func(g hardware.GPU) bool { return sameKind(g, kind) && g.Answers() && !lost[g.Bus] })
}
