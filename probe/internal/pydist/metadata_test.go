package pydist

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"cudacompat/probe/internal/distname"

	"github.com/google/go-cmp/cmp"
)

func TestParseMetadata(t *testing.T) {
	for _, tt := range []struct {
		name, data, version string
		requires            map[string]string
	}{
		{"2.8", "Metadata-Version: 2.4\nName: torch\nVersion: 2.8.0\nRequires-Dist: filelock\n" +
			"Requires-Dist: typing-extensions>=4.10.0\n" +
			"Requires-Dist: setuptools; python_version >= \"3.12\"\n" +
			"Requires-Dist: nvidia-nccl-cu12==2.27.3; platform_system == \"Linux\" and platform_machine == " +
			"\"x86_64\"\n" +
			"Requires-Dist: triton==3.4.0; platform_system == \"Linux\" and platform_machine == \"x86_64\"\n" +
			"Requires-Dist: optree>=0.13.0; extra == \"optree\"\n",
			"2.8.0", map[string]string{"nvidia-nccl-cu12": "2.27.3", "triton": "3.4.0"}},
		{"parentheses", "Version: 1.13.1\n" +
			"Requires-Dist: nvidia-cudnn-cu11 (==8.5.0.96) ; platform_system == \"Linux\"\n" +
			"Requires-Dist: opt-einsum (>=3.3) ; extra == 'opt-einsum'\n",
			"1.13.1", map[string]string{"nvidia-cudnn-cu11": "8.5.0.96"}},
		{"extras-of-a-package", "Version: 2.11.0\n" +
			"Requires-Dist: cuda-toolkit[cublas,cudart,nvrtc]==13.0.2; platform_system == \"Linux\"\n" +
			"Requires-Dist: cuda-bindings<14,>=13.0.3\n",
			"2.11.0", map[string]string{"cuda-toolkit": "13.0.2"}},
		{"other-platforms", "Version: 2.16.2\n" +
			"Requires-Dist: tensorflow-intel==2.16.2; platform_system == \"Windows\"\n" +
			"Requires-Dist: tensorflow-macos==2.16.2; sys_platform == 'darwin'\n" +
			"Requires-Dist: pywin32==306; sys_platform=='win32'\n" +
			"Requires-Dist: uvloop==0.21.0; sys_platform != 'win32'\nRequires-Dist: x==1; extra=='and-cuda'\n",
			"2.16.2", map[string]string{"uvloop": "0.21.0"}},
		{"names-are-normalised", "Version: 1\nRequires-Dist: Nvidia_NCCL.cu12==2.27.3\n", "1",
			map[string]string{"nvidia-nccl-cu12": "2.27.3"}},
		{"description-is-no-header", "Name: x\nVersion: 1.2\n\nRequires-Dist: numpy==1\nVersion: 9\n", "1.2",
			map[string]string{}},
		{"description-alone", "Name: x\n\nVersion: 9\n", "", map[string]string{}},
		{"carriage-returns", "Name: x\r\nVersion: 1.2\r\nRequires-Dist: numpy==1.26.4\r\n\r\nVersion: 9\r\n", "1.2",
			map[string]string{"numpy": "1.26.4"}},
		{"cut", "Metadata-Version: 2.1\nName: to", "", map[string]string{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := ParseMetadata([]byte(tt.data))
			if diff := cmp.Diff(tt.requires, m.Pins()); diff != "" || m.Version != tt.version {
				t.Errorf("version %q; -want +got:\n%s", m.Version, diff)
			}
		})
	}
}

func TestParseWheel(t *testing.T) {
	for data, want := range map[string][2]string{
		"Wheel-Version: 1.0\nGenerator: setuptools (79.0.1)\nRoot-Is-Purelib: false\n" +
			"Tag: cp311-cp311-manylinux_2_28_x86_64\n\n": {"3.11", "2.28"},
		"Tag: cp311-cp311-manylinux_2_17_x86_64\nTag: cp311-cp311-manylinux2014_x86_64\n" +
			"": {"3.11", "2.17"},
		"Tag: cp310-cp310-manylinux1_x86_64\n":         {"3.10", "2.5"},
		"Tag: cp39-cp39-manylinux2010_x86_64\n":        {"3.9", "2.12"},
		"Tag: cp312-cp312-linux_x86_64\n":              {"3.12", ""},
		"Tag: cp313-cp313t-manylinux_2_28_aarch64\r\n": {"3.13t", "2.28"},
		"Tag: cp38-abi3-manylinux_2_31_x86_64\n":       {"", "2.31"},
		"Tag: py3-none-any\n":                          {"", ""},
		"Tag: py3-none-manylinux2014_x86_64\n":         {"", "2.17"},
		"Tag: cp311-cp311-manylinux_2_x86_64\n":        {"3.11", ""},
		"Tag: cp37-cp37m-manylinux_2_17_x86_64\n":      {"3.7", "2.17"},
		"": {"", ""},
	} {
		if got := parseWheel([]byte(data)); [2]string{got.Python, got.Glibc} != want {
			t.Errorf("parseWheel(%q) = %q, %q; want %q", data, got.Python, got.Glibc, want)
		}
	}
}

func FuzzParseMetadata(f *testing.F) {
	f.Add([]byte("Metadata-Version: 2.1\nName: torch\nVersion: 2.8.0\n" +
		"Requires-Dist: nvidia-nccl-cu12==2.27.3; platform_system == \"Linux\"\n" +
		"Requires-Dist: triton (==3.1.0) ; extra == 'x'\n\nVersion: 9\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m := ParseMetadata(data)
		if !bytes.Contains(data, []byte(m.Version)) || strings.ContainsAny(m.Version, " \t\n") {
			t.Errorf("version %q", m.Version)
		}
		for name, pin := range m.Pins() {
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
		got := parseWheel(data)
		if got.Python != "" && !abiName.MatchString(got.Python) || got.Glibc != "" && !glibcName.MatchString(got.Glibc) {
			t.Errorf("%q, %q", got.Python, got.Glibc)
		}
	})
}
func TestAccepts(t *testing.T) {
	for _, c := range []struct {
		specifiers, have string
		want             bool
	}{
		{"==26.10.*", "26.10.0", true},
		{"==26.10.*", "25.10.0", false},
		{"==26.10.2", "26.10.2", true},
		{"==26.10.2", "26.10.0", false},
		{"<13.0,>=12.9.2", "12.9.10", true},
		{"<13.0,>=12.9.2", "13.0.1", false},
		{"~=26.10", "26.12.0", true},
		{"~=26.10", "27.2.0", false},
		{"~=26.10.1", "26.10.0", false},
		{"~=26.10.1", "26.12.0", false},
		{"==26.12.*,>=0.0.0a0", "26.12.0a17", true},
		{"===26.10", "25.10.0", false},
		{"@26.10", "25.10.0", true},
		{"==5.3.0.16", "5.3.0.16", true},
	} {
		if got := Accepts(c.specifiers, c.have); got != c.want {
			t.Errorf("%q accepts %s: %v", c.specifiers, c.have, got)
		}
	}
}

func TestRequires(t *testing.T) {
	const metadata = "Metadata-Version: 2.4\nName: sglang\nRequires-Dist: sgl-flash-mla==1.0.0\n" +
		"Requires-Dist: sgl_deep_ep>=0.1; platform_system == \"Linux\"\n" +
		"Requires-Dist: flash-attn>=2; extra == \"flash\"\nRequires-Dist: sgl-kernel-extra\n\nRequires-Dist: vllm\n"
	parsed := ParseMetadata([]byte(metadata))
	for name, want := range map[string]bool{"sgl-flash-mla": true, "sgl-deep-ep": true, "sgl-kernel-extra": true,
		"sgl-kernel": false, "flash-attn": false, "vllm": false} {
		if got := parsed.Names(name, false); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
