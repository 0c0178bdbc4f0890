package logs

import (
	"strings"
	"testing"
)

// Pieces of logs from several processes.
const (
	tornDown = "W0408 10:36:26.015000 33 site-packages/torch/distributed/elastic/multiprocessing/api.py:897] Sending process 34 closing signal SIGTERM\n"
	direct   = "\nThe above exception was the direct cause of the following exception:\n\n"
	watchdog = "[rank0]:[E321 02:07:08.408271257 ProcessGroupNCCL.cpp:607] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1580, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600060 milliseconds before timing out.\n" +
		"terminate called after throwing an instance of 'c10::DistBackendError'\n  what():  [PG 1 Rank 0] Process group watchdog thread terminated with exception: [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1580, OpType=ALLREDUCE) ran for 600060 milliseconds before timing out.\n"
	lostPeer = "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.1]:2"
)

// root returns torchrun's report of the process that ended first.
func root(rank, code string) string {
	return "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n====\ntrain.py FAILED\n----\nFailures:\n  <NO_OTHER_FAILURES>\n" +
		"----\nRoot Cause (first observed failure):\n[0]:\n  time      : 2026-04-08_10:36:26\n  host      : n5\n  rank      : " + rank +
		" (local_rank: " + rank + ")\n  exitcode  : " + code + " (pid: 3321)\n  error_file: <N/A>\n====\n"
}

// by returns a process's traceback with its name before every line.
func by(name, file, exception string) string {
	lines := "Traceback (most recent call last):\n  File \"" + file + "\", line 7, in f\n    g()\n" + exception
	return name + strings.ReplaceAll(lines, "\n", "\n"+name) + "\n"
}

// mixed interleaves two texts line by line, as two processes write.
func mixed(a, b string) string {
	var out strings.Builder
	left, right := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range max(len(left), len(right)) {
		for _, side := range [][]string{left, right} {
			if i < len(side) && side[i] != "" {
				out.WriteString(side[i] + "\n")
			}
		}
	}
	return out.String()
}

// TestRoot checks which of several errors the others followed. Each case expects words of the deciding line, the blame
// and the cause.
func TestRoot(t *testing.T) {
	const engine = "(EngineCore_DP0 pid=192) ERROR 03-18 11:27:27 [core.py:866] "
	for name, c := range map[string]struct {
		log   string
		line  string
		blame Blame
		cause string
	}{
		"rank that failed first": {by("[rank0]: ", "/w/train.py", "ZeroDivisionError: division by zero") + by("[rank1]: ", "/w/train.py", "KeyError: 'label'") +
			tornDown + root("1", "1"), "'label'", Program, "program-exception"},
		"ranks that write at once": {mixed(by("[rank0]: ", "/w/a.py", "KeyError: 'label'"), by("[rank1]: ", "/w/b.py", lostPeer)) + root("0", "1"),
			"'label'", Program, "program-exception"},
		"rank that crashed":     {by("[rank5]: ", "/w/train.py", lostPeer) + tornDown + root("1", "-11"), "exitcode", Unknown, "rank-died"},
		"rank without memory":   {tornDown + root("1", "-7"), "exitcode", Environment, "shm-too-small"},
		"rank that says no why": {tornDown + root("2", "1"), "exitcode", Unknown, "rank-died"},
		"watchdogs alone":       {watchdog + tornDown + root("0", "-6"), "Watchdog caught", Unknown, "collective-timed-out"},
		"watchdog after an error": {watchdog + by("[rank1]: ", "/w/train.py", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.32 GiB.") +
			root("1", "1"), "out of memory", Program, "out-of-memory"},
		"task of Slurm's": {"srun: error: n2: task 3: Segmentation fault (core dumped)\nsrun: Terminating StepId=1.0\n" +
			"slurmstepd: error: *** STEP 1.0 ON n1 CANCELLED AT 2025-02-02T10:00:00 ***\nsrun: error: n1: tasks 0-2: Terminated\n",
			"task 3", Unknown, "rank-died"},
		"rank of MPI's": {"mpirun noticed that process rank 3 with PID 0 on node n7 exited on signal 7 (Bus error).\n", "rank 3", Environment, "shm-too-small"},
		"rank of MPI's that failed": {by("[1,0]<stderr>:", "/w/t.py", "ZeroDivisionError: division by zero") + by("[1,2]<stderr>:", "/w/t.py", "KeyError: 'label'") +
			"mpirun detected that one or more processes exited with non-zero status, thus causing\nthe job to be terminated. The first process to do so was:\n\n" +
			"  Process name: [[29973,1],2]\n  Exit code:    1\n", "'label'", Program, "program-exception"},
		"error that a logger wrote": {by(engine, "/v/site-packages/vllm/model_executor/models/qwen2.py", "KeyError: 'layers.0.weight_scale'") +
			by("(APIServer pid=1) ", "/v/site-packages/vllm/v1/engine/utils.py", "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}"),
			"weight_scale", Program, "program-exception"},
		"direct cause": {by("", "/w/train.py", "KeyError: 'label'") + direct + by("", "/w/train.py", "RuntimeError: CUDA error: unknown error"),
			"'label'", Program, "program-exception"},
		"killed by its launcher": {by("", "/v/site-packages/sglang/srt/pynccl_wrapper.py", "RuntimeError: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details)") +
			"[2025-08-08 09:09:09] Received sigquit from a child process. It usually means the child failed.\nrun.sh: line 12:   101 Killed                  python3 -m sglang.launch_server\n",
			"unhandled system error", Unknown, "nccl-system-error"},
		"killed alone": {"step 1\nrun.sh: line 12:   101 Killed                  python3 train.py\n", "Killed", Environment, "killed-from-outside"},
		"compiler below ninja": {"/w/csrc/a.cu(34): error: expression must have class type but it has type \"c10::ScalarType\"\n\n" +
			"1 error detected in the compilation of \"/w/csrc/a.cu\".\nerror: command '/usr/local/cuda/bin/nvcc' failed with exit code 2\n",
			"a.cu(34)", Environment, "package-did-not-build"},
		"no GPU, and another error": {"2025-09-30 09:33:06.9: E external/local_xla/xla/stream_executor/cuda/cuda_platform.cc:51] failed call to cuInit: INTERNAL: CUDA error: Failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected\n" +
			by("", "/w/p.py", "KeyError: 'label'"), "'label'", Program, "program-exception"},
		"no GPU, and an error of it": {"2025-09-30 09:33:06.9: E external/local_xla/xla/stream_executor/cuda/cuda_platform.cc:51] failed call to cuInit: INTERNAL: CUDA error: Failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected\n" +
			by("", "/w/p.py", "AssertionError: no GPU"), "cuInit", Environment, "no-gpu-visible"},
		"memory of a node of Ray's": {"(raylet) [2025-01-01 10:00:00,000 E 1 1] (raylet) node_manager.cc:3065: 1 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed\n" +
			by("", "/w/p.py", "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task."), "memory pressure", Program, "host-out-of-memory"},
		"class that is not there": {by("(Actor pid=43) ", "/v/site-packages/ray/serialization.py", "ray.exceptions.RaySystemError: System error: No module named 'policy'"),
			"policy", Environment, "module-not-installed"},
	} {
		t.Run(name, func(t *testing.T) {
			d := explain(t, c.log)
			if d.Blame != c.blame || d.Cause != c.cause || len(d.Lines) == 0 || !strings.Contains(d.Lines[0].Text, c.line) {
				t.Errorf("%s, %s: %s %+v\nwant %s, %s by a line with %q", d.Blame, d.Cause, d.Because, d.Lines, c.blame, c.cause, c.line)
			}
		})
	}
}

// TestOwner checks whose code a call belongs to, and what to search for.
func TestOwner(t *testing.T) {
	const lib = "/v/lib/python3.11/site-packages/"
	for name, c := range map[string]struct{ log, step string }{
		"a package below one's own code": {"  File \"/w/train.py\", line 3, in <module>\n  File \"" + lib + "foo/a.py\", line 5, in f\nKeyError: 'q'\n",
			`if what it passes is right, search the issues of foo for "KeyError q": it was raised in a.py`},
		"a package alone":       {"  File \"" + lib + "foo/a/__init__.py\", line 5, in f\nNotImplementedError\n", `search the issues of foo for "NotImplementedError f": it was raised in a/__init__.py`},
		"its release":           {"  File \"" + lib + "foo/a.py\", line 5, in f\nKeyError: 'q'\nfoo==1.2.3\n", "search the issues of foo 1.2.3 for"},
		"two releases":          {"  File \"" + lib + "foo/a.py\", line 5, in f\nKeyError: 'q'\nfoo==1.2.3\nfoo==1.2.4\n", "search the issues of foo for"},
		"a clone by its form":   {"  File \"/w/train.py\", line 3, in <module>\n  File \"/w/alpa/alpa/api.py\", line 5, in f\nKeyError: 'q'\n", "search the issues of alpa for"},
		"the user's own clone":  {"  File \"/w/mine/mine/train.py\", line 3, in <module>\n  File \"/w/mine/mine/model.py\", line 5, in f\nKeyError: 'q'\n", "look at model.py, line 5"},
		"a node of ComfyUI's":   {"  File \"/w/ComfyUI/execution.py\", line 3, in f\n  File \"/w/ComfyUI/custom_nodes/Foo/n.py\", line 5, in f\nKeyError: 'q'\n", "search the issues of Foo for"},
		"a clone is not on pip": {"  File \"/w/verl/verl/n.py\", line 5, in f\nKeyError: 'q'\n", "`git pull`"},
		"a clone of two releases": {"  File \"/w/verl/verl/n.py\", line 5, in <module>\nImportError: cannot import name 'agg' from 'verl.core' (/w/verl/verl/core.py)\n",
			"run `git status` in the clone of verl"},
		"paths are of this run": {"  File \"" + lib + "foo/a.py\", line 5, in f\nValueError: bad file /home/me/secret/x.bin here\n", `"ValueError bad file here"`},
	} {
		t.Run(name, func(t *testing.T) {
			d := explain(t, "Traceback (most recent call last):\n"+c.log)
			if !strings.Contains(strings.Join(d.Do, "\n"), c.step) {
				t.Errorf("%s: %q, not %q", d.Cause, d.Do, c.step)
			}
		})
	}
}
