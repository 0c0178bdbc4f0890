package report_test

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cudacompat/internal/guard"
	"cudacompat/internal/report"
	"cudacompat/internal/report/diagnosis"
	"cudacompat/internal/report/formats"
	"cudacompat/internal/report/layout"
	"cudacompat/internal/report/needs"
	"cudacompat/internal/report/nodes"
	"cudacompat/internal/report/reporttest"
	"cudacompat/matrix"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

const (
	reportSchema      = "schema/report-v1.json"
	factsSchema       = "schema/facts-v1.json"
	diagnosisSchema   = "schema/diagnosis-v1.json"
	requiresSchema    = "schema/requires-v1.json"
	fleetSchema       = "schema/fleet-v1.json"
	guardSchema       = "schema/guard-v1.json"
	explanationSchema = "schema/explanation-v1.json"
)

// TestReportsHoldToTheirSchema validates every case's report, and its facts separately.
func TestReportsHoldToTheirSchema(t *testing.T) {
	whole, facts := reporttest.CompileSchema(t, reportSchema), reporttest.CompileSchema(t, factsSchema)
	for name, r := range reporttest.Cases(t, "testdata") {
		t.Run(name, func(t *testing.T) {
			reporttest.Validate(t, whole, reporttest.Show(t, formats.All, r, "json", layout.Style{}))
			var b bytes.Buffer
			if err := report.Facts(&b, r.Facts); err != nil {
				t.Fatal(err)
			}
			reporttest.Validate(t, facts, b.String())
		})
	}
}

// TestEmptyReportHoldsToItsSchema validates the zero report: lists are empty, never null.
func TestEmptyReportHoldsToItsSchema(t *testing.T) {
	var b bytes.Buffer
	if err := report.Facts(&b, facts.Facts{}); err != nil {
		t.Fatal(err)
	}
	reporttest.Validate(t, reporttest.CompileSchema(t, factsSchema), b.String())
}

// TestSchemaRefuses checks that the schema rejects invalid reports.
func TestSchemaRefuses(t *testing.T) {
	s := reporttest.CompileSchema(t, reportSchema)
	whole := reporttest.Show(t, formats.All, reporttest.Cases(t, "testdata")["driver-too-old"], "json", layout.Style{})
	for name, change := range map[string]func(map[string]any){
		"null-list":       func(m map[string]any) { m["passed"] = nil },
		"unknown-outcome": func(m map[string]any) { m["outcome"] = "fine" },
		"missing-field":   func(m map[string]any) { delete(m, "answers") },
		"missing-reason":  func(m map[string]any) { m["suppressed"] = m["findings"] },
		"null-in-facts":   func(m map[string]any) { m["facts"].(map[string]any)["gpus"] = nil },
	} {
		t.Run(name, func(t *testing.T) {
			var document map[string]any
			if err := json.Unmarshal([]byte(whole), &document); err != nil {
				t.Fatal(err)
			}
			change(document)
			if s.Validate(document) == nil {
				t.Error("the schema takes it")
			}
		})
	}
}

// TestSchemasDescribeEveryField compares the Go types with the schemas. A field without a description, or the reverse,
// fails.
func TestSchemasDescribeEveryField(t *testing.T) {
	for name, typ := range map[string]reflect.Type{
		reportSchema: reflect.TypeFor[report.Report](), factsSchema: reflect.TypeFor[facts.Facts](),
		diagnosisSchema: reflect.TypeFor[diagnosis.Explained](), requiresSchema: reflect.TypeFor[needs.Requires](),
		fleetSchema: reflect.TypeFor[nodes.Fleet](), guardSchema: reflect.TypeFor[guard.Forecast](), explanationSchema: reflect.TypeFor[diagnosis.Explanation](),
	} {
		t.Run(path.Base(name), func(t *testing.T) { describe(t, "", typ, load(t, name)) })
	}
}

// node is one object of a schema, and its file.
type node struct {
	words map[string]any
	file  *node
}

func (n node) child(key, name string) (node, bool) {
	all, _ := n.words[key].(map[string]any)
	words, ok := all[name].(map[string]any)
	return node{words, n.file}, ok
}

func load(t *testing.T, name string) node {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var n node
	if err := json.Unmarshal(data, &n.words); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	n.file = &n
	return n
}

// follow merges a $ref's target into a node, and takes the last of several alternatives.
func follow(t *testing.T, n node) node {
	t.Helper()
	if choices, ok := n.words["oneOf"].([]any); ok {
		return merge(follow(t, node{choices[len(choices)-1].(map[string]any), n.file}), n)
	}
	ref, _ := n.words["$ref"].(string)
	file, name, _ := strings.Cut(ref, "#/$defs/")
	var target node
	switch {
	case ref == "":
		return n
	case file != "":
		target = load(t, "schema/"+file)
	default:
		target = *n.file
	}
	if name != "" {
		target, _ = target.child("$defs", name)
	}
	return merge(follow(t, target), n)
}

// merge combines a node with the one that it refers to. The node's own words win; properties are united.
func merge(base, own node) node {
	words := maps.Clone(base.words)
	for key, value := range own.words {
		properties, ok := value.(map[string]any)
		if all, both := words[key].(map[string]any); ok && both {
			all = maps.Clone(all)
			maps.Copy(all, properties)
			value = all
		}
		words[key] = value
	}
	delete(words, "$ref")
	delete(words, "oneOf")
	return node{words, base.file}
}

func describe(t *testing.T, at string, typ reflect.Type, n node) {
	t.Helper()
	n = follow(t, n)
	if text, _ := n.words["description"].(string); text == "" {
		t.Errorf("%s is not described", at)
	}
	switch typ.Kind() {
	case reflect.Pointer:
		describe(t, at, typ.Elem(), n)
	case reflect.Slice:
		items, ok := n.words["items"].(map[string]any)
		if !ok {
			t.Errorf("%s: the schema has no items", at)
		} else if typ.Elem().Kind() == reflect.Struct {
			describe(t, at+"[]", typ.Elem(), node{items, n.file})
		}
	case reflect.Struct:
		describeFields(t, at, typ, n)
	}
}

func describeFields(t *testing.T, at string, typ reflect.Type, n node) {
	t.Helper()
	properties, _ := n.words["properties"].(map[string]any)
	names := map[string]bool{}
	for _, f := range reflect.VisibleFields(typ) {
		if f.Anonymous || !f.IsExported() {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		names[name] = true
		property, ok := n.child("properties", name)
		if !ok {
			t.Errorf("%s.%s (Go: %s) is not in the schema: describe it there", at, name, f.Name)
			continue
		}
		describe(t, at+"."+name, f.Type, property)
	}
	for name := range properties {
		if !names[name] && !shared[at+"."+name] {
			t.Errorf("%s.%s is in the schema and not in the Go type: names are never taken away", at, name)
		}
	}
}

// shared lists names that a schema has for another document.
var shared = map[string]bool{".log.findings": true, ".log.compared": true, ".log.compared.with": true,
	".log.compared.outcome": true, ".log.compared.driver": true,
	".log.compared.why": true, ".log.compared.result": true, ".log.apart": true}

// contract lists the names that programs rely on. None may be removed.
var contract = []string{
	"schema", "tool.version", "tool.matrix", "outcome",
	"answers[].subject", "answers[].target", "answers[].answer", "answers[].because[]",
	"findings[].rule", "findings[].severity", "findings[].subject", "findings[].target", "findings[].message",
	"findings[].need",
	"findings[].evidence[].fact", "findings[].evidence[].value", "findings[].evidence[].from",
	"findings[].pins[].package", "findings[].pins[].version", "findings[].pins[].why", "findings[].pins[].commands",
	"findings[].do[]", "findings[].source[]",
	"passed[].rule", "passed[].subject", "unknown[].rule", "unknown[].subject", "unknown[].missing", "suppressed[].rule",
	"facts.schema", "facts.driver.version", "facts.driver.from", "facts.driver.module", "facts.driver.cuda",
	"facts.driver.libraries[].name", "facts.driver.libraries[].version", "facts.driver.libraries[].path",
	"facts.driver.modules[].kernel", "facts.driver.modules[].version", "facts.driver.modules[].path",
	"facts.gpus[].name", "facts.gpus[].pci_id", "facts.gpus[].compute_capability", "facts.toolkits[].version",
	"facts.environments[].path", "facts.environments[].python", "facts.environments[].active",
	"facts.environments[].builds[].name", "facts.environments[].builds[].version", "facts.environments[].builds[].cuda",
	"facts.environments[].builds[].cudnn", "facts.environments[].builds[].nccl", "facts.environments[].builds[].sass[]",
	"facts.environments[].builds[].ptx[]", "facts.environments[].builds[].path",
	"facts.libraries[].name", "facts.libraries[].version", "facts.libraries[].path",
	"facts.probes[].name", "facts.probes[].status", "facts.probes[].error", "facts.probes[].seconds",
}

// TestContractNames checks that the schemas have every name of the contract as a required one.
func TestContractNames(t *testing.T) {
	for _, name := range contract {
		n := load(t, reportSchema)
		for step := range strings.SplitSeq(name, ".") {
			step, list := strings.CutSuffix(step, "[]")
			n = follow(t, n)
			if required, _ := n.words["required"].([]any); !slices.Contains(required, any(step)) &&
				!strings.HasPrefix(name, "suppressed[]") {
				t.Errorf("%s: %s is not required", name, step)
			}
			next, ok := n.child("properties", step)
			if !ok {
				t.Fatalf("%s: there is no %s", name, step)
			}
			if list {
				next = follow(t, next)
				next.words = next.words["items"].(map[string]any)
			}
			n = next
		}
	}
}

// TestNamesInSchemaAreInReports checks that a report has every name of the contract.
func TestNamesInSchemaAreInReports(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range reporttest.Cases(t, "testdata") {
		var document any
		if err := json.Unmarshal([]byte(reporttest.Show(t, formats.All, r, "json", layout.Style{})), &document); err != nil {
			t.Fatal(err)
		}
		paths(document, "", seen)
	}
	for _, name := range contract {
		if !seen[name] {
			t.Errorf("no report of any case holds %s", name)
		}
	}
}

// paths collects the paths of values: "findings[].rule".
func paths(value any, at string, seen map[string]bool) {
	seen[strings.TrimPrefix(at, ".")] = true
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			paths(inner, at+"."+name, seen)
		}
	case []any:
		for _, inner := range v {
			paths(inner, at+"[]", seen)
		}
	}
}

// TestGuardSchema validates a forecast that breaks something, and one that ran.
func TestGuardSchema(t *testing.T) {
	schema := reporttest.CompileSchema(t, guardSchema)
	command, err := guard.Parse([]string{"uv", "pip", "install", "torch"})
	if err != nil {
		t.Fatal(err)
	}
	plan := facts.Facts{Plan: &facts.Plan{By: "uv"}}
	plan.Complete()
	judged := func(driver string) guard.State {
		f := facts.Facts{Environments: []facts.Environment{{Path: "/opt/venv", Builds: []facts.Build{{Name: "torch",
			Version: "2.9.0+cu130", CUDA: "13.0", Accelerator: "cuda", Origin: "wheel"}}}}}
		f.Complete()
		return guard.State{Facts: f, Verdict: matrix.Check(context.Background(), matrix.Embedded(), f,
			[]matrix.Target{{Driver: driver, GPUs: []string{"L4"}}}, verdict.Policy{})}
	}
	broken := guard.Compare(command, "/opt/venv", *plan.Plan, judged("580.95.05"), judged("535.183.01"))
	ran := guard.Compare(command, "/opt/venv", *plan.Plan, judged("535.183.01"), judged("580.95.05"))
	ran.Ran, ran.Instead = true, &guard.Instead{Command: []string{"uv"}, After: verdict.Compatible}
	ran.Differs = append(ran.Differs, guard.Difference{Build: "torch", Is: verdict.Broken})
	for _, f := range []guard.Forecast{broken, ran} {
		var b strings.Builder
		if err := report.WriteJSON(&b, f); err != nil {
			t.Fatal(err)
		}
		reporttest.Validate(t, schema, b.String())
	}
	if broken.Decision != guard.Breaks || len(broken.Breaks) == 0 {
		t.Errorf("the first breaks nothing: %+v", broken)
	}
}
