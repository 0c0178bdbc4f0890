package python

import (
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"

	"github.com/google/go-cmp/cmp"
)

func TestParseTorchVersion(t *testing.T) {
	for _, tt := range []struct{ name, data, version, cuda, accelerator string }{
		{"2.8", "from typing import Optional\n\n" +
			"__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip', 'xpu']\n__version__ = '2.8.0+cu128'\n" +
			"debug = False\n" +
			"cuda: Optional[str] = '12.8'\ngit_version = 'a1cb3cc05d46d198467bebbb6e8fba50a325d4e7'\n" +
			"hip: Optional[str] = None\nxpu: Optional[str] = None\n", "2.8.0+cu128", "12.8", "cuda"},
		{"1.13", "__version__ = '1.13.1+cu117'\ndebug = False\ncuda = '11.7'\n" +
			"git_version = '49444c3e546bf240bed24a101e747422d1f8a0ee'\nhip = None\n", "1.13.1+cu117", "11.7", "cuda"},
		{"new-annotation", "__version__ = \"2.12.0+cu132\"\ncuda: str | None = \"13.2\"\nhip: str | None = None\n",
			"2.12.0+cu132", "13.2", "cuda"},
		{"cpu", "__version__ = '2.8.0+cpu'\ncuda: Optional[str] = None\nhip: Optional[str] = None\n" +
			"xpu: Optional[str] = None\n", "2.8.0+cpu", "", "cpu"},
		{"rocm", "__version__ = '2.8.0+rocm6.4'\ncuda: Optional[str] = None\n" +
			"hip: Optional[str] = '6.4.43482-0f2d60242'\n", "2.8.0+rocm6.4", "", "rocm"},
		{"xpu", "__version__ = '2.8.0+xpu'\ncuda: Optional[str] = None\nhip: Optional[str] = None\n" +
			"xpu: Optional[str] = '20250101'\n", "2.8.0+xpu", "", "xpu"},
		{"ngc", "__version__ = '2.6.0a0+ecf3bae40a.nv25.1'\ncuda: Optional[str] = '12.8'\n",
			"2.6.0a0+ecf3bae40a.nv25.1", "12.8", "cuda"},
		{"carriage-returns", "__version__ = '2.8.0+cu128'\r\ncuda: Optional[str] = '12.8'\r\n", "2.8.0+cu128", "12.8",
			"cuda"},
		{"cut-in-the-version", "__version__ = '2.8", "", "", ""},
		{"cut-before-cuda", "__version__ = '2.8.0+cu128'\ncuda: Opt", "2.8.0+cu128", "", ""},
		{"someone-elses-lines", "# __version__ = '1.0'\nmy__version__ = '3.0'\nprint(cuda)\n", "", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := &facts.Build{Name: "torch", Version: tt.version, CUDA: tt.cuda, Accelerator: tt.accelerator}
			if diff := cmp.Diff(want, parseTorchVersion([]byte(tt.data))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestParseBuildInfo(t *testing.T) {
	for _, tt := range []struct {
		name, data string
		want       *facts.Build
	}{
		{"2.20", "import collections\n\n" +
			"build_info = collections.OrderedDict([('cpu_compiler', 'clang 18'), ('cuda_compute_capabilities', " +
			"['sm_60', 'sm_70', 'sm_80', 'sm_89', 'compute_90']), ('cuda_version', '12.5.1'), ('cudnn_version', " +
			"'9'), ('is_cuda_build', True), ('is_rocm_build', False), ('is_tensorrt_build', False)])\n",
			&facts.Build{Name: "tensorflow", Accelerator: "cuda", CUDA: "12.5.1", CuDNN: "9",
				SASS: []string{"sm_60", "sm_70", "sm_80", "sm_89", "sm_90"}, PTX: []string{"compute_90"}}},
		{"dictionary", `build_info = {"cuda_version": "11.2", "cudnn_version": "8", "is_cuda_build": True, ` +
			`"is_rocm_build": False}`,
			&facts.Build{Name: "tensorflow", Accelerator: "cuda", CUDA: "11.2", CuDNN: "8"}},
		{"cpu", "build_info = collections.OrderedDict([('is_cuda_build', False), ('is_rocm_build', False), " +
			"('is_tensorrt_build', False)])\n",
			&facts.Build{Name: "tensorflow", Accelerator: "cpu"}},
		{"rocm", "build_info = collections.OrderedDict([('is_cuda_build', False), ('is_rocm_build', True)])\n",
			&facts.Build{Name: "tensorflow", Accelerator: "rocm"}},
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
			version, requires := parseMetadata([]byte(tt.data))
			if diff := cmp.Diff(tt.requires, requires); diff != "" || version != tt.version {
				t.Errorf("version %q; -want +got:\n%s", version, diff)
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
		if python, glibc := parseWheel([]byte(data)); [2]string{python, glibc} != want {
			t.Errorf("parseWheel(%q) = %q, %q; want %q", data, python, glibc, want)
		}
	}
}

func TestParseCondaName(t *testing.T) {
	for file, want := range map[string]condaRecord{
		"pytorch-2.5.1-py3.10_cuda12.4_cudnn9.1.0_0.json": {name: "pytorch", version: "2.5.1",
			build: "py3.10_cuda12.4_cudnn9.1.0_0"},
		"pytorch-cuda-12.4-hc786d27_7.json": {name: "pytorch-cuda", version: "12.4",
			build: "hc786d27_7"},
		"pytorch-2.13.0-cuda129_mkl_py312_h5d0eb3e_302.json": {name: "pytorch", version: "2.13.0",
			build: "cuda129_mkl_py312_h5d0eb3e_302"},
		"nccl-2.30.4.1-h4d09622_0.json": {name: "nccl", version: "2.30.4.1", build: "h4d09622_0"},
		"_libgcc_mutex-0.1-conda_forge.json": {name: "_libgcc_mutex", version: "0.1",
			build: "conda_forge"},
		"history": {}, "state.json": {}, "a-b.json": {}, "-1-2.json": {},
		"--.json": {}, "pytorch-2.5.1-0.json.c~": {},
	} {
		got, ok := parseCondaName(file)
		if got != want || ok != (want.name != "") {
			t.Errorf("parseCondaName(%q) = %+v, %v", file, got, ok)
		}
	}
}

// TestCondaVersionOfPython keeps the "t" of a free-threaded Python, which conda's version does not have.
func TestCondaVersionOfPython(t *testing.T) {
	h := hosttest.Tree(t, "-- opt/conda/conda-meta/python-3.13.1-h9a34b6e_0_cp313t.json --\n"+
		"-- opt/conda/lib/python3.13t/site-packages/x --\n")
	list := prefixesAt(h, "/opt/conda", &host.Errors{})
	if len(list) != 1 || list[0].python != "3.13t" || list[0].kind != "conda" {
		t.Errorf("got %+v", list)
	}
}

func TestJAXWithCUDAInside(t *testing.T) {
	h := hosttest.Tree(t, "-- srv/v/jaxlib-0.4.23+cuda12.cudnn89.dist-info/METADATA --\n"+
		"Version: 0.4.23+cuda12.cudnn89\n")
	var failed host.Errors
	b, err := jaxBuild(h, &site{dir: "/srv/v", dists: distributions(h, "/srv/v", &failed)})
	if err != nil || len(failed) > 0 || b.Accelerator != "cuda" || b.CUDA != "12" || b.CuDNN != "8.9" ||
		b.Version != "0.4.23+cuda12.cudnn89" {
		t.Errorf("got %+v, %v, %v", b, err, failed)
	}
}
