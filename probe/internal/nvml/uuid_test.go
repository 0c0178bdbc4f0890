package nvml

import (
	"testing"

	"cudacompat/probe/facts"

	"github.com/google/go-cmp/cmp"
)

func TestMatchNamed(t *testing.T) {
	got := matchNamed("GPU-8932f937,0, GPU-nothing,MIG-4b0e,GPU-8,GPU-",
		[]identity{{"GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", "0000:1e:00.0"}, {"GPU-8a", "0000:1f:00.0"}})
	want := []facts.NamedDevice{{Device: "GPU-8932f937", Found: true, Bus: "0000:1e:00.0"},
		{Device: "GPU-nothing", Found: false, Bus: ""}, {Device: "GPU-8", Found: true, Bus: ""}, {Device: "GPU-"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
