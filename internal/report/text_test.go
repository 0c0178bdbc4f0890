package report

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"cudacompat/matrix/pin"
	"cudacompat/matrix/requires"
	"cudacompat/matrix/verdict"

	"github.com/google/go-cmp/cmp"
)

// TestCommandsAreBrokenBetweenWords checks that a shell reads every command of every case unchanged from the narrowest
// page.
func TestCommandsAreBrokenBetweenWords(t *testing.T) {
	folded := regexp.MustCompile(`\\\n *`)
	found := 0
	for name, r := range cases(t) {
		page := folded.ReplaceAllString(show(t, r, "text", Style{Width: 40, All: true}), "")
		for _, f := range r.Findings {
			for _, pin := range f.Pins {
				for _, command := range pin.Commands {
					found++
					command, _, _ = strings.Cut(command, "  # ") // which stands before it
					if command = strings.Join(shellWords(clean(command), 0), " "); !strings.Contains(page, command+"\n") {
						t.Errorf("%s: a shell would not read %s in\n%s", name, command, page)
					}
				}
			}
		}
	}
	if found == 0 {
		t.Error("no case has a command")
	}
}

// TestPagesFitTheScreen checks that a line is longer than the screen only if nothing in it may be broken.
func TestPagesFitTheScreen(t *testing.T) {
	for name, r := range cases(t) {
		if name == "hostile" {
			continue // odd backquotes keep its words together
		}
		for _, width := range []int{40, 60, 80, 120} {
			for line := range strings.Lines(show(t, r, "text", Style{Width: width})) {
				line = strings.TrimSuffix(line, "\n")
				text := strings.TrimSpace(line)
				_, afterLabel, _ := strings.Cut(text, "  ")
				if columns(line) > width && strings.Contains(text, " ") && !command(text) &&
					!command(strings.TrimSpace(afterLabel)) {
					t.Errorf("%s: wider than %d columns: %q", name, width, line)
				}
			}
		}
	}
}

func command(text string) bool {
	return strings.Contains(text, "bin/python -m pip ") ||
		slices.ContainsFunc([]string{"pip ", "uv ", "sudo ", "cudacompat "}, func(program string) bool {
			return strings.HasPrefix(text, program) || strings.Contains(text, ": "+program)
		})
}

func TestFold(t *testing.T) {
	for _, test := range []struct {
		name, text  string
		first, rest int
		want        []string
	}{
		{"short", "one two", 20, 20, []string{"one two"}},
		{"breaks-between-words", "one two three", 8, 8, []string{"one two", "three"}},
		{"first-line-is-shorter", "one two three", 3, 9, []string{"one", "two three"}},
		{"long-word-stays-whole", "a /very/long/path b", 5, 5, []string{"a", "/very/long/path", "b"}},
		{"command-stays-whole", "run `sudo modprobe nvidia` now", 10, 10, []string{"run", "`sudo modprobe nvidia`", "now"}},
		{"counts-characters-not-bytes", "äää ööö", 7, 7, []string{"äää ööö"}},
		{"empty", "", 10, 10, []string{""}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, fold(test.text, test.first, test.rest, true)); diff != "" {
				t.Errorf("fold (-want +got):\n%s", diff)
			}
		})
	}
}

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
			if got := sentence(test.finding); got != test.want {
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
	got := joinFindings([]verdict.Finding{on("a", "x"), on("b", "x"), on("c", "y"), on("d", "x")}, whole)
	var targets [][]string
	for _, s := range got {
		targets = append(targets, s.targets)
	}
	if diff := cmp.Diff([][]string{{"a", "b", "d"}, {"c"}}, targets); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
}

// TestTargetsAlike checks that eight instance types without a driver are one finding, and that two kinds of module stay
// separate.
func TestTargetsAlike(t *testing.T) {
	fix := []pin.Step{pin.Run("sudo apt-get install -y driver")}
	none := func(target, gpu string) verdict.Finding {
		return verdict.Finding{Rule: "driver-missing", Severity: verdict.Error, Subject: "driver", Target: target, Steps: fix,
			Message: "no driver is installed for " + gpu, Evidence: []verdict.Evidence{{Fact: "GPU", Value: gpu, From: target}}}
	}
	v := verdict.Verdict{Outcome: verdict.Incompatible, Findings: []verdict.Finding{none("g5.xlarge", "A10G"), none("g6.xlarge", "L4"), none("g6.2xlarge", "L4")},
		Judged: []verdict.Judged{{Target: "p3.2xlarge", Module: "proprietary"}, {Target: "g5.xlarge"}, {Target: "p6-b200.48xlarge", Module: "open"}}}
	text := show(t, Report{Verdict: v}, "text", Style{})
	for want, times := range map[string]int{
		"driver-missing: driver on g5.xlarge, g6.xlarge and g6.2xlarge": 1, "no driver is installed for L4": 1, "sudo apt-get install -y driver": 1, "1 error,": 1,
		"p6-b200.48xlarge needs the open kernel module, p3.2xlarge needs the proprietary one; make an AMI for each": 1,
	} {
		if n := strings.Count(text, want); n != times {
			t.Errorf("%q stands there %d times, not %d:\n%s", want, n, times, text)
		}
	}
}

func TestCut(t *testing.T) {
	for _, test := range []struct {
		name, text string
		limit      int
		want       string
	}{
		{"fits", "abc", 3, "abc"},
		{"cut", "abcdefgh", 6, "abc..."},
		{"never-inside-a-character", "ääääää", 8, "ää..."},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := cut(test.text, test.limit); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
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
		if got := open(verdict.Missing{MissingFact: c.missing}); got != c.want {
			t.Errorf("%+v: %q, want %q", c.missing, got, c.want)
		}
	}
	f := verdict.Finding{Subject: "reworded in /elsewhere", Message: "fails", About: verdict.SubjectParts{Name: "torch", Version: "2.9.0", Place: "/opt/venv"}}
	if got := sentence(f); got != "torch 2.9.0: fails" {
		t.Errorf("%q", got)
	}
	if got := placeOf(f, Report{}); got != "/opt/venv" {
		t.Errorf("%q", got)
	}
}

// TestLineCutsNoCommand checks that a step whose command does not fit into the line names the program that prints it.
func TestLineCutsNoCommand(t *testing.T) {
	for say, want := range map[string]string{
		"run `sudo nvidia-smi -L && sudo nvidia-modprobe -u -c 0` on the host, then start the container again with its GPU": "; fix: cudacompat doctor",
		"run `nvidia-smi` on the host, which names all of those programs that hold its memory":                              "; fix: run `nvidia-smi` on the host, which names all of tho...",
		"restart the container": "; fix: restart the container",
	} {
		if got := firstStep(verdict.Finding{Steps: []pin.Step{pin.Say(say)}}, 62); got != want {
			t.Errorf("%q: %q, want %q", say, got, want)
		}
	}
}
