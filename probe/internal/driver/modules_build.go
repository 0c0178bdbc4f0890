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
	log, kernel, fault, err := failedBuild(h)
	if err == nil && log == "" {
		err = host.ErrAbsent
	}
	if err != nil {
		return nil, err
	}
	return func(f *facts.Facts) {
		f.Machine.MakeLog, f.Machine.MakeKernel, f.Machine.MakeError = log, kernel, fault
	}, nil
}

// ReadDKMS reads with what DKMS would build the driver's module.
func ReadDKMS(h *host.Host) (source.Update, error) {
	dkms := readDKMS(h)
	if dkms == nil {
		return nil, host.ErrAbsent
	}
	return func(f *facts.Facts) { f.Machine.DKMS = dkms }, nil
}

// failedBuild returns the log of the newest failed build whose kernel has no module, that kernel and the first error.
func failedBuild(h *host.Host) (log, kernel, fault string, err error) {
	for _, pattern := range makeLogs {
		logs := h.Glob(pattern)
		for i := range logs {
			name := logs[len(logs)-1-i]
			data, err := h.ReadFile(name)
			if err != nil {
				return "", "", "", err
			}
			if kernel, fault := parseMakeLog(string(data)); fault != "" && !hasModule(h, name, kernel) {
				return name, kernel, fault, nil
			}
		}
	}
	return "", "", "", nil
}

// dkmsUnits are the links by which systemd starts DKMS at boot.
var dkmsUnits = []string{"/etc/systemd/system/multi-user.target.wants/dkms.service", "/etc/systemd/system/basic.target.wants/dkms.service"}

// readDKMS reads with what DKMS would build the driver's module, or returns nil if it has no source of it.
func readDKMS(h *host.Host) *facts.DKMS {
	sources := h.Glob("/var/lib/dkms/nvidia*/*/source/dkms.conf")
	if len(sources) == 0 {
		return nil
	}
	d := &facts.DKMS{Headers: []string{}, Compiler: compilerOf(h), Make: h.FirstThere("/usr/bin/make", "/bin/make")}
	for _, conf := range sources {
		d.Sources = append(d.Sources, path.Base(path.Dir(path.Dir(conf))))
	}
	for _, unit := range dkmsUnits {
		if nameExists(h, unit) && !isMasked(h, "dkms.service") {
			d.Service = unit
			break
		}
	}
	kernels, _ := h.ReadDir("/lib/modules")
	for _, k := range kernels {
		if hasHeaders(h, k.Name()) {
			d.Headers = append(d.Headers, k.Name())
		}
	}
	return d
}

// compilerOf returns the C compiler that builds modules, "" if there is none.
func compilerOf(h *host.Host) string {
	if name := h.FirstThere("/usr/bin/gcc", "/usr/bin/cc", "/usr/local/bin/gcc"); name != "" {
		return name
	}
	for _, pattern := range []string{"/usr/bin/gcc-[0-9]*", "/usr/bin/x86_64-linux-gnu-gcc-[0-9]*", "/usr/bin/aarch64-linux-gnu-gcc-[0-9]*", "/usr/bin/clang*"} {
		if names := h.Glob(pattern); len(names) > 0 {
			return names[0]
		}
	}
	return ""
}

// hasHeaders reports whether what a kernel's modules are built against is there.
func hasHeaders(h *host.Host, kernel string) bool {
	return h.FirstThere("/lib/modules/"+kernel+"/build/Makefile", "/usr/src/linux-headers-"+kernel+"/Makefile", "/usr/src/kernels/"+kernel+"/Makefile") != ""
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
