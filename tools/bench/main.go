// Command bench measures what a run of cudacompat costs beside its budgets and beside its rivals, in one go on an idle
// machine, and writes docs/performance.md:
//
//	make bench                                   # with what is on this machine
//	BENCH_TORCH=/opt/venv make bench             # with a real PyTorch too, and what imports it
//	BENCH_RIVALS=/opt/doctors                    # an environment with env-doctor, cuda-doctor and rigsolve, which a
//	                                             # .pth file leads to the other: their own packages do not stand in it
//	BENCH_IMAGE=/opt/image                       # an image: the directory of an OCI layout whose layers gzip packed
//
// A goal that is missed is marked; the exit code is 0 all the same, since no other machine is this one.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

func main() {
	tool := flag.String("tool", "bin/cudacompat", "the program to measure")
	torch := flag.String("torch", os.Getenv("BENCH_TORCH"), "an environment with a real PyTorch")
	rivals := flag.String("rivals", cmp.Or(os.Getenv("BENCH_RIVALS"), os.Getenv("BENCH_TORCH")),
		"an environment with other programs that look at it")
	image := flag.String("image", os.Getenv("BENCH_IMAGE"), "an image, as the directory of an OCI layout")
	out := flag.String("o", "docs/performance.md", "where the table goes; empty: only printed")
	runs := flag.Int("runs", 21, "how often each program is run")
	flag.Parse()
	dir, err := os.MkdirTemp("", "bench")
	if err == nil {
		defer os.RemoveAll(dir)
		b := &bench{tool: *tool, torch: *torch, image: *image, beside: *rivals, dir: dir, runs: *runs}
		err = b.measure(context.Background())
		text := b.text()
		fmt.Print(text)
		if err == nil && *out != "" {
			err = os.WriteFile(*out, []byte(text), 0o644)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(70)
	}
}

// text returns the page: first what people ask, then the budgets, then where the time goes.
func (b *bench) text() string {
	var s strings.Builder
	fmt.Fprintf(&s, `# What a run costs

`+"`make bench`"+` wrote this page on %s (%s/%s, %d cores, %s; load %s). CPU is user and system time of the
program and its children; a busy machine changes it little, and wall time much. The figures are medians of %d runs with
warm caches; for images, growth and other programs, of 3 runs or fewer. Where the machine was busy, wall time is left out.

## What people ask

| question | wall time | CPU | peak memory |
|---|---|---|---|
`, time.Now().UTC().Format(time.DateOnly), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), processor(), load(), b.runs)
	for _, r := range b.asked {
		fmt.Fprintf(&s, "| %s | %s | %s | %d MB |\n", r.what, wall(r.wall), ms(r.cpu), r.peak>>10)
	}
	fmt.Fprintf(&s, `
## Budgets

In rows about CPU, × is a multiple of what `+"`/usr/bin/python3 -I -c pass`"+` takes, which is %s here.

| what | measured | goal | |
|---|---|---|---|
`, ms(b.python.cpu))
	for _, r := range b.rows {
		fmt.Fprintf(&s, "| %s | %s | %s | %s |\n", r.what, r.measured, r.goal, r.mark())
	}
	s.WriteString(b.where())
	s.WriteString("\n## How it grows\n\n| what | wall time | CPU | peak memory |\n|---|---|---|---|\n")
	for _, r := range b.growth {
		fmt.Fprintf(&s, "| %s | %s | %s | %d MB |\n", r.what, wall(r.wall), ms(r.cpu), r.peak>>10)
	}
	if len(b.rivals) > 0 {
		fmt.Fprintf(&s, "\n## Compared with other programs, on the same environment\n\nThe environment has %s. × is a multiple of "+
			"what cudacompat takes.\n\n| program | wall time | CPU | × | peak memory | bytes read | system calls |\n"+
			"|---|---|---|---|---|---|---|\n", b.release)
		for _, r := range b.rivals {
			fmt.Fprintf(&s, "| %s | %s | %s | %.0f | %d MB | %.1f MB | %d |\n", r.what, wall(r.wall), ms(r.cpu),
				float64(r.cpu)/float64(b.rivals[0].cpu), r.peak>>10, float64(r.read)/1e6, r.calls)
		}
	}
	return s.String()
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }

// processor returns the name of the first one.
func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.HasPrefix(name, "model name") {
			return strings.TrimSpace(value)
		}
	}
	return "an unnamed processor"
}

// wall formats a wall time, or says that there is none: on a machine with more work than cores it means nothing.
func wall(d time.Duration) string {
	if busy() {
		return "–"
	}
	return ms(d)
}

func busy() bool {
	n, err := strconv.ParseFloat(load(), 64)
	return err != nil || n > float64(runtime.NumCPU())+0.5
}

// load returns the load of the last minute; above the number of cores the figures are of a busy machine.
func load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	one, _, _ := strings.Cut(string(text), " ")
	return one
}
