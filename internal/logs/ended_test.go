package logs

import (
	"fmt"
	"strings"
	"testing"
)

// packages returns n lines of pip freeze.
func packages(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "package%d==1.%d\n", i, i)
	}
	return text.String()
}

// TestEndsWell checks that nothing is wrong in a log without a known error that says that its work is done. A log that
// was cut off, ended in a failure, or ends with what a script prints in any case is not called good.
func TestEndsWell(t *testing.T) {
	served := "INFO:     Shutting down\nINFO:     Waiting for application shutdown.\nINFO:     Application shutdown complete.\n"
	up := "INFO:     Application startup complete.\nINFO:     Uvicorn running on http://0.0.0.0:8000 (Press CTRL+C to quit)\n"
	for name, c := range map[string]struct {
		log   string
		blame Blame
		line  int
	}{
		"exit code":           {"Epoch 1/3 loss 0.4\nProcess finished with exit code 0\n", None, 2},
		"last epoch":          {"Epoch 29/30 - loss: 0.31\nEpoch 30/30 - loss: 0.30\n", None, 2},
		"epoch before it":     {"Epoch 28/30 - loss: 0.31\nEpoch 29/30 - loss: 0.30\n", Unknown, 0},
		"shutdown":            {"INFO:     Application startup complete.\n" + served, None, 4},
		"shutdown by a fault": {tooLarge + served, Program, 1},
		"shutdown by another": {"RuntimeError: CUDA error: unknown error\n" + served, Unknown, 1},
		"asked to end": {up + "INFO core.py:1214] EngineCore: trigger received signal=SIGTERM\n" +
			"ERROR async_llm.py:704] vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue.\n" + served, None, 3},
		"asked to end, not in order": {up + "SIGTERM received. signum=None frame=None. Draining requests and shutting down...\n" +
			"Subprocess detokenizer (pid=31379) crashed with exit code -15. Triggering SIGQUIT for cleanup...\n", None, 3},
		"asked to end after a fault": {up + "RuntimeError: CUDA error: unknown error\nSIGTERM received. Draining requests\n", Unknown, 3},
		"asked to end, no server":    {"step 1\nmain received SIGINT, exiting\n", Unknown, 0},
		"a command's status":         {"Loading project configuration\nSuccess\nCommand '['run']' returned non-zero exit status 1.\n", Unknown, 0},
		"completed":                  {"step 1\nTraining completed in 0:03:11\nwandb: Synced 5 files\n", None, 2},
		"with failures":              {"Finished: 3 of 4 jobs failed\n", Unknown, 0},
		"of no use":                  {"Simulation finished\nThe refinement did not converge.\n", Unknown, 0},
		"a script's pause":           {"Loading model\nDone!\nPress any key to continue . . .\n", Unknown, 0},
		"at work":                    {requests("200 OK"), None, 9},
		"at work, unwell":            {requests("200 OK") + requests("500 Internal Server Error"), Unknown, 0},
		"a few steps":                {"step 1\nstep 2\n", Unknown, 0},
		"of the kernel":              {"[    5.123456] usb 1-3: probing\n[    5.223456] ata4.00: SET FEATURES succeeded\n", Unknown, 0},
		"of a journal":               {"Oct  7 16:30:22 host run[7]: Job completed\n", Unknown, 0},
		"a start":                    {strings.Repeat("h:4:7 [0] NCCL INFO comm 0x7 rank 0 nranks 8 - Init COMPLETE\n", 9), Unknown, 0},
		"nothing counted":            {"========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n", None, 2},
		"something counted":          {"========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 3 errors\n", Unknown, 2},
		"no errors":                  {"Result is : VALID\nNo errors encountered during test.\n", None, 2},
		"none and some":              {"0 errors, 2 failures\n", Unknown, 1},
		"OK at the end":              {"# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 243.511\n", None, 1},
		"a server that is up":        {"INFO:     Application startup complete.\nINFO:     Uvicorn running on http://0.0.0.0:10000 (Press CTRL+C to quit)\n", None, 2},
		"expected to fail":           {"XFAIL t.py::test_oom - RuntimeError: CUDA out of memory\n=== 8 passed, 1 xfailed in 4.2s ===\n", None, 2},
		"failed, not expected": {"FAILED t.py::test_oom - torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.32 GiB.\n=== 1 failed, 8 passed in 4.2s ===\n",
			Program, 1},
		"a check's verdict":           {"CUDA tensor sum: -910.5\nPASS: {'torch': '2.7.1+cu118', 'gpu': 'Tesla T4'}\n", None, 2},
		"a check below ldd":           {"\tlibcuda.so.1 => /usr/lib/libcuda.so.1 (0x00007f2a1db54000)\nPASS: {'gpu': 'Tesla T4'}\n", None, 2},
		"an installer at work":        {strings.Repeat("[INFO]: Installing: nvtx\n", 8) + "[WARNING]: Cannot find manpages to install.\n", None, 8},
		"an installer that broke off": {strings.Repeat("[INFO]: Installing: nvtx\n", 8) + "[ERROR]: Install of 520.61.05 failed, quitting\n", Environment, 9},
		"a check that failed":         {"PASS: shapes\nFAIL: dtypes\n", Unknown, 2},
		"what none passed":            {"loading\nPassword: \n", Unknown, 0},
		"a build's status":            {"Could not fetch URL https://i.example/simple/pip/: connection error - skipping\n" + steps(20) + "Successfully built vllm\nBUILD_EXIT_CODE=0\n", None, 23},
		"a build's bad status":        {"step 1\nSuccessfully built vllm\nBUILD_EXIT_CODE=2\n", Unknown, 0},
		"an installer's last":         {"-> Post-install sanity check passed.\n-> Installation of the NVIDIA Driver (version: 535.104.12) is now complete.\n", None, 2},
		"an installer that failed":    {"-> Building kernel modules\nERROR: Installation has failed.  Please see the file '/var/log/nvidia-installer.log' for details.\n", Environment, 2},
		"modules that Xorg tries":     {"(EE) Failed to load module \"nv\" (module does not exist, 0)\n(II) NVIDIA(0): Setting mode \"DP-0\"\n", Unknown, 0},
		"firmware":                    {"[    0.412100] ACPI Error: Aborting method \\_SB.PCI0 due to previous error (AE_NOT_FOUND)\n", Unknown, 0},
		"a driver that loads":         {"[    2.3] [drm] [nvidia-drm] [GPU ID 0x00000100] Loading driver\n[    3.3] x: error -5\n", Unknown, 0},
		"tried before": {"IndentationError: unindent does not match any outer indentation level\n" + steps(20) +
			"{'train_runtime': 21142.8, 'train_loss': 0.4}\n", None, 22},
		"tried before, a part done": {"IndentationError: unindent does not match any outer indentation level\n" + steps(20) + "Done\n",
			Unknown, 1},
		"a request before": {"To see the GUI go to: http://127.0.0.1:8188\ngot prompt\nIndexError: list index out of range\n" +
			steps(20) + "Stopped server\n", Unknown, 3},
		"its packages below": {"Epoch 29/30 - loss: 0.31\nEpoch 30/30 - loss: 0.30\n\n$ pip freeze\n" + packages(12), None, 2},
		"two names below":    {"Epoch 29/30 - loss: 0.31\nEpoch 30/30 - loss: 0.30\n" + packages(2) + "tail\n", None, 2},
		"failed, its packages below": {"Epoch 30/30 - loss: 0.30\nRuntimeError: expected 4 channels\n\nPackage  Version\n-------  -------\n" +
			packages(12), Program, 2},
		"an installer's advice below": {"[14:00:24]   Installation Complete!\n[14:00:24] \n" + strings.Repeat("[14:00:24]   whisperjav --help\n", 9), None, 1},
		"GIN":                         {strings.Repeat("[GIN] 2026/04/02 - 14:54:38 | 200 | 12.3s | 127.0.0.1 | POST \"/api/chat\"\n", 6), None, 6},
		"no line break at the end":    {"Epoch 29/30 - loss: 0.31\nEpoch 30/30 - loss: 0.30", None, 2},
		"warnings only":               {"UserWarning: lr is 0\nW external/x.cc:3] something\nsaved model to out.pt\n", None, 3},
	} {
		d := explain(t, c.log)
		line := 0
		if len(d.Lines) > 0 {
			line = d.Lines[0].Number
		}
		if d.Blame != c.blame || line != c.line {
			t.Errorf("%s: %s, line %d (%s), not %s, line %d", name, d.Blame, line, d.Cause, c.blame, c.line)
		}
	}
}
