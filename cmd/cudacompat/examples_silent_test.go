package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestExampleScriptsWithBrokenProgram runs the example scripts with a cudacompat that is missing, prints nothing, or ends early.
// No node may then count as healthy, no job may start that should not, and no node may be drained or resumed.
func TestExampleScriptsWithBrokenProgram(t *testing.T) {
	for _, c := range []struct {
		script string
		args   []string
		state  string // what scontrol says of the node
		code   map[string]int
		out    string // of standard output, and of scontrol's calls
		file   string // what is left in the directory of features
	}{
		// Slurm rejects a job whose constraint is this output (tools/engines/slurm.sh).
		{script: "slurm/constraint.sh", args: []string{"requirements.txt"}, code: map[string]int{"": 1}, out: "cudacompat-no-such-node\n"},
		{script: "slurm/features.sh", code: map[string]int{"missing": 127, "silent": 1, "ended": 137, "bug": 70}},
		// Nothing is known about the node, so its state must not change.
		{script: "slurm/prolog.sh", code: map[string]int{"": 0}},
		{script: "slurm/healthcheck.sh", state: "NodeName=n1 State=IDLE", code: map[string]int{"": 0}},
		{script: "slurm/healthcheck.sh", state: "NodeName=n1 State=DRAIN Reason=cudacompat: FAIL x [root@now] Gres=gpu:8", code: map[string]int{"": 0}},
		{script: "kubernetes/nfd.sh", code: map[string]int{"": 0}, file: "cudacompat.outcome=inconclusive\n"},
		// The line is not a document. `fleet` says so and exits 3.
		{script: "kubernetes/collect.sh", code: map[string]int{"": 0}, out: `{"node":"n1","group":"g","taken":"T","facts":}` + "\n"},
		{script: "ansible/cudacompat.fact", code: map[string]int{"missing": 1, "silent": 0, "ended": 1, "bug": 1}},
	} {
		for kind, body := range map[string]string{"missing": "", "silent": "exit 0", "ended": "kill -9 $$", "bug": "exit 70"} {
			t.Run(c.script+" "+kind, func(t *testing.T) {
				t.Parallel()
				dir, features := t.TempDir(), t.TempDir()
				tool := func(name, text string) {
					if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
						t.Fatal(err)
					}
				}
				if body != "" {
					tool("cudacompat", body)
				} else {
					tool("cudacompat", "exit 127") // as the shell says of what is not there
				}
				tool("scontrol", `case $1 in show) echo "`+c.state+`" ;; *) echo "scontrol $*" ;; esac`)
				tool("sinfo", "echo cudacompat-cc9.0")
				tool("date", `case "$*" in *-d*) exec /bin/date "$@" ;; *%s*) exec /bin/date "$@" ;; *) echo T ;; esac`)
				cmd := exec.CommandContext(t.Context(), "/bin/sh", append([]string{filepath.Join("../../examples", c.script)}, c.args...)...)
				cmd.Env = []string{"PATH=" + dir + ":/usr/bin:/bin", "SLURMD_NODENAME=n1", "NODE=n1", "GROUP=g", "ROOT=/", "ONCE=1", "FEATURES=" + features}
				var out strings.Builder
				cmd.Stdout = &out
				err := cmd.Run()
				want, ok := c.code[kind]
				if !ok {
					want = c.code[""]
				}
				if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != want || out.String() != c.out {
					t.Errorf("exit %v, want %d; printed %q, want %q", err, want, out.String(), c.out)
				}
				if left, _ := os.ReadFile(filepath.Join(features, "cudacompat")); !strings.HasSuffix(string(left), c.file) || (c.file == "") != (len(left) == 0) {
					t.Errorf("left %q, want %q", left, c.file)
				}
			})
		}
	}
}
