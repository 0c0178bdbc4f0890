package main

import (
	"slices"

	"cudacompat/probe"
	"cudacompat/probe/facts"

	"github.com/spf13/cobra"
)

// The values of --platform that name a system. An image's platform also names an architecture.
const (
	onLinux   = "linux"
	onWindows = "windows"
)

// platformFlag adds --platform to a command that reads files and images.
func platformFlag(cmd *cobra.Command, platform *string) {
	cmd.Flags().StringVar(platform, "platform", "",
		"judge for `PLATFORM`: linux or windows (default: what the file says, else linux); of an image for several platforms, take the one for linux/amd64 or linux/arm64 (default: that of --instance or --gpu where they tell it, else linux/amd64)")
}

// systemFlag adds --platform to a command that takes a system.
func systemFlag(cmd *cobra.Command, platform *string) {
	cmd.Flags().StringVar(platform, "platform", "", "assume `PLATFORM`: linux or windows (default linux)")
}

// isSystem reports whether a value of --platform names a system. Any file can be meant for a system.
func isSystem(platform string) bool { return platform == onLinux || platform == onWindows }

// checkSystem rejects a value of --platform that is not a system.
func checkSystem(platform string) error {
	if platform == "" || isSystem(platform) {
		return nil
	}
	return misspelt("platform", platform, []string{onLinux, onWindows})
}

// meantFor changes facts to those of the system in --platform: Windows, or not.
func meantFor(platform string, f probe.Facts) probe.Facts {
	switch {
	case platform == onWindows && !f.System.Windows():
		f.System.OS, f.System.WSL, f.System.Libc = facts.Windows, false, ""
	case platform == onLinux && f.System.Windows():
		f.System.OS = ""
	}
	return f
}

// platformsOf returns all values of --platform, for suggestions.
func platformsOf() []string {
	list := []string{onLinux, onWindows}
	for _, name := range imagePlatforms {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}
