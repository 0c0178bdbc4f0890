package logs

import (
	"fmt"
	"strings"
	"testing"

	"cudacompat/internal/logs/logtext"
	"cudacompat/internal/logs/scan"
)

const tooLarge = "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total " +
	"capacity of 11.17 GiB of which 75.44 MiB is free.\n"

// steps returns n lines of a working training run.
func steps(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "epoch 3 step %d loss 0.51\n", i)
	}
	return text.String()
}

const noSuch = ": cannot open shared object file: No such file or directory\n"

// requests returns a server's lines about requests with this answer.
func requests(answer string) string {
	return strings.Repeat(`INFO: 10.0.0.1:5 - "POST /v1/completions HTTP/1.1" `+answer+"\n", 9)
}

// TestWhatDidNotEndTheLog checks that an error after which the program works is not blamed. An error is blamed if only
// trackers and handlers follow it, and broken hardware always is.
func TestWhatDidNotEndTheLog(t *testing.T) {
	calm := strings.Repeat("Dec 07 18:34:15 host systemd[1]: Started Session 4 of User peter.\n", calmOfMany+logtext.FirstLines)
	other := strings.Repeat("a line of something else\n", enoughCalm+logtext.FirstLines)
	for name, c := range map[string]struct {
		log   string
		blame Blame
	}{
		"last":   {steps(9) + tooLarge, Program},
		"caught": {steps(9) + tooLarge + "skipping the batch\n" + steps(9), Unknown},
		"announced by a warning": {"/x/vllm/connections.py:8: RuntimeWarning: Failed to read commit hash:\n" +
			"No module named 'vllm._version'\n  from vllm.version import __version__ as VLLM_VERSION\n", Unknown},
		"ended from outside": {tooLarge + steps(9) + "*** SIGTERM received at time=1756174802 on cpu 91 ***\n" +
			"PC: @     0x7a4e04451117  (unknown)  (unknown)\n    @     0x7a4e04402520  (unknown)  (unknown)\n", Unknown},
		"a part switched off": {" * NVML         disabled (failed to load NVML)\n * CUDA GPU     #0 26:00.0\n", Unknown},
		"two lines after":     {steps(9) + tooLarge + steps(2), Program},
		"a tracker's":         {steps(9) + tooLarge + strings.Repeat("wandb: loss 0.51\n", 9), Program},
		"failed again":        {steps(9) + tooLarge + steps(9) + tooLarge, Program},
		"ended another run": {tooLarge + "INFO:     Uvicorn running on http://127.0.0.1:30000 (Press CTRL+C to quit)\n" +
			by("", "/v/site-packages/sglang/decode.py", "AssertionError"), Unknown},
		"long ago": {tooLarge + other + "Terminated\n", Unknown},
		"hardware": {"NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n" + steps(9), Hardware},
		"one of many": {
			"Dec 07 18:34:15 host tumblerd[1233]: libgepub-0.7.so.0" + noSuch + calm, Unknown},
		"killed": {
			"Dec 07 18:34:15 host kernel: Out of memory: Killed process 44634 (python3) total-vm:1kB, anon-rss:8kB\n" +
				calm, Program},
		"below a warning": {
			"--> FOAM Warning : \n    From function dlOpen\n    dlopen error : libfvOptions.so" + noSuch +
				"Create mesh\n", Unknown},
		"not below one": {"loading\n    dlopen error : libfvOptions.so" + noSuch, Environment},
		"said to be normal": {
			"Releasing a context will fail with CUDA_ERROR_INVALID_CONTEXT, this is normal\n", Unknown},
		"a wrapper's zero": {"libcudnn_ops.so.9" + noSuch + "Aborted (core dumped)\n" +
			"whisper exited with code 0\n", Environment},
		"the server came up": {"Cannot import nodes/flurb:\nTraceback (most recent call last):\n" +
			"  File \"nodes.py\", line 4, in <module>\nModuleNotFoundError: No module named 'llama_cpp'\n" +
			"To see the GUI go to: http://127.0.0.1:8188\nerror: the client left\n", Unknown},
		"the next prompt": {"got prompt\n" + tooLarge + "Prompt executed in 8.2 seconds\ngot prompt\n", Unknown},
		"one of its outputs": {"got prompt\nFailed to validate prompt for output 188:\nOutput will be ignored\n" +
			"Prompt executed in 8.2 seconds\n", Unknown},
		"a part that most do without": {"torchvision/io/image.py:13: UserWarning: Failed to load image Python extension: " +
			"'image.so: undefined symbol: _ZN3c1017RegisterOperatorsD1Ev'\n" + strings.Repeat("a line\n", 31), Unknown},
		"its prompt": {"got prompt\n!!! Exception during processing !!!\n" + tooLarge +
			"Prompt executed in 8.2 seconds\n", Program},
		"a detail": {"12:00:01 DEBUG: Plotting failed: too many indices for tensor of dimension 1\n", Unknown},
		"a kernel tried": {"E1 torch/_inductor/select_algorithm.py:2100] OutOfResources: out of resource: shared memory\n",
			Unknown},
		"somebody ended it": {"slurmstepd: error: *** JOB 15 ON gpu1 CANCELLED AT 2022-08-24T02:53:02 ***\n",
			Unknown},
		"after it came up": {"Uvicorn running on http://127.0.0.1:8188\n" + tooLarge, Program},
		"falls back": {"WARNING: Compute Capability < 8.0 is not supported by the V1 Engine. Falling back to V0.\n",
			Unknown},
		"NVML alone failed": {"h:4:7 [0] misc/nvmlwrap.cc:100 NCCL WARN nvmlInit_v2() failed: Driver/library version mismatch\n" +
			"h:4:7 [0] NCCL INFO comm 0x7 rank 0 nranks 1 cudaDev 0 busId ca000 commId 0x2 - Init COMPLETE\n" + steps(2), Unknown},
		"NVML failed":  {"h:4:7 [0] misc/nvmlwrap.cc:100 NCCL WARN nvmlInit_v2() failed: Driver/library version mismatch\n" + steps(2), Environment},
		"answered 500": {tooLarge + requests("500 Internal Server Error"), Program},
		"answered 200": {tooLarge + requests("200 OK"), Unknown},
	} {
		if d := explain(t, c.log); d.Blame != c.blame {
			t.Errorf("%s: %s (%s), not %s", name, d.Blame, d.Cause, c.blame)
		}
	}
	once := "libgepub-0.7.so.0" + noSuch
	if d := explain(t, tooLarge+once+steps(9)); len(d.Lines) != 1 || d.Lines[0].Number != 1 {
		t.Errorf("the heaviest error that did not end the log is not the one that is named: %+v", d.Lines)
	}
	if d := explain(t, tooLarge+steps(9)); len(d.Lines) != 1 || d.Lines[0].Number != 1 || d.Lines[0].Why == "" {
		t.Errorf("the error that did not end the log is not named: %+v", d)
	}
}

// TestPartNotLoaded checks that a server which runs without a plugin says so, and that the plugin's missing dependency
// belongs to the environment.
func TestPartNotLoaded(t *testing.T) {
	served := "To see the GUI go to: http://127.0.0.1:8188\n" + steps(20)
	without := "Cannot import C:\\ComfyUI\\custom_nodes\\flurb module for custom nodes: No module named 'git'\n"
	if d := explain(t, without+served); d.Blame != Environment || d.Cause != partNotLoaded {
		t.Errorf("%s, %s", d.Blame, d.Cause)
	}
	if d := explain(t, without+served+tooLarge); d.Blame != Program {
		t.Errorf("it failed later for another reason: %s, %s", d.Blame, d.Cause)
	}
}

// TestCountCalmLines checks that lines without a mark of trouble are counted from the last line that a row matched.
func TestCountCalmLines(t *testing.T) {
	other := strings.Repeat("a line of something else\n", enoughCalm)
	again := tooLarge + other + other + tooLarge + "retrying, then the last lines\n"
	if d := explain(t, again); d.Blame != Program {
		t.Errorf("it failed again at the end: %s (%s)", d.Blame, d.Cause)
	}
	s := scan.NewScanner(theFinder(), table(t))
	if err := s.Read(t.Context(), strings.NewReader(strings.Repeat("ok\n", logtext.FirstLines)+tooLarge+other)); err != nil {
		t.Fatal(err)
	}
	lines := s.Kept.Lines()
	if got := s.Kept.CountCalmAfter(lines, logtext.FirstLines+1); got < enoughCalm-logtext.LinesAfter-1 || got > enoughCalm {
		t.Errorf("%d calm lines after the error, of %d", got, enoughCalm)
	}
	if got := s.Kept.CountCalmAfter(lines, logtext.FirstLines+enoughCalm); got != 0 {
		t.Errorf("%d calm lines after a line that is not kept", got)
	}
}
