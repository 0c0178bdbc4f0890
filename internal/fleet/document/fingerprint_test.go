package document

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"cudacompat/internal/fleet"
	"cudacompat/matrix"
	"cudacompat/matrix/verdict"

	"github.com/google/go-cmp/cmp"
)

// fleetDocument returns an example in an envelope, with pairs of old and new texts replaced.
func fleetDocument(t *testing.T, changes ...string) string {
	text, err := os.ReadFile("../../../examples/facts/p5-48xlarge.json")
	if err != nil {
		t.Fatal(err)
	}
	facts := strings.Replace(string(text), `"probes": [`, `"machine": {"uptime": 41341.65, "module_loaded": 30.5}, "probes": [`, 1)
	doc := `{"node": "n1", "group": "a", "taken": "2026-11-22T10:00:00Z", "facts": ` + facts + `}`
	for i := 0; i < len(changes); i += 2 {
		if !strings.Contains(doc, changes[i]) {
			t.Fatalf("no %q in the document", changes[i])
		}
		doc = strings.Replace(doc, changes[i], changes[i+1], 1)
	}
	return doc
}

// TestFingerprint checks that documents differ by what is judged and not by times or the node's name.
func TestFingerprint(t *testing.T) {
	first, node, ok := computeFingerprint([]byte(fleetDocument(t)))
	if !ok || node.Name != "n1" || node.Group != "a" || node.Taken != "2026-11-22T10:00:00Z" {
		t.Fatalf("%v %v", node, ok)
	}
	const bus = `"bus": "0000:53:00.0",`
	memory, _, ok := computeFingerprint([]byte(fleetDocument(t, bus, bus+`"memory": {"used": 17},`)))
	if !ok {
		t.Fatal("memory makes a document one that is always parsed")
	}
	for name, c := range map[string]struct {
		changes []string
		same    digest
		ok      bool
	}{
		"the node":              {[]string{`"n1"`, `"n2"`}, first, true},
		"the time":              {[]string{"10:00:00Z", "11:00:00Z"}, first, true},
		"how long it is up":     {[]string{"41341.65", "98765"}, first, true},
		"memory in use":         {[]string{bus, bus + `"memory": {"used": 4096},`}, memory, true},
		"just started":          {[]string{"41341.65", "120"}, digest{}, false},
		"a module just loaded":  {[]string{"30.5", "41300"}, digest{}, false},
		"a number for a name":   {[]string{`"n1"`, `1`}, digest{}, false},
		"two names":             {[]string{`"group": "a"`, `"node": "n2"`}, digest{}, false},
		"a word for a number":   {[]string{"41341.65", `"long"`}, digest{}, false},
		"cut off":               {[]string{`"driver": {`, `"driver": `}, digest{}, false},
		"something behind it":   {[]string{`"facts": {`, `"facts": {}} {`}, digest{}, false},
		"memory that is a word": {[]string{bus, bus + `"memory": "much",`}, digest{1}, true},
		"another driver":        {[]string{"570.133.20", "570.133.21"}, digest{1}, true},
		"another name":          {[]string{`"driver":`, `"Driver":`}, digest{1}, true},
	} {
		got, _, ok := computeFingerprint([]byte(fleetDocument(t, c.changes...)))
		if ok != c.ok || c.same == (digest{1}) && (got == first || got == memory) || c.same != (digest{1}) && got != c.same {
			t.Errorf("%s: %x, %v", name, got[:4], ok)
		}
	}
}

// TestFleetParsesOnce judges a fleet of equal documents, and the same fleet with an extra field that makes each unique:
// the results are equal. An invalid document is rejected even after a similar one was judged.
func TestFleetParsesOnce(t *testing.T) {
	tables := matrix.Embedded()
	drivers := []string{"570.133.20", "570.133.21", "470.256.02"}
	summary := func(extra bool) (fleet.Summary, int) {
		judge := fleet.NewJudge(tables, verdict.Policy{}, nil)
		d := Reader{ctx: t.Context(), judge: judge}
		for i := range 30 {
			doc := fleetDocument(t, `"n1"`, fmt.Sprintf(`"n%d"`, i%25), "41341.65", fmt.Sprint(50_000+i), "570.133.20", drivers[i%3],
				"10:00:00Z", fmt.Sprintf("10:00:%02dZ", i))
			if extra {
				doc = fmt.Sprintf(`{"extra": %d, `, i) + doc[1:]
			}
			d.judgeDocument(fmt.Sprintf("f:%d", i), "f", false, []byte(doc))
		}
		for i, bad := range []string{fleetDocument(t)[:5000], fleetDocument(t, "41341.65", "41341.65x"), fleetDocument(t, `"driver":`, `"Driver":`)} {
			d.judgeDocument(fmt.Sprintf("bad:%d", i), "bad", false, []byte(bad))
		}
		return judge.Summary(func([]fleet.Member) []fleet.Stale { return nil }), len(d.known)
	}
	once, known := summary(false)
	each, _ := summary(true)
	if known != len(drivers) {
		t.Errorf("%d documents were parsed, of %d kinds", known, len(drivers))
	}
	if len(once.Unread) != 3 {
		t.Errorf("refused: %v", once.Unread)
	}
	a, _ := json.Marshal(once)
	b, _ := json.Marshal(each)
	if string(a) != string(b) {
		t.Error(cmp.Diff(each, once))
	}
}
