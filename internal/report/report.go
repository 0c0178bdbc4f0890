// Package report holds the result of a run, its JSON, and the sentences that every format shares. It decides nothing:
// package matrix determines the outcome, the severities and the order.
//
// The packages below it write it: plaintext for people, formats for programs, each of which reads from here what a
// finding says, which missing fact leaves the outcome open, and how much of a long list is written. What is no report
// has packages of its own: nodes (a fleet), needs (what an artefact needs of a host), diagnosis (logs and pages of
// explain) and catalog (pins and tables). layout lays out text, and reporttest helps their tests.
package report

import (
	"io"

	"cudacompat/internal/config"
	"cudacompat/internal/logs"
	"cudacompat/internal/report/layout"
	"cudacompat/matrix"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// Schema names the JSON form of Report; internal/report/schema/report-v1.json describes every field. Fields may be
// added under the same name, never renamed.
const Schema = "cudacompat/report/v1"

// Report is the complete result of a run.
type Report struct {
	Schema string `json:"schema"`
	Tool   Tool   `json:"tool"`
	verdict.Verdict
	Targets []Target    `json:"targets"` // what it was judged for; empty: the machine as it was found
	Facts   facts.Facts `json:"facts"`
	// Machines lists the machines that were judged together, if there are several. Facts then contains the union of
	// what is installed, and neither a driver nor GPUs.
	Machines []Machine `json:"machines,omitempty"`
	// Log is the diagnosis of a log given together with the machine, or null.
	Log *logs.Diagnosis `json:"log"`
	// More maps the name of a shortened list to the number of entries left out.
	More map[string]int `json:"more,omitempty"`
	// Configuration is the configuration file that was found, or nil.
	Configuration *config.Effect `json:"configuration,omitempty"`
	// Source is the judged file, relative to the working directory, or "" for a machine.
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
	// Tables lists the tables that were used.
	Tables []matrix.TableSource `json:"tables"`
	// Site is the address of the rules' pages, "https://cudacompat.example", or "" if the build has none.
	Site string `json:"site,omitempty"`
	// Run is the time of the judgement in Unix seconds, for metrics, or 0.
	Run int64 `json:"-"`
}

// OwnTables returns the names of the tables that contain a site's own rows.
func OwnTables(sources []matrix.TableSource) []string {
	var names []string
	for _, s := range sources {
		if s.Overlay {
			names = append(names, s.Name)
		}
	}
	return names
}

// Target is what the caller said about the machine, which replaces what was found.
type Target struct {
	Instance string   `json:"instance"` // EC2 instance type; empty: none was named
	Driver   string   `json:"driver"`   // driver version; empty: the one that was found
	GPUs     []string `json:"gpus"`     // names or compute capabilities; empty: the instance type's, or those found
	Python   string   `json:"python"`   // "3.12"; empty: each environment's own
}

// New returns a report. It omits targets without values.
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

// FindAskedValue returns a value that the caller gave for the target, which is the same for all instances.
func (r Report) FindAskedValue(what func(Target) string) string {
	for _, t := range r.Targets {
		if text := what(t); text != "" {
			return text
		}
	}
	return ""
}

// Format is one way to write a value.
type Format[T any] struct {
	Name  string // as -o has it
	Write func(io.Writer, T, layout.Style) error
}

// OnlyJSON returns the format json, for a program without others.
func OnlyJSON[T any]() []Format[T] {
	return []Format[T]{{"json", func(w io.Writer, value T, _ layout.Style) error { return WriteJSON(w, value) }}}
}
