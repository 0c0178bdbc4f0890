package report

import (
	"testing"

	"cudacompat/matrix/requires"
	"cudacompat/matrix/verdict"

	"github.com/google/go-cmp/cmp"
)

func TestSentence(t *testing.T) {
	driver := []verdict.Evidence{{Fact: "driver", Value: "535.183.01"}}
	for _, test := range []struct {
		name    string
		finding verdict.Finding
		want    string
	}{
		{"driver-too-old", verdict.Finding{Rule: "driver-too-old", Subject: "torch 2.9.0+cu130 in /opt/venv",
			About: verdict.SubjectParts{Name: "torch", Version: "2.9.0+cu130", Place: "/opt/venv"}, Evidence: driver},
			"torch 2.9.0+cu130 cannot run on driver 535.183.01"},
		{"names-its-subject", verdict.Finding{Rule: "gpu-arch-missing", Subject: "torch 2.9.0 in /opt/venv",
			About:   verdict.SubjectParts{Name: "torch", Version: "2.9.0", Place: "/opt/venv"},
			Message: "torch 2.9.0 has no code for L4"},
			"torch 2.9.0 has no code for L4"},
		{"needs-its-subject", verdict.Finding{Rule: "cuda-packages-mixed",
			Subject: "nvidia-nccl-cu12 and nvidia-nccl-cu13 in /opt/venv",
			About:   verdict.SubjectParts{Name: "nvidia-nccl-cu12 and nvidia-nccl-cu13", Place: "/opt/venv"}, Message: "both own nvidia/nccl/lib"},
			"nvidia-nccl-cu12 and nvidia-nccl-cu13: both own nvidia/nccl/lib"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := FormatSentence(test.finding); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestTogether(t *testing.T) {
	on := func(target, message string) verdict.Finding {
		return verdict.Finding{Rule: "r", Severity: verdict.Error, Subject: "s", Target: target, Message: message}
	}
	whole := func(verdict.Finding) bool { return false }
	got := JoinFindings([]verdict.Finding{on("a", "x"), on("b", "x"), on("c", "y"), on("d", "x")}, whole)
	var targets [][]string
	for _, s := range got {
		targets = append(targets, s.Targets)
	}
	if diff := cmp.Diff([][]string{{"a", "b", "d"}, {"c"}}, targets); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
}

// TestSentencesReadParts checks that sentences are built from the parts of a missing fact or a subject, whatever the
// words for the whole.
func TestSentencesReadParts(t *testing.T) {
	for _, c := range []struct {
		missing requires.MissingFact
		want    string
	}{
		{requires.MissingFact{Fact: "which CUDA it was built with", Question: true}, "it is unknown which CUDA it was built with"},
		{requires.MissingFact{Fact: "which CUDA it was built with", Question: true, Why: "the file pins nothing"},
			"the file pins nothing, so it is unknown which CUDA it was built with"},
		{requires.MissingFact{Fact: "the version of libcuda"}, "the version of libcuda is unknown"},
		{requires.MissingFact{Fact: "any words", Flag: "--gpu"}, "no GPU was found to compare it with (add --gpu)"},
		{requires.MissingFact{Fact: "any words", Flag: "--driver"}, "no driver version was found or given (add --driver)"},
		{requires.MissingFact{Why: "every GPU here is held by vfio-pci"}, "every GPU here is held by vfio-pci"},
		{requires.MissingFact{}, "reworded: the whole"},
	} {
		c.missing.Missing = "reworded: the whole"
		if got := DescribeMissing(verdict.Missing{MissingFact: c.missing}); got != c.want {
			t.Errorf("%+v: %q, want %q", c.missing, got, c.want)
		}
	}
	f := verdict.Finding{Subject: "reworded in /elsewhere", Message: "fails", About: verdict.SubjectParts{Name: "torch", Version: "2.9.0", Place: "/opt/venv"}}
	if got := FormatSentence(f); got != "torch 2.9.0: fails" {
		t.Errorf("%q", got)
	}
}
