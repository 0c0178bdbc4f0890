// Command ongpu runs what only a machine with an NVIDIA GPU can show, and writes one report to attach to an issue:
//
//	make gpu                     # go run ./tools/ongpu -tool bin/cudacompat -o gpu-report.md
//
// It changes no setting of the GPU, needs no root, and takes under eight minutes. What it writes holds no serial
// number, UUID, host or user name. It exits 1 where something differs from what it should be.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"cudacompat/probe"
)

// A bench holds the shared parts of the checks: the program under test, and a Python that may have torch.
type bench struct {
	tool   string
	python string
	runs   int // of --healthcheck
}

// section is what one check found. A difference is a line that should not be there.
type section struct {
	title       string
	lines       []string
	differences []string
}

func (s *section) say(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

func (s *section) differs(format string, args ...any) {
	s.differences = append(s.differences, fmt.Sprintf(format, args...))
}

var checks = []struct {
	title string
	run   func(*bench, context.Context, *section)
}{
	{"What doctor says", (*bench).doctor},
	{"Facts beside nvidia-smi -q -x", (*bench).besideSMI},
	{"Health checks in a row", (*bench).healthchecks},
	{"Beside a bare C program", (*bench).besideC},
	{"NVML in this program's own process", (*bench).inProcess},
	{"CUDA_VISIBLE_DEVICES beside the driver", (*bench).visible},
	{"Broken neighbours", (*bench).neighbours},
	{"Predictions beside torch", (*bench).torch},
}

func main() {
	b := &bench{}
	flag.StringVar(&b.tool, "tool", "bin/cudacompat", "the program to examine")
	flag.StringVar(&b.python, "python", "python3", "the interpreter that may have a torch")
	flag.IntVar(&b.runs, "runs", 200, "how often --healthcheck is run")
	out := flag.String("o", "gpu-report.md", "where the report goes")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	defer cancel()
	text, differences := report(ctx, b)
	if err := os.WriteFile(*out, []byte(text), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "ongpu:", err)
		os.Exit(70)
	}
	fmt.Printf("%d differences; the report is %s\n", differences, *out)
	if differences > 0 {
		os.Exit(1)
	}
}

func report(ctx context.Context, b *bench) (text string, differences int) {
	var out strings.Builder
	fmt.Fprintf(&out, "# cudacompat on a GPU\n\n%s, %s\n", time.Now().UTC().Format(time.DateOnly), probe.NVMLSupport())
	for _, check := range checks {
		s := &section{title: check.title}
		started := time.Now()
		check.run(b, ctx, s)
		s.write(&out, time.Since(started))
		differences += len(s.differences)
	}
	return out.String(), differences
}

func (s *section) write(out *strings.Builder, took time.Duration) {
	fmt.Fprintf(out, "\n## %s (%.1f s)\n\n", s.title, took.Seconds())
	for _, d := range s.differences {
		fmt.Fprintln(out, "- DIFFERS:", d)
	}
	if len(s.lines) > 0 {
		fmt.Fprintf(out, "\n```\n%s\n```\n", strings.Join(s.lines, "\n"))
	}
}
