package driver

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/internal/rules/rule"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// corePackageNames matches the packages, first Debian's and then RPM's, that contain the driver's libraries or module.
// Two branches of these must not be installed together. It excludes modules for other kernels, tools and empty
// transitional packages.
var corePackageNames = lazyregexp.New(`^(libnvidia-compute(-\d.*)?|libcuda1|libnvidia-ml1|nvidia-dkms-\d.*|nvidia-kernel-(open-)?dkms|nvidia-utils-\d.*|` +
	`nvidia-driver(-.*)?-(cuda|libs|cuda-libs|NVML)|libnvidia-ml|kmod-nvidia-(open|latest)-dkms|nvidia-kmod-common` +
	`|akmod-nvidia|xorg-x11-drv-nvidia(-libs|-cuda|-cuda-libs)?)$`)

// daemonNames matches packages beside the driver that require no particular release of it. Holding one of them does not
// hold the driver.
var daemonNames = lazyregexp.New(`fabric-?manager|nvidia-imex|libnvidia-nscq`)

// corePackages returns the installed packages of the driver itself, with the branch in their version.
func corePackages(m *model.Machine) (packages []facts.DriverPackage, branches []int) {
	for _, p := range m.Facts.Machine.Packages {
		release, named := hardware.ReleaseIn(p.Version)
		if !named || !corePackageNames.MatchString(p.Name) {
			continue
		}
		packages = append(packages, p)
		if branch := release.Major(); !slices.Contains(branches, branch) {
			branches = append(branches, branch)
		}
	}
	return packages, branches
}

// PackagesMixed reports a .run installation over packages, or packages of two branches. It is a warning:
// everything runs until the next upgrade takes the library from one and the module from the other. Then driver-mismatch
// reports the error.
func PackagesMixed(m *model.Machine) []*rule.Result {
	if !m.Host() || m.Target.Driver != "" {
		return nil
	}
	packages, branches := corePackages(m)
	f := verdict.Finding{Severity: verdict.Warning, Subject: "driver", Need: "one installation of one driver",
		Source: []string{"https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/"}}
	for _, p := range packages {
		f.Evidence = append(f.Evidence, verdict.Evidence{Fact: p.Name, Value: p.Version, From: p.From})
	}
	runfile, failed := m.Facts.Machine.Runfile, m.ProbeFailure("driver-packages")
	switch {
	// Both own the same files, and neither knows of the other. nvidia-installer warns of this, too. Only the .run
	// installer leaves nvidia-uninstall behind.
	case runfile != "" && len(packages) > 0 && !picksModule(m):
		f.Message = "NVIDIA's .run installer was used over the driver's packages: the next upgrade of either breaks the other"
		f.Evidence = append(f.Evidence, verdict.Evidence{Fact: ".run installer", Value: "installed", From: runfile})
		f.Steps = runfileSteps(m, packages)
	// Compare the versions of core packages and not their names: a transitional package is named after one branch and
	// belongs to another.
	case len(branches) > 1:
		slices.Sort(branches)
		f.Message = fmt.Sprintf("packages of the driver branches %d and %d are installed together", branches[0],
			branches[len(branches)-1])
		f.Steps = []pin.Step{pin.Say(fmt.Sprintf("remove the packages of branch %d", branches[0])), pin.Say("finish the upgrade to one branch").Instead()}
		newest, _ := newestRelease(packages)
		if steps := oneVersionSteps(m, packages, newest); len(steps) > 0 && takesOnlyModule(packages, branches[0]) {
			f.Steps = steps
		} else if remove := pins.HostSystem(m).Remove(branchNames(packages, branches[0])...); remove != "" {
			f.Steps[0] = pin.Run(remove).Explained(f.Steps[0].Say)
		}
	case failed != "":
		return rule.ReportMissing("driver", verdict.Statement(failed))
	case len(packages) == 0 && runfile == "":
		return nil
	default:
		return rule.Pass("driver")
	}
	return rule.ReportFinding(f)
}

// branchNames returns the names of the driver packages of one branch.
func branchNames(packages []facts.DriverPackage, branch int) []string {
	var names []string
	for _, p := range packages {
		if release, _ := hardware.ReleaseIn(p.Version); release.Major() == branch && pin.IsName(p.Name) {
			names = append(names, p.Name)
		}
	}
	return names
}

// picksModule reports whether the image keeps several modules and loads the one that fits at boot. EKS's images do:
// they ran the GRID driver's .run installer only for its module, and the packages' libraries replaced its own.
func picksModule(m *model.Machine) bool {
	return slices.ContainsFunc(m.Facts.Machine.Installers, func(i facts.Installer) bool { return i.Kind == "dkms-archive" })
}

// AutoUpdate notes that a background upgrade can replace the driver's files under a running module. No program
// then starts on the GPU until a reboot (driver-mismatch). On a single machine that may never happen. All machines
// started from one image would break on the same day.
func AutoUpdate(m *model.Machine) []*rule.Result {
	u := m.Facts.Machine.Updates
	image := m.Facts.System.Rest && len(m.Facts.Machine.Kernels) == 0 // of a container
	// No package manager replaces the files of a .run installation, and a container uses its host's driver.
	if !m.Host() || image || m.Target.Driver != "" || u.Tool == "" || m.Facts.Machine.Runfile != "" {
		return nil
	}
	what, unknowable := updatable(m, u)
	switch {
	case unknowable.IsMissing():
		return rule.ReportMissing("driver", unknowable)
	case what == nil:
		return rule.Pass("driver")
	}
	f := verdict.Finding{Severity: verdict.Note, Subject: "driver", Need: "the driver's packages held",
		Message:  u.Tool + " may upgrade the driver while it runs; after that, no program can start on the GPU until a reboot",
		Evidence: append([]verdict.Evidence{{Fact: u.Tool, Value: "on", From: u.From}}, what...),
		Source:   []string{"https://documentation.ubuntu.com/server/how-to/software/automatic-updates/"}}
	f.Steps = []pin.Step{pin.Run(pin.Command(append([]string{"sudo", "apt-mark", "hold"}, holdNames(m)...)...))}
	if u.Tool == "dnf-automatic" {
		f.Steps = []pin.Step{pin.Run("sudo dnf versionlock add 'nvidia*' 'kmod-nvidia*' 'libnvidia*'")}
		f.Source = []string{"https://dnf.readthedocs.io/en/latest/automatic.html"}
	}
	// Every machine that is started from this image would upgrade its driver.
	if m.Facts.System.Rest {
		f.Severity = verdict.Warning
	}
	return rule.ReportFinding(f)
}

// updatable returns the evidence that a background upgrade may replace the driver, nil if none may, or the fact that is
// needed to know.
func updatable(m *model.Machine, u facts.Updates) (what []verdict.Evidence, unknowable verdict.MissingFact) {
	packages, _ := corePackages(m)
	if failed := m.ProbeFailure("driver-packages"); failed != "" && len(packages) == 0 {
		return nil, verdict.Statement(failed)
	}
	unread := verdict.MissingFact{}
	if u.Unread != "" {
		unread = verdict.Question("whether " + u.Tool + " may upgrade it: " + u.Unread + " could not be read")
	}
	if u.Tool == "dnf-automatic" {
		return dnfUpdatable(u, packages, unread)
	}
	// The packages of a release require each other's exact version, so holding one holds all. A daemon requires no
	// version.
	held := slices.ContainsFunc(m.Facts.Machine.Packages, func(p facts.DriverPackage) bool {
		return p.Held && strings.Contains(p.Name, "nvidia") && !daemonNames.MatchString(p.Name)
	})
	if len(packages) == 0 || held || u.Pinned != "" {
		return nil, verdict.MissingFact{}
	}
	for _, p := range packages {
		if isBlacklisted(u.Blacklist, p.Name) {
			return nil, verdict.MissingFact{}
		}
		// unattended-upgrades installs only from allowed origins, and each archive has its own origin.
		if p.Vendor == "" {
			return nil, verdict.Question("which archive " + p.Name + " comes from")
		}
		if originAllowed(u.Origins, p.Vendor) && u.Unread != "" {
			return nil, unread
		}
		if originAllowed(u.Origins, p.Vendor) {
			return []verdict.Evidence{{Fact: p.Name, Value: p.Version, From: p.From}}, verdict.MissingFact{}
		}
	}
	if strings.HasPrefix(u.Unread, "/etc/apt/apt.conf") { // an origin may be allowed there
		return nil, unread
	}
	return nil, verdict.MissingFact{}
}

// dnfUpdatable returns a driver package that an enabled repository may replace, or unread if a file that decides it could
// not be read. The packages require each other's exact version, so one lock holds all. On Amazon Linux 2023 a repository
// with $releasever stays at one release until somebody changes it, so it is not in Repos.
func dnfUpdatable(u facts.Updates, packages []facts.DriverPackage, unread verdict.MissingFact) ([]verdict.Evidence, verdict.MissingFact) {
	locked := slices.ContainsFunc(packages, func(p facts.DriverPackage) bool { return lockedByDNF(u.Blacklist, p.Name) })
	switch {
	case locked || len(packages) == 0:
		return nil, verdict.MissingFact{}
	case unread.IsMissing() || len(u.Repos) == 0:
		return nil, unread
	}
	return []verdict.Evidence{{Fact: packages[0].Name, Value: packages[0].Version, From: packages[0].From},
		{Fact: "repository", Value: u.Repos[0], From: "/etc/yum.repos.d"}}, verdict.MissingFact{}
}

// lockedByDNF matches version locks and excludes. They are globs of names, "nvidia*", or names with a version,
// "nvidia-driver-3:580.95.05-1.*". A "!" excludes one version and holds back no other.
func lockedByDNF(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		if ok, _ := path.Match(pattern, name); ok {
			return true
		}
		version, ok := strings.CutPrefix(pattern, name+"-")
		return ok && version != "" && strings.Contains("0123456789*", version[:1])
	})
}

// holdNames returns the packages to hold: the driver's meta-packages, if there are any.
func holdNames(m *model.Machine) []string {
	var names []string
	for _, p := range m.Facts.Machine.Packages {
		if !pin.IsName(p.Name) {
			continue
		}
		if strings.HasPrefix(p.Name, "nvidia-driver") || strings.HasPrefix(p.Name, "nvidia-headless") ||
			corePackageNames.MatchString(p.Name) {
			names = append(names, p.Name)
		}
	}
	return names
}

// isBlacklisted matches as unattended-upgrades does: a pattern applies from the start of the name. A pattern that is
// valid in Python and not in Go matches nothing here.
func isBlacklisted(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		re, err := regexp.Compile("^(?:" + pattern + ")")
		return err == nil && re.MatchString(name)
	})
}

// originAllowed reports whether an allowed origin is the archive of a vendor's driver packages. Ubuntu publishes new
// releases in both -security and -updates. Debian publishes them in its stable archive and not in the security archive.
func originAllowed(origins []string, vendor string) bool {
	return slices.ContainsFunc(origins, func(o string) bool {
		o = strings.ToLower(o)
		ofDistribution := strings.HasPrefix(o, "${distro_id}:") || strings.HasPrefix(o, vendor+":") ||
			strings.Contains(o, "origin="+vendor) || strings.Contains(o, "origin=${distro_id}")
		switch vendor {
		case "ubuntu":
			return everyOrigin(o) || ofDistribution && (strings.Contains(o, "-security") || strings.Contains(o, "-updates"))
		case "debian":
			return everyOrigin(o) || ofDistribution && !strings.Contains(o, "security")
		// NVIDIA's repository is not a default origin. Somebody must have added it.
		case "nvidia":
			return everyOrigin(o) || strings.Contains(o, "nvidia")
		// The archive's Origin is LP-PPA-graphics-drivers; o is in lower case.
		case "ppa":
			return everyOrigin(o) || strings.Contains(o, "lp-ppa-graphics-drivers")
		}
		return false
	})
}

// everyOrigin reports whether a pattern of unattended-upgrades allows all archives.
func everyOrigin(o string) bool { return o == "origin=*" || o == "*:*" }
