package logs

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"cudacompat/internal/logs/advise"
	"cudacompat/internal/logs/finding"
	"cudacompat/internal/logs/lint"
)

// needEvidence matches things that an unconditional step may name only if the line itself does.
var needEvidence = []*regexp.Regexp{regexp.MustCompile(`(?i)\b(?:py)?torch\b`), regexp.MustCompile(`VISIBLE_DEVICES`), regexp.MustCompile(`compute-sanitizer`)}

// TestStepsHaveEvidence checks that no step names torch, visible devices or compute-sanitizer, unless the row's line
// does or the step says which logs it is for. No step may force the reinstallation of something it does not name.
func TestStepsHaveEvidence(t *testing.T) {
	all, err := lint.Parse(today)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		for _, step := range s.Do {
			if err := advise.Check(step); err != nil {
				t.Errorf("%s: %v", s.ID, err)
			}
			if strings.Contains(step, "--force-reinstall") && !pinned.MatchString(step) {
				t.Errorf("%s: %q reinstalls without a version or an index", s.ID, step)
			}
			said := s.Positive + s.Pattern + s.Needs
			unproven := func(named *regexp.Regexp) bool {
				return named.MatchString(step) && !named.MatchString(said) && !(named == needEvidence[0] && ofTorchs.MatchString(said))
			}
			if !strings.Contains(step, advise.Mark) && slices.ContainsFunc(needEvidence, unproven) {
				t.Errorf("%s: %q names what its line does not: give it a \"for\"", s.ID, step)
			}
		}
	}
	for name, a := range finding.Book().Answers {
		for _, step := range a.Do {
			unproven := func(named *regexp.Regexp) bool { return named.MatchString(step) && !named.MatchString(a.Because) }
			if !strings.Contains(step, advise.Mark) && slices.ContainsFunc(needEvidence, unproven) {
				t.Errorf("answer %s: %q names what its sentence does not: give it a \"for\"", name, step)
			}
		}
	}
}

// ofTorchs matches a line that names a part of PyTorch, or a package built for one release of it.
var ofTorchs = regexp.MustCompile(`(?i)torch|c10|dgl|_OpNamespace`)

// pinned matches a command that says which release it installs, or from where.
var pinned = regexp.MustCompile(`==|--index-url|--find-links| -f |git\+|--no-binary| \./|VERSION|\{`)

// TestEvidence checks for which steps of a row or an answer a log has the evidence.
func TestEvidence(t *testing.T) {
	for name, c := range map[string]struct{ log, has, hasNot string }{
		"a leaf in place": {"RuntimeError: a leaf Variable that requires grad is being used in an in-place operation.\n", "under torch.no_grad()", "retain_graph"},
		"twice backward":  {"RuntimeError: Trying to backward through the graph a second time\n", "retain_graph", "no grad_fn, look"},
		"masks in colour": {"ValueError: Target size (torch.Size([1, 3, 256, 256])) must be the same as input size (torch.Size([1, 1, 256, 256]))\n", "grey", "last dimension"},
		"other classes":   {"ValueError: Target size (torch.Size([2, 32, 480, 640])) must be the same as input size (torch.Size([2, 20, 480, 640]))\n", "of the data, 32", "last dimension"},
		"CUDA 13's library beside torch of CUDA 12": {"Version: 2.11.0+cu126\nImportError: libcudart.so.13: cannot open shared object file: No such file or directory\n",
			"build of the program", "pip install nvidia-cuda-runtime"},
		"CUDA 13's library": {"ImportError: libcudart.so.13: cannot open shared object file: No such file or directory\n", "pip install nvidia-cuda-runtime", "flurb"},
		"Triton on Windows": {"  File \"C:\\ComfyUI\\nodes.py\", line 3, in f\n    g()\nValueError: Can't import SageAttention: No module named 'triton'\n", "triton-windows", "pip install triton`"},
		"bfloat16 on a T4": {"ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your Tesla T4 GPU has compute capability 7.5. " +
			"You can use float16 instead by explicitly setting the`dtype` flag in CLI, for example: --dtype=half.\n", "half", "search the issues"},
		"no device in a container": {"2020-07-27 19:44:03.826179: E tensorflow/stream_executor/cuda/cuda_driver.cc:313] failed call to cuInit: UNKNOWN ERROR (-1)\n" +
			"I tensorflow/stream_executor/cuda/cuda_diagnostics.cc:163] no NVIDIA GPU device is present: /dev/nvidia0 does not exist\n", "--gpus all", "INVALID_VALUE"},
		"toolkit and framework": {"Exception: >- DeepSpeed Op Builder: Installed CUDA version 12.0 does not match the version torch was compiled with 11.8, unable to\n",
			"toolkit of CUDA 11.8", "PyTorch 1"},
		"two copies of cuDNN": {"Could not load library libcudnn_cnn_train.so.8. Error: /opt/lib/libcudnn_ops_train.so.8 :undefined symbol: _ZN5cudnn3ops1fEv , version libcudnn_ops_infer.so.8\n",
			"one complete cuDNN", "pip install nvidia-cudnn"},
		"capability in the line": {"NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch installation.\n",
			"torchvision==0.26.0+cu128 --index-url https://download.pytorch.org/whl/cu128", "flurb"},
		"CUDA of the driver in the line": {"torch: RuntimeError: The NVIDIA driver on your system is too old (found version 12020).\n", "whl/cu126", "flurb"},
		"Blackwell's driver, and no GPU": {"torch: RuntimeError: The NVIDIA driver on your system is too old (found version 12080).\n",
			"if the GPU is Blackwell, run `python -m pip install torch==2.11.0+cu128", "run `python -m pip install torch==2.11.0+cu126 torchvision==0.26.0+cu126 --index-url https://download.pytorch.org/whl/cu126`: the driver offers CUDA 12.8\n"},
		"Blackwell's driver and GPU": {"|   0  NVIDIA GeForce RTX 5090        On  | 00000000:00:1E.0 Off |                    0 |\n" +
			"torch: RuntimeError: The NVIDIA driver on your system is too old (found version 12080).\n", "run `python -m pip install torch==2.11.0+cu128", "whl/cu126"},
		"interpreter of the traceback": {"  File \"/opt/venv/lib/python3.11/site-packages/torch/cuda/__init__.py\", line 412, in _lazy_init\n    torch._C._cuda_init()\n" +
			"RuntimeError: The NVIDIA driver on your system is too old (found version 12020).\n", "run `/opt/venv/bin/python -m pip install torch==", "`python"},
		"interpreter of the system": {"  File \"/usr/local/lib/python3.10/dist-packages/torch/cuda/__init__.py\", line 412, in _lazy_init\n    torch._C._cuda_init()\n" +
			"RuntimeError: The NVIDIA driver on your system is too old (found version 12020).\n", "run `python3.10 -m pip install torch==", "/usr/local/bin"},
		"two interpreters": {"  File \"/opt/a/lib/python3.11/site-packages/torch/cuda/__init__.py\", line 412, in f\n    g()\n  File \"/opt/b/lib/python3.11/site-packages/torch/cuda/__init__.py\", line 412, in f\n    g()\n" +
			"RuntimeError: The NVIDIA driver on your system is too old (found version 12020).\n", "run `python -m pip install torch==", "/opt/"},
		"no kernel image, and the GPU": {"|   0  NVIDIA A10G                    On  | 00000000:00:1E.0 Off |                    0 |\nfrom torch import x\n" +
			"torch.AcceleratorError: CUDA error: no kernel image is available for execution on the device\n", "TORCH_CUDA_ARCH_LIST=8.6", "if the GPU is new"},
		"family of the driver": {"torch: RuntimeError: The NVIDIA driver on your system is too old (found version 11040).\n", "torch==2.7.1", "cu12"},
		"Python in the log": {"File \"/opt/lib/python3.8/site-packages/torch/x.py\"\nNVIDIA A100 with CUDA capability sm_80 is not compatible with the current PyTorch installation.\n",
			"torch==2.4.1", "flurb"},
		"crash on Windows": {"BaseThreadInitThunk+20 (0x7FFD65EA7BD4)\nCUDA error 4: unspecified launch failure\n", "Event Viewer", "dmesg"},
		"a project's code in Colab": {"Traceback (most recent call last)\n[/usr/local/lib/python3.10/dist-packages/diffusers/pipelines/flux/pipeline_flux.py](https://localhost:8080/#) in prepare(batch, height)\n" +
			"--> 431         ids = ids + torch.arange(height)\n\nRuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!\n",
			"search the issues of diffusers", "flurb"},
		"a range of releases": {"Traceback (most recent call last):\n  File \"/opt/lib/python3.11/site-packages/xformers/ops/fmha/flash.py\", line 82, in <module>\n    raise ImportError(\n" +
			"ImportError: Requires Flash-Attention version >=2.7.1,<=2.8.2 but got 2.8.3.\n", "pip install 'flash-attn>=2.7.1,<=2.8.2'", "search"},
		"a runtime that is not there": {"docker: Error response from daemon: unable to retrieve OCI runtime error: fork/exec /usr/bin/nvidia-container-runtime: no such file or directory: unknown.\n",
			"NVIDIA Container Toolkit", "search"},
		"an argument inside NCCL": {"h:1:1 [4] include/shm.h:42 NCCL WARN Cuda failure 'invalid argument'\n", "NCCL_SHM_DISABLE=1", "negative sizes"},
		"a job that was requeued": {"slurmstepd: error: *** JOB 608 ON n CANCELLED AT 2022-08-12T02:06:12 DUE TO JOB REQUEUE ***\n", "checkpoints", "nvidia-smi"},
		"zlib of cuDNN":           {"Could not locate zlibwapi.dll. Please make sure it is in your library path!\n", "64-bit zlibwapi.dll", "Redistributable"},
		"own words":               {"FlurbError: the CUDA flurb is off. Please set FLURB_MODE=2 and start it again\n", "Please set FLURB_MODE=2", "nvidia-smi"},
		"TensorFlow's cuDNN":      {"F tensorflow/stream_executor/cuda/cuda_dnn.cc:222] Check failed: s.ok() could not find cudnnCreate in cudnn DSO; dlerror: /usr/x.so: undefined symbol: cudnnCreate\n", "on LD_LIBRARY_PATH", "unset LD_LIBRARY_PATH"},
	} {
		d := explain(t, c.log)
		do := strings.Join(d.Do, "\n")
		if !strings.Contains(do, c.has) || strings.Contains(do, c.hasNot) || strings.Contains(do, "\t") {
			t.Errorf("%s: %s: %q; want %q and no %q", name, d.Cause, d.Do, c.has, c.hasNot)
		}
	}
}
