package report

import "embed"

// Schemas are the JSON schemas of what the program writes, schema/report-v1.json and its like.
//
//go:embed schema/*.json
var Schemas embed.FS
