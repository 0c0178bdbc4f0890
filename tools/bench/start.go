package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// part is what a part of a run takes.
type part struct {
	what string
	time time.Duration
}

// shown is how many of the longest parts are written down.
const shown = 8

// start measures what every Go program needs: one that does nothing, and one that is linked with libc as NVML requires.
// The runtime reports what this program adds before its main function.
func (b *bench) start(ctx context.Context) error {
	for _, p := range []struct{ what, name, source string }{
		{"an empty Go program", "empty", "package main\n\nfunc main() {}\n"},
		{"an empty Go program, linked with libc", "linked", "package main\n\nimport \"C\"\n\nfunc main() {}\n"},
	} {
		source, program := filepath.Join(b.dir, p.name+".go"), filepath.Join(b.dir, p.name)
		if err := os.WriteFile(source, []byte(p.source), 0o644); err != nil {
			return err
		}
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, source).CombinedOutput(); err != nil {
			return fmt.Errorf("go build: %w: %s", err, out)
		}
		got, err := b.run(ctx, nil, program)
		if err != nil {
			return err
		}
		b.floor = append(b.floor, part{p.what, got.cpu})
	}
	return b.least(&b.inits, func() ([]part, error) {
		cmd := exec.CommandContext(ctx, b.tool, "version")
		cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
		out, err := cmd.CombinedOutput()
		return initialised(out), err
	})
}

// initialised reads what the runtime tells of the packages:
//
//	init github.com/spf13/cobra @2.4 ms, 0.006 ms clock, 952 bytes, 12 allocs
func initialised(trace []byte) (parts []part) {
	lines := bufio.NewScanner(bytes.NewReader(trace))
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 6 || f[0] != "init" {
			continue
		}
		if took, err := strconv.ParseFloat(f[4], 64); err == nil {
			parts = append(parts, part{f[1], time.Duration(took * float64(time.Millisecond))})
		}
	}
	return parts
}

// sources measures the sources of facts, as a report gives them, for an environment with a real PyTorch.
func (b *bench) sources(ctx context.Context) error {
	return b.least(&b.read, func() ([]part, error) {
		out, err := exec.CommandContext(ctx, b.tool, "probe", "--env", b.torch).Output()
		if err != nil {
			return nil, err
		}
		var facts struct {
			Probes []struct {
				Name    string
				Seconds float64
			}
		}
		err = json.Unmarshal(out, &facts)
		var parts []part
		for _, p := range facts.Probes {
			parts = append(parts, part{p.Name, time.Duration(p.Seconds * float64(time.Second))})
		}
		return parts, err
	})
}

// least keeps the longest parts of the run that takes the least of some.
func (b *bench) least(kept *[]part, run func() ([]part, error)) error {
	total := func(parts []part) (sum time.Duration) {
		for _, p := range parts {
			sum += p.time
		}
		return sum
	}
	for range b.runs {
		parts, err := run()
		if err != nil {
			return err
		}
		if *kept == nil || total(parts) < total(*kept) {
			*kept = parts
		}
	}
	slices.SortFunc(*kept, func(a, b part) int { return int(b.time - a.time) })
	return nil
}

// where says in what parts the time goes that the goals are missed by.
func (b *bench) where() string {
	var s strings.Builder
	s.WriteString("\n## Where the time goes\n\n")
	for _, p := range b.floor {
		fmt.Fprintf(&s, "- %s: %s of CPU\n", p.what, ms(p.time))
	}
	for _, list := range []struct {
		what  string
		parts []part
	}{{"initialising packages before the main function", b.inits},
		{"reading facts with a real PyTorch, wall time", b.read}} {
		if len(list.parts) > 0 {
			fmt.Fprintf(&s, "- %s: %s\n", list.what, longest(list.parts))
		}
	}
	return s.String()
}

// longest returns the first of the sorted parts, and the sum of the others: "python 21.3 ms, libraries 1.1 ms".
func longest(parts []part) string {
	var texts []string
	var rest time.Duration
	for i, p := range parts {
		if i < shown {
			texts = append(texts, fmt.Sprintf("%s %.2f ms", p.what, p.time.Seconds()*1000))
		} else {
			rest += p.time
		}
	}
	return fmt.Sprintf("%s; %d others %.2f ms", strings.Join(texts, ", "), max(len(parts)-shown, 0), rest.Seconds()*1000)
}
