package logs

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"os"
	"slices"
	"sync"
	"testing"

	"cudacompat/internal/logs/finding"
	"cudacompat/internal/tables"
	"cudacompat/matrix"
	"cudacompat/matrix/verdict"
	"cudacompat/probe"
)

// machines returns verdicts on machines of testdata/machines.jsonl.gz by name, each broken in one way: recordings of
// hosts and containers made for that, and under a rule's name the machine of a case in which the rule fires.
var machines = sync.OnceValues(func() (map[string]verdict.Verdict, error) {
	f, err := os.Open("testdata/machines.jsonl.gz")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	all := map[string]verdict.Verdict{}
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var m struct {
			Name  string
			Facts probe.Facts
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return nil, err
		}
		m.Facts.Complete()
		all[m.Name] = matrix.Check(context.Background(), matrix.Embedded(), m.Facts, nil, verdict.Policy{})
	}
	return all, lines.Err()
})

// python returns the end of a Python error that was raised below a call of the program's own.
func python(raised string) string { return traced("run(model)", raised, "torch/cuda/__init__.py") }

const noGPUs = "RuntimeError: No CUDA GPUs are available"

// TestBroughtAbout checks that a broken machine which can cause the log's error becomes the answer, with its steps.
func TestBroughtAbout(t *testing.T) {
	const deserialize = "RuntimeError: Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is " +
		"False. If you are running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu')"
	const noTalk = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest " +
		"NVIDIA driver is installed and running.\n"
	for _, c := range []struct {
		machine, rule string
		blame         Blame
		logs          []string
	}{
		{"mismatch-ubuntu", "driver-mismatch", Environment, []string{
			"Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.95\n",
			python("RuntimeError: CUDA error: unknown error"), python(noGPUs),
			"NVRM: API mismatch: the client has the version 580.95.05, but\nNVRM: this kernel module has the version " +
				"580.65.06.  Please\nNVRM: make sure that this kernel module and all NVIDIA driver\nNVRM: components have the " +
				"same version.\n"}},
		{"mismatch-al2023", "driver-mismatch", Environment, []string{
			"E external/local_xla/xla/stream_executor/cuda/cuda_driver.cc:152] failed call to cuInit: CUDA_ERROR_UNKNOWN: " +
				"unknown error\n",
			"RuntimeError: Unable to initialize backend 'cuda': FAILED_PRECONDITION: No visible GPU devices.\n"}},
		{"dkms-failed", "module-missing-for-kernel", Environment, []string{noTalk,
			python("RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed " +
				"a driver from http://www.nvidia.com/Download/index.aspx"),
			"modprobe: FATAL: Module nvidia not found in directory /lib/modules/6.8.0-1021-aws\n"}},
		{"gpu-asked-not-given", "container-driver-libs", Environment, []string{
			"ImportError: libcuda.so.1: cannot open shared object file: No such file or directory\n", python(noGPUs)}},
		{"baked-in", "driver-mismatch", Environment, []string{
			"Failed to initialize NVML: Driver/library version mismatch\n",
			python("RuntimeError: Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling " +
				"NumCudaDevices() that might have already set an error? Error 803: system has unsupported display driver / " +
				"cuda driver combination")}},
		{"off-the-bus", "driver-unresponsive", Hardware, []string{
			"Unable to determine the device handle for GPU 0000:00:1E.0: GPU is lost.  Reboot the system to recover this GPU\n",
			python("RuntimeError: CUDA error: unknown error"), "No devices were found\n"}},
		{"xid95", "gpu-health", Hardware, []string{
			python("RuntimeError: CUDA error: uncorrectable ECC error encountered"),
			"node1:7:9 [0] NCCL WARN Cuda failure 'unknown error'\n" +
				python("RuntimeError: NCCL error in: ProcessGroupNCCL.cpp:825, unhandled cuda error, NCCL version 2.21.5\n"+
					"ncclUnhandledCudaError: Call to CUDA function failed.")}},
		{"driver-too-old", "driver-too-old", Environment, []string{
			python("RuntimeError: The NVIDIA driver on your system is too old (found version 12020)."),
			"ggml_cuda_init: failed to initialize CUDA: CUDA driver version is insufficient for CUDA runtime version\n",
			python(deserialize)}},
		{"torch-hollow", "library-shadowed", Environment, []string{
			"ImportError: libtorch_cuda.so: cannot open shared object file: No such file or directory\n"}},
		{"nouveau", "nouveau-loaded", Environment, []string{noTalk, python(noGPUs)}},
		{"stub", "stub-library", Environment, []string{
			python("RuntimeError: CUDA error: CUDA driver is a stub library"),
			"cudaGetDeviceCount() failed. Status: CUDA driver is a stub library\n"}},
		{"nodes-missing", "device-nodes-missing", Environment, []string{
			python("RuntimeError: CUDA unknown error - this may be due to an incorrectly set up environment, e.g. changing env " +
				"variable CUDA_VISIBLE_DEVICES after program start. Setting the available devices to be zero.")}},
		{"visible-devices", "visible-devices", Environment, []string{python(noGPUs),
			python("RuntimeError: CUDA error: invalid device ordinal")}},
		{"world-size", "world-size", Environment, []string{python("RuntimeError: CUDA error: invalid device ordinal"),
			"node1:7:9 [1] init.cc:943 NCCL WARN Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1e0\n"}},
		{"gpu-arch-missing", "gpu-arch-missing", Environment, []string{
			python("RuntimeError: CUDA error: no kernel image is available for execution on the device")}},
		{"gpu-arch-ptx-only", "gpu-arch-ptx-only", Environment, []string{
			python("RuntimeError: CUDA error: the provided PTX was compiled with an unsupported toolchain.")}},
		{"device-permission", "device-permission", Environment, []string{
			"Failed to initialize NVML: Insufficient Permissions\n", python(noGPUs)}},
		{"device-access-lost", "device-access-lost", Environment, []string{"Failed to initialize NVML: Unknown Error\n"}},
		{"fabric-manager", "fabric-manager", Environment, []string{
			python("RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized")}},
		{"compute-mode", "compute-mode", Environment, []string{
			python("RuntimeError: CUDA error: all CUDA-capable devices are busy or unavailable")}},
		{"mig-devices", "mig-devices", Environment, []string{python(noGPUs)}},
		{"extension-mismatch", "extension-mismatch", Environment, []string{
			"ImportError: /v/lib/python3.11/site-packages/cupy/_core/core.cpython-311-x86_64-linux-gnu.so: undefined symbol: cublasXt\n"}},
		{"companion-mismatch", "companion-mismatch", Environment, []string{"RuntimeError: operator torchvision::nms does not exist\n"}},
		{"glibc-too-old", "glibc-too-old", Environment, []string{
			"ImportError: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.32' not found (required by /v/torch/lib/libtorch_cpu.so)\n"}},
		{"libstdcxx-too-old", "libstdcxx-too-old", Environment, []string{
			"ImportError: /usr/lib/x86_64-linux-gnu/libstdc++.so.6: version `GLIBCXX_3.4.30' not found (required by /v/torch/lib/x.so)\n"}},
		{"numpy-abi", "numpy-abi", Environment, []string{
			"A module that was compiled using NumPy 1.x cannot be run in NumPy 2.1.0 as it may crash.\n"}},
		{"cdi-spec-stale", "cdi-spec-stale", Environment, []string{
			"docker: Error response from daemon: failed to create task for container: CDI device injection failed: failed to stat CDI " +
				"host device \"/dev/nvidia-uvm\": no such file or directory\n"}},
		{"gsp-firmware", "gsp-firmware", Environment, []string{
			"nvidia 0000:01:00.0: Direct firmware load for nvidia/580.65.06/gsp_ga10x.bin failed with error -2\n"}},
		{"open-module-required", "open-module-required", Environment, []string{
			"NVRM: The NVIDIA GPU 0000:01:00.0 (PCI ID: 10de:2b85) installed in this system requires use of the NVIDIA open kernel modules.\n"}},
		{"driver-drops-gpu", "driver-drops-gpu", Environment, []string{
			"NVRM: The NVIDIA Tesla P100 GPU installed in this system is supported through the NVIDIA 580.xx Legacy drivers.\n"}},
		{"forward-compat-unsupported", "forward-compat-unsupported", Environment, []string{
			python("RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 804: forward compatibility was attempted on non supported HW")}},
		{"cudnn-mismatch", "cudnn-mismatch", Environment, []string{
			"E0000 cuda_dnn.cc:522] Loaded runtime CuDNN library: 9.1.0 but source was compiled with: 9.3.0.\n"}},
		{"container-toolkit", "container-toolkit", Environment, []string{
			"docker: Error response from daemon: could not select device driver \"\" with capabilities: [[gpu]].\n"}},
		{"cpu-only", "cpu-only-build", Environment, []string{
			python("AssertionError: Torch not compiled with CUDA enabled"), python(deserialize)}},
	} {
		for _, log := range c.logs {
			d, brings, _ := beside(t, c.machine, log)
			if len(brings) == 0 || d.Rule != c.rule || d.Blame != c.blame || len(d.Do) == 0 || len(d.Candidates) > 0 {
				t.Errorf("%s: %q: %s, %s, %d steps; want %s, %s", c.machine, log, d.Blame, d.Rule, len(d.Do), c.blame, c.rule)
			}
		}
	}
}

// TestNotBroughtAbout checks that a fault of the machine which cannot cause the log's error changes neither blame nor
// cause, and becomes a candidate.
func TestNotBroughtAbout(t *testing.T) {
	const gone = ": cannot open shared object file: No such file or directory\n"
	for _, c := range []struct {
		machine, rule, log string
		blame              Blame
		cause              string
	}{
		{"mismatch-ubuntu", "driver-mismatch", "IndexError: Target 3 is out of bounds.\n", Program, "label-out-of-range"},
		{"mismatch-ubuntu", "driver-mismatch", "gcc: fatal error: cannot execute 'cc1plus': execvp: No such file or directory\n",
			Environment, "build-tool-missing"},
		{"dkms-failed", "module-missing-for-kernel", "OSError: [Errno 28] No space left on device\n", Environment, "disk-full"},
		{"nouveau", "nouveau-loaded", "RuntimeError: mat1 and mat2 shapes cannot be multiplied (863x1 and 11x5120)\n", Program,
			"shape-mismatch"},
		{"driver-too-old", "driver-too-old", "ImportError: /venv/lib/python3.8/dist-packages/flash_attn_2_cuda.cpython-38-" +
			"x86_64-linux-gnu.so: undefined symbol: _ZN3c104cuda9SetDeviceEi\n", Environment, "extension-mismatch"},
		{"driver-too-old", "driver-too-old", tooLarge, Program, "out-of-memory"},
		{"xid95", "gpu-health", python("ModuleNotFoundError: No module named 'einops'"), Environment, "module-not-installed"},
		{"off-the-bus", "driver-unresponsive", "RuntimeError: probability tensor contains either `inf`, `nan` or element < 0\n",
			Program, "nan-in-probabilities"},
		{"visible-devices", "visible-devices", "ImportError: libcublas.so.12" + gone, Environment, "cuda-library-not-found"},
		{"world-size", "world-size", "slurmstepd: error: *** JOB 15 ON gpu1 CANCELLED AT 2022-08-24T02:53:02 DUE TO TIME LIMIT " +
			"***\n", Environment, "job-time-limit"},
		{"stub", "stub-library", "/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found (required by /v/x.so)\n",
			Environment, "glibc-too-old"},
		{"extension-mismatch", "extension-mismatch", "ImportError: /v/site-packages/flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so: " +
			"undefined symbol: _ZN3c104cuda9SetDeviceEi\n", Environment, "extension-mismatch"}, // of another package
		{"companion-mismatch", "companion-mismatch", traced("info(**data)", "TypeError: SafeTensorsInfo.__init__() got an unexpected keyword argument 'sharded'", "huggingface_hub/hf_api.py"),
			Environment, "packages-do-not-fit"}, // of a package that has its own release
		{"fabric-manager", "fabric-manager", python("KeyError: 'label'"), Program, "program-exception"},
		{"glibc-too-old", "glibc-too-old", python("ModuleNotFoundError: No module named 'einops'"), Environment, "module-not-installed"},
		{"cdi-spec-stale", "cdi-spec-stale", python("RuntimeError: CUDA error: device-side assert triggered"), Program, "device-side-assert"},
		{"numpy-abi", "numpy-abi", "curl: (28) Connection timed out\n", Environment, "node-not-reached"},
		{"torch-hollow", "library-shadowed", "flurb.cu(7): error: identifier \"flurb\" is undefined\n", Program, "kernel-source"},
	} {
		d, brings, apart := beside(t, c.machine, c.log)
		candidate := slices.ContainsFunc(d.Candidates, func(k Candidate) bool { return k.Cause == c.rule })
		if len(brings) > 0 || d.Blame != c.blame || d.Cause != c.cause || !candidate ||
			!slices.ContainsFunc(apart, func(f verdict.Finding) bool { return f.Rule == c.rule }) {
			t.Errorf("%s: %q: %s, %s, %d brought about; want %s, %s, and %s apart", c.machine, c.log, d.Blame, d.Cause,
				len(brings), c.blame, c.cause, c.rule)
		}
	}
}

// TestSoundBeside: a sound machine changes nothing of a diagnosis.
func TestSoundBeside(t *testing.T) {
	log := python("RuntimeError: CUDA error: unknown error")
	d, brings, apart := beside(t, "sound", log)
	if len(brings)+len(apart) > 0 || d.Cause != "cuda-unknown-error" || d.Blame != Unknown {
		t.Errorf("%s, %s, %v, %v", d.Blame, d.Cause, brings, apart)
	}
}

// beside returns a log's diagnosis held against a machine.
func beside(t *testing.T, machine, log string) (d Diagnosis, brings, apart []verdict.Finding) {
	t.Helper()
	all, err := machines()
	verdict, known := all[machine]
	if err != nil || !known {
		t.Fatalf("no machine %q: %v", machine, err)
	}
	d = explain(t, log)
	brings, apart = d.Beside(verdict, matrix.Embedded())
	return d, brings, apart
}

// TestCausesAreKnown: table cause names rules that there are, and causes that logs show.
func TestCausesAreKnown(t *testing.T) {
	known := map[string]bool{"cudnn-not-started": true} // by numbers
	for _, s := range append(table(t), finding.Answers()...) {
		known[s.Cause] = true
	}
	for _, s := range tables.Rows[tables.Status](matrix.Embedded()) {
		known[s.Cause] = true
	}
	for _, c := range tables.Rows[tables.Cause](matrix.Embedded()) {
		if _, is := matrix.RuleNamed(c.Rule); !is {
			t.Errorf("%s is no rule", c.Rule)
		}
		for _, name := range c.Causes {
			if !known[name] {
				t.Errorf("%s: %s is the cause of no log", c.Rule, name)
			}
		}
	}
}
