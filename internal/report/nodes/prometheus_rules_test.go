package nodes

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cudacompat/internal/report/formats"
	"cudacompat/internal/report/layout"
	"cudacompat/internal/report/reporttest"

	"go.yaml.in/yaml/v4"
)

// ruleFile is a file of Prometheus rules by its documentation. Any other key is rejected, as promtool does.
type ruleFile struct {
	Groups []struct {
		Name  string
		Rules []alertRule
	}
}

type alertRule struct {
	Record, Alert, Expr, For string
	Labels, Annotations      map[string]string
}

// ruleTests is promtool's file of rule tests.
type ruleTests struct {
	RuleFiles          []string `yaml:"rule_files"`
	EvaluationInterval string   `yaml:"evaluation_interval"`
	Tests              []struct {
		Name, Interval string
		InputSeries    []struct{ Series, Values string } `yaml:"input_series"`
		AlertRuleTest  []struct {
			EvalTime  string `yaml:"eval_time"`
			Alertname string
			ExpAlerts []map[string]map[string]string `yaml:"exp_alerts"`
		} `yaml:"alert_rule_test"`
	}
}

var (
	metricLine   = regexp.MustCompile(`^(cudacompat_[a-z_]+)(?:\{(.*)\})? ([0-9.]+)$`)
	metricForm   = regexp.MustCompile(`\bcudacompat[a-z_:]+`)
	selectorForm = regexp.MustCompile(`(cudacompat[a-z_:]+)\{([^}]*)\}`)
	labelName    = regexp.MustCompile(`([a-z_]+)="`)
	templateForm = regexp.MustCompile(`\{\{ *\$labels\.([a-z_]+) *\}\}`)
	durationForm = regexp.MustCompile(`^(\d+[smhd])?$`)
)

// written returns the metrics that the program writes, each with its labels and those that Prometheus adds.
func written(t *testing.T) map[string][]string {
	t.Helper()
	texts := []string{shown(t, "prometheus")}
	for _, r := range reporttest.Cases(t, "../testdata") {
		r.Tool.Run = 1795348800
		texts = append(texts, reporttest.Show(t, formats.All, r, "prometheus", layout.Style{}))
	}
	metrics := map[string][]string{}
	for _, text := range texts {
		for line := range strings.Lines(text) {
			if m := metricLine.FindStringSubmatch(strings.TrimSuffix(line, "\n")); m != nil {
				metrics[m[1]] = append(metrics[m[1]], "job", "instance")
				for _, l := range labelName.FindAllStringSubmatch(m[2], -1) {
					metrics[m[1]] = append(metrics[m[1]], l[1])
				}
			}
		}
	}
	return metrics
}

// ruleFaults returns the errors in a file of rules: keys that Prometheus does not know, and metrics and labels that the
// program does not write.
func ruleFaults(text []byte, metrics map[string][]string) (alerts, faults []string) {
	var file ruleFile
	if err := strict(text, &file); err != nil {
		return nil, []string{err.Error()}
	}
	metrics = maps.Clone(metrics)
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			name := r.Record + r.Alert
			if (r.Record == "") == (r.Alert == "") || r.Expr == "" || !durationForm.MatchString(r.For) {
				faults = append(faults, name+": a rule is a record or an alert, with an expression")
			}
			known, wrong := seriesFaults(name, r.Expr, metrics)
			faults = append(faults, wrong...)
			for _, text := range r.Annotations {
				for _, m := range templateForm.FindAllStringSubmatch(text, -1) {
					if !slices.Contains(known, m[1]) {
						faults = append(faults, name+": no label "+m[1]+" for the annotation")
					}
				}
			}
			if r.Record != "" {
				metrics[r.Record] = known
			} else {
				alerts = append(alerts, r.Alert)
			}
		}
	}
	return alerts, faults
}

// seriesFaults returns the metrics and labels in an expression that do not exist, and the labels that do.
func seriesFaults(name, expr string, metrics map[string][]string) (known, faults []string) {
	if strings.HasPrefix(expr, "node_uname_info{") {
		return nil, nil // node_exporter's own
	}
	for _, metric := range metricForm.FindAllString(expr, -1) {
		if metrics[metric] == nil {
			faults = append(faults, name+": the program writes no "+metric)
		}
		known = append(known, metrics[metric]...)
	}
	for _, m := range selectorForm.FindAllStringSubmatch(expr, -1) {
		for _, l := range labelName.FindAllStringSubmatch(m[2], -1) {
			if !slices.Contains(metrics[m[1]], l[1]) {
				faults = append(faults, name+": "+m[1]+" has no label "+l[1])
			}
		}
	}
	if len(known) == 0 {
		faults = append(faults, name+": it asks for no metric of the program's")
	}
	return known, faults
}

func strict(text []byte, into any) error {
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	return d.Decode(into)
}

// TestPrometheusRules checks that Prometheus can read the rules and their tests, that they use existing metrics, and
// that each alert has a test in which it fires and one in which it is silent. promtool runs those tests
// (tools/engines/prometheus.sh).
func TestPrometheusRules(t *testing.T) {
	const dir = "../../../examples/prometheus/"
	metrics := written(t)
	text, err := os.ReadFile(dir + "cudacompat.rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	alerts, faults := ruleFaults(text, metrics)
	for _, fault := range faults {
		t.Error(fault)
	}
	data, err := os.ReadFile(dir + "cudacompat.test.yml")
	if err != nil {
		t.Fatal(err)
	}
	var file ruleTests
	if err := strict(data, &file); err != nil {
		t.Fatal(err)
	}
	tested := map[string]bool{}
	for _, c := range file.Tests {
		for _, s := range c.InputSeries {
			if _, faults := seriesFaults(c.Name, s.Series, metrics); len(faults) > 0 {
				t.Error(faults)
			}
		}
		for _, a := range c.AlertRuleTest {
			if !slices.Contains(alerts, a.Alertname) {
				t.Errorf("%s: there is no alert %s", c.Name, a.Alertname)
			}
			tested[fmt.Sprintf("%s %v", a.Alertname, len(a.ExpAlerts) > 0)] = true
		}
	}
	for _, a := range alerts {
		for _, fires := range []bool{true, false} {
			if !tested[fmt.Sprintf("%s %v", a, fires)] {
				t.Errorf("no test of %s in which it fires is %v", a, fires)
			}
		}
	}
}

// TestRuleFaultsAreFound checks each fault that a file of rules can have.
func TestRuleFaultsAreFound(t *testing.T) {
	metrics := map[string][]string{"cudacompat_outcome": {"job", "instance", "outcome"}}
	for rule, want := range map[string]string{
		`{alert: A, expr: 'cudacompat_outcome{outcome="incompatible"} == 1', for: 15m, annotations: {s: '{{ $labels.instance }}'}}`: "",
		`{alert: A, expr: cudacompat_outcomes == 1}`:                                   "no cudacompat_outcomes",
		`{alert: A, expr: 'cudacompat_outcome{result="incompatible"} == 1'}`:           "no label result",
		`{alert: A, expr: cudacompat_outcome, annotations: {s: '{{ $labels.node }}'}}`: "no label node",
		`{alert: A, record: b, expr: cudacompat_outcome}`:                              "a record or an alert",
		`{alert: A, expr: cudacompat_outcome, for: soon}`:                              "a record or an alert",
		`{alert: A, expression: cudacompat_outcome}`:                                   "expression",
		`{alert: A, expr: up == 0}`:                                                    "no metric of the program's",
	} {
		_, faults := ruleFaults([]byte("groups: [{name: g, rules: ["+rule+"]}]"), metrics)
		if got := strings.Join(faults, "; "); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", rule, got, want)
		}
	}
}
