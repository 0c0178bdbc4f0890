package logs

import (
	"strings"
	"testing"
)

// TestTakenDown checks that an exception raised during teardown is neither shown first nor blamed if something else
// failed before. By itself it is all that the log has.
func TestTakenDown(t *testing.T) {
	const (
		asgi      = "ERROR:    Exception in ASGI application\n"
		unknown   = "FlurbError: no gronk is seeded"
		cancelled = "asyncio.exceptions.CancelledError"
		reset     = "ConnectionResetError: [Errno 104] Connection reset by peer"
	)
	lib := func(exception string) string { return by("", "/v/site-packages/aiohttp/streams.py", exception) }
	for name, c := range map[string]struct {
		log   string
		line  string
		blame Blame
	}{
		"cancelled by a timer":      {asgi + lib(cancelled) + direct + lib("TimeoutError"), "TimeoutError", Unknown},
		"cancelled after a failure": {lib(unknown) + asgi + lib(cancelled), unknown, Unknown},
		"engine dead after it":      {lib(unknown) + lib("vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue."), unknown, Unknown},
		"connection lost after it":  {lib(unknown) + lib(reset), unknown, Unknown},
		"connection lost alone":     {lib(reset), reset, Environment},
		"lost before it":            {lib(reset) + lib(unknown), reset, Environment},
		"cancelled alone":           {lib(cancelled), cancelled, Unknown},
	} {
		d := explain(t, c.log)
		if len(d.Lines) == 0 || strings.TrimSpace(d.Lines[0].Text) != c.line || d.Blame != c.blame {
			t.Errorf("%s: %s, %s, lines %v; want %s, %q", name, d.Blame, d.Cause, d.Lines, c.blame, c.line)
		}
	}
}

// TestOutOfProse checks that neither a thread's text above a log nor the source that raises an error counts as the line
// with the error.
func TestOutOfProse(t *testing.T) {
	const told = "When I start two of them, the server fails with ValueError: No available memory for the cache blocks. Help!\n"
	const source = "    raise ValueError(\"No available memory for the cache blocks. \"\n"
	const said = "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`\n"
	for name, c := range map[string]struct {
		log  string
		line int
	}{
		"thread's text":            {told + "\n" + said, 3},
		"thread's text, and raise": {told + "x\n" + source + said, 4},
		"thread's text alone":      {told, 1},
		"said before":              {said + told, 1},
	} {
		if d := explain(t, c.log); d.Cause != "out-of-memory-for-cache" || d.Lines[0].Number != c.line {
			t.Errorf("%s: %s, lines %v; want line %d", name, d.Cause, d.Lines, c.line)
		}
	}
}

// TestFullBefore checks that CUDA's own "out of memory" at the first call that touches the GPU means that others hold
// the memory. Later in a run, or with PyTorch's numbers, it does not.
func TestFullBefore(t *testing.T) {
	module := func(function, message string) string {
		return "Traceback (most recent call last):\n  File \"/w/train.py\", line 7, in main\n    model.to(device)\n" +
			"  File \"/v/site-packages/torch/nn/modules/module.py\", line 1341, in " + function + "\n    return t.to(\n" + message + "\n"
	}
	for name, c := range map[string]struct {
		log   string
		blame Blame
	}{
		"first":   {module("convert", "RuntimeError: CUDA error: out of memory"), Environment},
		"later":   {module("_call_impl", "RuntimeError: CUDA error: out of memory"), Program},
		"numbers": {module("convert", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 10.00 GiB of which 9.00 MiB is free. Of the allocated memory 9.60 GiB is allocated by PyTorch, and 20.00 MiB is reserved by PyTorch but unallocated."), Program},
	} {
		if d := explain(t, c.log); d.Blame != c.blame || (d.Cause == takenByOthers) != (c.blame == Environment) {
			t.Errorf("%s: %s, %s; want %s", name, d.Blame, d.Cause, c.blame)
		}
	}
}

// TestLastBuild checks that the last of several builds in one log decides if a compiler failed in it. Jobs of one make
// are one build.
func TestLastBuild(t *testing.T) {
	const (
		native = "nvcc fatal   : Value 'native' is not defined for option 'gpu-architecture'\n"
		neon   = "/w/ggml-quants.c:403:27: error: implicit declaration of function ‘vld1q_s16_x2’; did you mean ‘vld1q_s16’? [-Werror=implicit-function-declaration]\n"
		failed = "make: *** [ggml.o] Error 1\n"
	)
	for name, c := range map[string]struct {
		log  string
		line int
	}{
		"two builds":              {native + failed + neon + failed, 3},
		"jobs of one build":       {native + failed + "make: *** Waiting for unfinished jobs....\n" + neon + failed, 1},
		"a last one without any":  {native + failed + "rm -f conftest\n" + failed, 1},
		"a make within the first": {native + "make[1]: *** [ggml.o] Error 1\n" + neon + failed, 1},
	} {
		d := explain(t, c.log)
		if len(d.Lines) == 0 || d.Lines[0].Number != c.line || d.Blame != Environment {
			t.Errorf("%s: %s, %s, lines %v; want line %d", name, d.Blame, d.Cause, d.Lines, c.line)
		}
	}
}

// TestOwnLine checks that the program's own line precedes the Xid that it caused.
func TestOwnLine(t *testing.T) {
	d := explain(t, "kernel: NVRM: Xid (PCI:0000:01:00): 31, pid=80798, name=llama-server, Ch 00000008, intr 00000000. MMU Fault\n"+
		"CUDA error: an illegal memory access was encountered\n")
	if d.Cause != "xid-of-the-program" || d.Blame != Program || len(d.Lines) < 2 || d.Lines[0].Number != 2 {
		t.Errorf("%s, %s, lines %v; want line 2 first", d.Blame, d.Cause, d.Lines)
	}
}

// TestLastJob checks that a job which appended to the file of a cancelled one is judged separately. What a cancelled
// job still writes is its own.
func TestLastJob(t *testing.T) {
	const (
		noGPU     = "Traceback (most recent call last):\n  File \"/w/a.py\", line 7, in f\n    g()\nRuntimeError: No CUDA GPUs are available\n"
		cancelled = "slurmstepd: error: *** JOB 334962 ON dgx-51 CANCELLED AT 2026-01-06T13:31:01 ***\n"
		date      = "Tue Jan  6 16:38:21 2026\n"
	)
	for name, c := range map[string]struct {
		log   string
		blame Blame
	}{
		"another job":     {noGPU + cancelled + date + steps(20) + "Training completed in 0:03:11\n", None},
		"another failure": {noGPU + cancelled + date + "IndexError: Target 3 is out of bounds.\n", Program},
		"the same job":    {noGPU + cancelled + "Process 7 ends\n", Environment},
	} {
		if d := explain(t, c.log); d.Blame != c.blame {
			t.Errorf("%s: %s, %s, lines %v; want %s", name, d.Blame, d.Cause, d.Lines, c.blame)
		}
	}
}
