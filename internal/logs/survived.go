package logs

import (
	"slices"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/finding"
	"cudacompat/internal/logs/record"
)

const enoughCalm = 500 // lines after an error of which none is near a mark of trouble

const calmOfMany = 100 // the same in a log of many programs

// isOutlived reports whether an error did not end its program: the log continues with work after it, or for long
// without trouble. It returns false for a failed GPU, a killed process, the kernel's messages, a program that continues
// on the CPU, and a line that says that it ends the run.
func isOutlived(f *finding.Finding) bool {
	if f.Blame == Hardware || ofKernel.MatchString(f.Text) {
		return false
	}
	if f.Earlier {
		return true
	}
	if f.Signature.Async {
		return false
	}
	if leavesNoGPU(f.Rule) && f.Latest < f.OnGPU {
		return true
	}
	if f.InJournal && f.Calm >= calmOfMany || f.Built && f.Cause != "packages-conflict" {
		return true
	}
	if leavesNoGPU(f.Rule) || slices.Contains(goesOn, f.Cause) || f.Cause == partNotLoaded || f.Cause == finding.RunsOnCPU {
		return false
	}
	return f.Calm >= enoughCalm || f.Latest < f.WentOn && !stops.MatchString(f.Text)
}

// partNotLoaded is the cause for a plugin without which a server was started. Its line itself says that the server
// continues.
const partNotLoaded = "part-not-loaded"

// wentOnAfter returns the diagnosis for a log whose errors did not end it: nobody is to blame.
func wentOnAfter(f *finding.Finding, sources []Source) Diagnosis {
	d := newUndecided()
	l := quote(&f.Hit, sources)
	l.Why = "The log goes on with work after it."
	d.Lines = []Line{l}
	d.Because = "No error ended this log: it goes on after the one that would otherwise be blamed."
	d.Do = []string{
		"if that error is what you ask about, give only its line: cudacompat explain \"LINE\"",
		"if something failed later or elsewhere, give the log of the process that failed, to its end",
	}
	return d
}

// isRaisedAfter reports whether an exception was raised after the work that followed a finding. That exception ended
// the program.
func isRaisedAfter(f *finding.Finding, r record.Record) bool {
	return r.Kind == "exception" && r.Frames != nil && !r.Notice && !r.Earlier && r.Source == f.Source &&
		f.WentOn > 0 && r.Line > f.WentOn
}

// ofKernel matches kernel messages about GPUs and memory. The kernel log continues whatever fails.
var ofKernel = lazyregexp.New(`NVRM|\bnvidia(?:-\w+)?:|oom-kill|Out of memory: Kill`)

// stops matches a program's line that it ends the run in an orderly way.
var stops = lazyregexp.New(`(?i)(?:terminating|stopping|aborting|ending) (?:the )?(?:training|run|job|program)`)
