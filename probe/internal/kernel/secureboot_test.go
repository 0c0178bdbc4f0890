package kernel

import (
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"
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
	if _, err := ReadSecureBoot(&host.Host{Root: t.TempDir()}); !host.Absent(err) {
		t.Errorf("without EFI: %v", err)
	}
}
