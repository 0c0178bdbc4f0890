package matrix

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/version"
	"cudacompat/pin"
	"cudacompat/probe/facts"
)

// moduleMissing: the driver is installed, but not for the kernel that boots: DKMS failed, mostly because the kernel's
// headers are not installed. An image like that fails on every machine that is started from it: an error. A driver that
// runs came from somewhere.
func moduleMissing(m *machine) []*result {
	kernel, from := m.bootKernel()
	running := m.f.Driver.Version != "" || m.f.Driver.NVML.Status == "ok"
	if !m.host() || m.target.Driver != "" || kernel == "" || !m.installedForGPU() || running && m.moduleOf(kernel) == nil {
		return nil
	}
	if failed := m.probeFailure("driver-modules"); failed != "" && m.moduleOf(kernel) == nil {
		return unknown("driver", failed)
	}
	// Images that install the module at boot have none on disk, and are healthy.
	// EKS AMIs keep built modules in /var/lib/dkms-archive; akmods and driver containers bring theirs at boot.
	if m.moduleOf(kernel) != nil || len(m.f.Machine.Installers) > 0 {
		return append(holds("driver"), m.otherKernels(kernel)...)
	}
	what := "the running kernel"
	if m.f.System.Rest {
		what = "the kernel that will boot"
	}
	return found(Finding{Severity: Error, Subject: "driver",
		Message:  fmt.Sprintf("%s (%s) has no NVIDIA module", what, kernel) + m.buildFailed(),
		Need:     "nvidia.ko under /lib/modules/" + kernel,
		Evidence: append([]Evidence{{Fact: "kernel", Value: kernel, From: from}, m.evidenceBuild()}, m.moduleEvidence()...),
		Steps:    m.moduleSteps(kernel),
		Source:   []string{"https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/"}})
}

// installedForGPU reports whether a driver is installed here for a GPU that is here or asked for. At rest a module for
// some kernel says so too; libraries without a module may be there for building.
func (m *machine) installedForGPU() bool {
	if len(m.f.Driver.Modules) > 0 {
		return len(m.gpus) > 0 || m.f.System.Rest
	}
	return len(m.gpus) > 0 && len(m.f.Driver.Libraries) > 0
}

// buildFailed says of a missing module that DKMS tried to build it; empty where it left no log of that.
func (m *machine) buildFailed() string {
	if m.f.Machine.MakeError == "" {
		return ""
	}
	return ": DKMS could not build it"
}

// evidenceBuild is what stopped DKMS.
func (m *machine) evidenceBuild() Evidence {
	return Evidence{Fact: "DKMS", Value: m.f.Machine.MakeError, From: m.f.Machine.MakeLog}
}

// moduleEvidence lists the modules of all kernels: one of another kernel tells what to boot in the meantime.
func (m *machine) moduleEvidence() []Evidence {
	var list []Evidence
	for _, d := range m.f.Driver.Modules {
		list = append(list, Evidence{Fact: "module for " + d.Kernel, Value: cmp.Or(d.Version, "of unknown version"),
			From: d.Path})
	}
	for _, lib := range m.f.Driver.Libraries {
		list = append(list, Evidence{Fact: lib.Name, Value: lib.Version, From: lib.Path})
	}
	return list
}

// moduleSteps builds the module, or boots what has one.
func (m *machine) moduleSteps(kernel string) []pin.Step {
	// DKMS builds against the headers of exactly this kernel.
	s := m.hostSystem()
	build := pin.Run(s.AsRoot("dkms", "autoinstall", "-k", kernel)).That("builds the module")
	if !m.f.System.Rest {
		build = pin.Run(pin.All(s.AsRoot("dkms", "autoinstall", "-k", kernel), s.AsRoot("modprobe", "nvidia"))).That("builds the module and loads it")
	}
	var steps []pin.Step
	if install := s.Install(s.Headers(kernel)); install != "" {
		steps = append(steps, pin.Run(install).That("what the module is built with"), build)
	} else {
		steps = append(steps, pin.Say("install the headers of kernel "+pin.Word(kernel)), build)
	}
	if log := m.f.Machine.MakeLog; log != "" {
		steps = append(steps, pin.Say("if the build fails again, "+pin.Word(log)+" says why"))
	}
	if name := m.prebuiltModule(kernel); name != "" {
		steps = append(steps, pin.Run(s.Install(name)).That("Ubuntu's own build of the module for this kernel").Instead())
	}
	if i := slices.IndexFunc(m.f.Driver.Modules, func(d facts.Module) bool {
		return slices.Contains(m.f.Machine.Kernels,
			d.Kernel)
	}); i >= 0 {
		steps = append(steps, pin.Say("make the boot loader start "+pin.Word(m.f.Driver.Modules[i].Kernel)+", which has one").Instead())
	}
	return steps
}

// prebuiltModule is Ubuntu's package of the driver's module for one kernel, made and signed by Ubuntu
// (https://documentation.ubuntu.com/server/how-to/graphics/install-nvidia-drivers/); empty elsewhere, and where the
// driver's packages do not tell which it is.
func (m *machine) prebuiltModule(kernel string) string {
	if m.hostSystem().Family != "ubuntu" {
		return ""
	}
	for _, p := range m.f.Machine.Packages {
		if found := ubuntuDriver.FindStringSubmatch(p.Name); found != nil {
			return "linux-modules-nvidia-" + found[1] + "-" + kernel
		}
	}
	return ""
}

// ubuntuDriver matches Ubuntu's package of a driver, with its branch and kind: "580-server-open".
var ubuntuDriver = lazyregexp.New(`^nvidia-(?:driver|headless|headless-no-dkms)-(\d+(?:-server)?(?:-open)?)$`)

// otherKernels notes installed kernels that could be booted one day and have no module. A note: the boot loader's
// default is what starts, and old kernels stay installed on healthy machines.
func (m *machine) otherKernels(boot string) []*result {
	if len(m.f.Machine.Installers) > 0 {
		return nil
	}
	var without []string
	for _, k := range m.f.Machine.Kernels {
		if k != boot && m.moduleOf(k) == nil {
			without = append(without, k)
		}
	}
	if len(without) == 0 {
		return nil
	}
	return found(Finding{Severity: Note, Subject: "driver",
		Message:  "installed kernels that do not boot by default have no NVIDIA module: " + joinAnd(without),
		Need:     "nvidia.ko for every kernel before it boots",
		Evidence: []Evidence{{Fact: "kernel", Value: boot, From: "boots by default"}},
		Steps:    []pin.Step{pin.Run(m.hostSystem().AsRoot("dkms", "autoinstall", "-k", without[0])).That("before such a kernel boots")}})
}

// nouveauLoaded: the open drivers hold a GPU that CUDA is wanted on. An error, with the driver to install where there
// is none: driver-missing stays silent about the same GPU.
func nouveauLoaded(m *machine) []*result {
	// nouveau drives a desktop's screen; it is a fault only where CUDA is wanted on that GPU.
	if !m.host() || m.target.Driver != "" || m.f.System.Rest || m.target.Instance != "" || !m.wantsGPU() {
		return nil
	}
	// A GPU has one kernel driver: the NVIDIA module cannot take what nouveau or nova holds.
	var held []facts.GPU
	nvidia := false
	for _, g := range m.f.GPUs {
		nvidia = nvidia || g.Bound == "nvidia"
		if nouveaus(g) {
			held = append(held, g)
		}
	}
	if len(held) == 0 {
		return nil
	}
	f := Finding{Severity: Error, Subject: "driver",
		Message: fmt.Sprintf("%s is bound to %s, which does not support CUDA", m.gpuFound(held[0]).label, held[0].Bound),
		Need:    "the GPU bound to nvidia", Evidence: []Evidence{{Fact: held[0].Bus, Value: "bound to " + held[0].Bound,
			From: "/sys/bus/pci"}},
		Steps:  m.withoutNouveau(held[0].Bound),
		Source: []string{"https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/"}}
	// The NVIDIA driver runs, so a GPU of another driver may be the screen's.
	if nvidia {
		f.Severity = Note
	} else if len(m.f.Driver.Modules)+len(m.f.Driver.Libraries) == 0 && m.probeFailure("driver-modules") == "" {
		f.Message += ", and NVIDIA's driver is not installed"
		// The driver's packages keep nouveau from being loaded themselves.
		if f.Pins = m.driverPins(version.Number{}); len(f.Pins) > 0 && len(f.Pins[0].Commands) > 0 {
			f.Steps = nil
		}
	}
	return found(f)
}

// withoutNouveau keeps another driver's module from being loaded at boot: modprobe.d(5).
func (m *machine) withoutNouveau(module string) []pin.Step {
	s := m.hostSystem()
	steps := []pin.Step{pin.Run(s.Write("blacklist "+module, "/etc/modprobe.d/blacklist-"+module+".conf"))}
	if initramfs := s.Initramfs(); initramfs != "" {
		return append(steps, pin.Run(pin.All(initramfs, s.AsRoot("reboot"))))
	}
	return append(steps, pin.Say("make the initramfs again"), pin.Run(s.AsRoot("reboot")))
}

// flavour is the kernel module's that runs or, at rest, will be loaded; empty when it is not known, or chosen at boot.
func (m *machine) flavour() (flavour, from string) {
	// A version does not say which flavour of it is meant.
	if m.target.Driver != "" {
		return "", ""
	}
	// A module that runs proves its flavour; what is on disk may be for the next boot.
	if m.f.Driver.Module != "" && m.target.Instance == "" {
		return m.f.Driver.Module, m.f.Driver.From
	}
	// EKS AMIs choose between an open and a proprietary module at boot.
	if !m.f.System.Rest || len(m.f.Machine.Installers) > 0 {
		return "", ""
	}
	// The licence in the module on disk tells its flavour.
	if module := m.bootModule(); module != nil {
		return module.Flavour, module.Path
	}
	return "", ""
}

// openRequired: Blackwell and Grace Hopper have no proprietary module (open-gpu-kernel-modules issue 872); Turing to
// Hopper run with both.
func openRequired(m *machine) []*result {
	return m.flavourAgainstGPUs("proprietary", "required", "open")
}

// openUnsupported: GPUs before Turing have no GSP, which the open module needs. R580 is the last branch that drives
// them; R615 ships the open module only.
func openUnsupported(m *machine) []*result {
	return m.flavourAgainstGPUs("open", "unsupported", "proprietary")
}

// flavourAgainstGPUs: the module is of one flavour and the GPU's row asks for the other. The module loads and refuses
// the GPU: an error. In a container the host decides.
func (m *machine) flavourAgainstGPUs(flavour, row, need string) []*result {
	have, from := m.flavour()
	if !m.host() || have == "" || len(m.present) == 0 {
		return nil
	}
	bad := func(g gpu) bool { // one that NVML shows is driven
		return have == flavour && g.chip != nil && m.drivenBy(g, m.driver().version) && g.chip.OpenModule == row &&
			!strings.Contains(g.from, "NVML")
	}
	first := slices.IndexFunc(m.present, bad)
	if first < 0 {
		return holds("driver")
	}
	g := m.present[first]
	f := Finding{Severity: Error, Subject: "driver",
		Message:  fmt.Sprintf("%s needs the %s kernel module, but the %s one is installed", g.label, need, have),
		Need:     "the " + need + " kernel module",
		Evidence: []Evidence{{Fact: "kernel module", Value: have, From: from}, {Fact: "GPU", Value: g.label, From: g.from}},
		Pins:     m.driverPins(version.Number{}), Source: g.chip.Source}
	// The module drives the other GPUs, and programs run there.
	if slices.ContainsFunc(m.present, func(g gpu) bool { return !bad(g) }) {
		f.Severity = Warning
	}
	// From 515 to 610 a branch has both modules (driver_branch.csv), so the release can stay.
	if len(f.Pins) == 0 {
		f.Steps = []pin.Step{pin.Say("install the " + need + " flavour of the same driver, then reboot")}
	}
	return found(f)
}

// gspFirmware: the open module runs on the GPU's system processor, whose firmware it loads from disk. A driver that
// answers has it. The firmware must be of exactly the module's version, and no GPU starts without it: an error. The
// proprietary module can work without.
func gspFirmware(m *machine) []*result {
	flavour, from := m.flavour()
	answers := m.f.Driver.NVML.Status == "ok" && slices.ContainsFunc(m.f.GPUs,
		func(g facts.GPU) bool { return slices.Contains(g.From, "NVML") })
	// In a container, the firmware is the host's.
	if !m.host() || m.target.Driver != "" || flavour != "open" || answers || len(m.gpus) == 0 && !m.f.System.Rest {
		return nil
	}
	// Where nobody asked the GPU, it may have its firmware from a place that is not listed.
	if failed := m.probeFailure("nvml"); failed != "" && m.f.Driver.NVML.Status == "" && !m.f.System.Rest {
		return unknown("driver", "whether the GPU answers: "+failed)
	}
	// Facts of an older form do not list firmware: nothing found is not nothing there.
	if !m.looked("firmware") {
		return unknown("driver", "which GSP firmware is on disk")
	}
	f := Finding{Severity: Error, Subject: "driver",
		Evidence: []Evidence{{Fact: "open module", Value: m.driver().version.String(), From: from}},
		Source:   []string{"https://download.nvidia.com/XFree86/Linux-x86_64/580.65.06/README/gsp.html"}}
	want := m.driver().version.String()
	switch {
	// The firmware of another release is refused, so only this one counts.
	case want != "" && !slices.Contains(m.f.Machine.Firmware, want):
		f.Message = "the GSP firmware of driver " + want + " is not on disk, and the open kernel module needs it"
		f.Need = "/lib/firmware/nvidia/" + want + "/gsp_*.bin"
		f.Evidence = append(f.Evidence, Evidence{Fact: "firmware on disk", Value: strings.Join(m.f.Machine.Firmware, " "),
			From: "/lib/firmware/nvidia"})
		f.Steps = m.firmwareSteps(want)
	// The open module reads the option and goes on with the GSP, so it is a misunderstanding, not a fault.
	case m.f.Machine.GSPOff != "":
		f.Severity = Note
		f.Message, f.Need = "NVreg_EnableGpuFirmware=0 has no effect on the open kernel module, which always uses the GSP",
			"the proprietary module to run without the GSP"
		f.Evidence = append(f.Evidence, Evidence{Fact: "option", Value: "NVreg_EnableGpuFirmware=0",
			From: m.f.Machine.GSPOff})
		f.Source = []string{
			"https://github.com/NVIDIA/open-gpu-kernel-modules/blob/580.95.05/src/nvidia/arch/nvalloc/unix/src/osapi.c",
			"https://github.com/NVIDIA/open-gpu-kernel-modules/issues/820"}
	default:
		return holds("driver")
	}
	return found(f)
}

// firmwareSteps install the firmware of one release: a package of its own in Ubuntu's archive
// (https://packages.ubuntu.com/noble-updates/nvidia-firmware-580-server-580.95.05 and its neighbours).
func (m *machine) firmwareSteps(release string) []pin.Step {
	s := m.hostSystem()
	reboot := pin.Run(s.AsRoot("reboot"))
	for _, p := range m.f.Machine.Packages {
		found := ubuntuDriver.FindStringSubmatch(p.Name)
		if found != nil && s.Family == "ubuntu" {
			branch := strings.TrimSuffix(found[1], "-open")
			return []pin.Step{pin.Run(s.Install("nvidia-firmware-" + branch + "-" + release)), reboot}
		}
	}
	return []pin.Step{pin.Say("install the driver's firmware of the same release, " + pin.Said(release)), reboot}
}

// vgpuDriver: a fraction of a GPU is driven only by NVIDIA's vGPU guest driver. What a version says of that driver
// holds wherever the tool runs; what is on the disk, on hosts only. The data-centre driver for a whole L4 finds no
// device on g6f and gr6f: an error.
func vgpuDriver(m *machine) []*result {
	named := m.target.Driver != ""
	switch {
	case !m.partOfGPU() || m.windowsNumbers() || !named && !m.host():
		return nil
	case !named && m.target.Instance == "" && m.f.Driver.NVML.Status == "ok" && len(m.gpus) > 0:
		return holds("driver")
	// NVIDIA publishes GRID drivers of some branches only.
	// AWS's EKS image went back from 575 to 570 for g6f (amazon-eks-ami pull 2346).
	case m.t.NoVGPU(m.driver().version):
		return found(m.needsGRID(fmt.Sprintf("NVIDIA has none in branch %d", m.driver().version.Major())))
	case !named && m.lacksGRID():
		return found(m.needsGRID("this driver is not one"))
	case m.driver().version.Known() && m.driver().version.Less(m.instance.FirstBranch):
		return found(m.oldGRID())
	case named:
		return found(m.namedGRID())
	case m.f.Machine.GRID != "":
		return holds("driver")
	}
	return unknown("driver", "whether the driver is NVIDIA's vGPU guest driver (GRID)")
}

// lacksGRID reports whether a driver is there without what only the GRID driver brings, and nothing chooses its module
// at boot.
func (m *machine) lacksGRID() bool {
	return m.f.Machine.GRID == "" && m.looked("grid") && m.driver().version.Known() && len(m.f.Machine.Installers) == 0
}

// oldGRID warns of a driver that is older than the first that AWS supports: others of its branch may do.
// 570.172.08 was seen working on gr6f (amazon-eks-ami issue 2443); no source says that an older one fails.
func (m *machine) oldGRID() Finding {
	f := m.needsGRID(fmt.Sprintf("AWS asks for %s or newer", m.instance.FirstBranch))
	f.Severity, f.Need = Warning, fmt.Sprintf("GRID driver >= %s", m.instance.FirstBranch)
	return f
}

// namedGRID says what a version does not: which of NVIDIA's drivers of this version it is.
func (m *machine) namedGRID() Finding {
	f := m.needsGRID(fmt.Sprintf("only the GRID build of driver %s works, and the version does not show "+
		"which build this is", m.driver().version))
	f.Severity = Note
	f.Steps = []pin.Step{pin.Say("install the driver from AWS's bucket ec2-linux-nvidia-drivers, which has the GRID build")}
	return f
}

// needsGRID says that an instance type with a fraction of a GPU has another driver.
func (m *machine) needsGRID(but string) Finding {
	return Finding{
		Severity: Error,
		Subject:  "driver",
		Message:  m.instance.Instance + " has a fraction of a GPU and needs a GRID driver; " + but,
		Need:     "NVIDIA's vGPU guest driver (GRID), which AWS publishes",
		Evidence: []Evidence{m.evidenceDriver(), {Fact: "instance", Value: m.instance.Instance,
			From: "the table of EC2 instances"}},
		Steps: []pin.Step{pin.Say("install the GRID driver from AWS's bucket ec2-linux-nvidia-drivers instead of this driver, " +
			"then reboot")},
		Source: append([]string{"https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/install-nvidia-driver.html"},
			m.instance.Source...),
	}
}
