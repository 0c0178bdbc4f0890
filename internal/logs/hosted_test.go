package logs

import (
	"strings"
	"testing"
)

// TestStepsOfOthersPrograms checks the steps for people who run a program that they did not write.
func TestStepsOfOthersPrograms(t *testing.T) {
	t.Parallel()
	const (
		noImage  = "RuntimeError: CUDA error: no kernel image is available for execution on the device"
		asserted = "RuntimeError: CUDA error: device-side assert triggered"
		forked   = "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' start method"
		full     = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 112.00 MiB. GPU 0 has a total capacity of 44.35 GiB of which 9.38 MiB is free."
	)
	for name, c := range map[string]struct{ log, step string }{
		"SGLang, which imports vLLM": {traced("x = vllm.f(y)", full, "sglang/srt/server.py", "vllm/model.py"), "--mem-fraction-static"},
		"vLLM":                       {traced("x = f(y)", full, "vllm/model.py"), "--max-model-len"},
		"vLLM forks":                 {traced("torch._C._cuda_init()", forked, "vllm/worker.py"), "VLLM_WORKER_MULTIPROC_METHOD=spawn"},
		"own program forks":          {traced("torch._C._cuda_init()", forked, "torch/cuda/__init__.py"), "set_start_method"},
		"assertion in SGLang":        {traced("x = f(y)", asserted, "sglang/srt/server.py"), "--disable-cuda-graph"},
		"assertion under own code": {"Traceback (most recent call last):\n  File \"/home/u/sample.py\", line 3, in sample\n    x = y[z]\n" + asserted +
			"\nINFO vllm/engine.py: shut down\n", "Assertion"},
		"no GPU in an actor of Ray": {traced("torch._C._cuda_init()", "RuntimeError: No CUDA GPUs are available", "ray/_private/worker.py"), "ray.get_gpu_ids()"},
		"kernels of a package that its line names": {"CUDA Error: no kernel image is available for execution on the device (209) /tmp/build/flashinfer/attention/handler.cuh: line 1\n",
			"release of flashinfer-python that is built for this GPU"},
		"kernels of a call that its line names": {"RuntimeError: TopKTopPSamplingFromProbs failed with error code no kernel image is available for execution on the device\n",
			"whose TopKTopPSamplingFromProbs is"},
		"kernels of a package in the traceback": {traced("out = op(x)", noImage, "vllm/attention.py", "xformers/ops.py", "torch/_ops.py"), "xformers or vllm"},
		"build for the CPU": {"PyTorch version: 2.5.1+cpu\n" + traced("ops.repack(x)", "AttributeError: '_OpNamespace' '_C' object has no attribute 'gptq_marlin_repack'", "vllm/_custom_ops.py"),
			"install the builds for CUDA: torch"},
		"build for CUDA without an operator": {"PyTorch version: 2.5.1+cu124\n" + traced("ops.repack(x)", "AttributeError: '_OpNamespace' '_C' object has no attribute 'gptq_marlin_repack'", "vllm/_custom_ops.py"),
			"look above for the line"},
		"shapes in vLLM":     {traced("x = f(y)", "RuntimeError: shape '[-1, 32]' is invalid for input of size 1", "vllm/model.py"), "try another release"},
		"shapes in own code": {traced("x = f(y)", "RuntimeError: shape '[-1, 32]' is invalid for input of size 1", "torch/functional.py"), "print the shape"},
		"a kernel that vLLM compiled": {traced("run(x)", "  File \"/root/.cache/flashinfer/75/generated/prefill.cu\", line 320, in Run(int)\nRuntimeError: Run failed with error invalid argument: cudaErrorInvalidValue", "vllm/attention.py"),
			"try another release"},
		"a kernel that Triton cannot compile":    {traced("run(x)", "RuntimeError: PassManager::run failed", "vllm/attention.py", "triton/compiler.py"), "another attention backend"},
		"a library in bazel":                     {"bazel-out/host/bin/tensorflow/gen_ops_cc: error while loading shared libraries: libcudnn.so.7: cannot open shared object file: No such file or directory\n", "--action_env=LD_LIBRARY_PATH"},
		"a library on a Jetson":                  {"OSError: libcurand.so.10: cannot open shared object file: No such file or directory\nPackage: nvidia-jetpack\n", "\"default-runtime\": \"nvidia\""},
		"a library elsewhere":                    {"OSError: libcurand.so.10: cannot open shared object file: No such file or directory\n", "install the wheel"},
		"a kernel's packages":                    {" Problem 1: package kernel-modules-4.18.0 requires kernel-uname-r = 4.18.0, but none of the providers can be installed\n", "keep the kernel that runs"},
		"packages of the system":                 {" libflurb-dev : Depends: libflurb (= 2) but it is not going to be installed\n", "held back"},
		"packages of Python":                     {"ERROR: ResolutionImpossible: for help visit\n", "empty environment"},
		"a directory of an earlier run":          {traced("os.makedirs(d)", "FileExistsError: [Errno 17] File exists: 'models/a'", "torch/serialization.py"), "another name"},
		"a linker":                               {"mmq.cu:(.text+0x120): undefined reference to `void mul_mat_q_case<(ggml_type)152>(int)'\ncollect2: error: ld returned 1 exit status\n", "\"undefined reference to void mul_mat_q_case"},
		"a time that is up in vLLM":              {traced("await fetch(url)", "TimeoutError", "vllm/multimodal/utils.py", "aiohttp/client.py"), "issues of vllm"},
		"a time that is up in a call of its own": {traced("await fetch(url)", "TimeoutError", "aiohttp/client.py"), "issues of aiohttp"},
		"a build without network": {"  error: subprocess-exited-with-error\n      fatal: unable to access 'https://github.com/nvidia/cutlass.git/': Could not resolve host: github.com\nERROR: Failed building wheel for vllm\n",
			"Could not resolve host"},
		"words that hold what a step puts in": {"frob: fatal error in the PIPELINE of CUDA frobs\n", "\"frob: fatal error in the PIPELINE of CUDA frobs\": line 1"},
		"shared memory that is another's":     {"node08:27106:27302 [0] include/shm.h:27 NCCL WARN Call to shm_open failed : Permission denied\n", "ls -ld /dev/shm"},
		"a module for a kernel of another compiler": {"Compiler version check failed:\n\nThe major and minor number of the compiler used to\ncompile the kernel:\n",
			"install the compiler that built the kernel"},
		"a compiler without its own headers": {"/usr/include/stdlib.h:31:10: fatal error: stddef.h: No such file or directory\n", "`CC=/usr/bin/gcc`"},
		"TGI":                                {traced("x = f(y)", full, "text_generation_server/models/flash_llama.py"), "--max-batch-prefill-tokens"},
		"kernels of PyTorch itself":          {traced("return torch.add(x, y)", noImage, "torch/nn/functional.py"), "it lists what the build was compiled for"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := explain(t, c.log); len(got.Do) == 0 || !strings.Contains(got.Do[0], c.step) {
				t.Errorf("%s: steps %q; the first must name %q", got.Cause, got.Do, c.step)
			}
		})
	}
}

// TestPartOfServer has a server that is told to leave a package's kernels out where that package refused.
func TestPartOfServer(t *testing.T) {
	t.Parallel()
	got := explain(t, traced("self._wrapper.plan(x)", "RuntimeError: Wrapper::Plan(at::Tensor) failed to dispatch head_dim 96", "sglang/srt/server.py", "flashinfer/decode.py"))
	if len(got.Do) < 2 || !strings.Contains(got.Do[1], "--attention-backend triton") {
		t.Errorf("%s: steps %q; the second must leave FlashInfer out", got.Cause, got.Do)
	}
}
