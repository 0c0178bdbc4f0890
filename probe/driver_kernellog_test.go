package probe

import (
	"bytes"
	"strings"
	"testing"
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

// TestKernelLinesForgetTroubleOfTheGPUThatRecovered: a reset ends what it was for, and nothing of another GPU.
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
}

// TestDriverTrouble has one line of each kind that proves a driver which no longer answers, and some that do not.
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
		{"4,1084,52712345,-;NVRM: Xid (PCI:0000:00:1e): 79, pid=1234, name=python, GPU has fallen off the bus.\n" +
			" SUBSYSTEM=pci\n",
			"NVRM: Xid (PCI:0000:00:1e): 79, pid=1234, name=python, GPU has fallen off the bus.", true},
		{"4,1,2,-;NVRM: GPU 0000:00:1e.0: RmInitAdapter failed! (0x62:0x40:2393)",
			"NVRM: GPU 0000:00:1e.0: RmInitAdapter failed! (0x62:0x40:2393)", true},
		{"4,1,2,-;NVRM: Xid (PCI:0000:00:1e): 13, pid=1234, Graphics Exception",
			"NVRM: Xid (PCI:0000:00:1e): 13, pid=1234, Graphics Exception", false},
		{"4,1,2,-;NVRM: Xid (PCI:0000:00:1e): 790, what", "NVRM: Xid (PCI:0000:00:1e): 790, what", false},
		{"no semicolon", "", false},
	} {
		if text := kernelText(tt.record); text != tt.text || driverTrouble.MatchString(text) != tt.trouble {
			t.Errorf("kernelText(%q) = %q", tt.record, text)
		}
	}
}
