package installer

import (
	"slices"
	"strings"
)

// PipValues are pip's options that take the next word and say nothing of what is installed.
var PipValues = []string{"-t", "--target", "--prefix", "--root", "--python", "-p", "--timeout", "--retries",
	"--cache-dir", "--proxy", "--cert",
	"--log", "--client-cert", "--exists-action", "--keyring-provider", "--use-feature", "--use-deprecated",
	"--trusted-host", "--progress-bar", "--platform", "--python-version", "--only-binary", "--no-binary",
	"--upgrade-strategy", "--no-build-isolation-package"}

// UvValues are options of uv that take the next word.
var UvValues = []string{"--extra", "--group", "--no-group", "--only-group", "--no-extra", "--package", "--project",
	"--directory", "--with", "--with-editable", "--with-requirements", "--python", "-p", "--env-file", "--index",
	"--default-index", "--no-install-package", "--no-binary-package", "--upgrade-package", "-P", "--config-file",
	"--cache-dir", "--link-mode", "--python-platform", "--refresh-package", "--reinstall-package", "--index-strategy",
	"--extra-index-url", "-i", "--index-url", "-f", "--find-links", "--resolution", "--prerelease", "--color", "-w"}

// beforeCommand returns the options that stand before the program which uv run starts.
func beforeCommand(list []string) []string {
	for i := 0; i < len(list); i++ {
		switch {
		case slices.Contains(UvValues, list[i]):
			i++
		case !strings.HasPrefix(list[i], "-"):
			return list[:i]
		}
	}
	return list
}

// syncedFiles returns the words of an installation of the files that uv pip sync and pip-sync name.
func syncedFiles(args []string) []string {
	var list []string
	for i, arg := range args {
		if !strings.HasPrefix(arg, "-") && (i == 0 || !slices.Contains(PipValues, args[i-1]) && !IsIndexOption(args[i-1])) {
			list = append(list, "-r")
		}
		list = append(list, arg)
	}
	return list
}

// IsIndexOption reports whether an option's next word is a package index.
func IsIndexOption(option string) bool {
	return slices.Contains([]string{"-i", "--index-url", "--extra-index-url", "-f", "--find-links", "--index",
		"--default-index"}, option)
}
