package logs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/logs/decide"
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
	form    *record // that made it; nil where a row did
	byWords bool    // the form read no more than words: nothing is prescribed
}

// judging is what was read of all logs and is to be judged together.
type judging struct {
	events  [][]event   // by log
	records []record    // of all logs
	kept    [][]logLine // by log: the lines that were read by grammar
	ends    []closing   // by log
	sources []Source
	unread  []string
	windows bool
	lower   []string // the kept lines in lower case
}

// conclude decides whose fault the logs show, corrects that by what the rest of them tells, and then says what to do.
func (j *judging) conclude() Diagnosis {
	d := j.decide()
	d.Unread = j.unread
	for _, lines := range j.kept {
		d.Traces.look(lines)
	}
	if len(j.unread) == 0 {
		d.endWell(j.ends, j.records, j.sources)
	}
	j.refine(&d)
	j.withOddest(&d)
	d.withCandidates(j.hints())
	j.advise(&d)
	d.part()
	return d
}

// hints returns the clues that the kept lines hold.
func (j *judging) hints() (all []clue) {
	for _, lines := range j.kept {
		all = append(all, hintsIn(lines)...)
	}
	return all
}

// decide finds the claim that answers, of the rows that match and of the forms that grammar reads.
func (j *judging) decide() Diagnosis {
	seen, harmless := withoutHarmless(slices.Concat(j.events...))
	first := saidFirst(j.records)
	var past *finding
	outlived := func(f finding) bool {
		if f.outlived() && !f.earlier && f.blame != Unknown && (past == nil || f.signature.Weight > past.signature.Weight) {
			past = &f
		}
		return f.outlived()
	}
	rows := make([][]finding, len(j.events))
	for i := range j.events {
		j.events[i], _ = withoutHarmless(j.events[i])
		rows[i] = ofFirst(slices.DeleteFunc(findings(j.events[i], seen), outlived), first)
	}
	forms := ofFirst(slices.DeleteFunc(structural(j.records, nameTables()), outlived), first)
	claims := make([][]decide.Claim, len(rows))
	for i := range rows {
		claims[i] = claimsOf(rows[i])
	}
	chosen := decide.Decide(claims, claimsOf(forms))
	if chosen.Index >= 0 {
		list := forms
		if !chosen.Form {
			list = rows[chosen.Log]
		}
		f := &list[chosen.Index]
		if chosen.Along >= 0 {
			f.with = append(f.with, list[chosen.Along].event)
		}
		d := f.diagnosis(j.events[f.source], j.sources)
		d.Decided, d.weight, d.form, d.slotted = chosen.Trace, f.signature.Weight, chosen.Form, f.saysHowMuch()
		d.byWords, d.slots = f.byWords, f.slots()
		return d
	}
	records := slices.DeleteFunc(slices.Clone(j.records), func(r record) bool { return r.earlier || r.onlyBears() })
	if len(harmless) > 0 && len(records) == 0 && find(seen, trouble) == nil && find(seen, pythonTraceback) == nil {
		return nothingWrong(harmless, j.sources)
	}
	d := undecidedDiagnosis(past, seen, records, j.sources)
	d.Decided = append(chosen.Trace, "no line of it makes a claim that holds")
	return d
}

// saysHowMuch reports whether a line about memory says how much was asked for.
func (f *finding) saysHowMuch() bool {
	if !strings.HasPrefix(f.signature.ID, "record-") {
		return f.group("want") != ""
	}
	return f.form.slot("want") != ""
}

// claimsOf returns findings as package decide compares them.
func claimsOf(all []finding) []decide.Claim {
	claims := make([]decide.Claim, len(all))
	for i := range all {
		claims[i] = all[i].claim()
	}
	return claims
}

// claim returns a finding as package decide compares it.
func (f *finding) claim() decide.Claim {
	s := f.signature
	c := decide.Claim{Name: "row " + s.ID, Cause: f.cause, Blame: f.blame, Weight: s.Weight, Source: f.source, Line: f.line,
		Order: f.order, Root: s.Root, Echo: s.Echo,
		LosesGPU: leavesNoGPU(f.rule) || f.rule == "driver-unresponsive",
		Exact:    slices.Contains(ofItsOwn, f.cause), Raised: s.ID == raisedRecord, Which: f.saysWhich(),
		Aborted: strings.Contains(f.because, "SIGABRT"), OfOne: slices.Contains(ofSomeRank, f.cause),
		General: s.Weight <= symptom && !slices.Contains(bySignal, f.cause) || slices.Contains(ofTables, s.ID),
		Clock:   f.when.layout, At: f.when.at}
	if name, form := strings.CutPrefix(s.ID, "record-"); form {
		c.Name = "form " + name
	}
	return c
}

// ofTables are the forms that a small table of names judges: of its own line a row knows better.
var ofTables = []string{"record-status", "record-memory", "record-symbol", "record-library", "record-scheduler"}

// undecidedDiagnosis returns said of a log that shows nobody's fault: what it went on after, or who is suspected.
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

// ofItsOwn are causes that nothing of which a warning tells brings about.
var ofItsOwn = []string{"job-time-limit", "node-not-reached", "disk-full"}

// raisedRecord is the id of what the record of an exception means.
const raisedRecord = "record-exception"

// amd is the cause of what AMD's stack prints.
const amd = decide.AMD

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

// goesOn are the causes of which a notice says that the program goes on with the CPU: right on a machine meant for it,
// and the log does not say whether this one is.
var goesOn = []string{"tensorflow-no-gpu", "jax-fell-back", "container-without-driver"}

// madeDo reports whether TensorFlow said that a library which it did not find is not missed without a GPU, and a request
// was answered after that.
func (f *finding) madeDo(log []event) bool {
	ignore, answered := find(log, "tf-ignore-dlerror"), find(log, "request-answered")
	return ignore != nil && answered != nil && answered.line > ignore.line
}

// maxLines is how many lines a diagnosis quotes.
const maxLines = 5

func (f *finding) diagnosis(log []event, sources []Source) Diagnosis {
	d := Diagnosis{Schema: Schema, Blame: f.blame, Cause: f.cause, Because: f.because, Do: f.do, Rule: f.rule}
	if d.Do == nil {
		d.Do = []string{}
	}
	if f.signature.Weight == consequence && (slices.Contains(goesOn, f.cause) || f.madeDo(log)) {
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

// quote returns an event's line as people may see it.
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

// slot returns what a named group matched, cut.
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
