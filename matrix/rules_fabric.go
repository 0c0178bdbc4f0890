package matrix

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cudacompat/pin"
	"cudacompat/probe/facts"
)

var fabricSource = []string{"https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/"}

// fabricManager: on boards with NVSwitch CUDA starts only when the fabric is programmed (error 802 until then): an
// error. What NVML says of it goes before everything; a row that needs none, and racks whose fabric is managed
// elsewhere, are never judged.
func fabricManager(m *machine) []*result {
	if m.target.Driver != "" || m.fabricElsewhere() || m.f.System.WSL || m.jetson() {
		return nil
	}
	if m.target.Instance == "" && !m.f.System.Rest {
		return m.fabricLive()
	}
	// Files do not show switches, so only the instance's row tells that the daemon is needed.
	if m.instance == nil || m.instance.FabricManager != "yes" {
		return nil
	}
	return m.fabricAtRest()
}

// fabricElsewhere reports whether no fabric manager belongs on this machine: one GPU of a board (p5.4xlarge), PCIe
// cards (g5, g6), GB200 and GB300, whose switches are the rack's and whose nodes need IMEX (error 800).
func (m *machine) fabricElsewhere() bool {
	if m.instance != nil && (m.instance.FabricManager == "no" || m.instance.IMEX == "yes") {
		return true
	}
	return slices.ContainsFunc(m.present, func(g gpu) bool {
		return strings.Contains(g.label, "GB200") ||
			strings.Contains(g.label, "GB300")
	})
}

// fabricLive judges a running machine: by NVML where it tells the fabric's state (H100 and newer), else by the daemon.
func (m *machine) fabricLive() []*result {
	switch state := m.fabricState(); {
	case state == "completed":
		return holds("fabric")
	case state == "not started" || state == "in progress":
		return m.fabricPending(state)
	// The daemon runs on the host, whose processes a container does not see; A100's NVML tells no fabric state.
	case m.f.System.Container != "":
		if m.f.Machine.Fabric.Switches > 0 {
			return unknown("fabric", "whether the host's fabric manager runs")
		}
		return nil
	// g5, g6 and p5.4xlarge need no daemon: where its unit is installed it finds nothing to do and stops.
	case !m.needsDaemon() || len(m.gpus) == 0:
		return nil
	}
	fabric := m.f.Machine.Fabric
	switch {
	case fabric.Running == "no":
		return found(m.fabricFinding("NVSwitch is present, but the fabric manager does not run", "nvidia-fabricmanager running",
			Evidence{Fact: "fabric manager", Value: cmp.Or(fabric.Manager, "not installed"), From: "/proc"}, m.fabricInstall()))
	// With hidepid, /proc shows only this user's processes.
	case fabric.Running == "" || !m.looked("fabric"):
		return unknown("fabric", "whether the fabric manager runs: processes of other users are hidden")
	}
	if missing := m.fourthGeneration(true); missing != nil {
		return found(*missing)
	}
	return m.fabricVersion()
}

// fabricState is the worst that NVML says of the GPUs' fabric; "not supported" and silence are both "". One GPU outside
// the fabric is enough to fail a job over all of them.
func (m *machine) fabricState() string {
	worst := ""
	for _, g := range m.f.GPUs {
		if g.Health == nil {
			continue
		}
		switch g.Health.Fabric {
		case "not started", "in progress":
			return g.Health.Fabric
		case "completed":
			worst = "completed"
		}
	}
	return worst
}

// needsDaemon reports whether the machine has switches of its own, on its bus or by its instance's row. Switches that
// are passed through to a virtual machine are that one's to program, and are not counted.
func (m *machine) needsDaemon() bool {
	return m.f.Machine.Fabric.Switches > 0 || m.instance != nil && m.instance.FabricManager == "yes"
}

// registerSeconds is how long after boot, in seconds, a fabric may be in the making: five minutes.
const registerSeconds = 300

// fabricPending: registration takes a while after boot, and until then "in progress" is normal; then it has failed. A
// version that does not fit is the usual cause, so it is said first.
func (m *machine) fabricPending(state string) []*result {
	if m.f.Machine.Uptime < registerSeconds {
		return unknown("fabric", "the fabric's state five minutes after boot; now it is "+state)
	}
	// The daemon runs on the host: packages in a container do not tell its version.
	if m.f.System.Container == "" {
		if results := m.fabricVersion(); len(results) > 0 && results[0].finding != nil {
			return results
		}
	}
	return found(m.fabricFinding("the GPUs have not joined the NVLink fabric: "+state, "fabric state completed",
		Evidence{Fact: "fabric state", Value: state, From: "NVML"},
		[]pin.Step{m.onHost(m.hostSystem().AsRoot("systemctl", "restart", "nvidia-fabricmanager")),
			pin.Say("if it fails again, /var/log/fabricmanager.log on the host says why")}))
}

// fabricFinding shows the driver beside what was seen, because both have to be of one release.
func (m *machine) fabricFinding(message, need string, seen Evidence, steps []pin.Step) Finding {
	return Finding{Severity: Error, Subject: "fabric", Message: message, Need: need,
		Evidence: []Evidence{seen, m.evidenceDriver()}, Steps: steps, Source: fabricSource}
}

// fabricAtRest judges files for an instance whose row needs the daemon.
func (m *machine) fabricAtRest() []*result {
	fabric := m.f.Machine.Fabric
	switch {
	case !m.f.System.Rest || !m.looked("fabric") ||
		slices.ContainsFunc(m.f.Machine.Installers, func(i facts.Installer) bool { return i.Kind == "driver-container" }):
		return unknown("fabric", "whether the fabric manager is installed")
	// Without a driver or a kernel the daemon has nothing to program.
	case !m.driver().version.Known() || len(m.f.Machine.Kernels) == 0: // an image for containers, or one without a driver
		return nil
	case fabric.Manager == "":
		return found(m.fabricFinding(m.instance.Instance+" has NVSwitch and the fabric manager is not installed",
			"nvidia-fabricmanager "+m.driver().version.String(),
			Evidence{Fact: "fabric manager", Value: "not installed", From: "/usr/bin/nv-fabricmanager"}, m.fabricInstall()))
	}
	if missing := m.fourthGeneration(false); missing != nil {
		return found(*missing)
	}
	return m.fabricVersion()
}

// fabricInstall names the driver's exact release: the newest, which a package manager would take, need not be that.
func (m *machine) fabricInstall() []pin.Step {
	s, release := m.hostSystem(), m.driver().version.String()
	start := pin.Run(s.AsRoot("systemctl", "enable", "--now", "nvidia-fabricmanager"))
	if m.f.System.Rest { // nothing runs that could be started
		start = pin.Run(s.AsRoot("systemctl", "enable", "nvidia-fabricmanager"))
	}
	install := s.Install(s.Of(m.fabricPackage(), release))
	if install == "" || release == "" {
		return []pin.Step{pin.Say(fmt.Sprintf("install %s of exactly driver %s", m.fabricPackage(), pin.Said(release))), start}
	}
	return []pin.Step{pin.Run(install).That("of exactly the driver's release"), start, otherRelease(s, m.fabricPackage())}
}

// fabricPackage is the daemon's package. NVIDIA's own has one name from branch 580 on; Ubuntu's keeps the branch in it.
func (m *machine) fabricPackage() string {
	branch, s := m.driver().version.Major(), m.hostSystem()
	nvidia := slices.ContainsFunc(m.f.Machine.Packages, func(p facts.DriverPackage) bool { return p.Vendor == "nvidia" })
	switch {
	case s.DNF() && branch < 580:
		return "nvidia-fabric-manager"
	case s.Family == "ubuntu" && !nvidia, !s.DNF() && branch < 580:
		return fmt.Sprintf("nvidia-fabricmanager-%d", branch)
	}
	return "nvidia-fabricmanager"
}

// fourthGeneration: the switches of HGX B200 and B300 are programmed over InfiniBand by a subnet manager of their own,
// nvlsm, through the module ib_umad. At rest ib_umad need only be there: the daemon's start script loads it.
func (m *machine) fourthGeneration(live bool) *Finding {
	if m.instance == nil || m.instance.NVLSM != "yes" {
		return nil
	}
	fabric := m.f.Machine.Fabric
	lack := ""
	switch {
	case fabric.NVLSM == "":
		lack = "nvlsm"
	case live && fabric.UMAD != "loaded" || fabric.UMAD == "":
		lack = "ib_umad"
	default:
		return nil
	}
	f := m.fabricFinding(m.instance.Instance+" has NVSwitch of the fourth generation, and "+lack+" is missing",
		"nvidia-fabricmanager, nvlsm and the kernel module ib_umad",
		Evidence{Fact: lack, Value: "missing", From: "/opt/nvidia/nvlsm, /lib/modules"},
		m.nvlsmSteps(live))
	return &f
}

// nvlsmSteps install the subnet manager, load its module now and at every boot, and start the daemon again.
func (m *machine) nvlsmSteps(live bool) []pin.Step {
	s := m.hostSystem()
	var steps []pin.Step
	if m.f.Machine.Fabric.NVLSM == "" {
		steps = []pin.Step{pin.Say("install nvlsm")}
		if install := s.Install("nvlsm"); install != "" {
			steps = []pin.Step{pin.Run(install)}
		}
	}
	steps = append(steps, pin.Run(s.Write("ib_umad", "/etc/modules-load.d/ib_umad.conf")))
	if live {
		steps = append(steps, pin.Run(pin.All(s.AsRoot("modprobe", "ib_umad"), s.AsRoot("systemctl", "restart", "nvidia-fabricmanager"))))
	}
	return steps
}

// fabricVersion: the daemon refuses a driver of any other release. A package's own suffix (-1, -0ubuntu0.22.04.1) is no
// part of the release.
func (m *machine) fabricVersion() []*result {
	fabric := m.f.Machine.Fabric
	release, named := releaseIn(fabric.Version)
	// The daemon's release is its package's: its program is never started to ask.
	if failed := m.probeFailure("driver-packages"); failed != "" && !named {
		return unknown("fabric", "the fabric manager's version: "+failed)
	}
	if !named || !m.driver().version.Known() {
		return unknown("fabric", "the fabric manager's version")
	}
	// It exits on any difference ("… interface version 580.95.05 don't match with driver version 580.65.06").
	if release.Compare(m.driver().version) == 0 {
		return holds("fabric")
	}
	return found(m.fabricFinding(fmt.Sprintf("the fabric manager is %s but the driver is %s", release, m.driver().version),
		"one release for both",
		Evidence{Fact: "fabric manager", Value: fabric.Version, From: fabric.From}, m.fabricInstall()))
}
