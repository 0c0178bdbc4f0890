package probe

import (
	"bytes"
	"strings"
	"testing"

	"cudacompat/probe/host/hosttest"

	"github.com/google/go-cmp/cmp"
)

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
			if pretty, id, like := parseOSRelease([]byte(tt.data)); pretty != tt.pretty || id != tt.id ||
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

func TestToolkitVersions(t *testing.T) {
	for _, tt := range []struct {
		name, data string
		parse      func([]byte) string
		want       string
	}{
		{"json", `{"cuda" : {"name" : "CUDA SDK", "version" : "12.4.1"}, "nvidia_driver" : {"version" : "550.54.15"}}`,
			parseVersionJSON, "12.4.1"},
		{"json-date", `{"cuda":{"version":"11.8.20220929"},"cuda_nvcc":{"version":"11.8.89"}}`, parseVersionJSON,
			"11.8"},
		{"json-two-parts", `{"cuda":{"version":"13.0"}}`, parseVersionJSON, "13.0"},
		{"json-without-cuda", `{"cuda_nvcc":{"version":"11.8.89"}}`, parseVersionJSON, ""},
		{"json-other-shape", `{"cuda":"12.4.1"}`, parseVersionJSON, ""},
		{"json-cut", `{"cuda":{"version":"12.4.1"`, parseVersionJSON, ""},
		{"json-huge", `{"cuda":{"version":"12.4.99999999999999999999"}}`, parseVersionJSON, "12.4"},
		{"txt", "CUDA Version 10.2.89\n", parseVersionTxt, "10.2.89"},
		{"txt-patch", "CUDA Version 10.1.105\nCUDA Patch Version 10.1.1\n", parseVersionTxt, "10.1.105"},
		{"txt-other", "CUDA 10.2.89\n", parseVersionTxt, ""},
		{"header", "/* The API version */\n#define CUDA_VERSION 12040\n", parseCUDAHeader, "12.4"},
		{"header-13", "#define CUDA_VERSION 13010\r\n", parseCUDAHeader, "13.1"},
		{"header-spaces", "#define  CUDA_VERSION\t11080  /* 11.8 */\n", parseCUDAHeader, "11.8"},
		{"header-old", "#define CUDA_VERSION 9020\n", parseCUDAHeader, "9.2"},
		{"header-no-version", "#define CUDA_VERSION 4\n", parseCUDAHeader, ""},
		{"header-overflow", "#define CUDA_VERSION 99999999999999999999999\n", parseCUDAHeader, ""},
		{"header-other", "#if CUDA_VERSION > 12040\n", parseCUDAHeader, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.parse([]byte(tt.data)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestParseDefines(t *testing.T) {
	nccl := "#define NCCL_MAJOR 2\n#define NCCL_MINOR 21\n#define NCCL_PATCH 5\n#define NCCL_SUFFIX \"\"\n"
	cudnn := "#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 1\n#define CUDNN_PATCHLEVEL 0\n" +
		"#define CUDNN_VERSION (CUDNN_MAJOR * 10000)\n"
	if got := parseDefines([]byte(nccl), ncclDefines); got != "2.21.5" {
		t.Errorf("nccl.h is %q", got)
	}
	if got := parseDefines([]byte(cudnn), cudnnDefines); got != "9.1.0" {
		t.Errorf("cudnn_version.h is %q", got)
	}
	if got := parseDefines([]byte(nccl[:40]), ncclDefines); got != "" {
		t.Errorf("a header that was cut off is %q", got)
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

func TestWithoutCredentials(t *testing.T) {
	for text, want := range map[string]string{
		"https://user:secret@index.example/simple": "https://index.example/simple",
		"https://user:p@ss@index.example/simple":   "https://index.example/simple",
		"http://a:b@x/ http://c@y/z":               "http://x/ http://y/z",
		"https://index.example/torch@v2":           "https://index.example/torch@v2",
		"GPU-1234@host":                            "GPU-1234@host",
	} {
		if got := withoutCredentials(text); got != want {
			t.Errorf("withoutCredentials(%q) = %q, want %q", text, got, want)
		}
	}
}

// TestVariableNames lets only those names through that the contract lists, and none that holds a secret by habit.
func TestVariableNames(t *testing.T) {
	h := &Host{Env: map[string]string{"CUDA_VISIBLE_DEVICES": "", "NVIDIA_DRIVER_CAPABILITIES": "all",
		"NCCL_DEBUG": "INFO", "LD_PRELOAD": "x.so", "LOCAL_WORLD_SIZE": "8",
		"NVIDIA_API_KEY": "x", "NVIDIA_APIKEY": "x", "NCCL_TOKEN": "x", "CUDA_PASSWORD": "x",
		"AWS_SECRET_ACCESS_KEY": "x", "PATH": "x", "USER": "x", "MY_CUDA_HOME": "x", "HOSTNAME": "x"}}
	apply, err := readVariables(h, Options{})
	hosttest.Must(t, err)
	var f Facts
	apply(&f)
	want := map[string]string{"CUDA_VISIBLE_DEVICES": "", "NVIDIA_DRIVER_CAPABILITIES": "all", "NCCL_DEBUG": "INFO",
		"LD_PRELOAD": "x.so", "LOCAL_WORLD_SIZE": "8"}
	if diff := cmp.Diff(want, f.Variables); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestSearchStream finds the version wherever it stands, across the borders of what is read at once, too.
func TestSearchStream(t *testing.T) {
	const chunk = 1 << 20
	field := "\x00version=550.107.02\x00"
	for _, at := range []int{0, 1, chunk - len(field), chunk - 5, chunk, chunk + 250, chunk + 256, 2*chunk + 250,
		3 * chunk} {
		data := append(bytes.Repeat([]byte{'x'}, at), field...)
		data = append(data, bytes.Repeat([]byte{'y'}, 100)...)
		got, err := searchStream(bytes.NewReader(data), "version=", moduleVersionField, int64(len(data)))
		if got != "550.107.02" || err != nil {
			t.Errorf("at %d: %q, %v", at, got, err)
		}
		if got, _ := searchStream(bytes.NewReader(data), "version=", moduleVersionField, int64(at+5)); got != "" {
			t.Errorf("at %d, behind the limit: %q", at, got)
		}
	}
	for _, other := range []string{"\x00srcversion=550.107\x00", "\x00rhelversion=9.4\x00", "version=9.4\x00",
		"version=550.107.02", "version=\x00"} {
		if got, _ := searchStream(strings.NewReader(other), "version=", moduleVersionField, 1000); got != "" {
			t.Errorf("%q gives %q", other, got)
		}
	}
}
