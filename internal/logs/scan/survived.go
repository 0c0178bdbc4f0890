package scan

import (
	"bytes"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/logtext"
)

// finish is the last part of a log, whatever it contains. It shows whether the program continued after its errors.
type finish struct {
	text []byte // the last maxEnding bytes
}

const (
	maxEnding  = 64 << 10 // bytes kept of a log's end, with a list of packages that somebody pasted below it
	lastSaid   = 60       // lines of it that are looked at
	enoughWork = 3        // lines of work after an error, of a program that went on
)

// keep appends the end of a region to what was kept of earlier ones.
func (e *finish) keep(region []byte) {
	if len(region) >= maxEnding {
		e.text = append(e.text[:0], region[len(region)-maxEnding:]...)
		return
	}
	e.text = append(e.text, region...)
	if extra := len(e.text) - maxEnding; extra > 0 {
		e.text = e.text[:copy(e.text, e.text[extra:])]
	}
}

const shortList = 10

// lines returns the lines at a log's end that its program wrote, and the number of the last one. breaks is the number
// of line breaks in the log.
func (e *finish) lines(breaks int) (lines [][]byte, last int) {
	text := bytes.TrimRight(e.text, "\r\n")
	lines, last = bytes.Split(text, []byte{'\n'}), breaks+1-bytes.Count(e.text[len(text):], []byte{'\n'})
	end, packages := len(lines), 0
	for end > 0 {
		line := bytes.TrimRight(lines[end-1], " \t\r")
		if len(line) > 0 && !logtext.ListedPackage.Match(line) {
			break
		}
		if end--; len(line) > 0 {
			packages++
		}
	}
	if packages < shortList {
		return lines, last
	}
	return lines[:end], last - (len(lines) - end)
}

// showsWork matches what programs print while they work or when they are done: a step's figures, a rate, an answered
// request, a written result, an end without an error.
var showsWork = lazyregexp.New(`(?i)\b(?:epoch|step|iter(?:ation)?|batch|episode|round)s?\b[\]:=# '"]*\[?\d|` +
	`(?:^|[^a-z])(?:loss|acc(?:uracy)?|ppl|reward|dice|miou|map|f1|bleu|rouge\w*)['"]?[:= ]+[\d.]+|` +
	`\d ?(?:it/s|s/it|tok/s|tokens/s|samples/s|img/s)\b|tokens per second|(?:"| |\[)200(?:\]| OK|\b *$)|" 200\b|\| 200 \||` +
	`\bsaved\b|\bsaving\b|saved to|results? .{0,20}(?:written|in)\b|\bcompleted?\b|\bfinished\b|\bdone\b|` +
	`success|\bpassed\b|(?:return|exit)(?:ed with)? ?(?:code|status)?:? 0\b|executed in|elapsed|all slots are idle|\| +Pass +\||` +
	`100%\||\btook [\d.]+|^\[INFO\]: Installing: \S`)

// closes matches what only a program that ended well prints, or its launcher.
var closes = lazyregexp.New(`(?i)(?:return|exit)(?:ed with)?[ _]?(?:code|status)(?:[:=] ?| )0\b|(?-i:^PASS\b)`)

// showsServer matches a server's line that it is up or, in ComfyUI, that it takes the next piece of work.
var showsServer = lazyregexp.New(`(?i)(?:listening|running|serving) (?:on|at)\b.*\d|go to:? http|startup complete|` +
	`\bserver (?:is )?(?:listening|running|ready)\b|\bgot prompt$`)

// upWords are substrings of every line that serves matches, except one in capitals.
var upWords = []string{"http", "erver", "tartup", "istening", "unning", "erving", "got prompt"}

// lastServed returns the last line on which a server says that it is up, at work or done, with no exception in between,
// or 0.
func lastServed(lines []logtext.Line) int {
	did, threw := 0, false
	for i := len(lines) - 1; i >= 0; i-- {
		switch text := lines[i].Text; {
		case strings.Contains(text, "Exception during processing"):
			threw = true
		case strings.Contains(text, "Prompt executed in") && !threw:
			did = max(did, lines[i].Number)
		case logtext.ContainsAny(text, upWords) && showsServer.MatchString(text) && !showsFailure.MatchString(text):
			if threw {
				return lines[i].Number
			}
			return max(did, lines[i].Number)
		}
	}
	return 0
}

// ranksJoined matches NCCL's line when the ranks have joined, which they do through their GPUs.
var ranksJoined = lazyregexp.New(`NCCL INFO comm .* Init COMPLETE`)

// lastOnGPU returns the last line that shows a GPU at work, or 0.
func lastOnGPU(lines []logtext.Line) int {
	for i := len(lines) - 1; i >= 0; i-- {
		if strings.Contains(lines[i].Text, "Init COMPLETE") && ranksJoined.MatchString(lines[i].Text) {
			return lines[i].Number
		}
	}
	return 0
}

// serverFailed matches a server's line that it could not answer a request, and a watchdog's line that the program is
// gone.
var serverFailed = lazyregexp.New(`Internal Server Error|" 50\d\b|WATCHDOG: .*restarting|going to shut ?down`)

// showsFailure matches lines about failures and about the cleaning up after them.
var showsFailure = lazyregexp.New(`(?i)error|fail|exception|abort|traceback|killed|fatal|denied|cannot|can't|could ?n.t|` +
	`could not|unable|panic|core dumped|\bsig[a-z]{3,4}\b|signal|no such|not found|terminat|shut(?:ting)? ?down|` +
	`interrupt|cancel|\bleaked?\b|watchdog|not available|invalid|refused|out of memory|\bnan\b`)

// terminationFrames matches what the signal handler of Ray and TensorFlow prints, with stack frames, if somebody ends
// the program.
var terminationFrames = lazyregexp.New(`\*\*\* SIGTERM received at |(?:^|\.cc:\d+:) *(?:PC: )?@ +(?:0x|\.\.\. )`)

// clearing matches the lines that experiment trackers write after a run, failed or not.
var clearing = lazyregexp.New(`^(?:\x1b\[[\d;]*m)*(?:wandb|swanlab|comet|mlflow|neptune)\b`)

// findWorkAfter returns the line number after which a log tells only of work, or 0 if it ends with a failure or nothing
// decisive. breaks is its number of line breaks.
func (e *finish) findWorkAfter(breaks int) int {
	lines, last := e.lines(breaks)
	work, first := 0, 0
walk:
	for i := len(lines) - 1; i >= max(0, len(lines)-lastSaid); i-- {
		text := logtext.Clean(lines[i][bytes.LastIndexByte(bytes.TrimRight(lines[i], "\r"), '\r')+1:])
		switch {
		case terminationFrames.MatchString(text): // from outside, whatever it did
		case showsFailure.MatchString(text):
			if logtext.IsNotice(logtext.TrimCollectorPrefix(text)) && !serverFailed.MatchString(text) {
				continue
			}
			break walk
		case closes.MatchString(text):
			work, first = work+enoughWork-1, last-(len(lines)-1-i)
		case showsWork.MatchString(text) && !clearing.MatchString(text):
			work, first = work+1, last-(len(lines)-1-i)
		}
	}
	if work < enoughWork {
		return 0
	}
	return first
}

// reassures matches a line that says that it is harmless, or that the program skips a part.
var reassures = lazyregexp.New(`(?i)\b(?:this|it|that) is (?:normal|harmless|not an error)\b|` +
	`\b(?:can|may) be (?:safely )?ignored\b|^(?:XFAIL|SKIPPED) |\bsafe(?:ly)? (?:to )?ignored?\b|` +
	`_inductor/select_algorithm\.py:|\bfa_utils\.py:|` + // of the kernels that they try they ignore those that fail
	`\bSkipping import of\b`)

// details matches the levels at which programs describe what they try.
var details = lazyregexp.New(`^.{0,60}\b(?:DEBUG|TRACE)\b`)

// passing matches a warning about a part that most programs do without. People ask about it only at the end of a log.
var passing = lazyregexp.New(`Failed to load image Python extension`)

// belowHead reports whether a line continues the one above it: indented below a warning, or announced with a colon by
// Python's own warning.
func belowHead(lines []logtext.Line, i int) bool {
	if i > 0 && lines[i-1].Number == lines[i].Number-1 && announces.MatchString(lines[i-1].Text) {
		return true
	}
	if i < 0 || !lines[i].Inset {
		return false
	}
	for i > 0 && lines[i].Inset {
		i--
	}
	return warns.MatchString(lines[i].Text)
}

// announces matches a Python warning whose text is on the next line: "vllm/connections.py:8: RuntimeWarning: Failed to
// read commit hash:".
var announces = lazyregexp.New(`\.py:\d+: \w+Warning: .*: *$`)

// warns matches the heading of a warning with several lines.
var warns = lazyregexp.New(`(?i)^\W*(?:\w+ )?warning\b *:? *$`)

// lastLines is how near to the end the last words of a log are. A shell, a launcher or Python's clean-up may print
// something after them, and torchrun a report for every rank.
const lastLines = 30
