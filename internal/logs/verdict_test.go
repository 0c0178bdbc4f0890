package logs

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cudacompat/internal/logs/decide"
	"cudacompat/matrix/pin"

	"github.com/google/go-cmp/cmp"
)

// TestFirstCause checks which of several errors in one log is called the cause.
func TestFirstCause(t *testing.T) {
	const assertion = "Indexing.cu:1292: indexSelectLargeIndex: block: [223,0,0], thread: [96,0,0] Assertion " +
		"`srcIndex < srcSelectDimSize` failed."
	for name, c := range map[string]struct {
		log   []string
		blame Blame
		cause string
		line  int
	}{
		"assertion_before_its_symptoms": {[]string{"step 1", assertion,
			"RuntimeError: CUDA error: device-side assert triggered",
			"RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`"}, Program,
			"index-out-of-range", 2},
		"assertion_printed_after_the_traceback": {[]string{"RuntimeError: CUDA error: device-side assert triggered",
			assertion}, Program, "index-out-of-range", 2},
		"unknown_assertion_of_a_kernel": {[]string{"my.cu:7: f: block: [0,0,0], thread: [1,0,0] Assertion `n " +
			"> 0` failed."}, Program, "device-assert", 1},
		"dead_rank_before_the_watchdogs": {[]string{"[rank1]:[E626 06:24:44.903881913 ProcessGroupNCCL.cpp:616] [Rank 1] " +
			"Watchdog caught collective operation timeout: WorkNCCL(SeqNum=808",
			"[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"}, Program, "out-of-memory", 2},
		"watchdog_alone": {[]string{"[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=808"}, Unknown,
			"collective-timed-out", 1},
		"old_driver_before_no_gpu": {[]string{"UserWarning: CUDA initialization: The NVIDIA driver on your system is too " +
			"old (found version 12080).",
			"RuntimeError: No CUDA GPUs are available"}, Environment, "driver-too-old", 1},
		"program_on_cpu_after_a_driver_warning": {[]string{"UserWarning: CUDA initialization: The NVIDIA driver on your " +
			"system is too old (found version 12080).",
			"IndexError: index out of range in self"}, Program, "index-out-of-range", 2},
		"arch_warning_explains_an_unclear_error": {[]string{"NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not " +
			"compatible with the current PyTorch installation.",
			"RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`"}, Environment,
			"gpu-arch-missing", 1},
		"arch_warning_of_another_gpu": {[]string{"Found GPU1 GeForce GT 710 which is of cuda capability 3.5.",
			"PyTorch no longer supports this GPU because it is too old.",
			"RuntimeError: CUDA error: an illegal memory access was encountered"}, Unknown, "illegal-memory-access", 3},
		"false_alarm_about_a_later_minor": {[]string{"Found GPU0 NVIDIA GB10 which is of cuda capability 12.1.",
			"Minimum and Maximum cuda capability supported by this version of PyTorch is", "(8.0) - (12.0)"}, Unknown,
			NothingFound, 0},
		"gpu_below_the_range": {[]string{"Found GPU0 NVIDIA GeForce GTX 1080 which is of cuda capability 6.1.",
			"Minimum and Maximum cuda capability supported by this version of PyTorch is", "(7.0) - (12.0)"}, Environment,
			"gpu-arch-missing", 3},
		"gpu_above_the_range": {[]string{"Found GPU0 NVIDIA GeForce RTX 5090 which is of cuda capability 12.0.",
			"    (5.0) - (9.0)"}, Environment, "gpu-arch-missing", 2},
		"range_without_a_gpu": {[]string{"(5.0) - (9.0)"}, Unknown, NothingFound, 0},
		"xid_of_the_program": {[]string{"NVRM: Xid (PCI:0000:01:00): 31, pid=123",
			"NVRM: Xid (PCI:0000:01:00): 43, pid=123, Ch 00000010"}, Program, "xid-of-the-program", 1},
		"xid_cleanup_before_the_link": {[]string{"NVRM: Xid (PCI:0000:48:00): 45, pid=22884, name=VLLM::Worker, channel " +
			"0x00000010 caused by previous Xid 45",
			"NVRM: Xid (PCI:0000:48:00): 74, pid=22884, NVLink: fatal error detected on link 8",
			"NVRM: Xid (PCI:0000:48:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"},
			Hardware, "nvlink-error", 2},
		"firmware_hang_before_the_bus": {[]string{"NVRM: Xid (PCI:0000:9b:00): 119, pid=2024380, name=nvidia-smi, " +
			"Timeout after 6s of waiting for RPC response from GPU4 GSP!",
			"NVRM: Xid (PCI:0000:9b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."}, Hardware,
			"gpu-off-the-bus", 2},
		"nvswitch_got_over_it": {[]string{"nvidia-nvswitch3: SXid (PCI:0000:04:00.0): 22013, Data {0x0000002b, " +
			"0x0000002b, 0x00000000}",
			"nvidia-nvswitch3: SXid (PCI:0000:04:00.0): 22013, Non-fatal, Link 44 Minion Link DLREQ interrupt"}, Unknown,
			"nvswitch-warning", 2},
		"nvlink_got_over_it": {[]string{"NVRM: Xid (PCI:0000:01:00): 144, SAW_MVB Nonfatal XC0 i0 Link 0 (0x00000001 " +
			"0x00000008 0x00000000 0x00000000 0x00000000 0x00000000)"}, Unknown, "nvlink-warning", 1},
		"nvlink_failed_after_a_warning": {[]string{"NVRM: Xid (PCI:0018:01:00): 145, RLW_RXPIPE Nonfatal XC0 i0 Link 13 " +
			"(0x0409a0c2 0x00000008 0x00000001 0x00000000 0x00100000 0x00000004)",
			"NVRM: Xid (PCI:0000:00:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 00 (0x026001c6 0x00000000 0x00000000 " +
				"0x00000000 0x00000000 0x00000000)"}, Hardware, "nvlink-error", 2},
		"reason_under_the_banner": {[]string{"ERROR: The NVIDIA Driver is present, but CUDA failed to initialize.  GPU " +
			"functionality will not be available.",
			"   [[ System not yet initialized (error 802) ]]"}, Environment, "fabric-not-ready", 2},
		"one_library_of_several": {[]string{"cuda driver library init failure: 3", "Traceback (most recent call last):",
			"KeyError: 'labels'"}, Unknown, NothingFound, 3},
		"pasted_log_opens_a_code_mark": {[]string{"`THCudaCheck FAIL file=/home/user/hdd/github/PyTorchEMD/cuda/emd_kernel.cu line=190 error=98 : invalid device function",
			"RuntimeError: x"}, Environment, "gpu-arch-missing", 1},
		"kernel_ran_without_nvidia_smi": {[]string{"FileNotFoundError: [Errno 2] No such file or directory: 'nvidia-smi'",
			"RuntimeError: CUDA error: device-side assert triggered"}, Program, "device-side-assert", 2},
		"source_around_the_failure": {[]string{`    236                 "Cannot re-initialize CUDA in forked subprocess. To use CUDA with "`,
			`    239             raise AssertionError("Torch not compiled with CUDA enabled")`,
			"--> 247         torch._C._cuda_init()", "RuntimeError: No CUDA GPUs are available"}, Environment, "no-gpu-visible", 4},
		"xformers_switched_off": {[]string{"WARNING[XFORMERS]: xFormers can't load C++/CUDA extensions. xFormers was built for:",
			"Traceback (most recent call last):", "KeyError: 'labels'"}, Unknown, NothingFound, 3},
		"error_in_code_marks":          {[]string{"lower the batch size when `RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB` is seen"}, Unknown, NothingFound, 0},
		"xid_109_alone":                {[]string{"NVRM: Xid (PCI:0000:cb:00): 109, pid=1797828, name=pt_main_thread, Ch 00000008"}, Unknown, "xid-ambiguous", 1},
		"assertion_before_xid_43":      {[]string{"NVRM: Xid (PCI:0000:01:00): 43, pid=123, Ch 00000010", assertion}, Program, "index-out-of-range", 2},
		"illegal_access_beside_an_xid": {[]string{"RuntimeError: CUDA error: an illegal memory access was encountered", "NVRM: Xid (PCI:0000:01:00): 48, pid=123, DBE"}, Hardware, "gpu-memory-error", 2},
		"initialization_error_alone":   {[]string{"RuntimeError: CUDA error: initialization error"}, Unknown, "cuda-initialization-error", 1},
		"initialization_error_in_a_worker": {[]string{"RuntimeError: Caught RuntimeError in DataLoader worker process 0.", "RuntimeError: CUDA error: initialization error"},
			Program, "fork-after-cuda-init", 2},
		"ordinal_of_a_rank": {[]string{"    torch.cuda.set_device(args.local_rank)", "RuntimeError: CUDA error: invalid device ordinal"}, Environment, "more-ranks-than-gpus", 2},
		"ordinal_alone":     {[]string{"RuntimeError: CUDA error: invalid device ordinal"}, Unknown, "invalid-device-ordinal", 1},
		"ordinal_at_count":  {[]string{"RuntimeError: Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling NumCudaDevices() that might have already set an error? Error 101: invalid device ordinal"}, Environment, "cuda-init-failed", 1},
		"notice_alone":      {[]string{"Could not find cuda drivers on your machine, GPU will not be used."}, Unknown, "tensorflow-no-gpu", 1},
		"notice_before_a_failure_of_the_program": {[]string{"Could not find cuda drivers on your machine, GPU will not be used.",
			"Traceback (most recent call last):", "KeyError: 'labels'"}, Unknown, NothingFound, 3},
		"allocator_notice_is_no_fault": {[]string{"W bfc_allocator.cc:290] Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.20GiB. The caller indicates that this is not a failure"}, None, "allocation-retried", 1},
		"harmless_before_a_failure": {[]string{"cuda_dnn.cc:8310] Unable to register cuDNN factory: Attempting to register factory for plugin cuDNN when one has already been registered",
			"OSError: disk quota exceeded"}, Environment, "disk-full", 2},
		"harmless_before_a_known_failure": {[]string{"cuda_dnn.cc:8310] Unable to register cuDNN factory: Attempting to register factory for plugin cuDNN when one has already been registered",
			"IndexError: Target 3 is out of bounds."}, Program, "label-out-of-range", 2},
		"cudnn_handle_without_memory": {[]string{"Could not create cudnn handle: CUDNN_STATUS_NOT_INITIALIZED", "Memory usage: 7995392 bytes free, 11721572352 bytes total."}, Program, "gpu-memory-exhausted", 2},
		"cudnn_handle_with_memory":    {[]string{"Could not create cudnn handle: CUDNN_STATUS_INTERNAL_ERROR", "Memory usage: 7438598144 bytes free, 8589410304 bytes total."}, Environment, "cudnn-not-started", 2},
		"capturing_is_not_permission": {[]string{"RuntimeError: CUDA error: operation not permitted when stream is capturing"}, Program, "stream-capture", 1},
		"address_space_is_no_support": {[]string{"RuntimeError: CUDA error: operation not supported on global/shared address space"}, Program, "invalid-address-space", 1},
	} {
		t.Run(name, func(t *testing.T) {
			d := explain(t, strings.Join(c.log, "\n"))
			line := 0
			if len(d.Lines) > 0 {
				line = d.Lines[0].Number
			}
			if d.Blame != c.blame || d.Cause != c.cause || line != c.line {
				t.Errorf("%s, %s, line %d; want %s, %s, line %d", d.Blame, d.Cause, line, c.blame, c.cause, c.line)
			}
		})
	}
}

// TestPositives holds that the line of every row, alone, is blamed as its row says, unless the row
// needs another line or a reader of numbers knows better.
func TestPositives(t *testing.T) {
	for _, s := range table(t) {
		if slices.Contains(crashes, s.Cause) {
			continue // alone, such a line is nobody's: TestCrashes
		}
		if s.Weight == decide.Fact || s.Needs != "" || s.Reads == "capability" || slices.Contains(goesOn, s.Cause) {
			continue
		}
		if d := explain(t, s.Positive); d.Blame != s.Blame && (s.Reads != "memory" || d.Blame != Environment) {
			t.Errorf("%s: blamed on %s (%s), want %s", s.ID, d.Blame, d.Cause, s.Blame)
		}
	}
}

// TestRanks holds which of several rank logs is called the first to fail.
func TestRanks(t *testing.T) {
	const watchdog = "[rank%]:[E626 06:34:44.903881913 ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=808"
	for name, c := range map[string]struct {
		logs  []string
		cause string
		file  string
	}{
		"failure_before_consequence": {[]string{watchdog, "RuntimeError: CUDA error: an illegal memory access was encountered", watchdog}, "illegal-memory-access", "rank1"},
		"earlier_by_the_clock": {[]string{"2025-05-19 10:10:30,112 [ERROR] RuntimeError: CUDA error: unspecified launch failure",
			"2025-05-19 10:10:29,701 [ERROR] RuntimeError: CUDA error: an illegal memory access was encountered"}, "illegal-memory-access", "rank1"},
		"clock_outranks_weight": {[]string{"2025-05-19 10:10:30 IndexError: index out of range in self",
			"2025-05-19 10:10:29 [ERROR] x\nTraceback (most recent call last):\nRuntimeError: CUDA error: misaligned address"}, "misaligned-address", "rank1"},
		"clocks_that_do_not_compare": {[]string{"[E626 06:24:44.1] RuntimeError: CUDA error: misaligned address",
			"2025-05-19 10:10:29 IndexError: index out of range in self"}, "index-out-of-range", "rank1"},
		"no_clocks": {[]string{"RuntimeError: CUDA error: misaligned address", "nothing", "IndexError: index out of range in self"}, "index-out-of-range", "rank2"},
		"equals":    {[]string{"nothing", "RuntimeError: CUDA error: misaligned address", "RuntimeError: CUDA error: unspecified launch failure"}, "misaligned-address", "rank1"},
	} {
		t.Run(name, func(t *testing.T) {
			var sources []Source
			for i, log := range c.logs {
				sources = append(sources, Source{Name: "rank" + string(rune('0'+i)), Reader: strings.NewReader(log)})
			}
			d, err := Read(context.Background(), table(t), sources)
			if err != nil || d.Cause != c.cause || d.Lines[0].File != c.file {
				t.Errorf("%s in %v (%v); want %s in %s", d.Cause, d.Lines, err, c.cause, c.file)
			}
		})
	}
}

// TestAMD: HIP repeats CUDA's words, and CUDA's answer to them would be wrong.
func TestAMD(t *testing.T) {
	if d := explain(t, "RuntimeError: HIP error: invalid device function"); d.Cause != amd || d.Blame != Unknown || len(d.Candidates) == 0 {
		t.Errorf("%s, %s, %v", d.Blame, d.Cause, d.Candidates)
	}
}

// TestWindows: a log of Windows gets no advice for Linux, and the event log in the kernel log's place.
func TestWindows(t *testing.T) {
	read := func(log string) Diagnosis {
		d, err := Read(context.Background(), table(t), []Source{{Name: "log", Reader: strings.NewReader(log)}})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	const line = "ImportError: libfoo.so.3: cannot open shared object file"
	linux, windows := read(line), read("  File \"C:\\venv\\x.py\", line 3, in f\n"+line)
	if !slices.ContainsFunc(linux.Do, pin.LinuxOnly) || slices.ContainsFunc(windows.Do, pin.LinuxOnly) || len(windows.Do) == 0 {
		t.Errorf("Linux %q, Windows %q", linux.Do, windows.Do)
	}
	unclear := read("C:\\x\\y.exe: error\nRuntimeError: CUDA error: unknown error")
	for _, c := range unclear.Candidates {
		if pin.LinuxOnly(c.Fetch) {
			t.Errorf("on Windows: %+v", c)
		}
	}
	if len(unclear.Candidates) == 0 {
		t.Error("an unclear log has no candidates")
	}
}

// TestTracebackTrust holds what is said of the traceback of an error that CUDA reports late.
func TestTracebackTrust(t *testing.T) {
	const failed = "RuntimeError: CUDA error: device-side assert triggered\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
	late := explain(t, failed)
	if !strings.Contains(late.Why, "cannot be trusted") || !strings.Contains(strings.Join(late.Do, "\n"), "CUDA_LAUNCH_BLOCKING=1") {
		t.Errorf("asynchronous: %q, %q", late.Because, late.Do)
	}
	for _, shown := range []string{"export CUDA_LAUNCH_BLOCKING=1", "+ CUDA_LAUNCH_BLOCKING=1 python train.py", "CUDA_LAUNCH_BLOCKING: 1"} {
		if d := explain(t, shown+"\n"+failed); strings.Contains(d.Because+d.Why, "cannot be trusted") {
			t.Errorf("after %q: %q", shown, d.Because)
		}
	}
	if d := explain(t, "IndexError: index out of range in self"); strings.Contains(d.Because+d.Why, "traceback") {
		t.Errorf("an error raised on the spot: %q", d.Because)
	}
}

// TestRealLogs holds what is said of the logs that examples/failures really print.
func TestRealLogs(t *testing.T) {
	want := map[string]string{
		"bce_input.log":       "program bce-input-out-of-range",
		"bce_shape.log":       "program loss-shape-mismatch",
		"device_mismatch.log": "program tensors-on-different-devices",
		"division.log":        "unknown nothing-found",
		"embedding_index.log": "program index-out-of-range",
		"inplace.log":         "program inplace-in-autograd",
		"label_range.log":     "program label-out-of-range",
		"matmul_shape.log":    "program shape-mismatch",
		"nan_backward.log":    "program nan-in-backward",
		"no_driver.log":       "environment no-driver",
		"out_of_memory.log":   "program host-out-of-memory",
		"sampling_nan.log":    "program nan-in-probabilities",
		"tf_index.log":        "program index-out-of-range",
		"tf_label.log":        "program label-out-of-range",
	}
	logs, err := filepath.Glob("testdata/logs/*.log")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, path := range logs {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		d := explain(t, string(text))
		got[filepath.Base(path)] = string(d.Blame) + " " + d.Cause
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
