package nodes

import (
	"context"
	"encoding/csv"
	"encoding/xml"
	"fmt"
	"strings"
	"testing"
	"time"

	"cudacompat/internal/fleet"
	"cudacompat/internal/report"
	"cudacompat/internal/report/formats"
	"cudacompat/internal/report/layout"
	"cudacompat/internal/report/reporttest"
	"cudacompat/matrix"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// aFleet returns a fleet with a little of everything. The name of one node is hostile.
func aFleet(t *testing.T) Fleet {
	t.Helper()
	asked := []fleet.WhatIf{{Text: "driver=450.80.02", Driver: "450.80.02"}}
	j := fleet.NewJudge(matrix.Embedded(), verdict.Policy{}, asked)
	for _, n := range []struct{ name, driver, taken string }{
		{"a", "580.95.05", "2026-11-22T10:00:00Z"}, {"b", "570.133.20", "2026-11-20T10:00:00Z"}, {"=cmd()\x1b[2J\"", "580.95.05", ""}} {
		f := facts.Facts{Driver: facts.Driver{Version: n.driver}, GPUs: []facts.GPU{{Name: "NVIDIA L4", Capability: "8.9", From: []string{"NVML"}}}}
		j.Add(context.Background(), fleet.Node{Name: n.name, Group: "g", Taken: n.taken, Facts: f})
	}
	for name, torch := range map[string]string{"d": "2.7.1+cu118", "e": "2.7.1+cu118", "f": "2.6.0+cu118"} {
		f := facts.Facts{Driver: facts.Driver{Version: "580.95.05"}, GPUs: []facts.GPU{{Name: "Tesla T4", Capability: "7.5", From: []string{"NVML"}}},
			Environments: []facts.Environment{{Path: "/venv", Python: "3.12", Active: true, Builds: []facts.Build{{Name: "torch", Version: torch, Origin: "wheel"}}}}}
		j.Add(context.Background(), fleet.Node{Name: name, Group: "h", Taken: "2026-11-22T10:00:00Z", Facts: f})
	}
	j.Refuse("bad.json", "", "it is no JSON")
	j.Expect([]string{"a", "d", "e", "f", "y", "z"})
	return Fleet{Summary: j.Summary(fleet.StaleAfter(time.Hour, time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC))), Tool: report.Tool{Matrix: "2026-11-21", Tables: []matrix.TableSource{}, Run: 1795348800}}
}

func shown(t *testing.T, name string) string {
	t.Helper()
	for _, f := range Formats {
		if f.Name == name {
			var b strings.Builder
			if err := f.Write(&b, aFleet(t), layout.Style{}); err != nil {
				t.Fatal(err)
			}
			if strings.ContainsRune(b.String(), 0x1b) {
				t.Errorf("%s: a control byte of a node's name is in it", name)
			}
			return b.String()
		}
	}
	t.Fatal("no format " + name)
	return ""
}

func TestFleetHoldsToItsSchema(t *testing.T) {
	reporttest.Validate(t, reporttest.CompileSchema(t, "../schema/fleet-v1.json"), shown(t, "json"))
}

// TestFleetCSVIsNoFormula checks that a spreadsheet reads a node's name that begins like a formula as text.
func TestFleetCSVIsNoFormula(t *testing.T) {
	rows, err := csv.NewReader(strings.NewReader(shown(t, "csv"))).ReadAll()
	if err != nil || len(rows) != 7 {
		t.Fatalf("%v: %d rows", err, len(rows))
	}
	for _, row := range rows {
		if strings.HasPrefix(row[0], "=") {
			t.Errorf("a formula: %q", row[0])
		}
	}
}

func TestFleetJUnitIsXML(t *testing.T) {
	var suites formats.JUnitSuites
	if err := xml.Unmarshal([]byte(shown(t, "junit")), &suites); err != nil {
		t.Fatal(err)
	}
	if suites.Failures != 3 || suites.Errors != 3 {
		t.Errorf("%d failures of 3 broken nodes, %d errors of 1 bad document and 2 missing nodes", suites.Failures, suites.Errors)
	}
}

func TestFleetText(t *testing.T) {
	text := shown(t, "text")
	for _, want := range []string{"incompatible: with driver=450.80.02, 3 of 6 nodes incompatible, 3 compatible; 1 outdated document; 1 unread document; 2 missing nodes\n",
		"incompatible: driver-too-old-for-gpu, 3 nodes: ", "\n    do    install driver ", "    has   driver 450.80.02; NVIDIA L4 (8.9)\n",
		"\n  × driver-too-old-for-gpu  3 nodes  g  install driver ", "\n  ‼ torch differs           1 node   h  give these nodes torch 2.7.1+cu118",
		"fleet-drift: group h: torch differs: 2.7.1+cu118 on 2, 2.6.0+cu118 on 1", "    do    give these nodes torch 2.7.1+cu118, as most of the group have",
		"stale: taken 48h0m before the newest document: b", "not judged: bad.json: it is no JSON",
		"? missing: 2 nodes, no document of y, z", "? not expected: 2 nodes, not in the inventory: "} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
}

// messyFleet returns 1,000 nodes: every hundredth has an old driver, every tenth is old, there are 40 kernels, a home
// for each node, 100 unreadable documents, and one node with another NCCL.
func messyFleet() Fleet {
	j := fleet.NewJudge(matrix.Embedded(), verdict.Policy{}, nil)
	for i := range 1000 {
		home := fmt.Sprintf("/home/u%d/venv", i)
		driver, nccl, taken := "580.95.05", "2.27.3", "2026-11-22T10:00:00Z"
		switch {
		case i%100 == 0:
			driver = "470.256.02"
		case i == 7:
			nccl = "2.26.2"
		case i%10 == 5:
			taken = "2026-11-20T10:00:00Z"
		}
		build := facts.Build{Name: "torch", Version: "2.8.0+cu128", CUDA: "12.8", Accelerator: "cuda", Origin: "wheel", Path: home + "/torch",
			From: home + "/torch/version.py", Looked: true, Taken: []facts.Taken{{Name: "libnccl.so.2", Version: nccl, CUDA: "12", Path: home + "/libnccl.so.2"}}}
		f := facts.Facts{System: facts.System{Kernel: fmt.Sprintf("6.8.0-%d", i%40)}, Driver: facts.Driver{Version: driver, From: "/proc/driver/nvidia/version"},
			GPUs:         []facts.GPU{{Name: "NVIDIA L4", Capability: "8.9", From: []string{"NVML"}}},
			Environments: []facts.Environment{{Path: home, Active: true, Builds: []facts.Build{build}}}}
		j.Add(context.Background(), fleet.Node{Name: fmt.Sprintf("n%03d", i), Group: "g", Taken: taken, Facts: f})
	}
	for i := range 100 {
		j.Refuse(fmt.Sprintf("nodes.jsonl:%d", i), fmt.Sprintf("m%d", i), fmt.Sprintf("not valid JSON at byte %d", 100+i))
	}
	return Fleet{Summary: j.Summary(fleet.StaleAfter(time.Hour, time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)))}
}

// TestFleetTextGrowsWithCauses checks that facts without influence (kernels, homes, the byte at which a document is
// cut) make no paragraph, and that every node is counted once.
func TestFleetTextGrowsWithCauses(t *testing.T) {
	f := messyFleet()
	var b strings.Builder
	if err := fleetText(&b, f, layout.Style{}); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	if n := strings.Count(text, "\n"); n > 40 {
		t.Errorf("%d lines", n)
	}
	if len(f.Kinds) < 900 {
		t.Errorf("%d kinds: the homes do not tell the nodes apart", len(f.Kinds))
	}
	for _, want := range []string{"incompatible: 10 of 1000 nodes incompatible, 1 unlike others of the group, ", "; 100 outdated documents; 100 unread documents\n",
		"10 nodes: n000, n100, n200, n300 and 6 more\n    why   ", "\n    has   driver 470.256.02; NVIDIA L4 (8.9); torch 2.8.0+cu128: does not work\n",
		"fleet-drift: group g: NCCL of torch differs: 2.27.3 on 989, 2.26.2 on 1\n    has   2.26.2: n007\n    do    give these nodes NCCL of torch 2.27.3",
		"? stale: 100 nodes, up to 48h0m older than the newest document: n005, ", "? not judged: 100 documents, such as m0 (nodes.jsonl:0): not valid JSON at byte 100; m1 "} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
	in := map[string]bool{}
	for _, g := range f.Groups {
		for _, n := range g.Nodes {
			if in[n] {
				t.Errorf("%s is in two groups", n)
			}
			in[n] = true
		}
	}
	if len(in) != f.Nodes {
		t.Errorf("%d of %d nodes are in a group", len(in), f.Nodes)
	}
}
