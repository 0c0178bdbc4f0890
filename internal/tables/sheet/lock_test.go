package sheet

import "testing"

// TestFindDay checks that a row is as old as the oldest of its sources that can change, and, if none can, as old as the
// others.
func TestFindDay(t *testing.T) {
	lock := Lock{
		"torch":  {Tables: []string{"torch"}, Projects: []string{"torch"}, Fetched: "2026-11-20"},
		"pages":  {Address: "https://", Pages: map[string]Page{"https://docs.example.com/a": {Read: "2026-11-10"}}},
		"github": {Address: "https://github.com/", Fixed: true, Pages: map[string]Page{"https://github.com/a/b/blob/v1/c": {Read: "2026-01-01"}}},
	}
	const wheel = "wheel torch-2.9.0-cp312-cp312-manylinux_2_28_x86_64.whl sha256:00"
	for _, c := range []struct {
		name    string
		sources []string
		want    string
	}{
		{"wheel", []string{wheel}, "2026-11-20"},
		{"page", []string{wheel, "https://docs.example.com/a"}, "2026-11-10"},
		{"fixed", []string{wheel, "https://github.com/a/b/blob/v1/c"}, "2026-11-20"},
		{"fixed alone", []string{"https://github.com/a/b/blob/v1/c"}, "2026-01-01"},
		{"unknown", []string{"https://docs.example.com/b"}, ""},
	} {
		if got := lock.FindDay("torch", c.sources); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got := lock.Origin("nccl", wheel); got != "" {
		t.Errorf("a wheel of torch is a source of nccl: %s", got)
	}
}
