package main

import (
	"cudacompat/internal/report"
	"cudacompat/internal/report/diagnosis"
	"cudacompat/internal/report/needs"
	"cudacompat/internal/report/nodes"
)

func reportFormats() []report.Format[report.Report] {
	return []report.Format[report.Report]{{Name: "json", Write: report.JSON}}
}

func explainFormats() []report.Format[diagnosis.Explained] {
	return []report.Format[diagnosis.Explained]{{Name: "json", Write: diagnosis.WriteJSON}}
}

func fleetFormats() []report.Format[nodes.Fleet]          { return report.OnlyJSON[nodes.Fleet]() }
func requireFormats() []report.Format[needs.Requires]     { return report.OnlyJSON[needs.Requires]() }
func requireDiffFormats() []report.Format[needs.Requires] { return report.OnlyJSON[needs.Requires]() }
