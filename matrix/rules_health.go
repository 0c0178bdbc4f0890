package matrix

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cudacompat/probe/facts"
)

// gpuCount: the bus shows fewer GPUs than the instance type has, or NVML fewer than the bus. An error: one that fell
// off the bus comes back only by a reset or on another machine. Containers and jobs see fewer by design.
func gpuCount(m *machine) []*result {
	// A job sees the GPUs that its scheduler gave it; what is said of a named machine says nothing of this one's.
	if !m.host() || m.f.System.Rest || m.target.Driver != "" || m.target.Instance != "" || len(m.target.GPUs) > 0 ||
		m.f.Machine.Job != "" {
		return nil
	}
	if failed := m.probeFailure("pci"); failed != "" {
		return unknown("GPUs", failed)
	}
	bus := m.onBus()
	source := []string{"https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/accelerated-computing-instances.html"}
	// The row counts the fraction of a GPU that g6f and gr6f have as one.
	if m.instance != nil && m.looked("pci") && len(bus) < m.instance.Count {
		return found(Finding{Severity: Error, Subject: "GPUs",
			Message: fmt.Sprintf("%s has %s, but the PCI bus shows %d", m.instance.Instance, gpus(m.instance.Count), len(bus)),
			Need:    gpus(m.instance.Count), Evidence: []Evidence{{Fact: "GPUs on PCI", Value: fmt.Sprint(len(bus)),
				From: "/sys/bus/pci"}},
			Do:     []string{"stop and start the instance, which moves it to another host; report the old one to AWS"},
			Source: source})
	}
	// Other rules say why NVML does not answer; without it there is nothing to compare the bus with.
	if m.f.Driver.NVML.Status != "ok" {
		return nil
	}
	shown := len(slices.DeleteFunc(slices.Clone(m.f.GPUs),
		func(g facts.GPU) bool { return !slices.Contains(g.From, "NVML") }))
	// GPUs of virtual machines, of nouveau, or of a chip that the branch dropped are none that NVML should show.
	should := len(slices.DeleteFunc(slices.Clone(bus), func(g facts.GPU) bool { return !m.driven(g) }))
	lost := slices.DeleteFunc(bus, func(g facts.GPU) bool { return slices.Contains(g.From, "NVML") || !m.driven(g) })
	if shown >= should || len(lost) == 0 { // an old NVML does not tell addresses
		return holds("GPUs")
	}
	return found(Finding{Severity: Error, Subject: "GPUs",
		Message: fmt.Sprintf("the driver shows %d of the %s on the PCI bus; it is missing %s at %s", shown, gpus(should),
			m.gpuFound(lost[0]).label, lost[0].Bus),
		Need: "an answer from every GPU on the bus", Evidence: []Evidence{{Fact: lost[0].Bus, Value: "not seen by NVML",
			From: "/sys/bus/pci"}},
		Do: []string{"sudo dmesg | grep -iE 'nvrm|xid' says why the driver left it out; reboot, and if it stays " +
			"missing, replace the machine"}, Source: source})
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
	return !toVM(g) && !nouveaus(g) && m.drivenBy(m.gpuFound(g), m.driver.version)
}

var healthSource = []string{"https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html",
	"https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/error-recovery-and-response-flags.html"}

// gpuHealth: what NVML and the kernel's log say of broken hardware, one finding a GPU and kind. Errors but for a
// pending remap: memory cannot be trusted, the GPU is out of use, or its cooling or power fails.
func gpuHealth(m *machine) []*result {
	// What is said of a named machine says nothing of the health of this one's GPUs.
	if m.f.System.Rest || m.target.Driver != "" || m.target.Instance != "" || len(m.target.GPUs) > 0 {
		return nil
	}
	var results []*result
	asked := false
	for _, g := range m.f.GPUs {
		if g.Health != nil {
			asked = true
			results = append(results, m.healthOf(g)...)
		}
	}
	results = append(results, m.xidFindings()...)
	if len(results) == 0 && asked {
		return holds("GPUs")
	}
	return results
}

// healthOf judges one GPU's state. Corrected errors, a power cap, clocks of an idle GPU and the driver's own thermal
// control are everyday life.
func (m *machine) healthOf(g facts.GPU) []*result {
	label := m.gpuFound(g).label + " at " + cmp.Or(g.Bus, "an unknown address")
	var results []*result
	say := func(severity Severity, message, need, value, do string) {
		results = append(results, found(Finding{Severity: severity, Subject: label, Message: message,
			Need:     need,
			Evidence: []Evidence{{Fact: g.Bus, Value: value, From: "NVML"}}, Do: []string{do}, Source: healthSource})...)
	}
	h := g.Health
	// A failed remap is what NVIDIA's RMA thresholds for row-remapping ask about (the memory error guide): an error.
	if h.RemapFailure {
		say(Error, "a broken memory row could not be replaced", "no row-remap failure", "row-remap failure",
			"replace the GPU or the machine (on EC2: stop and start the instance)")
	}
	// Volatile counts start again with the driver, so these belong to what runs now.
	if h.Uncorrectable > 0 {
		say(Error, fmt.Sprintf("%d uncorrectable memory errors since the driver was loaded", h.Uncorrectable),
			"no uncorrectable memory errors",
			fmt.Sprintf("%d volatile uncorrectable ECC errors", h.Uncorrectable),
			"stop what runs on it and reset it (nvidia-smi --gpu-reset) or reboot; if the errors return, replace it")
	}
	// The row is replaced at the next reset. Until then the driver keeps its page out of use, what runs goes on and new
	// programs may start (NVIDIA's memory error guide): a warning.
	if h.RemapPending && !h.RemapFailure {
		say(Warning, "a memory row will be replaced at the next reset", "no pending row remap", "row remap pending",
			"drain it, then reset it (nvidia-smi --gpu-reset) or reboot")
	}
	hard := slices.DeleteFunc(slices.Clone(h.Slowdown), func(s string) bool { return !slices.Contains(hardSlowdowns, s) })
	if len(hard) > 0 {
		say(Error, "the hardware slows it down ("+strings.Join(hard, ", ")+")", "no hardware slowdown",
			"slowdown: "+strings.Join(hard, ", "),
			"check cooling and power; nvidia-smi -q -d PERFORMANCE,TEMPERATURE shows more")
	}
	return results
}

// hardSlowdowns are the reasons that only too little cooling or power gives. "software thermal", "power cap" and "idle"
// are the driver's own care for a sound GPU.
var hardSlowdowns = []string{"hardware", "hardware thermal", "power brake"}

// xidFindings: Xids after which a GPU needs a reset, a reboot or a replacement; each number once. Those that a program
// can cause, or that say nothing by themselves, are left out. A line is of this load of the driver: those before it are
// left out by the probe.
func (m *machine) xidFindings() []*result {
	var results []*result
	var said []int
	for _, line := range m.f.Machine.Xids {
		x := m.t.Xid(line)
		// 13, 31, 43 and 45 are most often the program's; after 63, 92 and 94 the GPU goes on by itself. 8, 32, 69 and 109
		// prove nothing by themselves either (column "alone" of xid.csv).
		if x == nil || !slices.Contains(repairs, x.Action) || x.Alone == "no" || slices.Contains(said, x.Xid) {
			continue
		}
		said = append(said, x.Xid)
		results = append(results, found(Finding{Severity: Error, Subject: "GPUs",
			Message:  fmt.Sprintf("the kernel log has Xid %d: %s", x.Xid, x.Meaning),
			Need:     "no such Xid since the driver was loaded",
			Evidence: []Evidence{{Fact: "kernel log", Value: line, From: "/dev/kmsg"}},
			Do:       []string{repairSteps[x.Action]}, Source: x.Source})...)
	}
	return results
}

// repairSteps are by the catalogue's action (xid.csv).
var repairSteps = map[string]string{
	"reset-gpu": "stop what runs on the GPU and reset it (nvidia-smi --gpu-reset), or reboot; if it happens again, " +
		"replace the GPU or the machine",
	"restart-machine": "reboot the machine; if it happens again, replace the GPU or the machine",
	"contact-support": "replace the GPU or the machine (on EC2: stop and start the instance), and tell its vendor",
}

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
		Do:       []string{"sudo systemctl enable --now nvidia-persistenced, or: sudo nvidia-smi -pm 1"},
		Source:   []string{"https://docs.nvidia.com/deploy/driver-persistence/"}}
	// The daemon runs and leaves the mode off, so starting it does not help: its unit has the option.
	if m.f.Machine.Persistenced {
		f.Evidence = append(f.Evidence, Evidence{Fact: "nvidia-persistenced", Value: "running", From: "/proc"})
		f.Do = []string{"sudo nvidia-smi -pm 1; to keep it on, remove --no-persistence-mode from " +
			"nvidia-persistenced.service"}
	}
	return f
}

// repairs are the catalogue's actions that bring a GPU back; "restart-program" is not among them, because then the
// program was to blame, or the GPU went on by itself.
var repairs = []string{"reset-gpu", "restart-machine", "contact-support"}
