package fuse

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"cudacompat/internal/deadline"
	"cudacompat/probe/host"
)

// childArg starts this program as the child that reads FUSE file systems. A childSetup follows, then the command's
// arguments.
const childArg = "__fuse"

// childSetup is what the child must know about its caller.
type childSetup struct {
	Out, Err int    // the widths of the caller's terminals; 0 is no terminal
	Code     int    // the descriptor for the exit code
	FUSE     string // the file systems that may not answer
}

// notApart lists commands that read no file of the caller, or that hand the terminal to another program.
var notApart = []string{"guard", "version", "schema", "completion", "help", "__complete", "__completeNoDesc"}

// ofFiles lists commands that read only the named files.
var ofFiles = []string{"check", "requires", "fleet", "matrix"}

// findMountsInReach returns the FUSE file systems that a command may read or write: none for most commands on most machines.
func findMountsInReach(args []string) []host.Mount {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") || slices.Contains(notApart, args[0]) {
		return nil
	}
	mounts := host.FUSEMounts()
	if len(mounts) == 0 {
		return nil
	}
	dir, err := workingDirectory()
	if err != nil {
		return mounts
	}
	return selectMountsInReach(mounts, args, dir)
}

// selectMountsInReach returns the mounts that a command run in a directory may read or write. A command that reads the
// machine or a directory may follow a link to any of them. It omits mounts that desktops make for each session and that
// no source of facts reads.
func selectMountsInReach(mounts []host.Mount, args []string, dir string) []host.Mount {
	searched := slices.DeleteFunc(slices.Clone(mounts), func(m host.Mount) bool { return strings.HasPrefix(m.Point, "/run/user/") })
	if !slices.Contains(ofFiles, args[0]) && !slices.Contains(args, "--no-here") {
		if len(searched) > 0 {
			return searched
		}
	}
	var list []host.Mount
	for _, m := range mounts {
		one := []host.Mount{m}
		there, _ := host.LeadsTo(one, dir) // a configuration
		if there || slices.ContainsFunc(namedPaths(args, dir), func(name string) bool {
			there, beneath := host.LeadsTo(one, name)
			_, beside := host.LeadsTo(one, filepath.Dir(name)) // what a file includes
			return there || beneath || beside && isThere(name)
		}) {
			list = append(list, m)
		}
	}
	if len(list) > 0 {
		return list
	}
	if slices.ContainsFunc(namedPaths(args, dir), isDirectory) {
		return searched
	}
	return nil
}

// isThere reports whether a path exists. It and isDirectory are used only for paths outside FUSE file systems.
func isThere(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func isDirectory(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// workingDirectory asks only the kernel. os.Getwd also reads the directory, which may not answer.
func workingDirectory() (string, error) {
	var path [syscall.PathMax]byte
	n, err := syscall.Getcwd(path[:])
	if err != nil || n < 2 || path[0] != '/' {
		return "", syscall.ENOENT
	}
	return string(path[:n-1]), nil
}

// namedPaths returns everything in the arguments that could be a path, made absolute: each argument, and the part after
// its "=".
func namedPaths(args []string, dir string) []string {
	var paths []string
	add := func(word string) {
		if word == "" || strings.ContainsAny(word, "\n\x00") {
			return
		}
		if !filepath.IsAbs(word) {
			word = filepath.Join(dir, word)
		}
		paths = append(paths, word)
	}
	for _, arg := range append(slices.Clone(args[1:]), os.Getenv("CUDACOMPAT_CONFIG")) {
		if _, value, ok := strings.Cut(arg, "="); ok {
			add(value)
		}
		if !strings.HasPrefix(arg, "-") {
			add(arg)
		}
	}
	return paths
}

// findLimit returns how long a command with these arguments may take, or 0 for no limit. Without --timeout it is the
// longest time that any part of the command may take, because the child enforces its own limits when it can.
func findLimit(args []string) time.Duration {
	if limit := findDuration(args, "--timeout"); limit > 0 {
		return limit + findDuration(args, "--wait")
	}
	switch {
	case args[0] == "fleet":
		return 0
	case slices.Contains(args, "--healthcheck"):
		return deadline.Health + findDuration(args, "--wait")
	case args[0] == "explain":
		return deadline.Log + deadline.Live
	case args[0] == "check", args[0] == "requires":
		return deadline.Rest
	}
	return deadline.Rest + findDuration(args, "--wait")
}

// findDuration returns the value of a flag among the arguments, or 0.
func findDuration(args []string, flag string) time.Duration {
	for i, arg := range args {
		value, ok := strings.CutPrefix(arg, flag+"=")
		if arg == flag && i+1 < len(args) {
			value, ok = args[i+1], true
		}
		if d, err := time.ParseDuration(value); ok && err == nil {
			return d
		}
	}
	return 0
}

// describeMounts names mounts for a sentence.
func describeMounts(mounts []host.Mount) string {
	first := mounts[0]
	text := fmt.Sprintf("the FUSE file system at %s (%s)", first.Point, first.Kind)
	if n := len(mounts) - 1; n > 0 {
		text = fmt.Sprintf("%s or one of %d others", text, n)
	}
	return text
}
