package system

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

func FuzzParseOSRelease(f *testing.F) {
	f.Add([]byte("PRETTY_NAME=\"Ubuntu 22.04.5 LTS\"\nID=ubuntu\nID_LIKE=debian\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		pretty, id, like := ParseOSRelease(data)
		for _, s := range []string{pretty, id, like} {
			if strings.Contains(s, "\n") || !bytes.Contains(data, []byte(s)) {
				t.Errorf("%q", s)
			}
		}
	})
}

var twoNumbers = regexp.MustCompile(`^\d+\.\d+$`)

func FuzzParseLibcBanner(f *testing.F) {
	f.Add([]byte("GNU C Library (Debian GLIBC 2.36-9+deb12u13) stable release version 2.36.\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if got := parseLibcBanner(bytes.NewReader(data)); got != "" &&
			(!twoNumbers.MatchString(got) || !bytes.Contains(data, []byte(got))) {
			t.Errorf("%q", got)
		}
		elfArch(bytes.NewReader(data))
	})
}

func TestParseOSRelease(t *testing.T) {
	for _, tt := range []struct{ name, data, pretty, id, like string }{
		{"ubuntu", "PRETTY_NAME=\"Ubuntu 22.04.5 LTS\"\nNAME=\"Ubuntu\"\nVERSION_ID=\"22.04\"\nID=ubuntu\n" +
			"ID_LIKE=debian\nUBUNTU_CODENAME=jammy\n", "Ubuntu 22.04.5 LTS", "ubuntu", "debian"},
		{"quoted-id", "NAME=\"Rocky Linux\"\nID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n" +
			"PRETTY_NAME='Rocky Linux 9.5 (Blue Onyx)'\n", "Rocky Linux 9.5 (Blue Onyx)", "rocky",
			"rhel centos fedora"},
		{"no-newline-at-the-end", "ID=alpine", "", "alpine", ""},
		{"carriage-returns", "ID=debian\r\nPRETTY_NAME=\"Debian\"\r\n", "Debian", "debian", ""},
		{"not-assignments", "hello\n=\nID\n", "", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if pretty, id, like := ParseOSRelease([]byte(tt.data)); pretty != tt.pretty || id != tt.id ||
				like != tt.like {
				t.Errorf("got %q, %q, %q", pretty, id, like)
			}
		})
	}
}

func TestParseLibcBanner(t *testing.T) {
	for want, data := range map[string]string{
		"2.36": "\x7fELF\x00\x00GNU C Library (Debian GLIBC 2.36-9+deb12u13) stable release version 2.36.\n" +
			"Copyright (C) 2022",
		"2.34": "GNU C Library (GNU libc) stable release version 2.34.\n",
		"2.26": "GNU C Library (GNU libc) stable release version 2.26, by Roland McGrath et al.\n",
		"2.12": "GNU C Library stable release version 2.12, by Roland McGrath et al.\n",
		"2.35": "see the GNU C Library manual\x00GNU C Library (Ubuntu GLIBC 2.35-0ubuntu3.8) stable release version " +
			"2.35.\n",
		"2.39": "GNU C Library (GNU libc) development release version 2.39.9000.\n",
		"":     "GNU C Library (GNU libc) release the hounds\n",
	} {
		if got := parseLibcBanner(strings.NewReader(data)); got != want {
			t.Errorf("parseLibcBanner(%q) = %q, want %q", data, got, want)
		}
	}
}
