package collectenv

import (
	"strings"

	"cudacompat/internal/lazyregexp"
)

// fieldRules maps each field of a report that is read to a rule that needs its fact. "identity" tells which machine or build
// it is. The names are in lower case, as the report prints them: PyTorch's and vLLM's collect_env, SGLang's check_env, the
// reports of Lightning, xFormers and JAX, and the short ones of Hugging Face's programs, DeepSpeed, MMEngine and detectron2.
var fieldRules = map[string]string{
	"pytorch version": "identity", "pytorch": "identity", "torch version": "identity", "pytorch.version": "identity", "torch": "identity",
	"tensorflow version": "identity", "jax": "identity", "jaxlib": "identity",
	"vllm version": "extension-mismatch", "sglang": "extension-mismatch", "sgl_kernel": "extension-mismatch", "vllm": "extension-mismatch",
	"flashinfer": "extension-mismatch", "flashinfer_python": "extension-mismatch", "torchao": "extension-mismatch",
	"triton": "companion-mismatch", "numpy": "numpy-abi",
	"cuda used to build pytorch": "driver-too-old", "torch cuda version": "driver-too-old", "rocm used to build pytorch": "identity",
	"os": "glibc-too-old", "libc version": "glibc-too-old", "python version": "python-unsupported", "python": "python-unsupported",
	"python platform": "identity", "platform": "identity",
	"is cuda available": "driver-too-old", "cuda available": "driver-too-old", "gpu available": "driver-too-old",
	"pytorch.cuda": "driver-too-old", "jax.devices": "driver-too-old",
	"cuda runtime version": "toolkit-framework", "nvcc version": "toolkit-framework", "nvcc": "toolkit-framework",
	"gpu models and configuration": "gpu-arch-missing", "gpu type": "gpu-arch-missing", "accelerator": "gpu-arch-missing",
	"gpu.name": "gpu-arch-missing", "gpu": "gpu-arch-missing", "device info": "gpu-arch-missing",
	"nvidia driver version": "driver-too-old", "cuda driver version": "driver-too-old", "driver version": "driver-too-old",
}

// ignoredFields are the fields of a report that no rule needs, with the reason.
var ignoredFields = map[string]string{
	"is debug build": "of PyTorch's own developers", "gcc version": "a compiler on the machine; the rules judge the one of a build",
	"clang version": "as gcc", "cmake version": "of builds", "cuda_module_loading set to": "how programs load, not whether",
	"cudnn version": "the system's copies, which a wheel does not take", "is xpu available": "of Intel's GPUs",
	"hip runtime version": "of AMD's GPUs", "miopen runtime version": "of AMD's GPUs", "is xnnpack available": "of CPUs",
	"caching allocator config": "of memory, not of compatibility", "rocm version": "of AMD's GPUs", "neuron sdk version": "of AWS Neuron",
	"xpu runtime version": "of Intel's GPUs", "intel gpu driver version": "of Intel's GPUs", "intel gpu models onboard": "of Intel's GPUs",
	"intel gpu models detected": "of Intel's GPUs", "level zero loader version": "of Intel's GPUs", "level zero driver version": "of Intel's GPUs",
	"intel graphics compiler version": "of Intel's GPUs", "oneapi compiler version": "of Intel's GPUs", "oneccl version": "of Intel's GPUs",
	"libigdgmm version": "of Intel's GPUs", "vllm xpu kernels version": "of Intel's GPUs", "sycl version": "of Intel's GPUs",
	"cpu": "of CPUs", "cpu info": "of CPUs", "versions of relevant libraries": "a heading", "vllm build flags": "of a build from source",
	"cuda archs": "of a build from source: the wheel's own are in the tables", "gpu topology": "no rule judges the topology",
	"nvidia topology": "no rule judges the topology", "amd topology": "of AMD's GPUs", "hypervisor vendor": "no rule needs it of a text",
	"ulimit soft": "of open files", "cuda_home": "a path; NVCC names the release", "rocm_home": "of AMD's GPUs", "hipcc": "of AMD's GPUs",
	"rocm driver version": "of AMD's GPUs", "rocm available": "of AMD's GPUs", "cuda driver versions": "several, of which none is said to be used",
	"transformers": "pure Python", "aiohttp": "pure Python", "fastapi": "pure Python", "hf_transfer": "uses no GPU",
	"huggingface_hub": "pure Python", "interegular": "pure Python", "modelscope": "pure Python", "orjson": "uses no GPU",
	"outlines": "pure Python", "packaging": "pure Python", "psutil": "uses no GPU", "pydantic": "uses no GPU", "multipart": "pure Python",
	"python-multipart": "pure Python", "pyzmq": "uses no GPU", "zmq": "uses no GPU", "uvicorn": "pure Python", "uvloop": "uses no GPU",
	"xgrammar": "runs on the CPU", "openai": "pure Python", "tiktoken": "uses no GPU", "anthropic": "pure Python", "litellm": "pure Python",
	"decord": "uses no GPU in the form that pip installs", "decord2": "uses no GPU in the form that pip installs", "process_count": "of JAX's processes",
	"memory_efficient_attention": "which kernels the build has; its release tells", "indexing": "as memory_efficient_attention",
	"swiglu": "as memory_efficient_attention", "sequence_parallel_fused": "as memory_efficient_attention",
	"sp24": "as memory_efficient_attention", "is_triton_available": "as memory_efficient_attention",
	"is_functorch_available": "of PyTorch 1", "gpu.compute_capability": "NVIDIA's tables have it by the name",
	"dcgm_profiler": "of a profiler", "build": "of xFormers' own build; its release tells", "source.privacy": "no fact",
	"available": "read as CUDA available", "version": "read as the CUDA of PyTorch",
}

// reportField matches "Key: value" and "Key      : value", and splits the key from what stands below it: "build" of
// "build.cuda_version", "GPU" of "GPU 0,1".
var reportField = lazyregexp.New(`^[\s>*-]*([A-Za-z][\w /&-]*?(?:\.[\w-]+)*)(?: \(.*?\)| \d+(?:,\d+)*(?: Compute Capability)?)?\s*:(?:\s|$)`)

// isKnownField reports whether a field is read, or known to need no reading.
func isKnownField(name string) bool {
	name = strings.ToLower(strings.TrimSpace(name))
	first, _, _ := strings.Cut(name, ".")
	for _, key := range []string{name, first} {
		if fieldRules[key] != "" || ignoredFields[key] != "" {
			return true
		}
	}
	return false
}

// maxStrange bounds the unknown fields that are named.
const maxStrange = 20

// noteField remembers a field that is neither read nor known to need no reading. Only lines of a report are fields: those of
// a block in which a line was read. What lscpu prints below "CPU:" is left out.
func (r *reportReader) noteField(line string) {
	if strings.TrimSpace(line) == "" {
		r.block, r.lscpu = false, false
		return
	}
	m := reportField.FindStringSubmatch(line)
	if m == nil || r.lscpu || reportPackage.MatchString(line) {
		return
	}
	name := strings.TrimSpace(m[1])
	switch {
	case isKnownField(name):
		r.lscpu = strings.EqualFold(name, "CPU") || strings.EqualFold(name, "CPU Info")
		r.block = r.block || len(r.seen) > 0
	case r.block && len(r.strange) < maxStrange:
		for _, known := range r.strange {
			if known == name {
				return
			}
		}
		r.strange = append(r.strange, name)
	}
}
