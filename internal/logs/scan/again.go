package scan

import (
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/logtext"
	"cudacompat/internal/logs/traceback"
)

// outermost matches the first call of a script; unreadable matches a script that Python could not parse.
var (
	outermost  = lazyregexp.New(`File "([^"<]+)", line (\d+), in <module>`)
	unreadable = lazyregexp.New(`^\W*File "([^"<]+)", line (\d+)$`)
	follows    = lazyregexp.New(`Dist(?:Backend|Network|Store)Error|ChildFailedError|KeyboardInterrupt|ProcessExited|` +
		`ProcessRaised|(?i:connection reset|connection closed|broken pipe|timed? ?out|nccl|sigterm)`) // from another process
	errs      = lazyregexp.New(`[a-z](?:Error|Exception)\b|(?:Error|Exception)[A-Z]|^\W*File ".*, line \d+`) // ranks write into each other's lines
	notPython = lazyregexp.New(`SyntaxError|IndentationError|TabError`)
)

// findLastRun returns the line number where a log's last run of the program begins, or 0 if there is one run. A new run
// has tracebacks that begin at another line of the same script, or Python can no longer parse the script: somebody
// edited it.
func findLastRun(lines []logtext.Line) (from int, edited bool) {
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

// lastJob returns the line number where another job begins in the same file, or 0. A job begins if the line with which
// Slurm cancels one is followed by a script's usual first output: the date, or nvidia-smi's table.
func lastJob(lines []logtext.Line) (from int) {
	for i, l := range lines[:max(0, len(lines)-1)] {
		if strings.Contains(l.Text, "CANCELLED AT") && jobCancelled.MatchString(l.Text) && beginsJob.MatchString(lines[i+1].Text) {
			from = lines[i+1].Number
		}
	}
	return from
}

var (
	jobCancelled = lazyregexp.New(`^slurmstepd: error: \*\*\* JOB \d+ ON \S+ CANCELLED AT `)
	beginsJob    = lazyregexp.New(`^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d (?:[A-Z]+ )?\d{4}|` +
		`^\+-{20,}\+$`)
)

// lastBuild returns the line number where the last of several builds begins, or 0 if make ran once. Each build has a
// compiler error. The top-level make reports its failure once, unless other jobs of it still run.
func lastBuild(lines []logtext.Line) (from int) {
	ended, refused := 0, false
	for _, l := range lines {
		switch text := l.Text; {
		case strings.Contains(text, "*** Waiting for unfinished jobs"), strings.Contains(text, "not remade because of errors"):
			ended = 0
		case makeFailed.MatchString(text):
			if ended > 0 && refused {
				from = ended + 1
			}
			ended, refused = l.Number, false
		case compilerFailed.MatchString(text):
			refused = true
		}
	}
	return from
}

// makeFailed matches the failure of the top-level make, not of one that it started. compilerFailed matches the failure
// of a compiler that make ran.
var (
	makeFailed     = lazyregexp.New(`^g?make: \*\*\* .*\bError \d+$`)
	compilerFailed = lazyregexp.New(`(?:\d\)?|fatal) ?: (?:fatal )?error(?: \w?\d+)?: |^nvcc fatal `)
)

// afterRun is how many lines below an exception's name may still belong to it if several processes write.
const afterRun = 4

// afterError returns the first line number after the last exception at which another run may have written.
func afterError(lines []logtext.Line) int {
	for i := len(lines) - 1; i >= 0; i-- {
		if text := lines[i].Text; errs.MatchString(text) && !strings.Contains(text, "Warning") {
			if len(lines)-i <= afterRun {
				break
			}
			return lines[i].Number + 1
		}
	}
	return lines[len(lines)-1].Number + 1
}

// cannotRead marks a line of a script that Python cannot parse.
const cannotRead = " unreadable"

// startsIn returns the script and line with which a traceback begins, or the line that Python cannot parse.
func startsIn(lines []logtext.Line, i int) (script, line string) {
	text := lines[i].Text
	if !strings.Contains(text, "File \"") {
		return "", ""
	}
	if m := unreadable.FindStringSubmatch(text); m != nil {
		for _, next := range lines[i+1 : min(len(lines), i+8)] {
			if notPython.MatchString(next.Text) {
				return m[1], m[2] + cannotRead
			}
		}
		return "", ""
	}
	m := outermost.FindStringSubmatch(text)
	if m == nil || !isHeader(lines[:i]) || traceback.DistributionDirectory.MatchString(m[1]) || traceback.StandardLibrary.MatchString(m[1]) {
		return "", ""
	}
	if _, end := traceback.Read(lines[i:], lines[i].From); end < 0 || follows.MatchString(lines[i+end].Text) {
		return "", ""
	}
	return m[1], m[2]
}

// isHeader reports whether the lines end with the first line of a traceback that no other exception caused.
func isHeader(above []logtext.Line) bool {
	i := len(above) - 1
	for i >= 0 && outermost.MatchString(above[i].Text) {
		i-- // of another rank
	}
	if i < 0 || !strings.Contains(above[i].Text, traceback.Header) {
		return false
	}
	for _, l := range above[max(0, i-3):i] {
		if strings.Contains(l.Text, "above exception") {
			return false
		}
	}
	return true
}
