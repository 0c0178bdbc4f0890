package logs

import (
	"strings"
	"testing"
)

// traced returns a traceback that ends in a file of the program's own, or in a distribution below it.
func traced(source, raised string, theirs ...string) string {
	log := "Traceback (most recent call last):\n  File \"/app/run.py\", line 7, in main\n    " + source + "\n"
	for _, path := range theirs {
		log += "  File \"/venv/lib/python3.11/site-packages/" + path + "\", line 3, in f\n    " + source + "\n"
	}
	return log + raised + "\n"
}

// TestTold checks that an exception's answer names what its calls and the line above it show, and the matching advice.
func TestTold(t *testing.T) {
	for name, c := range map[string]struct{ log, cause, because, step string }{
		"unpacked shape": {traced("B, C, L = x.shape", "ValueError: not enough values to unpack (expected 3, got 2)"),
			"shape-mismatch", "not enough values to unpack", "look at run.py, line 7, the last line of your own code"},
		"unpacked pair": {traced("a, b = pair", "ValueError: not enough values to unpack (expected 2, got 1)"),
			"program-exception", "not enough values", "count the values on both sides of the = sign"},
		"file to write": {traced("with open(path, 'w') as f:",
			"FileNotFoundError: [Errno 2] No such file or directory: 'out/run/log.json'"),
			"directory-missing", "is to be written does not exist", "mkdir -p"},
		"file to read": {traced("with open(path) as f:",
			"FileNotFoundError: [Errno 2] No such file or directory: 'out/run/log.json'"),
			"file-not-found", "could not be read", "ls -l"},
		"option": {traced("feature(args.N_f)", "AttributeError: 'Namespace' object has no attribute 'N_f'"),
			"option-not-declared", "reads the option N_f", "add_argument('--N_f', …)"},
		"one package asks another": {traced("from trl import GRPOTrainer",
			"ImportError: cannot import name 'TOTAL_MEMORY' from 'distributed.worker' (/venv/lib/distributed/worker.py)",
			"dask_cuda/__init__.py"),
			"packages-do-not-fit", "dask_cuda asks distributed for TOTAL_MEMORY", "install the release of distributed"},
		"one package calls another": {traced("config()",
			"TypeError: load() missing 1 required positional argument: 'Loader'", "dask/config.py"),
			"packages-do-not-fit", "dask was written for another release", "install a newer dask"},
		"release without a part": {traced("import comfy_extras.nodes_compositing",
			"ModuleNotFoundError: No module named 'comfy_extras.nodes_compositing'"),
			"module-not-in-release", "comfy_extras is installed, but not in a release", "comfy_extras.__file__"},
		"syntax": {"  File \"/app/test_jax.py\", line 4\n    \n        ^\nSyntaxError: unexpected EOF while parsing\n",
			"program-exception", "unexpected EOF", "look at test_jax.py, line 4: close the bracket"},
		"no tensor": {traced("cursor.executemany(rows)",
			"sqlite3.OperationalError: table predictions has 11 columns but 7 values were supplied"),
			"program-exception", "11 columns", "print what is passed there"},
		"number types": {traced("self.conv(x)",
			"RuntimeError: Input type (c10::Half) and bias type (float) should be the same"),
			"dtype-mismatch", "met in one operation: Half and float.", "cast the one"},
		"longer than positions": {"RuntimeError: The size of tensor a (889) must match the size of tensor b (512) at " +
			"non-singleton dimension 1\n", "shape-mismatch", "longer than the 512 positions", "max_length=512"},
		"shorter than positions": {"RuntimeError: The size of tensor a (448) must match the size of tensor b (512) at " +
			"non-singleton dimension 1\n", "shape-mismatch", "have 448 and 512 entries", "print both shapes"},
		"extension of a wheel index": {"OSError: /venv/lib/python3.7/site-packages/torch_scatter/_scatter.so: undefined symbol: " +
			"_ZN5torch8autograd4Node20get_next_sequence_nrEv\n", "extension-mismatch", "torch_scatter was built for another",
			"pip install --no-deps --force-reinstall torch_scatter -f https://data.pyg.org/whl/"},
		"extension beside the packages": {"ImportError: /venv/lib/python3.8/dist-packages/flash_attn_2_cuda.cpython-38-x86_64-" +
			"linux-gnu.so: undefined symbol: _ZN3c104cuda9SetDeviceEi\n", "extension-mismatch", "flash-attn was built for",
			"--force-reinstall --no-binary flash-attn flash-attn`"},
		"extension that is on no index": {"ImportError: /venv/lib/python3.8/site-packages/detectron2/_C.cpython-38-x86_64-" +
			"linux-gnu.so: undefined symbol: _ZNK2at6Tensor7is_cudaEv\n", "extension-mismatch", "detectron2 was built for",
			"--no-deps --no-build-isolation --no-cache-dir --force-reinstall git+https://github.com/facebookresearch/detectron2`"},
		"extension by its other name": {"ImportError: /venv/lib/python3.8/site-packages/flashinfer/_k.cpython-38-x86_64-linux-gnu.so: " +
			"undefined symbol: _ZNK2at6Tensor7is_cudaEv\n", "extension-mismatch", "flashinfer was built for",
			"--no-binary flashinfer-python flashinfer-python`"},
		"raised while another was handled": {traced("d[k]", "KeyError: 'flurb'") + "\nDuring handling of the above exception, " +
			"another exception occurred:\n\n" + traced("main()", "ZeroDivisionError: division by zero"),
			"program-exception", "division by zero", "why the divisor is 0"},
		"its direct cause": {traced("d[k]", "ZeroDivisionError: division by zero") + "\nThe above exception was the direct cause of " +
			"the following exception:\n\n" + traced("main()", "KeyError: 'flurb'"),
			"program-exception", "division by zero", "why the divisor is 0"},
		"the compiler's first error": {"/b/x.cu(12): error: identifier \"flurb\" is undefined\n1 error detected in the compilation " +
			"of \"/b/x.cu\".\nninja: build stopped: subcommand failed.\nERROR: Failed building wheel for x\n",
			"package-did-not-build", "A source file of a package does not compile", "ready wheel"},
		"raised in a checkout": {"Traceback (most recent call last):\n  File \"/code/ComfyUI/execution.py\", line 7, in run\n    " +
			"x[k]\nKeyError: 'flurb'\n", "program-exception", "flurb", "search the issues of ComfyUI"},
		"extension of the user's own": {"ImportError: knn.so: undefined symbol: _ZN3c105ErrorC1ENS_14SourceLocationERKSs\n",
			"extension-mismatch", "An extension was built for another", "of its name"},
		"features": {"RuntimeError: mat1 and mat2 shapes cannot be multiplied (863x1 and 11x5120)\n",
			"shape-mismatch", "takes 11 features, and its input has 1.", "in_features=1;"},
		"channels": {"RuntimeError: Given groups=1, weight of size [128, 3, 3, 3], expected input[3, 1, 512, 512] to have 3 " +
			"channels, but got 1 channels instead\n", "shape-mismatch", "takes 3 channels, and its input has 1.", "'RGB'"},
		"two cards": {"RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 " +
			"and cuda:1!\n", "tensors-on-different-devices", "are on cuda:0 and cuda:1.", "CUDA_VISIBLE_DEVICES=0"},
		"a tensor for numpy": {"TypeError: can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the " +
			"tensor to host memory first.\n", "tensors-on-different-devices", "NumPy cannot read", "tensor.detach().cpu().numpy()"},
		"versions by name": {"The installed Paddle is compiled with CUDNN 7.6, but CUDNN version in your machine is 7.5, " +
			"which may cause serious incompatible bug.\n",
			"version-mismatch", "built for cuDNN 7.6, but found cuDNN 7.5.", "install cuDNN 7.6"},
		"library of a wheel": {"ImportError: libcudart.so.12: cannot open shared object file: No such file or directory\n",
			"cuda-library-not-found", "libcudart.so.12 (the CUDA runtime of CUDA 12) was not found.",
			"pip install nvidia-cuda-runtime-cu12"},
	} {
		t.Run(name, func(t *testing.T) {
			d := explain(t, c.log)
			if d.Cause != c.cause || !strings.Contains(d.Because+" "+d.Why, c.because) ||
				!strings.Contains(strings.Join(d.Do, "\n"), c.step) {
				t.Errorf("%s: %s %s\n%s\nwant %s: … %s …\n… %s …", d.Cause, d.Because, d.Why, strings.Join(d.Do, "\n"),
					c.cause, c.because, c.step)
			}
		})
	}
}

// TestOfServer: a program that people run as it is gets its own options; one that learns, the steps for code.
func TestOfServer(t *testing.T) {
	const full = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of " +
		"23.65 GiB of which 1.10 GiB is free. Including non-PyTorch memory, this process has 22.50 GiB memory in use.\n"
	for name, c := range map[string]struct{ log, step, without string }{
		"vllm": {"(EngineCore_0 pid=7) ERROR [core.py:1006]   File \"/venv/lib/python3.12/site-packages/vllm/v1/engine/" +
			"core.py\", line 2, in run\n" + full, "--max-model-len", "loss.item()"},
		"comfyui":   {"To see the GUI go to: http://127.0.0.1:8188 (ComfyUI)\n" + full, "--lowvram", "loss.item()"},
		"inference": {"    out = model.generate(**inputs)\n" + full, "BitsAndBytesConfig", "loss.item()"},
		"training":  {"Epoch 1: loss.backward()\n    out = model.generate(**inputs)\n" + full, "loss.item()", "BitsAndBytes"},
		"tensorflow's notices in a log of PyTorch's": {"2024-01-01 W tensorflow/core/util: oneDNN is on\n" + full,
			"loss.item()", "set_memory_growth"},
		"a miner is no Python": {" miner Ethash 0.5.0\nNo OpenCL platforms found\n\nError: No usable mining devices found\n",
			"clinfo -l", "python"},
	} {
		t.Run(name, func(t *testing.T) {
			steps := strings.Join(explain(t, c.log).Do, "\n")
			if !strings.Contains(steps, c.step) || strings.Contains(steps, c.without) {
				t.Errorf("%s\nwant %q, not %q", steps, c.step, c.without)
			}
		})
	}
}

// TestWordsAlone holds that a failure of which only words are known is searched for and observed, and nothing is
// prescribed.
func TestWordsAlone(t *testing.T) {
	for name, c := range map[string]struct{ log, has string }{
		"a clause of the system": {"Error: starting flurbd: fork/exec /usr/bin/flurb of the node: no such file or directory\n", "of the node no such file"},
		"options":                {"flurb.py: error: unrecognized arguments: --opt-flurb --enable-flurb\n", "--help"},
		"no GPU, as Python says": {">>> torch.cuda.is_available()\nFalse\n", "torch.version.cuda"},
	} {
		if do := strings.Join(explain(t, c.log).Do, "\n"); !strings.Contains(do, c.has) {
			t.Errorf("%s: %s; want %q", name, do, c.has)
		}
	}
}

// TestHeadlessTraceback: calls that were pasted without the first line of their traceback tell whose code raised it,
// and a stack that a program logged does not.
func TestHeadlessTraceback(t *testing.T) {
	calls := "  File \"/venv/lib/python3.12/site-packages/sglang/srt/layers/attention/flashinfer_backend.py\", line 1216, in plan\n" +
		"    self._plan_info = self._cached_module.plan(\n" +
		"RuntimeError: batch_prefill::plan() expected at most 15 argument(s) but received 16 argument(s)\n"
	search := func(log string) bool {
		steps := explain(t, log).Do
		return len(steps) > 0 && strings.HasPrefix(steps[0], "search the issues of sglang")
	}
	if !search("the server ends with this:\n" + calls) {
		t.Errorf("%q", explain(t, calls).Do)
	}
	if search("Stack (most recent call last):\n" + calls) {
		t.Error("a stack that was logged is taken for a traceback")
	}
}

// TestResourceTracker: what multiprocessing's process for cleaning up cannot clean up is not what ended the program.
func TestResourceTracker(t *testing.T) {
	d := explain(t, traced("model.to(device)", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB")+
		"Traceback (most recent call last):\n  File \"/usr/lib/python3.10/multiprocessing/resource_tracker.py\", line 209, in main\n"+
		"    cache[rtype].remove(name)\nKeyError: '/mp-8f_f5ecf'\n")
	if d.Cause != "out-of-memory" {
		t.Errorf("%s", d.Cause)
	}
	only := explain(t, "Traceback (most recent call last):\n  File \"/usr/lib/python3.10/multiprocessing/resource_tracker.py\", line 209, in main\n"+
		"    cache[rtype].remove(name)\nKeyError: '/mp-8f_f5ecf'\n")
	if only.Blame == Program {
		t.Errorf("%s", only.Cause)
	}
}
