// Package driver contains the rules about NVIDIA's driver on a machine: its kernel module, its libraries in user space,
// the packages that install and upgrade it, its signature, its fabric manager, and how long NVIDIA supports its branch.
//
// The two halves of a driver, the module and libcuda, must come from one release. Most rules here compare what is
// loaded with what is on disk, because a reboot or an upgrade changes only one of them.
package driver

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/version"
	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/internal/rules/device"
	"cudacompat/matrix/internal/rules/rule"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// ReasonUnread returns why some builds that matter may be unknown, or "" if all are known.
func ReasonUnread(m *model.Machine) string {
	for _, u := range m.Facts.Unread {
		if u.Kind != facts.UnreadClosed {
			return u.Place + ": " + u.Reason
		}
	}
	return ""
}

// Missing reports a host that has an NVIDIA GPU on its bus, something that wants it, and no driver. Toolkits and
// wheels never contain a driver, so nothing else that is installed can help: an error.
func Missing(m *model.Machine) []*rule.Result {
	results := undrivenHost(m)
	for _, r := range results {
		r.Rests = []verdict.LinkName{verdict.LinkModule} // module-missing-for-kernel and secure-boot say it better
	}
	return results
}

// chosenAtBoot returns the question which of several archived drivers will run.
func chosenAtBoot(archived []hardware.Archived) string {
	var each []string
	for _, a := range archived {
		each = append(each, fmt.Sprintf("%s of %s", a.Number, a.Path))
	}
	return "which driver is installed at boot, " + strings.Join(each, " or ")
}

// undrivenHost checks whether a host has its driver.
func undrivenHost(m *model.Machine) []*rule.Result {
	// These are nvidia-smi's own words, pasted to `check`. Its "command not found" proves nothing; the rule
	// not-looked-at handles it.
	if m.Facts.Driver.NVML.Code == hardware.NVMLNotLoaded && m.Looked("nvidia-smi") && m.Target.Driver == "" {
		return rule.ReportFinding(driverUnreachable(m))
	}
	// A container uses its host's driver, and container-driver-libs judges that. A GPU that nothing wants may be there
	// for the screen; then the owner wants no NVIDIA driver.
	if !m.Host() || len(m.GPUs) == 0 || m.Target.Driver != "" || !m.WantsGPU() {
		return nil
	}
	rest := m.Facts.System.Rest
	if rest && len(m.Facts.Driver.Modules) > 0 || m.Driver().Loaded || m.Facts.Driver.NVML.Status == "ok" {
		if half := judgeUserHalf(m); half != nil {
			return half
		}
		return rule.Pass("driver")
	}
	archived := m.ArchivedDrivers()
	if len(archived) > 1 {
		return rule.ReportMissing("driver", verdict.Question(chosenAtBoot(archived)))
	}
	boot := m.BootDriver()
	if rest && (len(m.Facts.Driver.Libraries) > 0 || boot != nil && boot.Brings("libcuda.so.")) {
		return rule.Pass("driver")
	}
	// If the search for a driver failed, the driver may be there.
	if failed := m.ProbeFailure("proc-driver"); failed != "" {
		return rule.ReportMissing("driver", verdict.Statement(failed))
	}
	// EKS, Bottlerocket and the GPU operator build or load the module at boot, so the files do not show its release.
	if boot != nil {
		return rule.ReportMissing("driver", verdict.Question(fmt.Sprintf("whether libcuda %s is installed at boot, too", boot.Number)))
	}
	if rest && len(m.Facts.Machine.Installers) > 0 {
		return rule.ReportMissing("driver", verdict.Question("which driver "+m.Facts.Machine.Installers[0].Path+" installs at boot"))
	}
	// GPUs named in a pasted report were not seen on a bus, and the report need not mention the driver.
	if !rest && !m.OnPCI() || rest && !m.Facts.System.Bootable { // a container image gets its driver from the host
		return nil
	}
	if installedForGPU(m) && len(NouveauLoaded(m)) > 0 { // it says why the driver is not loaded
		return []*rule.Result{{Subject: "driver", Implied: true}}
	}
	if place := m.UnseenInstaller(); place != "" {
		return rule.ReportMissing("driver", verdict.Statement(place))
	}
	return rule.ReportFinding(missingDriver(m))
}

// missingDriver returns the finding for a host without a driver for its GPUs.
func missingDriver(m *model.Machine) verdict.Finding {
	state := "loaded"
	if m.Facts.System.Rest || len(m.Facts.Driver.Modules)+len(m.Facts.Driver.Libraries) == 0 {
		state = "installed"
	}
	f := verdict.Finding{Severity: verdict.Error, Subject: "driver", Message: "no NVIDIA driver is " + state + " for " + m.GPUs[0].Label,
		Need: "the NVIDIA kernel module " + state,
		Evidence: []verdict.Evidence{{Fact: "GPU", Value: m.GPUs[0].Label, From: m.GPUs[0].From},
			{Fact: "NVML", Value: m.Facts.Driver.NVML.Message, From: m.NVMLFrom()}},
		Pins:   pins.DriverPins(m, version.Number{}),
		Source: []string{"https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/"}}
	if module := m.BootModule(); module != nil {
		f.Message += fmt.Sprintf(", although %s is installed for this kernel", cmp.Or(module.Version, "a module"))
		f.Evidence = append(f.Evidence, verdict.Evidence{Fact: "module on disk",
			Value: cmp.Or(module.Version, "of unknown version"), From: module.Path})
		// The driver is installed. Another installation would be refused in the same way; the kernel log says why.
		f.Pins, f.Steps = nil, []pin.Step{pin.Run(pins.HostSystem(m).AsRoot("modprobe", "nvidia")),
			pin.Say("if that fails, read the kernel's log (`sudo dmesg`): it names a signature that it does not trust, or a GPU that the module does not support")}
	}
	return f
}

// driverUnreachable returns the finding for a driver that nvidia-smi could not talk to. The output shows nothing else
// about the machine.
func driverUnreachable(m *model.Machine) verdict.Finding {
	return verdict.Finding{Severity: verdict.Error, Subject: "driver", Need: "the NVIDIA kernel module loaded",
		Message:  "nvidia-smi cannot reach an NVIDIA driver: its kernel module is not loaded, or this is a container without its GPU",
		Evidence: []verdict.Evidence{{Fact: "NVML", Value: m.Facts.Driver.NVML.Message, From: m.NVMLFrom()}},
		Steps: []pin.Step{pin.Run("sudo modprobe nvidia").Explained("if that fails, read the kernel's log: sudo dmesg"),
			pin.Run("sudo dkms autoinstall && sudo reboot").Explained("after an update of the kernel or of the driver").Instead(),
			pin.Say("in a container: start it with its GPU, `docker run --gpus all`").Instead()},
		Source: []string{"https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/"}}
}

// Mismatch reports driver libraries of another release than the running kernel module. Their interface is private
// and changes with every release, so the module refuses libraries that differ only in the patch (NVML 18, CUDA 803 or
// 804): an error. A package upgrade on a running machine causes it. The module on disk decides whether a reboot is
// enough.
func Mismatch(m *model.Machine) []*rule.Result {
	loaded := m.Found.Loaded
	// Nothing runs in a directory tree. mismatchAtRest compares the module that its kernel will load.
	if m.Facts.System.Rest && !loaded.Known() {
		return mismatchAtRest(m)
	}
	if m.Facts.System.WSL && m.Facts.System.Container == "" && m.Target.Driver == "" {
		return mismatchInWSL(m)
	}
	// WSL's libraries belong to the Windows driver, whose numbers differ. Jetson's belong to L4T.
	if m.Facts.System.WSL || m.Jetson() || m.Target.Driver != "" || (!loaded.Known() && m.Facts.Driver.NVML.Code != hardware.NVMLMismatch) {
		return nil
	}
	disk := m.BootModule()
	for _, lib := range m.Found.Libraries {
		// The PTX compiler does not talk to the kernel module, and a cuda-compat package brings a newer one on purpose.
		if v := lib.Number; lib.Name != "libnvidia-ptxjitcompiler" && v.Known() && loaded.Known() &&
			v.Compare(loaded) != 0 {
			return rule.ReportFinding(reportMismatch(m, loaded, &lib, disk))
		}
	}
	switch {
	// NVML's own answer is proof even if no file shows a version.
	case m.Facts.Driver.NVML.Code == hardware.NVMLMismatch:
		return rule.ReportFinding(reportMismatch(m, loaded, m.Library("libnvidia-ml"), disk))
	// Everything that runs has one release. The one on disk matters from the next boot on.
	case disk != nil && disk.Number.Known() && disk.Number.Compare(loaded) != 0:
		return rule.ReportFinding(pendingModule(m, loaded, disk))
	case len(m.Facts.Driver.Libraries) == 0:
		return nil
	}
	return rule.Pass("driver")
}

// mismatchInWSL reports a Linux driver installed inside WSL2. Windows provides its driver's libraries there, without a
// Linux release number. A Linux driver beside them looks for a kernel module that WSL2 does not have.
func mismatchInWSL(m *model.Machine) []*rule.Result {
	lib := m.Library("libcuda")
	if lib == nil || lib.Number.Major() < 100 { // Windows' is libcuda.so.1.1
		return nil
	}
	f := verdict.Finding{Severity: verdict.Error, Subject: "driver", Need: "Windows' own libcuda.so.1, in /usr/lib/wsl/lib",
		Message: fmt.Sprintf("%s, which programs load, belongs to a Linux driver, %s; in WSL2 only Windows' own reaches the GPU",
			lib.Path, lib.Number),
		Evidence: []verdict.Evidence{{Fact: "libcuda", Value: lib.Version, From: lib.Path}},
		Source:   []string{"https://docs.nvidia.com/cuda/wsl-user-guide/index.html"},
		Steps:    []pin.Step{pin.Say("remove the Linux driver from this WSL distribution; Windows' driver is enough")}}
	owner := slices.IndexFunc(m.Facts.Machine.Packages, func(p facts.DriverPackage) bool {
		return strings.HasPrefix(p.Name, "libnvidia-compute") || p.Name == "libcuda1"
	})
	if s := pins.HostSystem(m); owner >= 0 && s.APT() {
		f.Steps = []pin.Step{pin.Run(pin.Sequence(s.Remove(m.Facts.Machine.Packages[owner].Name), s.AsRoot("ldconfig"))).
			Explained("Windows' driver is enough")}
	}
	return rule.ReportFinding(f)
}

// mismatchAtRest reports an image whose kernel module has another release than its driver libraries. Nothing is loaded
// in an image, so it passes every other rule, and then fails on each machine that starts from it: an error. Debian can
// hold several drivers side by side; there the module's name shows that update-alternatives chooses.
func mismatchAtRest(m *model.Machine) []*rule.Result {
	kernel, _ := m.BootKernel()
	module := m.ModuleOf(kernel)
	if stale := initramfsAtRest(m, module); stale != nil {
		return stale
	}
	// EKS and Bottlerocket install the module at boot, so the one on disk is not the one that will run. Debian names
	// the module nvidia-current.ko if update-alternatives chooses.
	if !m.Host() || m.Target.Driver != "" || len(m.Facts.Machine.Installers) > 0 || m.UnseenInstaller() != "" || module == nil ||
		!module.Number.Known() ||
		!strings.HasPrefix(path.Base(module.Path), "nvidia.ko") {
		return nil
	}
	var judged []*rule.Result
	for _, lib := range m.Found.Libraries {
		v := lib.Number
		if !v.Known() || lib.Name == "libnvidia-ptxjitcompiler" {
			continue
		}
		if judged = rule.Pass("driver"); v.Compare(module.Number) != 0 {
			return rule.ReportFinding(verdict.Finding{Severity: verdict.Error, Subject: "driver", Need: "one release for both", Source: mismatchSource,
				Message: fmt.Sprintf("%s belongs to driver %s, but the kernel module that will be loaded is %s", lib.Name, v,
					module.Version),
				Evidence: []verdict.Evidence{{Fact: lib.Name, Value: lib.Version, From: lib.Path},
					{Fact: "module for " + kernel, Value: module.Version, From: module.Path}},
				Steps: []pin.Step{pin.Say("install or build the module of " + pin.Quoted(v.String()) + " for " + pin.Word(kernel)),
					pin.Say("reinstall the driver's packages, so that library and module are the same release").Instead()}})
		}
	}
	return judged
}

// initramfsAtRest compares the module in the initramfs of the kernel that will boot with the one on disk. The initramfs
// starts first, so its module is loaded at every boot. It returns nil if they agree or nothing is known.
func initramfsAtRest(m *model.Machine, disk *hardware.Module) []*rule.Result {
	in := m.Facts.Driver.Initramfs
	if in == nil || !m.Host() || m.Target.Driver != "" || disk == nil || disk.Kernel != in.Kernel || !disk.Number.Known() {
		return nil
	}
	booted := version.ParseOrZero(in.Version)
	switch {
	case in.Unread != "" && in.Hook != "":
		return []*rule.Result{{Subject: "driver", Unseen: true, Open: true, Link: verdict.LinkModule,
			Missing: verdict.Question("which release of the module the initramfs has, which " + in.Hook + " puts there (" + in.Unread + ")")}}
	case !booted.Known() || booted.Compare(disk.Number) == 0:
		return nil
	}
	s := pins.HostSystem(m)
	rebuild := pin.Say("make the initramfs of " + pin.Word(in.Kernel) + " again, so that it has the module on disk")
	if command := s.InitramfsOf(in.Kernel); command != "" {
		rebuild = pin.Run(command).Explained("the initramfs then has the module on disk")
	}
	return rule.ReportFinding(verdict.Finding{Severity: verdict.Error, Subject: "driver", Need: "one release for both",
		Source:  []string{"https://github.com/openSUSE/nvidia-driver-G06/issues/25", "https://github.com/openSUSE/sdbootutil/issues/22"},
		Message: fmt.Sprintf("the initramfs has the module of %s, which is loaded at every boot, but the one on disk is %s", booted, disk.Number),
		Evidence: []verdict.Evidence{{Fact: "module in the initramfs", Value: in.Version, From: in.Path},
			{Fact: "module on disk", Value: disk.Version, From: disk.Path}},
		Steps: []pin.Step{rebuild}})
}

var mismatchSource = []string{"https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceEnumvs.html"}

// reportMismatch names the two releases if they are known. NVML 18 and pasted output prove a mismatch without them.
func reportMismatch(m *model.Machine, loaded version.Number, lib *hardware.DriverLibrary, disk *hardware.Module) verdict.Finding {
	f := verdict.Finding{Severity: verdict.Error, Subject: "driver",
		Message: "the driver's libraries and the loaded kernel module are different releases",
		Need:    "one release for both", Source: mismatchSource, Evidence: []verdict.Evidence{
			{Fact: "loaded module", Value: loaded.String(), From: m.Facts.Driver.From},
			{Fact: "NVML", Value: m.Facts.Driver.NVML.Message, From: m.NVMLFrom()}}}
	user := version.Number{}
	if lib != nil && loaded.Known() {
		user = lib.Number
		f.Message = fmt.Sprintf("%s belongs to driver %s, but the loaded kernel module is %s", lib.Name, user, loaded)
		f.Need = "libraries and kernel module of one release, " + mismatchGoal(m, loaded, user).String()
		f.Evidence = append(f.Evidence, verdict.Evidence{Fact: lib.Name, Value: lib.Version, From: lib.Path})
	}
	if lib != nil && !loaded.Known() {
		f.Message = fmt.Sprintf("%s belongs to driver %s, but the loaded kernel module is another release", lib.Name, lib.Version)
		f.Evidence = append(f.Evidence, verdict.Evidence{Fact: lib.Name, Value: lib.Version, From: lib.Path})
	}
	if disk != nil {
		f.Evidence = append(f.Evidence, verdict.Evidence{Fact: "module on disk", Value: disk.Version, From: disk.Path})
	}
	if disk != nil && user.Known() && disk.Number.Compare(user) == 0 && m.Facts.System.Container == "" {
		f.Message += ": the driver was updated while it ran"
	}
	if baked := driverPackagesInImage(m, user); m.Facts.System.Container != "" && len(baked) > 0 {
		f.Message += ": it is the image's own (" + verdict.JoinAnd(baked) + ") and hides the host's"
	}
	if user.Known() && buildsModule(m, loaded, disk) && m.Facts.Machine.MakeError != "" {
		f.Message += fmt.Sprintf(": DKMS could not build the module of %s", user)
		f.Evidence = append(f.Evidence, evidenceBuild(m))
	}
	f.Steps = mismatchSteps(m, loaded, user, disk)
	return f
}

// buildsModule reports whether the module for the libraries' release has not been built yet: the one on disk is the
// loaded one, or there is none. A reboot would not load the right release.
func buildsModule(m *model.Machine, loaded version.Number, disk *hardware.Module) bool {
	if m.Facts.System.Container != "" {
		return false
	}
	return disk != nil && disk.Version != "" && disk.Number.Compare(loaded) == 0 || disk == nil && len(m.Facts.Driver.Modules) == 0
}

// mismatchGoal returns the release that both should have: that of the libraries, or in a container that of the host's
// module.
func mismatchGoal(m *model.Machine, loaded, user version.Number) version.Number {
	// A container cannot change the module of its host.
	if m.Facts.System.Container != "" {
		return loaded
	}
	return user
}

// mismatchSteps returns the steps that bring libraries and module to one release. It proposes a reboot only if that
// loads the right module. Otherwise the reboot would end in the same error.
func mismatchSteps(m *model.Machine, loaded, user version.Number, disk *hardware.Module) []pin.Step {
	s := pins.HostSystem(m)
	reinstall := pin.Say("reinstall the driver's packages, so that library and module are the same release")
	repair := packageSteps(m, user)
	switch {
	case m.Facts.System.Container != "" && len(driverPackagesInImage(m, user)) > 0:
		names := strings.Join(driverPackagesInImage(m, user), " ")
		return []pin.Step{pin.Say("remove " + names + " from the image, and start the container again: an image must not have the driver's own packages, which hide the files that the container engine mounts from the host")}
	// The engine mounted the driver files that existed when the container started. Bind mounts keep the old inode.
	case m.Facts.System.Container != "":
		return []pin.Step{pin.Say("restart the container: it still has the libraries of the host's previous driver")}
	// Only the loaded module is old. The next boot loads the one that fits the libraries.
	case disk != nil && user.Known() && disk.Number.Compare(user) == 0:
		return []pin.Step{pin.Run(s.AsRoot("reboot")).Explained("the module on disk is already " + pin.Quoted(disk.Version)),
			pin.Run(pin.Sequence(s.AsRoot("modprobe", "-r", "nvidia_uvm", "nvidia_drm", "nvidia_modeset", "nvidia"), s.AsRoot("modprobe", "nvidia"))).Explained(
				"without a reboot, while nothing uses the GPU (stop nvidia-persistenced first)").Instead()}
	case len(repair) > 0:
		return repair
	case buildsModule(m, loaded, disk) && user.Known() && !hasSource(m, user.String()):
		return installedSteps(m, reinstall)
	case buildsModule(m, loaded, disk) && (disk != nil || user.Known()):
		return []pin.Step{pin.Run(pin.Sequence(s.AsRoot("dkms", "autoinstall"), s.AsRoot("reboot"))).Explained("builds the module of " +
			pin.Quoted(user.String()) + " (a reboot without it loads " + pin.Quoted(loaded.String()) + " again)"),
			pin.Say("if the build fails, read " + pin.Word("/var/lib/dkms/nvidia/"+user.String()+"/build/make.log")),
			reinstall.Instead()}
	case disk == nil:
		return []pin.Step{pin.Run(s.AsRoot("reboot")), pin.Say("if the mismatch stays, " + reinstall.Say)}
	}
	return []pin.Step{reinstall, pin.Run(s.AsRoot("reboot"))}
}

// installedSteps returns the steps that install the module of the libraries' release if DKMS does not have its source:
// Ubuntu's prebuilt module, or the package of the distribution that has it.
func installedSteps(m *model.Machine, reinstall pin.Step) []pin.Step {
	s := pins.HostSystem(m)
	kernel, _ := m.BootKernel()
	if prebuilt := prebuiltModule(m, kernel); prebuilt != "" {
		return []pin.Step{pin.Run(pin.Sequence(s.Install(prebuilt), s.AsRoot("reboot"))).Explained("Ubuntu's own build of the module for this kernel")}
	}
	return []pin.Step{reinstall, pin.Run(s.AsRoot("reboot"))}
}

// driverPackagesInImage returns the driver packages of an image that contain the driver libraries which programs load
// there. These libraries then come from the image and not from the host.
func driverPackagesInImage(m *model.Machine, user version.Number) []string {
	var list []string
	for _, p := range m.Facts.Machine.Packages {
		release := hardware.PackageRelease.FindStringSubmatch(p.Version)
		if user.Known() && release != nil && version.ParseOrZero(release[1]).Compare(user) == 0 {
			list = append(list, pin.Word(p.Name))
		}
	}
	return list
}

// pendingModule reports an update that takes effect at the next boot. Everything works until then, so it is a warning.
func pendingModule(m *model.Machine, loaded version.Number, disk *hardware.Module) verdict.Finding {
	return verdict.Finding{Severity: verdict.Warning, Subject: "driver", Source: mismatchSource,
		Need: "driver " + loaded.String() + " for both after the next boot",
		Message: fmt.Sprintf("the module on disk is %s, but %s is loaded: the next boot changes the driver", disk.Version,
			loaded),
		Evidence: []verdict.Evidence{{Fact: "loaded module", Value: loaded.String(), From: m.Facts.Driver.From},
			{Fact: "module on disk", Value: disk.Version, From: disk.Path}},
		Steps: []pin.Step{pin.Say("finish the update of the driver's user space, then reboot")}}
}

// Unresponsive reports a driver that provably hangs. A timeout by itself proves nothing: healthy 8-GPU machines
// without persistence answer late, and a false alarm would get them replaced.
func Unresponsive(m *model.Machine) []*rule.Result {
	if m.Target.Named() {
		return nil
	}
	f := verdict.Finding{Severity: verdict.Error, Subject: "driver", Message: "the driver does not answer", Need: "a driver that answers",
		Steps:  device.LostGPUSteps(m),
		Source: []string{"https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html"}}
	// These lines prove it: Xid 79 (fell off the bus), 119 and 120 (the GPU's firmware processor hangs), 154 (recovery
	// action) or "RmInitAdapter failed". Only lines since boot or since the driver was last loaded count (Xid
	// catalogue), and only if NVML does not call the GPU recovered.
	if len(m.Facts.Driver.Kernel) > 0 && !allRecovered(m) {
		f.Message = "the kernel log says that the driver lost a GPU or could not initialise it"
		if x := m.Tables.Xid(m.Facts.Driver.Kernel[0]); x != nil {
			f.Message = fmt.Sprintf("the kernel log has Xid %d: %s", x.Xid, x.Meaning)
		}
		f.Evidence = []verdict.Evidence{{Fact: "kernel log", Value: m.Facts.Driver.Kernel[0], From: cmp.Or(m.Facts.Driver.KernelFrom, "/dev/kmsg")}}
		return reportLostGPUs(m, f)
	}
	if m.Facts.Driver.NVML.Code == hardware.NVMLLost && len(m.Facts.Driver.NVML.Failed) == 0 {
		f.Message = "the driver lost a GPU: it fell off the bus, or cannot be reached for another reason"
		f.Evidence = []verdict.Evidence{{Fact: "NVML", Value: m.Facts.Driver.NVML.Message, From: m.NVMLFrom()}}
		return reportLostGPUs(m, f)
	}
	switch m.Facts.Driver.NVML.Status {
	// The process is in state D past the deadline: the call hangs inside the kernel module, which no healthy driver
	// does. A process in state D takes no signal, not even SIGKILL.
	case "stuck":
		f.Evidence = []verdict.Evidence{{Fact: "NVML", Value: m.Facts.Driver.NVML.Message, From: m.NVMLFrom()}}
		return reportLostGPUs(m, f)
	// Machines with 8 GPUs and no persistence daemon take 25 to 30 s to initialise. Slow is not broken.
	case "timeout", "crashed":
		return rule.ReportMissing("driver", verdict.Statement(m.Facts.Driver.NVML.Message))
	case "ok":
		switch missing, decides := m.NVMLUnanswered(); {
		case decides: // the link says so
			return nil
		case missing.IsMissing():
			return rule.ReportMissing("driver", missing)
		}
		return rule.Pass("driver")
	}
	return nil
}

// reportLostGPUs returns the result for a driver fault, with the GPUs that programs lose.
func reportLostGPUs(m *model.Machine, f verdict.Finding) []*rule.Result {
	return []*rule.Result{{Subject: f.Subject, Finding: &f, TakesGPU: func(kind hardware.GPU) bool { return device.IsUnresponsive(m, kind) }}}
}

// allRecovered reports whether NVML says of every GPU that it needs no recovery.
func allRecovered(m *model.Machine) bool {
	for _, g := range m.Facts.GPUs {
		if g.Health == nil || g.Health.Recovery != "none" {
			return false
		}
	}
	return len(m.Facts.GPUs) > 0
}

// DropsGPU reports a GPU that the driver's branch no longer supports. Kepler ended with R470; Maxwell, Pascal and
// Volta ended with R580. The module loads and ignores the GPU, and no CUDA build can help. gpu-arch-missing reports
// that CUDA 13 has no code for a V100, which R580 still drives.
func DropsGPU(m *model.Machine) []*rule.Result {
	branch := m.Driver().Version
	if m.WindowsNumbers() {
		branch = m.Tables.BranchOfWindows(branch)
	}
	dropped := func(g hardware.GPU) bool {
		last, _ := m.LastBranch(g)
		return last.Known() && branch.Major() > last.Major()
	}
	return driverAgainstGPUs(m, dropped, func(g hardware.GPU) verdict.Finding {
		last, source := m.LastBranch(g)
		return verdict.Finding{Message: fmt.Sprintf("driver %s no longer supports %s; the last branch that does is %s",
			m.Driver().Version, g.Label, last),
			Need: fmt.Sprintf("driver branch <= %s", last), Pins: pins.DriverPins(m, version.Number{}),
			Steps: pins.DriverSteps(m, version.Number{}), Source: source}
	})
}

// TooOldForGPU reports a driver that was made before the chip or the product, so the PCI id is not in its lists.
// A higher number proves nothing: 525.105.17 knows the L4, and 530.30.02, a month older, does not. Release notes and
// product pages prove the first driver. The READMEs of NVIDIA's open modules lag behind, so if only they lack the GPU
// it is a warning.
func TooOldForGPU(m *model.Machine) []*rule.Result {
	driver := m.Driver().Version
	tooNew := func(g hardware.GPU) bool { b := m.Before(g, driver); return b != nil && b.Proven }
	say := func(g hardware.GPU) verdict.Finding {
		b := m.Before(g, driver)
		return verdict.Finding{Message: b.Words(driver, g.Label), Need: b.Need(), Pins: pins.DriverPins(m, version.Number{}),
			Steps: pins.DriverSteps(m, version.Number{}), Source: b.Source}
	}
	results := driverAgainstGPUs(m, tooNew, say)
	// The READMEs add nothing to an error. If the question does not arise, they do not matter either.
	unlisted := slices.IndexFunc(m.GPUs, func(g hardware.GPU) bool { return m.Before(g, driver) != nil })
	switch {
	case len(results) != 1 || results[0].Finding != nil:
		return results
	case unlisted < 0:
		return append(disputedDriver(m), results...)
	}
	g := m.GPUs[unlisted]
	f := say(g)
	f.Severity, f.Subject = verdict.Warning, "driver"
	f.Evidence = []verdict.Evidence{m.EvidenceDriver(), {Fact: "GPU", Value: g.Label, From: g.From}}
	return rule.ReportFinding(f)
}

// disputedDriver notes that sources disagree on whether the driver knows a GPU.
func disputedDriver(m *model.Machine) []*rule.Result {
	for _, g := range m.GPUs {
		if words, source := m.Dispute(g, m.Driver().Version); words != "" {
			return rule.ReportFinding(verdict.Finding{Severity: verdict.Note, Subject: "driver", Message: words, Need: "a driver that supports the GPU",
				Source: source, Evidence: []verdict.Evidence{m.EvidenceDriver(), {Fact: "GPU", Value: g.Label, From: g.From}}})
		}
	}
	return nil
}

// driverAgainstGPUs checks whether the driver supports each GPU. It returns an error if it supports none and a warning
// if it supports some.
func driverAgainstGPUs(m *model.Machine, bad func(hardware.GPU) bool, say func(hardware.GPU) verdict.Finding) []*rule.Result {
	// Jetson's driver belongs to L4T. Windows' drivers are of the same branches.
	if !m.Driver().Version.Known() || len(m.GPUs) == 0 || m.Jetson() {
		return nil
	}
	first := slices.IndexFunc(m.GPUs, bad)
	if first < 0 {
		// A GPU that the table lacks may be the unsupported one.
		if i := slices.IndexFunc(m.GPUs, func(g hardware.GPU) bool { return g.Chip == nil }); i >= 0 {
			return rule.ReportMissing("driver", verdict.Question("what kind of GPU "+m.GPUs[i].Label+" is"))
		}
		return rule.PassJudged("driver")
	}
	f := say(m.GPUs[first])
	f.Severity, f.Subject = verdict.Error, "driver"
	f.Evidence = []verdict.Evidence{m.EvidenceDriver(), {Fact: "GPU", Value: m.GPUs[first].Label, From: m.GPUs[first].From}}
	// The driver loads and ignores the GPUs that it does not know. Programs run on the others.
	if served := slices.IndexFunc(m.GPUs, func(g hardware.GPU) bool { return !bad(g) }); served >= 0 {
		f.Severity = verdict.Warning
		f.Message += "; this driver supports " + m.GPUs[served].Label
		f.Steps = append(f.Steps, rule.ExportStep(m, m.Showing(func(g hardware.GPU) bool { return !bad(g) }), "hides the unsupported GPU"),
			pin.Say("move that GPU to another machine").Instead())
	}
	if f.Severity == verdict.Error && len(f.Pins)+len(f.Steps) == 0 {
		f.Steps = []pin.Step{pin.Say("no driver branch supports all of these GPUs: move the build or a GPU to another machine")}
	}
	return []*rule.Result{{Subject: f.Subject, Finding: &f, Need: "a driver that supports the GPU", Row: knownBy(m, m.GPUs[first])}}
}

// knownBy returns the table rows that say which drivers support a GPU.
func knownBy(m *model.Machine, g hardware.GPU) string {
	rows := "gpu.csv"
	if g.Chip != nil {
		rows = g.Chip.Chip + " in gpu.csv"
	}
	for _, p := range hardware.Proven(m.ProductsOf(g)) {
		rows += ", " + p.PCIID + " in product.csv"
	}
	return rows
}
