package driver

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/internal/rules/rule"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

var fabricSource = []string{"https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/"}

// FabricManager reports a fabric that is not programmed. On boards with NVSwitch, CUDA starts only after that (error
// 802 until then): an error. NVML's answer takes precedence. An instance whose row needs no fabric manager, and a rack
// whose fabric is managed elsewhere, are never judged.
func FabricManager(m *model.Machine) []*rule.Result {
	if m.Target.Driver != "" || fabricElsewhere(m) || m.Facts.System.WSL || m.Jetson() {
		return nil
	}
	if m.Facts.System.Rest {
		return fabricOfInstance(m) // whether the package is there does not depend on the module
	}
	judge := fabricOfInstance
	if m.Target.Instance == "" {
		judge = fabricLive
	}
	results := judge(m)
	for _, r := range results { // a driver that does not answer cannot report the fabric's state
		r.Rests = []verdict.LinkName{verdict.LinkGPU, verdict.LinkModule, verdict.LinkAnswers}
	}
	return results
}

// fabricOfInstance judges the files by the instance's row. Files do not show switches, so only the row shows that the
// daemon is needed.
func fabricOfInstance(m *model.Machine) []*rule.Result {
	if m.Instance == nil || m.Instance.FabricManager != "yes" {
		return nil
	}
	return fabricAtRest(m)
}

// fabricElsewhere reports whether no fabric manager belongs on this machine: a single GPU of a board (p5.4xlarge), PCIe
// cards (g5, g6), or GB200 and GB300, whose switches belong to the rack and whose nodes need IMEX (error 800).
func fabricElsewhere(m *model.Machine) bool {
	if m.Instance != nil && (m.Instance.FabricManager == "no" || m.Instance.IMEX == "yes") {
		return true
	}
	return slices.ContainsFunc(m.Present, func(g hardware.GPU) bool {
		return strings.Contains(g.Label, "GB200") ||
			strings.Contains(g.Label, "GB300")
	})
}

// fabricLive judges a running machine: by NVML if it reports the fabric's state (H100 and newer), otherwise by the
// daemon.
func fabricLive(m *model.Machine) []*rule.Result {
	switch state := fabricState(m); {
	case state == "completed":
		return fabricCompleted(m)
	case state == "not started" || state == "in progress":
		return fabricPending(m, state)
	// The daemon runs on the host, and a container does not see the host's processes. The NVML of an A100 reports no
	// fabric state.
	case m.Facts.System.Container != "":
		if m.Facts.Machine.Fabric.Switches > 0 {
			return rule.ReportMissing("fabric", verdict.Question("whether the host's fabric manager runs"))
		}
		return nil
	// g5, g6 and p5.4xlarge need no daemon. If its unit is installed, it finds nothing to do and stops.
	case !needsDaemon(m) || len(m.GPUs) == 0:
		return nil
	}
	fabric := m.Facts.Machine.Fabric
	switch {
	case fabric.Running == "no":
		return rule.ReportFinding(fabricFinding(m, "NVSwitch is present, but the fabric manager does not run", "nvidia-fabricmanager running",
			verdict.Evidence{Fact: "fabric manager", Value: cmp.Or(fabric.Manager, "not installed"), From: "/proc"}, fabricInstall(m)))
	// With hidepid, /proc shows only this user's processes.
	case fabric.Running == "" || !m.Looked("fabric"):
		return rule.ReportMissing("fabric", verdict.Question("whether the fabric manager runs: processes of other users are hidden"))
	}
	if missing := fourthGeneration(m, true); missing != nil {
		return rule.ReportFinding(*missing)
	}
	return fabricVersion(m)
}

// fabricState returns the worst fabric state that NVML reports for a GPU. It returns "" for "not supported" and for no
// answer. One GPU outside the fabric is enough to fail a job on all of them.
func fabricState(m *model.Machine) string {
	if state := m.FabricWaits(); state != "" {
		return state
	}
	if slices.ContainsFunc(m.Facts.GPUs, func(g facts.GPU) bool { return g.Health != nil && g.Health.Fabric == "completed" }) {
		return "completed"
	}
	return ""
}

// fabricCompleted judges a finished registration with the fabric: one that ended in an error, which waiting does not
// fix, or a degraded fabric.
func fabricCompleted(m *model.Machine) []*rule.Result {
	for _, g := range m.Facts.GPUs {
		if g.Health == nil || g.Health.Fabric != "completed" {
			continue
		}
		if status := g.Health.FabricStatus; status != "" && status != "success" {
			return rule.ReportFinding(fabricFinding(m, "the GPUs' registration with the NVLink fabric failed: "+status, "fabric status success",
				verdict.Evidence{Fact: "fabric status", Value: status, From: m.NVMLFrom()}, fabricRestart(m)))
		}
		if len(g.Health.FabricFaults) > 0 {
			faults := strings.Join(g.Health.FabricFaults, ", ")
			f := fabricFinding(m, "the NVLink fabric works and is not healthy: "+faults, "a healthy fabric",
				verdict.Evidence{Fact: "fabric health", Value: faults, From: m.NVMLFrom()}, fabricRestart(m))
			f.Severity = verdict.Warning
			return rule.ReportFinding(f)
		}
	}
	return rule.Pass("fabric")
}

// fabricRestart returns the step that restarts the daemon.
func fabricRestart(m *model.Machine) []pin.Step {
	return []pin.Step{pins.OnHost(m, pins.HostSystem(m).AsRoot("systemctl", "restart", "nvidia-fabricmanager")),
		pin.Say("if it fails again, read /var/log/fabricmanager.log on the host")}
}

// needsDaemon reports whether the machine has switches of its own, on its bus or by its instance's row. It does not
// count switches that are passed through to a virtual machine, because that machine programs them.
func needsDaemon(m *model.Machine) bool {
	return m.Facts.Machine.Fabric.Switches > 0 || m.Instance != nil && m.Instance.FabricManager == "yes"
}

// fabricPending judges a registration that is not complete. That is normal for a while after boot, and a failure later.
// If the time of boot is unknown, as in a pasted report, the answer is open. The usual cause is a version mismatch, so
// that is reported first.
func fabricPending(m *model.Machine, state string) []*rule.Result {
	if lack := m.FabricPending(); lack.IsMissing() {
		return rule.ReportOpen("fabric", lack)
	}
	// The daemon runs on the host. Packages in a container do not show its version.
	if m.Facts.System.Container == "" {
		if results := fabricVersion(m); len(results) > 0 && results[0].Finding != nil {
			return results
		}
	}
	return rule.ReportFinding(fabricFinding(m, "the GPUs have not joined the NVLink fabric: "+state, "fabric state completed",
		verdict.Evidence{Fact: "fabric state", Value: state, From: m.NVMLFrom()},
		fabricRestart(m)))
}

// fabricFinding returns a finding that shows the driver's release too, because driver and daemon must have the same
// one.
func fabricFinding(m *model.Machine, message, need string, seen verdict.Evidence, steps []pin.Step) verdict.Finding {
	return verdict.Finding{Severity: verdict.Error, Subject: "fabric", Message: message, Need: need,
		Evidence: []verdict.Evidence{seen, m.EvidenceDriver()}, Steps: steps, Source: fabricSource}
}

// fabricAtRest judges the files of an image for an instance that needs the daemon.
func fabricAtRest(m *model.Machine) []*rule.Result {
	fabric := m.Facts.Machine.Fabric
	switch {
	case !m.Facts.System.Rest || !m.Looked("fabric") ||
		slices.ContainsFunc(m.Facts.Machine.Installers, func(i facts.Installer) bool { return i.Kind == "driver-container" }):
		return rule.ReportMissing("fabric", verdict.Question("whether the fabric manager is installed"))
	// Without a driver or a kernel the daemon has nothing to program.
	case !m.Driver().Version.Known() || len(m.Facts.Machine.Kernels) == 0: // an image for containers, or one without a driver
		return nil
	case fabric.Manager == "" && bootBringsManager(m): // and enables it (EKS's setup-nvidia.sh)
		if missing := fourthGeneration(m, false); missing != nil {
			return rule.ReportFinding(*missing)
		}
		return rule.Pass("fabric")
	case fabric.Manager == "" && m.UnseenInstaller() != "":
		return rule.ReportMissing("fabric", verdict.Statement(m.UnseenInstaller()))
	case fabric.Manager == "":
		return rule.ReportFinding(fabricFinding(m, m.Instance.Instance+" has NVSwitch and the fabric manager is not installed",
			"nvidia-fabricmanager "+m.Driver().Version.String(),
			verdict.Evidence{Fact: "fabric manager", Value: "not installed", From: "/usr/bin/nv-fabricmanager"}, fabricInstall(m)))
	}
	if missing := fourthGeneration(m, false); missing != nil {
		return rule.ReportFinding(*missing)
	}
	results := fabricVersion(m)
	if slices.ContainsFunc(results, func(r *rule.Result) bool { return r.Finding != nil }) {
		return results // its steps also enable the daemon
	}
	unseen := slices.ContainsFunc(results, func(r *rule.Result) bool { return r.Missing.IsMissing() })
	if boot := fabricAtBoot(m); boot != nil && (boot[0].Finding != nil || !unseen) {
		return boot
	}
	return results
}

// bootBringsManager reports whether the driver that the boot chooses has its fabric manager with it.
func bootBringsManager(m *model.Machine) bool {
	boot := m.BootDriver()
	return boot != nil && boot.Brings("nv-fabricmanager")
}

// fabricAtBoot checks whether systemd will start an installed daemon, and returns nil if it will. If the unit is not
// enabled it is a warning, because a script may start it. A masked unit cannot be started at all.
func fabricAtBoot(m *model.Machine) []*rule.Result {
	s := pins.HostSystem(m)
	enable := pin.Run(s.AsRoot("systemctl", "enable", "nvidia-fabricmanager"))
	state := m.Facts.Machine.Fabric.AtBoot
	f := fabricFinding(m, m.Instance.Instance+" has NVSwitch and the fabric manager is "+state, "nvidia-fabricmanager enabled",
		verdict.Evidence{Fact: "nvidia-fabricmanager.service", Value: state, From: "/etc/systemd/system"}, []pin.Step{enable})
	switch state {
	case "enabled":
		return nil
	case "masked":
		f.Steps = []pin.Step{pin.Run(s.AsRoot("systemctl", "unmask", "nvidia-fabricmanager")), enable}
	case "disabled":
		f.Severity = verdict.Warning
		f.Message = m.Instance.Instance + " has NVSwitch and the fabric manager is not enabled: it does not start at boot"
	default:
		return rule.ReportMissing("fabric", verdict.Question("whether the fabric manager starts at boot"))
	}
	return rule.ReportFinding(f)
}

// fabricInstall returns the steps that install exactly the driver's release. A package manager would take the newest,
// which may differ.
func fabricInstall(m *model.Machine) []pin.Step {
	s, release := pins.HostSystem(m), m.Driver().Version.String()
	start := pin.Run(s.AsRoot("systemctl", "enable", "--now", "nvidia-fabricmanager"))
	if m.Facts.System.Rest { // nothing runs that could be started
		start = pin.Run(s.AsRoot("systemctl", "enable", "nvidia-fabricmanager"))
	}
	install := s.Install(s.Pattern(fabricPackage(m), release))
	if install == "" || release == "" {
		return []pin.Step{pin.Say(fmt.Sprintf("install %s of exactly driver %s", fabricPackage(m), pin.Quoted(release))), start}
	}
	return []pin.Step{pin.Run(install).Explained("of exactly the driver's release"), start, otherRelease(s, fabricPackage(m))}
}

// fabricPackage returns the name of the daemon's package. NVIDIA's has one name from branch 580 on. Ubuntu's name
// contains the branch.
func fabricPackage(m *model.Machine) string {
	branch, s := m.Driver().Version.Major(), pins.HostSystem(m)
	nvidia := slices.ContainsFunc(m.Facts.Machine.Packages, func(p facts.DriverPackage) bool { return p.Vendor == "nvidia" })
	switch {
	case s.DNF() && branch < 580:
		return "nvidia-fabric-manager"
	case s.Family == "ubuntu" && !nvidia, !s.DNF() && branch < 580:
		return fmt.Sprintf("nvidia-fabricmanager-%d", branch)
	}
	return "nvidia-fabricmanager"
}

// fourthGeneration checks the subnet manager of HGX B200 and B300. nvlsm programs their switches over InfiniBand,
// through the module ib_umad. At rest, ib_umad only has to be installed, because the daemon's start script loads it.
func fourthGeneration(m *model.Machine, live bool) *verdict.Finding {
	if m.Instance == nil || m.Instance.NVLSM != "yes" {
		return nil
	}
	fabric := m.Facts.Machine.Fabric
	lack := ""
	switch {
	case fabric.NVLSM == "":
		lack = "nvlsm"
	case live && fabric.UMAD != "loaded" || fabric.UMAD == "":
		lack = "ib_umad"
	default:
		return nil
	}
	f := fabricFinding(m, m.Instance.Instance+" has NVSwitch of the fourth generation, and "+lack+" is missing",
		"nvidia-fabricmanager, nvlsm and the kernel module ib_umad",
		verdict.Evidence{Fact: lack, Value: "missing", From: "/opt/nvidia/nvlsm, /lib/modules"},
		nvlsmSteps(m, live))
	return &f
}

// nvlsmSteps returns the steps that install the subnet manager, load its module now and at every boot, and restart the
// daemon.
func nvlsmSteps(m *model.Machine, live bool) []pin.Step {
	s := pins.HostSystem(m)
	var steps []pin.Step
	if m.Facts.Machine.Fabric.NVLSM == "" {
		steps = []pin.Step{pin.Say("install nvlsm")}
		if install := s.Install("nvlsm"); install != "" {
			steps = []pin.Step{pin.Run(install)}
		}
	}
	steps = append(steps, pin.Run(s.Write("ib_umad", "/etc/modules-load.d/ib_umad.conf")))
	if live {
		steps = append(steps, pin.Run(pin.Sequence(s.AsRoot("modprobe", "ib_umad"), s.AsRoot("systemctl", "restart", "nvidia-fabricmanager"))))
	}
	return steps
}

// fabricVersion reports a daemon of another release than the driver, which it then refuses. A package's own suffix (-1,
// -0ubuntu0.22.04.1) is not part of the release.
func fabricVersion(m *model.Machine) []*rule.Result {
	fabric := m.Facts.Machine.Fabric
	release, named := hardware.ReleaseIn(fabric.Version)
	// The daemon's release is that of its package. The program is never started to ask for it.
	if failed := m.ProbeFailure("driver-packages"); failed != "" && !named {
		return rule.ReportMissing("fabric", verdict.Statement("the fabric manager's version: "+failed))
	}
	if !named || !m.Driver().Version.Known() {
		return rule.ReportMissing("fabric", verdict.Value("the fabric manager's version"))
	}
	// The daemon exits on any difference ("… interface version 580.95.05 don't match with driver version 580.65.06").
	if release.Compare(m.Driver().Version) == 0 {
		return rule.Pass("fabric")
	}
	return rule.ReportFinding(fabricFinding(m, fmt.Sprintf("the fabric manager is %s but the driver is %s", release, m.Driver().Version),
		"one release for both",
		verdict.Evidence{Fact: "fabric manager", Value: fabric.Version, From: fabric.From}, fabricInstall(m)))
}
