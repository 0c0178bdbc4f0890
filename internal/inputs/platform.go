package inputs

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"cudacompat/internal/terminal"
	"cudacompat/internal/usage"
	"cudacompat/matrix"
	"cudacompat/probe"
	"cudacompat/probe/facts"
)

// The values of --platform that name a system. An image's platform also names an architecture.
const (
	Linux   = "linux"
	Windows = "windows"
	WSL     = "wsl"
)

// Systems are the values of --platform that are systems.
var Systems = []string{Linux, Windows, WSL}

// IsSystem reports whether a value of --platform names a system. Any file can be meant for a system.
func IsSystem(platform string) bool { return slices.Contains(Systems, platform) }

// CheckSystem rejects a value of --platform that is not a system.
func CheckSystem(platform string) error {
	if platform == "" || IsSystem(platform) {
		return nil
	}
	return usage.RejectUnknown("platform", platform, Systems)
}

// ApplyPlatform returns the facts with the system that --platform names: Windows, WSL2 or neither.
func ApplyPlatform(platform string, f probe.Facts) probe.Facts {
	switch {
	case platform == Windows && !f.System.Windows():
		f.System.OS, f.System.WSL, f.System.Libc = facts.Windows, false, ""
	case platform == WSL:
		if f.System.WSL = true; strings.Contains(f.System.OS, facts.Windows) {
			f.System.OS = ""
		}
	case platform == Linux && f.System.Windows():
		f.System.OS = ""
	}
	return f
}

// listPlatforms returns all values of --platform, for suggestions.
func listPlatforms() []string {
	list := slices.Clone(Systems)
	for _, name := range imagePlatforms {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// namesNoSystem reports whether facts leave open which system they are of, as a list of packages does.
func namesNoSystem(f *probe.Facts) bool {
	s := f.System
	return s.OS+s.Kernel+s.Libc == "" && !s.WSL && !s.Jetson && f.Image == nil
}

// AssumeWindows returns facts that name no system as those of Windows, if a target's driver is one that NVIDIA made for
// Windows alone, and says so. A Dockerfile, and a file with packages that have no wheel for Windows, are taken for WSL2's.
func AssumeWindows(t *matrix.Tables, f probe.Facts, targets []matrix.Target, says io.Writer) probe.Facts {
	i := slices.IndexFunc(targets, func(target matrix.Target) bool { return target.OnlyWindows(t) })
	if i < 0 || !namesNoSystem(&f) {
		return f
	}
	system, other := Windows, "for WSL2, which takes the wheels for Linux, add --platform wsl"
	inImage := func(e facts.Environment) bool { return e.Kind == "Dockerfile" }
	if matrix.ForLinux(t, &f) || slices.ContainsFunc(f.Environments, inImage) {
		system, other = WSL, "what it names is for Linux, which WSL2 runs on that driver"
	}
	terminal.Complain(says, fmt.Sprintf("--driver %s is a driver for Windows: --platform %s is assumed", targets[i].Driver, system), other)
	return ApplyPlatform(system, f)
}

// RefuseWindowsDriver refuses a driver that NVIDIA made for Windows alone as one of a Linux machine that was examined.
func RefuseWindowsDriver(t *matrix.Tables, system facts.System, platform string, targets ...matrix.Target) error {
	for _, target := range targets {
		if target.OnlyWindows(t) && !system.Windows() && !system.WSL && platform != Linux {
			branch, _, _ := strings.Cut(target.Driver, ".")
			return &usage.Error{Message: fmt.Sprintf("--driver %s is a driver for Windows: branch %s has none for Linux", target.Driver, branch),
				Hint: "give Linux' own driver; for Windows or WSL2, check and pins take --platform windows or wsl"}
		}
	}
	return nil
}
