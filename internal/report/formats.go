package report

// Formats lists every format, in the order of the help.
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
