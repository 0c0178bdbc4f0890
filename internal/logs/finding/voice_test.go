package finding

import "testing"

// TestSearchable checks the words that a step searches for: the last clause that says something, without what belongs
// to one run.
func TestSearchable(t *testing.T) {
	for text, want := range map[string]string{
		"starting plugins: error getting plugins: unable to create plugins: failed to construct resource managers: invalid device discovery strategy":      "invalid device discovery strategy",
		"***:35:89 [5] ofi_process_cq:1039 NCCL WARN NET/OFI Request 0x7fbb944701b8 completed with error. RC: 20. Error: unknown error. Request: { a: 1 }": "NCCL WARN NET/OFI Request completed with error",
		"frob: fatal error in the PIPELINE of CUDA frobs": "frob: fatal error in the PIPELINE of CUDA frobs",
	} {
		if got := searchable(text); got != want {
			t.Errorf("%q: %q, not %q", text, got, want)
		}
	}
}
