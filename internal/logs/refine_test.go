package logs

import (
	"strings"
	"testing"
)

// TestCrashes checks that a crash without a reason is blamed on nobody if no call of the user's own code and no kernel
// is named.
func TestCrashes(t *testing.T) {
	const (
		illegal = "RuntimeError: CUDA error: an illegal memory access was encountered"
		noRoom  = "RuntimeError: CUDA error: out of memory"
	)
	own := func(line string) string {
		return "Traceback (most recent call last):\n  File \"/home/u/train.py\", line 3, in <module>\n    f(x)\n" + line + "\n"
	}
	for name, c := range map[string]struct {
		log   string
		blame Blame
		first string
	}{
		"illegal access alone":             {illegal + "\n", Unknown, "dmesg"},
		"illegal access under own code":    {own(illegal), Program, ""},
		"illegal access of a named kernel": {"CUDA error at mykernel.cu:12: an illegal memory access was encountered\n", Program, ""},
		"compute-sanitizer's own":          {"========= Invalid __global__ read of size 4 bytes\n", Program, ""},
		"launch failure alone":             {"RuntimeError: CUDA error: unspecified launch failure\n", Unknown, "dmesg"},
		"memory without numbers":           {"torch.cuda.OutOfMemoryError: CUDA out of memory.\n", Unknown, "nvidia-smi"},
		"memory with numbers":              {"RuntimeError: CUDA out of memory. Tried to allocate 60.00 MiB (GPU 0; 11.17 GiB total capacity; 10.1 GiB already allocated; 12.50 MiB free; 10.2 GiB reserved in total by PyTorch)\n", Program, ""},
	} {
		d := explain(t, c.log)
		if d.Blame != c.blame || c.first != "" && !strings.Contains(d.Do[0], c.first) {
			t.Errorf("%s: %s, %s, %q; want %s and first %q", name, d.Blame, d.Cause, d.Do, c.blame, c.first)
		}
		if d.Blame == Unknown && (len(d.Candidates) < 2 || d.Confidence != Undecided) {
			t.Errorf("%s: %d candidates, confidence %s", name, len(d.Candidates), d.Confidence)
		}
	}
}

// TestRootBeforeEcho checks that the line that names what failed outranks the generic one with which the program ends.
func TestRootBeforeEcho(t *testing.T) {
	for name, c := range map[string]struct{ log, cause, words string }{
		"NCCL's last error": {"torch.distributed.DistBackendError: NCCL error in: a.cpp:1970, internal error - please report this issue to the NCCL developers, NCCL version 2.20.5\n" +
			"ncclInternalError: Internal check failed.\nLast error:\nNET/OFI Unable to insert remote address into address vector for device 1. RC: 0\n",
			"efa-traffic-blocked", "security group"},
		"NCCL's last error, unknown": {"torch.distributed.DistBackendError: NCCL error in: a.cpp:1970, internal error - please report this issue to the NCCL developers, NCCL version 2.20.5\n" +
			"ncclInternalError: Internal check failed.\nLast error:\nFlurb plane 3 is not wired\n", "nccl-last-error", "is not wired"},
		"a library that is cut short": {"/usr/local/cuda-12.1/lib64/libnvJitLink.so.12: file too short\nCUDA SETUP: Something unexpected happened.\n" +
			"RuntimeError: \n        CUDA Setup failed despite GPU being available.\n", "library-damaged", "libnvJitLink.so.12"},
		"a compiler that crashes": {"k.cu:62:385: internal compiler error: in maybe_undo_parenthesized_ref, at cp/semantics.c:1740\n" +
			"error: command '/usr/local/cuda-11.4/bin/nvcc' failed with exit status 1\n", "compiler-crashed", "newer one first"},
		"a rank that SIGBUS ended": {"ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -7) local_rank: 0 (pid: 5406) of binary: /usr/bin/python3\n" +
			"torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n", "shm-too-small", "/dev/shm"},
		"a rank that a bad pointer ended": {"ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -11) local_rank: 0 (pid: 5406) of binary: /usr/bin/python3\n",
			"process-crashed", "PYTHONFAULTHANDLER"},
	} {
		d := explain(t, c.log)
		if d.Cause != c.cause || !strings.Contains(d.Because+strings.Join(d.Do, " "), c.words) {
			t.Errorf("%s: %s: %s %q; want %s with %q", name, d.Cause, d.Because, d.Do, c.cause, c.words)
		}
	}
}

// TestPackageLists checks that a list of packages is not read as a log, whatever its packages are called.
func TestPackageLists(t *testing.T) {
	const list = "Package                  Version\n------------------------ -------\nexceptiongroup           1.2.0\n" +
		"pytest-error-for-skips   2.0.2\nerror-handler-for-all-of-it 1.0\ntorch                    2.8.0\n"
	if d := explain(t, list); d.Blame != Unknown || len(d.Lines) > 0 {
		t.Errorf("%s, %s, %+v", d.Blame, d.Cause, d.Lines)
	}
}

// TestOddest checks which line is quoted from a log about which nothing is known.
func TestOddest(t *testing.T) {
	d := explain(t, "loading the data\nepoch 1\nWrong annotation: class_id = 3. But class_id should be [from 0 to 1]\nbye\n")
	if len(d.Lines) != 1 || d.Lines[0].Number != 3 || !strings.Contains(d.Do[0], "class_id should be") {
		t.Errorf("%+v %q", d.Lines, d.Do)
	}
	if d := explain(t, "loading the data\nbye\n"); len(d.Lines) > 0 {
		t.Errorf("of a log without a word of failing: %+v", d.Lines)
	}
}
