package python

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cudacompat/probe/internal/distname"
)

func FuzzParseTorchVersion(f *testing.F) {
	f.Add([]byte("__version__ = '2.8.0+cu128'\ncuda: Optional[str] = '12.8'\nhip: Optional[str] = None\n" +
		"xpu: Optional[str] = None\n"))
	f.Add([]byte("__version__ = \"1.13.1\"\ncuda = None\nhip = None\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		b := parseTorchVersion(data)
		if (b.CUDA != "") != (b.Accelerator == "cuda") ||
			!slices.Contains([]string{"", "cuda", "cpu", "rocm", "xpu"}, b.Accelerator) {
			t.Errorf("%+v", b)
		}
		if !bytes.Contains(data, []byte(b.Version)) || !bytes.Contains(data, []byte(b.CUDA)) {
			t.Errorf("%+v is not in the data", b)
		}
		distname.LocalOrigin(b.Version)
		distname.PlainOrigin(b.Version)
	})
}

var sassName = regexp.MustCompile(`^sm_\d+[af]?$`)

func FuzzParseBuildInfo(f *testing.F) {
	f.Add([]byte("build_info = collections.OrderedDict([('cuda_compute_capabilities', ['sm_60', 'compute_90']), " +
		"('cuda_version', '12.5.1'), ('cudnn_version', '9'), ('is_cuda_build', True), ('is_rocm_build', False)])"))
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
	f.Add([]byte("Metadata-Version: 2.1\nName: torch\nVersion: 2.8.0\n" +
		"Requires-Dist: nvidia-nccl-cu12==2.27.3; platform_system == \"Linux\"\n" +
		"Requires-Dist: triton (==3.1.0) ; extra == 'x'\n\nVersion: 9\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		version, requires := parseMetadata(data)
		if !bytes.Contains(data, []byte(version)) || strings.ContainsAny(version, " \t\n") {
			t.Errorf("version %q", version)
		}
		for name, pin := range requires {
			if name != distname.Normal(name) || name == "" || pin == "" || !bytes.Contains(data, []byte(pin)) {
				t.Errorf("%q==%q", name, pin)
			}
		}
	})
}

var glibcName = regexp.MustCompile(`^\d+\.\d+$`)

var abiName = regexp.MustCompile(`^\d\.\d+t?$`)

func FuzzParseWheel(f *testing.F) {
	f.Add([]byte("Wheel-Version: 1.0\nTag: cp311-cp311-manylinux_2_17_x86_64\nTag: cp311-cp311-manylinux2014_x86_64\n"))
	f.Add([]byte("Tag: cp313-cp313t-manylinux_2_28_aarch64\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		python, glibc := parseWheel(data)
		if python != "" && !abiName.MatchString(python) || glibc != "" && !glibcName.MatchString(glibc) {
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
		if origin := distname.CondaOrigin(file); origin != "conda" && origin != "conda-forge" {
			t.Errorf("origin %q", origin)
		}
	})
}
