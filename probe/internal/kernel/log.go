package kernel

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/source"
)

// driverTrouble matches kernel messages that prove that the driver no longer answers: Xid 79 (fallen off the bus), 119
// and 120 (GSP RPC timeout, GSP error), 154 (recovery action needed), and an adapter that failed to initialise.
var driverTrouble = lazyregexp.New(`NVRM: Xid \(.*?\): (79|119|120|154),|RmInitAdapter failed`)

// xidLine is any Xid; driverLoaded is what the module says when it is loaded, after which older trouble is history:
//
//	NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (dvs-builder@U22-I3-AM02-12-3)
//
// Recovered is what it says of a GPU that needs no recovery any more, as after a reset:
//
//	NVRM: Xid (PCI:0000:48:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)
var (
	xidLine      = lazyregexp.New(`NVRM: Xid \(.*?\): \d+,?`)
	xidRecovered = lazyregexp.New(`NVRM: Xid \(PCI:([\da-fA-F:]+).*?\): 154,.* to 0x0 \(None\)`)
	driverLoaded = lazyregexp.New(`NVRM: loading NVIDIA UNIX`)
	// moduleRejected matches what kernel/module/signing.c and the lockdown say; only some kernels name the module:
	//
	//	Loading of module with unavailable key is rejected
	//	Lockdown: modprobe: unsigned module loading is restricted; see man kernel_lockdown.7
	moduleRejected = lazyregexp.New(`^(Loading of .* is rejected|Lockdown: \S+: unsigned module loading is restricted|.*nvidia.*: (Required key not available|Key was rejected))`)
)

// maxKernelLines bounds how many such lines are kept: the first of each GPU and kind of Xid. A broken GPU can log
// thousands, and they must not hide the others.
const maxKernelLines = 64

// ReadLog reads the kernel messages about the driver since boot, or those of the last boot for a tree at rest. It reads
// the kernel's own buffer, otherwise the journal, otherwise a logger's text file. If this user may read none, it finds
// nothing.
func ReadLog(h *host.Host) (source.Update, error) {
	var log kernelLines
	from, err := "", error(host.ErrAbsent)
	if !h.Rest {
		from, err = readKmsg(h, &log)
	}
	if from == "" && (h.Rest || h.ContainerKind() == "") {
		from = readJournals(h, &log)
		for _, name := range []string{"/var/log/kern.log", "/var/log/messages", "/var/log/syslog"} {
			if from != "" {
				break
			}
			var written kernelLines
			if readTextLog(h, name, &written) == nil {
				from, log = name, written
			}
		}
	}
	if from == "" {
		return nil, err
	}
	apply := func(f *facts.Facts) {
		f.Machine.Signatures.Rejected, f.Machine.ModuleLoaded = log.rejected, log.loaded
		f.Driver.Kernel, f.Machine.Xids, f.Driver.KernelFrom = log.trouble, log.xids, from
	}
	if len(log.trouble)+len(log.xids) == 0 && log.rejected == "" {
		return apply, host.ErrAbsent
	}
	return apply, nil
}

// readKmsg reads /dev/kmsg, which returns one message per read, with a prefix:
//
//	4,1084,52712345,-;NVRM: Xid (PCI:0000:00:1e): 79, pid=1234, name=python, GPU has fallen off the bus.
func readKmsg(h *host.Host, log *kernelLines) (string, error) {
	const name = "/dev/kmsg"
	fd, err := syscall.Open(h.Real(name), syscall.O_RDONLY|host.NonBlock|syscall.O_CLOEXEC, 0)
	if errors.Is(err, fs.ErrPermission) {
		return "", source.Skipped("/dev/kmsg can only be read by root")
	}
	if err != nil {
		return "", &fs.PathError{Op: "open", Path: name, Err: err}
	}
	defer syscall.Close(fd)
	record := make([]byte, 8192) // a record never exceeds this: CONSOLE_EXT_LOG_MAX
	for {
		n, err := syscall.Read(fd, record)
		if errors.Is(err, syscall.EPIPE) { // overwritten while we read: go on with the next
			continue
		}
		if err != nil || n <= 0 {
			return name, nil
		}
		for line := range strings.Lines(string(record[:n])) {
			text := kernelText(line)
			log.add(text)
			if strings.Contains(text, "NVRM: loading") {
				log.loaded = recordTime(line)
			}
		}
	}
}

// logTail is how much is read from the end of a logger's file: enough for weeks.
const logTail = 16 << 20

// readTextLog reads the last boot's kernel messages from a logger's text file. A file that was last written before this
// boot belongs to an earlier one.
//
//	Nov 21 10:00:01 ip-10-0-0-1 kernel: [    0.000000] Linux version 6.8.0-1021-aws (buildd@lcy02) #23-Ubuntu SMP
//	2026-11-21T10:00:09.123456+00:00 ip-10-0-0-1 kernel: NVRM: Xid (PCI:0000:00:1e): 79, pid=1234, name=python, GPU …
func readTextLog(h *host.Host, name string, log *kernelLines) error {
	f, err := h.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !h.Rest && info.ModTime().Before(bootTime(h)) {
		return host.ErrAbsent
	}
	start := max(info.Size()-logTail, 0)
	lines := bufio.NewScanner(io.NewSectionReader(f, start, logTail))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		log.addLogged(lines.Text())
	}
	return lines.Err()
}

// bootTime returns when this machine was started, by its clock and /proc/uptime: "350735.47 234388.90".
func bootTime(h *host.Host) time.Time {
	line, _ := h.ReadLine("/proc/uptime")
	first, _, _ := strings.Cut(line, " ")
	seconds, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Now().Add(-time.Duration(seconds * float64(time.Second)))
}

// readJournals reads the last boot's kernel messages from systemd's journal, on disk or in memory, and returns the name
// of the file that had them.
func readJournals(h *host.Host, log *kernelLines) string {
	boot, _ := h.ReadLine("/proc/sys/kernel/random/boot_id") // "6f0e2f3c-8f5e-4b0e-9b39-0d6a0c2f7a11"
	for _, name := range append(h.Glob("/var/log/journal/*/system.journal"), h.Glob("/run/log/journal/*/system.journal")...) {
		messages, of, err := readJournal(h, name)
		if err != nil || !h.Rest && of != strings.ReplaceAll(boot, "-", "") {
			continue
		}
		for _, text := range messages {
			log.add(text)
		}
		return path.Clean(name)
	}
	return ""
}

// kernelLines keeps the first message of each kind that matters.
type kernelLines struct {
	trouble, xids []string
	rejected      string
	loaded        float64 // seconds after boot at which the driver was loaded last
}

// addLogged adds a line of a logger, which begins with the time and the host name. The first message of a boot drops
// everything before it.
func (k *kernelLines) addLogged(line string) {
	_, text, ok := strings.Cut(line, " kernel: ")
	if !ok {
		return
	}
	if strings.Contains(text, "Linux version ") {
		*k = kernelLines{}
	} else if at := strings.Index(text, "NVRM: "); at >= 0 {
		k.add(text[at:])
	} else {
		k.addRejected(loggedTime.ReplaceAllString(text, ""))
	}
}

// loggedTime matches the kernel's own time in a logger's line, "[   12.345678] ".
var loggedTime = lazyregexp.New(`^\[ *\d+\.\d+\] `)

// addRejected adds a message that says that the kernel refused a module, if it is the first.
func (k *kernelLines) addRejected(text string) {
	if k.rejected == "" && (strings.Contains(text, "reject") || strings.Contains(text, "restricted") || strings.Contains(text, "equired key")) && moduleRejected.MatchString(text) {
		k.rejected = text
	}
}

// add adds a message if it matters.
func (k *kernelLines) add(text string) {
	if !strings.Contains(text, "NVRM") { // of thousands, nearly all
		k.addRejected(text)
		return
	}
	if over := xidRecovered.FindStringSubmatch(text); over != nil {
		k.forget(over[1])
		return
	}
	switch {
	case driverLoaded.MatchString(text):
		*k = kernelLines{}
	case xidLine.MatchString(text):
		k.xids = addKind(k.xids, text)
	}
	if driverTrouble.MatchString(text) {
		k.trouble = addKind(k.trouble, text)
	}
}

// addKind adds a line unless it has one with the same GPU and Xid, or too many. Xid 154 names the recovery action, so
// its last line replaces the earlier ones.
func addKind(lines []string, text string) []string {
	kind := xidLine.FindString(text)
	same := func(line string) bool { return line == text || kind != "" && strings.HasPrefix(line, kind) }
	if strings.HasSuffix(kind, ": 154,") {
		lines = slices.DeleteFunc(lines, same)
	}
	if len(lines) >= maxKernelLines || slices.ContainsFunc(lines, same) {
		return lines
	}
	return append(lines, text)
}

// forget drops the messages about a GPU from before it was reset.
func (k *kernelLines) forget(gpu string) {
	of := func(line string) bool { return strings.Contains(line, gpu) }
	k.trouble, k.xids = slices.DeleteFunc(k.trouble, of), slices.DeleteFunc(k.xids, of)
}

// kernelText returns a record's message without its prefix and without the key=value lines that may follow, which begin
// with a space. A file that replaces the device in a test contains several messages.
func kernelText(line string) string {
	_, text, _ := strings.Cut(line, ";")
	if strings.HasPrefix(line, " ") {
		return ""
	}
	return strings.TrimSuffix(text, "\n")
}

// recordTime returns the seconds after boot of a record: its prefix has the priority, a number, and microseconds.
func recordTime(line string) float64 {
	prefix, _, _ := strings.Cut(line, ";")
	fields := strings.Split(prefix, ",")
	if len(fields) < 3 {
		return 0
	}
	n, err := strconv.ParseFloat(fields[2], 64)
	if err != nil {
		return 0
	}
	return n / 1e6
}
