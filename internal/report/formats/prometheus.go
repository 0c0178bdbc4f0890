package formats

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"cudacompat/internal/report"
	"cudacompat/internal/report/layout"
	"cudacompat/internal/report/plaintext"
	"cudacompat/matrix/verdict"
)

// WritePrometheus writes gauges in the classic text format for node_exporter's textfile collector, which knows no
// OpenMetrics types and rejects timestamps. Every metric is always present, with its help. No label contains something
// that identifies one machine (paths, UUIDs), because each value of a label is a series that is kept for weeks.
func WritePrometheus(w io.Writer, r report.Report, _ layout.Style) error {
	var b bytes.Buffer
	for _, g := range gauges {
		fmt.Fprintf(&b, "# HELP cudacompat_%s %s\n# TYPE cudacompat_%s gauge\n", g.name, g.help, g.name)
		for _, s := range MergeSamples(g.samples(r)) {
			fmt.Fprintf(&b, "cudacompat_%s%s %s\n", g.name, s.Labels, strconv.FormatFloat(s.Value, 'f', -1, 64))
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

type gauge struct {
	name, help string
	samples    func(report.Report) []Sample
}

// Sample is one line of a metric.
type Sample struct {
	Labels string // `{rule="driver-missing"}`, or empty
	Value  float64
}

var gauges = []gauge{
	{"outcome", "Outcome of the last run; 1 for the one that holds.", outcomeSamples},
	{"findings", "Findings of the last run that no waiver hides.", findingSamples},
	{"suppressed_findings", "Findings of the last run that a waiver hides.", suppressedSamples},
	{"expired_waivers", "Findings of the last run that were waived until a day that has passed.", expiredSamples},
	{"rule_results", "Subjects of the last run for which a rule holds (passed) or could not be judged (unknown).",
		ruleSamples},
	{"build_answers", "Builds that count, by what is known of them on this machine or the instance type.", answerSamples},
	{"component_info", "A component found on this machine; always 1.", componentSamples},
	{"gpus", "GPUs found on this machine.", gpuSamples},
	{"probe_success", "Whether a part of the machine could be looked at; 1 also where there is nothing.",
		probeSuccessSamples},
	{"probe_duration_seconds", "Wall time that looking at a part of the machine took.", probeDurationSamples},
	{"tool_info", "The program and the date of its tables; always 1.", toolSamples},
	{"configuration_info", "What became of the configuration file that was found; always 1.", configurationSamples},
	{"run_timestamp_seconds", "Unix time of the last run.", func(r report.Report) []Sample { return SampleRun(r.Tool) }},
}

// SampleRun returns the time of the run, because a verdict stands until the next one, and there may be none.
func SampleRun(t report.Tool) []Sample {
	if t.Run == 0 {
		return nil
	}
	return []Sample{{"", float64(t.Run)}}
}

// labelledSample returns a sample of value 1. pairs are label names and values in turn.
func labelledSample(pairs ...string) Sample { return NewSample(1, pairs...) }

// NewSample returns a sample. pairs are label names and values in turn.
func NewSample(value float64, pairs ...string) Sample {
	var list []string
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, fmt.Sprintf(`%s="%s"`, pairs[i], prometheusValue.Replace(layout.Clean(pairs[i+1]))))
	}
	return Sample{"{" + strings.Join(list, ",") + "}", value}
}

// prometheusValue applies the three escapes of the text format.
var prometheusValue = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// MergeSamples adds up samples with equal labels, which a reader would reject, and sorts them.
func MergeSamples(samples []Sample) []Sample {
	var list []Sample
	for _, s := range samples {
		if i := slices.IndexFunc(list, func(other Sample) bool { return other.Labels == s.Labels }); i >= 0 {
			list[i].Value += s.Value
		} else {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b Sample) int { return cmp.Compare(a.Labels, b.Labels) })
	return list
}

func outcomeSamples(r report.Report) []Sample {
	var list []Sample
	for _, o := range []verdict.Outcome{verdict.Compatible, verdict.Incompatible, verdict.Inconclusive} {
		list = append(list, NewSample(oneIf(o == r.Outcome), "outcome", string(o)))
	}
	return list
}

func oneIf(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}

func findingSamples(r report.Report) []Sample {
	var list []Sample
	for _, f := range r.Findings {
		list = append(list, labelledSample("rule", f.Rule, "severity", string(f.Severity), "target", f.Target))
	}
	return list
}

func suppressedSamples(r report.Report) []Sample {
	var list []Sample
	for _, s := range r.Suppressed {
		list = append(list, labelledSample("rule", s.Rule, "severity", string(s.Severity), "target", s.Target, "reason", s.Reason,
			"until", s.Until))
	}
	return list
}

func configurationSamples(r report.Report) []Sample {
	if r.Configuration == nil {
		return nil
	}
	var list []Sample
	if c := r.Configuration; c.File != "" {
		state := "obeyed"
		if len(c.Changed) > 0 {
			state = "changed"
		}
		list = append(list, labelledSample("file", c.File, "state", state, "changed", strings.Join(c.Changed, ", ")))
	}
	for _, i := range r.Configuration.Ignored {
		list = append(list, labelledSample("file", i.File, "state", "ignored", "changed", ""))
	}
	return list
}

func expiredSamples(r report.Report) []Sample {
	var list []Sample
	for _, w := range r.Waivers {
		if n := plaintext.CountLapsed(r, w); n > 0 {
			list = append(list, NewSample(float64(n), "rule", w.Rule, "reason", w.Reason, "until", w.Until))
		}
	}
	return list
}

func ruleSamples(r report.Report) []Sample {
	var list []Sample
	for _, p := range r.Passed {
		list = append(list, labelledSample("rule", p.Rule, "result", "passed"))
	}
	for _, u := range r.Unknown {
		list = append(list, labelledSample("rule", u.Rule, "result", "unknown"))
	}
	return list
}

func answerSamples(r report.Report) []Sample {
	var list []Sample
	for _, a := range r.Answers {
		if a.Counts {
			list = append(list, labelledSample("build", a.About.Words(), "target", a.Target, "answer", string(a.Answer)))
		}
	}
	return list
}

// componentSamples returns each version of each component once, however many places have it.
func componentSamples(r report.Report) []Sample {
	list := []Sample{}
	component := func(name, version string) {
		s := labelledSample("component", name, "version", version)
		if version != "" && !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	component("driver", r.Facts.Driver.Version)
	component("driver-cuda", r.Facts.Driver.CUDA)
	for _, t := range r.Facts.Toolkits {
		component("toolkit", t.Version)
	}
	for _, e := range r.Facts.Environments {
		for _, b := range e.Builds {
			component(b.Name, b.Version)
		}
	}
	return list
}

func gpuSamples(r report.Report) []Sample {
	var list []Sample
	for _, g := range r.Facts.GPUs {
		list = append(list, labelledSample("name", g.Name, "compute_capability", g.Capability))
	}
	return list
}

func probeSuccessSamples(r report.Report) []Sample {
	var list []Sample
	for _, p := range r.Facts.Probes {
		list = append(list, NewSample(oneIf(p.Status != "failed"), "probe", p.Name))
	}
	return list
}

func probeDurationSamples(r report.Report) []Sample {
	var list []Sample
	for _, p := range r.Facts.Probes {
		list = append(list, NewSample(p.Seconds, "probe", p.Name))
	}
	return list
}

func toolSamples(r report.Report) []Sample {
	return []Sample{labelledSample("version", r.Tool.Version, "matrix", r.Tool.Matrix)}
}
