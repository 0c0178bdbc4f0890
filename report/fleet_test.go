package report

import (
	"context"
	"encoding/csv"
	"encoding/xml"
	"strings"
	"testing"
	"time"

	"cudacompat/fleet"
	"cudacompat/matrix"
	"cudacompat/probe/facts"
)

// aFleet is a fleet with a bit of everything; one node's name is hostile.
func aFleet(t *testing.T) Fleet {
	t.Helper()
	asked := []fleet.WhatIf{{Text: "driver=450.80.02", Driver: "450.80.02"}}
	j := fleet.NewJudge(matrix.Embedded(), matrix.Policy{}, asked)
	for _, n := range []struct{ name, driver, taken string }{
		{"a", "580.95.05", "2026-11-22T10:00:00Z"}, {"b", "570.133.20", "2026-11-20T10:00:00Z"}, {"=cmd()\x1b[2J\"", "580.95.05", ""}} {
		f := facts.Facts{Driver: facts.Driver{Version: n.driver}, GPUs: []facts.GPU{{Name: "NVIDIA L4", Capability: "8.9", From: []string{"NVML"}}}}
		j.Add(context.Background(), fleet.Node{Name: n.name, Group: "g", Taken: n.taken, Facts: f})
	}
	j.Refuse("bad.json", "", "it is no JSON")
	return Fleet{Summary: j.Summary(fleet.StaleAfter(time.Hour, time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC))), Tool: Tool{Matrix: "2026-11-21", Tables: []matrix.TableSource{}}}
}

func shown(t *testing.T, name string) string {
	t.Helper()
	for _, f := range FleetFormats {
		if f.Name == name {
			var b strings.Builder
			if err := f.Write(&b, aFleet(t), Style{}); err != nil {
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
	validate(t, compile(t, fleetSchema), shown(t, "json"))
}

// TestFleetCSVIsNoFormula: a node's name that begins like a formula is text to a spreadsheet.
func TestFleetCSVIsNoFormula(t *testing.T) {
	rows, err := csv.NewReader(strings.NewReader(shown(t, "csv"))).ReadAll()
	if err != nil || len(rows) != 4 {
		t.Fatalf("%v: %d rows", err, len(rows))
	}
	for _, row := range rows {
		if strings.HasPrefix(row[0], "=") {
			t.Errorf("a formula: %q", row[0])
		}
	}
}

func TestFleetJUnitIsXML(t *testing.T) {
	var suites junitSuites
	if err := xml.Unmarshal([]byte(shown(t, "junit")), &suites); err != nil {
		t.Fatal(err)
	}
	if suites.Failures != 3 || suites.Errors != 1 {
		t.Errorf("%d failures of 3 broken nodes, %d errors of 1 bad document", suites.Failures, suites.Errors)
	}
}

func TestFleetText(t *testing.T) {
	text := shown(t, "text")
	for _, want := range []string{"incompatible: with driver=450.80.02, 3 of 3 nodes incompatible (2 kinds of node)",
		"fleet-drift: group g: driver differs: 580.95.05 on 2, 570.133.20 on 1",
		"stale: b: taken 48h0m before the newest document", "not judged: bad.json: it is no JSON"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
}

// TestFactsOnOneLineFitIntoALog: facts for fleet are one line of less than 16 KiB, however many GPUs and environments
// there are, and are read back as they were.
func TestFactsOnOneLineFitIntoALog(t *testing.T) {
	small := facts.Facts{Schema: facts.Schema, Driver: facts.Driver{Version: "580.95.05"}}
	large := small
	for i := range 200 {
		large.GPUs = append(large.GPUs, facts.GPU{Name: "NVIDIA H100 80GB HBM3", Bus: strings.Repeat("0", i)})
	}
	for _, f := range []facts.Facts{small, large} {
		var b strings.Builder
		if err := FactsFormats[1].Write(&b, f, Style{}); err != nil {
			t.Fatal(err)
		}
		line := b.String()
		if len(line) >= 16<<10 || strings.Count(line, "\n") != 1 {
			t.Errorf("%d bytes, %d lines", len(line), strings.Count(line, "\n"))
		}
		if packed := strings.HasPrefix(line, `{"schema":"cudacompat/packed/v1","gzip":"H4sI`); packed != (len(f.GPUs) > 0) {
			t.Errorf("packed: %v: %.60s", packed, line)
		}
	}
}
