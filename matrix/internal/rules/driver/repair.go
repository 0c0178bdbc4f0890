package driver

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/pin"
	"cudacompat/probe/facts"
)

// modulePackage matches packages that build or contain the kernel module.
var modulePackage = lazyregexp.New(`-dkms|^akmod-nvidia|^kmod-nvidia|^linux-modules-nvidia`)

// branchInName matches Ubuntu's package names that contain the driver branch. Such a package has no version of another
// branch.
var branchInName = lazyregexp.New(`-(\d{3})(-|$)`)

// packageSteps returns the steps that repair the driver's packages, or nil if the package manager reports nothing
// wrong. They come before building the module, because DKMS has only the source of configured packages.
func packageSteps(m *model.Machine, user version.Number) []pin.Step {
	packages, _ := corePackages(m)
	switch {
	case unreadPackages(m) != "" && pins.HostSystem(m).APT():
		return auditSteps(m)
	case len(inState(m, "half-installed", "reinst-required")) > 0:
		return reinstallSteps(m, inState(m, "half-installed", "reinst-required"))
	case len(inState(m, "half-configured", "unpacked")) > 0:
		return configureSteps(m)
	case m.Facts.Machine.Runfile != "" && len(packages) > 0 && !picksModule(m):
		return runfileSteps(m, packages)
	case hasDuplicates(packages) && pins.HostSystem(m).DNF():
		s := pins.HostSystem(m)
		return []pin.Step{pin.Run(pin.Sequence(s.AsRoot("dnf", "remove", "-y", "--duplicates"), s.AsRoot("reboot"))).
			Explained("two releases of one package are installed")}
	}
	if !user.Known() || !slices.ContainsFunc(packages, func(p facts.DriverPackage) bool { return isOfRelease(p, user) }) {
		return nil
	}
	return oneVersionSteps(m, packages, user)
}

// unreadPackages returns why the state of the driver's packages is unknown, or "" if it is known.
func unreadPackages(m *model.Machine) string {
	return cmp.Or(m.ProbeFailure("driver-packages"), m.Unseen("driver-packages"))
}

// auditSteps asks dpkg whether an installation was interrupted, if its database could not be read here. Until that is
// repaired, building the module may be useless.
func auditSteps(m *model.Machine) []pin.Step {
	s := pins.HostSystem(m)
	return []pin.Step{pin.Run(s.AsRoot("dpkg", "--audit")).Explained("lists packages whose installation did not end; the database could not be read here: " + unreadPackages(m)),
		pin.Run(pin.Sequence(s.AsRoot("dpkg", "--configure", "-a"), s.AsRoot("reboot"))).Explained("if it lists the driver's packages"),
		pin.Say("if it lists none, bring all of the driver's packages and its module to one release, then reboot")}
}

// inState lists the driver packages that dpkg left in one of these states. It returns none on a system with dnf.
func inState(m *model.Machine, states ...string) []string {
	if pins.HostSystem(m).DNF() {
		return nil
	}
	var names []string
	for _, p := range m.Facts.Machine.Packages {
		if slices.Contains(states, p.State) && pin.IsName(p.Name) {
			names = append(names, p.Name)
		}
	}
	return names
}

// reinstallSteps reinstalls packages whose files are incomplete.
func reinstallSteps(m *model.Machine, names []string) []pin.Step {
	s := pins.HostSystem(m)
	install := s.Reinstall(names...)
	if install == "" {
		return nil
	}
	return []pin.Step{pin.Run(pin.Sequence(install, s.AsRoot("reboot"))).Explained("dpkg stopped in the middle of these packages")}
}

var (
	headersFault  = lazyregexp.New(`(?i)kernel headers|linux/\S+: No such file|/lib/modules/\S+/build`)
	compilerFault = lazyregexp.New(`(?:gcc|cc|make)\S*: (?:command )?not found|(?:gcc|cc|make)\S*: No such file`)
)

// configureSteps completes an interrupted dpkg installation. If DKMS failed to build the module, the steps first
// install what it lacked, otherwise it would fail again.
func configureSteps(m *model.Machine) []pin.Step {
	s := pins.HostSystem(m)
	configure := pin.Run(pin.Sequence(s.AsRoot("dpkg", "--configure", "-a"), s.AsRoot("reboot"))).
		Explained("the installation of the driver's packages did not end")
	kernel, _ := m.BootKernel()
	fault := m.Facts.Machine.MakeError
	switch {
	case fault == "":
		return []pin.Step{configure}
	case headersFault.MatchString(fault) && kernel != "" && s.APT():
		return []pin.Step{pin.Run(s.Install(s.Headers(kernel))).Explained("what the module is built with"), configure}
	case compilerFault.MatchString(fault) && s.APT():
		return []pin.Step{pin.Run(s.Install("gcc", "make")).Explained("what the module is built with"), configure}
	}
	return []pin.Step{pin.Say(pin.Word(m.Facts.Machine.MakeLog) +
		" says why the module was not built; if the kernel is too new for this branch, boot an older kernel or install a newer branch"), configure}
}

// runfileSteps removes what NVIDIA's .run installer wrote over the packages, and then restores the packages' files.
func runfileSteps(m *model.Machine, packages []facts.DriverPackage) []pin.Step {
	s := pins.HostSystem(m)
	var names []string
	for _, p := range packages {
		if pin.IsName(p.Name) {
			names = append(names, p.Name)
		}
	}
	again := pin.Say("then reinstall the packages")
	if install := s.Reinstall(names...); install != "" && len(names) > 0 {
		again = pin.Run(pin.Sequence(install, s.AsRoot("reboot"))).Explained("puts the packages' files back")
	}
	return []pin.Step{pin.Run(s.AsRoot("nvidia-uninstall")).Explained("removes what the .run installer wrote"), again,
		pin.Say("remove the packages and keep the .run installer's driver").Instead()}
}

// oneVersionSteps brings packages of another release to this one. It returns nil if all have this release, or if a
// package's name contains another branch.
func oneVersionSteps(m *model.Machine, packages []facts.DriverPackage, release version.Number) []pin.Step {
	s := pins.HostSystem(m)
	var others []string
	for _, p := range packages {
		if branch := branchInName.FindStringSubmatch(p.Name); branch != nil && branch[1] != strconv.Itoa(release.Major()) || !pin.IsName(p.Name) {
			return nil
		}
		if !isOfRelease(p, release) {
			others = append(others, s.Pattern(p.Name, release.String()))
		}
	}
	install := s.Install(others...)
	if len(others) == 0 || install == "" {
		return nil
	}
	return []pin.Step{pin.Run(pin.Sequence(install, s.AsRoot("reboot"))).
		Explained(fmt.Sprintf("brings all of the driver's packages to %s", pin.Quoted(release.String())))}
}

// newestRelease returns the newest release among packages, and false if none has a release.
func newestRelease(packages []facts.DriverPackage) (newest version.Number, known bool) {
	for _, p := range packages {
		if release, named := hardware.ReleaseIn(p.Version); named && (!known || newest.Less(release)) {
			newest, known = release, true
		}
	}
	return newest, known
}

// isOfRelease reports whether a package's version belongs to a driver release.
func isOfRelease(p facts.DriverPackage, release version.Number) bool {
	v, named := hardware.ReleaseIn(p.Version)
	return named && v.Compare(release) == 0
}

// hasDuplicates reports whether a package is installed twice, as an interrupted RPM transaction leaves it.
func hasDuplicates(packages []facts.DriverPackage) bool {
	seen := map[string]bool{}
	for _, p := range packages {
		if seen[p.Name] {
			return true
		}
		seen[p.Name] = true
	}
	return false
}

// takesOnlyModule reports whether the only kernel module belongs to the packages of a branch.
func takesOnlyModule(packages []facts.DriverPackage, branch int) bool {
	inBranch := branchNames(packages, branch)
	holds := false
	for _, p := range packages {
		if modulePackage.MatchString(p.Name) {
			if !slices.Contains(inBranch, p.Name) {
				return false
			}
			holds = true
		}
	}
	return holds
}
