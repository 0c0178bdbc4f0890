package logs

import (
	"slices"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/record"
)

const enoughCalm = 500 // lines after an error of which none is near a mark of trouble

const calmOfMany = 100 // the same in a log of many programs

// outlived reports whether an error did not end its program: the log continues with work after it, or for long without
// trouble. It returns false for a failed GPU, a killed process, the kernel's messages, a program that continues on the
// CPU, and a line that says that it ends the run.
func (f *finding) outlived() bool {
	if f.blame == Hardware || ofKernel.MatchString(f.Text) {
		return false
	}
	if f.Earlier {
		return true
	}
	if f.Signature.Async {
		return false
	}
	if leavesNoGPU(f.rule) && f.Latest < f.OnGPU {
		return true
	}
	if f.InJournal && f.Calm >= calmOfMany || f.Built && f.cause != "packages-conflict" {
		return true
	}
	if leavesNoGPU(f.rule) || slices.Contains(goesOn, f.cause) || f.cause == partNotLoaded || f.cause == onCPU {
		return false
	}
	return f.Calm >= enoughCalm || f.Latest < f.WentOn && !stops.MatchString(f.Text)
}

// partNotLoaded is the cause for a plugin without which a server was started. Its line itself says that the server
// continues.
const partNotLoaded = "part-not-loaded"

// onCPU is the cause for a program that says that it continues without the GPU.
const onCPU = "runs-on-cpu"

// wentOnAfter returns the diagnosis for a log whose errors did not end it: nobody is to blame.
func wentOnAfter(f *finding, sources []Source) Diagnosis {
	d := nothing()
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

// raisedAfter reports whether an exception was raised after the work that followed a finding. That exception ended the
// program.
func (f *finding) raisedAfter(r record.Record) bool {
	return r.Kind == "exception" && r.Frames != nil && !r.Notice && !r.Earlier && r.Source == f.Source &&
		f.WentOn > 0 && r.Line > f.WentOn
}

// ofKernel matches kernel messages about GPUs and memory. The kernel log continues whatever fails.
var ofKernel = lazyregexp.New(`NVRM|\bnvidia(?:-\w+)?:|oom-kill|Out of memory: Kill`)

// stops matches a program's line that it ends the run in an orderly way.
var stops = lazyregexp.New(`(?i)(?:terminating|stopping|aborting|ending) (?:the )?(?:training|run|job|program)`)

// goesOnBy matches a notice that says what the program does instead.
var goesOnBy = lazyregexp.New(`(?i)\bfall(?:ing|s)? back\b|\binstead\b`)
