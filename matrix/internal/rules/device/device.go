// Package device contains the rules about devices: the nodes in /dev, the GPUs, their health, number and modes, and
// what connects them, such as NVLink, IMEX channels and EFA adapters.
//
// The driver's own faults are in package driver.
package device

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

var toolkitSource = []string{
	"https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/troubleshooting.html",
}

func evidenceNode(n facts.Node) verdict.Evidence {
	opens := n.Access
	if n.Open != "" && n.Open != "ok" { // which asks more than access(2)
		opens = n.Open
	}
	return verdict.Evidence{Fact: n.Path, Value: opens + ", mode " + strings.TrimPrefix(n.Mode, "D"), From: n.Path}
}

// AccessLost reports device nodes that the device control group refuses. NVIDIA's hook adds the GPU to that group
// without telling systemd or the engine, so `systemctl daemon-reload` rewrites the group without the GPU, and a working
// container loses it (nvidia-container-toolkit issue 48). A container that never had access looks the same, so the
// message names both causes.
func AccessLost(m *model.Machine) []*rule.Result {
	// Slurm refuses single GPUs on purpose, and so does the parent of MIG devices.
	nodes := slices.DeleteFunc(slices.Clone(m.Facts.Devices.Nodes), func(n facts.Node) bool {
		return n.Path != hardware.ControlNode && n.Path != hardware.MemoryNode
	})
	// Without the driver's libraries no program here can use the nodes, whatever their access.
	if !m.NodesJudged() || len(nodes) == 0 || len(m.Facts.Driver.Libraries) == 0 && !m.CompatTaken() {
		return nil
	}
	// EPERM on a node whose mode allows access comes from the device cgroup; a wrong mode gives EACCES. The error is
	// from access(2) or open(2). Only NVML opens the control node: opening /dev/nvidia0 would power up the GPU. NVML
	// never opens nvidia-uvm.
	lost := slices.IndexFunc(nodes, func(n facts.Node) bool {
		return (n.Access == "EPERM" || n.Open == "EPERM") && (n.Path == hardware.MemoryNode || !m.DriverAnswers())
	})
	if lost < 0 {
		return rule.Pass("driver")
	}
	return rule.ReportFinding(verdict.Finding{Severity: verdict.Error, Subject: "driver", Source: toolkitSource,
		Message: "access to the GPU was lost (systemd daemon-reload) or never granted: " + nodes[lost].Path +
			" is there, and opening it is refused (EPERM)",
		Need:     "access to " + nodes[lost].Path,
		Evidence: []verdict.Evidence{evidenceNode(nodes[lost]), {Fact: "NVML", Value: m.Facts.Driver.NVML.Message, From: m.NVMLFrom()}},
		Steps: []pin.Step{pin.Say("restart the container to get access back"),
			pin.Say("to keep it, give the devices to the engine itself (`docker run --device nvidia.com/gpu=all`, or --device for each node), or set the cgroup driver of Docker's daemon.json to cgroupfs")}})
}

// Permission reports nodes whose modes exclude this user. The driver makes them with mode 0666 unless
// NVreg_DeviceFileMode or a udev rule changes it. A rootless container drops its user's groups, and a mount with nodev
// refuses all nodes.
func Permission(m *model.Machine) []*rule.Result {
	if !m.NodesJudged() || len(m.Facts.Devices.Nodes) == 0 {
		return nil
	}
	gpus := m.GPUNodes()
	shut := slices.DeleteFunc(slices.Clone(m.Facts.Devices.Nodes), func(n facts.Node) bool {
		// NVML does not open nvidia-uvm, so its answer says nothing about that node.
		return n.Access != "EACCES" || n.Path != hardware.MemoryNode && (n.Path != hardware.ControlNode || m.DriverAnswers())
	})
	// A scheduler excludes some GPUs on purpose, but nobody gets a machine on which all of them are excluded.
	if refused := slices.DeleteFunc(slices.Clone(gpus),
		func(n facts.Node) bool { return n.Access != "EACCES" }); len(refused) == len(gpus) {
		shut = append(shut, refused...) // some of the GPUs: a scheduler's choice
	}
	if len(shut) == 0 {
		return rule.Pass("driver")
	}
	return rule.ReportFinding(verdict.Finding{Severity: verdict.Error, Subject: "driver",
		Source:   []string{"https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/"},
		Message:  "this user may not open " + shut[0].Path + " (EACCES)",
		Need:     "read and write permission on the nodes /dev/nvidia*",
		Evidence: []verdict.Evidence{evidenceNode(shut[0])},
		Steps:    openingSteps(m, shut[0])})
}

// openingSteps returns the steps that let a user open the nodes. In a rootless container the user's groups are gone.
func openingSteps(m *model.Machine, shut facts.Node) []pin.Step {
	if m.Facts.System.Container != "" {
		return []pin.Step{pin.Say("start a rootless container with `podman run --group-add keep-groups`; a mount with the option nodev refuses every device on it"), pin.Say("run as a user of the group that owns " + pin.Word(shut.Path) + " on the host").Instead()}
	}
	setter := pin.Run("grep -rs nvidia /etc/modprobe.d /etc/udev/rules.d").Explained("shows what closes them, an option NVreg_DeviceFile… of the module or a rule of udev: without it every user may open them after a reboot")
	if groupOpens(shut) {
		return []pin.Step{pin.Say("run as a user of the group that owns the nodes (`ls -l /dev/nvidia*`)"), setter.Instead()}
	}
	return []pin.Step{setter, pin.Say("if they are closed on purpose, run as a user who may open them").Instead()}
}

// groupOpens reports whether a node's mode ("Dcrw-rw----") admits its group. It is true if the mode is unknown.
func groupOpens(n facts.Node) bool { return len(n.Mode) < 7 || n.Mode[5:7] == "rw" }

// NodesMissing reports a running driver whose device nodes are not all there. The kernel module does not make
// them. On a host, udev or the setuid nvidia-modprobe does; in a container, its runtime did when it started.
func NodesMissing(m *model.Machine) []*rule.Result {
	if !m.NodesJudged() || !m.Driver().Loaded {
		return nil
	}
	if f := deadNode(m); f != nil {
		return rule.ReportFinding(*f)
	}
	missing := missingNodes(m)
	switch {
	case missing == nil:
		return nil
	case len(missing) == 0:
		return rule.Pass("driver")
	}
	f := verdict.Finding{Severity: verdict.Error, Subject: "driver",
		Message: verdict.JoinAnd(missing) + " " + verdict.Plural(len(missing), "is", "are") + " missing, although the driver runs",
		Need:    verdict.JoinAnd(missing), Evidence: []verdict.Evidence{m.EvidenceDriver(),
			{Fact: "nvidia-modprobe", Value: m.Facts.Devices.Modprobe, From: "/usr/bin"}},
		Source: toolkitSource}
	hindrance := m.Facts.Devices.Hindrance
	if m.TriedInVain() {
		hindrance = cmp.Or(hindrance, "NVML tried, and may not open what it makes (NVML error 4)")
	}
	if m.OwnNodes() && hindrance != "" {
		f.Message += ", and nobody here can make " + verdict.Plural(len(missing), "it", "them") + ": " + hindrance
		f.Steps = []pin.Step{pin.Say("run `sudo nvidia-smi -L && sudo nvidia-modprobe -u -c 0` from a shell of the host after each boot: this process may not make them")}
		return rule.ReportFinding(f)
	}
	if m.OwnNodes() {
		f.Message += fmt.Sprintf(", and nvidia-modprobe, which makes them for programs, is %s", m.Facts.Devices.Modprobe)
		f.Steps = nodeSteps(m)
		return rule.ReportFinding(f)
	}
	f.Message = verdict.JoinAnd(missing) + " " + verdict.Plural(len(missing), "is", "are") + " missing from this container, although the driver runs"
	f.Evidence = append(f.Evidence[:1], verdict.Evidence{Fact: "NVIDIA_VISIBLE_DEVICES",
		Value: m.Facts.Variables["NVIDIA_VISIBLE_DEVICES"], From: "environment"})
	f.Steps = []pin.Step{pin.Say("run `sudo nvidia-smi -L && sudo nvidia-modprobe -u -c 0` on the host, then start the container again with its GPU (`docker run --gpus all`)")}
	return rule.ReportFinding(f)
}

// nodeSteps returns the steps that make a host's nodes. On Debian, on Ubuntu and in NVIDIA's repository,
// nvidia-modprobe is a package of its own (https://packages.debian.org/stable/nvidia-modprobe, and NVIDIA's driver
// installation guide).
func nodeSteps(m *model.Machine) []pin.Step {
	again := pin.Run(makeNodes(m)).Explained("by hand, after every boot")
	install := pins.HostSystem(m).Install("nvidia-modprobe")
	switch {
	case m.Facts.Devices.Modprobe != "absent":
		return []pin.Step{pin.Say("make nvidia-modprobe setuid root again: programs start it to make the nodes"), again.Instead()}
	case install == "":
		return []pin.Step{pin.Say("install nvidia-modprobe, setuid root: programs start it to make the nodes")}
	}
	return []pin.Step{pin.Run(install).Explained("programs start it to make the nodes")}
}

// makeNodes returns the commands that make the nodes. nvidia-smi, run as root, makes those of the GPUs and the control
// node. nvidia-modprobe -u makes only the unified-memory node
// (https://github.com/NVIDIA/nvidia-modprobe/blob/149440ca/nvidia-modprobe.c).
func makeNodes(m *model.Machine) string {
	return pin.Sequence(pins.HostSystem(m).AsRoot("nvidia-smi", "-L"), pins.HostSystem(m).AsRoot("nvidia-modprobe", "-u", "-c", "0"))
}

// missingNodes returns the device files of GPUs that are missing.
func missingNodes(m *model.Machine) []string {
	if m.OwnNodes() {
		return missingOnHost(m)
	}
	given, asked := m.GivenGPUs()
	elsewhere := m.DriverAnswers() && m.Facts.Devices.Node(hardware.ControlNode) == nil // NVML opened nodes that are not in this /dev
	// Without the driver's libraries, container-driver-libs says why nothing runs.
	if !asked || elsewhere || len(m.Facts.Driver.Libraries) == 0 {
		return nil
	}
	missing := []string{}
	if !m.DriverAnswers() && m.Facts.Devices.Node(hardware.ControlNode) == nil {
		missing = append(missing, hardware.ControlNode)
	}
	if nodes := len(m.GPUNodes()); !m.DriverAnswers() && nodes < max(given, 1) {
		missing = append(missing, gpuNodesMissing(nodes, given))
	}
	// A container has no nvidia-modprobe that could make nvidia-uvm when CUDA first needs it. With only the capability
	// utility there is no libcuda, and nothing would open the node.
	if m.Library("libcuda") != nil && m.Facts.Devices.Node(hardware.MemoryNode) == nil {
		missing = append(missing, hardware.MemoryNode)
	}
	return missing
}

// gpuNodesMissing says how many GPU nodes are missing.
func gpuNodesMissing(nodes, given int) string {
	if given < 2 {
		return "a GPU's node (/dev/nvidia0 or another number)"
	}
	return fmt.Sprintf("a node for every GPU (%d of %d exist)", nodes, given)
}

// missingOnHost lists the nodes missing on a host. A node that is made when a program first needs it is not missing if
// something can make it: root, the setuid nvidia-modprobe, or udev. Facts of an older schema record only
// nvidia-modprobe.
func missingOnHost(m *model.Machine) []string {
	maker := m.Facts.Devices.Maker
	if maker == "" && m.Facts.Devices.Modprobe != "setuid" && m.Facts.Devices.Modprobe != "" {
		maker = "nobody"
	}
	if m.TriedInVain() {
		maker = "nobody"
	}
	if maker == "" || !m.WantsGPU() || len(m.GPUs) == 0 {
		return nil
	}
	missing := []string{}
	if m.NodesElsewhere() || maker != "nobody" {
		return missing
	}
	if !m.DriverAnswers() && m.Facts.Devices.Node(hardware.ControlNode) == nil {
		missing = append(missing, hardware.ControlNode)
	}
	if !m.DriverAnswers() && len(m.GPUNodes()) == 0 {
		missing = append(missing, "/dev/nvidia0")
	}
	if m.Facts.Devices.Maker != "" && m.Facts.Devices.Node(hardware.MemoryNode) == nil {
		missing = append(missing, hardware.MemoryNode)
	}
	return missing
}

// deadNode reports a node that leads to no driver. Its major number is not the one that the driver got when its module
// was loaded, as in a container or image that kept the nodes of an earlier boot; or the driver refuses to open it.
func deadNode(m *model.Machine) *verdict.Finding {
	for _, n := range m.Facts.Devices.Nodes {
		major := majorOf(m, n.Path)
		stale := n.Major != 0 && major != 0 && n.Major != major
		refused := slices.Contains([]string{"ENXIO", "EIO", "ENODEV"}, n.Open)
		if !stale && !refused || n.Path == hardware.ControlNode && m.DriverAnswers() {
			continue
		}
		f := &verdict.Finding{Severity: verdict.Error, Subject: "driver", Source: toolkitSource, Need: n.Path + " that leads to the driver",
			Message:  fmt.Sprintf("%s cannot be opened (%s): no driver is behind it", n.Path, n.Open),
			Evidence: []verdict.Evidence{evidenceNode(n), m.EvidenceDriver()},
			Steps: []pin.Step{pins.OnHost(m, pin.Sequence(pins.HostSystem(m).AsRoot("modprobe", "nvidia-uvm"), makeNodes(m))),
				pin.Say("if it stays, read the kernel's log (`sudo dmesg`): it says why the driver refuses")}}
		if stale {
			f.Message = fmt.Sprintf("%s has the major number %d, and the driver's is %d: it leads to no driver", n.Path, n.Major, major)
			f.Evidence[0].Value = fmt.Sprintf("major %d", n.Major)
			f.Evidence[1] = verdict.Evidence{Fact: "driver's major", Value: fmt.Sprint(major), From: "/proc/devices"}
			f.Steps = []pin.Step{pin.Say("start the container again with its GPU, so that it gets the nodes of this boot")}
			if m.Facts.System.Container == "" {
				f.Steps = []pin.Step{pin.Run(pin.Sequence(pins.HostSystem(m).AsRoot("rm", n.Path), makeNodes(m))).Explained("makes the nodes of this boot")}
			}
		}
		return f
	}
	return nil
}

// majorOf returns the major number that /proc/devices gives for a node, or 0 if it is unknown.
func majorOf(m *model.Machine, node string) int {
	majors := m.Facts.Devices.Majors
	switch {
	case node == hardware.MemoryNode:
		return majors["nvidia-uvm"]
	case strings.HasPrefix(node, "/dev/nvidia-caps/"):
		return majors["nvidia-caps"]
	case node == hardware.ControlNode || strings.Trim(strings.TrimPrefix(node, "/dev/nvidia"), "0123456789") == "":
		return cmp.Or(majors["nvidia"], majors["nvidia-frontend"])
	}
	return 0
}
