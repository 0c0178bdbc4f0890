package logs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/redact"
	"cudacompat/matrix"
)

// finding is an event with what it means in this log: the words of its signature, unless a reader
// of its numbers knew better.
type finding struct {
	event
	cause   string
	blame   Blame
	rule    string
	because string
	do      []string
	with    []event // lines that the meaning rests on besides its own
}

// diagnose finds the first cause in what the signatures found, one list of events a log.
func diagnose(logs [][]event, records []record, sources []Source) Diagnosis {
	seen := slices.Concat(logs...)
	seen, harmless := withoutHarmless(seen)
	first := saidFirst(records)
	var past *finding
	outlived := func(f finding) bool {
		if f.outlived() && !f.earlier && f.blame != Unknown && (past == nil || f.signature.Weight > past.signature.Weight) {
			past = &f
		}
		return f.outlived()
	}
	var best []finding
	for i := range logs {
		logs[i], _ = withoutHarmless(logs[i])
		if f := heaviest(ofFirst(slices.DeleteFunc(findings(logs[i], seen), outlived), first)); f != nil {
			best = append(best, *f)
		}
	}
	found := ofFirst(slices.DeleteFunc(structural(records, nameTables()), outlived), first)
	if f := heaviest(found); f != nil && f.cause == amd {
		return f.diagnosis(logs[f.source], sources) // the rows are of CUDA, whose words HIP repeats
	}
	if len(best) > 0 {
		first := slices.MinFunc(best, firstToFail)
		if f := heaviest(found); f != nil && f.decides(first) {
			return f.diagnosis(logs[f.source], sources)
		}
		return first.diagnosis(logs[first.source], sources)
	}
	if f := heaviest(found); f != nil {
		return f.diagnosis(logs[f.source], sources)
	}
	records = slices.DeleteFunc(slices.Clone(records), func(r record) bool { return r.earlier || r.onlyBears() })
	if len(harmless) > 0 && len(records) == 0 && find(seen, trouble) == nil && find(seen, pythonTraceback) == nil {
		return nothingWrong(harmless, sources)
	}
	return undecidedDiagnosis(past, seen, records, sources)
}

// undecidedDiagnosis is said of a log that shows nobody's fault: what it went on after, or who is suspected.
func undecidedDiagnosis(past *finding, seen []event, records []record, sources []Source) Diagnosis {
	d := nothing()
	if past != nil && !slices.ContainsFunc(records, past.raisedAfter) {
		d = wentOnAfter(past, sources)
	} else {
		d.withSuspects(records, sources)
	}
	if len(records) > 0 || find(seen, trouble) != nil || find(seen, pythonTraceback) != nil {
		d.Candidates = guesses(records)
	}
	if past != nil {
		d.Candidates = append([]Candidate{{past.cause, past.blame, "the end of the job: did it do all of its work?"}},
			d.Candidates...)
	}
	return d
}

// decides reports whether a finding of grammar says more than a row that could not decide. Of its own line the row
// knows better than what grammar says in general.
func (f *finding) decides(row finding) bool {
	if f.blame == Hardware && f.signature.Weight == cause && row.blame == Environment &&
		(leavesNoGPU(row.rule) || row.rule == "driver-unresponsive") {
		return true // a GPU that is lost is not found either
	}
	if f.saysWhich(row) {
		return true
	}
	if f.signature.Weight >= symptom && row.signature.Weight == warning && f.line > row.line &&
		(f.signature.ID == raisedRecord && f.blame == Program || slices.Contains(ofItsOwn, f.cause)) {
		return true // the program went on after the row's line, and ended by this
	}
	same := f.source == row.source && f.line == row.line
	general := f.signature.Weight <= symptom && !slices.Contains(bySignal, f.cause) ||
		slices.Contains([]string{"record-status", "record-memory",
			"record-symbol", "record-library", "record-scheduler"}, f.signature.ID)
	return row.blame == Unknown && row.signature.Weight <= symptom && f.blame != Unknown && !(same && general)
}

// ofItsOwn are causes that nothing of which a warning tells brings about.
var ofItsOwn = []string{"job-time-limit", "node-not-reached", "disk-full"}

// raisedRecord is the id of what the record of an exception means.
const raisedRecord = "record-exception"

// amd is the cause of what AMD's stack prints.
const amd = "amd-not-judged"

// trouble is the signature of what programs print when they end in failure, whatever it was.
const trouble = "trouble"

// withoutHarmless parts the lines that frighten and mean nothing from the others.
func withoutHarmless(all []event) (rest, harmless []event) {
	for _, e := range all {
		if e.signature.Blame == None {
			harmless = append(harmless, e)
		} else {
			rest = append(rest, e)
		}
	}
	return rest, harmless
}

// nothingWrong names every harmless line and says why it is.
func nothingWrong(harmless []event, sources []Source) Diagnosis {
	slices.SortStableFunc(harmless, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.source, b.source),
			cmp.Compare(a.line, b.line))
	})
	d := Diagnosis{Schema: Schema, Blame: None, Cause: harmless[0].signature.Cause, Do: []string{}}
	for _, e := range harmless {
		l := e.quote(sources)
		l.Why = e.fill(e.signature.Because)
		d.Lines = append(d.Lines, l)
	}
	d.Because = d.Lines[0].Why
	if len(harmless) > 1 {
		d.Because = fmt.Sprintf(
			"The %d kinds of lines that frighten here are harmless, and the log has no other error.",
			len(harmless))
	}
	return d
}

// findings gives the events of one log their meaning and drops those that mean nothing here.
func findings(log, seen []event) []finding {
	var all []finding
	for _, e := range log {
		s := e.signature
		needed := find(seen, s.Needs)
		if s.Weight == fact || e.notice || s.Needs != "" && needed == nil {
			continue
		}
		f := finding{event: e, cause: s.Cause, blame: s.Blame, rule: s.Rule}
		f.because, f.do = e.fill(s.Because), e.steps()
		if needed != nil {
			f.with = append(f.with, *needed)
		}
		if f.cause == "cuda-out-of-memory" && (find(seen, pythonTraceback) != nil || find(seen, luaTraceback) != nil) {
			f.askedForTooMuch()
		}
		if read := readers[s.Reads]; read == nil || read(&f) {
			all = append(all, f)
		}
	}
	return withoutNotices(withoutDisproved(all), seen)
}

// askedForTooMuch says what the driver's "out of memory" means below the calls of a user's own program.
func (f *finding) askedForTooMuch() {
	a := answerOf("memory")
	f.cause, f.blame, f.because, f.do = a.cause, a.blame, a.because, a.do
}

// leavesNoGPU reports whether a rule's fault leaves a program no GPU to run on.
func leavesNoGPU(id string) bool {
	rule, _ := matrix.RuleNamed(id)
	return rule.LeavesNoGPU
}

// withoutDisproved drops faults that leave no GPU to run on when a kernel failed while it ran: a tool
// that is not there, a process that sees no GPU, or a GPU that is taken, was not this one's trouble.
func withoutDisproved(all []finding) []finding {
	ran := func(f finding) bool { return f.signature.Async && f.blame == Program }
	if !slices.ContainsFunc(all, ran) {
		return all
	}
	return slices.DeleteFunc(all, func(f finding) bool {
		return f.blame == Environment && (leavesNoGPU(f.rule) || f.rule == keepsOut)
	})
}

// keepsOut is the rule of a GPU that takes no other process. Of one whose kernel failed CUDA says the same, to the process
// that runs on it.
const keepsOut = "compute-mode"

func find(events []event, id string) *event {
	for i := range events {
		if events[i].signature.ID == id {
			return &events[i]
		}
	}
	return nil
}

// withoutNotices drops what healthy programs print too ("could not find cuda drivers") when
// something failed: the failure has another reason, even if no signature knows it.
func withoutNotices(all []finding, seen []event) []finding {
	failed := find(seen, pythonTraceback) != nil || slices.ContainsFunc(all, func(f finding) bool {
		return f.signature.Weight == consequence && f.blame == Unknown
	})
	if !failed {
		return all
	}
	return slices.DeleteFunc(all, func(f finding) bool {
		return f.signature.Weight == consequence && f.blame != Unknown
	})
}

// pythonTraceback is the signature of the line above every Python exception's.
const pythonTraceback = "python-traceback"

// luaTraceback is that of Lua's, in which Torch7's programs are written.
const luaTraceback = "lua-traceback"

// heaviest chooses within one log: the most decisive line, the first of equals. An error with
// several possible causes yields to a warning that names one.
func heaviest(all []finding) *finding {
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b finding) int {
		return cmp.Or(cmp.Compare(b.signature.Weight, a.signature.Weight), cmp.Compare(a.line, b.line),
			cmp.Compare(a.order, b.order))
	})
	best := &all[0]
	if best.blame != Unknown || best.signature.Weight > symptom {
		return best
	}
	for i, f := range all {
		if f.signature.Weight == warning && f.blame != Unknown {
			all[i].with = append(all[i].with, best.event)
			return &all[i]
		}
	}
	return best
}

// firstToFail orders the causes found in several logs: a failure before what follows from one, the
// earlier where the clocks say, else the more decisive.
func firstToFail(a, b finding) int {
	failedA, failedB := a.signature.Weight >= symptom, b.signature.Weight >= symptom
	switch {
	case failedA != failedB:
		if failedA {
			return -1
		}
		return 1
	case a.when.before(b.when):
		return -1
	case b.when.before(a.when):
		return 1
	}
	return cmp.Compare(b.signature.Weight, a.signature.Weight)
}

// goesOn are the causes of which a notice says that the program goes on with the CPU: right on a machine meant for it,
// and the log does not say whether this one is.
var goesOn = []string{"tensorflow-no-gpu", "jax-fell-back", "container-without-driver"}

// maxLines is how many lines a diagnosis quotes.
const maxLines = 5

func (f *finding) diagnosis(log []event, sources []Source) Diagnosis {
	d := Diagnosis{Schema: Schema, Blame: f.blame, Cause: f.cause, Because: f.because, Do: f.do, Rule: f.rule}
	if d.Do == nil {
		d.Do = []string{}
	}
	if f.signature.Weight == consequence && slices.Contains(goesOn, f.cause) {
		d.Blame = Unknown
	}
	if f.signature.Async {
		d.reportedLate(find(log, launchBlocking))
	}
	for _, e := range f.quotedLines(log) {
		d.Lines = append(d.Lines, e.quote(sources))
	}
	return d
}

// quote is an event's line as people may see it.
func (e *event) quote(sources []Source) Line {
	text := redact.Redact(e.text)
	l := Line{Number: e.line, Text: aroundMatch(text, min(len(redact.Redact(e.text[:e.match[0]])), len(text)))}
	if len(sources) > 1 {
		l.File = clean([]byte(sources[e.source].Name))
	}
	return l
}

// launchBlocking is the signature of a line that shows the program was run synchronously.
const launchBlocking = "launch-blocking"

// reportedLate adds whether the traceback of an error that CUDA reports asynchronously can be trusted.
func (d *Diagnosis) reportedLate(blocking *event) {
	if blocking != nil {
		d.Because += " It was run with CUDA_LAUNCH_BLOCKING=1, so the traceback names the call that failed."
		return
	}
	d.Because += " CUDA reports a failed kernel at a later call, so the place in the traceback cannot be trusted."
	d.Do = append(d.Do, "run once with CUDA_LAUNCH_BLOCKING=1: then the traceback names the call that failed")
}

// quotedLines lists the deciding line, those it rests on, and then the other faults of the same log in
// the order they were printed.
func (f *finding) quotedLines(log []event) []event {
	lines := append([]event{f.event}, f.with...)
	rest := slices.Clone(log)
	slices.SortStableFunc(rest, func(a, b event) int { return cmp.Compare(a.line, b.line) })
	for _, e := range rest {
		double := slices.ContainsFunc(lines, func(l event) bool { return l.source == e.source && l.line == e.line })
		if e.signature.Weight != fact && !double && (!e.earlier || f.earlier) && len(lines) < maxLines {
			lines = append(lines, e)
		}
	}
	return lines
}

// maxSlot is how much of what a line says stands in a sentence about it, as of the name of a symbol.
const maxSlot = 60

// fill puts what the pattern's named groups matched into a sentence of the signature.
func (e *event) fill(words string) string {
	return placeholder.ReplaceAllStringFunc(words, func(name string) string { return e.slot(strings.Trim(name, "{}"), maxSlot) })
}

// slot is what a named group matched, cut.
func (e *event) slot(name string, most int) string {
	return redact.Cut(redact.Within(e.text, strings.Trim(e.group(name), " {}")), most) // braces: a line of source
}

func nothing() Diagnosis {
	return Diagnosis{Schema: Schema, Blame: Unknown, Cause: NothingFound, Lines: []Line{},
		Because: "Nothing found: no line of the log is an error of CUDA, its driver, its libraries or the frameworks on them that is known here.",
		Do: []string{
			"give the whole log, from the first line on, of the process that failed first: standard error too",
			"for a hang, add py-spy dump of the process and the kernel log (dmesg)",
			"judge the machine itself: cudacompat doctor",
		}}
}
