package matrix

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/version"
	"cudacompat/probe/facts"
)

// What was seen of each link, where no rule found it broken. A link that nobody looked at because only a file was given
// is assumed; one that was looked for and not found is unseen.

// sight is what was seen of a link of the machine, for one kind of GPU; false where the link does not arise.
func (m *machine) sight(link LinkName, g gpu) (Link, bool) {
	switch link {
	case LinkGPU:
		return m.sightOfGPU(g), true
	case LinkModule:
		return m.sightOfModule(), true
	case LinkDevices:
		return m.sightOfDevices(g), true
	case LinkLibcuda:
		return m.sightOfLibcuda(), true
	}
	return m.sightOfAnswers()
}

// Why a link is assumed.
const (
	byTarget = "the target that was named"
	atRest   = "nothing runs (--root, --offline)"
	byFile   = "a file was given"
)

// The facts that links rest on, by their names in JSON; * is every one of a list.
const (
	factGPUs      = "gpus"
	factLoaded    = "driver.version"
	factNVML      = "driver.nvml"
	factCUDA      = "driver.cuda"
	factTaken     = "driver.taken"
	factLibraries = "driver.libraries"
	factCompat    = "driver.compat"
	factModules   = "driver.modules"
	factNodes     = "devices.nodes"
	factSystem    = "system.jetson"
	factPath      = "environments.*.builds.*.path"
	factLooked    = "environments.*.builds.*.looked"
	factRelease   = "environments.*.builds.*.version"
	factSASS      = "environments.*.builds.*.sass"
	factPTX       = "environments.*.builds.*.ptx"
	factGroups    = "environments.*.builds.*.groups"
)

// supposed is why this machine was not looked at for a probe's facts, and need not have been; empty where it was.
func (m *machine) supposed(probe string) string {
	switch {
	case m.target.Instance != "" || len(m.target.GPUs) > 0:
		return byTarget
	case m.f.System.Rest:
		return atRest
	case !slices.ContainsFunc(m.f.Probes, func(s facts.Status) bool { return s.Name == probe }):
		return byFile
	}
	return ""
}

func (m *machine) sightOfGPU(g gpu) Link {
	switch {
	case g.label == "":
		return unseen(LinkGPU, "a GPU to compare with", "gpu-count")
	case m.target.named():
		return assumed(LinkGPU, g.label, g.from)
	}
	return held(LinkGPU, g.label, g.from, factGPUs)
}

func (m *machine) sightOfModule() Link {
	value := m.driver().version.String()
	if m.f.Driver.Module != "" && m.target.Driver == "" {
		value += ", " + m.f.Driver.Module
	}
	switch {
	case m.target.Driver != "":
		return assumed(LinkModule, value, byTarget)
	case m.driver().loaded || m.f.Driver.NVML.Status == "ok" || m.f.System.Jetson:
		return held(LinkModule, value, cmp.Or(m.driver().from, "NVML"), factLoaded, factNVML, factSystem, factNodes)
	case m.f.Devices.Node("/dev/dxg") != nil:
		return held(LinkModule, value, "/dev/dxg", factNodes)
	}
	if why := m.supposed("proc-driver"); why != "" {
		return assumed(LinkModule, value, why)
	}
	return unseen(LinkModule, "whether the NVIDIA kernel module is loaded", "driver-missing")
}

// sightOfDevices asks, in this order, what was given to this process, what it may open, and who would make the rest.
func (m *machine) sightOfDevices(g gpu) Link {
	if why := m.supposed("devices"); why != "" {
		return assumed(LinkDevices, "", why)
	}
	if !m.looked("devices") { // the time was up, or they could not be looked at
		return unseen(LinkDevices, "whether the driver's nodes under /dev can be opened", "device-nodes-missing")
	}
	if m.withheld() {
		return unseen(LinkDevices, Withheld, m.withholder())
	}
	switch {
	case m.f.Devices.Node("/dev/dxg") != nil:
		return held(LinkDevices, "/dev/dxg", "/dev", factNodes)
	case m.f.System.WSL:
		return unseen(LinkDevices, "whether /dev/dxg is there", "device-nodes-missing")
	case m.jetson():
		return held(LinkDevices, "nvgpu and nvhost", "the board's image", factGPUs, factSystem, factNodes)
	}
	names := []string{"nvidiactl", "nvidia-uvm"}
	for _, name := range []string{controlNode, memoryNode} {
		if missing := m.nodeUnseen(name); missing != "" {
			return unseen(LinkDevices, missing, "device-nodes-missing")
		}
	}
	node := m.nodeOf(g)
	switch {
	case node != nil && node.Access != "ok" && !m.driverAnswers():
		return unseen(LinkDevices, fmt.Sprintf("whether a program may open %s (%s)", node.Path, node.Access), "device-permission")
	case node == nil && !m.driverAnswers() && !m.makes():
		return unseen(LinkDevices, "whether the GPU's node under /dev can be made", "device-nodes-missing")
	case node != nil:
		names = append(names, strings.TrimPrefix(node.Path, "/dev/"))
	}
	return held(LinkDevices, strings.Join(names, ", "), "/dev", factNodes, factNVML)
}

// nodeUnseen is what is not known of a node that every program opens; empty where it can be opened, or will be made when
// it is first needed.
func (m *machine) nodeUnseen(name string) string {
	node := m.f.Devices.Node(name)
	switch {
	case node == nil && (m.nodesElsewhere() || m.makes()):
		return ""
	case node == nil:
		return "whether " + name + ", which is missing, can be made"
	case node.Open != "" && node.Open != "ok" && !(name == controlNode && m.driverAnswers()):
		return fmt.Sprintf("why %s cannot be opened (%s)", name, node.Open)
	}
	return ""
}

// nodesElsewhere reports whether NVML opened nodes that are not in this /dev: CUDA will open those, too.
func (m *machine) nodesElsewhere() bool {
	return m.driverAnswers() && m.f.Devices.Node(controlNode) == nil
}

// makes reports whether a node that is missing would be made when a program first needs it: by udev or nvidia-modprobe
// on a host. Facts that do not tell who could are an older program's, which said so by nvidia-modprobe alone.
func (m *machine) makes() bool {
	if !m.ownNodes() {
		return false
	}
	return m.f.Devices.Maker != "nobody"
}

// nodeOf is a GPU's own node, by its number where that is known, else one that may be its.
func (m *machine) nodeOf(g gpu) *facts.Node {
	i := slices.IndexFunc(m.f.GPUs, func(f facts.GPU) bool { return f.Bus == g.bus && f.Minor != nil })
	if i >= 0 {
		return m.f.Devices.Node(fmt.Sprintf("/dev/nvidia%d", *m.f.GPUs[i].Minor))
	}
	nodes := m.gpuNodes()
	slices.SortStableFunc(nodes, func(a, b facts.Node) int { // one that may be opened goes first
		return cmp.Compare(len(a.Access), len(b.Access))
	})
	if len(nodes) == 0 {
		return nil
	}
	return &nodes[0]
}

// withheld reports whether this process was given no GPU, or hides every one on purpose: nothing is broken then, and
// nothing is proven either.
func (m *machine) withheld() bool {
	if !m.here() {
		return false
	}
	if m.shown.hidden {
		return true
	}
	_, asked := m.given()
	return m.f.System.Container != "" && !asked && !m.driverAnswers() && !m.f.System.WSL && !m.jetson() &&
		m.f.Devices.Node("/dev/dxg") == nil
}

func (m *machine) sightOfLibcuda() Link {
	value := func(v version.Number) string {
		text := v.String()
		if m.driver().cuda.Known() {
			text += ", CUDA " + m.driver().cuda.Short()
		}
		return strings.TrimPrefix(text, ", ")
	}
	if m.target.Driver != "" {
		return assumed(LinkLibcuda, value(m.driver().version), byTarget)
	}
	if why := m.supposed("driver-libraries"); why != "" {
		return assumed(LinkLibcuda, value(m.driver().version), why)
	}
	if m.forward().Compat != nil {
		return held(LinkLibcuda, value(m.forward().version), m.forward().Path, factCompat, factTaken, factLibraries)
	}
	if taken := m.f.Driver.Taken; taken.Path != "" {
		return held(LinkLibcuda, value(version.Of(taken.Version)), taken.Path, factTaken, factLibraries)
	}
	// An older program recorded the driver's own library, and not which file the loader takes.
	if own := m.library("libcuda"); own != nil && m.f.Driver.Libcuda == nil {
		return held(LinkLibcuda, value(own.version), own.Path, factLibraries)
	}
	rule := "driver-missing"
	if m.f.System.Container != "" {
		rule = "container-driver-libs"
	}
	if m.withheld() { // its driver comes in with the GPU
		return unseen(LinkLibcuda, Withheld, m.withholder())
	}
	return unseen(LinkLibcuda, "which libcuda.so.1 a CUDA program would load here", rule)
}

// withholder is the rule whose page says why this process has no GPU.
func (m *machine) withholder() string {
	if m.shown.hidden {
		return "visible-devices"
	}
	return "container-driver-libs"
}

// sightOfAnswers: without NVML nobody asked the driver, and there is no such link.
func (m *machine) sightOfAnswers() (Link, bool) {
	if m.f.Observed.CUDAAvailable != nil && !*m.f.Observed.CUDAAvailable && !m.target.named() && m.target.Driver == "" {
		return unseen(LinkAnswers, "why torch.cuda.is_available() is False in this report: the visible devices, a "+
			"compatibility library, or the nodes under /dev decide", "driver-unresponsive"), true
	}
	nvml := m.f.Driver.NVML
	switch {
	// Jetson's NVML is a part of one, and WSL's answers for Windows.
	case m.target.named() || m.target.Driver != "" || m.jetson() || m.f.System.WSL && nvml.Status != "ok":
		return Link{}, false
	case nvml.Status == "ok":
		return held(LinkAnswers, "", m.nvmlFrom(), factNVML), true
	case nvml.Status == "timeout" || nvml.Status == "crashed" || nvml.Status == "stuck":
		return unseen(LinkAnswers, nvml.Message, "driver-unresponsive"), true
	case nvml.Status == "error" && nvml.Code != nvmlNoPermission && nvml.Code != nvmlNotLoaded && !m.withheld():
		return unseen(LinkAnswers, "why NVML fails: "+cmp.Or(nvml.Message, fmt.Sprintf("NVML error %d", nvml.Code)), "driver-unresponsive"), true
	}
	return Link{}, false
}

// sightOfBuild is what was seen of a build's own link.
func (m *machine) sightOfBuild(link LinkName, b *build, g gpu) Link {
	installed := b.Path != "" || b.program()
	switch link {
	case LinkDriver:
		if m.target.Driver != "" {
			return assumed(link, m.driver().version.String(), byTarget)
		}
		if m.jetson() { // its driver is a part of the board's system
			return held(link, m.driver().version.String(), m.driver().from, factGPUs, factSystem)
		}
		return held(link, m.driver().version.String(), m.driver().from, factLoaded, factLibraries, factModules, factCUDA)
	case LinkCode:
		_, from := m.code(b, g)
		return held(link, g.capability.SM(), from, factSASS, factPTX, factGroups, factRelease)
	case LinkPython:
		if installed {
			return held(link, b.env.Python, b.env.Path, factPath)
		}
	case LinkLibraries:
		switch {
		case installed && b.Looked, b.program():
			return held(link, "", b.Path, factLooked, factPath)
		case installed && b.framework() && b.accelerator == "cuda" && m.looked("python"): // of what was found only its version was read
			return unseen(link, "which libraries "+b.Name+" would load", "library-shadowed")
		}
	}
	return assumed(link, "", byFile)
}

// wordsOf is the fact that an unseen link lacks, in words that can follow "not known:".
func (m *machine) wordsOf(l Link) string {
	list, hides := m.f.Variables["CUDA_VISIBLE_DEVICES"]
	switch {
	case l.Value != Withheld:
		return l.Value
	case hides && m.shown.hidden:
		return fmt.Sprintf("CUDA_VISIBLE_DEVICES=%q hides every GPU from this process", list)
	}
	return "this container was given no GPU"
}
