package logs

import (
	"slices"

	"cudacompat/internal/logs/finding"
	"cudacompat/internal/logs/logtext"
	"cudacompat/internal/logs/record"
	"cudacompat/internal/logs/scan"
	"cudacompat/internal/redact"
)

// endWell changes a diagnosis that blames nobody to "nothing wrong" if every log says that its work was done, or ends
// with it.
func (d *Diagnosis) endWell(ends []scan.Closing, records []record.Record, sources []Source) {
	open := func(e scan.Closing) bool { return e.Number == 0 }
	fault := func(r record.Record) bool {
		return !r.Notice && !r.Built && !r.Earlier && !finding.IsSupporting(r) && (r.Source >= len(ends) || !ends[r.Source].HasOvercome(&r))
	}
	if len(ends) == 0 || d.Blame != Unknown || d.Cause != NothingFound || slices.ContainsFunc(ends, open) || slices.ContainsFunc(records, fault) {
		return
	}
	*d = Diagnosis{Schema: Schema, Blame: None, Cause: EndedWell, Do: []string{}, Unread: d.Unread, Traces: d.Traces,
		Because: "The log ends with its work done, and no line of it is a known error."}
	overcome := slices.DeleteFunc(slices.Clone(records), func(r record.Record) bool { return r.Notice || finding.IsSupporting(r) })
	if len(overcome) > 0 {
		d.Because = "The log ends with its work done, which the errors before did not keep from it."
	}
	for i, e := range ends {
		l := Line{Number: e.Number, Text: logtext.CutAround(redact.Redact(e.Text), 0), Why: "The program says here that its work is done."}
		if len(sources) > 1 {
			l.File = logtext.Clean([]byte(sources[i].Name))
		}
		if e.AtWork {
			d.Because = "The log ends with the program at work, and no line of it is a known error."
			l.Why = "The program is at work here."
			d.Do = []string{"if it hangs there, give the stacks of its processes, too: `py-spy dump --pid PID`"}
		}
		if e.Asked {
			d.Because = "The server was asked to end, and no line before it is a known error."
			l.Why = "Somebody asked the server to end here."
		}
		d.Lines = append(d.Lines, l)
	}
	for _, i := range finding.FindSuspects(overcome) {
		f := finding.New(&overcome[i], finding.Answer{})
		l := quote(&f.Hit, sources)
		l.Why = "The log goes on with work after it."
		d.Lines = append(d.Lines, l)
	}
}
