// Package formats lists the formats of a report, and writes those for programs: one line, a shell script, a comment for an
// issue, JUnit, SARIF, GitHub's annotations, Nagios and Prometheus. Each format has a file.
//
// A format decides nothing: not the outcome, not the severity, not the exit code. Lists are bounded by
// report.ShortenLists, and text of a machine passes layout.Clean. The parts that other results share are exported: test
// cases, samples and annotations.
package formats

import (
	"cudacompat/internal/report"
	"cudacompat/internal/report/plaintext"
)

// All lists every format, in the order of the help.
var All = []report.Format[report.Report]{
	{Name: "text", Write: plaintext.Write},
	{Name: "json", Write: report.JSON},
	{Name: "line", Write: WriteLine},
	{Name: "script", Write: WriteScript},
	{Name: "markdown", Write: WriteMarkdown},
	{Name: "junit", Write: WriteJUnit},
	{Name: "sarif", Write: WriteSARIF},
	{Name: "github", Write: WriteGitHub},
	{Name: "nagios", Write: WriteNagios},
	{Name: "prometheus", Write: WritePrometheus},
}
