package logs

import (
	"slices"

	"cudacompat/internal/logs/finding"
	"cudacompat/internal/logs/record"
)

// addSuspects quotes the lines about failures in a log with no known error: first the one that most likely ended the
// program, then the others in the log's order.
func (d *Diagnosis) addSuspects(records []record.Record, sources []Source) {
	chosen := finding.FindSuspects(records)
	if len(chosen) > 1 {
		slices.Sort(chosen[1:])
	}
	for _, i := range chosen {
		f := finding.New(&records[i], finding.Answer{})
		d.Lines = append(d.Lines, quote(&f.Hit, sources))
	}
	if len(chosen) > 0 {
		d.Because = "None of the errors in this log is known here; these lines look most like the failure."
		d.Do = finding.ListSearchSteps(&records[chosen[0]])
	}
}
