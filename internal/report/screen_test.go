package report_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"cudacompat/internal/report"
	"cudacompat/internal/report/formats"
	"cudacompat/internal/report/layout"
	"cudacompat/internal/report/reporttest"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
)

// TestCommandsAreBrokenBetweenWords checks that a shell reads every command of every case unchanged from the narrowest
// page.
func TestCommandsAreBrokenBetweenWords(t *testing.T) {
	folded := regexp.MustCompile(`\\\n *`)
	found := 0
	for name, r := range reporttest.Cases(t, "testdata") {
		page := folded.ReplaceAllString(reporttest.Show(t, formats.All, r, "text", layout.Style{Width: 40, All: true}), "")
		for _, f := range r.Findings {
			for _, pin := range f.Pins {
				for _, command := range pin.Commands {
					found++
					command, _, _ = strings.Cut(command, "  # ") // which stands before it
					if command = strings.Join(layout.SplitShellWords(layout.Clean(command), 0), " "); !strings.Contains(page, command+"\n") {
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
	for name, r := range reporttest.Cases(t, "testdata") {
		if name == "hostile" {
			continue // odd backquotes keep its words together
		}
		for _, width := range []int{40, 60, 80, 120} {
			for line := range strings.Lines(reporttest.Show(t, formats.All, r, "text", layout.Style{Width: width})) {
				line = strings.TrimSuffix(line, "\n")
				text := strings.TrimSpace(line)
				_, afterLabel, _ := strings.Cut(text, "  ")
				if layout.CountColumns(line) > width && strings.Contains(text, " ") && !command(text) &&
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
	text := reporttest.Show(t, formats.All, report.Report{Verdict: v}, "text", layout.Style{})
	for want, times := range map[string]int{
		"driver-missing: driver on g5.xlarge, g6.xlarge and g6.2xlarge": 1, "no driver is installed for L4": 1, "sudo apt-get install -y driver": 1, "1 error,": 1,
		"p6-b200.48xlarge needs the open kernel module, p3.2xlarge needs the proprietary one; make an AMI for each": 1,
	} {
		if n := strings.Count(text, want); n != times {
			t.Errorf("%q stands there %d times, not %d:\n%s", want, n, times, text)
		}
	}
}
