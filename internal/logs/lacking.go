package logs

import (
	"cmp"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/finding"
	"cudacompat/internal/logs/readers"
	"cudacompat/internal/logs/record"
)

// noKernels matches CUDA's error for a kernel without code for the GPU, in a launcher's line.
var noKernels = lazyregexp.New(`no kernel image is available|cudaErrorNoKernelImageForDevice|CUDA_ERROR_NO_BINARY_FOR_GPU`)

// compiledParts are packages that bring kernels of their own beside PyTorch's, as calls and paths name them:
//
//	Error no kernel image is available for execution on the device at line 167 in file /src/bitsandbytes/csrc/ops.cu
//	CUDA error (/src/xformers/third_party/flash-attention/csrc/flash_fwd_launch_template.h:80): no kernel image is …
var compiledParts = lazyregexp.New(`(?i)[/\\](flash[-_]attn|flash-attention|flashinfer|xformers|bitsandbytes|sgl[-_]kernel|mamba[-_]ssm|` +
	`causal[-_]conv1d|vllm|autoawq|awq\w*|exllamav2|auto_gptq|gptqmodel|apex|transformer_engine|mmcv|torchvision|torchaudio|` +
	`pytorch3d|gsplat|spconv|natten|sageattention|deep_gemm|torchao|nvdiffrast|tinycudann|ctranslate2|cupy|faiss|` +
	`diff_gaussian_rasterization|simple_knn|torch_(?:scatter|sparse|cluster)|llama_cpp)[-/\\]`)

// calledByName is how FlashInfer and its like name the call that failed, and no file:
//
//	RuntimeError: TopKTopPSamplingFromProbs failed with error code no kernel image is available for execution on the device
var calledByName = lazyregexp.New(`\b([A-Z]\w+) failed with error(?: code)?:? no kernel image`)

// replaceKernels says which package lacks code for the GPU. Another PyTorch build does not help if flash-attn or vLLM
// lacks it. CUDA reports the error at a later call, so a traceback only suggests the package, and the first step finds
// out.
func (j *judging) replaceKernels(d *Diagnosis) ([]string, string) {
	if d.Cause != "gpu-arch-missing" || len(d.Lines) == 0 || !noKernels.MatchString(d.Lines[0].Text) ||
		strings.Contains(d.Lines[0].Text, "OpenCV") {
		return nil, ""
	}
	if m := calledByName.FindStringSubmatch(d.Lines[0].Text); m != nil {
		return []string{"find whose " + m[1] + " is (FlashInfer's, sgl-kernel's): that package, and not torch, needs a release that is built for this GPU",
				skipKernels(serverIn(j.kept, d.Lines)),
				"run `cudacompat doctor`: it lists what each package here was compiled for"},
			"The package that brings " + m[1] + " has no machine code for this GPU."
	}
	if all := compiledParts.FindAllStringSubmatch(d.Lines[0].Text, -1); all != nil {
		return lacks(packageNamed(all[len(all)-1][1]), serverIn(j.kept, d.Lines))
	}
	if names := launchers(j.records); len(names) > 0 {
		either := strings.Join(names, " or ")
		return []string{
			"run `cudacompat doctor`: it says which has no code for this GPU, " + either + ", whose calls the traceback shows, or torch",
			"if it is " + either + ", torch needs no other build: take a release of it that is built for this GPU, or build it here with " + forThisGPU,
			"if it is torch: for a new GPU take a build for a newer CUDA (Blackwell: cu128 or newer), for an old one cu126 (Maxwell to Volta) or an older release"}, ""
	}
	return nil, ""
}

const forThisGPU = "TORCH_CUDA_ARCH_LIST set to the GPU's capability (`nvidia-smi --query-gpu=compute_cap --format=csv`)"

// lacks returns the answer for one package without code for the GPU.
func lacks(name, server string) (do []string, because string) {
	r := record.Record{Slots: map[string]string{"package": cmp.Or(finding.Distributions[name], name), "address": readers.SourceAddresses[name]}}
	build := readers.RebuildCommand
	if r.Slots["address"] != "" {
		build = "python -m pip install --no-deps --no-build-isolation --no-cache-dir --force-reinstall {address}"
	}
	do = append(r.FillSteps([]string{"take a release of {package} that is built for this GPU, the newest first, or build it here with " +
		forThisGPU + ": `" + build + "`"}), skipKernels(server),
		"run `cudacompat doctor`: it lists what each package here was compiled for; torch is not what failed")
	return do, name + " has no machine code for this GPU, and no PTX that the driver could compile."
}

// doWithout says how to make a server skip such a package's kernels.
var doWithout = map[string]string{
	"sglang":  "or do without its kernels: `--attention-backend triton --sampling-backend pytorch` (old releases: `--disable-flashinfer --disable-flashinfer-sampling`)",
	"vllm":    "or do without its kernels: another attention backend, and VLLM_USE_FLASHINFER_SAMPLER=0 where FlashInfer samples",
	"comfyui": "or do without its kernels: start ComfyUI with `--use-pytorch-cross-attention`, and `--disable-xformers`",
}

// ofCPUBuild matches a log that says that the build of the package, or PyTorch's, is the one for the CPU:
//
//	PyTorch version: 2.5.1+cpu
//	File "/…/site-packages/vllm-0.6.5+cpu-py3.12-linux-x86_64.egg/vllm/_custom_ops.py", line 44, in wrapper
var ofCPUBuild = lazyregexp.New(`^(?:PyTorch version: |\[(?:pip3|conda)\] torch(?:==|\s)\s*|torch==|torch\s+)\d[\w.]*\+cpu\b|site-packages[/\\]([\w.]+)-\d[\w.]*\+cpu\b`)

// replaceCPUBuild returns the answer for missing operators of a package whose CPU build has none of them.
func (j *judging) replaceCPUBuild(d *Diagnosis) ([]string, string) {
	if d.Cause != "extension-not-loaded" {
		return nil, ""
	}
	for _, l := range slices.Concat(j.kept...) {
		if m := ofCPUBuild.FindStringSubmatch(l.Text); m != nil {
			return []string{"install the builds for CUDA: torch, and " + cmp.Or(m[1], "the package whose operators are missing") +
				"; the installed ones are for the CPU (+cpu), which have no such operators: `cudacompat pins` names those that fit the driver",
				"on a machine without a GPU, take a model or a quantization that runs on the CPU"}, ""
		}
	}
	return nil, ""
}

// skipKernels returns the step that makes a server skip a package's kernels.
func skipKernels(server string) string {
	return cmp.Or(doWithout[server], "or do without its kernels, where the program has an option for another backend")
}

// launchers returns the packages with kernels of their own that appear in the traceback of a missing kernel, deepest
// call first.
func launchers(records []record.Record) (names []string) {
	i := slices.IndexFunc(records, func(r record.Record) bool {
		return r.Kind == "exception" && r.Frames != nil && noKernels.MatchString(r.Text)
	})
	if i < 0 {
		return nil
	}
	for _, f := range slices.Backward(records[i].Frames) {
		name := packageNamed(f.Project())
		if compiledParts.MatchString("/"+name+"/") && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// packageNamed returns the package of a source directory.
func packageNamed(directory string) string {
	name := strings.ToLower(directory)
	if name == "flash-attention" {
		return "flash-attn"
	}
	return name
}
