package logs

import (
	"strings"

	"cudacompat/internal/lazyregexp"
)

// outermost is the first call of a script, and unreadable where Python could not read it.
var (
	outermost  = lazyregexp.New(`File "([^"<]+)", line (\d+), in <module>`)
	unreadable = lazyregexp.New(`^\W*File "([^"<]+)", line (\d+)$`)
	follows    = lazyregexp.New(`Dist(?:Backend|Network|Store)Error|ChildFailedError|KeyboardInterrupt|ProcessExited|` +
		`ProcessRaised|(?i:connection reset|connection closed|broken pipe|timed? ?out|nccl|sigterm)`) // from another process
	errs      = lazyregexp.New(`[a-z](?:Error|Exception)\b|(?:Error|Exception)[A-Z]|^\W*File ".*, line \d+`) // ranks write into each other's lines
	notPython = lazyregexp.New(`SyntaxError|IndentationError|TabError`)
)

// lastRun returns the number of the line from which on a log tells of a program's last run; 0 where it tells of one. A
// script ran again whose tracebacks begin at another of its lines than before, or which Python cannot read any more:
// somebody edited it.
func lastRun(lines []logLine) (from int, edited bool) {
	at := map[string]string{}
	for i := range lines {
		script, line := startsIn(lines, i)
		if script == "" {
			continue
		}
		if before, ran := at[script]; ran && before != line {
			from, edited = afterError(lines[:i]), strings.HasSuffix(line, cannotRead)
		}
		at[script] = line
	}
	return max(from, lastBuild(lines), lastJob(lines)), edited
}

// lastJob returns the number of the line from which on a file tells of another job than before it, which wrote on into
// it: below the line by which Slurm cancels one stands what scripts begin with, the date or nvidia-smi's table.
func lastJob(lines []logLine) (from int) {
	for i, l := range lines[:max(0, len(lines)-1)] {
		if strings.Contains(l.text, "CANCELLED AT") && jobCancelled.MatchString(l.text) && beginsJob.MatchString(lines[i+1].text) {
			from = lines[i+1].number
		}
	}
	return from
}

var (
	jobCancelled = lazyregexp.New(`^slurmstepd: error: \*\*\* JOB \d+ ON \S+ CANCELLED AT `)
	beginsJob    = lazyregexp.New(`^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d (?:[A-Z]+ )?\d{4}|` +
		`^\+-{20,}\+$`)
)

// lastBuild returns the number of the line from which on a log tells of the last of several builds that make was run
// for and a compiler failed in; 0 where it was run once. The make that was started says once that it failed, unless
// other jobs of it still run.
func lastBuild(lines []logLine) (from int) {
	ended, refused := 0, false
	for _, l := range lines {
		switch text := l.text; {
		case strings.Contains(text, "*** Waiting for unfinished jobs"), strings.Contains(text, "not remade because of errors"):
			ended = 0
		case makeFailed.MatchString(text):
			if ended > 0 && refused {
				from = ended + 1
			}
			ended, refused = l.number, false
		case compilerFailed.MatchString(text):
			refused = true
		}
	}
	return from
}

// makeFailed is how the make that was started, and none that it started itself, says that it failed, and compilerFailed how
// a compiler does that it ran.
var (
	makeFailed     = lazyregexp.New(`^g?make: \*\*\* .*\bError \d+$`)
	compilerFailed = lazyregexp.New(`(?:\d\)?|fatal) ?: (?:fatal )?error(?: \w?\d+)?: |^nvcc fatal `)
)

// afterRun is how many lines below an exception's name may belong to it, where several processes write them.
const afterRun = 4

// afterError returns the number of the line from which on, after the last exception of some lines, another run can have
// written.
func afterError(lines []logLine) int {
	for i := len(lines) - 1; i >= 0; i-- {
		if text := lines[i].text; errs.MatchString(text) && !strings.Contains(text, "Warning") {
			if len(lines)-i <= afterRun {
				break
			}
			return lines[i].number + 1
		}
	}
	return lines[len(lines)-1].number + 1
}

// cannotRead marks the line of a script that Python cannot read.
const cannotRead = " unreadable"

// startsIn reads the script and its line with which a traceback begins, or where Python cannot read it.
func startsIn(lines []logLine, i int) (script, line string) {
	text := lines[i].text
	if !strings.Contains(text, "File \"") {
		return "", ""
	}
	if m := unreadable.FindStringSubmatch(text); m != nil {
		for _, next := range lines[i+1 : min(len(lines), i+8)] {
			if notPython.MatchString(next.text) {
				return m[1], m[2] + cannotRead
			}
		}
		return "", ""
	}
	m := outermost.FindStringSubmatch(text)
	if m == nil || !heads(lines[:i]) || distributionDirectory.MatchString(m[1]) || pythonsOwn.MatchString(m[1]) {
		return "", ""
	}
	if _, end := traceback(lines[i:], lines[i].from); end < 0 || follows.MatchString(lines[i+end].text) {
		return "", ""
	}
	return m[1], m[2]
}

// heads reports whether some lines end with the first line of a traceback that no other brought about.
func heads(above []logLine) bool {
	i := len(above) - 1
	for i >= 0 && outermost.MatchString(above[i].text) {
		i-- // of another rank
	}
	if i < 0 || !strings.Contains(above[i].text, head) {
		return false
	}
	for _, l := range above[max(0, i-3):i] {
		if strings.Contains(l.text, "above exception") {
			return false
		}
	}
	return true
}
