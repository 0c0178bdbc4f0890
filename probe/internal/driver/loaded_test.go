package driver

import (
	"bytes"
	"testing"

	"cudacompat/probe/internal/libversion"
)

func FuzzParseProcDriver(f *testing.F) {
	f.Add([]byte("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024\n"))
	f.Add([]byte("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.144.03  Release Build  " +
		"(dvs-builder@U16-I3-D08-1-2)\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		version, module, err := parseProcDriver(data)
		if err == nil && (!libversion.Driver.MatchString(version) || module != "open" && module != "proprietary" ||
			!bytes.Contains(data, []byte(version))) {
			t.Errorf("%q, %q", version, module)
		}
	})
}

func TestParseProcDriver(t *testing.T) {
	for _, tt := range []struct{ name, data, version, module string }{
		{"proprietary", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024\n" +
			"GCC version:  gcc version 11.4.0 (Ubuntu 11.4.0-1ubuntu1~22.04)\n", "535.183.01", "proprietary"},
		{"two-parts", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  375.74  Wed Jun 14 01:39:39 PDT 2017\n",
			"375.74", "proprietary"},
		{"open", "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.144.03  Release Build  " +
			"(dvs-builder@U16-I3-D08-1-2)  Mon Dec 30 17:26:13 UTC 2024\n", "550.144.03", "open"},
		{"jetson", "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  540.4.0  Release Build  " +
			"(buildbrain@mobile-u64-6336-d8000)  Tue Jan  7 17:43:12 PST 2025\n", "540.4.0", "open"},
		{"gcc-line-is-no-version", "GCC version:  gcc version 535.183.01\n", "", ""},
		{"no-number", "NVRM version: NVIDIA UNIX x86_64 Kernel Module\nGCC version: 535.183.01 \n", "", ""},
		{"cut-in-the-number", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.1", "", ""},
		{"empty", "", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			version, module, err := parseProcDriver([]byte(tt.data))
			if version != tt.version || module != tt.module || (err == nil) != (tt.version != "") {
				t.Errorf("got %q, %q, %v; want %q, %q", version, module, err, tt.version, tt.module)
			}
		})
	}
}
