package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"
)

type bench struct {
	tool, torch, dir string
	image            string // the directory of an OCI layout
	release          string // of the torch, "torch 2.15.0+cu132"
	beside           string // the environment of the rivals
	runs             int
	python           cost
	rows             []row
	growth, rivals   []cost
	asked            []cost // what people ask
	floor            []part // programs that do nothing
	inits, read      []part // packages before main; sources of facts
}

// cost is what a run of a program takes.
type cost struct {
	what      string
	wall, cpu time.Duration
	peak      int64 // kB
	calls     int64 // of the system; 0: not counted
	read      int64 // bytes
}

// row is one goal and what was measured.
type row struct {
	what, measured, goal string
	missed               bool
}

func (r row) mark() string {
	if r.missed {
		return "missed"
	}
	return "met"
}

// goal writes down a duration and its limit.
func (b *bench) goal(what string, got, limit time.Duration) {
	b.rows = append(b.rows, row{what, ms(got), "≤ " + ms(limit), got > limit})
}

// ratio writes down CPU time as a multiple of the yardstick's.
func (b *bench) ratio(what string, got cost, limit float64) {
	times := float64(got.cpu) / float64(b.python.cpu)
	b.rows = append(b.rows, row{what + ", CPU", fmt.Sprintf("%.2f × (%s)", times, ms(got.cpu)),
		fmt.Sprintf("≤ %.1f ×", limit), times > limit})
}

// run returns the median by CPU time of some runs. The own memory is given back and its peak forgotten first: until a
// child starts its own program, the kernel counts the parent's peak as the child's.
func (b *bench) run(ctx context.Context, env []string, name string, args ...string) (cost, error) {
	debug.FreeOSMemory()
	os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // forget the own peak (proc(5))
	var all []cost
	for range b.runs {
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Env = append(os.Environ(), env...)
		started := time.Now()
		if err := cmd.Run(); cmd.ProcessState == nil {
			return cost{}, err
		}
		c := cost{wall: time.Since(started), cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
		if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
			c.peak = usage.Maxrss
		}
		all = append(all, c)
	}
	return median(all), nil
}

// median returns the run in the middle, by CPU time.
func median(all []cost) cost {
	slices.SortFunc(all, func(a, b cost) int { return int(a.cpu - b.cpu) })
	return all[len(all)/2]
}

func (b *bench) measure(ctx context.Context) error {
	for _, step := range []func(context.Context) error{b.yardstick, b.small, b.nvml, b.questions, b.real, b.cold,
		b.layers, b.start, b.grow, b.libraries} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) yardstick(ctx context.Context) (err error) {
	b.python, err = b.run(ctx, nil, "/usr/bin/python3", "-I", "-c", "pass")
	return err
}

// small returns what needs nothing but files that are made here.
func (b *bench) small(ctx context.Context) error {
	version, err := b.run(ctx, nil, b.tool, "version")
	if err != nil {
		return err
	}
	b.goal("version, CPU", version.cpu, 10*time.Millisecond)
	root := filepath.Join(b.dir, "root")
	if err := smallRoot(root); err != nil {
		return err
	}
	tree, err := b.run(ctx, nil, b.tool, "doctor", "--root", root, "--instance", "g5.xlarge")
	if err != nil {
		return err
	}
	b.ratio("doctor --root, small torch", tree, 1.0)
	live, err := b.run(ctx, nil, b.tool, "doctor", "--env", "none")
	if err != nil {
		return err
	}
	b.ratio("doctor --env none", live, 1.2)
	return nil
}

// ask writes down the cost of a question.
func (b *bench) ask(what string, c cost) {
	c.what = what
	b.asked = append(b.asked, c)
}

// questions measures what needs a file or a name alone.
func (b *bench) questions(ctx context.Context) error {
	files := map[string]string{"requirements.txt": "torch==2.9.0\ntorchvision==0.24.0\nnumpy\n",
		"Dockerfile": "FROM pytorch/pytorch:2.9.0-cuda12.8-cudnn9-runtime\nRUN pip install vllm==0.11.0\nCMD [\"python\"]\n",
		"log.txt": strings.Repeat("2026-11-29 10:00:00 INFO step 1 loss=0.1 lr=1e-4\n", 99) + "RuntimeError: The NVIDIA driver on " +
			"your system is too old (found version 12020). Please update your GPU driver\n"}
	if err := write(b.dir, files); err != nil {
		return err
	}
	at := func(name string) string { return filepath.Join(b.dir, name) }
	for _, q := range []struct {
		what string
		args []string
	}{
		{"does a requirements file fit an L4 with driver 580?", []string{"check", at("requirements.txt"), "--gpu", "L4", "--driver", "580.95.05"}},
		{"what is at fault in a log of 100 lines? (explain)", []string{"explain", "--no-here", at("log.txt")}},
		{"what does torch need of a host? (requires)", []string{"requires", "torch", "-o", "json"}},
		{"what does a Dockerfile of three lines need? (requires)", []string{"requires", at("Dockerfile"), "-o", "json"}},
	} {
		got, err := b.run(ctx, nil, b.tool, q.args...)
		if err != nil {
			return err
		}
		b.ask(q.what, got)
	}
	return nil
}

// nvml compares with a C program that makes the same calls to a stand-in for the driver's library.
func (b *bench) nvml(ctx context.Context) error {
	lib := filepath.Join(b.dir, "libnvidia-ml.so.1")
	bare := filepath.Join(b.dir, "bare")
	for _, args := range [][]string{
		{"-w", "-shared", "-fPIC", "-o", lib, "-include", "probe/internal/nvml/nvmltest/testdata/fault.h",
			"-xc", "probe/internal/nvml/nvmltest/testdata/fake.c"},
		{"-o", bare, "-xc", "cmd/cudacompat/testdata/bare.c", "-ldl"},
	} {
		if out, err := exec.CommandContext(ctx, "cc", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("cc: %w: %s", err, out)
		}
	}
	env := []string{"LD_LIBRARY_PATH=" + b.dir}
	own, err := b.run(ctx, env, b.tool, "doctor", "--env", "none", "-o", "line")
	if err != nil {
		return err
	}
	c, err := b.run(ctx, env, bare)
	if err != nil {
		return err
	}
	if busy() {
		b.rows = append(b.rows, row{"doctor with NVML, peak memory", fmt.Sprintf("%d MB", own.peak>>10), "≤ 24 MB", own.peak > 24<<10})
		return nil
	}
	b.goal("doctor with NVML, wall time beyond that of a C program with the same NVML calls", own.wall-c.wall, 12*time.Millisecond)
	b.rows = append(b.rows, row{"doctor with NVML, peak memory", fmt.Sprintf("%d MB", own.peak>>10), "≤ 24 MB", own.peak > 24<<10})
	return nil
}

// real returns what a real PyTorch costs, and what those cost that import it.
func (b *bench) real(ctx context.Context) error {
	if b.torch == "" {
		return nil
	}
	own, err := b.run(ctx, nil, b.tool, "doctor", "--env", b.torch)
	if err != nil {
		return err
	}
	b.ratio("doctor, real PyTorch", own, 3.5)
	if b.release, err = torchRelease(b.torch); err != nil {
		return err
	}
	b.ask("what does doctor say of an environment with "+b.release+"?", own)
	own.what = "cudacompat doctor"
	if err := b.trace(ctx, &own, []string{b.tool, "doctor", "--env", b.torch}); err != nil {
		return err
	}
	b.rivals = append(b.rivals, own)
	if err := b.sources(ctx); err != nil {
		return err
	}
	return b.compare(ctx)
}
