package formats

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cudacompat/internal/report"
	"cudacompat/internal/report/layout"
	"cudacompat/internal/report/reporttest"
	"cudacompat/matrix"
	"cudacompat/matrix/verdict"

	"github.com/google/go-cmp/cmp"
)

// TestSARIFHoldsToItsStandard checks every case's file against the requirements of SARIF 2.1.0 and of GitHub's reader.
func TestSARIFHoldsToItsStandard(t *testing.T) {
	for name, r := range reporttest.Cases(t, "../testdata") {
		t.Run(name, func(t *testing.T) {
			run := readSARIF(t, reporttest.Show(t, All, r, "sarif", layout.Style{}))
			if len(run.Results) != len(r.Findings)+len(r.Suppressed) {
				t.Errorf("%d results of %d findings and %d waived ones", len(run.Results), len(r.Findings), len(r.Suppressed))
			}
			marks := map[string]bool{}
			for _, result := range run.Results {
				holdsToSARIF(t, run, result)
				mark := result.Fingerprints["primaryLocationLineHash"]
				if marks[mark] {
					t.Errorf("two results with the fingerprint %s", mark)
				}
				marks[mark] = true
			}
			if run.Properties["outcome"] != string(r.Outcome) {
				t.Errorf("outcome %q", run.Properties["outcome"])
			}
		})
	}
}

// readSARIF parses a file and rejects properties that the types do not have.
func readSARIF(t *testing.T, text string) sarifRun {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	var log sarifLog
	if err := d.Decode(&log); err != nil {
		t.Fatal(err)
	}
	if log.Version != "2.1.0" || len(log.Runs) != 1 {
		t.Fatalf("version %q, %d runs", log.Version, len(log.Runs))
	}
	return log.Runs[0]
}

func holdsToSARIF(t *testing.T, run sarifRun, result sarifResult) {
	t.Helper()
	if !slices.ContainsFunc(run.Tool.Driver.Rules, func(rule sarifRule) bool { return rule.ID == result.Rule }) {
		t.Errorf("%s is no rule of the file", result.Rule)
	}
	if !slices.Contains([]verdict.Severity{"error", "warning", "note"}, result.Level) || result.Message.Text == "" {
		t.Errorf("level %q, message %q", result.Level, result.Message.Text)
	}
	if len(result.Locations) != 1 {
		t.Fatalf("%d locations", len(result.Locations))
	}
	at := result.Locations[0].Physical.Artifact
	uri, err := url.Parse(at.URI)
	if err != nil || uri.IsAbs() || uri.Host != "" || strings.HasPrefix(at.URI, "/") || at.URI == "" {
		t.Errorf("%q is no reference below the root: %v", at.URI, err)
	}
	if _, known := run.Bases[at.Base]; !known {
		t.Errorf("base %q is not described", at.Base)
	}
	if region := result.Locations[0].Physical.Region; region.StartLine < 1 || region.StartColumn < 1 ||
		region.EndLine < 1 || region.EndColumn < 1 {
		t.Errorf("region %+v: GitHub requires all four", region)
	}
	for _, s := range result.Suppressions {
		if s.Kind != "external" || s.Justification == "" {
			t.Errorf("suppression %+v", s)
		}
	}
}

// TestSARIFHasEveryRule compares the rules of a file with the program's, and their pages.
func TestSARIFHasEveryRule(t *testing.T) {
	run := readSARIF(t, reporttest.Show(t, All, reporttest.Cases(t, "../testdata")["driver-too-old"], "sarif", layout.Style{}))
	for i, rule := range matrix.Rules() {
		got := run.Tool.Driver.Rules[i]
		if got.ID != rule.ID || got.Short.Text != rule.Title || got.Help.Text != "cudacompat explain "+rule.ID {
			t.Errorf("rule %d is %+v, want %s", i, got, rule.ID)
		}
		if full := got.Full.Text; len(full) < 100 || len(full) > 1024 || strings.ContainsAny(full, "`#\n") { // GitHub's limit
			t.Errorf("docs/rules/%s.md: the paragraph below \"What it means\" has to be plain text of 100 to 1,024 bytes: %q", rule.ID, full)
		}
		told := slices.ContainsFunc(run.Results, func(res sarifResult) bool { return res.Rule == rule.ID })
		if strings.HasPrefix(got.Help.Markdown, "# "+rule.ID+": ") != told {
			t.Errorf("%s with a result: %v; its page: %.40q", rule.ID, told, got.Help.Markdown)
		}
	}
}

// TestFingerprints: an upgrade keeps the fingerprint, another place, rule or target changes it.
func TestFingerprints(t *testing.T) {
	base := verdict.Finding{Rule: "driver-too-old", Subject: "torch 2.9.0+cu130 in /opt/venv", Target: "g5.xlarge"}
	for _, tt := range []struct {
		name   string
		change func(*verdict.Finding)
		same   bool
	}{
		{"upgraded", func(f *verdict.Finding) { f.Subject = "torch 2.10.0+cu128 in /opt/venv" }, true},
		{"version-not-known", func(f *verdict.Finding) { f.Subject = "torch (version unknown) in /opt/venv" }, true},
		{"other-message", func(f *verdict.Finding) { f.Message, f.Need = "x", "y" }, true},
		{"other-place", func(f *verdict.Finding) { f.Subject = "torch 2.9.0+cu130 in /opt/venv2" }, false},
		{"other-build", func(f *verdict.Finding) { f.Subject = "jax 2.9.0+cu130 in /opt/venv" }, false},
		{"other-rule", func(f *verdict.Finding) { f.Rule = "gpu-arch-missing" }, false},
		{"other-target", func(f *verdict.Finding) { f.Target = "p5.48xlarge" }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			changed := base
			tt.change(&changed)
			if same := fingerprint(base) == fingerprint(changed); same != tt.same {
				t.Errorf("same: %v", same)
			}
		})
	}
	marks := map[string]bool{}
	for _, result := range sarifResults(reporttest.Fill("alike in all", verdict.Incompatible)) {
		marks[result.Fingerprints["primaryLocationLineHash"]] = true
	}
	if len(marks) != 4 {
		t.Errorf("three findings and a waived one that are alike have %d fingerprints", len(marks))
	}
	if mark := fingerprint(base); !regexp.MustCompile(`^[0-9a-f]{16}$`).MatchString(mark) {
		t.Errorf("fingerprint %q", mark)
	}
}

// TestPlaces compares where a result is said to be, from best to worst.
func TestPlaces(t *testing.T) {
	from := func(list ...string) []verdict.Evidence {
		var evidence []verdict.Evidence
		for _, place := range list {
			evidence = append(evidence, verdict.Evidence{From: place})
		}
		return evidence
	}
	for name, tt := range map[string]struct {
		finding verdict.Finding
		driver  string
		want    string
	}{
		"evidence":    {verdict.Finding{Evidence: from("NVML", "/proc/driver/nvidia/version")}, "/x", "proc/driver/nvidia/version"},
		"environment": {verdict.Finding{Subject: "reworded in /elsewhere", About: verdict.SubjectParts{Name: "torch", Place: "/opt/my venv"}, Evidence: from("NVML")}, "/x", "opt/my%20venv"},
		"driver":      {verdict.Finding{Subject: "driver"}, "/sys/module/nvidia/version", "sys/module/nvidia/version"},
		"nothing":     {verdict.Finding{Subject: "driver", Evidence: from("--driver")}, "NVML", "."},
		"colon":       {verdict.Finding{Evidence: from("/c:d/e%f#g?h")}, "", "./c:d/e%25f%23g%3Fh"},
		"slashes":     {verdict.Finding{Evidence: from("//host/share")}, "", "host/share"},
	} {
		t.Run(name, func(t *testing.T) {
			var r report.Report
			r.Facts.Driver.From = tt.driver
			if diff := cmp.Diff(tt.want, relativeURI(placeOf(tt.finding, r))); diff != "" {
				t.Error(diff)
			}
		})
	}
}
