package logs

import (
	"strings"
	"testing"
)

// TestMisread checks lines that look like another fault. Each case expects the blame, the cause, and words of the first
// step or the sentence that only the right reading has.
func TestMisread(t *testing.T) {
	const frame = "frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x57 (0x7f6c4bb4b4d7 in /venv/libc10.so)\n"
	for name, c := range map[string]struct {
		log   string
		blame Blame
		cause string
		words string
	}{
		"10 is not zero GPUs":     {"Error: job 10 on CUDA stream was refused\n", Unknown, NothingFound, "None of the errors"},
		"13.0.1 is not zero GPUs": {"Error: mylib 13.0.1, but CUDA.jl was precompiled for CUDA 13.2.1.\n", Environment, "installation-incomplete", "does not fit"},
		"0x0 is not zero GPUs":    {"Error: buffer 0x0 of CUDA stream is bad\n", Unknown, NothingFound, "None of the errors"},
		"job 0 is not zero GPUs":  {"Error: job 0 on CUDA stream was refused\n", Unknown, NothingFound, "None of the errors"},
		"0 GPUs":                  {"Error: found 0 NVIDIA GPUs\n", Environment, "no-gpu-visible", "No GPU was found"},
		"frame of C++":            {frame, Unknown, NothingFound, "Nothing found"},
		"frame of a rank":         {"[rank3]:" + frame, Unknown, NothingFound, "Nothing found"},
		"frame behind torchrun":   {"[default3]:" + frame, Unknown, NothingFound, "Nothing found"},
		"frame below its error":   {"  what():  CUDA error: unknown error\n" + frame, Unknown, "cuda-unknown-error", "999"},
		"make's error 1":          {"make[2]: *** [x.dir/build.make:90: x.dir/my-cuda.cu.o] Error 1\n", Unknown, NothingFound, ""},
		"make's error 2":          {"make: *** [Makefile:12: /src/cuda/foo.cu.o] Error 2\n", Unknown, NothingFound, ""},
		"CUDA's own error 2":      {"CUDA error 2 at my.cu:12: out of memory\n", Unknown, "cuda-out-of-memory", "memory"},
		"kernels not compiled":    {tensorFlow("12.0", "CUDA_ERROR_INVALID_HANDLE"), Environment, "gpu-arch-missing", "no machine code"},
		"handle without notice":   {"'cuEventRecord(e, s)' failed with 'CUDA_ERROR_INVALID_HANDLE'\n", Program, "invalid-resource-handle", "stream"},
		"lengths on the GPU":      {traced("pack(x, l)", "RuntimeError: 'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor", "torch/nn/utils/rnn.py"), Program, "tensors-on-different-devices", "lengths.cpu()"},
		"lengths in other words":  {"RuntimeError: lengths should be a CPU tensor\n", Program, "tensors-on-different-devices", "lengths.cpu()"},
		"indices on the GPU":      {"RuntimeError: boxes must be on CPU, got cuda:0\n", Program, "tensors-on-different-devices", ".cpu()"},
		"CDI that is not read":    {"Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=all\n", Environment, "cdi-device-missing", "cdiVersion"},
		"wheel that is guessed":   {"Guessing wheel URL:  https://github.com/o/r/releases/download/v2/x-cp313-linux_x86_64.whl\nurllib.error.HTTPError: HTTP Error 404: Not Found\n", Environment, "address-not-there", "take one that the project publishes"},
		"service out of memory":   {"systemd[1]: llama.service: A process of this unit has been killed by the OOM killer.\n", Program, "host-out-of-memory", "main memory"},
		"result of that":          {"Oct 02 03:11:22 n7 systemd[1]: llama.service: Failed with result 'oom-kill'.\n", Program, "host-out-of-memory", "main memory"},
		"compiler that a shell says was killed": {"/bin/bash: line 1:   367 Killed                  cicc --c++17 --gnu_version=90400\n" +
			"ninja: build stopped: subcommand failed.\n", Environment, "build-out-of-memory", "MAX_JOBS"},
		"part that was not compiled": {"Traceback (most recent call last):\n  File \"/src/vllm/vllm/_custom_ops.py\", line 3, in rms_norm\n    vllm_ops.rms_norm(out, x)\n" +
			"NameError: name 'vllm_ops' is not defined\n", Unknown, NothingFound, "issues of vllm"},
		"call of a clone that does not fit": {"Traceback (most recent call last):\n  File \"/src/sglang/python/sglang/srt/topk.py\", line 3, in topk\n    return moe_fused_gate(\n" +
			"TypeError: moe_fused_gate() takes 5 positional arguments but 7 were given\n", Environment, "packages-do-not-fit", "newer sglang"},
		"operator of another release": {traced("self._op(*args)", "RuntimeError: flurb::plan() expected at most 15 argument(s) but received 16 argument(s). Declaration: flurb::plan(Tensor _0) -> Tensor _0", "sglang/backend.py"),
			Environment, "packages-do-not-fit", "issues of sglang"},
		"operator that asks for too much": {traced("op()", "RuntimeError: Wrapper::Plan(at::Tensor, float)::<lambda()>::<lambda()> failed to dispatch head_dim 96", "flashinfer/decode.py"),
			Program, "program-exception", "\"RuntimeError Wrapper::Plan failed to dispatch head_dim 96\""},
		"runtime without a call": {"Error: preparing container 3e41 for attach: crun: fsopen_mount `tmpfs`: Function not implemented: OCI runtime error\n", Environment, "container-runtime-failed", "--runtime runc"},
		"socket of a service": {"level=warning msg=\"Error signaling containerd, attempt 5/6: unable to dial: dial unix /runtime/sock-dir/containerd.sock: connect: no such file or directory\"\n",
			Environment, "service-failed", "sudo ss -xlp"},
		"socket that came": {"level=warning msg=\"unable to dial: dial unix /run/c.sock: connect: no such file or directory\"\n" + strings.Repeat("level=info msg=\"watching\"\n", 30),
			Unknown, NothingFound, ""},
		"driver's library of a Rust program": {"Unable to dynamically load the \"cuda\" shared library - searched for library names: [\"cuda\", \"nvcuda\"]\n", Environment, "libcuda-not-found", "/usr/lib/wsl/lib"},
		"proxy that answered": {traced("assert res.status_code == 200", "AssertionError: res=<Response [503]>, res.text='<!DOCTYPE html PUBLIC \"-//W3C//DTD HTML 4.01//EN\">'", "sglang/server.py"),
			Environment, "node-not-reached", "no_proxy"},
		"server that answered": {traced("assert res.status_code == 200", "AssertionError: res=<Response [503]>, res.text='{\"error\": 1}'", "sglang/server.py"),
			Program, "program-exception", "issues of sglang"},
		"driver that runs": {"kernel: NVRM: GPU1 kbifCacheVFInfo_GB100: Unable to read NV_PF0_INITIAL_AND_TOTAL_VFS\n" +
			"kernel: NVRM: Xid (PCI:0000:1a:00): 137, RLW_RXPIPE interrupt hit on link 11\n", Unknown, "xid-ambiguous", "another Xid"},
		"driver that does not":     {"kernel: NVRM: GPU1 kbifCacheVFInfo_GB100: Unable to read NV_PF0_INITIAL_AND_TOTAL_VFS\n", Environment, "driver-not-loaded", "own reason"},
		"backend that is built in": {"load_backend: failed to find ggml_backend_init in /b/libggml-hip.so\nload_backend: failed to find ggml_backend_init in /b/libggml-cpu.so\n", Unknown, NothingFound, ""},
		"part that is left out": {"Skipping import of cpp extensions: /v/torchao/_C.abi3.so: undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationE\n" +
			"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 114.00 MiB. GPU 0 has a total capacity of 15.58 GiB of which 54.38 MiB is free.\n",
			Program, "out-of-memory", ""},
		"disk full, as pip says": {"error: subprocess-exited-with-error\nERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\n",
			Environment, "disk-full", ""},
		"GPU of a kernel that failed": {"RuntimeError: CUDA error: an illegal memory access was encountered\n" +
			"RuntimeError: CUDA error: CUDA-capable device(s) is/are busy or unavailable\n", Unknown, "illegal-memory-access", "same input twice"},
		"no compiler for C++": {"gcc: fatal error: cannot execute 'cc1plus': execvp: No such file or directory\n", Environment, "build-tool-missing", "g++"},
		"no compiler, by CMake": {"CMake Error at CMakeDetermineCompilerId.cmake:814 (message):\n  Compiling the CUDA compiler identification source file\n" +
			"  \"CMakeCUDACompilerId.cu\" failed.\n\n  gcc: fatal error: cannot execute ‘cc1plus’: execvp: No such file or directory\n",
			Environment, "build-tool-missing", "g++"},
		"processor, as Python says":  {"ImportError: CPU does not have minimum vector extensions\n", Environment, "processor-too-old", "lscpu"},
		"DLL that a DLL needs":       {`Error loading "C:\v\capi\onnxruntime_providers_cuda.dll" which depends on "cublasLt64_12.dll" which is missing. (Error 126)` + "\n", Environment, "cuda-library-not-found", "nvidia-cublas-cu12"},
		"the same, by ONNX Runtime":  {`2024-11-02 10:11:12.1 [E:onnxruntime:Default, provider_bridge_ort.cc:1862] [ONNXRuntimeError] : 1 : FAIL : Error loading "C:\v\onnxruntime_providers_cuda.dll" which depends on "cublasLt64_12.dll" which is missing. (Error 126: "The specified module could not be found.")` + "\n", Environment, "cuda-library-not-found", "nvidia-cublas-cu12"},
		"NaN in sampling, on a GPU":  {"TensorCompare.cu:112: _assert_async_cuda_kernel: block: [0,0,0], thread: [0,0,0] Assertion `probability tensor contains either `inf`, `nan` or element < 0` failed.\n", Program, "nan-in-probabilities", "logits"},
		"spawn without an address":   {"  File \"/v/site-packages/torch/multiprocessing/spawn.py\", line 90, in _wrap\nValueError: Error initializing torch.distributed using env:// rendezvous: environment variable MASTER_ADDR expected, but not set\n", Program, "spawned-without-address", "before spawn"},
		"make's error, cut off":      {"/cuda/foo.cu.o] Error 2\n", Unknown, NothingFound, ""},
		"make's error, passed over":  {"make: [Makefile:12: cuda] Error 2 (ignored)\n", Unknown, NothingFound, ""},
		"command that failed":        {"subprocess.CalledProcessError: Command '['/usr/local/cuda/bin/nvcc', '-V']' returned non-zero exit status 2.\n", Unknown, NothingFound, ""},
		"wheel, and no traceback":    {"Guessing wheel URL:  https://github.com/o/r/releases/download/v2/x.whl\nerror: HTTP Error 404: Not Found\n", Environment, "address-not-there", "project publishes"},
		"no compiler, in old words":  {"gcc: error trying to exec 'cc1plus': execvp: No such file or directory\n", Environment, "build-tool-missing", "g++"},
		"no AVX, as TensorFlow says": {"The TensorFlow library was compiled to use AVX instructions, but these aren't available on your machine.\n", Environment, "processor-too-old", "lscpu"},
		"handed on": {traced("return func(*args, **kwargs)", "TypeError: FluxModel.forward() got an unexpected keyword argument 'image_emb'", "torch/amp/autocast_mode.py"),
			Unknown, NothingFound, ""},
		"handed on to a function": {traced("return func(*args, **kwargs)", "TypeError: save() got an unexpected keyword argument 'is_best'", "torch/amp/autocast_mode.py"),
			Program, "program-exception", "compare the call"},
		"a wrapper's names": {"RuntimeError: Error(s) in loading state_dict for Net:\n\tMissing key(s) in state_dict: \"_orig_mod.fc.weight\". \n", Program,
			"checkpoint-does-not-fit", "model._orig_mod"},
		"kernels of its own": {"ImportError: /nndet/_C.cpython-38-x86_64-linux-gnu.so: undefined symbol: _Z8nms_cudaRKN2at6TensorES2_f\n", Environment,
			"extension-without-cuda", "nvcc"},
		"built where it lies": {"ImportError: /code/lib/model/_C.cpython-36m-x86_64-linux-gnu.so: undefined symbol: _ZN3c105ErrorC1ENS_14SourceLocationERKSs\n",
			Environment, "extension-mismatch", "setup.py"},
		"driver of Windows": {"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\nLinux version 5.4.91-microsoft-standard-WSL2\n",
			Environment, "driver-not-loaded", "in Windows"},
		"driver of Linux": {"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\nLinux version 5.4.91-generic\n",
			Environment, "driver-not-loaded", "doctor"},
		"headers, below DKMS's word": {"Consult /var/lib/dkms/nvidia/525.89.02/build/make.log for more information.\n==> ERROR: Missing 6.2.1-zen1-1-zen kernel headers for module nvidia/525.89.02.\n",
			Environment, "module-not-built", "install the headers"},
		"NVML on the host": {"OCI runtime create failed: error running hook #0: exit status 1, stdout: , stderr: Auto-detected mode as 'legacy'\n" +
			"nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot open shared object file: no such file or directory: unknown.\n",
			Environment, "container-driver-libs-missing", "on the host"},
		"cuDNN of a wheel": {"[ONNXRuntimeError] : 1 : FAIL : Failed to load library libonnxruntime_providers_cuda.so with error: libcudnn_adv.so.9: cannot open shared object file: No such file or directory\n",
			Environment, "cudnn-not-found", "preload_dlls"},
		"Triton's C": {"CalledProcessError: Command '['/usr/bin/gcc', '/tmp/t/main.c', '-o', '/tmp/t/cuda_utils.so', '-lcuda']' returned non-zero exit status 1.\n",
			Environment, "stub-not-compiled", "by itself"},
		"a configuration": {traced("raise OLMoConfigurationError(text)", "olmo.exceptions.OLMoConfigurationError: DDP does not work with init_device set to anything other than `cuda`."),
			Program, "program-exception", "change the configuration"},
		"DLL of several CUDAs": {`Error loading "C:\v\onnxruntime_providers_cuda.dll" which depends on "cudnn64_9.dll" which is missing.` + "\n", Environment, "cuda-library-not-found", "nvidia-cudnn-cu12"},
		"spawn without a rank": {"  File \"/v/site-packages/torch/multiprocessing/spawn.py\", line 90, in _wrap\nValueError: Error initializing torch.distributed using env:// rendezvous: environment variable RANK expected, but not set\n", Program, "spawned-without-address", "its rank and world_size"},
		"frame of ATen":        {"[default3]: frame #1: at::native::foo(at::Tensor const&) + 0x42 (0x1 in /x/libtorch_cuda.so)\n", Unknown, NothingFound, "Nothing found"},
		"indices on the CPU":   {"RuntimeError: indices should be either on cpu or on the same device as the indexed tensor (cpu)\n", Program, "tensors-on-different-devices", ""},
		"code that is compiled late": {"W0000 gpu_device.cc:2432] TensorFlow was not built with CUDA kernel binaries compatible with compute capability 12.0. CUDA kernels will be jit-compiled from PTX, which could take 30 minutes or longer.\nEpoch 1/2\n1875/1875 - 9s\nEpoch 2/2\n1875/1875 - 8s\n",
			None, EndedWell, ""},
		"no launcher":                {"ValueError: Error initializing torch.distributed using env:// rendezvous: environment variable MASTER_ADDR expected, but not set\n", Environment, "not-started-by-launcher", "torchrun"},
		"key of another module":      {"insmod: ERROR: could not insert module gdrdrv.ko: Required key not available\n", Environment, "module-not-signed", "take a gdrdrv"},
		"key of NVIDIA's own module": {"modprobe: ERROR: could not insert 'nvidia': Required key not available\n", Environment, "module-not-signed", "mokutil"},
		"JSON is no wheel": {"Traceback (most recent call last):\n  File \"refine.py\", line 262, in <module>\n    main()\n" +
			"TypeError: Object of type int64 is not JSON serializable\n", Program, "program-exception", "refine.py"},
		"status by a kernel's file":  {"Error named symbol not found at line 449 in file /src/csrc/ops.cu\n", Unknown, "symbol-not-in-module", ""},
		"attention that is tried":    {"[fa_utils.py:68] Cannot use FA version 2 is not supported due to FA2 is only supported on devices with compute capability >= 8\n", Unknown, NothingFound, ""},
		"steps for another program":  {"RuntimeError: CUDA error: invalid device context at /home/u/a.cc\n", Program, "cuda-context-missing", "create a context in each thread"},
		"OpenCV has no code":         {"OpenCV(4.8.0) /src/modules/core/gpu_mat.cu:116: error: (-217:Gpu API call) no kernel image is available for execution on the device in function 'copy'\n", Environment, "gpu-arch-missing", "CUDA_ARCH_BIN"},
		"target that was dropped":    {"nvcc fatal   : Unsupported gpu architecture 'compute_35'\n", Environment, "toolkit-too-old-for-gpu", "CUDA 11.8 was the last"},
		"target that is newer":       {"nvcc fatal   : Unsupported gpu architecture 'compute_120'\n", Environment, "toolkit-too-old-for-gpu", "which -a nvcc"},
		"target of a family":         {"nvcc fatal   : Unsupported gpu architecture 'compute_120f'\n", Environment, "toolkit-too-old-for-gpu", "CUDA 12.9 is the first"},
		"target that is a word":      {"nvcc fatal   : Unsupported gpu architecture 'compute_native'\n", Environment, "toolkit-too-old-for-gpu", "-arch=native"},
		"driver's library, no link":  {"AssertionError: libcuda.so cannot found!\nPossible files are located at ['/lib64/libcuda.so.1'].Please create a symlink of libcuda.so to any of the file.\n", Environment, "libcuda-not-found", "ln -s /lib64/libcuda.so.1 /lib64/libcuda.so"},
		"job that somebody ended":    {"slurmstepd: error: *** JOB 21389574 ON nid001 CANCELLED AT 2024-05-02T11:12:13 ***\n", Unknown, "job-cancelled", "sacct -j 21389574"},
		"job whose time was up":      {"slurmstepd: error: *** JOB 21389574 ON nid001 CANCELLED AT 2024-05-02T11:12:13 DUE TO TIME LIMIT ***\n", Environment, "job-time-limit", "#SBATCH --time"},
		"shell without conda":        {"CommandNotFoundError: Your shell has not been properly configured to use 'conda activate'.\n", Environment, "conda-not-in-shell", "conda.sh"},
		"driver that does not reply": {"[ 1093.1] nvidia-modeset: ERROR: GPU:0: Idling display engine timed out: 0x0000c67d:0:0:1128\n", Unknown, "driver-reports-fault", "dmesg"},
		"no network for a download": {"Traceback (most recent call last):\n  File \"train.py\", line 3, in <module>\n    m = resnet()\n" +
			"  File \"/v/lib/python3.10/site-packages/torch/hub.py\", line 5, in load_state_dict_from_url\n    download_url_to_file(url)\n" +
			"OSError: [Errno 101] Network is unreachable\n", Environment, "node-not-reached", "could not be downloaded"},
		"no code on a Jetson": {"Linux ubuntu 5.15.148-tegra aarch64\nRuntimeError: CUDA error: no kernel image is available for execution on the device\n",
			Environment, "gpu-arch-missing", "JetPack"},
		"target without a GPU":          {"nvcc fatal   : Unsupported gpu architecture 'compute_No CUDA devices found.'\n", Environment, "toolkit-too-old-for-gpu", "there is none"},
		"gradient that comes twice":     {"RuntimeError: Expected to mark a variable ready only once. This error is caused by one of the following reasons: 1) Use of a module parameter outside the `forward` function.\n", Program, "ddp-unused-parameters", "drop find_unused_parameters=True"},
		"ptxas of another toolkit":      {"ptxas /tmp/tmpxft_001b35eb_00000000-6_grid.ptx, line 9; fatal   : Unsupported .version 7.7; current version is '7.6'\n", Environment, "ptxas-older-than-compiler", "which -a nvcc ptxas"},
		"memory that was not asked for": {"slurmstepd: error: Detected 1 oom_kill event in StepId=87754.0. Some of the step tasks have been OOM Killed.\n", Program, "host-out-of-memory", "#SBATCH --mem"},
		"run after another": {"Traceback (most recent call last):\n  File \"train.py\", line 30, in <module>\n    load()\ntorch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.96 GiB.\n" +
			"Traceback (most recent call last):\n  File \"train.py\", line 40, in <module>\n    main()\nKeyError: 'lr'\n", Program, "program-exception", "KeyError"},
		"handled in one run": {"Traceback (most recent call last):\n  File \"train.py\", line 30, in <module>\n    load()\n" +
			"torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.96 GiB.\n\nDuring handling of the above exception, another exception occurred:\n\n" +
			"Traceback (most recent call last):\n  File \"train.py\", line 40, in <module>\n    main()\nKeyError: 'lr'\n", Program, "out-of-memory", "memory"},
		"edited, and broken": {"Traceback (most recent call last):\n  File \"train.py\", line 30, in <module>\n    load()\n" +
			"torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.96 GiB.\n" +
			"  File \"train.py\", line 32\n    x = = 1\n        ^\nSyntaxErrorSyntaxError: : invalid syntaxinvalid syntax\n", Program, "program-exception", "train.py, line 32"},
		"wheel that was built": {"Created build tracker: /tmp/pip-build-tracker-x\n  Running command Preparing metadata (pyproject.toml)\n" +
			"  No CUDA runtime is found, using CUDA_HOME='/usr/local/cuda'\n  Building wheel for x (pyproject.toml): finished with status 'done'\n" +
			"Successfully built x\nBUILD_EXIT_CODE=0\n", None, EndedWell, "work done"},
		"wheel that was not": {"Created build tracker: /tmp/pip-build-tracker-x\n  Running command Preparing metadata (pyproject.toml)\n" +
			"  No CUDA runtime is found, using CUDA_HOME='/usr/local/cuda'\n  error: subprocess-exited-with-error\n",
			Environment, "no-gpu-at-build", "TORCH_CUDA_ARCH_LIST"},
		"tests that passed": {"INFO ready\n----------------------------------------\nRan 1 test in 1590.668s\n\nOK\n", None, EndedWell, "work done"},
		"tests that failed": {"----------------------------------------\nRan 1 test in 1590.668s\n\nFAILED (errors=1)\n", Unknown, NothingFound, "Nothing"},
		"run before the last": {"ValueError: Free memory on device (13.58/15.99 GiB) on startup is less than desired GPU memory utilization (0.85, 13.59 GiB).\n" +
			"INFO:     Application startup complete.\n" + strings.Repeat("INFO:     1.2.3.4:5 - \"POST /v1/completions HTTP/1.1\" 200 OK\n", 12) + "INFO:     Shutting down\n" +
			"INFO:     Application shutdown complete.\n", None, EndedWell, "errors before"},
		"error after the start": {"INFO:     Application startup complete.\nCUDA Error: out of memory at /w/csrc/cumem_allocator.cpp:139\n" +
			"INFO:     Shutting down\nINFO:     Application shutdown complete.\n", Unknown, "cuda-out-of-memory", ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := explain(t, c.log)
			said := strings.Join(append([]string{d.Because, d.Why}, d.Do...), "\n")
			if d.Blame != c.blame || d.Cause != c.cause || !strings.Contains(said, c.words) {
				t.Errorf("%s, %s: %s\nwant %s, %s: … %s …", d.Blame, d.Cause, said, c.blame, c.cause, c.words)
			}
		})
	}
}

// tensorFlow returns a TensorFlow log from a GPU whose capability has no machine code.
func tensorFlow(capability, status string) string {
	return "2025-03-01 10:00:00.1: W tensorflow/core/common_runtime/gpu/gpu_device.cc:2432] TensorFlow was not built with CUDA " +
		"kernel binaries compatible with compute capability " + capability + ". CUDA kernels will be jit-compiled from PTX, " +
		"which could take 30 minutes or longer.\ntensorflow.python.framework.errors_impl.InternalError: {{function_node " +
		"__wrapped__Cast_device_/job:localhost/replica:0/task:0/device:GPU:0}} 'cuLaunchKernel(function, gridX, 1, stream)' " +
		"failed with '" + status + "' [Op:Cast] name:\n"
}
