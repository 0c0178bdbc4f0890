package document

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"cudacompat/internal/fleet"
	"cudacompat/internal/report"
	"cudacompat/matrix"
	"cudacompat/matrix/verdict"
)

// A document with too many builds is rejected before it is parsed: by itself, in an envelope and packed.
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
		d := Reader{ctx: t.Context(), judge: judge}
		d.judgeDocument("n.json", "n.json", true, []byte(c.document))
		got := judge.Summary(func([]fleet.Member) []fleet.Stale { return nil })
		if got.Nodes != 0 || len(got.Unread) != 1 || got.Unread[0].Reason != c.reason {
			t.Errorf("%s: %d nodes, unread %+v; want the reason %q", name, got.Nodes, got.Unread, c.reason)
		}
	}
}

// TestFleetRefusesFactsAtTwoPlaces checks this because another reader of such a document would judge other facts.
func TestFleetRefusesFactsAtTwoPlaces(t *testing.T) {
	const good, bad = `"driver":{"version":"580.95.05"}`, `"driver":{"version":"470.256.02"}`
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	fmt.Fprintf(z, "{%s}", good)
	z.Close()
	zipped := base64.StdEncoding.EncodeToString(packed.Bytes())
	for document, nodes := range map[string]int{
		fmt.Sprintf(`{"node":"n",%s}`, bad):                              1,
		fmt.Sprintf(`{"node":"n","facts":{%s}}`, bad):                    1,
		fmt.Sprintf(`{"node":"n","facts":{"facts":{%s}}}`, bad):          1,
		fmt.Sprintf(`{"node":"n","gzip":%q}`, zipped):                    1,
		fmt.Sprintf(`{"node":"n","facts":{"gzip":%q}}`, zipped):          1,
		fmt.Sprintf(`{"node":"n",%s,"facts":{%s}}`, bad, good):           0,
		fmt.Sprintf(`{"node":"n",%s,"gzip":%q}`, bad, zipped):            0,
		fmt.Sprintf(`{"node":"n","facts":{%s},"gzip":%q}`, bad, zipped):  0,
		fmt.Sprintf(`{"node":"n","facts":{%s,"gzip":%q}}`, bad, zipped):  0,
		fmt.Sprintf(`{"node":"n","facts":{%s,"facts":{%s}}}`, bad, good): 0,
		fmt.Sprintf(`{"node":"n","facts":{"facts":{%s}},%s}`, good, bad): 0,
	} {
		judge := fleet.NewJudge(matrix.Embedded(), verdict.Policy{}, nil)
		d := Reader{ctx: t.Context(), judge: judge}
		d.judgeDocument("n.json", "n.json", true, []byte(document))
		got := judge.Summary(func([]fleet.Member) []fleet.Stale { return nil })
		if got.Nodes != nodes || len(got.Unread) != 1-nodes {
			t.Errorf("%s: %d nodes, unread %+v", document, got.Nodes, got.Unread)
		}
	}
}
