package matrix

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cudacompat/pin"
	"cudacompat/probe/facts"
)

// controlNode is the node that every CUDA program and NVML open first.
const controlNode = "/dev/nvidiactl"

// memoryNode is the node of CUDA's memory management, which NVML does not open.
const memoryNode = "/dev/nvidia-uvm"

var toolkitSource = []string{
	"https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/troubleshooting.html",
}

// driverAnswers reports whether the driver lets a program here see a GPU: stronger than any mode. A node that is
// missing or shut here does not matter then: NVML may have opened another one.
func (m *machine) driverAnswers() bool {
	return m.f.Driver.NVML.Status == "ok" && slices.ContainsFunc(m.f.GPUs,
		func(g facts.GPU) bool { return slices.Contains(g.From, "NVML") })
}

func evidenceNode(n facts.Node) Evidence {
	opens := n.Access
	if n.Open != "" && n.Open != "ok" { // which asks more than access(2)
		opens = n.Open
	}
	return Evidence{Fact: n.Path, Value: opens + ", mode " + strings.TrimPrefix(n.Mode, "D"), From: n.Path}
}

// deviceAccessLost: the nodes are there and the device control group refuses them. NVIDIA's hook adds the GPU to that
// group without the knowledge of systemd and the engine, so `systemctl daemon-reload` writes it again without the GPU,
// and a container that worked loses it (nvidia-container-toolkit issue 48). One that never had access looks the same,
// so the message names both.
func deviceAccessLost(m *machine) []*result {
	// Single GPUs are refused on purpose by Slurm and for the parents of MIG devices.
	nodes := slices.DeleteFunc(slices.Clone(m.f.Devices.Nodes), func(n facts.Node) bool {
		return n.Path != controlNode && n.Path != memoryNode
	})
	// Without the driver's libraries no program here could use the nodes, whoever may open them.
	if !m.nodesJudged() || len(nodes) == 0 || len(m.f.Driver.Libraries) == 0 && !m.compatTaken() {
		return nil
	}
	// EPERM on a node whose mode allows it is the device cgroup's answer; a wrong mode gives EACCES. access(2) and open(2)
	// gave it: opening /dev/nvidia0 would power the GPU up. NVML opens the control node, and never nvidia-uvm.
	lost := slices.IndexFunc(nodes, func(n facts.Node) bool {
		return (n.Access == "EPERM" || n.Open == "EPERM") && (n.Path == memoryNode || !m.driverAnswers())
	})
	if lost < 0 {
		return holds("driver")
	}
	return found(Finding{Severity: Error, Subject: "driver", Source: toolkitSource,
		Message: "access to the GPU was lost (systemd daemon-reload) or never granted: " + nodes[lost].Path +
			" is there, and opening it is refused (EPERM)",
		Need:     "access to " + nodes[lost].Path,
		Evidence: []Evidence{evidenceNode(nodes[lost]), {Fact: "NVML", Value: m.f.Driver.NVML.Message, From: "NVML"}},
		Steps: []pin.Step{pin.Say("restart the container to get access back"),
			pin.Say("to keep it, give the devices to the engine itself (`docker run --device nvidia.com/gpu=all`, or --device " +
				"for each node), or set the cgroup driver of Docker's daemon.json to cgroupfs")}})
}

// devicePermission: the nodes' modes shut this user out. The driver makes them with mode 0666 unless
// NVreg_DeviceFileMode or a udev rule says otherwise; a rootless container drops its user's groups, and a mount with
// nodev refuses all nodes.
func devicePermission(m *machine) []*result {
	if !m.nodesJudged() || len(m.f.Devices.Nodes) == 0 {
		return nil
	}
	gpus := m.gpuNodes()
	shut := slices.DeleteFunc(slices.Clone(m.f.Devices.Nodes), func(n facts.Node) bool {
		// NVML needs no nvidia-uvm, so its answer says nothing of that node.
		return n.Access != "EACCES" || n.Path != memoryNode && (n.Path != controlNode || m.driverAnswers())
	})
	// A scheduler shuts out some GPUs on purpose; nobody is given a machine on which all of them are shut.
	if refused := slices.DeleteFunc(slices.Clone(gpus),
		func(n facts.Node) bool { return n.Access != "EACCES" }); len(refused) == len(gpus) {
		shut = append(shut, refused...) // some of the GPUs: a scheduler's choice
	}
	if len(shut) == 0 {
		return holds("driver")
	}
	return found(Finding{Severity: Error, Subject: "driver",
		Source:   []string{"https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/"},
		Message:  "this user may not open " + shut[0].Path + " (EACCES)",
		Need:     "read and write permission on the nodes /dev/nvidia*",
		Evidence: []Evidence{evidenceNode(shut[0])},
		Steps:    m.openingSteps(shut[0])})
}

// openingSteps let a user open the nodes. In a rootless container the user's groups are gone.
func (m *machine) openingSteps(shut facts.Node) []pin.Step {
	if m.f.System.Container != "" {
		return []pin.Step{pin.Say("in a rootless container: `podman run --group-add keep-groups`; a mount with the option nodev " +
			"refuses every device on it"), pin.Say("run as a user of the group that owns " + pin.Word(shut.Path) + " on the host").Instead()}
	}
	s := m.hostSystem()
	every := pin.Run(pin.All(s.Write("options nvidia NVreg_DeviceFileMode=0666", "/etc/modprobe.d/nvidia-nodes.conf"), s.AsRoot("reboot"))).That(
		"gives every user the nodes, mode 0666")
	if !groupOpens(shut) {
		return []pin.Step{every}
	}
	return []pin.Step{pin.Say("run as a user of the group that owns the nodes (`ls -l /dev/nvidia*`)"), every.Instead()}
}

// groupOpens reports whether a node's mode lets its group in, or is not known: "Dcrw-rw----".
func groupOpens(n facts.Node) bool { return len(n.Mode) < 7 || n.Mode[5:7] == "rw" }

// deviceNodesMissing: the driver runs and the nodes through which programs reach it are not all there. The kernel
// module does not make them: on a host udev or the setuid nvidia-modprobe does, in a container its runtime did when it
// started.
func deviceNodesMissing(m *machine) []*result {
	if !m.nodesJudged() || !m.driver().loaded {
		return nil
	}
	if f := m.deadNode(); f != nil {
		return found(*f)
	}
	missing := m.missingNodes()
	switch {
	case missing == nil:
		return nil
	case len(missing) == 0:
		return holds("driver")
	}
	f := Finding{Severity: Error, Subject: "driver",
		Message: joinAnd(missing) + " " + plural(len(missing), "is", "are") + " missing, although the driver runs",
		Need:    joinAnd(missing), Evidence: []Evidence{m.evidenceDriver(),
			{Fact: "nvidia-modprobe", Value: m.f.Devices.Modprobe, From: "/usr/bin"}},
		Source: toolkitSource}
	if m.ownNodes() && m.f.Devices.Hindrance != "" {
		f.Message += ", and nobody here can make " + plural(len(missing), "it", "them") + ": " + m.f.Devices.Hindrance
		f.Steps = []pin.Step{pin.Say("run `sudo nvidia-smi -L && sudo nvidia-modprobe -u -c 0` outside of this process's limits, at every boot")}
		return found(f)
	}
	if m.ownNodes() {
		f.Message += fmt.Sprintf(", and nvidia-modprobe, which makes them for programs, is %s", m.f.Devices.Modprobe)
		f.Steps = m.nodeSteps()
		return found(f)
	}
	f.Evidence = append(f.Evidence[:1], Evidence{Fact: "NVIDIA_VISIBLE_DEVICES",
		Value: m.f.Variables["NVIDIA_VISIBLE_DEVICES"], From: "environment"})
	f.Steps = []pin.Step{pin.Say("on the host: `sudo nvidia-smi -L && sudo nvidia-modprobe -u -c 0`, then start the container again with its GPU (`docker " +
		"run --gpus all`)")}
	return found(f)
}

// nodeSteps make the nodes of a host. Debian's, Ubuntu's and NVIDIA's packages bring nvidia-modprobe as one of that name
// (https://packages.debian.org/stable/nvidia-modprobe, and NVIDIA's driver installation guide).
func (m *machine) nodeSteps() []pin.Step {
	again := pin.Run(m.makeNodes()).That("by hand, after every boot")
	install := m.hostSystem().Install("nvidia-modprobe")
	switch {
	case m.f.Devices.Modprobe != "absent":
		return []pin.Step{pin.Say("make nvidia-modprobe setuid root again: programs start it to make the nodes"), again.Instead()}
	case install == "":
		return []pin.Step{pin.Say("install nvidia-modprobe, setuid root: programs start it to make the nodes")}
	}
	return []pin.Step{pin.Run(install).That("programs start it to make the nodes")}
}

// makeNodes makes the GPUs' nodes and the control node, which nvidia-smi does as root, and that of the memory: with -u
// nvidia-modprobe makes no other (https://github.com/NVIDIA/nvidia-modprobe/blob/149440ca/nvidia-modprobe.c).
func (m *machine) makeNodes() string {
	return pin.All(m.hostSystem().AsRoot("nvidia-smi", "-L"), m.hostSystem().AsRoot("nvidia-modprobe", "-u", "-c", "0"))
}

// ownNodes reports whether /dev is the machine's own: a host's, and Apptainer's, which shares it. Only there can
// nvidia-modprobe make what is missing.
func (m *machine) ownNodes() bool {
	return m.f.System.Container == "" || m.f.System.Container == "apptainer"
}

// missingNodes lists what should be under /dev; nil when the question does not arise. An empty list says that they are
// all there.
func (m *machine) missingNodes() []string {
	if m.ownNodes() {
		return m.missingOnHost()
	}
	given, asked := m.given()
	elsewhere := m.driverAnswers() && m.f.Devices.Node(controlNode) == nil // NVML opened nodes that are not in this /dev
	// Without the driver's libraries container-driver-libs says why nothing runs.
	if !asked || elsewhere || len(m.f.Driver.Libraries) == 0 {
		return nil
	}
	missing := []string{}
	if !m.driverAnswers() && m.f.Devices.Node(controlNode) == nil {
		missing = append(missing, controlNode)
	}
	if nodes := len(m.gpuNodes()); !m.driverAnswers() && nodes < max(given, 1) {
		missing = append(missing, gpuNodesMissing(nodes, given))
	}
	// A container has no nvidia-modprobe that could make nvidia-uvm when CUDA first needs it. With the capability utility
	// only there is no libcuda, and nothing would open the node.
	if m.library("libcuda") != nil && m.f.Devices.Node(memoryNode) == nil {
		missing = append(missing, memoryNode)
	}
	return missing
}

// gpuNodesMissing says how many nodes of GPUs there should be.
func gpuNodesMissing(nodes, given int) string {
	if given < 2 {
		return "a GPU's node (/dev/nvidia0 or another number)"
	}
	return fmt.Sprintf("a node for every GPU (%d of %d exist)", nodes, given)
}

// missingOnHost is about hosts, where what is missing is made when a program first needs it, if somebody here can: root,
// the setuid nvidia-modprobe, or udev before. Facts of an older form tell nvidia-modprobe alone.
func (m *machine) missingOnHost() []string {
	maker := m.f.Devices.Maker
	if maker == "" && m.f.Devices.Modprobe != "setuid" && m.f.Devices.Modprobe != "" {
		maker = "nobody"
	}
	if maker == "" || !m.wantsGPU() || len(m.gpus) == 0 {
		return nil
	}
	missing := []string{}
	if m.nodesElsewhere() || maker != "nobody" {
		return missing
	}
	if !m.driverAnswers() && m.f.Devices.Node(controlNode) == nil {
		missing = append(missing, controlNode)
	}
	if !m.driverAnswers() && len(m.gpuNodes()) == 0 {
		missing = append(missing, "/dev/nvidia0")
	}
	if m.f.Devices.Maker != "" && m.f.Devices.Node(memoryNode) == nil {
		missing = append(missing, memoryNode)
	}
	return missing
}

// deadNode: a node is there and leads to no driver. Its major is not the one that the driver was given when its module was
// loaded, as in a container or an image that kept the nodes of an earlier boot, or the driver itself refuses to open it.
func (m *machine) deadNode() *Finding {
	for _, n := range m.f.Devices.Nodes {
		major := m.majorOf(n.Path)
		stale := n.Major != 0 && major != 0 && n.Major != major
		refused := slices.Contains([]string{"ENXIO", "EIO", "ENODEV"}, n.Open)
		if !stale && !refused || n.Path == controlNode && m.driverAnswers() {
			continue
		}
		f := &Finding{Severity: Error, Subject: "driver", Source: toolkitSource, Need: n.Path + " that leads to the driver",
			Message:  fmt.Sprintf("%s cannot be opened (%s): no driver is behind it", n.Path, n.Open),
			Evidence: []Evidence{evidenceNode(n), m.evidenceDriver()},
			Steps: []pin.Step{m.onHost(pin.All(m.hostSystem().AsRoot("modprobe", "nvidia-uvm"), m.makeNodes())),
				pin.Say("if it stays, the kernel's log (dmesg) says why the driver refuses")}}
		if stale {
			f.Message = fmt.Sprintf("%s has the major number %d, and the driver's is %d: it leads to no driver", n.Path, n.Major, major)
			f.Evidence[0].Value = fmt.Sprintf("major %d", n.Major)
			f.Evidence[1] = Evidence{Fact: "driver's major", Value: fmt.Sprint(major), From: "/proc/devices"}
			f.Steps = []pin.Step{pin.Say("start the container again with its GPU, so that it gets the nodes of this boot")}
			if m.f.System.Container == "" {
				f.Steps = []pin.Step{pin.Run(pin.All(m.hostSystem().AsRoot("rm", n.Path), m.makeNodes())).That("makes the nodes of this boot")}
			}
		}
		return f
	}
	return nil
}

// majorOf is the major number that a node should have by /proc/devices; 0 when that is not known.
func (m *machine) majorOf(node string) int {
	majors := m.f.Devices.Majors
	switch {
	case node == memoryNode:
		return majors["nvidia-uvm"]
	case strings.HasPrefix(node, "/dev/nvidia-caps/"):
		return majors["nvidia-caps"]
	case node == controlNode || strings.Trim(strings.TrimPrefix(node, "/dev/nvidia"), "0123456789") == "":
		return cmp.Or(majors["nvidia"], majors["nvidia-frontend"])
	}
	return 0
}
