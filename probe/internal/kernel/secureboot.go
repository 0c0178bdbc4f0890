package kernel

import (
	"bytes"
	"fmt"
	"strings"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/source"
)

// secureBootFile is the EFI variable that says whether Secure Boot is on: four bytes of attributes, and one byte that
// is 1 if the firmware starts only signed software. Whether Linux then refuses modules that no trusted key has signed is
// the kernel's own decision: lockdownFile and enforceFile say it.
const secureBootFile = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"

const (
	// lockdownFile has the kernel's lockdown mode in brackets: "none [integrity] confidentiality".
	lockdownFile = "/sys/kernel/security/lockdown"
	// enforceFile is "Y" if the kernel refuses modules without a valid signature, with or without Secure Boot.
	enforceFile = "/sys/module/module/parameters/sig_enforce"
)

// ReadSecureBoot reads whether the firmware started this machine by Secure Boot, and whether its kernel enforces the
// signatures of modules. Machines without EFI do not have the firmware's variable.
func ReadSecureBoot(h *host.Host) (source.Update, error) {
	var failed host.Errors
	state := ""
	data, err := h.ReadFile(secureBootFile)
	if err == nil {
		if state, err = parseSecureBoot(data); err != nil {
			err = host.Damaged(secureBootFile, err.Error())
		}
	}
	if !host.Absent(err) {
		failed.Add(err)
	}
	signatures := Enforcement(h)
	if state == "" && signatures == (facts.Signatures{}) {
		if err := failed.Err(); err != nil {
			return nil, err
		}
		return nil, host.ErrAbsent
	}
	return func(f *facts.Facts) {
		signatures.Rejected = f.Machine.Signatures.Rejected // of the kernel's log
		f.Machine.SecureBoot, f.Machine.Signatures = state, signatures
	}, failed.Err()
}

// parseSecureBoot parses the variable's five bytes, such as "\x06\x00\x00\x00\x01".
func parseSecureBoot(data []byte) (string, error) {
	if len(data) != 5 {
		return "", fmt.Errorf("%d bytes instead of 5", len(data))
	}
	if data[4] == 1 {
		return "on", nil
	}
	return "off", nil
}

// Enforcement reads whether the running kernel refuses modules without a signature that it trusts. A tree at rest has no
// running kernel.
func Enforcement(h *host.Host) facts.Signatures {
	var s facts.Signatures
	if h.Rest {
		return s
	}
	s.Lockdown = parseLockdown(h.ReadQuietly(lockdownFile))
	switch value := string(bytes.TrimSpace(h.ReadQuietly(enforceFile))); {
	case value == "Y":
		s.Enforced, s.EnforcedFrom = "yes", enforceFile
	case value == "N":
		s.Enforced, s.EnforcedFrom = "no", enforceFile
	case enforcedByCommandLine(h.ReadQuietly("/proc/cmdline")):
		s.Enforced, s.EnforcedFrom = "yes", "/proc/cmdline"
	}
	return s
}

// parseLockdown returns the mode in brackets, "integrity" for
//
//	none [integrity] confidentiality
func parseLockdown(data []byte) string {
	_, rest, _ := strings.Cut(string(data), "[")
	mode, _, closed := strings.Cut(rest, "]")
	if !closed || mode != "none" && mode != "integrity" && mode != "confidentiality" {
		return ""
	}
	return mode
}

// enforcedByCommandLine reports whether the kernel was told to enforce signatures: "module.sig_enforce" or
// "module.sig_enforce=1" (kernel-parameters.txt).
//
//	BOOT_IMAGE=/vmlinuz-6.8.0-1021-aws root=PARTUUID=… ro module.sig_enforce=1
func enforcedByCommandLine(line []byte) bool {
	for _, word := range strings.Fields(string(line)) {
		name, value, given := strings.Cut(word, "=")
		if name == "module.sig_enforce" && (!given || strings.ContainsAny(value[:min(len(value), 1)], "1yYtT")) {
			return true
		}
	}
	return false
}
