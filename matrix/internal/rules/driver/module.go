package driver

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/internal/rules/rule"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// ModuleMissingForKernel reports a driver that is installed, but not for the kernel that boots. DKMS failed, usually
// because the kernel's headers are not installed. Every machine started from such an image fails: an error. A driver
// that is running has a module.
func ModuleMissingForKernel(m *model.Machine) []*rule.Result {
	kernel, from := m.BootKernel()
	running := m.Facts.Driver.Version != "" || m.Facts.Driver.NVML.Status == "ok"
	if !m.Host() || m.Target.Driver != "" || kernel == "" || !installedForGPU(m) || running && m.ModuleOf(kernel) == nil {
		return nil
	}
	if failed := m.ProbeFailure("driver-modules"); failed != "" && m.ModuleOf(kernel) == nil {
		return rule.ReportMissing("driver", verdict.Statement(failed))
	}
	// Images that install the module at boot have none on disk and are healthy. EKS AMIs keep built modules in
	// /var/lib/dkms-archive; akmods and driver containers bring theirs at boot.
	if m.ModuleOf(kernel) != nil || len(m.Facts.Machine.Installers) > 0 {
		return append(rule.Pass("driver"), otherKernels(m, kernel)...)
	}
	if m.Facts.System.Rest && buildsAtBoot(m, kernel) {
		return rule.ReportFinding(builtAtBoot(m, kernel, from))
	}
	what := "the running kernel"
	if m.Facts.System.Rest {
		what = "the kernel that will boot"
	}
	return rule.ReportFinding(verdict.Finding{Severity: verdict.Error, Subject: "driver",
		Message:  fmt.Sprintf("%s (%s) has no NVIDIA module", what, kernel) + whyNotBuilt(m, kernel),
		Need:     "nvidia.ko under /lib/modules/" + kernel,
		Evidence: append([]verdict.Evidence{{Fact: "kernel", Value: kernel, From: from}, evidenceBuild(m)}, moduleEvidence(m)...),
		Steps:    moduleSteps(m, kernel),
		Source:   []string{"https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/"}})
}

// builtAtBoot warns of an image whose module is built at the first boot. Every machine started from it compiles for
// minutes before it has a driver.
func builtAtBoot(m *model.Machine, kernel, from string) verdict.Finding {
	dkms := m.Facts.Machine.DKMS
	return verdict.Finding{Severity: verdict.Warning, Subject: "driver",
		Message: fmt.Sprintf("the kernel that will boot (%s) has no NVIDIA module yet: DKMS builds it at the first boot, which takes minutes", kernel),
		Need:    "nvidia.ko under /lib/modules/" + kernel,
		Evidence: []verdict.Evidence{{Fact: "kernel", Value: kernel, From: from}, {Fact: "DKMS", Value: verdict.JoinAnd(dkms.Sources), From: dkms.Service},
			{Fact: "compiler", Value: dkms.Compiler, From: "DKMS"}},
		Steps:  []pin.Step{pin.Run(pins.HostSystem(m).AsRoot("dkms", "autoinstall", "-k", kernel)).Explained("builds the module in the image")},
		Source: []string{"https://github.com/dkms-project/dkms/blob/main/dkms.8.in"}}
}

// buildsAtBoot reports whether DKMS will build the module when a kernel boots: it has the source, this kernel's
// headers, a compiler and make, its service is enabled, and no earlier build failed.
func buildsAtBoot(m *model.Machine, kernel string) bool {
	dkms := m.Facts.Machine.DKMS
	return dkms != nil && dkms.Service != "" && lacksForBuild(m, kernel) == "" && !buildFailed(m, kernel)
}

// hasSource reports whether DKMS has the driver's source, of one release if release is given. DKMS builds nothing
// without it. hasSource returns true if the facts do not say, and if a build failed.
func hasSource(m *model.Machine, release string) bool {
	dkms := m.Facts.Machine.DKMS
	if dkms == nil {
		return !m.Looked("dkms") || m.Facts.Machine.MakeLog != ""
	}
	return release == "" || slices.Contains(dkms.Sources, release)
}

// lacksForBuild returns what DKMS lacks to build the module for a kernel. It returns "" if nothing is missing or it is
// not known that DKMS would build it.
func lacksForBuild(m *model.Machine, kernel string) string {
	dkms := m.Facts.Machine.DKMS
	switch {
	case dkms == nil:
		return ""
	case !slices.Contains(dkms.Headers, kernel):
		return "the kernel's headers are missing"
	case dkms.Compiler == "":
		return "a C compiler is missing"
	case dkms.Make == "":
		return "make is missing"
	}
	return ""
}

// installedForGPU reports whether a driver is installed for a GPU that is here or requested. At rest, a module for any
// kernel proves it. Libraries without a module may only be there for compiling.
func installedForGPU(m *model.Machine) bool {
	if len(m.Facts.Driver.Modules) > 0 {
		return len(m.GPUs) > 0 || m.Facts.System.Rest
	}
	return len(m.GPUs) > 0 && len(m.Facts.Driver.Libraries) > 0
}

// buildFailed reports whether DKMS tried to build the module for a kernel and failed.
func buildFailed(m *model.Machine, kernel string) bool {
	machine := m.Facts.Machine
	return machine.MakeError != "" && (machine.MakeKernel == "" || machine.MakeKernel == kernel)
}

// whyNotBuilt returns why DKMS did not or cannot build the module for a kernel, as the end of a sentence.
func whyNotBuilt(m *model.Machine, kernel string) string {
	lack := lacksForBuild(m, kernel)
	switch {
	case buildFailed(m, kernel):
		return ": DKMS could not build it"
	case lack != "":
		return ", and DKMS cannot build it: " + lack
	case m.Facts.Machine.DKMS != nil && m.Facts.System.Rest:
		return ", and nothing builds it at boot: DKMS's service is not enabled"
	}
	return ""
}

// evidenceBuild returns the evidence of what stopped DKMS.
func evidenceBuild(m *model.Machine) verdict.Evidence {
	return verdict.Evidence{Fact: "DKMS", Value: m.Facts.Machine.MakeError, From: m.Facts.Machine.MakeLog}
}

// moduleEvidence lists the modules of all kernels. A kernel that has one can be booted in the meantime.
func moduleEvidence(m *model.Machine) []verdict.Evidence {
	var list []verdict.Evidence
	for _, d := range m.Facts.Driver.Modules {
		list = append(list, verdict.Evidence{Fact: "module for " + d.Kernel, Value: cmp.Or(d.Version, "of unknown version"),
			From: d.Path})
	}
	for _, lib := range m.Facts.Driver.Libraries {
		list = append(list, verdict.Evidence{Fact: lib.Name, Value: lib.Version, From: lib.Path})
	}
	return list
}

// moduleSteps returns the steps that build or install the module, or that boot a kernel with one.
func moduleSteps(m *model.Machine, kernel string) []pin.Step {
	steps := buildSteps(m, kernel)
	if i := slices.IndexFunc(m.Facts.Driver.Modules, func(d facts.Module) bool {
		return slices.Contains(m.Facts.Machine.Kernels,
			d.Kernel)
	}); i >= 0 {
		steps = append(steps, pin.Say("make the boot loader start "+pin.Word(m.Facts.Driver.Modules[i].Kernel)+", which has one").Instead())
	}
	return steps
}

// buildSteps returns the steps that build the module for a kernel if DKMS has its source, and that install it
// otherwise.
func buildSteps(m *model.Machine, kernel string) []pin.Step {
	s := pins.HostSystem(m)
	running, _ := m.BootKernel()
	thenLoad := func(command string) string {
		if m.Facts.System.Rest || kernel != running {
			return command
		}
		return pin.Sequence(command, s.AsRoot("modprobe", "nvidia"))
	}
	prebuilt := prebuiltModule(m, kernel)
	if !hasSource(m, "") {
		if prebuilt != "" {
			return []pin.Step{pin.Run(thenLoad(s.Install(prebuilt))).Explained("Ubuntu's own build of the module for this kernel")}
		}
		return []pin.Step{pin.Say("install the package that has the driver's module for kernel " + pin.Word(kernel) + "; DKMS does not have its source")}
	}
	// DKMS builds with the headers of exactly this kernel.
	build := pin.Run(thenLoad(s.AsRoot("dkms", "autoinstall", "-k", kernel))).Explained("builds the module")
	steps := append(buildNeeds(m, kernel), build)
	if log := m.Facts.Machine.MakeLog; log != "" {
		steps = append(steps, pin.Say("if the build fails again, read "+pin.Word(log)))
	}
	if prebuilt != "" {
		steps = append(steps, pin.Run(s.Install(prebuilt)).Explained("Ubuntu's own build of the module for this kernel").Instead())
	}
	return steps
}

// buildNeeds returns the steps that install what DKMS lacks to build the module for a kernel: headers, compiler, or
// both.
func buildNeeds(m *model.Machine, kernel string) []pin.Step {
	s := pins.HostSystem(m)
	dkms := m.Facts.Machine.DKMS
	var packages []string
	var steps []pin.Step
	if dkms == nil || !slices.Contains(dkms.Headers, kernel) {
		if packages = append(packages, s.Headers(kernel)); s.Install(packages...) == "" {
			packages, steps = nil, append(steps, pin.Say("install the headers of kernel "+pin.Word(kernel)))
		}
	}
	if dkms != nil && (dkms.Compiler == "" || dkms.Make == "") {
		if packages = append(packages, "gcc", "make"); s.Install(packages...) == "" {
			packages, steps = nil, append(steps, pin.Say("install gcc and make"))
		}
	}
	if len(packages) > 0 {
		steps = append(steps, pin.Run(s.Install(packages...)).Explained("what the module is built with"))
	}
	return steps
}

// prebuiltModule returns Ubuntu's package with the driver's module for one kernel, built and signed by Ubuntu
// (https://documentation.ubuntu.com/server/how-to/graphics/install-nvidia-drivers/). It returns "" on other systems,
// and if the driver's packages do not show which one it is.
func prebuiltModule(m *model.Machine, kernel string) string {
	if pins.HostSystem(m).Family != "ubuntu" {
		return ""
	}
	for _, p := range m.Facts.Machine.Packages {
		if found := ubuntuDriver.FindStringSubmatch(p.Name); found != nil {
			return "linux-modules-nvidia-" + found[1] + "-" + kernel
		}
	}
	return ""
}

// ubuntuDriver matches Ubuntu's package name of a driver and captures its branch and kind: "580-server-open".
var ubuntuDriver = lazyregexp.New(`^nvidia-(?:driver|headless|headless-no-dkms)-(\d+(?:-server)?(?:-open)?)$`)

// otherKernels notes installed kernels without a module. It is a note, because the boot loader's default is what
// starts, and old kernels stay installed on healthy machines.
func otherKernels(m *model.Machine, boot string) []*rule.Result {
	if len(m.Facts.Machine.Installers) > 0 {
		return nil
	}
	if next := m.Facts.Machine.Boot; !m.Facts.System.Rest && next != "" && next != boot && m.ModuleOf(next) == nil {
		return rule.ReportFinding(nextKernel(m, next))
	}
	var without []string
	for _, k := range m.Facts.Machine.Kernels {
		if k != boot && m.ModuleOf(k) == nil {
			without = append(without, k)
		}
	}
	if len(without) == 0 {
		return nil
	}
	return rule.ReportFinding(verdict.Finding{Severity: verdict.Note, Subject: "driver",
		Message:  "installed kernels that do not boot by default have no NVIDIA module: " + verdict.JoinAnd(without),
		Need:     "nvidia.ko for every kernel before it boots",
		Evidence: []verdict.Evidence{{Fact: "kernel", Value: boot, From: "boots by default"}},
		Steps:    beforeBoot(m, without[0])})
}

// beforeBoot returns the steps that give a kernel its module before it is booted.
func beforeBoot(m *model.Machine, kernel string) []pin.Step {
	if hasSource(m, "") {
		return []pin.Step{pin.Run(pins.HostSystem(m).AsRoot("dkms", "autoinstall", "-k", kernel)).Explained("before such a kernel boots")}
	}
	return buildSteps(m, kernel)
}

// nextKernel reports that the boot loader's default kernel is not the running one and has no module, so the driver is
// gone after the next boot. It is a warning if DKMS should build the module but cannot.
func nextKernel(m *model.Machine, next string) verdict.Finding {
	f := verdict.Finding{Severity: verdict.Note, Subject: "driver",
		Message:  "the kernel that boots next, " + next + ", has no NVIDIA module",
		Need:     "nvidia.ko under /lib/modules/" + next,
		Evidence: []verdict.Evidence{{Fact: "boots next", Value: next, From: m.Facts.Machine.BootFrom}},
		Steps:    buildSteps(m, next)}
	if lacksForBuild(m, next) != "" || buildFailed(m, next) && m.Facts.Machine.MakeKernel == next {
		f.Severity = verdict.Warning
		f.Message += whyNotBuilt(m, next)
		f.Evidence = append(f.Evidence, evidenceBuild(m))
	}
	return f
}

// NouveauLoaded reports that an open driver holds a GPU that CUDA should use. It is an error. If no NVIDIA driver is
// installed, it says which to install; driver-missing then stays silent about the same GPU.
func NouveauLoaded(m *model.Machine) []*rule.Result {
	// nouveau drives a desktop's screen. It is a fault only if CUDA should use that GPU.
	if !m.Host() || m.Target.Driver != "" || m.Facts.System.Rest || m.Target.Instance != "" || !m.WantsGPU() {
		return nil
	}
	// A GPU has one kernel driver, so the NVIDIA module cannot take a GPU that nouveau or nova holds.
	var held []facts.GPU
	nvidia := false
	for _, g := range m.Facts.GPUs {
		nvidia = nvidia || g.Bound == "nvidia"
		if hardware.Nouveaus(g) {
			held = append(held, g)
		}
	}
	if len(held) == 0 {
		return nil
	}
	f := verdict.Finding{Severity: verdict.Error, Subject: "driver",
		Message: fmt.Sprintf("%s is bound to %s, which does not support CUDA", m.GPUFound(held[0]).Label, held[0].Bound),
		Need:    "the GPU bound to nvidia", Evidence: []verdict.Evidence{{Fact: held[0].Bus, Value: "bound to " + held[0].Bound,
			From: "/sys/bus/pci"}},
		Steps:  blockModuleSteps(m, held[0].Bound),
		Source: []string{"https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/"}}
	// The NVIDIA driver runs, so a GPU with another driver may be the screen's.
	if nvidia {
		f.Severity = verdict.Note
	} else if len(m.Facts.Driver.Modules)+len(m.Facts.Driver.Libraries) == 0 && m.ProbeFailure("driver-modules") == "" {
		f.Message += ", and NVIDIA's driver is not installed"
		// The driver's packages themselves keep nouveau from loading.
		if f.Pins = pins.DriverPins(m, version.Number{}); len(f.Pins) > 0 && len(f.Pins[0].Commands) > 0 {
			f.Steps = nil
		}
	}
	return rule.ReportFinding(f)
}

// blockModuleSteps returns the step that keeps another driver's module from loading at boot: modprobe.d(5).
func blockModuleSteps(m *model.Machine, module string) []pin.Step {
	s := pins.HostSystem(m)
	steps := []pin.Step{pin.Run(s.Write("blacklist "+module, "/etc/modprobe.d/blacklist-"+module+".conf"))}
	if initramfs := s.Initramfs(); initramfs != "" {
		return append(steps, pin.Run(pin.Sequence(initramfs, s.AsRoot("reboot"))))
	}
	return append(steps, pin.Say("make the initramfs again"), pin.Run(s.AsRoot("reboot")))
}

// moduleFlavour returns the flavour, open or proprietary, of the kernel module that runs or, at rest, will be loaded.
// It is "" if unknown or chosen at boot.
func moduleFlavour(m *model.Machine) (flavour, from string) {
	// A version does not say which flavour of it is meant.
	if m.Target.Driver != "" {
		return "", ""
	}
	// A running module proves its flavour. The one on disk may be for the next boot.
	if m.Facts.Driver.Module != "" && m.Target.Instance == "" {
		return m.Facts.Driver.Module, m.Facts.Driver.From
	}
	// EKS AMIs choose between an open and a proprietary module at boot.
	if !m.Facts.System.Rest || len(m.Facts.Machine.Installers) > 0 || m.UnseenInstaller() != "" {
		return "", ""
	}
	// The licence in the module on disk shows its flavour.
	if module := m.BootModule(); module != nil {
		return module.Flavour, module.Path
	}
	return "", ""
}

// archivedFlavour returns the flavour of the one driver that the boot chooses among several; "" if it is unknown.
func archivedFlavour(m *model.Machine) (flavour, from string) {
	boot := m.BootDriver()
	switch {
	case boot == nil:
		return "", ""
	case boot.Flavour == "grid": // NVIDIA publishes it with open modules, and EKS builds these
		return "open", boot.Path
	}
	return boot.Flavour, boot.Path
}

// OpenModuleRequired reports a proprietary module with a GPU that needs the open one. Blackwell and Grace Hopper have
// no proprietary module (open-gpu-kernel-modules issue 872); Turing to Hopper run with both.
func OpenModuleRequired(m *model.Machine) []*rule.Result {
	return flavourAgainstGPUs(m, "proprietary", "required", "open")
}

// OpenModuleUnsupported reports an open module with a GPU older than Turing, which lacks the GSP that the open module
// needs. R580 is the last branch for these GPUs, and R615 has only the open module.
func OpenModuleUnsupported(m *model.Machine) []*rule.Result {
	return flavourAgainstGPUs(m, "open", "unsupported", "proprietary")
}

// flavourAgainstGPUs compares the module's flavour with the one in the GPU's row. A module of the wrong flavour loads
// and refuses the GPU: an error. In a container the host decides.
func flavourAgainstGPUs(m *model.Machine, kindOfModule, row, need string) []*rule.Result {
	have, from := moduleFlavour(m)
	if have == "" && m.Target.Driver == "" {
		have, from = archivedFlavour(m)
	}
	if !m.Host() || have == "" || len(m.Present) == 0 {
		return nil
	}
	bad := func(g hardware.GPU) bool { // one that NVML shows is driven
		return have == kindOfModule && g.Chip != nil && m.DrivenBy(g, m.Driver().Version) && g.Chip.OpenModule == row &&
			!g.Answers()
	}
	first := slices.IndexFunc(m.Present, bad)
	if first < 0 {
		return rule.Pass("driver")
	}
	g := m.Present[first]
	f := verdict.Finding{Severity: verdict.Error, Subject: "driver",
		Message:  fmt.Sprintf("%s needs the %s kernel module, but the %s one is installed", g.Label, need, have),
		Need:     "the " + need + " kernel module",
		Evidence: []verdict.Evidence{{Fact: "kernel module", Value: have, From: from}, {Fact: "GPU", Value: g.Label, From: g.From}},
		Pins:     pins.DriverPins(m, version.Number{}), Source: g.Chip.Source}
	// The module drives the other GPUs, and programs run there.
	if slices.ContainsFunc(m.Present, func(g hardware.GPU) bool { return !bad(g) }) {
		f.Severity = verdict.Warning
	}
	// From 515 to 610 a branch has both modules (driver_branch.csv), so the release can stay.
	if len(f.Pins) == 0 {
		f.Steps = []pin.Step{pin.Say("install the " + need + " flavour of the same driver, then reboot")}
	}
	return rule.ReportFinding(f)
}

// GSPFirmware reports missing GSP firmware. The open module runs parts of the driver on the GPU's system processor
// (GSP) and loads its firmware from disk. The firmware must have exactly the module's version, and no GPU starts
// without it: an error. The proprietary module can work without. A driver that answers has its firmware.
func GSPFirmware(m *model.Machine) []*rule.Result {
	flavour, from := moduleFlavour(m)
	answers := m.DriverAnswers()
	// In a container, the firmware is the host's.
	if !m.Host() || m.Target.Driver != "" || flavour != "open" || answers || len(m.GPUs) == 0 && !m.Facts.System.Rest {
		return nil
	}
	// If nobody asked the GPU, it may have loaded firmware from a place that is not listed.
	if failed := m.ProbeFailure("nvml"); failed != "" && m.Facts.Driver.NVML.Status == "" && !m.Facts.System.Rest {
		return rule.ReportMissing("driver", verdict.Question("whether the GPU answers: "+failed))
	}
	// Facts of an older schema do not list firmware, so an empty list proves nothing.
	if !m.Looked("firmware") {
		return rule.ReportMissing("driver", verdict.Question("which GSP firmware is on disk"))
	}
	f := verdict.Finding{Severity: verdict.Error, Subject: "driver",
		Evidence: []verdict.Evidence{{Fact: "open module", Value: m.Driver().Version.String(), From: from}},
		Source:   []string{"https://download.nvidia.com/XFree86/Linux-x86_64/580.65.06/README/gsp.html"}}
	want := m.Driver().Version.String()
	switch {
	// Firmware of another release is refused, so only this one counts.
	case want != "" && !slices.Contains(m.Facts.Machine.Firmware, want):
		f.Message = "the GSP firmware of driver " + want + " is not on disk, and the open kernel module needs it"
		f.Need = "/lib/firmware/nvidia/" + want + "/gsp_*.bin"
		f.Evidence = append(f.Evidence, verdict.Evidence{Fact: "firmware on disk", Value: strings.Join(m.Facts.Machine.Firmware, " "),
			From: "/lib/firmware/nvidia"})
		f.Steps = firmwareSteps(m, want)
	// The open module reads this option and uses the GSP anyway. It is a misunderstanding, not a fault.
	case m.Facts.Machine.GSPOff != "":
		f.Severity = verdict.Note
		f.Message, f.Need = "NVreg_EnableGpuFirmware=0 has no effect on the open kernel module, which always uses the GSP",
			"the proprietary module to run without the GSP"
		f.Evidence = append(f.Evidence, verdict.Evidence{Fact: "option", Value: "NVreg_EnableGpuFirmware=0",
			From: m.Facts.Machine.GSPOff})
		f.Source = []string{
			"https://github.com/NVIDIA/open-gpu-kernel-modules/blob/580.95.05/src/nvidia/arch/nvalloc/unix/src/osapi.c",
			"https://github.com/NVIDIA/open-gpu-kernel-modules/issues/820"}
	default:
		return rule.Pass("driver")
	}
	return rule.ReportFinding(f)
}

// firmwareSteps returns the steps that install the firmware of one release. Ubuntu's archive has it as a separate
// package (https://packages.ubuntu.com/noble-updates/nvidia-firmware-580-server-580.95.05 and its neighbours).
func firmwareSteps(m *model.Machine, release string) []pin.Step {
	s := pins.HostSystem(m)
	reboot := pin.Run(s.AsRoot("reboot"))
	for _, p := range m.Facts.Machine.Packages {
		found := ubuntuDriver.FindStringSubmatch(p.Name)
		if found != nil && s.Family == "ubuntu" {
			branch := strings.TrimSuffix(found[1], "-open")
			return []pin.Step{pin.Run(s.Install("nvidia-firmware-" + branch + "-" + release)), reboot}
		}
	}
	return []pin.Step{pin.Say("install the driver's firmware of the same release, " + pin.Quoted(release)), reboot}
}

// VGPUDriver reports a fraction of a GPU without NVIDIA's vGPU guest driver, which alone drives it. The data-centre
// driver for a whole L4 finds no device on g6f and gr6f: an error. Conclusions from a version hold everywhere;
// conclusions from files on disk hold only on hosts.
func VGPUDriver(m *model.Machine) []*rule.Result {
	named := m.Target.Driver != ""
	switch {
	case !m.PartOfGPU() || m.WindowsNumbers() || !named && !m.Host():
		return nil
	case !named && m.Target.Instance == "" && m.Facts.Driver.NVML.Status == "ok" && len(m.GPUs) > 0:
		return rule.Pass("driver")
	// NVIDIA publishes GRID drivers only for some branches. AWS's EKS image returned from 575 to 570 for g6f
	// (amazon-eks-ami pull 2346).
	case m.Tables.NoVGPU(m.Driver().Version):
		return rule.ReportFinding(needsGRID(m, fmt.Sprintf("NVIDIA has none in branch %d", m.Driver().Version.Major())))
	case !named && lacksGRID(m):
		return rule.ReportFinding(needsGRID(m, "this driver is not one"))
	case m.Driver().Version.Known() && m.Driver().Version.Less(m.Instance.FirstBranch):
		return rule.ReportFinding(oldGRID(m))
	case named:
		return rule.ReportFinding(namedGRID(m))
	case m.Facts.Machine.GRID != "" || m.BootDriver() != nil: // an archive of the GRID module
		return rule.Pass("driver")
	}
	return rule.ReportMissing("driver", verdict.Question("whether the driver is NVIDIA's vGPU guest driver (GRID)"))
}

// lacksGRID reports whether a driver is installed without the files that only the GRID driver has, and nothing chooses
// its module at boot.
func lacksGRID(m *model.Machine) bool {
	return m.Facts.Machine.GRID == "" && m.Looked("grid") && m.Driver().Version.Known() && len(m.Facts.Machine.Installers) == 0 && m.UnseenInstaller() == ""
}

// oldGRID warns of a driver that is older than the first one that AWS supports. Others of its branch may work:
// 570.172.08 was seen working on gr6f (amazon-eks-ami issue 2443), and no source says that an older one fails.
func oldGRID(m *model.Machine) verdict.Finding {
	f := needsGRID(m, fmt.Sprintf("AWS asks for %s or newer", m.Instance.FirstBranch))
	f.Severity, f.Need = verdict.Warning, fmt.Sprintf("GRID driver >= %s", m.Instance.FirstBranch)
	return f
}

// namedGRID says that a version does not show which of NVIDIA's drivers it is.
func namedGRID(m *model.Machine) verdict.Finding {
	f := needsGRID(m, fmt.Sprintf("only the GRID build of driver %s works, and the version does not show which build this is", m.Driver().Version))
	f.Severity = verdict.Note
	f.Steps = []pin.Step{pin.Say("install the driver from AWS's bucket ec2-linux-nvidia-drivers, which has the GRID build")}
	return f
}

// needsGRID says that an instance type with a fraction of a GPU needs the GRID driver.
func needsGRID(m *model.Machine, but string) verdict.Finding {
	return verdict.Finding{
		Severity: verdict.Error,
		Subject:  "driver",
		Message:  m.Instance.Instance + " has a fraction of a GPU and needs a GRID driver; " + but,
		Need:     "NVIDIA's vGPU guest driver (GRID), which AWS publishes",
		Evidence: []verdict.Evidence{m.EvidenceDriver(), {Fact: "instance", Value: m.Instance.Instance,
			From: "the table of EC2 instances"}},
		Steps: []pin.Step{pin.Say("install the GRID driver from AWS's bucket ec2-linux-nvidia-drivers instead of this driver, then reboot")},
		Source: append([]string{"https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/install-nvidia-driver.html"},
			m.Instance.Source...),
	}
}
