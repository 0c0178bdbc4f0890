package logs

import "cudacompat/internal/logs/record"

// projectAt returns the project whose call raised the exception on a diagnosis' first line, or "".
func projectAt(records []record.Record, lines []Line) string {
	for i := range records {
		if r := &records[i]; len(lines) > 0 && r.Kind == "exception" && r.Line == lines[0].Number {
			_, project, _ := r.FindProjectCall()
			return project
		}
	}
	return ""
}
