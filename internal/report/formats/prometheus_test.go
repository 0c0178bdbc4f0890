package formats

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"cudacompat/internal/report/layout"
	"cudacompat/internal/report/reporttest"
	"cudacompat/matrix/verdict"
)

var (
	sampleForm = regexp.MustCompile(`^(cudacompat_[a-z_]+)(?:\{(.*)\})? ([0-9.]+)$`)
	labelForm  = regexp.MustCompile(`^([a-z_]+)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)`)
)

// TestPrometheusIsRead parses every case, and hostile strings, as node_exporter's textfile collector does.
func TestPrometheusIsRead(t *testing.T) {
	all := reporttest.Cases(t, "../testdata")
	all["hostile-strings"] = reporttest.Fill("a\"b\\c\n# TYPE x info\nd{e=\"f\"} 1 1700000000", verdict.Inconclusive)
	for name, r := range all {
		t.Run(name, func(t *testing.T) {
			text := reporttest.Show(t, All, r, "prometheus", layout.Style{})
			if !strings.HasSuffix(text, "\n") {
				t.Error("no final newline")
			}
			readPrometheus(t, text)
		})
	}
}

// readPrometheus requires help and type before the samples of a metric, one line for each series, and no timestamp.
func readPrometheus(t *testing.T, text string) (series map[string]string) {
	t.Helper()
	series = map[string]string{}
	metric, typed := "", false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if help, is := strings.CutPrefix(line, "# HELP "); is {
			metric, _, _ = strings.Cut(help, " ")
			typed = false
		} else if line == "# TYPE "+metric+" gauge" {
			typed = true
		} else if m := sampleForm.FindStringSubmatch(line); m == nil || m[1] != metric || !typed {
			t.Errorf("no sample of %s: %q", metric, line)
		} else if _, twice := series[m[1]+m[2]]; twice {
			t.Errorf("twice: %q", line)
		} else {
			series[m[1]+m[2]] = m[3]
			readLabels(t, m[2])
		}
	}
	return series
}

// identity matches what no label may contain: a path, or a GPU's UUID.
var identity = regexp.MustCompile(`^/|GPU-[0-9a-f]{8}`)

func readLabels(t *testing.T, text string) {
	t.Helper()
	for text != "" {
		m := labelForm.FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("no label: %q", text)
		}
		if identity.MatchString(m[2]) {
			t.Errorf("label %s names this machine alone: %q", m[1], m[2])
		}
		text = text[len(m[0]):]
	}
}

// TestPrometheusCounts compares a report with its metrics.
func TestPrometheusCounts(t *testing.T) {
	r := reporttest.Cases(t, "../testdata")["waived"]
	series := readPrometheus(t, reporttest.Show(t, All, r, "prometheus", layout.Style{}))
	for name, want := range map[string]string{
		`cudacompat_outcomeoutcome="compatible"`:   "1",
		`cudacompat_outcomeoutcome="incompatible"`: "0",
		`cudacompat_suppressed_findingsrule="driver-too-old",severity="error",target="",reason="the image is replaced this week",until="2026-12-01"`: "1",
		`cudacompat_component_infocomponent="torch",version="2.9.0+cu130"`:                                                                           "1",
	} {
		if series[name] != want {
			t.Errorf("%s is %q, want %q", name, series[name], want)
		}
	}
}

// TestPromtool runs Prometheus' own linter on every case.
func TestPromtool(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed (Debian's package prometheus has it)")
	}
	for name, r := range reporttest.Cases(t, "../testdata") {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(promtool, "check", "metrics")
			cmd.Stdin = strings.NewReader(reporttest.Show(t, All, r, "prometheus", layout.Style{}))
			if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("promtool: %v\n%s", err, out)
			}
		})
	}
}
