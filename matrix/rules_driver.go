package matrix

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/version"
	"cudacompat/pin"
	"cudacompat/probe/facts"
)

// driverMissing: a host has an NVIDIA GPU on its bus that something wants, and no driver. Toolkits and wheels never
// contain one, so nothing else that is installed can help: an error.
func driverMissing(m *machine) []*result {
	results := m.undrivenHost()
	for _, r := range results {
		r.rests = []LinkName{LinkModule} // module-missing-for-kernel says it better
	}
	return results
}

// undrivenHost asks whether the driver is there, on a host.
func (m *machine) undrivenHost() []*result {
	// nvidia-smi's own words, pasted to `check`. Its "command not found" proves nothing, and is not-looked-at's.
	if m.f.Driver.NVML.Code == nvmlNotLoaded && m.looked("nvidia-smi") && m.target.Driver == "" {
		return found(m.unreached())
	}
	// A container's driver is its host's, and is judged by container-driver-libs. A GPU that nothing wants may be for
	// the screen: then a machine without NVIDIA's driver is as its owner wants it.
	if !m.host() || len(m.gpus) == 0 || m.target.Driver != "" || !m.wantsGPU() {
		return nil
	}
	rest := m.f.System.Rest
	if rest && len(m.f.Driver.Modules) > 0 || m.driver().loaded || m.f.Driver.NVML.Status == "ok" {
		if half := m.userHalf(); half != nil {
			return half
		}
		return holds("driver")
	}
	if rest && len(m.f.Driver.Libraries) > 0 {
		return holds("driver")
	}
	// A driver that could not be looked for is not a missing one.
	if failed := m.probeFailure("proc-driver"); failed != "" {
		return unknown("driver", failed)
	}
	// EKS, Bottlerocket and the GPU operator build or load the module at boot: the files do not tell which release.
	if rest && len(m.f.Machine.Installers) > 0 {
		return unknown("driver", "which driver "+m.f.Machine.Installers[0].Path+" installs at boot")
	}
	// GPUs that a pasted report names were not seen on a bus, and it need not mention the driver.
	if !rest && !m.onPCI() || rest && !m.f.System.Bootable { // a container image gets its driver from the host
		return nil
	}
	if m.installedForGPU() && len(nouveauLoaded(m)) > 0 { // which says why it is not loaded
		return []*result{{subject: "driver", implied: true}}
	}
	state := map[bool]string{false: "loaded", true: "installed"}[rest]
	f := Finding{Severity: Error, Subject: "driver", Message: "no NVIDIA driver is " + state + " for " + m.gpus[0].label,
		Need: "the NVIDIA kernel module " + state,
		Evidence: []Evidence{{Fact: "GPU", Value: m.gpus[0].label, From: m.gpus[0].from},
			{Fact: "NVML", Value: m.f.Driver.NVML.Message, From: "NVML"}},
		Pins:   m.driverPins(version.Number{}),
		Source: []string{"https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/"}}
	if module := m.bootModule(); module != nil {
		f.Message += fmt.Sprintf(", although %s is installed for this kernel", cmp.Or(module.Version, "a module"))
		f.Evidence = append(f.Evidence, Evidence{Fact: "module on disk",
			Value: cmp.Or(module.Version, "of unknown version"), From: module.Path})
		// It is installed; another installation would end at the same refusal, which the kernel log explains.
		f.Pins, f.Steps = nil, []pin.Step{pin.Run(m.hostSystem().AsRoot("modprobe", "nvidia")),
			pin.Say("if that fails, the kernel's log (dmesg) says why: Secure Boot, or a GPU that the module does not support")}
	}
	return found(f)
}

// unreached is a driver that nvidia-smi could not talk to: its output tells no more of the machine.
func (m *machine) unreached() Finding {
	return Finding{Severity: Error, Subject: "driver", Need: "the NVIDIA kernel module loaded",
		Message: "nvidia-smi cannot reach an NVIDIA driver: its kernel module is not loaded, or this is a container " +
			"without its GPU",
		Evidence: []Evidence{{Fact: "NVML", Value: m.f.Driver.NVML.Message, From: m.nvmlFrom()}},
		Steps: []pin.Step{pin.Run("sudo modprobe nvidia").That("if that fails, the kernel's log (dmesg) says why"),
			pin.Run("sudo dkms autoinstall && sudo reboot").That("after an update of the kernel or of the driver").Instead(),
			pin.Say("in a container: start it with its GPU, `docker run --gpus all`").Instead()},
		Source: []string{"https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/"}}
}

// driverMismatch: the user space that programs load is not of the driver that runs. The interface between the two is
// private and changes with every release, so the module refuses libraries that differ in the patch only (NVML 18, CUDA
// 803 or 804): an error. A package upgrade does this on a running machine. What is on disk decides whether a reboot is
// enough.
func driverMismatch(m *machine) []*result {
	loaded := m.found.loaded
	// Nothing runs in a tree: the module that its kernel will load is compared instead.
	if m.f.System.Rest && !loaded.Known() {
		return m.mismatchAtRest()
	}
	if m.f.System.WSL && m.f.System.Container == "" && m.target.Driver == "" {
		return m.mismatchInWSL()
	}
	// WSL's user space is of the Windows driver, whose numbers differ; Jetson's belongs to L4T.
	if m.f.System.WSL || m.jetson() || m.target.Driver != "" || (!loaded.Known() && m.f.Driver.NVML.Code != nvmlMismatch) {
		return nil
	}
	disk := m.bootModule()
	for _, lib := range m.found.libraries {
		// The PTX compiler talks to no kernel module, and a cuda-compat package brings a newer one on purpose.
		if v := lib.version; lib.Name != "libnvidia-ptxjitcompiler" && v.Known() && loaded.Known() &&
			v.Compare(loaded) != 0 {
			return found(m.mismatch(loaded, &lib, disk))
		}
	}
	switch {
	// NVML's own answer is proof even where no file tells a version.
	case m.f.Driver.NVML.Code == nvmlMismatch:
		return found(m.mismatch(loaded, m.library("libnvidia-ml"), disk))
	// All that runs agrees. What is on disk counts from the next boot on.
	case disk != nil && disk.version.Known() && disk.version.Compare(loaded) != 0:
		return found(m.pendingModule(loaded, disk))
	case len(m.f.Driver.Libraries) == 0:
		return nil
	}
	return holds("driver")
}

// mismatchInWSL: Windows lends its driver's libraries to WSL2, and they bear no Linux release. A Linux driver that is
// installed beside them talks to a kernel module that WSL2 does not have.
func (m *machine) mismatchInWSL() []*result {
	lib := m.library("libcuda")
	if lib == nil || lib.version.Major() < 100 { // Windows' is libcuda.so.1.1
		return nil
	}
	f := Finding{Severity: Error, Subject: "driver", Need: "Windows' own libcuda.so.1, in /usr/lib/wsl/lib",
		Message: fmt.Sprintf("%s, which programs load, belongs to a Linux driver, %s; in WSL2 only Windows' own reaches the GPU",
			lib.Path, lib.version),
		Evidence: []Evidence{{Fact: "libcuda", Value: lib.Version, From: lib.Path}},
		Source:   []string{"https://docs.nvidia.com/cuda/wsl-user-guide/index.html"},
		Steps:    []pin.Step{pin.Say("remove the Linux driver from this WSL distribution; Windows' driver is enough")}}
	owner := slices.IndexFunc(m.f.Machine.Packages, func(p facts.DriverPackage) bool {
		return strings.HasPrefix(p.Name, "libnvidia-compute") || p.Name == "libcuda1"
	})
	if s := m.hostSystem(); owner >= 0 && s.APT() {
		f.Steps = []pin.Step{pin.Run(pin.All(s.Remove(m.f.Machine.Packages[owner].Name), s.AsRoot("ldconfig"))).
			That("Windows' driver is enough")}
	}
	return found(f)
}

// mismatchAtRest: the module that will be loaded at boot is of another release than the libraries that wait for it.
// Debian keeps several drivers side by side; there the module's name tells that alternatives choose. An image with two
// releases passes every other rule, because nothing is loaded in it, and fails on each machine that is started from it:
// an error.
func (m *machine) mismatchAtRest() []*result {
	kernel, _ := m.bootKernel()
	module := m.moduleOf(kernel)
	// EKS and Bottlerocket put the module in place at boot, so the one on disk is not the one that will run.
	// nvidia-current.ko is Debian's name where update-alternatives chooses.
	if !m.host() || m.target.Driver != "" || len(m.f.Machine.Installers) > 0 || module == nil ||
		!module.version.Known() ||
		!strings.HasPrefix(path.Base(module.Path), "nvidia.ko") {
		return nil
	}
	var judged []*result
	for _, lib := range m.found.libraries {
		v := lib.version
		if !v.Known() || lib.Name == "libnvidia-ptxjitcompiler" {
			continue
		}
		if judged = holds("driver"); v.Compare(module.version) != 0 {
			return found(Finding{Severity: Error, Subject: "driver", Need: "one release for both", Source: mismatchSource,
				Message: fmt.Sprintf("%s belongs to driver %s, but the kernel module that will be loaded is %s", lib.Name, v,
					module.Version),
				Evidence: []Evidence{{Fact: lib.Name, Value: lib.Version, From: lib.Path},
					{Fact: "module for " + kernel, Value: module.Version, From: module.Path}},
				Steps: []pin.Step{pin.Say("install or build the module of " + pin.Said(v.String()) + " for " + pin.Word(kernel)),
					pin.Say("reinstall the driver's packages, so that library and module are the same release").Instead()}})
		}
	}
	return judged
}

// Codes of nvmlReturn_t (nvml.h): NVML_ERROR_NO_PERMISSION, _DRIVER_NOT_LOADED, _GPU_IS_LOST, _LIB_RM_VERSION_MISMATCH.
const (
	nvmlNoPermission = 4
	nvmlNotLoaded    = 9
	nvmlLost         = 15
	nvmlMismatch     = 18
)

var mismatchSource = []string{"https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceEnumvs.html"}

// mismatch names the two releases where they are known; NVML 18 and pasted output prove a mismatch without them.
func (m *machine) mismatch(loaded version.Number, lib *driverLibrary, disk *module) Finding {
	f := Finding{Severity: Error, Subject: "driver",
		Message: "the driver's libraries and the loaded kernel module are different releases",
		Need:    "one release for both", Source: mismatchSource, Evidence: []Evidence{
			{Fact: "loaded module", Value: loaded.String(), From: m.f.Driver.From},
			{Fact: "NVML", Value: m.f.Driver.NVML.Message, From: m.nvmlFrom()}}}
	user := version.Number{}
	if lib != nil && loaded.Known() {
		user = lib.version
		f.Message = fmt.Sprintf("%s belongs to driver %s, but the loaded kernel module is %s", lib.Name, user, loaded)
		f.Need = "libraries and kernel module of one release, " + m.mismatchGoal(loaded, user).String()
		f.Evidence = append(f.Evidence, Evidence{Fact: lib.Name, Value: lib.Version, From: lib.Path})
	}
	if lib != nil && !loaded.Known() {
		f.Message = fmt.Sprintf("%s belongs to driver %s, but the loaded kernel module is another "+
			"release", lib.Name, lib.Version)
		f.Evidence = append(f.Evidence, Evidence{Fact: lib.Name, Value: lib.Version, From: lib.Path})
	}
	if disk != nil {
		f.Evidence = append(f.Evidence, Evidence{Fact: "module on disk", Value: disk.Version, From: disk.Path})
	}
	if disk != nil && user.Known() && disk.version.Compare(user) == 0 && m.f.System.Container == "" {
		f.Message += ": the driver was updated while it ran"
	}
	if baked := m.bakedIn(user); m.f.System.Container != "" && len(baked) > 0 {
		f.Message += ": it is the image's own (" + joinAnd(baked) + ") and hides the host's"
	}
	if user.Known() && m.buildsModule(loaded, disk) && m.f.Machine.MakeError != "" {
		f.Message += fmt.Sprintf(": DKMS could not build the module of %s", user)
		f.Evidence = append(f.Evidence, m.evidenceBuild())
	}
	f.Steps = m.mismatchSteps(loaded, user, disk)
	return f
}

// buildsModule reports whether the module of the libraries' release has still to be built: the one on disk is the loaded one,
// or there is none, and a reboot does not bring the release of the libraries.
func (m *machine) buildsModule(loaded version.Number, disk *module) bool {
	if m.f.System.Container != "" {
		return false
	}
	return disk != nil && disk.Version != "" && disk.version.Compare(loaded) == 0 || disk == nil && len(m.f.Driver.Modules) == 0
}

// mismatchGoal is the release that both should have: the user space's, but in a container the host's module's.
func (m *machine) mismatchGoal(loaded, user version.Number) version.Number {
	// A container cannot change the module, which is its host's.
	if m.f.System.Container != "" {
		return loaded
	}
	return user
}

// mismatchSteps bring libraries and module to one release. A reboot is proposed only where the module that it would
// load is the right one: else it would end at the same error.
func (m *machine) mismatchSteps(loaded, user version.Number, disk *module) []pin.Step {
	s := m.hostSystem()
	reinstall := pin.Say("reinstall the driver's packages, so that library and module are the same release")
	switch {
	case m.f.System.Container != "" && len(m.bakedIn(user)) > 0:
		names := strings.Join(m.bakedIn(user), " ")
		return []pin.Step{pin.Say("remove " + names + " from the image, and start the container again: an image must not have the " +
			"driver's own packages, which hide the files that the container engine mounts from the host")}
	// The engine mounted the files of the driver that ran when the container started (bind mounts keep the old inode).
	case m.f.System.Container != "":
		return []pin.Step{pin.Say("restart the container: it still has the libraries of the host's previous driver")}
	// Only the loaded module is behind: the next boot loads the one that fits the libraries.
	case disk != nil && user.Known() && disk.version.Compare(user) == 0:
		return []pin.Step{pin.Run(s.AsRoot("reboot")).That("the module on disk is already " + pin.Said(disk.Version)),
			pin.Run(pin.All(s.AsRoot("modprobe", "-r", "nvidia_uvm", "nvidia_drm", "nvidia_modeset", "nvidia"), s.AsRoot("modprobe", "nvidia"))).That(
				"without a reboot, while nothing uses the GPU (stop nvidia-persistenced first)").Instead()}
	case m.buildsModule(loaded, disk) && (disk != nil || user.Known()):
		return []pin.Step{pin.Run(pin.All(s.AsRoot("dkms", "autoinstall"), s.AsRoot("reboot"))).That("builds the module of " +
			pin.Said(user.String()) + " (a reboot without it loads " + pin.Said(loaded.String()) + " again)"),
			pin.Say("if the build fails, " + pin.Word("/var/lib/dkms/nvidia/"+user.String()+"/build/make.log") + " says why"),
			reinstall.Instead()}
	case disk == nil:
		return []pin.Step{pin.Run(s.AsRoot("reboot")), pin.Say("if the mismatch stays, " + reinstall.Say)}
	}
	return []pin.Step{reinstall, pin.Run(s.AsRoot("reboot"))}
}

// bakedIn are the packages of the driver in an image that are of the release which programs load, and not of the host's.
func (m *machine) bakedIn(user version.Number) []string {
	var list []string
	for _, p := range m.f.Machine.Packages {
		release := packageRelease.FindStringSubmatch(p.Version)
		if user.Known() && release != nil && version.Of(release[1]).Compare(user) == 0 {
			list = append(list, pin.Word(p.Name))
		}
	}
	return list
}

// pendingModule: an update waits for the next boot; until then all is well, so a warning.
func (m *machine) pendingModule(loaded version.Number, disk *module) Finding {
	return Finding{Severity: Warning, Subject: "driver", Source: mismatchSource,
		Need: "driver " + loaded.String() + " for both after the next boot",
		Message: fmt.Sprintf("the module on disk is %s, but %s is loaded: the next boot changes the driver", disk.Version,
			loaded),
		Evidence: []Evidence{{Fact: "loaded module", Value: loaded.String(), From: m.f.Driver.From},
			{Fact: "module on disk", Value: disk.Version, From: disk.Path}},
		Steps: []pin.Step{pin.Say("finish the update of the driver's user space, then reboot")}}
}

// nvmlFrom is who put NVML's answer into words: this program's child process, or the nvidia-smi of pasted output.
func (m *machine) nvmlFrom() string {
	if m.looked("nvidia-smi") {
		return "nvidia-smi"
	}
	return "NVML"
}

// driverUnresponsive: proof that the driver hangs. A mere time-out is no proof: healthy 8-GPU machines without
// persistence answer late, and an alarm would get them replaced.
func driverUnresponsive(m *machine) []*result {
	if m.target.named() {
		return nil
	}
	f := Finding{Severity: Error, Subject: "driver", Message: "the driver does not answer", Need: "a driver that answers",
		Steps:  m.lostSteps(),
		Source: []string{"https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html"}}
	// Xid 79 (fell off the bus), 119 and 120 (its firmware processor hangs), 154 (recovery action) or "RmInitAdapter
	// failed", since boot or the last load of the driver: what came before that load is over (Xid catalogue), and what NVML
	// calls recovered is, too.
	if len(m.f.Driver.Kernel) > 0 && !m.allRecovered() {
		f.Message = "the kernel log says that the driver lost a GPU or could not initialise it"
		if x := m.t.Xid(m.f.Driver.Kernel[0]); x != nil {
			f.Message = fmt.Sprintf("the kernel log has Xid %d: %s", x.Xid, x.Meaning)
		}
		f.Evidence = []Evidence{{Fact: "kernel log", Value: m.f.Driver.Kernel[0], From: cmp.Or(m.f.Driver.KernelFrom, "/dev/kmsg")}}
		return m.losing(f)
	}
	if m.f.Driver.NVML.Code == nvmlLost && len(m.f.Driver.NVML.Failed) == 0 {
		f.Message = "the driver lost a GPU: it fell off the bus, or cannot be reached for another reason"
		f.Evidence = []Evidence{{Fact: "NVML", Value: m.f.Driver.NVML.Message, From: m.nvmlFrom()}}
		return m.losing(f)
	}
	switch m.f.Driver.NVML.Status {
	// In state D past the deadline: the call hangs inside the kernel module, which no healthy driver does. A process in
	// state D takes no signal, not even SIGKILL.
	case "stuck":
		f.Evidence = []Evidence{{Fact: "NVML", Value: m.f.Driver.NVML.Message, From: "NVML"}}
		return m.losing(f)
	// Machines with 8 GPUs and no persistence daemon take 25 to 30 s to initialise: slow is not broken.
	case "timeout", "crashed":
		return unknown("driver", m.f.Driver.NVML.Message)
	case "ok":
		return holds("driver")
	}
	return nil
}

// losing is a fault of the driver, with the GPUs that it takes from programs.
func (m *machine) losing(f Finding) []*result {
	return []*result{{subject: f.Subject, finding: &f, takes: m.lost}}
}

// allRecovered reports whether NVML says of every GPU that it needs no recovery.
func (m *machine) allRecovered() bool {
	for _, g := range m.f.GPUs {
		if g.Health == nil || g.Health.Recovery != "none" {
			return false
		}
	}
	return len(m.f.GPUs) > 0
}

// driverDropsGPU: NVIDIA's newer branches no longer drive older chips: Kepler ended with R470, Maxwell, Pascal and
// Volta with R580. The module loads and ignores the GPU, and no CUDA build can help. That CUDA 13 has no code for a
// V100 is gpu-arch-missing's: R580 itself still drives one.
func driverDropsGPU(m *machine) []*result {
	dropped := func(g gpu) bool {
		last, _ := m.lastBranch(g)
		return last.Known() && m.driver().version.Major() > last.Major()
	}
	return m.driverAgainstGPUs(dropped, func(g gpu) Finding {
		last, source := m.lastBranch(g)
		return Finding{Message: fmt.Sprintf("driver %s no longer supports %s; the last branch that does is %s",
			m.driver().version, g.label, last),
			Need: fmt.Sprintf("driver branch <= %s", last), Pins: m.driverPins(version.Number{}), Source: source}
	})
}

// driverTooOldForGPU: the driver was made before the chip or the product: it does not find the PCI id in its lists. A
// higher number does not prove anything: 525.105.17 knows the L4, and 530.30.02, a month older, does not. Release notes
// and product pages prove the first driver; the READMEs of NVIDIA's open modules lag, so what only they say is a
// warning.
func driverTooOldForGPU(m *machine) []*result {
	driver := m.driver().version
	tooNew := func(g gpu) bool { b := m.before(g, driver); return b != nil && b.proven }
	say := func(g gpu) Finding {
		b := m.before(g, driver)
		return Finding{Message: b.words(driver, g.label), Need: b.need(), Pins: m.driverPins(version.Number{}),
			Source: b.source}
	}
	results := m.driverAgainstGPUs(tooNew, say)
	// An error says more than the READMEs can; where the question does not arise, they have no say either.
	unlisted := slices.IndexFunc(m.gpus, func(g gpu) bool { return m.before(g, driver) != nil })
	if len(results) != 1 || results[0].finding != nil || unlisted < 0 {
		return results
	}
	g := m.gpus[unlisted]
	f := say(g)
	f.Severity, f.Subject = Warning, "driver"
	f.Evidence = []Evidence{m.evidenceDriver(), {Fact: "GPU", Value: g.label, From: g.from}}
	return found(f)
}

// driverAgainstGPUs judges the driver for every GPU: an error when none is served, a warning when some are.
func (m *machine) driverAgainstGPUs(bad func(gpu) bool, say func(gpu) Finding) []*result {
	// The table of chips names Linux branches; Windows drivers have other numbers, and Jetson's belongs to L4T.
	if !m.driver().version.Known() || len(m.gpus) == 0 || m.windowsNumbers() || m.jetson() {
		return nil
	}
	first := slices.IndexFunc(m.gpus, bad)
	if first < 0 {
		// A GPU that the table lacks may be the one that the driver does not support.
		if i := slices.IndexFunc(m.gpus, func(g gpu) bool { return g.chip == nil }); i >= 0 {
			return unknown("driver", "what kind of GPU "+m.gpus[i].label+" is")
		}
		return compared("driver")
	}
	f := say(m.gpus[first])
	f.Severity, f.Subject = Error, "driver"
	f.Evidence = []Evidence{m.evidenceDriver(), {Fact: "GPU", Value: m.gpus[first].label, From: m.gpus[first].from}}
	// The driver loads and leaves out what it does not know; programs run on the others.
	if served := slices.IndexFunc(m.gpus, func(g gpu) bool { return !bad(g) }); served >= 0 {
		f.Severity = Warning
		f.Message += "; this driver supports " + m.gpus[served].label
		f.Steps = append(f.Steps, m.exporting(m.showing(func(g gpu) bool { return !bad(g) }), "hides the unsupported GPU"),
			pin.Say("move that GPU to another machine").Instead())
	}
	if f.Severity == Error && len(f.Pins)+len(f.Steps) == 0 {
		f.Steps = []pin.Step{pin.Say("no driver branch supports all of these GPUs: move the build or a GPU to another machine")}
	}
	return []*result{{subject: f.Subject, finding: &f, need: "a driver that supports the GPU", row: m.knownBy(m.gpus[first])}}
}

// knownBy are the rows of the tables that say which drivers know a GPU.
func (m *machine) knownBy(g gpu) string {
	rows := "gpu.csv"
	if g.chip != nil {
		rows = g.chip.Chip + " in gpu.csv"
	}
	for _, p := range proven(m.productsOf(g)) {
		rows += ", " + p.PCIID + " in product.csv"
	}
	return rows
}

// requiredMissing: what the caller asked for with --require. Without it nothing is required: a machine without a GPU
// may be a build host or a login node. It is for places where nobody reads the report: first boot, a health check, an
// image pipeline.
func requiredMissing(m *machine) []*result {
	var results []*result
	for _, want := range m.policy.Require {
		present, couldNot := m.has(want)
		switch {
		case present:
			results = append(results, holds(want)...)
		// Could not look is not absent: unknown, which leaves the outcome open.
		case couldNot != "":
			results = append(results, leftOpen(want, couldNot)...)
		default:
			f := m.lacking(want)
			r := result{subject: f.Subject, finding: &f}
			if want == "driver" || want == "gpu" {
				r.rests = ofMachine
			}
			results = append(results, &r)
		}
	}
	return results
}

// lacking says what is required and not there; a GPU that only this process does not see is there.
func (m *machine) lacking(want string) Finding {
	name := requiredNames[want]
	f := Finding{Severity: Error, Subject: want, Message: "no " + name + " was found, but one is required", Need: name,
		Steps: requiredSteps[want]}
	// It is there for everybody else: starting the container again would not help.
	if want == "gpu" && m.shown.hidden {
		f.Message = fmt.Sprintf("a GPU is required, but CUDA_VISIBLE_DEVICES=%q hides every one", m.shown.list)
		f.Evidence = []Evidence{{Fact: "CUDA_VISIBLE_DEVICES", Value: fmt.Sprintf("%q", m.shown.list), From: "environment"}}
		f.Steps = []pin.Step{pin.Run("unset CUDA_VISIBLE_DEVICES"),
			pin.Say("name GPUs in it that are there (`nvidia-smi -L` lists them)").Instead()}
	}
	return f
}

// requiredNames are the things of Requirements for a sentence.
var requiredNames = map[string]string{
	"driver": "NVIDIA driver", "gpu": "GPU", "efa": "EFA adapter", "build": "build that uses CUDA",
}

// requiredSteps are for a machine that nobody has looked at yet: first boot, a health check.
var requiredSteps = map[string][]pin.Step{
	"driver": {pin.Say("install the NVIDIA driver and reboot (`cudacompat probe` shows where it was looked for)"),
		pin.Say("start the container with its GPU: `docker run --gpus all`").Instead()},
	"gpu": {pin.Say("start this on a GPU instance (`cudacompat probe` shows where a GPU was looked for)"),
		pin.Say("start the container with its GPU: `docker run --gpus all`").Instead()},
	"efa": {pin.Say("launch the instance with an EFA network interface and install EFA's driver"),
		pin.Say("give the container its devices (/dev/infiniband; in Kubernetes the limit vpc.amazonaws.com/efa)").Instead()},
	"build": {pin.Say("install a CUDA build of PyTorch, TensorFlow or JAX"), pin.Say("name its environment with --env").Instead()},
}

// has says whether a required thing is there, or why that could not be found out.
func (m *machine) has(want string) (present bool, couldNot string) {
	// Eight GPUs without persistence take 25 to 30 s to initialise: a late answer is not absence.
	slow := ""
	if s := m.f.Driver.NVML.Status; s == "timeout" || s == "crashed" {
		slow = m.f.Driver.NVML.Message
	}
	switch want {
	case "driver":
		// At rest nothing is loaded: one that the booting kernel will load counts.
		return m.driver().loaded || m.f.System.Rest && m.driver().version.Known(), cmp.Or(m.probeFailure("proc-driver"), slow)
	case "gpu":
		return len(m.gpus) > 0 && !m.shown.hidden, slow
	case "efa":
		return m.hasEFA()
	case "build":
		// A place that was not read may hold the build that is asked for.
		return m.anyWants(func(b *build) bool { return b.counts }), cmp.Or(m.unread(), m.probeFailure("python"))
	}
	return false, "how to look for " + want
}

// Requirements are the things that can be required, in the order in which they are listed for people.
func Requirements() []string { return []string{"driver", "gpu", "build", "efa"} }
