package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
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

// deviceAccessLost: the nodes are there and the device control group refuses them. NVIDIA's hook adds the GPU to that
// group without the knowledge of systemd and the engine, so `systemctl daemon-reload` writes it again without the GPU,
// and a container that worked loses it (nvidia-container-toolkit issue 48). One that never had access looks the same,
// so the message names both.
func deviceAccessLost(m *model.Machine) []*Result {
	// Single GPUs are refused on purpose by Slurm and for the parents of MIG devices.
	nodes := slices.DeleteFunc(slices.Clone(m.Facts.Devices.Nodes), func(n facts.Node) bool {
		return n.Path != model.ControlNode && n.Path != model.MemoryNode
	})
	// Without the driver's libraries no program here could use the nodes, whoever may open them.
	if !m.NodesJudged() || len(nodes) == 0 || len(m.Facts.Driver.Libraries) == 0 && !m.CompatTaken() {
		return nil
	}
	// EPERM on a node whose mode allows it is the device cgroup's answer; a wrong mode gives EACCES. access(2) and open(2)
	// gave it: opening /dev/nvidia0 would power the GPU up. NVML opens the control node, and never nvidia-uvm.
	lost := slices.IndexFunc(nodes, func(n facts.Node) bool {
		return (n.Access == "EPERM" || n.Open == "EPERM") && (n.Path == model.MemoryNode || !m.DriverAnswers())
	})
	if lost < 0 {
		return holds("driver")
	}
	return oneFinding(verdict.Finding{Severity: verdict.Error, Subject: "driver", Source: toolkitSource,
		Message: "access to the GPU was lost (systemd daemon-reload) or never granted: " + nodes[lost].Path +
			" is there, and opening it is refused (EPERM)",
		Need:     "access to " + nodes[lost].Path,
		Evidence: []verdict.Evidence{evidenceNode(nodes[lost]), {Fact: "NVML", Value: m.Facts.Driver.NVML.Message, From: m.NVMLFrom()}},
		Steps: []pin.Step{pin.Say("restart the container to get access back"),
			pin.Say("to keep it, give the devices to the engine itself (`docker run --device nvidia.com/gpu=all`, or --device for each node), or set the cgroup driver of Docker's daemon.json to cgroupfs")}})
}

// devicePermission: the nodes' modes shut this user out. The driver makes them with mode 0666 unless
// NVreg_DeviceFileMode or a udev rule says otherwise; a rootless container drops its user's groups, and a mount with
// nodev refuses all nodes.
func devicePermission(m *model.Machine) []*Result {
	if !m.NodesJudged() || len(m.Facts.Devices.Nodes) == 0 {
		return nil
	}
	gpus := m.GPUNodes()
	shut := slices.DeleteFunc(slices.Clone(m.Facts.Devices.Nodes), func(n facts.Node) bool {
		// NVML needs no nvidia-uvm, so its answer says nothing of that node.
		return n.Access != "EACCES" || n.Path != model.MemoryNode && (n.Path != model.ControlNode || m.DriverAnswers())
	})
	// A scheduler shuts out some GPUs on purpose; nobody is given a machine on which all of them are shut.
	if refused := slices.DeleteFunc(slices.Clone(gpus),
		func(n facts.Node) bool { return n.Access != "EACCES" }); len(refused) == len(gpus) {
		shut = append(shut, refused...) // some of the GPUs: a scheduler's choice
	}
	if len(shut) == 0 {
		return holds("driver")
	}
	return oneFinding(verdict.Finding{Severity: verdict.Error, Subject: "driver",
		Source:   []string{"https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/"},
		Message:  "this user may not open " + shut[0].Path + " (EACCES)",
		Need:     "read and write permission on the nodes /dev/nvidia*",
		Evidence: []verdict.Evidence{evidenceNode(shut[0])},
		Steps:    openingSteps(m, shut[0])})
}

// openingSteps let a user open the nodes. In a rootless container the user's groups are gone.
func openingSteps(m *model.Machine, shut facts.Node) []pin.Step {
	if m.Facts.System.Container != "" {
		return []pin.Step{pin.Say("in a rootless container: `podman run --group-add keep-groups`; a mount with the option nodev refuses every device on it"), pin.Say("run as a user of the group that owns " + pin.Word(shut.Path) + " on the host").Instead()}
	}
	setter := pin.Run("grep -rs nvidia /etc/modprobe.d /etc/udev/rules.d").Explained("shows what closes them, an option NVreg_DeviceFile… of the module or a rule of udev: without it every user may open them after a reboot")
	if groupOpens(shut) {
		return []pin.Step{pin.Say("run as a user of the group that owns the nodes (`ls -l /dev/nvidia*`)"), setter.Instead()}
	}
	return []pin.Step{setter, pin.Say("if they are closed on purpose, run as a user who may open them").Instead()}
}

// groupOpens reports whether a node's mode lets its group in, or is not known: "Dcrw-rw----".
func groupOpens(n facts.Node) bool { return len(n.Mode) < 7 || n.Mode[5:7] == "rw" }

// deviceNodesMissing: the driver runs and the nodes through which programs reach it are not all there. The kernel
// module does not make them: on a host udev or the setuid nvidia-modprobe does, in a container its runtime did when it
// started.
func deviceNodesMissing(m *model.Machine) []*Result {
	if !m.NodesJudged() || !m.Driver().Loaded {
		return nil
	}
	if f := deadNode(m); f != nil {
		return oneFinding(*f)
	}
	missing := missingNodes(m)
	switch {
	case missing == nil:
		return nil
	case len(missing) == 0:
		return holds("driver")
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
		return oneFinding(f)
	}
	if m.OwnNodes() {
		f.Message += fmt.Sprintf(", and nvidia-modprobe, which makes them for programs, is %s", m.Facts.Devices.Modprobe)
		f.Steps = nodeSteps(m)
		return oneFinding(f)
	}
	f.Message = verdict.JoinAnd(missing) + " " + verdict.Plural(len(missing), "is", "are") + " missing from this container, although the driver runs"
	f.Evidence = append(f.Evidence[:1], verdict.Evidence{Fact: "NVIDIA_VISIBLE_DEVICES",
		Value: m.Facts.Variables["NVIDIA_VISIBLE_DEVICES"], From: "environment"})
	f.Steps = []pin.Step{pin.Say("on the host: `sudo nvidia-smi -L && sudo nvidia-modprobe -u -c 0`, then start the container again with its GPU (`docker run --gpus all`)")}
	return oneFinding(f)
}

// nodeSteps make the nodes of a host. Debian's, Ubuntu's and NVIDIA's packages bring nvidia-modprobe as one of that name
// (https://packages.debian.org/stable/nvidia-modprobe, and NVIDIA's driver installation guide).
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

// makeNodes makes the GPUs' nodes and the control node, which nvidia-smi does as root, and that of the memory: with -u
// nvidia-modprobe makes no other (https://github.com/NVIDIA/nvidia-modprobe/blob/149440ca/nvidia-modprobe.c).
func makeNodes(m *model.Machine) string {
	return pin.Sequence(pins.HostSystem(m).AsRoot("nvidia-smi", "-L"), pins.HostSystem(m).AsRoot("nvidia-modprobe", "-u", "-c", "0"))
}

// missingNodes lists what should be under /dev; nil when the question does not arise. An empty list says that they are
// all there.
func missingNodes(m *model.Machine) []string {
	if m.OwnNodes() {
		return missingOnHost(m)
	}
	given, asked := m.GivenGPUs()
	elsewhere := m.DriverAnswers() && m.Facts.Devices.Node(model.ControlNode) == nil // NVML opened nodes that are not in this /dev
	// Without the driver's libraries container-driver-libs says why nothing runs.
	if !asked || elsewhere || len(m.Facts.Driver.Libraries) == 0 {
		return nil
	}
	missing := []string{}
	if !m.DriverAnswers() && m.Facts.Devices.Node(model.ControlNode) == nil {
		missing = append(missing, model.ControlNode)
	}
	if nodes := len(m.GPUNodes()); !m.DriverAnswers() && nodes < max(given, 1) {
		missing = append(missing, gpuNodesMissing(nodes, given))
	}
	// A container has no nvidia-modprobe that could make nvidia-uvm when CUDA first needs it. With the capability utility
	// only there is no libcuda, and nothing would open the node.
	if m.Library("libcuda") != nil && m.Facts.Devices.Node(model.MemoryNode) == nil {
		missing = append(missing, model.MemoryNode)
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

// missingOnHost returns about hosts, where what is missing is made when a program first needs it, if somebody here can:
// root, the setuid nvidia-modprobe, or udev before. Facts of an older form tell nvidia-modprobe alone.
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
	if !m.DriverAnswers() && m.Facts.Devices.Node(model.ControlNode) == nil {
		missing = append(missing, model.ControlNode)
	}
	if !m.DriverAnswers() && len(m.GPUNodes()) == 0 {
		missing = append(missing, "/dev/nvidia0")
	}
	if m.Facts.Devices.Maker != "" && m.Facts.Devices.Node(model.MemoryNode) == nil {
		missing = append(missing, model.MemoryNode)
	}
	return missing
}

// deadNode: a node is there and leads to no driver. Its major is not the one that the driver was given when its module was
// loaded, as in a container or an image that kept the nodes of an earlier boot, or the driver itself refuses to open it.
func deadNode(m *model.Machine) *verdict.Finding {
	for _, n := range m.Facts.Devices.Nodes {
		major := majorOf(m, n.Path)
		stale := n.Major != 0 && major != 0 && n.Major != major
		refused := slices.Contains([]string{"ENXIO", "EIO", "ENODEV"}, n.Open)
		if !stale && !refused || n.Path == model.ControlNode && m.DriverAnswers() {
			continue
		}
		f := &verdict.Finding{Severity: verdict.Error, Subject: "driver", Source: toolkitSource, Need: n.Path + " that leads to the driver",
			Message:  fmt.Sprintf("%s cannot be opened (%s): no driver is behind it", n.Path, n.Open),
			Evidence: []verdict.Evidence{evidenceNode(n), m.EvidenceDriver()},
			Steps: []pin.Step{pins.OnHost(m, pin.Sequence(pins.HostSystem(m).AsRoot("modprobe", "nvidia-uvm"), makeNodes(m))),
				pin.Say("if it stays, the kernel's log (dmesg) says why the driver refuses")}}
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

// majorOf returns the major number that a node should have by /proc/devices; 0 when that is not known.
func majorOf(m *model.Machine, node string) int {
	majors := m.Facts.Devices.Majors
	switch {
	case node == model.MemoryNode:
		return majors["nvidia-uvm"]
	case strings.HasPrefix(node, "/dev/nvidia-caps/"):
		return majors["nvidia-caps"]
	case node == model.ControlNode || strings.Trim(strings.TrimPrefix(node, "/dev/nvidia"), "0123456789") == "":
		return cmp.Or(majors["nvidia"], majors["nvidia-frontend"])
	}
	return 0
}
