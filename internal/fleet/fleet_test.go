package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"cudacompat/matrix"
	"cudacompat/matrix/verdict"
	"cudacompat/probe"
	"cudacompat/probe/facts"
)

// sound returns a node that is compatible, changed by what a case says.
func sound(t *testing.T, changes ...func(*facts.Facts)) facts.Facts {
	t.Helper()
	data, err := os.ReadFile("../../examples/facts/p5-48xlarge.json")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		facts.Facts
		Inner *facts.Facts `json:"facts"`
	}
	if err := json.Unmarshal(data, &document); err != nil {
		t.Fatal(err)
	}
	f := document.Facts
	if document.Inner != nil {
		f = *document.Inner
	}
	for _, change := range changes {
		change(&f)
	}
	return f
}

// onDriver returns the whole driver of another release.
func onDriver(version, cuda string) func(*facts.Facts) {
	return func(f *facts.Facts) {
		f.Driver.Version, f.Driver.CUDA = version, cuda
		for i := range f.Driver.Libraries {
			f.Driver.Libraries[i].Version = version
		}
		for i := range f.Driver.Modules {
			f.Driver.Modules[i].Version = version
		}
	}
}

// seconds returns what differs from one look to the next.
func seconds(s float64) func(*facts.Facts) {
	return func(f *facts.Facts) {
		for i := range f.Probes {
			f.Probes[i].Seconds = s
		}
		for i := range f.GPUs {
			f.GPUs[i].Memory = &facts.Memory{Used: uint64(s * 1e9), Here: -1}
		}
	}
}

func fleetOf(whatIf []WhatIf, nodes ...Node) Summary {
	j := NewJudge(matrix.Embedded(), verdict.Policy{}, whatIf)
	for _, n := range nodes {
		j.Add(context.Background(), n)
	}
	return j.Summary(StaleAfter(time.Hour, time.Date(2026, 11, 22, 10, 5, 0, 0, time.UTC)))
}

// TestEqualNodesAreOneKind checks that a probe's duration and the memory in use do not make another kind, and that a
// driver does.
func TestEqualNodesAreOneKind(t *testing.T) {
	f := fleetOf(nil, Node{Name: "a", Facts: sound(t, seconds(0.1))}, Node{Name: "b", Facts: sound(t, seconds(7))},
		Node{Name: "c", Facts: sound(t, onDriver("580.95.05", "13.0"))})
	if len(f.Kinds) != 2 || f.Nodes != 3 || f.Outcome != verdict.Compatible {
		t.Fatalf("%d kinds of %d nodes, %s", len(f.Kinds), f.Nodes, f.Outcome)
	}
	if got := f.Kinds[0].Nodes; len(got) != 2 || got[0].Node != "a" || got[1].Node != "b" {
		t.Errorf("the first kind: %v", got)
	}
}

// TestFleetFindsEveryFault seeds one fault in each of some nodes among sound ones: just those are found, with the rule
// that Check itself names.
func TestFleetFindsEveryFault(t *testing.T) {
	faults := map[string]func(*facts.Facts){
		"driver-mismatch": func(f *facts.Facts) { f.Driver.Version = "535.183.01" },
		"driver-too-old":  onDriver("470.256.02", "11.4"),
		"gpu-health":      func(f *facts.Facts) { f.GPUs[3].Health = &facts.Health{RemapFailure: true} },
		"gpu-count":       func(f *facts.Facts) { f.GPUs = f.GPUs[:7] },
	}
	var nodes []Node
	for i := range 60 {
		nodes = append(nodes, Node{Name: fmt.Sprintf("n%02d", i), Facts: sound(t, seconds(float64(i)))})
	}
	at := 7
	want := map[string]string{}
	for rule, fault := range faults {
		nodes[at].Facts = sound(t, fault)
		want[nodes[at].Name] = rule
		at += 11
	}
	f := fleetOf(nil, nodes...)
	for _, k := range f.Kinds {
		for _, n := range k.Nodes {
			rules := []string{}
			for _, x := range k.Findings {
				if x.Severity == verdict.Error {
					rules = append(rules, x.Rule)
				}
			}
			if rule := want[n.Node]; rule == "" && len(rules) > 0 || rule != "" && !slices.Contains(rules, rule) {
				t.Errorf("%s: %v, want %q", n.Node, rules, rule)
			}
		}
	}
	if len(f.Kinds) != len(faults)+1 {
		t.Errorf("%d kinds", len(f.Kinds))
	}
}

func withNCCL(version string) func(*facts.Facts) {
	return func(f *facts.Facts) {
		for i := range f.Environments[0].Builds {
			f.Environments[0].Builds[i].Taken = []facts.Taken{{Name: "libnccl.so.2", Version: version, CUDA: "12", Path: "/opt/nccl/libnccl.so.2"}}
		}
	}
}

// TestDrift checks that a different driver or framework in a group is a warning and a different NCCL an error. Other
// groups, and nodes without one, are not compared.
func TestDrift(t *testing.T) {
	node := func(name, group string, changes ...func(*facts.Facts)) Node {
		return Node{Name: name, Group: group, Facts: sound(t, changes...)}
	}
	same := withNCCL("2.27.3")
	for _, c := range []struct {
		name, want string
		nodes      []Node
	}{
		{"alike", "", []Node{node("a", "g", same), node("b", "g", same)}},
		{"two groups", "", []Node{node("a", "g"), node("b", "h", onDriver("580.95.05", "13.0"))}},
		{"no group", "", []Node{node("a", ""), node("b", "", onDriver("580.95.05", "13.0"))}},
		{"drivers", "warning CUDA usual 12.8 out c; warning driver usual 570.133.20 out c",
			[]Node{node("a", "g"), node("b", "g"), node("c", "g", onDriver("580.95.05", "13.0"))}},
		{"NCCL", "error NCCL of jax usual  out a b; error NCCL of torch usual  out a b",
			[]Node{node("a", "g", same), node("b", "g", withNCCL("2.26.2"))}},
		{"an NCCL that is not known", "", []Node{node("a", "g", same), node("b", "g", same), node("c", "g", func(f *facts.Facts) {
			for i := range f.Environments[0].Builds {
				f.Environments[0].Builds[i].Taken = nil
			}
			f.Environments[0].Packages = nil
		})}},
	} {
		var got []string
		for _, d := range fleetOf(nil, c.nodes...).Drift {
			got = append(got, fmt.Sprintf("%s %s usual %s out %s", d.Severity, d.What, d.Usual, strings.Join(d.Outliers(), " ")))
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("%s:\n got %q\nwant %q", c.name, strings.Join(got, "; "), c.want)
		}
	}
}

// TestDriftOfNCCLFailsTheFleet checks a fleet in which every node is healthy but the job would hang.
func TestDriftOfNCCLFailsTheFleet(t *testing.T) {
	f := fleetOf(nil, Node{Name: "a", Group: "g", Facts: sound(t, withNCCL("2.27.3"))}, Node{Name: "b", Group: "g", Facts: sound(t, withNCCL("2.26.2"))})
	if f.Outcome != verdict.Incompatible {
		t.Errorf("outcome %s", f.Outcome)
	}
}

func TestStale(t *testing.T) {
	f := fleetOf(nil, Node{Name: "new", Taken: "2026-11-22T10:00:00Z", Facts: sound(t)}, Node{Name: "old", Taken: "2026-11-22T08:59:00Z", Facts: sound(t)},
		Node{Name: "odd", Taken: "yesterday", Facts: sound(t)}, Node{Name: "none", Facts: sound(t)},
		Node{Name: "fast", Taken: "2027-01-01T00:00:00Z", Facts: sound(t)}, Node{Name: "east", Taken: "2026-11-22T19:01:00+09:00", Facts: sound(t)})
	var got []string
	for _, s := range f.Stale {
		got = append(got, s.Node+": "+s.Reason)
	}
	want := "fast: its time is in the future; odd: its time is not one such as 2026-11-22T10:00:00Z; " +
		"old: taken 1h2m before the newest document"
	if strings.Join(got, "; ") != want {
		t.Errorf("%q", got)
	}
}

// TestLaterDocumentCounts checks that the later of two documents for one node is judged, in any order.
func TestLaterDocumentCounts(t *testing.T) {
	bad := Node{Name: "n", Taken: "2026-11-22T09:00:00Z", Facts: sound(t, func(f *facts.Facts) { f.Driver.Version = "535.183.01" })}
	good := Node{Name: "n", Taken: "2026-11-22T10:00:00Z", Facts: sound(t)}
	east := bad // nine hours ahead of UTC: an hour before good
	east.Taken = "2026-11-22T18:00:00+09:00"
	odd := bad
	odd.Taken = "yesterday"
	for _, order := range [][]Node{{bad, good}, {good, bad}, {good, east}} {
		if f := fleetOf(nil, order...); f.Outcome != verdict.Compatible || f.Nodes != 1 || len(f.Kinds) != 1 || len(f.Twice) > 0 {
			t.Errorf("%s, %d nodes, %d kinds, twice %q", f.Outcome, f.Nodes, len(f.Kinds), f.Twice)
		}
	}
	// What does not tell its time, or a wrong one, hides nothing that is worse.
	future, soon, undated, same := good, good, good, good
	soon.Taken = time.Now().Add(3 * time.Minute).Format(time.RFC3339)
	future.Taken, undated.Taken, same.Taken = "2999-01-01T00:00:00Z", "", bad.Taken
	for _, order := range [][]Node{{good, odd}, {bad, future}, {future, bad}, {bad, soon}, {soon, bad}, {bad, undated}, {undated, bad}, {bad, same}, {same, bad}} {
		f := fleetOf(nil, order...)
		if f.Outcome != verdict.Incompatible || f.Nodes != 1 || !slices.Equal(f.Twice, []string{"n"}) {
			t.Errorf("%s, then %s: %s, %d nodes, twice %q", order[0].Taken, order[1].Taken, f.Outcome, f.Nodes, f.Twice)
		}
	}
	if f := fleetOf(nil, undated, undated); len(f.Twice) > 0 {
		t.Errorf("one document given twice is named: %q", f.Twice)
	}
}

// TestWhatIfIsCheckWithDriver checks that a node's outcome with another driver equals that of check --driver.
func TestWhatIfIsCheckWithDriver(t *testing.T) {
	kinds := map[string]facts.Facts{"p5": sound(t), "old": sound(t, onDriver("470.256.02", "11.4")),
		"v100": sound(t, func(f *facts.Facts) {
			f.System.Instance = "p3.16xlarge"
			for i := range f.GPUs {
				f.GPUs[i].Name, f.GPUs[i].PCIID, f.GPUs[i].Capability = "Tesla V100-SXM2-16GB", "10de:1db1", "7.0"
			}
		})}
	for _, driver := range []string{"450.80.02", "525.60.13", "550.144.03", "580.95.05", "590.48.01"} {
		var nodes []Node
		for name, f := range kinds {
			nodes = append(nodes, Node{Name: name, Facts: f})
		}
		fleet := fleetOf([]WhatIf{{Text: "driver=" + driver, Driver: driver}}, nodes...)
		for _, k := range fleet.Kinds {
			for _, n := range k.Nodes {
				f := kinds[n.Node]
				matrix.Normalize(&f)
				if want := matrix.Check(context.Background(), matrix.Embedded(), f, []matrix.Target{{Driver: driver}}, verdict.Policy{}).Outcome; k.Outcome != want {
					t.Errorf("%s on %s: %s, check says %s", n.Node, driver, k.Outcome, want)
				}
			}
		}
	}
}

// TestWhatIfLeavesHealth checks that another driver does not repair hardware: a fault that keeps a node's GPUs from
// work stays.
func TestWhatIfLeavesHealth(t *testing.T) {
	for name, c := range map[string]struct {
		rule  string
		fault func(*facts.Facts)
	}{
		"one GPU of eight is gone": {"gpu-count", func(f *facts.Facts) { f.GPUs = f.GPUs[:7] }},
		"row-remap failure":        {"gpu-health", func(f *facts.Facts) { f.GPUs[3].Health = &facts.Health{RemapFailure: true} }},
		"NVML wants a reset":       {"gpu-health", func(f *facts.Facts) { f.GPUs[3].Health = &facts.Health{Recovery: "reset"} }},
		"Xid 79": {"gpu-health", func(f *facts.Facts) {
			f.Machine.Xids = []string{"NVRM: Xid (PCI:" + f.GPUs[3].Bus + "): 79, pid=1234, name=python, GPU has fallen off the bus."}
		}},
		"NVML is stuck": {"driver-unresponsive", func(f *facts.Facts) {
			f.Driver.NVML = facts.NVML{Status: "stuck", Message: "NVML hangs in the kernel (process 4711, state D, for 140s)"}
		}},
	} {
		for _, driver := range []string{"570.211.01", "580.95.05", "590.48.01"} {
			f := fleetOf([]WhatIf{{Text: "driver=" + driver, Driver: driver}}, Node{Name: "n", Facts: sound(t, c.fault)})
			if kind := f.Kinds[0]; kind.Was != verdict.Incompatible || kind.Outcome != verdict.Incompatible || len(f.Plan.Mends) > 0 ||
				!slices.ContainsFunc(kind.Findings, func(f Finding) bool { return f.Rule == c.rule && f.Severity == verdict.Error }) {
				t.Errorf("%s, with driver %s: %s -> %s, mends %v", name, driver, kind.Was, kind.Outcome, f.Plan.Mends)
			}
		}
	}
}

// TestPlan checks that 590, which drops Volta, is answered with 580, the newest branch that supports it and breaks
// nobody.
func TestPlan(t *testing.T) {
	volta := sound(t, func(f *facts.Facts) {
		f.System.Instance, f.Environments = "p3.16xlarge", nil
		for i := range f.GPUs {
			f.GPUs[i].Name, f.GPUs[i].PCIID, f.GPUs[i].Capability = "Tesla V100-SXM2-16GB", "10de:1db1", "7.0"
		}
	})
	nodes := []Node{{Name: "v100", Facts: volta}, {Name: "h100", Facts: sound(t)}}
	f := fleetOf([]WhatIf{{Text: "driver=590.48.01", Driver: "590.48.01"}}, nodes...)
	if len(f.Plan.Breaks) != 1 || f.Plan.Breaks[0].Node != "v100" || !slices.Equal(f.Plan.Breaks[0].Rules, []string{"driver-drops-gpu"}) {
		t.Errorf("breaks %+v", f.Plan.Breaks)
	}
	if !strings.HasPrefix(f.Plan.Driver, "580.") {
		t.Errorf("plan %+v", f.Plan)
	}
	torch, err := probe.Given([]byte("torch==2.9.0+cu130\n"))
	if err != nil {
		t.Fatal(err)
	}
	f = fleetOf([]WhatIf{{Text: "torch==2.9.0+cu130", Builds: torch.Environments[0].Builds}}, nodes...)
	if len(f.Plan.Breaks) != 1 || f.Plan.Breaks[0].Node != "h100" || !slices.Contains(f.Plan.Breaks[0].Rules, "driver-too-old") {
		t.Errorf("breaks %+v", f.Plan.Breaks)
	}
	if !strings.HasPrefix(f.Plan.Driver, "580.") {
		t.Errorf("plan %+v: 580 is CUDA 13's floor", f.Plan)
	}
}

// TestPlanNamesFurtherErrors checks a node that is incompatible today, for its torch, and loses its GPU with the change.
func TestPlanNamesFurtherErrors(t *testing.T) {
	torch, err := probe.Given([]byte("torch==2.9.0+cu130\n"))
	if err != nil {
		t.Fatal(err)
	}
	volta := sound(t, func(f *facts.Facts) {
		f.System.Instance, f.Environments = "p3.16xlarge", torch.Environments
		for i := range f.GPUs {
			f.GPUs[i].Name, f.GPUs[i].PCIID, f.GPUs[i].Capability = "Tesla V100-SXM2-16GB", "10de:1db1", "7.0"
		}
	})
	f := fleetOf([]WhatIf{{Text: "driver=590.48.01", Driver: "590.48.01"}}, Node{Name: "v100", Facts: volta})
	if len(f.Plan.Breaks) != 0 || len(f.Plan.Worsens) != 1 || !slices.Contains(f.Plan.Worsens[0].Rules, "driver-drops-gpu") {
		t.Errorf("breaks %+v, worsens %+v; want driver-drops-gpu among the further errors", f.Plan.Breaks, f.Plan.Worsens)
	}
	if want := "it breaks no node that works today; 1 node stays incompatible, with a further error"; f.Plan.Why != want {
		t.Errorf("got %q, want %q", f.Plan.Why, want)
	}
}

// A node whose judgement is cut short by the context makes no kind. The next node of its kind is judged again.
func TestContextEndsWhileANodeIsJudged(t *testing.T) {
	whatIf := []WhatIf{{Text: "driver=590.48.01", Driver: "590.48.01"}}
	for _, asked := range [][]WhatIf{nil, whatIf} {
		j := NewJudge(matrix.Embedded(), verdict.Policy{}, asked)
		ended, end := context.WithCancelCause(t.Context())
		end(errors.New("the time was up"))
		j.Add(ended, Node{Name: "late", Facts: sound(t)})
		j.Add(t.Context(), Node{Name: "early", Facts: sound(t)})
		got := j.Summary(func([]Member) []Stale { return nil })
		want := []Unread{{"late", "late", "it was not judged: the time was up"}}
		if !slices.Equal(got.Unread, want) || got.Nodes != 1 || got.Outcome != verdict.Compatible {
			t.Errorf("asked %v: unread %v, %d nodes, %s; want %v, 1, compatible", asked, got.Unread, got.Nodes, got.Outcome, want)
		}
	}
}

// TestAlikeDrifts checks nodes that differ in the NCCL of two frameworks, one of which not every other node has.
func TestAlikeDrifts(t *testing.T) {
	torch := Drift{Group: "a", What: "NCCL of torch", Usual: "2.27.3", Values: []Value{{"2.27.3", []string{"n1", "n2"}}, {"2.21.5", []string{"n4"}}}}
	jax := Drift{Group: "a", What: "NCCL of jax", Usual: "2.27.3", Values: []Value{{"2.27.3", []string{"n1", "n2", "n3"}}, {"2.21.5", []string{"n4"}}}}
	other := Drift{Group: "a", What: "driver", Usual: "570", Values: []Value{{"570", []string{"n1", "n2"}}, {"580", []string{"n3", "n4"}}}}
	if !torch.Alike(jax) || torch.Alike(other) {
		t.Errorf("alike: %v, %v", torch.Alike(jax), torch.Alike(other))
	}
}

// TestGroupMessages checks that a group with one step lists its nodes' errors, most frequent first.
func TestGroupMessages(t *testing.T) {
	for want, m := range map[string]messages{
		"":                                      {},
		"Xid 79":                                {"Xid 79": 4},
		"Xid 79 (4); Xid 48 (2)":                {"Xid 48": 2, "Xid 79": 4},
		"a (5); b (4); c (3); d (2)":            {"a": 5, "b": 4, "c": 3, "d": 2},
		"a (5); b (4); c (3); 2 other messages": {"a": 5, "b": 4, "c": 3, "d": 2, "e": 1},
	} {
		if got := m.words(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestWhatIfNamesFurtherWarnings checks that a change names the nodes that it leaves working with a warning.
func TestWhatIfNamesFurtherWarnings(t *testing.T) {
	before, err := probe.Given([]byte("torch==2.9.0+cu126\n"))
	if err != nil {
		t.Fatal(err)
	}
	after, err := probe.Given([]byte("torch==2.9.0+cu130\n"))
	if err != nil {
		t.Fatal(err)
	}
	mixed := sound(t, onDriver("580.95.05", "13.0"), func(f *facts.Facts) {
		f.System.Instance, f.Environments = "", before.Environments
		f.GPUs = f.GPUs[:2]
		f.GPUs[0].Name, f.GPUs[0].PCIID, f.GPUs[0].Capability = "Tesla V100-SXM2-16GB", "10de:1db1", "7.0"
	})
	f := fleetOf([]WhatIf{{Text: "torch==2.9.0+cu130", Builds: after.Environments[0].Builds}}, Node{Name: "mixed", Facts: mixed})
	if len(f.Plan.Breaks) != 0 || len(f.Plan.Warns) != 1 || !slices.Equal(f.Plan.Warns[0].Rules, []string{"gpu-arch-missing"}) {
		t.Errorf("breaks %+v, warns %+v; want a warning of gpu-arch-missing", f.Plan.Breaks, f.Plan.Warns)
	}
	if want := "it breaks no node; 1 node gets a further warning"; f.Plan.Why != want {
		t.Errorf("got %q, want %q", f.Plan.Why, want)
	}
	f = fleetOf([]WhatIf{{Text: "torch==2.9.0+cu126", Builds: before.Environments[0].Builds}}, Node{Name: "mixed", Facts: mixed})
	if len(f.Plan.Warns) != 0 {
		t.Errorf("the same release: warns %+v", f.Plan.Warns)
	}
}
