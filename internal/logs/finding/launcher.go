package finding

import (
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/decide"
	"cudacompat/internal/logs/record"
	"cudacompat/internal/tables"
)

// weighFirstRank says how the first process ended. If it was told to end, the launcher gives the reason elsewhere.
func weighFirstRank(r *record.Record, _ *tables.Tables) string {
	switch code := r.Slot("code"); {
	case code == "-7" || code == "135":
		return "first-rank-bus"
	case signals[code] != "":
		r.Slots["signal"] = signals[code]
		return "first-rank-crashed"
	}
	return "first-rank"
}

// NamesFirstProcess reports whether a finding is the record of the process that ended first.
func (f *Finding) NamesFirstProcess() bool { return f.Signature.ID == firstRankRecord }

// firstRankRecord is the id of that record's meaning, and RankCauses lists the causes of such rows.
const firstRankRecord = "record-first-rank"

// RankCauses lists the causes of rows which only say that one of several processes ended.
var RankCauses = []string{"rank-lost", "rank-died", "mpi-rank-died"}

// DropOtherRanks drops what other ranks report, if a launcher says which one ended first and that one reports a failure
// of its own.
func DropOtherRanks(all []Finding, first *record.Record) []Finding {
	if first == nil || first.Slot("rank") == "" {
		return all
	}
	name := "rank" + first.Slot("rank")
	own := func(f Finding) bool {
		return f.From == name && f.Signature.Weight >= decide.Symptom && f.Blame != decide.Unknown
	}
	if !slices.ContainsFunc(all, own) {
		return all
	}
	return slices.DeleteFunc(all, func(f Finding) bool { return f.From != name && isRank.MatchString(f.From) })
}

// isRank matches the name of a rank.
var isRank = lazyregexp.New(`^rank\d+$`)

// dropFollowing drops findings that only followed from another failure in the log: an exception that raises a
// known one again, the end of a job and its processes after one had failed, exceptions during the teardown, and a
// library's earlier messages about a GPU if the program then ran without it.
func dropFollowing(all []Finding, records []record.Record) []Finding {
	down := map[int]bool{}    // the lines of exceptions of a program that was being taken down
	fell, aboutIt := 0, false // the line of the last exception, and whether any speaks of the GPU
	for i := range records {
		switch r := &records[i]; {
		case isTakenDown(r):
			down[r.Line] = true
		case r.Kind == "exception" && r.Frames != nil && !r.Notice && !r.Earlier && !ofPartner.MatchString(r.Text):
			fell, aboutIt = max(fell, r.Line), aboutIt || record.AboutGPU.MatchString(r.Text)
		}
	}
	passed, first := listPassedOn(all, records), record.FindFirstRank(records)
	return slices.DeleteFunc(all, func(f Finding) bool {
		switch {
		case f.Cause == "job-cancelled":
			return first != nil && first.Line < f.Line
		case f.Cause == killedFromOutside:
			return fell > 0 && f.Line > fell && f.Line-fell <= afterFailure
		case f.saidAtStart():
			return f.Line < fell && !aboutIt
		case f.Cause == notLoaded && f.Rule == "driver-missing":
			return slices.ContainsFunc(records, f.ranAfter)
		}
		return slices.Contains(passed, f.Line) || down[f.Line] && failedBefore(records, f.Source, f.Line)
	})
}

// notLoaded is the cause for a driver that the kernel could not load or start.
const notLoaded = "driver-not-loaded"

// ranAfter reports whether a record shows the driver at work after a line that says it could not be loaded. Only a
// running driver reports an Xid.
func (f *Finding) ranAfter(r record.Record) bool {
	return r.Kind == "xid" && r.Source == f.Source && r.Line > f.Line
}

// saidAtStart reports whether a finding is based on what TensorFlow prints at its start on every machine without a GPU,
// before it continues on the CPU.
func (f *Finding) saidAtStart() bool {
	return strings.HasPrefix(f.Signature.ID, "record-") && strings.Contains(f.Text, "ailed call to cuInit")
}

// listPassedOn returns the lines of exceptions that only pass on the one above, if a finding knows whose fault that one
// is.
func listPassedOn(all []Finding, records []record.Record) (lines []int) {
	direct := map[string]int{} // by process, the line of the exception that it raised last
	for _, r := range records {
		if r.Kind != "exception" {
			continue
		}
		known := func(f Finding) bool { return f.Line == direct[r.From] && f.Blame != decide.Unknown }
		if r.Wraps && slices.ContainsFunc(all, known) {
			lines = append(lines, r.Line)
			continue // the next passes the same one on
		}
		direct[r.From] = r.Line
	}
	return lines
}

// CausesBySignal lists the causes that the signal of a process shows, whatever else the line says.
var CausesBySignal = []string{killedFromOutside, "processor-too-old"}

// killedFromOutside is the cause for a killed process. afterFailure is how many lines below a failure a launcher still
// ends its other processes.
const (
	killedFromOutside = "killed-from-outside"
	afterFailure      = 60
)

// ofPartner matches an exception that only reports the end of another process.
var ofPartner = lazyregexp.New(`(?i)worker|process|killed|signal|died|exit(?:ed|s)|terminat|connection|broken pipe|EOFError|timed? ?out`)
