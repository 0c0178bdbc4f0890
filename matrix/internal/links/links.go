// Package links determines the state of each link of the chain that no rule found broken: GPU, module, devices, libcuda,
// what the driver answers, and the links of a build.
//
// A link that nobody examined, because only a file was given, is assumed. A link that was looked for and not found is
// unseen, and names the fact that is missing. A link that this process was given no GPU for is withheld. The package
// also compares the machine code that was read from builds with the tables.
package links

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/version"
	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// held returns a link that was observed.
func held(link verdict.LinkName, value, from string, facts ...string) verdict.Link {
	return verdict.Link{Link: link, State: verdict.Held, Value: value, From: from, Because: []string{}, Facts: facts}
}

// assumed returns a link that is assumed.
func assumed(link verdict.LinkName, value, from string) verdict.Link {
	return verdict.Link{Link: link, State: verdict.Assumed, Value: value, From: from, Because: []string{}}
}

// Unseen returns a link for which a fact is missing, with the rule whose page says how to get the fact.
func Unseen(link verdict.LinkName, missing verdict.MissingFact, rule string) verdict.Link {
	return verdict.Link{Link: link, State: verdict.Unseen, Value: missing.Missing, Lacks: missing, Because: []string{rule}}
}

// Withheld returns a link that was not seen because this process was given no GPU.
func Withheld(link verdict.LinkName, rule string) verdict.Link {
	return verdict.Link{Link: link, State: verdict.Unseen, Value: verdict.Withheld, Because: []string{rule}}
}

// Observe returns what was observed of a link of the machine for one kind of GPU. It returns false if the link does not
// apply.
func Observe(m *model.Machine, link verdict.LinkName, g hardware.GPU) (verdict.Link, bool) {
	switch link {
	case verdict.LinkGPU:
		return observeGPU(m, g), true
	case verdict.LinkModule:
		return observeModule(m), true
	case verdict.LinkDevices:
		return observeDevices(m, g), true
	case verdict.LinkLibcuda:
		return observeLibcuda(m), true
	}
	return observeDriverAnswers(m)
}

// Reasons why a link is assumed.
const (
	byTarget = "the target that was named"
	atRest   = "nothing runs (--root, --offline)"
	byFile   = "a file was given"
)

// The facts that links depend on, by their names in JSON. * means every element of a list.
const (
	FactGPUs      = "gpus"
	FactLoaded    = "driver.version"
	FactNVML      = "driver.nvml"
	FactCUDA      = "driver.cuda"
	FactTaken     = "driver.taken"
	FactLibraries = "driver.libraries"
	FactCompat    = "driver.compat"
	FactModules   = "driver.modules"
	FactNodes     = "devices.nodes"
	FactSystem    = "system.jetson"
	FactPath      = "environments.*.builds.*.path"
	FactLooked    = "environments.*.builds.*.looked"
	FactRelease   = "environments.*.builds.*.version"
	FactSASS      = "environments.*.builds.*.sass"
	FactPTX       = "environments.*.builds.*.ptx"
	FactGroups    = "environments.*.builds.*.groups"
)

// reasonAssumed returns why links of this machine are assumed: nobody had to look at it. It returns "" if a probe
// looked.
func reasonAssumed(m *model.Machine, probe string) string {
	switch {
	case m.Facts.System.Rest:
		return atRest
	case m.Target.Instance != "" || len(m.Target.GPUs) > 0:
		return byTarget
	case !slices.ContainsFunc(m.Facts.Probes, func(s facts.Status) bool { return s.Name == probe }):
		return byFile
	}
	return ""
}

// observeGPU returns the link gpu: held if a GPU was found, assumed if a target names it, otherwise unseen.
func observeGPU(m *model.Machine, g hardware.GPU) verdict.Link {
	switch {
	case g.Label == "":
		return Unseen(verdict.LinkGPU, verdict.NoGPU, "gpu-count")
	case m.Target.Named():
		return assumed(verdict.LinkGPU, g.Label, g.From)
	}
	return held(verdict.LinkGPU, g.Label, g.From, FactGPUs)
}

// observeModule returns the link module: assumed for a target's driver; held where the module is loaded, NVML answers,
// or WSL's device is there; else assumed if no probe looked for it, and unseen if one did.
func observeModule(m *model.Machine) verdict.Link {
	value := m.Driver().Version.String()
	if m.Facts.Driver.Module != "" && m.Target.Driver == "" {
		value += ", " + m.Facts.Driver.Module
	}
	switch {
	case m.Target.Driver != "":
		return assumed(verdict.LinkModule, value, byTarget)
	case m.Driver().Loaded || m.Facts.Driver.NVML.Status == "ok" || m.Facts.System.Jetson:
		from := m.Driver().From
		switch {
		case from == "" && m.Facts.Driver.NVML.Status == "ok":
			from = "NVML"
		case from == "" && m.Facts.System.Jetson:
			from = "the board's image"
		}
		return held(verdict.LinkModule, value, from, FactLoaded, FactNVML, FactSystem, FactNodes)
	case m.Facts.Devices.Node("/dev/dxg") != nil:
		return held(verdict.LinkModule, value, "/dev/dxg", FactNodes)
	case m.Facts.Driver.NVML.Code == hardware.NVMLMismatch: // the libraries' release is not the module's
		return Unseen(verdict.LinkModule, verdict.Question("which release the loaded NVIDIA kernel module is of"), "driver-mismatch")
	}
	if why := reasonAssumed(m, "proc-driver"); why != "" {
		return assumed(verdict.LinkModule, value, why)
	}
	return Unseen(verdict.LinkModule, verdict.Question("whether the NVIDIA kernel module is loaded"), "driver-missing")
}

// observeDevices returns the link devices. It checks, in this order, what this process was given, what it may open,
// and who would create the rest.
func observeDevices(m *model.Machine, g hardware.GPU) verdict.Link {
	if m.Facts.Image != nil && IsGPUWithheld(m) {
		return Withheld(verdict.LinkDevices, withholder(m))
	}
	if why := reasonAssumed(m, "devices"); why != "" {
		return assumed(verdict.LinkDevices, "", why)
	}
	if !m.Looked("devices") { // the time was up, or they could not be looked at
		return Unseen(verdict.LinkDevices, verdict.Question("whether the driver's nodes under /dev can be opened"), "device-nodes-missing")
	}
	if IsGPUWithheld(m) {
		return Withheld(verdict.LinkDevices, withholder(m))
	}
	switch {
	case m.Facts.Devices.Node("/dev/dxg") != nil:
		return held(verdict.LinkDevices, "/dev/dxg", "/dev", FactNodes)
	case m.Facts.System.WSL:
		return Unseen(verdict.LinkDevices, verdict.Question("whether /dev/dxg is there"), "device-nodes-missing")
	case m.Jetson():
		return held(verdict.LinkDevices, "nvgpu and nvhost", "the board's image", FactGPUs, FactSystem, FactNodes)
	}
	var names []string
	for _, name := range []string{hardware.ControlNode, hardware.MemoryNode} {
		if missing := nodeUnseen(m, name); missing.IsMissing() {
			return Unseen(verdict.LinkDevices, missing, "device-nodes-missing")
		}
		if m.Facts.Devices.Node(name) != nil {
			names = append(names, strings.TrimPrefix(name, "/dev/"))
		} else if !m.NodesElsewhere() {
			names = append(names, strings.TrimPrefix(name, "/dev/")+" on first use")
		}
	}
	node := gpuNode(m, g)
	switch {
	case node != nil && node.Access != "ok" && !m.DriverAnswers():
		return Unseen(verdict.LinkDevices, verdict.Question(fmt.Sprintf("whether a program may open %s (%s)", node.Path, node.Access)), "device-permission")
	case node == nil && !m.DriverAnswers() && !m.Makes():
		return Unseen(verdict.LinkDevices, verdict.Question("whether the GPU's node under /dev can be made"), "device-nodes-missing")
	case node != nil:
		names = append(names, strings.TrimPrefix(node.Path, "/dev/"))
	case len(m.Facts.Devices.Nodes) == 0 && !m.DriverAnswers(): // nothing was opened, and nothing was counted
		return Unseen(verdict.LinkDevices, verdict.Question("whether the driver's nodes under /dev can be opened, none of which is there yet"), "device-nodes-missing")
	}
	if len(names) == 0 {
		names = []string{"opened by NVML"}
	}
	return held(verdict.LinkDevices, strings.Join(names, ", "), "/dev", FactNodes, FactNVML)
}

// nodeUnseen returns what is not known about a node that every program opens, or nothing if the node can be opened or
// will be created when it is first needed.
func nodeUnseen(m *model.Machine, name string) verdict.MissingFact {
	node := m.Facts.Devices.Node(name)
	switch {
	case node == nil && (m.NodesElsewhere() || m.Makes()):
		return verdict.MissingFact{}
	case node == nil:
		return verdict.Question("whether " + name + ", which is missing, can be made")
	case node.Open != "" && node.Open != "ok" && !(name == hardware.ControlNode && m.DriverAnswers()):
		return verdict.Question(fmt.Sprintf("why %s cannot be opened (%s)", name, node.Open))
	}
	return verdict.MissingFact{}
}

// gpuNode returns a GPU's own device node by its number or, if that is not known, one that may be it.
func gpuNode(m *model.Machine, g hardware.GPU) *facts.Node {
	i := slices.IndexFunc(m.Facts.GPUs, func(f facts.GPU) bool { return f.Bus == g.Bus && f.Minor != nil })
	if i >= 0 {
		return m.Facts.Devices.Node(fmt.Sprintf("/dev/nvidia%d", *m.Facts.GPUs[i].Minor))
	}
	nodes := m.GPUNodes()
	slices.SortStableFunc(nodes, func(a, b facts.Node) int { // one that may be opened goes first
		return cmp.Compare(len(a.Access), len(b.Access))
	})
	if len(nodes) == 0 {
		return nil
	}
	return &nodes[0]
}

// IsGPUWithheld reports whether this process was given no GPU, or hides all of them on purpose. Nothing is broken then, and
// nothing is proven.
func IsGPUWithheld(m *model.Machine) bool {
	if m.Facts.Image != nil || !m.Here() {
		return m.Facts.Image != nil && m.Shown.Hidden
	}
	if m.Shown.Hidden {
		return true
	}
	if m.NVMLCountsNone() && (m.Facts.System.Container != "" || m.Facts.Machine.Job != "") {
		_, asked := m.AskedGPU()
		return !asked
	}
	_, asked := m.GivenGPUs()
	return m.Facts.System.Container != "" && !asked && !m.DriverAnswers() && !m.Facts.System.WSL && !m.Jetson() &&
		m.Facts.Devices.Node("/dev/dxg") == nil
}

// observeLibcuda returns the link libcuda: which file a CUDA program loads, and the CUDA that it supports. A
// cuda-compat library goes before the driver's own.
func observeLibcuda(m *model.Machine) verdict.Link {
	value := func(v version.Number) string {
		text, cuda := v.String(), m.Driver().CUDA
		if own := m.Driver().Version; v.Known() && own.Known() && v.Compare(own) != 0 && m.Forward().Compat == nil {
			cuda = m.Tables.BranchCUDA(v) // it speaks its own release's
		}
		if cuda.Known() {
			text += ", CUDA " + cuda.Short()
		}
		return strings.TrimPrefix(text, ", ")
	}
	if m.Target.Driver != "" {
		return assumed(verdict.LinkLibcuda, value(m.Driver().Version), byTarget)
	}
	if why := reasonAssumed(m, "driver-libraries"); why != "" {
		return assumed(verdict.LinkLibcuda, value(m.Driver().Version), why)
	}
	if m.Forward().Compat != nil {
		return held(verdict.LinkLibcuda, value(m.Forward().Number), m.Forward().Path, FactCompat, FactTaken, FactLibraries)
	}
	if taken := m.Facts.Driver.Taken; taken.Path != "" {
		return held(verdict.LinkLibcuda, value(version.ParseOrZero(taken.Version)), taken.Path, FactTaken, FactLibraries)
	}
	// An older program recorded the driver's own library, and not the file that the loader takes.
	if own := m.Library("libcuda"); own != nil && m.Facts.Driver.Libcuda == nil {
		return held(verdict.LinkLibcuda, value(own.Number), own.Path, FactLibraries)
	}
	rule := "driver-missing"
	if m.Facts.System.Container != "" {
		rule = "container-driver-libs"
	}
	if IsGPUWithheld(m) { // its driver comes in with the GPU
		return Withheld(verdict.LinkLibcuda, withholder(m))
	}
	return Unseen(verdict.LinkLibcuda, verdict.Question("which libcuda.so.1 a CUDA program would load here"), rule)
}

// withholder returns the rule whose page says why this process has no GPU.
func withholder(m *model.Machine) string {
	if m.Shown.Hidden {
		return "visible-devices"
	}
	if m.Facts.System.Container == "" { // a job on the host
		return "gpu-count"
	}
	return "container-driver-libs"
}

// observeDriverAnswers returns the link answers: held if NVML answered, unseen if it failed or the GPU's fabric is not ready.
// It returns false if NVML was not asked or says nothing about the driver, because the link does not exist then.
func observeDriverAnswers(m *model.Machine) (verdict.Link, bool) {
	if m.Facts.Observed.CUDAAvailable != nil && !*m.Facts.Observed.CUDAAvailable && !m.Target.Named() && m.Target.Driver == "" {
		return Unseen(verdict.LinkAnswers, verdict.Question("why torch.cuda.is_available() is False in this report (the visible devices, a compatibility library or the nodes under /dev decide)"), "driver-unresponsive"), true
	}
	nvml := m.Facts.Driver.NVML
	missing, unanswered := m.NVMLUnanswered()
	switch {
	// Jetson's NVML is incomplete, and WSL's answers for Windows.
	case m.Target.Named() || m.Target.Driver != "" || m.Jetson() || m.Facts.System.WSL && nvml.Status != "ok":
		return verdict.Link{}, false
	case unanswered:
		return Unseen(verdict.LinkAnswers, missing, "driver-unresponsive"), true
	case nvml.Status == "ok" && m.FabricPending().IsMissing():
		return Unseen(verdict.LinkAnswers, m.FabricPending(), "fabric-manager"), true
	case nvml.Status == "ok":
		return held(verdict.LinkAnswers, "", m.NVMLFrom(), FactNVML), true
	case nvml.Status == "timeout" || nvml.Status == "crashed" || nvml.Status == "stuck":
		return Unseen(verdict.LinkAnswers, verdict.Statement(nvml.Message), "driver-unresponsive"), true
	// Error 9 means that no driver is loaded. For a host without a module, driver-missing reports that.
	case nvml.Status == "error" && (nvml.Code != hardware.NVMLNotLoaded || m.Facts.Driver.Version != "") && !IsGPUWithheld(m):
		return Unseen(verdict.LinkAnswers, whyNVMLFails(nvml), "driver-unresponsive"), true
	}
	return verdict.Link{}, false
}

// whyNVMLFails returns the missing fact for an error of NVML, with the reason if the kernel log has one.
func whyNVMLFails(nvml facts.NVML) verdict.MissingFact {
	lack := verdict.Question("why NVML fails: " + cmp.Or(nvml.Message, fmt.Sprintf("NVML error %d", nvml.Code)))
	if nvml.Code == hardware.NVMLUnknown { // as after a suspend
		lack = verdict.Question("why NVML fails: unknown error (NVML error 999); if the machine was suspended, load nvidia_uvm again")
	}
	lack.Reason = "nvml"
	return lack
}

// ObserveBuild returns one of a build's own links. For a build that a file only names, the links python and libraries
// are assumed. For a build that was found, the link libraries is unseen if nobody examined its libraries.
func ObserveBuild(m *model.Machine, link verdict.LinkName, b *model.Build, g hardware.GPU) verdict.Link {
	installed := b.Path != "" || b.Program()
	switch link {
	case verdict.LinkDriver:
		if m.Target.Driver != "" {
			return assumed(link, m.Driver().Version.String(), byTarget)
		}
		if m.Jetson() { // its driver is a part of the board's system
			return held(link, m.Driver().Version.String(), m.Driver().From, FactGPUs, FactSystem)
		}
		return held(link, m.Driver().Version.String(), m.Driver().From, FactLoaded, FactLibraries, FactModules, FactCUDA)
	case verdict.LinkCode:
		_, from, _ := m.Code(b, g)
		return held(link, g.Capability.SM(), from, FactSASS, FactPTX, FactGroups, FactRelease)
	case verdict.LinkPython:
		if installed {
			return held(link, b.Env.Python, b.Env.Path, FactPath)
		}
	case verdict.LinkLibraries:
		switch {
		case installed && b.Looked, b.Program():
			return held(link, "", b.Path, FactLooked, FactPath)
		case installed && b.IsFramework() && b.Device == "cuda" && m.Looked("python"): // of what was found only its version was read
			return Unseen(link, verdict.Question("which libraries "+b.Name+" would load"), "library-shadowed")
		}
	}
	return assumed(link, "", byFile)
}

// HiddenByImage returns the missing fact for an image whose own CUDA_VISIBLE_DEVICES hides every GPU.
func HiddenByImage(list string) verdict.MissingFact {
	return verdict.Statement(fmt.Sprintf("CUDA_VISIBLE_DEVICES=%q in the image's configuration hides every GPU", list))
}

// MissingFact returns the fact that an unseen link lacks.
func MissingFact(m *model.Machine, l verdict.Link) verdict.MissingFact {
	list, hides := m.Facts.Variables["CUDA_VISIBLE_DEVICES"]
	switch {
	case l.Value != verdict.Withheld:
		return l.Lacks
	case m.Facts.Image != nil:
		return HiddenByImage(list)
	case hides && m.Shown.Hidden:
		return verdict.MissingFact{Missing: fmt.Sprintf("CUDA_VISIBLE_DEVICES=%q hides every GPU from this process", list), Reason: "hidden"}
	}
	if m.Facts.System.Container == "" {
		return verdict.MissingFact{Missing: "this job was given no GPU", Reason: "withheld-job"}
	}
	return verdict.MissingFact{Missing: "this container was given no GPU", Reason: "withheld"}
}
