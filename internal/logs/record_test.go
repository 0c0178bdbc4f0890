package logs

import (
	"context"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"cudacompat/internal/logs/decide"
	"cudacompat/internal/logs/finding"
	"cudacompat/internal/logs/logtext"
	"cudacompat/internal/logs/record"
	"cudacompat/internal/logs/scan"
	"cudacompat/internal/logs/signature"
	"cudacompat/internal/logs/traceback"
	"cudacompat/internal/tables"
)

// recorded lists lines of every kind of record, with their slots and the answer.
var recorded = []struct{ line, kind, slot, want, cause string }{
	{"ImportError: libcublasLt.so.12: cannot open shared object file: No such file or directory", "library",
		"library", "libcublasLt.so.12", "cuda-library-not-found"},
	{"tool: error while loading shared libraries: libfoo.so.3: cannot open shared object file", "library",
		"library", "libfoo.so.3", "shared-library-not-found"},
	{"OSError: libtorch_cuda_cu.so: cannot open shared object file: No such file or directory", "library",
		"library", "libtorch_cuda_cu.so", "extension-mismatch"},
	{"ImportError: x.so: undefined symbol: _ZN3c106detail14torchCheckFailEPKcS2_jS2_", "symbol", "symbol",
		"c10::detail::torchCheckFail", "extension-mismatch"},
	{"x.so: undefined symbol: cublasLtMatmulAlgoGetIds, version libcublasLt.so.12", "symbol", "what", "cuBLASLt",
		"cuda-library-older-than-build"},
	{"/lib/libc.so.6: version `GLIBC_2.32' not found (required by x.so)", "symbol-version", "set", "GLIBC",
		"glibc-too-old"},
	{"libefa.so.1: version `IBVERBS_PRIVATE_34' not found (required by /lib/libibverbs.so.1)", "symbol-version",
		"version", "IBVERBS_PRIVATE_34", "nccl-transport-libraries-mixed"},
	{"OSError: /opt/amazon/efa/lib/libfabric.so.1: version `FABRIC_1.7' not found (required by libplugin_LIBFABRIC.so)",
		"symbol-version", "version", "FABRIC_1.7", "nccl-transport-libraries-mixed"},
	{"a.cu:3:10: fatal error: cusparse.h: No such file or directory", "header", "what", "cuSPARSE",
		"cuda-headers-missing"},
	{"a.cc:3:10: fatal error: opencv2/core.hpp: No such file or directory", "header", "what", "opencv2",
		"header-not-found"},
	{"flurb.cpp:3:7: error: expected ';' before '}' token", "compile-host", "", "", "kernel-source"},
	{"a.obj : error LNK2019: unresolved external symbol \"void __cdecl cv::flurb(int)\" referenced in main", "unresolved",
		"what", "OpenCV", "package-did-not-build"},
	{"a.obj : error LNK2001: Nicht aufgel\u00f6stes externes Symbol __imp_cudaFlurb", "unresolved", "what",
		"the CUDA runtime", "package-did-not-build"},
	{"  \"_cblas_flurb\", referenced from:", "unresolved", "what", "BLAS", "package-did-not-build"},
	{"libflurb.so: undefined reference to `TIFFFlurb@LIBTIFF_4.0'", "unresolved", "what", "libtiff",
		"package-did-not-build"},
	{"nvlink error   : Undefined reference to '_Z5flurbPi' in 'a.o'", "device-link", "symbol", "flurb",
		"device-code-not-linked"},
	{"a.o:(.text+0xad): undefined reference to `__fatbinwrap_38_cuda_flurb'", "device-link", "symbol",
		"__fatbinwrap_38_cuda_flurb", "device-code-not-linked"},
	{"34>a.obj : error LNK2019: unresolved external symbol __cudaRegisterLinkedBinary_45_flurb referenced", "device-link",
		"symbol", "__cudaRegisterLinkedBinary_45_flurb", "device-code-not-linked"},
	{"a.obj : error LNK2019: unresolved external symbol _cuInit@4 referenced in function _main", "unresolved", "symbol",
		"cuInit", "package-did-not-build"},
	{"ld: ../lib/libflurb.so.2: error adding symbols: file in wrong format", "library-damaged", "library", "libflurb.so.2",
		"library-damaged"},
	{"make[1]: *** /lib/modules/6.12.4-zen1/build: No such file or directory.  Stop.", "kernel-module", "", "",
		"module-not-built"},
	{"in /a/flurb.bzl: no such package '@local_config_cuda//cuda': Traceback (most recent call last):", "cmake", "", "",
		"cuda-home-not-set"},
	{"g++: error: unrecognized command line option '-std=c++flurb'", "option", "option", "-std=c++flurb",
		"compiler-too-old"},
	{"*** Error in `./flurb': double free or corruption (!prev): 0x01 ***", "heap", "fault",
		"double free or corruption", "heap-corrupted"},
	{"sudo: flurb: command not found", "command", "command", "flurb", "command-not-found"},
	{"./run.sh: line 4: 30414 Killed ./flurb", "killed", "", "", "killed-from-outside"},
	{"CMake Error at CMakeLists.txt:12 (find_package):", "build-needs", "", "", "build-dependency-missing"},
	{"go: go.mod requires go >= 1.22 (running go 1.19)", "installation", "", "", "installation-incomplete"},
	{"[ERROR]Failed to unload module 'nvidia' (ref count: 59).", "module-in-use", "", "", "driver-in-use"},
	{"FATAL ERROR: UNABLE TO OPEN FLURB FILE", "asked", "", "", "input-refused"},
	{"E: Flurb could not be done", "package-tool", "", "", "package-tool-failed"},
	{"Lmod has detected the following error: flurb", "installation", "", "", "installation-incomplete"},
	{"sudo: a terminal is required to read the password", "access", "", "", "access-refused"},
	{"slurmstepd: error: *** JOB 1 ON n1 CANCELLED AT 2023-09-11T21:25:45 DUE TO TIME LIMIT ***", "time-limit", "",
		"", "job-time-limit"},
	{"flurb: error loading model: wrong number of flurbs", "given", "", "", "file-not-found"},
	{"Error: Missing option '--flurb'.", "asked", "", "", "wrong-usage"},
	{"error: the following required arguments were not provided:", "asked", "", "", "wrong-usage"},
	{"./run.sh: line 7: FLURB: unbound variable", "asked", "", "", "input-refused"},
	{"/src/flurb.cu:107: fatal error", "assertion", "expression", "flurb.cu:107", "assertion-failed"},
	{"mce: [Hardware Error]: CPU 1: Machine Check: 0 Bank 5: uncorrected", "host-hardware", "", "",
		"host-hardware-failed"},
	{"flurb: command not found", "command", "command", "flurb", "command-not-found"},
	{"ERROR: failed to solve: flurb/cuda:1.0-base: not found", "image", "image", "flurb/cuda:1.0-base",
		"container-image-not-found"},
	{"Failed to pull image \"flurb/gpu:1\": rpc error", "image", "image", "flurb/gpu:1", "container-image-not-found"},
	{"systemd[1]: nvidia-flurb.service: Failed with result 'exit-code'.", "service", "", "", "service-failed"},
	{"meson.build:12:0: ERROR: Dependency \"flurb\" not found, tried pkgconfig", "build-needs", "", "",
		"build-dependency-missing"},
	{"Error from server (Forbidden): flurbs is forbidden", "access", "", "", "access-refused"},
	{"sbatch: error: This does not look like a batch script.", "speaker", "", "", "wrong-usage"},
	{"UnboundLocalError: local variable 'flurb' referenced before assignment", "exception", "", "",
		"program-exception"},
	{"curl: (6) Could not resolve host: flurb.example", "unreached", "", "", "node-not-reached"},
	{"Error: flurb: dial tcp: lookup flurb.example: no such host", "unreached", "", "", "node-not-reached"},
	{"flurb.mp4: No such file or directory", "given", "", "", "file-not-found"},
	{"PermissionError: [Errno 13] Permission denied: '/flurb'", "exception", "", "", "access-refused"},
	{"ERROR: DimensionMismatch: flurb", "exception", "", "", "shape-mismatch"},
	{"FileNotFoundError: [Errno 2] No such file or directory: './flurb/train'", "exception", "", "", "file-not-found"},
	{"flurb wasn't build with CUDA support: error", "no-cuda-build", "", "", "library-built-without-cuda"},
	{"error MSB8020: The build tools for v142 cannot be found.", "installation", "", "", "installation-incomplete"},
	{"OSError: [Errno 98] Address already in use", "exception", "", "", "port-in-use"},
	{"EnvironmentNameNotFound: Could not find conda environment: flurb", "exception", "", "", "package-tool-failed"},
	{"ERROR: LoadError: InvalidIRError: compiling flurb resulted in invalid LLVM IR", "exception", "class",
		"InvalidIRError", "kernel-source"},
	{"/bin/sh: 1: ninja: not found", "tool", "tool", "ninja", "build-tool-missing"},
	{"RuntimeError: flurb was compiled with CUDA 12.1 but the runtime found is 11.8", "version", "built", "12.1",
		"version-mismatch"},
	{"flurb: fatal: cuda error code 803", "status", "code", "803", "driver-mismatch"},
	{"flurb: cuFlurbRecord failed with error 700", "status", "code", "700", "illegal-memory-access"},
	{"PhysX error: flurbing failed! 700", "status", "code2", "700", "illegal-memory-access"},
	{"flurb_init returned CUDA_ERROR_NO_BINARY_FOR_GPU", "status", "cause", "gpu-arch-missing", "gpu-arch-missing"},
	{"flurb: CUDA says: device kernel image is invalid", "status", "cause", "kernel-image-invalid",
		"kernel-image-invalid"},
	{"[ 1.0] NVRM: Xid (PCI:0000:01:00): 140, pid=1, flurb", "xid", "code", "140", "gpu-failed"},
	{"Memory cgroup out of memory: Killed process 12 (python)", "oom-killer", "", "", "host-out-of-memory"},
	{"nvidia-container-cli: mount error: file creation failed: flurb: unable to do it", "container", "", "",
		"container-runtime-failed"},
	{"flurb: failed to allocate 12.00 GiB on the device", "memory", "want", "12.00 GiB", "out-of-memory"},
	{"RuntimeError: HIP error: invalid device function", "amd", "", "", "amd-not-judged"},
	{"ModuleNotFoundError: No module named 'pointnet2_cuda'", "exception", "module", "pointnet2_cuda",
		"extension-not-built"},
	{"RuntimeError: flurb: shape '[3, 4]' is invalid for input of size 7", "exception", "class", "RuntimeError",
		"shape-mismatch"},
	{"ImportError: cannot import name 'flurb' from 'transformers'", "exception", "class", "ImportError",
		"packages-do-not-fit"},
	{"/usr/bin/ld: a.o: in function `main': undefined reference to `cublasFlurb_v2'", "unresolved", "what", "cuBLAS",
		"package-did-not-build"},
	{"tool: libnvflurb.so.3, needed by x.so, not found", "library", "library", "libnvflurb.so.3",
		"shared-library-not-found"},
	{"a.cpp(3): error MSB3721: The command \"x\\bin\\nvcc.exe -c\" exited with code 1.", "build", "", "",
		"package-did-not-build"},
	{"  flurb : Depends: libflurb (= 2) but it is not going to be installed", "packages", "", "", "packages-conflict"},
	{"error: externally-managed-environment", "package-tool", "", "", "package-tool-failed"},
	{"vk::createFlurb: VK_ERROR_INCOMPATIBLE_DRIVER", "status", "code", "-9", "graphics-not-usable"},
	{"flurb.exe exited with code 3221225781", "windows-end", "name", "STATUS_DLL_NOT_FOUND", "windows-library-not-found"},
	{"Process finished with exit code -1073741515 (0xC0000135)", "windows-end", "name", "STATUS_DLL_NOT_FOUND",
		"windows-library-not-found"},
	{"qemu: vfio 0000:01:00.0: group 1 is not viable", "passthrough", "", "", "gpu-not-passed-through"},
	{"pci 0000:00:06.0: BAR 1: failed to assign [mem size 0x4]", "passthrough", "", "", "gpu-not-passed-through"},
	{"flurb: Could not find required kernel headers", "kernel-module", "", "", "module-not-built"},
	{"cuFFT flurb failed with error code 5", "status", "api", "cuFFT", "cufft-failed"},
	{"TracerFlurbError: x", "exception", "class", "TracerFlurbError", "program-exception"},
	{"Error response from daemon: manifest for flurb/x:1 not found", "image", "image", "flurb/x:1",
		"container-image-not-found"},
	{"GPU 0000:01:00.0: Insufficient Permissions", "access", "", "", "access-refused"},
	{"flurb: cannot open display", "display", "", "", "graphics-not-usable"},
	{"flurb: cannot open display :0", "display", "", "", "graphics-not-usable"},
	{"//usr/lib/libflurb.so.0: undefined reference to `GOMP_flurb@GOMP_4.0'", "unresolved", "what", "OpenMP",
		"package-did-not-build"},
	{"Cannot import /srv/ComfyUI/custom_nodes/flurb module for custom nodes: No module named 'x'", "part", "part",
		"flurb", "part-not-loaded"},
	{"*** Error loading script: flurb.py", "part", "part", "flurb.py", "part-not-loaded"},
	{"flurb.hpp:421:4: error: #error \"Flurb 4.x+ requires enabled C++11 support\"", "build-needs", "", "",
		"language-standard-too-old"},
	{"Could not find any flurb.h matching version '' in any subdirectory:", "cmake", "", "", "cuda-home-not-set"},
	{"W1227 00:26:05.616729 41698 driver.c:195] terminating driver service (forced)", "container", "", "",
		"container-runtime-failed"},
	{"AttributeError: module 'numpy' has no attribute 'flurb'", "exception", "class", "AttributeError",
		"packages-do-not-fit"},
	{"OSError: [WinError 1455] flurb", "exception", "class", "OSError", "paging-file-too-small"},
	{`time=2025-01-14T16:41:34 level=INFO msg="no compatible GPUs were discovered"`, "on-cpu", "", "",
		"runs-on-cpu"},
}

// TestRecords holds for every kind of record what is read of a line.
func TestRecords(t *testing.T) {
	for _, c := range recorded {
		s := scan.NewScanner(signature.NewFinder(nil, record.TroubleMarks...), nil)
		if err := s.Read(context.Background(), strings.NewReader("first\n"+c.line+"\n")); err != nil {
			t.Fatal(err)
		}
		records := recordsOf(s)
		found := finding.WeighRecords(records, record.Tables())
		i := slices.IndexFunc(records, func(r record.Record) bool { return r.Kind == c.kind })
		if i < 0 || c.slot != "" && records[i].Slot(c.slot) != c.want || records[i].Line != 2 {
			t.Errorf("%s: %+v; want a record %s with %s = %q", c.line, records, c.kind, c.slot, c.want)
			continue
		}
		if best := decide.Decide(nil, claimsOf(found)); best.Index < 0 || found[best.Index].Cause != c.cause {
			t.Errorf("%s: %+v; want %s", c.line, best, c.cause)
		}
	}
}

// TestNoticesBlameNobody: a line that only informs or warns is no record of a failure.
func TestNoticesBlameNobody(t *testing.T) {
	for _, line := range []string{
		"2024-01-01 10:00:00.1: W tensorflow/x.cc:1] failed to allocate 2.00GiB on the device",
		"INFO: could not find libfoo.so.3, using the built-in one",
		"UserWarning: flurb was compiled with CUDA 12.1 but the runtime found is 11.8",
		"# nvcc fatal   : Unsupported gpu architecture 'compute_120'",
		"if you see CUDA_ERROR_NO_BINARY_FOR_GPU, build for your GPU: to avoid CUDA_ERROR_NO_BINARY_FOR_GPU set it",
	} {
		if d := explain(t, line); d.Blame != Unknown {
			t.Errorf("%s: %s, %s", line, d.Blame, d.Cause)
		}
	}
}

// TestTraceback: calls, the class and message of the exception, and who owns the deepest call.
func TestTraceback(t *testing.T) {
	s := scan.NewScanner(signature.NewFinder(nil, record.TroubleMarks...), nil)
	log := `Traceback (most recent call last):
  File "/home/me/train.py", line 3, in <module>
    main()
  File "/opt/venv/lib/python3.11/site-packages/torch/nn/functional.py", line 2210, in embedding
    return torch.embedding(weight, input)
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/usr/lib/python3.11/contextlib.py", line 1, in inner
    return f()
RuntimeError:
  flurb happened
  in two lines
`
	if err := s.Read(context.Background(), strings.NewReader(log)); err != nil {
		t.Fatal(err)
	}
	all := recordsOf(s)
	i := slices.IndexFunc(all, func(r record.Record) bool { return r.Kind == "exception" })
	if i < 0 || all[i].Line != 9 || len(all[i].Frames) != 3 || all[i].FindDeepestPackage() != "torch" || all[i].Slot(
		"message") != "flurb happened in two lines" {
		t.Errorf("%+v", all)
	}
}

// TestCallers: whose call raised an exception decides what it means, whether Python printed the call, a notebook or a
// library that only passes calls on.
func TestCallers(t *testing.T) {
	const lib = "/opt/venv/lib/python3.11/site-packages/"
	for name, c := range map[string]struct {
		calls, last string
		blame       Blame
	}{
		"a cell":     {"Cell In[7], line 1\n----> 1 runs[x]\n", "KeyError: 'flurb'", Program},
		"older cell": {"Input In [181], in <cell line: 6>()\n", "TypeError: 'tuple' object is not callable", Program},
		"Colab":      {"/tmp/ipython-input-33.py in <cell line: 0>()\n", "KeyError: 'flurb'", Program},
		"VS Code":    {"c:\\my work\\run.ipynb Cell 10 line 4\n", "KeyError: 2", Program},
		"Windows": {"Cell In[2], line 19\nFile c:\\Python310\\lib\\genericpath.py:19, in exists(path)\n",
			"TypeError: stat: path should be string, bytes, os.PathLike or integer, not NoneType", Program},
		"another program": {"File /usr/lib/python3.9/subprocess.py:1821, in Popen._execute_child(self, args)\n",
			"FileNotFoundError: [Errno 2] No such file or directory: 'flurb'", Environment},
		"a file": {"File \"/home/me/a.py\", line 3, in main\n",
			"FileNotFoundError: [Errno 2] No such file or directory: 'flurb'", Program},
		"indentation": {"File \"/home/me/a.py\", line 3\n", "IndentationError: unexpected indent", Program},
		"indentation theirs": {"File \"" + lib + "a/b.py\", line 3\n", "IndentationError: unexpected indent",
			Environment},
		"a module's call": {"File \"/home/me/a.py\", line 3, in main\nFile \"" + lib +
			"torch/nn/modules/module.py\", line 5, in _call_impl\n",
			"TypeError: forward() missing 1 required positional argument: 'flurb'", Program},
		"code of a model": {"File \"/home/me/.cache/modules/transformers_modules/x/model.py\", line 3, in f\n",
			"TypeError: f() got an unexpected keyword argument 'flurb'", Environment},
		"a worker of vLLM": {"File \"" + lib + "vllm/v1/executor/multiproc_executor.py\", line 2, in get_response\n",
			"RuntimeError: Worker failed with error 'LoRA rank 32 is greater than max_lora_rank 16.', please check the " +
				"stack trace above for the root cause", Program},
		"a command": {"File \"" + lib + "whisper/audio.py\", line 2, in load_audio\n",
			"FileNotFoundError: [Errno 2] No such file or directory: 'ffmpeg'", Environment},
		"too many requests": {"File \"" + lib + "torch/hub.py\", line 2, in load\n",
			"urllib.error.HTTPError: HTTP Error 403: rate limit exceeded", Environment},
		"a condition": {"", "AssertionError: 25 is not divisible by 4", Program},
		"there already": {"File \"/home/me/a.py\", line 3, in f\n",
			"FileExistsError: Checkpoint directory /tmp/x already exists. Use --overwrite or --resume", Program},
		"an object of theirs": {"File \"" + lib + "transformers/trainer.py\", line 3, in f\n",
			"AttributeError: 'FlurbConfig' object has no attribute 'x'", Environment},
		"whose object": {"File \"" + lib + "batoid/optic.py\", line 3, in f\n",
			"AttributeError: 'VisitTelescope' object has no attribute 'pupilSize'", Unknown},
		"an object of its own": {"File \"/home/me/a.py\", line 3, in f\n",
			"AttributeError: 'StderrFlurb' object has no attribute 'isatty'", Program},
		"an object of a library's": {"File \"/home/me/a.py\", line 3, in f\n",
			"AttributeError: 'FlurbTokenizer' object has no attribute 'x'", Unknown},
		"a condition of shapes": {"File \"" + lib + "gsplat/sh.py\", line 3, in f\n    assert x.shape[-2] == bases(degree)\n" +
			"           ^^^^^^^^^^^^^^^^^\n", "AssertionError", Program},
		"a condition of what was given": {"File \"" + lib + "mmcv/runner.py\", line 3, in f\n    assert len(loaders) == len(flow)\n",
			"AssertionError", Program},
		"a GPU as a condition": {"File \"/home/me/a.py\", line 3, in f\n    assert torch.cuda.is_available()\n",
			"AssertionError", Environment},
		"a condition of a library's": {"File \"" + lib + "spconv/utils.py\", line 3, in f\n    assert block_filtering is False\n",
			"AssertionError", Unknown},
		"a compiled part": {"File \"" + lib + "gsplat/cuda/_wrapper.py\", line 3, in call_cuda\n",
			"AttributeError: 'NoneType' object has no attribute 'flurb_fwd'", Environment},
		"a library to load": {"File \"" + lib + "transformer_engine/pytorch/__init__.py\", line 3, in _load_library\n",
			"StopIteration", Environment},
		"pydantic": {"File \"" + lib + "vllm/config.py\", line 3, in f\n",
			"pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig\n  Value error, The checkpoint " +
				"has model type `flurb` but Transformers does not recognize this architecture.", Environment},
		"lost partner": {"File \"/usr/lib/python3.12/multiprocessing/connection.py\", line 395, in _recv\n",
			"ConnectionResetError: [Errno 104] Connection reset by peer", Unknown},
	} {
		if d := explain(t, "Traceback (most recent call last):\n"+c.calls+c.last+"\n"); d.Blame != c.blame {
			t.Errorf("%s: %s (%s), not %s", name, d.Blame, d.Cause, c.blame)
		}
	}
	for calls, want := range map[string]string{
		"File \"/home/me/a.py\", line 3, in main\nFile \"" + lib + "a/b.py\", line 5, in f\n": "look at a.py, line 3, the",
		"Cell In[7], line 11\n": "look at the last line of your own code",
		"File \"" + lib + "torch/nn/functional.py\", line 5, in f\n":          `search the issues of torch for "KeyError flurb"`,
		"File \"/code/vllm/vllm/engine.py\", line 5, in f\n":                  `search the issues of vllm for "KeyError flurb"`,
		"File \"<string>\", line 5, in f\n":                                   "look at the last line of your own code",
		"<ipython-input-3-8b4b8e43a55f> in <module>\n----> 1 runs['flurb']\n": "look at the last line of your own code",
	} {
		d := explain(t, "Traceback (most recent call last):\n"+calls+"KeyError: 'flurb'\n")
		if d.Cause != "program-exception" || !strings.HasPrefix(d.Do[0], want) ||
			!strings.Contains(strings.Join(d.Do, "\n"), "keys") {
			t.Errorf("%q: %s: %q, not %q and what is looked up", calls, d.Cause, d.Do, want)
		}
	}
	late := "W tensorflow/core/gpu_device.cc:2256] Cannot dlopen some GPU libraries.\n" +
		"slurmstepd: error: *** JOB 15 ON gpu1 CANCELLED AT 2022-08-24T02:53:02 DUE TO TIME LIMIT ***\n"
	if d := explain(t, late); d.Cause != "job-time-limit" {
		t.Errorf("a job whose time was up: %s", d.Cause)
	}
	own := "W tensorflow/core/gpu_device.cc:2256] Cannot dlopen some GPU libraries. Skipping registering GPU devices...\n" +
		"Traceback (most recent call last):\nFile \"a.py\", line 1, in <module>\nNameError: name 'flurb' is not defined\n"
	if d := explain(t, own); d.Blame != Program {
		t.Errorf("an error of its own after it went on with the CPU: %s (%s)", d.Blame, d.Cause)
	}
	if d := explain(t, "torch/lora.py: ValueError: invalid ip-adapter for the model\n"); d.Cause == "no-gpu-visible" {
		t.Errorf("an adapter of a model is no GPU")
	}
}

// TestCandidates: what an unclear log may be is a cause that has a page, and comes with a command.
func TestCandidates(t *testing.T) {
	pages := map[string]bool{}
	for _, s := range append(table(t), finding.Answers()...) {
		pages[s.Cause] = true
	}
	check := func(cause string, all []Candidate) {
		if len(all) > 3 || !pages[cause] && cause != "anything" {
			t.Errorf("%s: %d candidates, a page: %t", cause, len(all), pages[cause])
		}
		for _, c := range all {
			if !pages[c.Cause] || c.Fetch == "" {
				t.Errorf("%s: the candidate %+v has no page or no command", cause, c)
			}
		}
	}
	check("anything", anything)
	for cause, may := range finding.Book().May {
		var all []Candidate
		for _, m := range may {
			all = append(all, Candidate{m.Cause, Blame(m.Blame), m.Fetch})
		}
		check(cause, all)
	}
	if d := explain(t, "Traceback (most recent call last):\nFlurbError: x"); d.Blame != Unknown || len(d.Candidates) == 0 {
		t.Errorf("%s: trouble, and nothing to fetch", d.Cause)
	}
	if d := explain(t, "hello"); len(d.Candidates) != 0 {
		t.Errorf("nothing is wrong, and may be %v", d.Candidates)
	}
	if d := explain(t, failure); d.Candidates == nil || len(d.Candidates) != 0 {
		t.Errorf("a decided log has candidates: %v", d.Candidates)
	}
}

// TestSentences: the fault of every row is one sentence of at most 120 characters, and nothing of its words is lost.
func TestSentences(t *testing.T) {
	for _, s := range table(t) {
		words, _ := s.Words()
		fault, why := partWords(words)
		if n := utf8.RuneCountInString(fault); n > record.MaxSentence {
			t.Errorf("%s: %d characters: %s", s.ID, n, fault)
		}
		if kept := len(fault) + len(why); kept < len(words)-2 {
			t.Errorf("%s: of %q is left %q, %q", s.ID, words, fault, why)
		}
	}
}

// TestStatusCauses: the causes that data/status.csv names have pages, and the same side there.
func TestStatusCauses(t *testing.T) {
	blames := map[string]Blame{}
	for _, s := range append(finding.Answers(), table(t)...) {
		blames[s.Cause] = s.Blame
	}
	for _, s := range tables.Rows[tables.Status](record.Tables()) {
		if b, page := blames[s.Cause]; s.Cause != "" && !page || s.Blame != "" && b != Blame(s.Blame) {
			t.Errorf("%s: the cause %q is blamed on %q, by its page on %q", s.Name, s.Cause, s.Blame, b)
		}
	}
}

// FuzzRecords: no line breaks a grammar, and what is made of it is a sentence.
func FuzzRecords(f *testing.F) {
	for _, line := range []string{"Traceback (most recent call last):\n  File \"a\", line 1\nRuntimeError: x",
		"x: undefined symbol: _ZN99999999999a", "_ZN3c106detail", "[1] NVRM: Xid (PCI:0): 79",
		"version `GLIBC_2.3' not found", "cuda error code 999999999999999999", "File \"\", line 1\nError:",
		"Assertion `x` failed", "\r\r\n\r", "CMake Error at a\n By not providing \"FindX.cmake\"", "Fatal error:\nx",
		"thread 'main' panicked at a.rs:1:2:\nx", "make: *** No rule to make target '/usr/x'", "OSError: [Errno 28] x",
		"Error response from daemon: x", "OpenCV(4.5) a error: (-215:x", "{sentence}: fatal error: opencv2/x.h: No such file",
		"nvidia-x.service: Failed with result", "E: A b", "/x.cu:1: fatal error", "what():  x"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, log string) {
		s := scan.NewScanner(signature.NewFinder(nil, record.TroubleMarks...), nil)
		if err := s.Read(context.Background(), strings.NewReader(log)); err != nil {
			t.Skip()
		}
		for _, found := range finding.WeighRecords(recordsOf(s), record.Tables()) {
			if found.Because == "" || signature.Placeholder.MatchString(found.Because) && !signature.Placeholder.MatchString(log) || found.Line < 1 {
				t.Fatalf("%+v", found)
			}
		}
	})
}

// FuzzTraceback checks that the calls and exceptions of any lines end on one of them.
func FuzzTraceback(f *testing.F) {
	f.Add("Traceback (most recent call last):\n  File \"a\", line 1, in f\nValueError: x")
	f.Add("what():  x\nthread 'main' panicked at 'x', a.rs:1\npanic: x\nCaused by: a.B: c")
	f.Fuzz(func(t *testing.T, log string) {
		var lines []logtext.Line
		for i, text := range strings.Split(log, "\n") {
			lines = append(lines, logtext.Line{Number: i + 1, Text: text})
			if r := record.ReadException(lines[i]); r != nil && r.Slot("class") == "" {
				t.Fatalf("%q has no class", text)
			}
		}
		for number, raised := range traceback.ReadAll(lines) {
			if number < 1 || number > len(lines) || len(raised.Frames) > len(lines) {
				t.Fatalf("%d calls end on line %d of %d", len(raised.Frames), number, len(lines))
			}
		}
	})
}

// TestMarksMissNothing checks that each line of a real log that fits a form contains one of its marks. make test takes
// a sample.
func TestMarksMissNothing(t *testing.T) {
	t.Parallel()
	see := func(log string) {
		for line := range strings.Lines(log) {
			text := logtext.TrimCollectorPrefix(logtext.Clean([]byte(strings.TrimSpace(line))))
			for i := range record.Forms {
				if g := &record.Forms[i]; !logtext.ContainsAny(text, g.Marks) && g.Pattern.MatchString(text) {
					t.Errorf("%s: no mark in %q", g.Kind, g.Pattern.FindString(text))
				}
			}
		}
	}
	for _, file := range []string{"testdata/firstsight/1.jsonl", "testdata/firstsight/2.jsonl"} {
		for i, c := range readSighted(t, file) {
			if wholeGrid || i%8 == 0 {
				see(c.Log)
			}
		}
	}
	for i, c := range readCases(t, "testdata/cases.jsonl") {
		if wholeGrid || i%8 == 0 {
			see(c.Log)
		}
	}
}

// TestNothingCounted checks lines of nvidia-smi -q that name errors with a count of zero.
func TestNothingCounted(t *testing.T) {
	for line, want := range map[string]Blame{
		"        Double Bit ECC                    : N/A":                                  Unknown,
		"        Double Bit ECC                    : 3":                                    Hardware,
		"        Uncorrectable Error               : 0":                                    Unknown,
		"        Uncorrectable Error               : 2":                                    Hardware,
		"    Retired Pages":                                                                Unknown,
		"| Double Bit ECC Errors              | 0                                       |": Unknown,
		"| Double Bit ECC Errors              | 3                                       |": Hardware,
		"/usr/bin/nvidia-bug-report.sh: 926: nvidia-settings: not found":                   Unknown,
		"Descriptor 20: Uncorrectable CPU-complex error":                                   Unknown,
	} {
		if got := explain(t, line+"\n").Blame; got != want {
			t.Errorf("%q: %s, want %s", line, got, want)
		}
	}
}

// TestRepeatedLine checks that a line that meant nothing the first time is read again with its new successors, and that
// one in a comment never is.
func TestRepeatedLine(t *testing.T) {
	const asked, then = "print(torch.cuda.is_available())\n", "the next line\nand another one\n"
	for log, want := range map[string]int{
		asked + then + asked + "False\n":               1,
		asked + then + asked + then:                    0,
		"# " + asked + then + "# " + asked + "False\n": 0,
	} {
		s := scan.NewScanner(signature.NewFinder(nil, record.TroubleMarks...), nil)
		if err := s.Read(t.Context(), strings.NewReader(log)); err != nil {
			t.Fatal(err)
		}
		all := slices.DeleteFunc(recordsOf(s), func(r record.Record) bool { return r.Kind != "no-gpu" })
		if len(all) != want {
			t.Errorf("%q: %v, not %d", log, all, want)
		}
	}
}
