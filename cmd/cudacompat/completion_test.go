package main

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// complete returns the words that a shell is offered for the last of args.
func complete(t *testing.T, args ...string) []string {
	t.Helper()
	var out, log bytes.Buffer
	code := runWithin(context.Background(), append([]string{cobra.ShellCompNoDescRequestCmd}, args...), streams{out: &out, err: &log})
	if code != 0 {
		t.Fatalf("exit code %d, want 0: %s", code, &log)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	return lines[:len(lines)-1] // the last one is a directive for the shell
}

func TestCompleteValues(t *testing.T) {
	for _, c := range []struct {
		args string
		want string // one of the words
		not  string // not one of them
	}{
		{"pins --gpu rtx_509", "RTX 5090", "RTX 4090"},
		{"doctor --gpu T4,L4", "T4,L4", "L4"},
		{"check --instance p5", "p5.48xlarge", "g5.xlarge"},
		{"pins --want xf", "xformers", "torch"},
		{"pins --choice ", "newest", ""},
		{"requires --platform w", "wsl", "linux"},
		{"doctor --require b", "build", "gpu"},
		{"doctor --ignore driver-", "driver-too-old", "gpu-count"},
		{"fleet --fail-on ", "never", ""},
		{"explain --color a", "always", "never"},
		{"doctor -o s", "sarif", "json"},
		{"requires -o node", "nodeaffinity", "json"},
		{"pins -o ", "json", ""},
		{"probe -o ", "json", ""},
		{"matrix -o c", "csv", "json"},
		{"guard -o j", "json", ""},
		{"explain xid", "", "driver-too-old"},
		{"explain nccl-t", "nccl-too-old-for-gpu", "driver-too-old"},
		{"matrix to", "torch", "ec2"},
		{"schema f", "facts", "report"},
		{"completion z", "zsh", "bash"},
		{"check example:", "example:broken", ""},
	} {
		args := strings.Split(c.args, " ")
		for i, arg := range args {
			args[i] = strings.ReplaceAll(arg, "_", " ")
		}
		got := complete(t, args...)
		if c.want != "" && !slices.Contains(got, c.want) {
			t.Errorf("%q completes to %q, want %q too", c.args, got, c.want)
		}
		if c.not != "" && slices.Contains(got, c.not) {
			t.Errorf("%q completes to %q, want no %q", c.args, got, c.not)
		}
	}
}

// TestCompleteSecondArgument checks that only the first argument of explain completes to a rule.
func TestCompleteSecondArgument(t *testing.T) {
	if got := complete(t, "explain", "train.log", "dri"); len(got) != 0 {
		t.Errorf("got %q, want nothing: the second argument is a file", got)
	}
}
