package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"cudacompat/probe/facts"
)

// verdict is what is compared of doctor's JSON.
type verdict struct {
	Outcome string      `json:"outcome"`
	Facts   facts.Facts `json:"facts"`
	Judged  []struct {
		Devices []struct {
			Label  string `json:"label"`
			Hidden string `json:"hidden"`
		} `json:"devices"`
	} `json:"judged"`
	Answers []struct {
		Subject string   `json:"subject"`
		Answer  string   `json:"answer"`
		Because []string `json:"because"`
	} `json:"answers"`
}

// shown counts the GPUs that a program is shown.
func (v *verdict) shown() int {
	n := 0
	for _, j := range v.Judged {
		for _, d := range j.Devices {
			if d.Hidden == "" {
				n++
			}
		}
	}
	return n
}

// ask runs doctor with more variables in its environment.
func (b *bench) ask(ctx context.Context, env []string, args ...string) (*verdict, error) {
	cmd := exec.CommandContext(ctx, b.tool, append([]string{"doctor", "-o", "json"}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	var v verdict
	if err := json.Unmarshal(out, &v); err != nil {
		return nil, fmt.Errorf("exit %d without a report: %w", cmd.ProcessState.ExitCode(), err)
	}
	return &v, nil
}

func (b *bench) doctor(ctx context.Context, s *section) {
	started := time.Now()
	cmd := exec.CommandContext(ctx, b.tool, "doctor", "--all")
	out, _ := cmd.CombinedOutput() // the exit code is printed
	if cmd.ProcessState == nil {
		s.differs("%s could not be started", b.tool)
		return
	}
	s.say("%s", anonymous(string(out)))
	s.say("exit %d after %d ms", cmd.ProcessState.ExitCode(), time.Since(started).Milliseconds())
}

// anonymous leaves out the home directory of the one who runs this.
func anonymous(text string) string {
	if home, err := os.UserHomeDir(); err == nil && home != "/" {
		text = strings.ReplaceAll(text, home, "~")
	}
	return strings.TrimRight(text, "\n")
}

// cost is what one run of a program took.
type cost struct {
	wall, cpu time.Duration
	peak      int64 // kB
}

func costOf(cmd *exec.Cmd) (cost, error) {
	started := time.Now()
	err := cmd.Run()
	if cmd.ProcessState == nil {
		return cost{}, err
	}
	c := cost{wall: time.Since(started), cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		c.peak = usage.Maxrss
	}
	return c, nil
}
