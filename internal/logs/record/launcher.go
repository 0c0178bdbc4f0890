package record

import (
	"cmp"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/logtext"
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

// ReadFirstRank returns the record of the process that a launcher says ended first, or nil. If the log has several
// runs, it is that of the last run.
func ReadFirstRank(lines []logtext.Line) *Record {
	var first *Record
	for i, l := range lines {
		if elasticRoot.MatchString(l.Text) {
			r := Record{Kind: "first-rank", Slots: map[string]string{}, Line: l.Number, Text: l.Text}
			for _, below := range lines[i+1 : min(len(lines), i+1+elasticReach)] {
				m := elasticSays.FindStringSubmatch(below.Text)
				if m == nil {
					continue
				}
				if r.Slots[m[1]] = m[2]; m[1] == "exitcode" {
					r.Line, r.Text = below.Number, below.Text
				}
			}
			r.Slots["code"] = r.Slots["exitcode"]
			first = &r
			continue
		}
		if first != nil && first.Line+afterSummary > l.Number {
			continue // the first that a launcher names is the first
		}
		if r := launcherSummary(l); r != nil {
			first = r
		}
	}
	return first
}

// FindFirstRank returns the last record of a process that ended first, or nil.
func FindFirstRank(records []Record) *Record {
	for i := len(records) - 1; i >= 0; i-- {
		if records[i].Kind == "first-rank" {
			return &records[i]
		}
	}
	return nil
}

// afterSummary is how many lines below the first process a launcher names the others.
const afterSummary = 30

// launcherSummary returns the record of a launcher's single line.
func launcherSummary(l logtext.Line) *Record {
	for _, s := range summaries {
		m := s.FindStringSubmatch(l.Text)
		if m == nil {
			continue
		}
		r := Record{Kind: "first-rank", Slots: map[string]string{}, Line: l.Number, Text: l.Text}
		for i, name := range s.SubexpNames() {
			if name != "" {
				r.Slots[name] = m[i]
			}
		}
		if r.Slots["signal"] != "" {
			r.Slots["code"] = "-" + r.Slots["signal"]
			delete(r.Slots, "signal")
		}
		r.Slots["code"] = cmp.Or(r.Slots["code"], saidSignals[r.Slots["said"]])
		return &r
	}
	return nil
}

// saidSignals maps Slurm's words to signals.
var saidSignals = map[string]string{"Segmentation fault": "-11", "Bus error": "-7", "Illegal instruction": "-4",
	"Aborted": "-6", "Killed": "-9", "Out Of": "-9"}
