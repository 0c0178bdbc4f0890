package probe

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"cudacompat/probe/host/hosttest"
	"cudacompat/probe/internal/libversion"
)

// Every parser of files that we do not control gets arbitrary bytes here: none may panic, and what it returns has the
// form that its caller counts on and stands in the data.

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

func FuzzParseOSRelease(f *testing.F) {
	f.Add([]byte("PRETTY_NAME=\"Ubuntu 22.04.5 LTS\"\nID=ubuntu\nID_LIKE=debian\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		pretty, id, like := parseOSRelease(data)
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

var cudaVersion = regexp.MustCompile(`^\d+\.\d+(\.\d+)?$`)

func FuzzToolkitVersions(f *testing.F) {
	f.Add([]byte(`{"cuda":{"name":"CUDA SDK","version":"11.8.20220929"}}`))
	f.Add([]byte("CUDA Version 10.2.89\n"))
	f.Add([]byte("#define CUDA_VERSION 12040\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, got := range []string{parseVersionJSON(data), parseVersionTxt(data), parseCUDAHeader(data)} {
			if got != "" && !cudaVersion.MatchString(got) {
				t.Errorf("%q", got)
			}
		}
	})
}

func FuzzParseDefines(f *testing.F) {
	f.Add([]byte("#define NCCL_MAJOR 2\n#define NCCL_MINOR 21\n#define NCCL_PATCH 5\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		parseDefines(data, ncclDefines)
		kernelText(string(data))
	})
}

// FuzzModuleVersion gives arbitrary bytes as a kernel module in each packing.
func FuzzModuleVersion(f *testing.F) {
	for i, end := range []string{"", ".gz", ".xz", ".zst"} {
		f.Add(hosttest.Compressed(f, "nvidia.ko"+end, []byte("license=NVIDIA\x00version=550.107.02\x00")), i)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte, packing int) {
		h := &Host{Root: dir}
		name := "/nvidia.ko" + []string{"", ".gz", ".xz", ".zst"}[uint(packing)%4]
		hosttest.Must(t, os.WriteFile(filepath.Join(dir, name), data, 0o644))
		version, _, err := moduleInfo(h, name)
		if (version == "") == (err == nil) || version != "" && !libversion.Driver.MatchString(version) {
			t.Errorf("%q, %v", version, err)
		}
	})
}

func FuzzParseCDI(f *testing.F) {
	f.Add("kind: nvidia.com/gpu\n  - hostPath: /usr/lib64/libcuda.so.535.183.01\n")
	f.Add(`{"kind":"nvidia.com/gpu","hostPath":"/usr/lib64/libcuda.so.535.183.01"}`)
	f.Fuzz(func(t *testing.T, text string) {
		if spec := parseCDI("/etc/cdi/nvidia.yaml", text); spec != nil && !strings.Contains(text, "nvidia.com/gpu") {
			t.Errorf("another kind was taken for NVIDIA's: %+v", spec)
		}
	})
}

func FuzzParseMemlock(f *testing.F) {
	f.Add("Max locked memory         8388608              8388608              bytes\n")
	f.Add("Max locked memory         unlimited")
	f.Fuzz(func(t *testing.T, text string) {
		if n := parseMemlock(text); n < -1 {
			t.Errorf("%d bytes", n)
		}
	})
}
