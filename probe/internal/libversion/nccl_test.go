package libversion

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"cudacompat/probe/host/hosttest"
)

var threeNumbers = regexp.MustCompile(`^\d+\.\d+\.\d+$`)

// FuzzNCCLBanner reads arbitrary bytes as a library, and as the constants of a valid one.
func FuzzNCCLBanner(f *testing.F) {
	f.Add([]byte("NCCL version 2.21.5+cuda12.4\x00"))
	f.Add([]byte("\x7fELF\x02\x01\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, file := range [][]byte{data, hosttest.ELF(t, "x86_64", ".rodata", data)} {
			version, cuda, err := ncclBanner(bytes.NewReader(file))
			if (version == "") != (cuda == "") || err != nil && version != "" ||
				version != "" && !threeNumbers.MatchString(version) {
				t.Errorf("%q, %q, %v", version, cuda, err)
			}
		}
	})
}

func TestNCCLBanner(t *testing.T) {
	for _, tt := range []struct{ name, section, lines, version, cuda string }{
		{"plain", ".rodata", "NCCL version 2.21.5+cuda12.4\n", "2.21.5", "12.4"},
		{"suffix", ".rodata", "NCCL version 2.19.3-rc1+cuda12.2\n", "2.19.3", "12.2"},
		{"others-before-it", ".rodata",
			"NCCL version \nMismatched NCCL version detected : rank %d\nNCCL version %d.%d\n" +
				"NCCL version 2.27.5+cuda12.9\n", "2.27.5", "12.9"},
		{"none", ".rodata", "ncclGetVersion\n", "", ""},
		{"elsewhere", ".text", "NCCL version 2.21.5+cuda12.4\n", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			version, cuda, err := ncclBanner(bytes.NewReader(hosttest.ELF(t, "x86_64", tt.section, []byte(tt.lines))))
			if version != tt.version || cuda != tt.cuda || err != nil {
				t.Errorf("got %q, %q, %v", version, cuda, err)
			}
		})
	}
	if version, _, err := ncclBanner(strings.NewReader("NCCL version 2.21.5+cuda12.4")); err == nil {
		t.Errorf("a text counts as a library: %q", version)
	}
}
