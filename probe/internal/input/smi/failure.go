package smi

import (
	"bytes"
	"fmt"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/internal/input/document"
)

// What nvidia-smi, or the shell that looked for it, prints where it fails.
var (
	smiNoDriver = lazyregexp.New(`(?i)NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver` +
		`|Failed to initialize NVML: Driver Not Loaded`)
	smiInit    = lazyregexp.New(`Failed to initialize NVML: *(.*?)\s*$`)
	smiLibrary = lazyregexp.New(`^NVML library version: *(\d+(?:\.\d+)+)\s*$`)
	smiAPI     = lazyregexp.New(`kernel module has (?:the )?version:? (\d+(?:\.\d+)+)`)
	smiNone    = lazyregexp.New(`^No devices were found\s*$`)
	smiHandle  = lazyregexp.New(`^Unable to determine the device handle for (?i:gpu) ?(\S+?:\S+|\d+: ?\S+|\d+)[:.]? ` +
		`+(.*?)\s*$`)
	smiLost     = lazyregexp.New(`(?i)GPU is lost`)
	smiNoNVML   = lazyregexp.New(`NVIDIA-SMI couldn't find (libnvidia-ml\.so|nvml\.dll) library`)
	smiNotFound = lazyregexp.New(`(?i)^(?:\S*sh: .*?)?(?:command )?['"]?nvidia-smi(?:\.exe)?['"]?\s*:? .*(?:not found` +
		`|not recognized|no such file)|` +
		`^\S*sh: command not found: nvidia-smi|exec: "nvidia-smi": executable file not found`)
)

// smiFailures is what each line of a failing nvidia-smi tells.
var smiFailures = []struct {
	line  *lazyregexp.Regexp
	fails bool // it is a failure by itself, and not what stands beside one
	tell  func(s *smi, found []string)
}{
	{smiNoDriver, true, (*smi).noDriver},
	{smiInit, true, (*smi).initFailed},
	{smiLibrary, false, (*smi).nvmlLibrary},
	{smiAPI, false, (*smi).module},
	{smiNone, true, (*smi).noDevices},
	{smiHandle, true, (*smi).noHandle},
	{smiNoNVML, true, (*smi).noLibrary},
	{smiNotFound, true, (*smi).notFound},
}

// shortOutput is how many lines a failing nvidia-smi prints at most, with the commands around it that people paste:
// what is longer is a log.
const shortOutput = 40

func IsFailure(d document.Document) bool {
	return strings.Count(strings.TrimSpace(string(d.Data)), "\n") < shortOutput && Fails(d)
}

// Fails reports whether a text has what nvidia-smi prints where it has nothing to list:
//
//	Failed to initialize NVML: Driver/library version mismatch
//	NVML library version: 535.183
func Fails(d document.Document) bool {
	for line := range bytes.Lines(d.Data) {
		line = bytes.TrimSpace(line)
		for _, f := range smiFailures {
			if f.fails && f.line.Match(line) {
				return true
			}
		}
	}
	return false
}

// failures takes the lines of failures, which stand beside a table too.
func (s *smi) failures(data []byte) {
	for line := range bytes.Lines(data) {
		line = bytes.TrimSpace(line)
		for _, f := range smiFailures {
			if found := f.line.FindSubmatch(line); found != nil {
				texts := make([]string, len(found))
				for i := range found {
					texts[i] = string(found[i])
				}
				f.tell(s, texts)
				break
			}
		}
	}
}

// Codes of nvmlReturn_t that nvidia-smi puts into words (nvml.h).
const (
	nvmlNotLoaded = 9
	nvmlAbsent    = 12
	nvmlLost      = 15
	nvmlReset     = 16
	nvmlMismatch  = 18
)

func (s *smi) noDriver([]string) {
	s.Driver.NVML = facts.NVML{Status: "error", Code: nvmlNotLoaded, Message: "driver not loaded (NVML error 9)"}
}

// initFailed takes the reason that NVML gives. What is no mismatch has several causes, which the line does not tell.
func (s *smi) initFailed(found []string) {
	if strings.Contains(strings.ToLower(found[1]), "version mismatch") {
		s.Driver.NVML = facts.NVML{Status: "error", Code: nvmlMismatch,
			Message: "driver/library version mismatch (NVML error 18)"}
		return
	}
	s.Driver.NVML = facts.NVML{Status: "error", Message: found[0]}
	s.unread("driver", fmt.Sprintf("nvidia-smi says only %q: in a container, access to the devices was lost or never "+
		"granted; run cudacompat doctor there", found[0]))
}

func (s *smi) nvmlLibrary(found []string) {
	s.Driver.Libraries = append(s.Driver.Libraries, facts.Library{Name: "libnvidia-ml", Version: found[1], Path: fromSMI})
}

// module takes the kernel's own word of the same mismatch, where it was pasted along:
//
//	NVRM: this kernel module has the version 535.161.08.  Please
func (s *smi) module(found []string) { s.driver(strings.TrimSuffix(found[1], "."), "") }

func (s *smi) noDevices([]string) {
	s.Driver.NVML = facts.NVML{Status: "ok", Message: "No devices were found"}
	s.unread("GPU", "the driver answers and has none (\"No devices were found\"): whether one is on the PCI bus that the "+
		"driver does not start, lspci -d 10de: and dmesg | grep -i nvrm tell")
}

// noHandle reads a GPU that the driver cannot ask. That it is lost is proof; an unknown error has many causes.
func (s *smi) noHandle(found []string) {
	gpu := strings.TrimSuffix(found[1], ":")
	if _, address, ok := strings.Cut(gpu, ": "); ok {
		gpu = address
	}
	if smiLost.MatchString(found[2]) {
		s.Driver.NVML = facts.NVML{Status: "ok", Code: nvmlLost, Message: "GPU " + gpu + " is lost (NVML error 15)"}
		return
	}
	s.unread("GPU "+gpu, fmt.Sprintf("nvidia-smi cannot ask it (%q): dmesg | grep -i -e xid -e nvrm says why", found[2]))
}

func (s *smi) noLibrary(found []string) {
	s.Driver.NVML = facts.NVML{Status: "absent", Code: nvmlAbsent, Message: found[1] + " is not on the loader's path"}
	s.unread("driver", "nvidia-smi is there and its library is not ("+found[1]+"): half of the driver's user space is "+
		"gone, or did not come into the container")
}

func (s *smi) notFound([]string) {
	s.unread("driver", "nvidia-smi is not there, which says nothing of the driver: run cudacompat doctor there "+
		"(in a container the capability utility brings it, WSL2 has it in /usr/lib/wsl/lib)")
}

func (s *smi) unread(place, reason string) {
	s.Unread = append(s.Unread, facts.Unread{Place: place, Reason: reason, Kind: facts.UnreadNeeded})
}
