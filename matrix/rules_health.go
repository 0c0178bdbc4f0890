package matrix

import (
	"fmt"
	"slices"

	"cudacompat/pin"
	"cudacompat/probe/facts"
)

// gpuCount: the bus shows fewer GPUs than the instance type has, or NVML fewer than the bus. An error: one that fell
// off the bus comes back only by a reset or on another machine. Containers and jobs see fewer by design.
func gpuCount(m *machine) []*result {
	// A job sees the GPUs that its scheduler gave it; what is said of a named machine says nothing of this one's.
	// A driver that is merely named for this machine leaves its hardware as it is.
	if !m.host() || m.f.System.Rest || m.target.named() || m.f.Machine.Job != "" {
		return nil
	}
	if failed := m.probeFailure("pci"); failed != "" {
		return unknown("GPUs", failed)
	}
	bus := m.onBus()
	source := []string{"https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/accelerated-computing-instances.html"}
	// The row counts the fraction of a GPU that g6f and gr6f have as one.
	if m.instance != nil && m.looked("pci") && len(bus) < m.instance.Count {
		f := Finding{Severity: Error, Subject: "GPUs",
			Message: fmt.Sprintf("%s has %s, but the PCI bus shows %d", m.instance.Instance, gpus(m.instance.Count), len(bus)),
			Need:    gpus(m.instance.Count), Evidence: []Evidence{{Fact: "GPUs on PCI", Value: fmt.Sprint(len(bus)),
				From: "/sys/bus/pci"}},
			Steps:  []pin.Step{pin.Say("stop and start the instance, which moves it to another host; report the old one to AWS")},
			Source: source}
		if len(bus) > 0 {
			return found(f)
		}
		return []*result{{subject: f.Subject, finding: &f, link: LinkGPU}}
	}
	// Other rules say why NVML does not answer; without it there is nothing to compare the bus with.
	if m.f.Driver.NVML.Status != "ok" {
		return nil
	}
	shown := len(slices.DeleteFunc(slices.Clone(m.f.GPUs),
		func(g facts.GPU) bool { return !slices.Contains(g.From, "NVML") }))
	// GPUs of virtual machines, of nouveau, or of a chip that the branch dropped are none that NVML should show.
	should := len(slices.DeleteFunc(slices.Clone(bus), func(g facts.GPU) bool { return !m.driven(g) }))
	lost := m.unshown()
	switch {
	case shown >= should || len(lost) == 0: // an old NVML does not tell addresses
		return holds("GPUs")
	case len(lost) <= len(m.unaskable()): // gpu-health says what each of them has
		return nil
	}
	return found(Finding{Severity: Error, Subject: "GPUs",
		Message: fmt.Sprintf("the driver shows %d of the %s on the PCI bus; it is missing %s at %s", shown, gpus(should),
			m.gpuFound(lost[0]).label, lost[0].Bus),
		Need: "an answer from every GPU on the bus", Evidence: []Evidence{{Fact: lost[0].Bus, Value: "not seen by NVML",
			From: "/sys/bus/pci"}},
		Steps: append(m.lostSteps(), pin.Say("`sudo dmesg | grep -iE 'nvrm|xid'` says why the driver left it out")), Source: source})
}

// unshown are the GPUs on the bus that the driver should show, and does not.
func (m *machine) unshown() []facts.GPU {
	return slices.DeleteFunc(m.onBus(), func(g facts.GPU) bool { return slices.Contains(g.From, "NVML") || !m.driven(g) })
}

func gpus(n int) string {
	if n == 1 {
		return "1 GPU"
	}
	return fmt.Sprintf("%d GPUs", n)
}

// onBus are the GPUs that PCI shows.
func (m *machine) onBus() []facts.GPU {
	return slices.DeleteFunc(slices.Clone(m.f.GPUs),
		func(g facts.GPU) bool { return !slices.Contains(g.From, "/sys/bus/pci") })
}

// driven reports whether the NVIDIA driver should show this GPU: no virtual machine has it, and its branch serves it.
func (m *machine) driven(g facts.GPU) bool {
	return !toVM(g) && !nouveaus(g) && !g.Excluded && m.drivenBy(m.gpuFound(g), m.driver().version)
}

var healthSource = []string{"https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html",
	"https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/error-recovery-and-response-flags.html"}

// persistenceOff: without persistence the driver initialises each GPU again for every program, which takes seconds.
// NVML decides: it reports the mode as on where the daemon keeps the GPU started. A daemon that runs proves nothing,
// because Ubuntu's unit starts it with --no-persistence-mode (man nvidia-persistenced). In a container the host
// decides. A note: everything works, and a first call that takes half a minute on eight GPUs is taken for a hang.
func persistenceOff(m *machine) []*result {
	if !m.host() || m.f.System.Rest || m.target.Driver != "" || m.target.Instance != "" ||
		m.f.Driver.NVML.Status != "ok" {
		return nil
	}
	asked := false
	for _, g := range m.f.GPUs {
		if g.Health == nil || g.Health.Persistence == "" {
			continue
		}
		asked = true
		if g.Health.Persistence == "off" {
			return found(m.withoutPersistence())
		}
	}
	if !asked {
		return nil
	}
	return holds("GPUs")
}

func (m *machine) withoutPersistence() Finding {
	f := Finding{Severity: Note, Subject: "GPUs", Need: "persistence mode on",
		Message:  "persistence mode is off: the driver initialises the GPUs again for every program",
		Evidence: []Evidence{{Fact: "persistence mode", Value: "off", From: "NVML"}},
		Steps: []pin.Step{pin.Run("sudo systemctl enable --now nvidia-persistenced"),
			pin.Run("sudo nvidia-smi -pm 1").That("until the next boot").Instead()},
		Source: []string{"https://docs.nvidia.com/deploy/driver-persistence/"}}
	// The daemon runs and leaves the mode off, so starting it does not help: its unit has the option.
	if m.f.Machine.Persistenced {
		f.Evidence = append(f.Evidence, Evidence{Fact: "nvidia-persistenced", Value: "running", From: "/proc"})
		f.Steps = []pin.Step{pin.Run("sudo nvidia-smi -pm 1"),
			pin.Say("to keep it on, remove --no-persistence-mode from nvidia-persistenced.service")}
	}
	return f
}
