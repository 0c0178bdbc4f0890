package matrix

import (
	"context"
	"testing"

	"cudacompat/matrix/verdict"
	"cudacompat/probe"

	"github.com/google/go-cmp/cmp"
)

func TestWaiverCovers(t *testing.T) {
	finding := verdict.Finding{Rule: "driver-too-old", Subject: "torch 2.9.0+cu130 in /opt/venv", Target: "p5.48xlarge",
		Evidence: []verdict.Evidence{
			{Fact: "driver", Value: "535.183.01", From: "/proc/driver/nvidia/version"}, {Fact: "GPU", Value: "NVIDIA L4 (8.9)", From: "NVML"},
			{Fact: "GPU", Value: "NVIDIA H100 (9.0)", From: "NVML"}}}
	for name, tt := range map[string]struct {
		rule  string
		match map[string]string
		want  bool
	}{
		"rule-alone":         {"driver-too-old", nil, true},
		"other-rule":         {"driver-missing", nil, false},
		"subject":            {"driver-too-old", map[string]string{"subject": "torch 2.9.*"}, true},
		"subject-not-whole":  {"driver-too-old", map[string]string{"subject": "torch"}, false},
		"star-crosses-slash": {"driver-too-old", map[string]string{"subject": "* in /opt/*"}, true},
		"dot-is-a-dot":       {"driver-too-old", map[string]string{"driver": "535x183*"}, false},
		"one-character":      {"driver-too-old", map[string]string{"driver": "53?.183.01"}, true},
		"target":             {"driver-too-old", map[string]string{"target": "p5.*"}, true},
		"other-target":       {"driver-too-old", map[string]string{"target": "g5.*"}, false},
		"fact-in-any-case":   {"driver-too-old", map[string]string{"gpu": "*H100*"}, true},
		"all-must-hold":      {"driver-too-old", map[string]string{"driver": "535.*", "gpu": "*B200*"}, false},
		"fact-not-there":     {"driver-too-old", map[string]string{"glibc": "*"}, false},
		"not-utf-8":          {"driver-too-old", map[string]string{"driver": "\xff[(*"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (verdict.Waiver{Rule: tt.rule, Match: tt.match}).Covers(finding); got != tt.want {
				t.Errorf("covers: %v", got)
			}
		})
	}
}

// TestWaivers waives an error: on its last day it is hidden, the day after it is back, and it is said what each
// waiver did.
func TestWaivers(t *testing.T) {
	node, err := probe.Given([]byte(`{"schema": "cudacompat/facts/v1", "driver": {"version": "535.183.01", "from": "NVML"},
		"gpus": [{"name": "NVIDIA L4", "compute_capability": "8.9", "from": ["NVML"]}],
		"environments": [{"path": "/opt/venv", "active": true, "builds": [{"name": "torch", "version": "2.9.0+cu130", "cuda": "13.0", "accelerator": "cuda"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	week := verdict.Waiver{Rule: "driver-too-old", Match: map[string]string{"driver": "535.*"}, Reason: "this week",
		Until: "2026-12-01"}
	for name, tt := range map[string]struct {
		today   string
		waivers []verdict.Waiver
		outcome verdict.Outcome
		reasons []string
		used    []int
		expired []bool
	}{
		"last-day":    {"2026-12-01", []verdict.Waiver{week}, verdict.Compatible, []string{"this week"}, []int{1}, []bool{false}},
		"day-after":   {"2026-12-02", []verdict.Waiver{week}, verdict.Incompatible, nil, []int{1}, []bool{true}},
		"tables-date": {"", []verdict.Waiver{week}, verdict.Compatible, []string{"this week"}, []int{1}, []bool{false}},
		"other-driver": {"2026-12-01", []verdict.Waiver{{Rule: "driver-too-old", Match: map[string]string{"driver": "550.*"}}},
			verdict.Incompatible, nil, []int{0}, []bool{false}},
		"one-after-another": {"2026-12-02", []verdict.Waiver{week, {Rule: "driver-too-old", Reason: "for good"},
			{Rule: "driver-too-old", Reason: "again"}},
			verdict.Compatible, []string{"for good"}, []int{1, 1, 1}, []bool{true, false, false}},
	} {
		t.Run(name, func(t *testing.T) {
			v := Check(context.Background(), Embedded(), node, nil, verdict.Policy{Waivers: tt.waivers, Today: tt.today})
			var reasons []string
			for _, s := range v.Suppressed {
				reasons = append(reasons, s.Reason)
			}
			var used []int
			var expired []bool
			for _, w := range v.Waivers {
				used, expired = append(used, w.Matched), append(expired, w.Expired)
			}
			if diff := cmp.Diff([]any{tt.outcome, tt.reasons, tt.used, tt.expired},
				[]any{v.Outcome, reasons, used, expired}); diff != "" {
				t.Errorf("outcome, reasons, matched, expired (-want +got):\n%s", diff)
			}
		})
	}
}
