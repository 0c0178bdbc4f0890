package main

import (
	"strings"
	"testing"
)

// TestMachinesOfFlags checks that each value of --gpu and --instance is a machine, and A+B and 2xA are one.
func TestMachinesOfFlags(t *testing.T) {
	for _, test := range []struct {
		args string
		code int
		says string // in what is printed first
	}{
		{"check torch==2.9.0 --driver 580.95.05 --gpu P100,H100", 1, "incompatible on P100: torch 2.9.0 has no code for P100"},
		{"check torch==2.9.0 --driver 580.95.05 --gpu P100+H100", 0, "compatible: torch 2.9.0 works (1 warning: gpu-arch-missing)"},
		{"check torch==2.9.0 --driver 580.95.05 --gpu 2xL4", 0, "compatible: torch 2.9.0 works"},
		{"check torch==2.9.0 --driver 580.95.05 --gpu L4,L4", 0, "compatible: torch 2.9.0 works"},
		{"check torch==2.9.0 --driver 580.95.05 --instance p5.48xlarge --gpu L4", 0, "compatible: torch 2.9.0 works on p5.48xlarge and L4"},
		{"check torch==2.9.0 --driver 580.95.05 --instance p5.48xlarge --gpu P100", 1, "incompatible on P100"},
		{"pins --driver 580.95.05 --gpu L4,H100", 64, "hint: --gpu L4+H100 is one machine with all of them"},
		{"pins --driver 580.95.05 --instance g5.xlarge,p5.48xlarge", 64, "hint: name one: --instance g5.xlarge"},
		{"guard --gpu L4,H100 -- pip install torch", 64, "hint: --gpu L4+H100 is one machine with all of them"},
		{"requires torch==2.9.0 --gpu L4+H100", 64, "hint: --gpu L4,H100 asks for each"},
		{"check torch==2.9.0 --driver 580.95.05 --gpu L4,P100", 1, "✓ GPU     P100 (6.0)"},
		{"check torch==2.9.0 --driver 580.95.05 --gpu L4,8XL4", 0, "✓ GPU     8 × L4 (8.9)"},
		{"check torch==2.9.0 --driver 580.95.05 --gpu 8×L4", 0, "✓ GPU     8 × L4 (8.9)"},
		{"check torch==2.9.0 --gpu L4,", 64, `--gpu "" does not name a machine`},
		{"check torch==2.9.0 --gpu 0xL4", 64, "does not name a machine with 1 to 64 GPUs"},
		{"check torch==2.9.0 --gpu 65xL4", 64, "does not name a machine with 1 to 64 GPUs"},
		{"check torch==2.9.0 --gpu L4+", 64, "does not name a machine with 1 to 64 GPUs"},
		{"check torch==2.9.0 --gpu L44,H100", 64, "did you mean --gpu L40?"},
	} {
		got := runs(t, "", strings.Fields(test.args)...)
		if got.code != test.code || !strings.Contains(got.out+got.err, test.says) {
			t.Errorf("%s: exit %d, want %d and %q:\n%s%s", test.args, got.code, test.code, test.says, got.out, got.err)
		}
	}
}
