package kernel

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"

	"github.com/google/go-cmp/cmp"
)

func TestKernelLinesForgetTroubleWhenTheDriverIsLoadedAgain(t *testing.T) {
	var log kernelLines
	for _, line := range []string{
		"NVRM: Xid (PCI:0000:31:00): 95, pid=1, name=a, Uncontained",
		"NVRM: Xid (PCI:0000:31:00): 79, pid=1, name=a, GPU has fallen off the bus.",
		"NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  " +
			"(dvs-builder@U22-I3-AM02-12-3)",
		"NVRM: Xid (PCI:0000:31:00): 13, pid=2, name=b, Graphics Exception",
	} {
		log.add(line)
	}
	if len(log.xids) != 1 || !bytes.Contains([]byte(log.xids[0]), []byte("): 13,")) {
		t.Errorf("Xids are %q", log.xids)
	}
	if len(log.trouble) != 0 {
		t.Errorf("trouble is %q", log.trouble)
	}
}

// TestKernelLinesForgetTroubleOfTheGPUThatRecovered checks that a reset cancels its GPU's messages and no other GPU's.
func TestKernelLinesForgetTroubleOfTheGPUThatRecovered(t *testing.T) {
	var log kernelLines
	for _, line := range []string{
		"NVRM: Xid (PCI:0000:31:00): 119, pid=4, name=a, Timeout after 6s of waiting for RPC response",
		"NVRM: Xid (PCI:0000:98:00): 119, pid=4, name=a, Timeout after 6s of waiting for RPC response",
		"NVRM: Xid (PCI:0000:31:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)",
		"NVRM: Xid (PCI:0000:31:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)",
	} {
		log.add(line)
	}
	if len(log.trouble) != 1 || !strings.Contains(log.trouble[0], "0000:98:00") {
		t.Errorf("trouble is %q", log.trouble)
	}
	if len(log.xids) != 1 || !strings.Contains(log.xids[0], "0000:98:00") {
		t.Errorf("Xids are %q", log.xids)
	}
}

// TestKernelLinesOfOneKind checks that a program that writes thousands of lines hides none of another GPU, and that of
// Xid 154, which names an action, the last is kept.
func TestKernelLinesOfOneKind(t *testing.T) {
	var log kernelLines
	for range 1000 {
		log.add("NVRM: Xid (PCI:0000:31:00): 31, pid=1, name=a, MMU Fault")
	}
	log.add("NVRM: Xid (PCI:0000:31:00): 3, pid=1")
	log.add("NVRM: Xid (PCI:0000:98:00): 31, pid=1, name=a, MMU Fault")
	log.add("NVRM: Xid (PCI:0000:98:00): 95, pid=1, name=a, Uncontained")
	log.add("NVRM: Xid (PCI:0000:98:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)")
	last := "NVRM: Xid (PCI:0000:98:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x2 (Node Reboot Required)"
	log.add(last)
	if len(log.xids) != 5 || log.xids[4] != last || len(log.trouble) != 1 || log.trouble[0] != last {
		t.Errorf("%q, %q", log.xids, log.trouble)
	}
}

// TestDriverTrouble checks one line of each kind that proves a hanging driver, and some that do not.
func TestDriverTrouble(t *testing.T) {
	for line, want := range map[string]bool{
		"NVRM: Xid (PCI:0000:31:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the " +
			"bus.": true,
		"NVRM: Xid (PCI:0000:31:00): 119, pid=4, name=a, Timeout after 6s of waiting for RPC " +
			"response": true,
		"NVRM: Xid (PCI:0000:31:00): 120, pid=4, name=a, GSP task " +
			"exception": true,
		"NVRM: Xid (PCI:0000:31:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset " +
			"Required)": true,
		"NVRM: GPU 0000:31:00.0: RmInitAdapter failed! " +
			"(0x25:0x65:1457)": true,
		"NVRM: Xid (PCI:0000:31:00): 31, pid=4, name=python, MMU " +
			"Fault": false,
		"NVRM: Xid (PCI:0000:31:00): 7, pid=9, name=a, " +
			"79,": false,
		"NVRM: Xid (PCI:0000:31:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 " +
			"(None)": false,
	} {
		var log kernelLines
		log.add(line)
		if (len(log.trouble) == 1) != want {
			t.Errorf("%s: %q", line, log.trouble)
		}
	}
}

func TestKernelText(t *testing.T) {
	for _, tt := range []struct {
		record, text string
		trouble      bool
	}{
		{"4,1084,52712345,-;NVRM: Xid (PCI:0000:00:1e): 79, pid=1234, name=python, GPU has fallen off the bus.\n",
			"NVRM: Xid (PCI:0000:00:1e): 79, pid=1234, name=python, GPU has fallen off the bus.", true},
		{"4,1,2,-;NVRM: GPU 0000:00:1e.0: RmInitAdapter failed! (0x62:0x40:2393)",
			"NVRM: GPU 0000:00:1e.0: RmInitAdapter failed! (0x62:0x40:2393)", true},
		{"4,1,2,-;NVRM: Xid (PCI:0000:00:1e): 13, pid=1234, Graphics Exception",
			"NVRM: Xid (PCI:0000:00:1e): 13, pid=1234, Graphics Exception", false},
		{"4,1,2,-;NVRM: Xid (PCI:0000:00:1e): 790, what", "NVRM: Xid (PCI:0000:00:1e): 790, what", false},
		{"no semicolon", "", false}, {" DEVICE=+pci:0000:00:1e.0;NVRM: Xid (PCI:0000:00:1e): 79, x", "", false},
	} {
		if text := kernelText(tt.record); text != tt.text || driverTrouble.MatchString(text) != tt.trouble {
			t.Errorf("kernelText(%q) = %q", tt.record, text)
		}
	}
}

// anXid is a message of the kernel as each kind of log has it.
const anXid = "NVRM: Xid (PCI:0000:00:1e): 95, pid=1234, name=python, Uncontained ECC error"

// aLog is a logger's file of two boots.
const aLog = "Nov 20 09:00:09 ip-10-0-0-1 kernel: [   99.1] NVRM: Xid (PCI:0000:00:1e): 79, pid=1, GPU has fallen off the bus.\n" +
	"Nov 21 10:00:01 ip-10-0-0-1 kernel: [    0.000000] Linux version 6.8.0-1021-aws (buildd@lcy02) #23-Ubuntu SMP\n" +
	"Nov 21 10:00:05 ip-10-0-0-1 app: NVRM: Xid (PCI:0000:00:1e): 48, said by a program\n" +
	"2026-11-21T10:00:09.123456+00:00 ip-10-0-0-1 kernel: [   12.34] " + anXid + "\n"

// TestKernelLogs checks that a logger's messages of the last boot are read if the kernel's own cannot, without the
// machine's name, and that those of another boot or a container image are not.
func TestKernelLogs(t *testing.T) {
	const live, rest = "-- @env --\nA=1\n-- proc/uptime --\n3600.00 7000.00\n", ""
	for name, tt := range map[string]struct {
		files string
		age   time.Duration // of every log
		from  string
		xids  []string
	}{
		"kern.log":      {live + "-- var/log/kern.log --\n" + aLog, 0, "/var/log/kern.log", []string{anXid}},
		"messages":      {live + "-- var/log/messages --\n" + aLog, 0, "/var/log/messages", []string{anXid}},
		"at-rest":       {rest + "-- var/log/syslog --\n" + aLog, 48 * time.Hour, "/var/log/syslog", []string{anXid}},
		"quiet":         {live + "-- var/log/kern.log --\nNov 21 10:00:01 a kernel: [    0.0] Linux version 6.8\n-- var/log/syslog --\n" + aLog, 0, "/var/log/kern.log", nil},
		"of-last-month": {live + "-- var/log/kern.log --\n" + aLog, 48 * time.Hour, "", nil},
		"container":     {live + "-- .dockerenv --\n-- var/log/kern.log --\n" + aLog, 0, "", nil},
		"none":          {live, 0, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			h := hosttest.Tree(t, tt.files)
			for _, file := range h.Glob("/var/log/*") {
				written := time.Now().Add(-tt.age)
				hosttest.Must(t, os.Chtimes(h.Real(file), written, written))
			}
			checkLog(t, h, tt.from, tt.xids)
		})
	}
}

func checkLog(t *testing.T, h *host.Host, from string, xids []string) {
	t.Helper()
	apply, _ := ReadLog(h)
	var f facts.Facts
	if apply != nil {
		apply(&f)
	}
	if f.Driver.KernelFrom != from {
		t.Errorf("from %q, want %q", f.Driver.KernelFrom, from)
	}
	if diff := cmp.Diff(xids, f.Machine.Xids); diff != "" {
		t.Errorf("Xids (-want +got):\n%s", diff)
	}
}

// aJournal returns one of testdata/journal.
func aJournal(t testing.TB, name string) []byte {
	t.Helper()
	packed, err := os.ReadFile("testdata/" + name + ".journal.gz")
	hosttest.Must(t, err)
	z, err := gzip.NewReader(bytes.NewReader(packed))
	hosttest.Must(t, err)
	data, err := io.ReadAll(z)
	hosttest.Must(t, err)
	return data
}

// TestJournals reads both forms, of a tree at rest and of the boot that runs; one of another boot says nothing of it.
func TestJournals(t *testing.T) {
	const second = "22222222-2222-2222-2222-222222222222"
	other := "NVRM: Xid (PCI:0000:00:1f): 31, pid=1234, name=python, MMU Fault"
	for name, tt := range map[string]struct{ boot, file string }{
		"regular": {"", "/var/log/journal/1f/system.journal"}, "compact": {second, "/run/log/journal/1f/system.journal"},
		"of-another-boot": {"11111111-1111-1111-1111-111111111111", "/var/log/journal/1f/system.journal"},
	} {
		t.Run(name, func(t *testing.T) {
			files, form := "", name
			if tt.boot != "" {
				files = "-- @env --\n-- proc/sys/kernel/random/boot_id --\n" + tt.boot + "\n"
			}
			if form == "of-another-boot" {
				form = "regular"
			}
			h := hosttest.Tree(t, files)
			hosttest.Write(t, filepath.Join(h.Root, tt.file), string(aJournal(t, form)))
			if name == "of-another-boot" {
				checkLog(t, h, "", nil)
			} else {
				checkLog(t, h, tt.file, []string{anXid, other})
			}
		})
	}
}

// TestCutJournal reads truncated journals: none panics or gives entries that were not written.
func TestCutJournal(t *testing.T) {
	whole := aJournal(t, "compact")
	for _, size := range []int{0, 7, 100, 207, 208, 300, 4 << 20, len(whole) - 1} {
		messages, _, _ := parseJournal(bytes.NewReader(whole[:size]), int64(size))
		if len(messages) > 2 {
			t.Errorf("%d bytes: %q", size, messages)
		}
	}
}

func FuzzParseJournal(f *testing.F) {
	whole := aJournal(f, "regular")
	f.Add(whole[:1024])
	f.Add(whole[0x3802f0-0x100:][:2048])
	f.Fuzz(func(t *testing.T, data []byte) {
		_, boot, err := parseJournal(bytes.NewReader(data), int64(len(data)))
		if err == nil && len(boot) != 32 {
			t.Errorf("boot %q", boot)
		}
	})
}

func FuzzKernelText(f *testing.F) {
	f.Add("4,1084,52712345,-;NVRM: Xid (PCI:0000:00:1e): 79, pid=1234, GPU has fallen off the bus.")
	f.Fuzz(func(_ *testing.T, record string) { kernelText(record) })
}

// TestRecordTime reads when a record was written.
func TestRecordTime(t *testing.T) {
	for line, want := range map[string]float64{"4,1084,52712345,-;NVRM: loading NVIDIA UNIX": 52.712345, "4,1084;x": 0, "x": 0} {
		if got := recordTime(line); got != want {
			t.Errorf("%q: %v, want %v", line, got, want)
		}
	}
}
