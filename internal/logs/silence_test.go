package logs

import (
	"os"
	"strings"
	"testing"

	"cudacompat/internal/logs/decide"
	"cudacompat/internal/logs/logtext"
)

// TestOrdinaryLines checks that no signature of a fault matches a line of healthy programs, or one that only discusses
// an error.
func TestOrdinaryLines(t *testing.T) {
	text, err := os.ReadFile("testdata/ordinary.log")
	if err != nil {
		t.Fatal(err)
	}
	if d := explain(t, string(text)); d.Cause != NothingFound || d.Blame != Unknown {
		t.Errorf("the whole log: %s, %s, %v", d.Blame, d.Cause, d.Lines)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for i, line := range lines {
		for _, s := range table(t) {
			if s.Blame != None && s.Weight != decide.Fact && logtext.ContainsAny(line, s.Literal) && s.Match(logtext.Clean([]byte(line))) != nil {
				t.Errorf("line %d is no error and %q matches it: %s", i+1, s.ID, line)
			}
		}
	}
	t.Logf("%d lines", len(lines))
}

// TestNearMisses checks lines similar to those of a fault for which nobody is to blame. Many drivers cannot report the
// power of a healthy GPU.
func TestNearMisses(t *testing.T) {
	for _, line := range []string{
		"| N/A   29C    P0   ERR! / 250W |    593MiB / 16160MiB |      0%      Default |",
		"BUG: KFENCE: use-after-free read in flurb_release+0x29/0x70 [i915]",
		"INFO: the fast path requires 8.9 capability, the other one is taken",
		"No error. Mode INITIAL_READ, total errors 0x0",
		"ptxas /tmp/tmpxft_00001c51_00000000-15_flurb.compute_30.ptx, line 5; error   : Unknown symbol 'flurb'",
		"hub 1-0:1.0: over-current condition on port 2",
		"nvlink fatal   : Could not open input file 'flurb.o'",
		"the query returned 127 rows", "step 126: status ok", "clSize-30 of the cluster",
		"Failed to upload flurb: Insufficient Permissions",
		"/usr/bin/ld: /tmp/ccFlurb.o: in function `main': undefined reference to `cublasCreate_v2'",
		"flurb.exe exited with code 3221225477", "flurb: CUDA error 719 on device 0",
		"*** Error in `python': double free or corruption (!prev): 0x01 ***", "free(): invalid pointer",
		"/root/go/pkg/mod/flurb@v1/a.go:3:4: undefined: flurb",
		"/usr/include/eigen3/Eigen/src/flurb.h(3): error: type name is not allowed",
		"cc1plus: error: unrecognized command line option '-Wno-flurb'",
		"a.o: undefined reference to `flurb::Flurb::flurb()'",
		"(gst-launch-1.0:6516): GLib-CRITICAL **: 14:43:07.565: g_flurb: assertion 'queue != NULL' failed",
		"WARNING: Option --flurb is not a valid RELION argument",
	} {
		if d := explain(t, line); d.Blame != Unknown {
			t.Errorf("%s: %s, %s", line, d.Blame, d.Cause)
		}
	}
}
