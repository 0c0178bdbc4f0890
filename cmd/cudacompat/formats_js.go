package main

import "cudacompat/internal/report"

func reportFormats() []report.Format[report.Report] {
	return []report.Format[report.Report]{{Name: "json", Write: report.JSON}}
}

func explainFormats() []report.Format[report.Explained] {
	return []report.Format[report.Explained]{{Name: "json", Write: report.ExplainedJSON}}
}

func fleetFormats() []report.Format[report.Fleet]          { return report.OnlyJSON[report.Fleet]() }
func requireFormats() []report.Format[report.Requires]     { return report.OnlyJSON[report.Requires]() }
func requireDiffFormats() []report.Format[report.Requires] { return report.OnlyJSON[report.Requires]() }
