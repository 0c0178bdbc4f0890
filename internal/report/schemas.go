package report

import "embed"

// Schemas are the JSON schemas of the program's output, such as schema/report-v1.json.
//
//go:embed schema/*.json
var Schemas embed.FS
