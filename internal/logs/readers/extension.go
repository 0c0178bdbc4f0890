package readers

import (
	"fmt"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/finding"
	"cudacompat/internal/logs/record"
	"cudacompat/internal/logs/traceback"
)

// libraryFile matches a package's library in a line: its directory, or its own name if it is beside the packages.
var libraryFile = lazyregexp.New(`(?:site|dist)-packages/(?P<package>\w+)[/.]|(?:^|[\s'"/])(?P<file>\w+)\.cpython-\d+`)

// broughtBy maps a library beside the packages to the package that it belongs to, if the names differ.
var broughtBy = map[string]string{"flash_attn_2_cuda": "flash-attn", "flash_attn_cuda": "flash-attn",
	"causal_conv1d_cuda": "causal-conv1d", "selective_scan_cuda": "mamba-ssm", "awq_inference_engine": "autoawq-kernels",
	"amp_C": "apex", "fused_layer_norm_cuda": "apex"}

// rebuilt lists how to make a package fit the installed PyTorch if it was built for another one.
var rebuilt = []struct {
	packages string
	do       []string
}{
	{"torchvision torchaudio torchtext", []string{
		"install the {package} of this torch from the same index: `cudacompat pins` names the pair",
		"run `python -m pip list | grep torch`: two of them from different indexes, or from conda and pip, are the usual reason"}},
	{"torch_scatter torch_sparse torch_cluster torch_spline_conv pyg_lib", []string{
		"install the wheel for this torch and CUDA: `python -m pip install --no-deps --force-reinstall {package} -f " +
			"https://data.pyg.org/whl/torch-VERSION+{cuda}.html`",
		"or build it, with nvcc of torch's CUDA: `" + RebuildCommand + "`"}},
	{"flash-attn causal-conv1d mamba-ssm", []string{
		"install the wheel from the project's releases whose name has this torch, CUDA, Python and C++ ABI, with `--no-deps`",
		"or build it, with nvcc of torch's CUDA: `" + RebuildCommand + "`"}},
	{"mmcv", []string{
		"install the wheel for this torch and CUDA: `python -m pip install --no-deps --force-reinstall mmcv -f " +
			"https://download.openmmlab.com/mmcv/dist/{cuda}/TORCH/index.html`",
		"or build it, with nvcc of torch's CUDA: `MMCV_WITH_OPS=1 " + RebuildCommand + "`"}},
	{"diff_gaussian_rasterization simple_knn", []string{
		"build it again from the directory of the program that holds it: `python -m pip install --no-deps --no-build-isolation " +
			"--no-cache-dir --force-reinstall ./submodules/DIRECTORY`",
		"if there is none, clone the program with its submodules: `git submodule update --init --recursive`"}},
	{"vllm sgl_kernel tensorrt_llm lmdeploy", []string{
		"install it in a fresh environment, so that it brings the torch that it pins",
		"or install the torch that its metadata names: `python -m pip show {package}`"}},
}

// RebuildCommand compiles a package for the installed torch. Without --no-deps and --no-build-isolation pip would use
// another torch. --no-binary :all: would also ask for the source of torch, which no index has.
const RebuildCommand = "python -m pip install --no-deps --no-build-isolation --no-cache-dir --force-reinstall --no-binary " +
	"{package} {package}"

// SourceAddresses lists addresses of packages that are on no index, or not as wheels.
var SourceAddresses = map[string]string{
	"detectron2":      "git+https://github.com/facebookresearch/detectron2",
	"pytorch3d":       "git+https://github.com/facebookresearch/pytorch3d",
	"nvdiffrast":      "git+https://github.com/NVlabs/nvdiffrast",
	"tinycudann":      "git+https://github.com/NVlabs/tiny-cuda-nn#subdirectory=bindings/torch",
	"MinkowskiEngine": "git+https://github.com/NVIDIA/MinkowskiEngine",
	"apex":            "git+https://github.com/NVIDIA/apex",
}

// inPlace matches an extension that lies in the directory of its sources, where nothing was installed:
//
//	ImportError: /home/me/code/lib/model/_C.cpython-36m-x86_64-linux-gnu.so: undefined symbol: _ZN3c105Error…
var inPlace = lazyregexp.New(`ImportError: (?:/[\w.+-]+)+\.so: undefined symbol`)

// builtAgainInPlace are the steps for such an extension.
var builtAgainInPlace = []string{
	"where its setup.py is, delete the directory build and the .so, then build it for this torch, with nvcc of its CUDA: `python setup.py build develop`",
	"if it does not compile, install the torch that the program's README names: old extensions do not build with new releases",
}

// readExtension names the package that was built for another PyTorch, and how to make it fit.
func readExtension(f *finding.Finding) bool {
	name := FindPackage(f.Text)
	if name == "" && inPlace.MatchString(f.Text) && !traceback.DistributionDirectory.MatchString(f.Text) {
		f.Do = builtAgainInPlace
	}
	if name == "" || name == "torch" {
		return true
	}
	f.Because = fmt.Sprintf("%s was built for another PyTorch: it asks for a symbol that this one does not have.", name)
	f.Do = stepsToRebuild(name, "CUDA")
	return true
}

// stepsToRebuild returns the steps that make a package fit the installed PyTorch, whose CUDA is cuda in an address,
// "cu128".
func stepsToRebuild(name, cuda string) []string {
	if other := finding.Distributions[name]; other != "" {
		name = other
	}
	r := record.Record{Slots: map[string]string{"package": name, "cuda": cuda}}
	for _, b := range rebuilt {
		if contains(b.packages, name) {
			return r.FillSteps(b.do)
		}
	}
	if address := SourceAddresses[name]; address != "" {
		return []string{"build it again for this torch, with nvcc of its CUDA; it is on no index: `python -m pip install " +
			"--no-deps --no-build-isolation --no-cache-dir --force-reinstall " + address + "`"}
	}
	return r.FillSteps([]string{"build it again for this torch, with nvcc of its CUDA: `" + RebuildCommand + "`",
		"or install its wheel for this torch, CUDA and Python, with `--no-deps`"})
}

// twoCUDAs matches the CUDA of torch in what a package says that compares it with its own:
//
//	RuntimeError: Detected that PyTorch and torchvision were compiled with different CUDA major versions. PyTorch has CUDA
//	Version=12.1 and torchvision has CUDA Version=11.8. Please reinstall the torchvision that matches your PyTorch install.
var twoCUDAs = lazyregexp.New(`PyTorch has CUDA [Vv]ersion[ =](\d+)\.(\d+)`)

// readTwoCUDAs names the index with a package for torch's CUDA. Without it pip takes the newest release of its own
// index, which is for another CUDA again.
func readTwoCUDAs(f *finding.Finding) bool {
	name, cuda, index := strings.ToLower(f.Group("package")), "CUDA", "cuXXX"
	if m := twoCUDAs.FindStringSubmatch(f.Text); m != nil {
		cuda, index = "CUDA "+m[1]+"."+m[2], "cu"+m[1]+m[2]
	}
	f.Do = stepsToRebuild(name, index)
	if contains("torchvision torchaudio", name) {
		f.Rule = "companion-mismatch"
		f.Do = []string{
			fmt.Sprintf("install the release of %s that belongs to this torch, from the index of its %s: `python -m pip install "+
				"--no-deps %[1]s==VERSION+%[3]s --index-url https://download.pytorch.org/whl/%[3]s`", name, cuda, index),
			"run `cudacompat doctor` in this environment: it names that VERSION",
		}
	}
	return true
}

// contains reports whether a word is in a list.
func contains(list, word string) bool { return strings.Contains(" "+list+" ", " "+word+" ") }

// FindPackage returns the package whose library a line names, or "".
func FindPackage(line string) string {
	m := libraryFile.FindStringSubmatch(line)
	if m == nil {
		return ""
	}
	if other := broughtBy[m[1]+m[2]]; other != "" {
		return other
	}
	return m[1]
}
