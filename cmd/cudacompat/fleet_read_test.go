package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"cudacompat/internal/fleet"
	"cudacompat/internal/report"
	"cudacompat/matrix"
	"cudacompat/matrix/verdict"
)

// A document with more builds than are read is refused before it is parsed, alone, in an envelope and packed.
func TestFleetCountsBeforeItParses(t *testing.T) {
	builds := strings.TrimSuffix(strings.Repeat(`{"name":"torch","version":"2.9.0"},`, 2001), ",")
	facts := `{"schema":"cudacompat/facts/v1","environments":[{"path":"/e","builds":[` + builds + `]}]}`
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte(facts)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	inside, err := json.Marshal(map[string]any{"schema": report.PackedSchema, "node": "n", "gzip": packed.Bytes()})
	if err != nil {
		t.Fatal(err)
	}
	const want = "it has 2001 builds; more than 2000 are not read"
	for name, c := range map[string]struct{ document, reason string }{
		"facts":    {facts, want},
		"envelope": {fmt.Sprintf(`{"node":"n","facts":%s}`, facts), want},
		"packed":   {string(inside), "its compressed facts: " + want},
	} {
		judge := fleet.NewJudge(&matrix.Tables{}, verdict.Policy{}, nil)
		d := documents{ctx: t.Context(), judge: judge}
		d.document("n.json", "n.json", true, []byte(c.document))
		got := judge.Summary(func([]fleet.Member) []fleet.Stale { return nil })
		if got.Nodes != 0 || len(got.Unread) != 1 || got.Unread[0].Reason != c.reason {
			t.Errorf("%s: %d nodes, unread %+v; want the reason %q", name, got.Nodes, got.Unread, c.reason)
		}
	}
}
