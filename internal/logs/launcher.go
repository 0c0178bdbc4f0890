package logs

import (
	"cmp"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/decide"
	"cudacompat/internal/logs/logtext"
	"cudacompat/internal/tables"
)

// summaries are how launchers say which of their processes ended first, and how: torchrun in several lines below a
// heading, the others in one.
//
//	Root Cause (first observed failure):
//	[0]:
//	  time      : 2026-04-08_10:36:25
//	  host      : gpu05
//	  rank      : 1 (local_rank: 1)
//	  exitcode  : -11 (pid: 3327821)
//
//	srun: error: node2: task 1: Segmentation fault (core dumped)
//	mpirun noticed that process rank 3 with PID 0 on node n7 exited on signal 11 (Segmentation fault).
//	  Process name: [[29973,1],2]
var (
	elasticRoot = lazyregexp.New(`^Root Cause \(first observed failure\):`)
	elasticSays = lazyregexp.New(`^ *(rank|exitcode) +: (\S+)`)
	summaries   = []*lazyregexp.Regexp{
		lazyregexp.New(`^srun: error: [\w.-]+: task (?P<rank>\d+): (?:Exited with exit code (?P<code>\d+)|(?P<said>[A-Z][a-z]+ ?\w*))`),
		lazyregexp.New(`^mpirun noticed that process rank (?P<rank>\d+) with PID \d+ on node [\w.-]+ exited on signal (?P<signal>\d+)`),
		lazyregexp.New(`^ *Process name: \[\[\d+,\d+\],(?P<rank>\d+)\]`),
		lazyregexp.New(`^Terminating remaining workers after failure of Process (?P<rank>\d+)`),
	}
)

// elasticReach is how many lines below torchrun's heading describe the process that ended first.
const elasticReach = 7

// firstRank returns the record of the process that a launcher says ended first, or nil. If the log has several runs, it
// is that of the last run.
func firstRank(lines []logtext.Line) *record {
	var first *record
	for i, l := range lines {
		if elasticRoot.MatchString(l.Text) {
			r := record{kind: "first-rank", slots: map[string]string{}, line: l.Number, text: l.Text}
			for _, below := range lines[i+1 : min(len(lines), i+1+elasticReach)] {
				m := elasticSays.FindStringSubmatch(below.Text)
				if m == nil {
					continue
				}
				if r.slots[m[1]] = m[2]; m[1] == "exitcode" {
					r.line, r.text = below.Number, below.Text
				}
			}
			r.slots["code"] = r.slots["exitcode"]
			first = &r
			continue
		}
		if first != nil && first.line+afterSummary > l.Number {
			continue // the first that a launcher names is the first
		}
		if r := launcherSummary(l); r != nil {
			first = r
		}
	}
	return first
}

// saidFirst returns the last record of a process that ended first.
func saidFirst(records []record) *record {
	for i := len(records) - 1; i >= 0; i-- {
		if records[i].kind == "first-rank" {
			return &records[i]
		}
	}
	return nil
}

// afterSummary is how many lines below the first process a launcher names the others.
const afterSummary = 30

// launcherSummary returns the record of a launcher's single line.
func launcherSummary(l logtext.Line) *record {
	for _, s := range summaries {
		m := s.FindStringSubmatch(l.Text)
		if m == nil {
			continue
		}
		r := record{kind: "first-rank", slots: map[string]string{}, line: l.Number, text: l.Text}
		for i, name := range s.SubexpNames() {
			if name != "" {
				r.slots[name] = m[i]
			}
		}
		if r.slots["signal"] != "" {
			r.slots["code"] = "-" + r.slots["signal"]
			delete(r.slots, "signal")
		}
		r.slots["code"] = cmp.Or(r.slots["code"], saidSignals[r.slots["said"]])
		return &r
	}
	return nil
}

// saidSignals maps Slurm's words to signals.
var saidSignals = map[string]string{"Segmentation fault": "-11", "Bus error": "-7", "Illegal instruction": "-4",
	"Aborted": "-6", "Killed": "-9", "Out Of": "-9"}

// weighFirstRank says how the first process ended. If it was told to end, the launcher gives the reason elsewhere.
func weighFirstRank(r *record, _ *tables.Tables) string {
	switch code := r.slot("code"); {
	case code == "-7" || code == "135":
		return "first-rank-bus"
	case signals[code] != "":
		r.slots["signal"] = signals[code]
		return "first-rank-crashed"
	}
	return "first-rank"
}

// saysWhich reports whether a finding is the record of the process that ended first.
func (f *finding) saysWhich() bool { return f.Signature.ID == firstRankRecord }

// firstRankRecord is the id of that record's meaning, and ofSomeRank lists the causes of such rows.
const firstRankRecord = "record-first-rank"

var ofSomeRank = []string{"rank-lost", "rank-died", "mpi-rank-died"}

// ofFirst drops what other ranks report, if a launcher says which one ended first and that one reports a failure of its
// own.
func ofFirst(all []finding, first *record) []finding {
	if first == nil || first.slot("rank") == "" {
		return all
	}
	name := "rank" + first.slot("rank")
	own := func(f finding) bool {
		return f.From == name && f.Signature.Weight >= decide.Symptom && f.blame != Unknown
	}
	if !slices.ContainsFunc(all, own) {
		return all
	}
	return slices.DeleteFunc(all, func(f finding) bool { return f.From != name && isRank.MatchString(f.From) })
}

// isRank matches the name of a rank.
var isRank = lazyregexp.New(`^rank\d+$`)

// withoutFollowing drops findings that only followed from another failure in the log: an exception that passes on a
// known one, the end of a job and its processes after one had failed, exceptions during the teardown, and what a
// library had said before about a GPU that the program did without.
func withoutFollowing(all []finding, records []record) []finding {
	down := map[int]bool{}    // the lines of exceptions of a program that was being taken down
	fell, aboutIt := 0, false // the line of the last exception, and whether any speaks of the GPU
	for i := range records {
		switch r := &records[i]; {
		case r.isTakenDown():
			down[r.line] = true
		case r.kind == "exception" && r.frames != nil && !r.notice && !r.earlier && !ofPartner.MatchString(r.text):
			fell, aboutIt = max(fell, r.line), aboutIt || aboutGPU.MatchString(r.text)
		}
	}
	passed, first := passedOn(all, records), saidFirst(records)
	return slices.DeleteFunc(all, func(f finding) bool {
		switch {
		case f.cause == "job-cancelled":
			return first != nil && first.line < f.Line
		case f.cause == killedFromOutside:
			return fell > 0 && f.Line > fell && f.Line-fell <= afterFailure
		case f.saidAtStart():
			return f.Line < fell && !aboutIt
		case f.cause == notLoaded && f.rule == "driver-missing":
			return slices.ContainsFunc(records, f.ranAfter)
		}
		return slices.Contains(passed, f.Line) || down[f.Line] && failedBefore(records, f.Source, f.Line)
	})
}

// notLoaded is the cause for a driver that the kernel could not load or start.
const notLoaded = "driver-not-loaded"

// ranAfter reports whether a record shows the driver at work after a line that says it could not be loaded. Only a
// running driver reports an Xid.
func (f *finding) ranAfter(r record) bool {
	return r.kind == "xid" && r.source == f.Source && r.line > f.Line
}

// saidAtStart reports whether a finding is based on what TensorFlow prints at its start on every machine without a GPU,
// before it continues on the CPU.
func (f *finding) saidAtStart() bool {
	return strings.HasPrefix(f.Signature.ID, "record-") && strings.Contains(f.Text, "ailed call to cuInit")
}

// passedOn returns the lines of exceptions that only pass on the one above, if a finding knows whose fault that one is.
func passedOn(all []finding, records []record) (lines []int) {
	direct := map[string]int{} // by process, the line of the exception that it raised last
	for _, r := range records {
		if r.kind != "exception" {
			continue
		}
		known := func(f finding) bool { return f.Line == direct[r.from] && f.blame != Unknown }
		if r.wraps && slices.ContainsFunc(all, known) {
			lines = append(lines, r.line)
			continue // the next passes the same one on
		}
		direct[r.from] = r.line
	}
	return lines
}

// bySignal lists the causes that the signal of a process shows, whatever else the line says.
var bySignal = []string{killedFromOutside, "processor-too-old"}

// killedFromOutside is the cause for a killed process. afterFailure is how many lines below a failure a launcher still
// ends its other processes.
const (
	killedFromOutside = "killed-from-outside"
	afterFailure      = 60
)

// ofPartner matches an exception that only reports the end of another process.
var ofPartner = lazyregexp.New(`(?i)worker|process|killed|signal|died|exit(?:ed|s)|terminat|connection|broken pipe|EOFError|timed? ?out`)
