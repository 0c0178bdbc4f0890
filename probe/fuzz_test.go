package probe

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cudacompat/probe/host/hosttest"

	"github.com/google/go-cmp/cmp"
)

// Every parser of files that we do not control gets arbitrary bytes here: none may panic, and what it returns has the
// form that its caller counts on and stands in the data.

func FuzzParseProcDriver(f *testing.F) {
	f.Add([]byte("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024\n"))
	f.Add([]byte("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.144.03  Release Build  (dvs-builder@U16-I3-D08-1-2)\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		version, module, err := parseProcDriver(data)
		if err == nil && (!driverVersion.MatchString(version) || module != "open" && module != "proprietary" || !bytes.Contains(data, []byte(version))) {
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
		if got := parseLibcBanner(bytes.NewReader(data)); got != "" && (!twoNumbers.MatchString(got) || !bytes.Contains(data, []byte(got))) {
			t.Errorf("%q", got)
		}
		elfArch(bytes.NewReader(data))
	})
}

func FuzzParseTorchVersion(f *testing.F) {
	f.Add([]byte("__version__ = '2.8.0+cu128'\ncuda: Optional[str] = '12.8'\nhip: Optional[str] = None\nxpu: Optional[str] = None\n"))
	f.Add([]byte("__version__ = \"1.13.1\"\ncuda = None\nhip = None\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		b := parseTorchVersion(data)
		if (b.CUDA != "") != (b.Accelerator == "cuda") || !slices.Contains([]string{"", "cuda", "cpu", "rocm", "xpu"}, b.Accelerator) {
			t.Errorf("%+v", b)
		}
		if !bytes.Contains(data, []byte(b.Version)) || !bytes.Contains(data, []byte(b.CUDA)) {
			t.Errorf("%+v is not in the data", b)
		}
		localOrigin(b.Version)
		plainOrigin(b.Version)
	})
}

var sassName = regexp.MustCompile(`^sm_\d+[af]?$`)

func FuzzParseBuildInfo(f *testing.F) {
	f.Add([]byte("build_info = collections.OrderedDict([('cuda_compute_capabilities', ['sm_60', 'compute_90']), ('cuda_version', '12.5.1'), ('cudnn_version', '9'), ('is_cuda_build', True), ('is_rocm_build', False)])"))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := parseBuildInfo(data)
		if (b == nil) == (err == nil) {
			t.Fatalf("%+v, %v", b, err)
		}
		if b != nil && slices.ContainsFunc(b.SASS, func(s string) bool { return !sassName.MatchString(s) }) {
			t.Errorf("SASS %q", b.SASS)
		}
	})
}

func FuzzParseMetadata(f *testing.F) {
	f.Add([]byte("Metadata-Version: 2.1\nName: torch\nVersion: 2.8.0\nRequires-Dist: nvidia-nccl-cu12==2.27.3; platform_system == \"Linux\"\nRequires-Dist: triton (==3.1.0) ; extra == 'x'\n\nVersion: 9\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		version, requires := parseMetadata(data)
		if !bytes.Contains(data, []byte(version)) || strings.ContainsAny(version, " \t\n") {
			t.Errorf("version %q", version)
		}
		for name, pin := range requires {
			if name != normalName(name) || name == "" || pin == "" || !bytes.Contains(data, []byte(pin)) {
				t.Errorf("%q==%q", name, pin)
			}
		}
	})
}

var abiName = regexp.MustCompile(`^\d\.\d+t?$`)

func FuzzParseWheel(f *testing.F) {
	f.Add([]byte("Wheel-Version: 1.0\nTag: cp311-cp311-manylinux_2_17_x86_64\nTag: cp311-cp311-manylinux2014_x86_64\n"))
	f.Add([]byte("Tag: cp313-cp313t-manylinux_2_28_aarch64\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		python, glibc := parseWheel(data)
		if python != "" && !abiName.MatchString(python) || glibc != "" && !twoNumbers.MatchString(glibc) {
			t.Errorf("%q, %q", python, glibc)
		}
	})
}

func FuzzParseCondaName(f *testing.F) {
	f.Add("pytorch-2.5.1-py3.10_cuda12.4_cudnn9.1.0_0.json")
	f.Add("pytorch-cuda-12.4-hc786d27_7.json")
	f.Fuzz(func(t *testing.T, file string) {
		if r, ok := parseCondaName(file); ok && (r.name == "" || r.name+"-"+r.version+"-"+r.build+".json" != file) {
			t.Errorf("%+v", r)
		}
		if origin := condaOrigin(file); origin != "conda" && origin != "conda-forge" {
			t.Errorf("origin %q", origin)
		}
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

// FuzzNCCLBanner gives arbitrary bytes as a library, and as the constants of a sound one.
func FuzzNCCLBanner(f *testing.F) {
	f.Add([]byte("NCCL version 2.21.5+cuda12.4\x00"))
	f.Add([]byte("\x7fELF\x02\x01\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, file := range [][]byte{data, hosttest.ELF(t, "x86_64", ".rodata", data)} {
			version, cuda, err := ncclBanner(bytes.NewReader(file))
			if (version == "") != (cuda == "") || err != nil && version != "" || version != "" && !cudaVersion.MatchString(version) {
				t.Errorf("%q, %q, %v", version, cuda, err)
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
		if (version == "") == (err == nil) || version != "" && !driverVersion.MatchString(version) {
			t.Errorf("%q, %v", version, err)
		}
	})
}

// FuzzGiven reads arbitrary bytes as what `check` is given.
func FuzzGiven(f *testing.F) {
	for name := range reports {
		f.Add([]byte(readReport(f, name)))
	}
	f.Add([]byte(`{"schema":"cudacompat/facts/v1","gpus":null,"environments":[{"builds":[{}]}]}`))
	f.Add([]byte(`{"schema":"cudacompat/report/v1","facts":{"driver":{"version":"535.183.01"}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		facts, err := Given(data)
		if err != nil {
			return
		}
		again, err := json.Marshal(facts)
		hosttest.Must(t, err)
		var back Facts
		hosttest.Must(t, json.Unmarshal(again, &back))
		back.Complete()
		valid := func(s string) bool { return strings.ToValidUTF8(s, "\uFFFD") == s }
		if diff := cmp.Diff(facts, back); diff != "" && valid(string(data)) {
			t.Errorf("after a JSON round trip:\n%s", diff)
		}
		if bytes.Contains(again, []byte(":null")) && !bytes.Contains(again, []byte(`"cuda_available":null`)) {
			t.Errorf("null in %s", again)
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
