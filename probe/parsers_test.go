package probe

import (
	"bytes"
	"strings"
	"testing"

	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"

	"github.com/google/go-cmp/cmp"
)

func TestParseProcDriver(t *testing.T) {
	for _, tt := range []struct{ name, data, version, module string }{
		{"proprietary", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024\nGCC version:  gcc version 11.4.0 (Ubuntu 11.4.0-1ubuntu1~22.04)\n", "535.183.01", "proprietary"},
		{"two-parts", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  375.74  Wed Jun 14 01:39:39 PDT 2017\n", "375.74", "proprietary"},
		{"open", "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.144.03  Release Build  (dvs-builder@U16-I3-D08-1-2)  Mon Dec 30 17:26:13 UTC 2024\n", "550.144.03", "open"},
		{"jetson", "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  540.4.0  Release Build  (buildbrain@mobile-u64-6336-d8000)  Tue Jan  7 17:43:12 PST 2025\n", "540.4.0", "open"},
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
		{"ubuntu", "PRETTY_NAME=\"Ubuntu 22.04.5 LTS\"\nNAME=\"Ubuntu\"\nVERSION_ID=\"22.04\"\nID=ubuntu\nID_LIKE=debian\nUBUNTU_CODENAME=jammy\n", "Ubuntu 22.04.5 LTS", "ubuntu", "debian"},
		{"quoted-id", "NAME=\"Rocky Linux\"\nID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\nPRETTY_NAME='Rocky Linux 9.5 (Blue Onyx)'\n", "Rocky Linux 9.5 (Blue Onyx)", "rocky", "rhel centos fedora"},
		{"no-newline-at-the-end", "ID=alpine", "", "alpine", ""},
		{"carriage-returns", "ID=debian\r\nPRETTY_NAME=\"Debian\"\r\n", "Debian", "debian", ""},
		{"not-assignments", "hello\n=\nID\n", "", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if pretty, id, like := parseOSRelease([]byte(tt.data)); pretty != tt.pretty || id != tt.id || like != tt.like {
				t.Errorf("got %q, %q, %q", pretty, id, like)
			}
		})
	}
}

func TestParseLibcBanner(t *testing.T) {
	for want, data := range map[string]string{
		"2.36": "\x7fELF\x00\x00GNU C Library (Debian GLIBC 2.36-9+deb12u13) stable release version 2.36.\nCopyright (C) 2022",
		"2.34": "GNU C Library (GNU libc) stable release version 2.34.\n",
		"2.26": "GNU C Library (GNU libc) stable release version 2.26, by Roland McGrath et al.\n",
		"2.12": "GNU C Library stable release version 2.12, by Roland McGrath et al.\n",
		"2.35": "see the GNU C Library manual\x00GNU C Library (Ubuntu GLIBC 2.35-0ubuntu3.8) stable release version 2.35.\n",
		"2.39": "GNU C Library (GNU libc) development release version 2.39.9000.\n",
		"":     "GNU C Library (GNU libc) release the hounds\n",
	} {
		if got := parseLibcBanner(strings.NewReader(data)); got != want {
			t.Errorf("parseLibcBanner(%q) = %q, want %q", data, got, want)
		}
	}
}

func TestParseTorchVersion(t *testing.T) {
	for _, tt := range []struct{ name, data, version, cuda, accelerator string }{
		{"2.8", "from typing import Optional\n\n__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip', 'xpu']\n__version__ = '2.8.0+cu128'\ndebug = False\n" +
			"cuda: Optional[str] = '12.8'\ngit_version = 'a1cb3cc05d46d198467bebbb6e8fba50a325d4e7'\nhip: Optional[str] = None\nxpu: Optional[str] = None\n", "2.8.0+cu128", "12.8", "cuda"},
		{"1.13", "__version__ = '1.13.1+cu117'\ndebug = False\ncuda = '11.7'\ngit_version = '49444c3e546bf240bed24a101e747422d1f8a0ee'\nhip = None\n", "1.13.1+cu117", "11.7", "cuda"},
		{"new-annotation", "__version__ = \"2.12.0+cu132\"\ncuda: str | None = \"13.2\"\nhip: str | None = None\n", "2.12.0+cu132", "13.2", "cuda"},
		{"cpu", "__version__ = '2.8.0+cpu'\ncuda: Optional[str] = None\nhip: Optional[str] = None\nxpu: Optional[str] = None\n", "2.8.0+cpu", "", "cpu"},
		{"rocm", "__version__ = '2.8.0+rocm6.4'\ncuda: Optional[str] = None\nhip: Optional[str] = '6.4.43482-0f2d60242'\n", "2.8.0+rocm6.4", "", "rocm"},
		{"xpu", "__version__ = '2.8.0+xpu'\ncuda: Optional[str] = None\nhip: Optional[str] = None\nxpu: Optional[str] = '20250101'\n", "2.8.0+xpu", "", "xpu"},
		{"ngc", "__version__ = '2.6.0a0+ecf3bae40a.nv25.1'\ncuda: Optional[str] = '12.8'\n", "2.6.0a0+ecf3bae40a.nv25.1", "12.8", "cuda"},
		{"carriage-returns", "__version__ = '2.8.0+cu128'\r\ncuda: Optional[str] = '12.8'\r\n", "2.8.0+cu128", "12.8", "cuda"},
		{"cut-in-the-version", "__version__ = '2.8", "", "", ""},
		{"cut-before-cuda", "__version__ = '2.8.0+cu128'\ncuda: Opt", "2.8.0+cu128", "", ""},
		{"someone-elses-lines", "# __version__ = '1.0'\nmy__version__ = '3.0'\nprint(cuda)\n", "", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := &Build{Name: "torch", Version: tt.version, CUDA: tt.cuda, Accelerator: tt.accelerator}
			if diff := cmp.Diff(want, parseTorchVersion([]byte(tt.data))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestParseBuildInfo(t *testing.T) {
	for _, tt := range []struct {
		name, data string
		want       *Build
	}{
		{"2.20", "import collections\n\nbuild_info = collections.OrderedDict([('cpu_compiler', 'clang 18'), ('cuda_compute_capabilities', ['sm_60', 'sm_70', 'sm_80', 'sm_89', 'compute_90']), ('cuda_version', '12.5.1'), ('cudnn_version', '9'), ('is_cuda_build', True), ('is_rocm_build', False), ('is_tensorrt_build', False)])\n",
			&Build{Name: "tensorflow", Accelerator: "cuda", CUDA: "12.5.1", CuDNN: "9", SASS: []string{"sm_60", "sm_70", "sm_80", "sm_89", "sm_90"}, PTX: []string{"compute_90"}}},
		{"dictionary", `build_info = {"cuda_version": "11.2", "cudnn_version": "8", "is_cuda_build": True, "is_rocm_build": False}`,
			&Build{Name: "tensorflow", Accelerator: "cuda", CUDA: "11.2", CuDNN: "8"}},
		{"cpu", "build_info = collections.OrderedDict([('is_cuda_build', False), ('is_rocm_build', False), ('is_tensorrt_build', False)])\n",
			&Build{Name: "tensorflow", Accelerator: "cpu"}},
		{"rocm", "build_info = collections.OrderedDict([('is_cuda_build', False), ('is_rocm_build', True)])\n", &Build{Name: "tensorflow", Accelerator: "rocm"}},
		{"cut", "build_info = collections.OrderedDict([('cuda_version', '12.5.1'), ('is_cuda_build', Tr", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parseBuildInfo([]byte(tt.data))
			if diff := cmp.Diff(tt.want, got); diff != "" || (err == nil) != (tt.want != nil) {
				t.Errorf("%v; -want +got:\n%s", err, diff)
			}
		})
	}
}

func TestParseMetadata(t *testing.T) {
	for _, tt := range []struct {
		name, data, version string
		requires            map[string]string
	}{
		{"2.8", "Metadata-Version: 2.4\nName: torch\nVersion: 2.8.0\nRequires-Dist: filelock\nRequires-Dist: typing-extensions>=4.10.0\n" +
			"Requires-Dist: setuptools; python_version >= \"3.12\"\nRequires-Dist: nvidia-nccl-cu12==2.27.3; platform_system == \"Linux\" and platform_machine == \"x86_64\"\n" +
			"Requires-Dist: triton==3.4.0; platform_system == \"Linux\" and platform_machine == \"x86_64\"\nRequires-Dist: optree>=0.13.0; extra == \"optree\"\n",
			"2.8.0", map[string]string{"nvidia-nccl-cu12": "2.27.3", "triton": "3.4.0"}},
		{"parentheses", "Version: 1.13.1\nRequires-Dist: nvidia-cudnn-cu11 (==8.5.0.96) ; platform_system == \"Linux\"\nRequires-Dist: opt-einsum (>=3.3) ; extra == 'opt-einsum'\n",
			"1.13.1", map[string]string{"nvidia-cudnn-cu11": "8.5.0.96"}},
		{"extras-of-a-package", "Version: 2.11.0\nRequires-Dist: cuda-toolkit[cublas,cudart,nvrtc]==13.0.2; platform_system == \"Linux\"\nRequires-Dist: cuda-bindings<14,>=13.0.3\n",
			"2.11.0", map[string]string{"cuda-toolkit": "13.0.2"}},
		{"other-platforms", "Version: 2.16.2\nRequires-Dist: tensorflow-intel==2.16.2; platform_system == \"Windows\"\nRequires-Dist: tensorflow-macos==2.16.2; sys_platform == 'darwin'\n" +
			"Requires-Dist: pywin32==306; sys_platform=='win32'\nRequires-Dist: uvloop==0.21.0; sys_platform != 'win32'\nRequires-Dist: x==1; extra=='and-cuda'\n",
			"2.16.2", map[string]string{"uvloop": "0.21.0"}},
		{"names-are-normalised", "Version: 1\nRequires-Dist: Nvidia_NCCL.cu12==2.27.3\n", "1", map[string]string{"nvidia-nccl-cu12": "2.27.3"}},
		{"description-is-no-header", "Name: x\nVersion: 1.2\n\nRequires-Dist: numpy==1\nVersion: 9\n", "1.2", map[string]string{}},
		{"description-alone", "Name: x\n\nVersion: 9\n", "", map[string]string{}},
		{"carriage-returns", "Name: x\r\nVersion: 1.2\r\nRequires-Dist: numpy==1.26.4\r\n\r\nVersion: 9\r\n", "1.2", map[string]string{"numpy": "1.26.4"}},
		{"cut", "Metadata-Version: 2.1\nName: to", "", map[string]string{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			version, requires := parseMetadata([]byte(tt.data))
			if diff := cmp.Diff(tt.requires, requires); diff != "" || version != tt.version {
				t.Errorf("version %q; -want +got:\n%s", version, diff)
			}
		})
	}
}

func TestParseWheel(t *testing.T) {
	for data, want := range map[string][2]string{
		"Wheel-Version: 1.0\nGenerator: setuptools (79.0.1)\nRoot-Is-Purelib: false\nTag: cp311-cp311-manylinux_2_28_x86_64\n\n": {"3.11", "2.28"},
		"Tag: cp311-cp311-manylinux_2_17_x86_64\nTag: cp311-cp311-manylinux2014_x86_64\n":                                        {"3.11", "2.17"},
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
		if python, glibc := parseWheel([]byte(data)); [2]string{python, glibc} != want {
			t.Errorf("parseWheel(%q) = %q, %q; want %q", data, python, glibc, want)
		}
	}
}

func TestParseCondaName(t *testing.T) {
	for file, want := range map[string]condaRecord{
		"pytorch-2.5.1-py3.10_cuda12.4_cudnn9.1.0_0.json":    {name: "pytorch", version: "2.5.1", build: "py3.10_cuda12.4_cudnn9.1.0_0"},
		"pytorch-cuda-12.4-hc786d27_7.json":                  {name: "pytorch-cuda", version: "12.4", build: "hc786d27_7"},
		"pytorch-2.13.0-cuda129_mkl_py312_h5d0eb3e_302.json": {name: "pytorch", version: "2.13.0", build: "cuda129_mkl_py312_h5d0eb3e_302"},
		"nccl-2.30.4.1-h4d09622_0.json":                      {name: "nccl", version: "2.30.4.1", build: "h4d09622_0"},
		"_libgcc_mutex-0.1-conda_forge.json":                 {name: "_libgcc_mutex", version: "0.1", build: "conda_forge"},
		"history":                                            {}, "state.json": {}, "a-b.json": {}, "-1-2.json": {}, "--.json": {}, "pytorch-2.5.1-0.json.c~": {},
	} {
		got, ok := parseCondaName(file)
		if got != want || ok != (want.name != "") {
			t.Errorf("parseCondaName(%q) = %+v, %v", file, got, ok)
		}
	}
}

func TestToolkitVersions(t *testing.T) {
	for _, tt := range []struct {
		name, data string
		parse      func([]byte) string
		want       string
	}{
		{"json", `{"cuda" : {"name" : "CUDA SDK", "version" : "12.4.1"}, "nvidia_driver" : {"version" : "550.54.15"}}`, parseVersionJSON, "12.4.1"},
		{"json-date", `{"cuda":{"version":"11.8.20220929"},"cuda_nvcc":{"version":"11.8.89"}}`, parseVersionJSON, "11.8"},
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

func TestCUDANumber(t *testing.T) {
	for n, want := range map[int]string{12040: "12.4", 13000: "13.0", 10020: "10.2", 9000: "9.0", 12080: "12.8", 0: "", -12040: "", 999: "", 1 << 40: ""} {
		if got := cudaNumber(n); got != want {
			t.Errorf("cudaNumber(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestNCCLBanner(t *testing.T) {
	for _, tt := range []struct{ name, section, lines, version, cuda string }{
		{"plain", ".rodata", "NCCL version 2.21.5+cuda12.4\n", "2.21.5", "12.4"},
		{"suffix", ".rodata", "NCCL version 2.19.3-rc1+cuda12.2\n", "2.19.3", "12.2"},
		{"others-before-it", ".rodata", "NCCL version \nMismatched NCCL version detected : rank %d\nNCCL version %d.%d\nNCCL version 2.27.5+cuda12.9\n", "2.27.5", "12.9"},
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

func TestParseDefines(t *testing.T) {
	nccl := "#define NCCL_MAJOR 2\n#define NCCL_MINOR 21\n#define NCCL_PATCH 5\n#define NCCL_SUFFIX \"\"\n"
	cudnn := "#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 1\n#define CUDNN_PATCHLEVEL 0\n#define CUDNN_VERSION (CUDNN_MAJOR * 10000)\n"
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
		{"4,1084,52712345,-;NVRM: Xid (PCI:0000:00:1e): 79, pid=1234, name=python, GPU has fallen off the bus.\n SUBSYSTEM=pci\n",
			"NVRM: Xid (PCI:0000:00:1e): 79, pid=1234, name=python, GPU has fallen off the bus.", true},
		{"4,1,2,-;NVRM: GPU 0000:00:1e.0: RmInitAdapter failed! (0x62:0x40:2393)", "NVRM: GPU 0000:00:1e.0: RmInitAdapter failed! (0x62:0x40:2393)", true},
		{"4,1,2,-;NVRM: Xid (PCI:0000:00:1e): 13, pid=1234, Graphics Exception", "NVRM: Xid (PCI:0000:00:1e): 13, pid=1234, Graphics Exception", false},
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
	h := &Host{Env: map[string]string{"CUDA_VISIBLE_DEVICES": "", "NVIDIA_DRIVER_CAPABILITIES": "all", "NCCL_DEBUG": "INFO", "LD_PRELOAD": "x.so", "LOCAL_WORLD_SIZE": "8",
		"NVIDIA_API_KEY": "x", "NVIDIA_APIKEY": "x", "NCCL_TOKEN": "x", "CUDA_PASSWORD": "x", "AWS_SECRET_ACCESS_KEY": "x", "PATH": "x", "USER": "x", "MY_CUDA_HOME": "x", "HOSTNAME": "x"}}
	apply, err := readVariables(h, Options{})
	hosttest.Must(t, err)
	var f Facts
	apply(&f)
	want := map[string]string{"CUDA_VISIBLE_DEVICES": "", "NVIDIA_DRIVER_CAPABILITIES": "all", "NCCL_DEBUG": "INFO", "LD_PRELOAD": "x.so", "LOCAL_WORLD_SIZE": "8"}
	if diff := cmp.Diff(want, f.Variables); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestOrigins(t *testing.T) {
	for version, want := range map[string]string{
		"2.9.0+cu130": "wheel", "2.8.0+cpu": "wheel", "2.8.0+rocm6.4": "wheel", "2.8.0+xpu": "wheel", "1.13.1+cu117.with.pypi.cudnn": "wheel",
		"2.6.0a0+ecf3bae40a.nv25.1": "ngc", "2.5.0a0+872d972e41.nv24.08": "ngc", "2.5.0a0+git1234567": "source", "2.11.0.dev20251201+cu130": "wheel", "2.7.1": "", "2.7.1-700": "",
		"2.6.0+debian": "distribution",
	} {
		if got := localOrigin(version); got != want {
			t.Errorf("localOrigin(%q) = %q, want %q", version, got, want)
		}
	}
	for build, want := range map[string]string{"py3.10_cuda12.4_cudnn9.1.0_0": "conda", "cuda129_mkl_py312_h5d0eb3e_302": "conda-forge", "cpu_mkl_py312_h0_0": "conda-forge"} {
		if got := condaOrigin(build); got != want {
			t.Errorf("condaOrigin(%q) = %q, want %q", build, got, want)
		}
	}
}

func TestSonameVersion(t *testing.T) {
	for name, want := range map[string]string{
		"/usr/lib/libcuda.so.535.183.01": "535.183.01", "libnccl.so.2.21.5": "2.21.5", "libcudart.so.11.0": "11.0", "libcuda.so.1": "", "libcuda.so": "", "libx.so.1.2.txt": "",
	} {
		if got := sonameVersion(name); got != want {
			t.Errorf("sonameVersion(%q) = %q, want %q", name, got, want)
		}
	}
}

// TestSearchStream finds the version wherever it stands, across the borders of what is read at once, too.
func TestSearchStream(t *testing.T) {
	const chunk = 1 << 20
	field := "\x00version=550.107.02\x00"
	for _, at := range []int{0, 1, chunk - len(field), chunk - 5, chunk, chunk + 250, chunk + 256, 2*chunk + 250, 3 * chunk} {
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
	for _, other := range []string{"\x00srcversion=550.107\x00", "\x00rhelversion=9.4\x00", "version=9.4\x00", "version=550.107.02", "version=\x00"} {
		if got, _ := searchStream(strings.NewReader(other), "version=", moduleVersionField, 1000); got != "" {
			t.Errorf("%q gives %q", other, got)
		}
	}
}

// TestCondaVersionOfPython keeps the "t" of a free-threaded Python, which conda's version does not have.
func TestCondaVersionOfPython(t *testing.T) {
	h := hosttest.Tree(t, "-- opt/conda/conda-meta/python-3.13.1-h9a34b6e_0_cp313t.json --\n-- opt/conda/lib/python3.13t/site-packages/x --\n")
	list := prefixesAt(h, "/opt/conda", &host.Errors{})
	if len(list) != 1 || list[0].python != "3.13t" || list[0].kind != "conda" {
		t.Errorf("got %+v", list)
	}
}

func TestJAXWithCUDAInside(t *testing.T) {
	h := hosttest.Tree(t, "-- srv/v/jaxlib-0.4.23+cuda12.cudnn89.dist-info/METADATA --\nVersion: 0.4.23+cuda12.cudnn89\n")
	var failed host.Errors
	b, err := jaxBuild(h, &site{dir: "/srv/v", dists: distributions(h, "/srv/v", &failed)})
	if err != nil || len(failed) > 0 || b.Accelerator != "cuda" || b.CUDA != "12" || b.CuDNN != "8.9" || b.Version != "0.4.23+cuda12.cudnn89" {
		t.Errorf("got %+v, %v, %v", b, err, failed)
	}
}
