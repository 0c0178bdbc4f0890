//go:build !js

package main

import (
	"cudacompat/internal/report"
	"cudacompat/internal/report/diagnosis"
	"cudacompat/internal/report/formats"
	"cudacompat/internal/report/needs"
	"cudacompat/internal/report/nodes"
)

// The formats of the commands that a page of the site can also run. The page links only the formats that it shows.

func reportFormats() []report.Format[report.Report]        { return formats.All }
func explainFormats() []report.Format[diagnosis.Explained] { return diagnosis.Formats }
func fleetFormats() []report.Format[nodes.Fleet]           { return nodes.Formats }
func requireFormats() []report.Format[needs.Requires]      { return needs.Formats }
func requireDiffFormats() []report.Format[needs.Requires]  { return needs.DiffFormats }
