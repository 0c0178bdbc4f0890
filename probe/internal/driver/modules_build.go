package driver

import (
	"path"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/source"
)

// makeLogs lists where DKMS keeps a build's log: in the build directory if the build failed, else next to the module.
// Debian and Ubuntu name the package nvidia, Debian also nvidia-current.
var makeLogs = []string{"/var/lib/dkms/nvidia*/*/build/make.log", "/var/lib/dkms/nvidia*/*/*/*/log/make.log"}

// ReadModuleBuild finds the log of the newest failed build whose kernel has no module.
func ReadModuleBuild(h *host.Host) (source.Update, error) {
	for _, pattern := range makeLogs {
		logs := h.Glob(pattern)
		for i := range logs {
			name := logs[len(logs)-1-i]
			data, err := h.ReadFile(name)
			if err != nil {
				return nil, err
			}
			kernel, fault := parseMakeLog(string(data))
			if hasModule(h, name, kernel) || fault == "" {
				continue
			}
			return func(f *facts.Facts) { f.Machine.MakeLog, f.Machine.MakeError = name, fault }, nil
		}
	}
	return nil, host.ErrAbsent
}

// hasModule reports whether the kernel of a failed build has a module anyway, next to the log or where modprobe looks.
func hasModule(h *host.Host, log, kernel string) bool {
	if len(h.GlobIn(path.Dir(path.Dir(log)), "module/nvidia*.ko*")) > 0 {
		return true
	}
	if kernel == "" || strings.Contains(kernel, "/") {
		return false
	}
	for _, file := range moduleFiles(h, path.Join("/lib/modules", kernel)) {
		if h.Exists(file) {
			return true
		}
	}
	return false
}

var (
	// makeHead is the first line of a log.
	makeHead = lazyregexp.New(`^DKMS make\.log for \S+ for kernel (\S+)`)
	// makeFault is a compiler's, a shell's and make's own complaint.
	makeFault = lazyregexp.New(`(?:^|[\s:])(?:fatal )?error: |^ERROR:|^FATAL:|: not found$|\*\*\* `)
)

// longestFault bounds what is kept of a log's line.
const longestFault = 300

// parseMakeLog parses the kernel that a build was for, and its first error:
//
//	DKMS make.log for nvidia-580.95.05 for kernel 6.8.0-1021-aws (x86_64)
//	/var/lib/dkms/nvidia/580.95.05/build/nvidia/nv.c:10:10: fatal error: linux/version.h: No such file or directory
func parseMakeLog(text string) (kernel, fault string) {
	if m := makeHead.FindStringSubmatch(text); m != nil {
		kernel = m[1]
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if makeFault.MatchString(line) {
			return kernel, line[:min(len(line), longestFault)]
		}
	}
	return kernel, ""
}
