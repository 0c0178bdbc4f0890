package main

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

	"github.com/spf13/cobra"
)

// The values of --platform that name a system. An image's platform also names an architecture.
const (
	onLinux   = "linux"
	onWindows = "windows"
	onWSL     = "wsl"
)

// systems are the values of --platform that are systems.
var systems = []string{onLinux, onWindows, onWSL}

// platformFlag adds --platform to a command that reads files and images.
func platformFlag(cmd *cobra.Command, platform *string) {
	cmd.Flags().StringVar(platform, "platform", "",
		"judge for `PLATFORM`: linux, windows or wsl, which is WSL2 (default: what the file says, else linux); of an image for several platforms, take the one for linux/amd64 or linux/arm64 (default: that of --instance or --gpu where they tell it, else linux/amd64)")
}

// systemFlag adds --platform to a command that takes a system.
func systemFlag(cmd *cobra.Command, platform *string) {
	cmd.Flags().StringVar(platform, "platform", "", "assume `PLATFORM`: linux, windows or wsl, which is WSL2 (default linux)")
}

// isSystem reports whether a value of --platform names a system. Any file can be meant for a system.
func isSystem(platform string) bool { return slices.Contains(systems, platform) }

// checkSystem rejects a value of --platform that is not a system.
func checkSystem(platform string) error {
	if platform == "" || isSystem(platform) {
		return nil
	}
	return usage.RejectUnknown("platform", platform, systems)
}

// applyPlatform returns the facts with the system that --platform names: Windows, WSL2 or neither.
func applyPlatform(platform string, f probe.Facts) probe.Facts {
	switch {
	case platform == onWindows && !f.System.Windows():
		f.System.OS, f.System.WSL, f.System.Libc = facts.Windows, false, ""
	case platform == onWSL:
		if f.System.WSL = true; strings.Contains(f.System.OS, facts.Windows) {
			f.System.OS = ""
		}
	case platform == onLinux && f.System.Windows():
		f.System.OS = ""
	}
	return f
}

// platformsOf returns all values of --platform, for suggestions.
func platformsOf() []string {
	list := slices.Clone(systems)
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

// assumeWindows returns facts that name no system as those of Windows, if a target's driver is one that NVIDIA made for
// Windows alone, and says so. A Dockerfile, and a file with packages that have no wheel for Windows, are taken for WSL2's.
func assumeWindows(t *matrix.Tables, f probe.Facts, targets []matrix.Target, says io.Writer) probe.Facts {
	i := slices.IndexFunc(targets, func(target matrix.Target) bool { return target.OnlyWindows(t) })
	if i < 0 || !namesNoSystem(&f) {
		return f
	}
	system, other := onWindows, "for WSL2, which takes the wheels for Linux, add --platform wsl"
	inImage := func(e facts.Environment) bool { return e.Kind == "Dockerfile" }
	if matrix.ForLinux(t, &f) || slices.ContainsFunc(f.Environments, inImage) {
		system, other = onWSL, "what it names is for Linux, which WSL2 runs on that driver"
	}
	terminal.Complain(says, fmt.Sprintf("--driver %s is a driver for Windows: --platform %s is assumed", targets[i].Driver, system), other)
	return applyPlatform(system, f)
}

// refuseWindowsDriver refuses a driver that NVIDIA made for Windows alone as one of a Linux machine that was examined.
func refuseWindowsDriver(t *matrix.Tables, system facts.System, platform string, targets ...matrix.Target) error {
	for _, target := range targets {
		if target.OnlyWindows(t) && !system.Windows() && !system.WSL && platform != onLinux {
			branch, _, _ := strings.Cut(target.Driver, ".")
			return &usage.Error{Message: fmt.Sprintf("--driver %s is a driver for Windows: branch %s has none for Linux", target.Driver, branch),
				Hint: "give Linux' own driver; for Windows or WSL2, check and pins take --platform windows or wsl"}
		}
	}
	return nil
}
