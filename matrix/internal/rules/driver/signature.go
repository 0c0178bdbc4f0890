package driver

import (
	"cmp"
	"strings"

	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/internal/rules/rule"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
)

// SecureBoot reports a kernel that refuses the driver's module because of its signature. Three things must hold: the
// module for the running kernel is on disk and not loaded, the kernel enforces signatures, and the module is unsigned
// or signed with a key that the kernel does not have. A kernel without enforcement loads an unsigned module and is only
// tainted.
func SecureBoot(m *model.Machine) []*rule.Result {
	s := m.Facts.Machine.Signatures
	kernel, _ := m.BootKernel()
	if !m.Here() || !m.Host() || !m.OnPCI() || !m.WantsGPU() || m.Driver().Loaded || m.Facts.Driver.NVML.Status == "ok" ||
		m.ModuleOf(kernel) == nil || !s.Refuses() {
		return nil
	}
	key := cmp.Or(s.Signer, "a key without a name")
	switch {
	case s.Signed == "no":
		return rule.ReportFinding(refusedModule(m, "it has no signature"))
	case s.Trusted == "no":
		return rule.ReportFinding(refusedModule(m, "the kernel does not have the key that signed it ("+key+")"))
	case s.Signed == "yes" && strings.Contains(s.Rejected, "nvidia"):
		return rule.ReportFinding(refusedModule(m, "the kernel does not accept the key that signed it ("+key+")"))
	case s.Signed == "":
		return rule.ReportMissing("driver", verdict.Question("who signed the driver's module"))
	case s.Trusted == "" && s.Enrolled == "yes":
		return rule.ReportMissing("driver", verdict.Question("whether this kernel uses enrolled keys (MOK) for modules: that of the driver's module is enrolled"))
	case s.Trusted == "":
		return rule.ReportMissing("driver", verdict.Question("whether the kernel has the key that signed the driver's module: only root sees its keys"))
	}
	return rule.Pass("driver")
}

// refusedModule returns the finding for a module that this kernel refuses, with the reason.
func refusedModule(m *model.Machine, why string) verdict.Finding {
	s := m.Facts.Machine.Signatures
	enforces := verdict.Evidence{Fact: "sig_enforce", Value: "yes", From: s.EnforcedFrom}
	if s.Enforced != "yes" {
		enforces = verdict.Evidence{Fact: "lockdown", Value: s.Lockdown, From: "/sys/kernel/security/lockdown"}
	}
	f := verdict.Finding{Severity: verdict.Error, Subject: "driver",
		Message: "the kernel enforces signatures and refuses the NVIDIA module: " + why,
		Need:    "a module with a signature that this kernel trusts",
		Evidence: []verdict.Evidence{enforces, {Fact: "signature of the module", Value: cmp.Or(s.Signer, "none"), From: s.Module},
			{Fact: "Secure Boot", Value: m.Facts.Machine.SecureBoot, From: "the firmware"}},
		Steps:  signatureSteps(m),
		Source: []string{"https://docs.kernel.org/admin-guide/module-signing.html", "https://man7.org/linux/man-pages/man7/kernel_lockdown.7.html"}}
	if s.Rejected != "" {
		f.Evidence = append(f.Evidence, verdict.Evidence{Fact: "kernel log", Value: s.Rejected, From: cmp.Or(m.Facts.Driver.KernelFrom, "/dev/kmsg")})
	}
	return f
}

// signatureSteps returns the steps that lead to a module which the kernel trusts. modprobe would be refused again.
func signatureSteps(m *model.Machine) []pin.Step {
	s, system := m.Facts.Machine.Signatures, pins.HostSystem(m)
	if m.Facts.System.ID == "bottlerocket" {
		return []pin.Step{pin.Run("apiclient set kernel.lockdown=none").Explained("from the control or admin container; it takes effect after a reboot"),
			pin.Run("apiclient reboot")}
	}
	kernel, _ := m.BootKernel()
	var steps []pin.Step
	if name := prebuiltModule(m, kernel); name != "" {
		steps = append(steps, pin.Run(pin.Sequence(system.Install(name), system.AsRoot("reboot"))).Explained("the module that Ubuntu builds and signs for this kernel"))
	}
	if !m.OnEC2() { // which has no console to confirm it on
		steps = append(steps, enrolment(m, len(steps) > 0)...)
	}
	if len(steps) == 0 {
		steps = append(steps, pin.Say("install the driver's module that the distribution signs for this kernel, then reboot"))
	}
	if m.OnEC2() {
		steps = append(steps, pin.Say("launch from an AMI whose UEFI data has the key, or that is registered without Secure Boot").Instead())
	} else if m.Facts.Machine.SecureBoot == "on" {
		steps = append(steps, pin.Say("turn Secure Boot off in the firmware's settings, if your policy allows that").Instead())
	}
	if s.EnforcedFrom == "/proc/cmdline" {
		steps = append(steps, pin.Say("remove module.sig_enforce from the kernel's command line, if your policy allows that").Instead())
	}
	return steps
}

// enrolment returns the steps that make the kernel trust the key of this system's own modules. The firmware asks for
// confirmation on the console at the next start, and a cloud instance may have no console.
func enrolment(m *model.Machine, other bool) []pin.Step {
	s, system := m.Facts.Machine.Signatures, pins.HostSystem(m)
	run := func(command, why string) pin.Step {
		step := pin.Run(pin.Sequence(command, system.AsRoot("reboot"))).Explained(why)
		if other {
			return step.Instead()
		}
		return step
	}
	switch {
	case s.Enrolled == "yes":
		return []pin.Step{run(system.AsRoot("mokutil", "--trust-mok"),
			"the key is enrolled, but this kernel does not use enrolled keys for modules; confirm it on the console at the next start")}
	case s.Key == "" || m.Facts.Machine.SecureBoot != "on":
		return nil
	case s.Signed == "no":
		step := pin.Say("build the module again, so that DKMS or akmods sign it with " + pin.Word(s.Key))
		if other {
			step = step.Instead()
		}
		return []pin.Step{step, pin.Run(pin.Sequence(system.AsRoot("mokutil", "--import", s.Key), system.AsRoot("reboot"))).
			Explained("enrols that key; confirm it on the console at the next start")}
	}
	return []pin.Step{run(system.AsRoot("mokutil", "--import", s.Key), "enrols the key of this system's modules; confirm it on the console at the next start")}
}
