package triage

import (
	"strings"
	"testing"
)

// TestMisread: lines that look like another fault than theirs. Each expects the blame, the cause and words of the first
// step, or of the sentence, that only the right reading has.
func TestMisread(t *testing.T) {
	const frame = "frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x57 (0x7f6c4bb4b4d7 in /venv/libc10.so)\n"
	for name, c := range map[string]struct {
		log   string
		blame Blame
		cause string
		words string
	}{
		"frame of C++":           {frame, Unknown, NothingFound, "Nothing found"},
		"frame of a rank":        {"[rank3]:" + frame, Unknown, NothingFound, "Nothing found"},
		"frame behind torchrun":  {"[default3]:" + frame, Unknown, NothingFound, "Nothing found"},
		"frame below its error":  {"  what():  CUDA error: unknown error\n" + frame, Unknown, "cuda-unknown-error", "999"},
		"make's error 1":         {"make[2]: *** [x.dir/build.make:90: x.dir/my-cuda.cu.o] Error 1\n", Unknown, NothingFound, ""},
		"make's error 2":         {"make: *** [Makefile:12: /src/cuda/foo.cu.o] Error 2\n", Unknown, NothingFound, ""},
		"CUDA's own error 2":     {"CUDA error 2 at my.cu:12: out of memory\n", Unknown, "cuda-out-of-memory", "memory"},
		"kernels not compiled":   {tensorFlow("12.0", "CUDA_ERROR_INVALID_HANDLE"), Environment, "gpu-arch-missing", "no machine code"},
		"handle without notice":  {"'cuEventRecord(e, s)' failed with 'CUDA_ERROR_INVALID_HANDLE'\n", Program, "invalid-resource-handle", "stream"},
		"lengths on the GPU":     {traced("pack(x, l)", "RuntimeError: 'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor", "torch/nn/utils/rnn.py"), Program, "tensors-on-different-devices", "lengths.cpu()"},
		"lengths in other words": {"RuntimeError: lengths should be a CPU tensor\n", Program, "tensors-on-different-devices", "lengths.cpu()"},
		"indices on the GPU":     {"RuntimeError: boxes must be on CPU, got cuda:0\n", Program, "tensors-on-different-devices", ".cpu()"},
		"CDI that is not read":   {"Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=all\n", Environment, "cdi-device-missing", "cdiVersion"},
		"wheel that is guessed":  {"Guessing wheel URL:  https://github.com/o/r/releases/download/v2/x-cp313-linux_x86_64.whl\nurllib.error.HTTPError: HTTP Error 404: Not Found\n", Environment, "address-not-there", "take one that the project publishes"},
		"service out of memory":  {"systemd[1]: llama.service: A process of this unit has been killed by the OOM killer.\n", Program, "host-out-of-memory", "main memory"},
		"result of that":         {"Oct 02 03:11:22 n7 systemd[1]: llama.service: Failed with result 'oom-kill'.\n", Program, "host-out-of-memory", "main memory"},
		"no compiler for C++":    {"gcc: fatal error: cannot execute 'cc1plus': execvp: No such file or directory\n", Environment, "build-tool-missing", "g++"},
		"no compiler, by CMake": {"CMake Error at CMakeDetermineCompilerId.cmake:814 (message):\n  Compiling the CUDA compiler identification source file\n" +
			"  \"CMakeCUDACompilerId.cu\" failed.\n\n  gcc: fatal error: cannot execute ‘cc1plus’: execvp: No such file or directory\n",
			Environment, "build-tool-missing", "g++"},
		"processor, as Python says":  {"ImportError: CPU does not have minimum vector extensions\n", Environment, "processor-too-old", "lscpu"},
		"DLL that a DLL needs":       {`Error loading "C:\v\capi\onnxruntime_providers_cuda.dll" which depends on "cublasLt64_12.dll" which is missing. (Error 126)` + "\n", Environment, "cuda-library-not-found", "nvidia-cublas-cu12"},
		"the same, by ONNX Runtime":  {`2024-11-02 10:11:12.1 [E:onnxruntime:Default, provider_bridge_ort.cc:1862] [ONNXRuntimeError] : 1 : FAIL : Error loading "C:\v\onnxruntime_providers_cuda.dll" which depends on "cublasLt64_12.dll" which is missing. (Error 126: "The specified module could not be found.")` + "\n", Environment, "cuda-library-not-found", "nvidia-cublas-cu12"},
		"NaN in sampling, on a GPU":  {"TensorCompare.cu:112: _assert_async_cuda_kernel: block: [0,0,0], thread: [0,0,0] Assertion `probability tensor contains either `inf`, `nan` or element < 0` failed.\n", Program, "nan-in-probabilities", "logits"},
		"spawn without an address":   {"  File \"/v/site-packages/torch/multiprocessing/spawn.py\", line 90, in _wrap\nValueError: Error initializing torch.distributed using env:// rendezvous: environment variable MASTER_ADDR expected, but not set\n", Program, "spawned-without-address", "before spawn"},
		"no launcher":                {"ValueError: Error initializing torch.distributed using env:// rendezvous: environment variable MASTER_ADDR expected, but not set\n", Environment, "not-started-by-launcher", "torchrun"},
		"key of another module":      {"insmod: ERROR: could not insert module gdrdrv.ko: Required key not available\n", Environment, "module-not-signed", "take a gdrdrv"},
		"key of NVIDIA's own module": {"modprobe: ERROR: could not insert 'nvidia': Required key not available\n", Environment, "module-not-signed", "mokutil"},
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

// tensorFlow is a log of TensorFlow's on a GPU of a capability for which it has no machine code.
func tensorFlow(capability, status string) string {
	return "2025-03-01 10:00:00.1: W tensorflow/core/common_runtime/gpu/gpu_device.cc:2432] TensorFlow was not built with CUDA " +
		"kernel binaries compatible with compute capability " + capability + ". CUDA kernels will be jit-compiled from PTX, " +
		"which could take 30 minutes or longer.\ntensorflow.python.framework.errors_impl.InternalError: {{function_node " +
		"__wrapped__Cast_device_/job:localhost/replica:0/task:0/device:GPU:0}} 'cuLaunchKernel(function, gridX, 1, stream)' " +
		"failed with '" + status + "' [Op:Cast] name:\n"
}
