package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cudacompat/probe"
)

// healthchecks runs many in a row: memory must not grow, and nothing may be left behind.
func (b *bench) healthchecks(ctx context.Context, s *section) {
	var walls []time.Duration
	var peak int64
	codes := map[int]int{}
	for range b.runs {
		cmd := exec.CommandContext(ctx, b.tool, "doctor", "--healthcheck")
		c, err := costOf(cmd)
		if err != nil || ctx.Err() != nil {
			break
		}
		codes[cmd.ProcessState.ExitCode()]++
		walls, peak = append(walls, c.wall), max(peak, c.peak)
	}
	if len(walls) < b.runs {
		s.differs("%d of %d health checks were run", len(walls), b.runs)
	}
	if len(walls) == 0 {
		return
	}
	slices.Sort(walls)
	s.say("%d runs, exit codes %v", len(walls), codes)
	s.say("wall: median %d ms, longest %d ms; peak memory %d MB", walls[len(walls)/2].Milliseconds(),
		walls[len(walls)-1].Milliseconds(), peak>>10)
	if len(codes) > 1 {
		s.differs("the same machine got the exit codes %v", codes)
	}
	time.Sleep(100 * time.Millisecond) // for a child to be gone after its parent
	if left := running(b.tool); left > 0 {
		s.differs("%d processes of the program are left", left)
	}
}

// running counts the processes that run a program, including zombies.
func running(program string) int {
	want, _ := filepath.Abs(program)
	name := filepath.Base(want)
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	n := 0
	for _, stat := range stats {
		if exe, err := os.Readlink(filepath.Join(filepath.Dir(stat), "exe")); err == nil && exe == want {
			n++
			continue
		}
		if text, err := os.ReadFile(stat); err == nil && strings.Contains(string(text), "("+name+") Z") {
			n++
		}
	}
	return n
}

// besideC compares with a program in C that makes the same calls of NVML and no more.
func (b *bench) besideC(ctx context.Context, s *section) {
	bare, err := compiled(ctx, "cmd/cudacompat/testdata/bare.c", "bare", "-ldl")
	if err != nil {
		s.say("not compared: %v", err)
		return
	}
	defer os.RemoveAll(filepath.Dir(bare))
	own := median(ctx, b.tool, "doctor", "--env", "none", "-o", "line")
	c := median(ctx, bare)
	s.say("doctor --env none: %d ms wall, %d ms CPU", own.wall.Milliseconds(), own.cpu.Milliseconds())
	s.say("the bare C program: %d ms wall, %d ms CPU", c.wall.Milliseconds(), c.cpu.Milliseconds())
	if over := own.wall - c.wall; over > 40*time.Millisecond {
		s.differs("doctor takes %d ms longer than the bare program", over.Milliseconds())
	}
}

// compiled compiles a C source and is the path of the program or library.
func compiled(ctx context.Context, source, name string, args ...string) (string, error) {
	dir, err := os.MkdirTemp("", "ongpu")
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, name)
	out, err := exec.CommandContext(ctx, "cc", append([]string{"-o", file, source}, args...)...).CombinedOutput()
	if err != nil {
		os.RemoveAll(dir)
		return "", &exec.Error{Name: "cc " + source, Err: errorText{err, strings.TrimSpace(string(out))}}
	}
	return file, nil
}

// errorText is an error with what the program printed.
type errorText struct {
	error
	printed string
}

func (e errorText) Error() string { return strings.TrimSpace(e.error.Error() + " " + e.printed) }

// median returns the run of eleven whose wall time is the median.
func median(ctx context.Context, name string, args ...string) cost {
	var all []cost
	for range 11 {
		if c, err := costOf(exec.CommandContext(ctx, name, args...)); err == nil {
			all = append(all, c)
		}
	}
	if len(all) == 0 {
		return cost{}
	}
	slices.SortFunc(all, func(a, b cost) int { return int(a.wall - b.wall) })
	return all[len(all)/2]
}

// inProcess queries NVML without the child process, as an agent that imports probe does, and compares the result with
// the child's.
func (b *bench) inProcess(ctx context.Context, s *section) {
	here := probe.Run(ctx, probe.This(), probe.Options{Envs: []string{"none"}})
	v, err := b.ask(ctx, nil, "--env", "none")
	if err != nil {
		s.differs("%v", err)
		return
	}
	there := v.Facts
	same(s, "NVML", here.Driver.NVML.Status, there.Driver.NVML.Status)
	same(s, "driver", here.Driver.Version, there.Driver.Version)
	if len(here.GPUs) != len(there.GPUs) {
		s.differs("%d GPUs in this process, %d by the child", len(here.GPUs), len(there.GPUs))
		return
	}
	for i := range here.GPUs {
		same(s, "GPU", here.GPUs[i].Name+" "+here.GPUs[i].Capability, there.GPUs[i].Name+" "+there.GPUs[i].Capability)
	}
}
