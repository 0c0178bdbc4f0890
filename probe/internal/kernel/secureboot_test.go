package kernel

import (
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"
	"errors"
	"strings"
	"testing"
)

func TestParseSecureBoot(t *testing.T) {
	for data, want := range map[string]string{"\x06\x00\x00\x00\x01": "on", "\x06\x00\x00\x00\x00": "off", "": "", "\x01": "",
		"\x06\x00\x00\x00\x01\x01": ""} {
		got, err := parseSecureBoot([]byte(data))
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v, want %q", data, got, err, want)
		}
	}
}

// TestSecureBoot reads the firmware's variable, and says of one that is none what is wrong with it.
func TestSecureBoot(t *testing.T) {
	for name, tt := range map[string]struct{ data, state, err string }{
		"on": {"\x06\x00\x00\x00\x01", "on", ""}, "off": {"\x06\x00\x00\x00\x00", "off", ""},
		"cut": {"\x06\x00", "", "2 bytes instead of 5"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			hosttest.Write(t, root+secureBootFile, tt.data)
			apply, err := ReadSecureBoot(&host.Host{Root: root})
			var f facts.Facts
			if apply != nil {
				apply(&f)
			}
			if f.Machine.SecureBoot != tt.state || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%q, %v", f.Machine.SecureBoot, err)
			}
		})
	}
	if _, err := ReadSecureBoot(&host.Host{Root: t.TempDir()}); !errors.Is(err, host.ErrAbsent) {
		t.Errorf("without EFI: %v", err)
	}
}

// TestEnforcement reads whether the kernel enforces signatures by each of the places that say so.
func TestEnforcement(t *testing.T) {
	for name, tt := range map[string]struct {
		files map[string]string
		want  facts.Signatures
	}{
		"none":        {map[string]string{lockdownFile: "[none] integrity confidentiality\n", enforceFile: "N\n"}, facts.Signatures{Lockdown: "none", Enforced: "no", EnforcedFrom: enforceFile}},
		"locked-down": {map[string]string{lockdownFile: "none [integrity] confidentiality\n", enforceFile: "Y\n"}, facts.Signatures{Lockdown: "integrity", Enforced: "yes", EnforcedFrom: enforceFile}},
		"command":     {map[string]string{"/proc/cmdline": "ro module.sig_enforce quiet\n"}, facts.Signatures{Enforced: "yes", EnforcedFrom: "/proc/cmdline"}},
		"command-1":   {map[string]string{"/proc/cmdline": "ro module.sig_enforce=1\n"}, facts.Signatures{Enforced: "yes", EnforcedFrom: "/proc/cmdline"}},
		"command-0":   {map[string]string{"/proc/cmdline": "ro module.sig_enforce=0\n"}, facts.Signatures{}},
		"odd":         {map[string]string{lockdownFile: "none [sometimes\n", enforceFile: "?\n"}, facts.Signatures{}},
	} {
		root := t.TempDir()
		for file, text := range tt.files {
			hosttest.Write(t, root+file, text)
		}
		if got := Enforcement(&host.Host{Root: root}); got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
		if got := Enforcement(&host.Host{Root: root, Rest: true}); got != (facts.Signatures{}) {
			t.Errorf("%s, at rest: %+v", name, got)
		}
	}
}

// TestRejected keeps the line in which the kernel refused a module, until a driver is loaded.
func TestRejected(t *testing.T) {
	const line = "Loading of module with unavailable key is rejected"
	for text, want := range map[string]string{
		line: line,
		"Lockdown: modprobe: unsigned module loading is restricted; see man kernel_lockdown.7":        "Lockdown: modprobe: unsigned module loading is restricted; see man kernel_lockdown.7",
		"nvidia: module verification failed: signature and/or required key missing - tainting kernel": "",
		"usb 1-1: reset was rejected": "",
	} {
		var k kernelLines
		k.add(text)
		if k.rejected != want {
			t.Errorf("%q: %q", text, k.rejected)
		}
		k.add("NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.95.05")
		if k.rejected != "" {
			t.Errorf("%q is kept after the driver was loaded", text)
		}
		k.addLogged("Nov 21 10:00:01 ip-10-0-0-1 kernel: [   12.345678] " + text)
		if k.rejected != want {
			t.Errorf("%q in a logger's file: %q", text, k.rejected)
		}
	}
}

func TestParseLockdown(t *testing.T) {
	for line, want := range map[string]string{"none [integrity] confidentiality\n": "integrity", "[none] integrity confidentiality\n": "none",
		"none integrity [confidentiality]": "confidentiality", "none [integrity": "", "[all] none": "", "": ""} {
		if got := parseLockdown([]byte(line)); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
