// Package report says a verdict in the format that is asked for. It decides nothing: the outcome, the severities and
// the order are matrix's.
package report

import (
	"io"

	"cudacompat/internal/config"
	"cudacompat/internal/logs"
	"cudacompat/matrix"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// Schema names the form of Report in JSON; internal/report/schema/report-v1.json describes every field of it. Fields may be
// added under the same name, never renamed.
const Schema = "cudacompat/report/v1"

// Report is everything that a run has to say.
type Report struct {
	Schema string `json:"schema"`
	Tool   Tool   `json:"tool"`
	verdict.Verdict
	Targets []Target    `json:"targets"` // what it was judged for; empty: the machine as it was found
	Facts   facts.Facts `json:"facts"`
	// Machines are those that were judged together, where there are several. Facts then holds the union of what is installed,
	// and neither a driver nor GPUs.
	Machines []Machine `json:"machines,omitempty"`
	// Log is what a log given beside the machine shows; null when none was given.
	Log *logs.Diagnosis `json:"log"`
	// More is how many entries a list has beside those that are written, by its name.
	More map[string]int `json:"more,omitempty"`
	// Configuration is the configuration file that was found; nil where there was none.
	Configuration *config.Effect `json:"configuration,omitempty"`
	// Source is the file that was judged, relative to where the caller works; empty where a machine was.
	Source string `json:"-"`
}

// Machine is one of several machines that were judged together.
type Machine struct {
	Name  string      `json:"name"` // the target of its answers and findings
	Facts facts.Facts `json:"facts"`
}

// Tool is the program that made the report.
type Tool struct {
	Version string `json:"version"`
	Matrix  string `json:"matrix"` // ISO date on which a source of its tables was last read
	// Tables are the tables that judged.
	Tables []matrix.TableSource `json:"tables"`
	// Site is where the rules' pages are, "https://cudacompat.example"; empty where the build was given none.
	Site string `json:"site,omitempty"`
	// Run is when it judged, in Unix seconds, which metrics tell; 0: not told.
	Run int64 `json:"-"`
}

// OwnTables returns the names of the tables in which a site's own rows stand.
func OwnTables(sources []matrix.TableSource) []string {
	var names []string
	for _, s := range sources {
		if s.Overlay {
			names = append(names, s.Name)
		}
	}
	return names
}

// Target is what the caller said of the machine that the builds are meant for, over what was found.
type Target struct {
	Instance string   `json:"instance"` // EC2 instance type; empty: none was named
	Driver   string   `json:"driver"`   // driver version; empty: the one that was found
	GPUs     []string `json:"gpus"`     // names or compute capabilities; empty: the instance type's, or those found
	Python   string   `json:"python"`   // "3.12"; empty: each environment's own
}

// New puts a report together. Targets that say nothing are left out.
func New(tool Tool, node facts.Facts, targets []matrix.Target, verdict verdict.Verdict) Report {
	r := Report{Schema: Schema, Tool: tool, Verdict: verdict, Targets: []Target{}, Facts: node}
	r.Facts.Complete()
	if r.Tool.Tables == nil {
		r.Tool.Tables = []matrix.TableSource{}
	}
	for _, t := range targets {
		if t.Instance+t.Driver+t.Python == "" && len(t.GPUs) == 0 {
			continue
		}
		target := Target(t)
		if target.GPUs == nil {
			target.GPUs = []string{}
		}
		r.Targets = append(r.Targets, target)
	}
	return r
}

// askedTarget returns what the caller said of the target, the same for all instances.
func (r Report) askedTarget(what func(Target) string) string {
	for _, t := range r.Targets {
		if text := what(t); text != "" {
			return text
		}
	}
	return ""
}

// Style is how the reader wants it; the formats for programs ignore it.
type Style struct {
	Colour bool
	Width  int  // columns; 0: never break a line
	All    bool // what passed, too, and every detail
	// Verbose says where this program's own tables are wrong.
	Verbose bool
	ASCII   bool // no character outside ASCII
	// Private leaves out names of users.
	Private bool
	// Again is the command that judges once more, without its formats.
	Again string
	site  string // where the rules' pages are: of the report's Tool
}

// Format is one way to say a value.
type Format[T any] struct {
	Name  string // as -o has it
	Write func(io.Writer, T, Style) error
}

// OnlyJSON returns the format json, for a program that writes no other.
func OnlyJSON[T any]() []Format[T] {
	return []Format[T]{{"json", func(w io.Writer, value T, _ Style) error { return writeJSON(w, value) }}}
}

// Formats is every format, in the order in which they are listed for people.
var Formats = []Format[Report]{
	{"text", Text},
	{"json", JSON},
	{"line", Line},
	{"script", Script},
	{"markdown", Markdown},
	{"junit", JUnit},
	{"sarif", SARIF},
	{"github", GitHub},
	{"nagios", Nagios},
	{"prometheus", Prometheus},
}
