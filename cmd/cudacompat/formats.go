//go:build !js

package main

import "cudacompat/internal/report"

// The formats of the commands that a page of the site can also run. The page links only the formats that it shows.

func reportFormats() []report.Format[report.Report]        { return report.Formats }
func explainFormats() []report.Format[report.Explained]    { return report.ExplainFormats }
func fleetFormats() []report.Format[report.Fleet]          { return report.FleetFormats }
func requireFormats() []report.Format[report.Requires]     { return report.RequireFormats }
func requireDiffFormats() []report.Format[report.Requires] { return report.RequireDiffFormats }
