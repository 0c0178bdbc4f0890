package logs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/logs/decide"
	"cudacompat/internal/logs/finding"
	"cudacompat/internal/logs/logtext"
	"cudacompat/internal/logs/readers"
	"cudacompat/internal/logs/record"
	"cudacompat/internal/logs/scan"
	"cudacompat/internal/logs/signature"
	"cudacompat/internal/redact"
	"cudacompat/matrix"
)

// judging collects what was read of all logs, to judge it together.
type judging struct {
	events  [][]signature.Hit // by log
	records []record.Record   // of all logs
	kept    [][]logtext.Line  // by log: the lines that were read by grammar
	ends    []scan.Closing    // by log
	sources []Source
	unread  []string
	windows bool
	lower   []string // the kept lines in lower case
}

// conclude decides whose fault the logs show, corrects that by the rest of them, and adds the steps.
func (j *judging) conclude() Diagnosis {
	d := j.decide()
	d.Unread = j.unread
	for _, lines := range j.kept {
		d.Traces.addSigns(lines)
	}
	if len(j.unread) == 0 {
		d.endWell(j.ends, j.records, j.sources)
	}
	j.refine(&d)
	j.quoteOddest(&d)
	d.addCandidates(j.hints())
	j.advise(&d)
	d.splitBecause()
	return d
}

// hints returns the clues in the kept lines.
func (j *judging) hints() (all []clue) {
	for _, lines := range j.kept {
		all = append(all, hintsIn(lines)...)
	}
	return all
}

// decide finds the claim that answers, among the matching rows and the records of the grammars.
func (j *judging) decide() Diagnosis {
	seen, harmless := splitHarmless(slices.Concat(j.events...))
	first := record.FindFirstRank(j.records)
	var past *finding.Finding
	outlived := func(f finding.Finding) bool {
		if isOutlived(&f) && !f.Earlier && f.Blame != Unknown && (past == nil || f.Signature.Weight > past.Signature.Weight) {
			past = &f
		}
		return isOutlived(&f)
	}
	rows := make([][]finding.Finding, len(j.events))
	for i := range j.events {
		j.events[i], _ = splitHarmless(j.events[i])
		rows[i] = finding.DropOtherRanks(slices.DeleteFunc(findings(j.events[i], seen), outlived), first)
	}
	forms := finding.DropOtherRanks(slices.DeleteFunc(finding.WeighRecords(j.records, record.Tables()), outlived), first)
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
			f.With = append(f.With, list[chosen.Along].Hit)
		}
		d := newDiagnosis(f, j.events[f.Source], j.sources)
		d.Decided, d.weight, d.form, d.slotted = chosen.Trace, f.Signature.Weight, chosen.Form, namesSize(f)
		d.byWords, d.slots = f.ByWords, f.Slots()
		return d
	}
	records := slices.DeleteFunc(slices.Clone(j.records), func(r record.Record) bool { return r.Earlier || finding.IsSupporting(r) })
	if len(harmless) > 0 && len(records) == 0 && findHit(seen, trouble) == nil && findHit(seen, pythonTraceback) == nil {
		return nothingWrong(harmless, j.sources)
	}
	d := undecidedDiagnosis(past, seen, records, j.sources)
	d.Decided = append(chosen.Trace, "no line of it makes a claim that holds")
	return d
}

// namesSize reports whether a line about memory says how much was requested.
func namesSize(f *finding.Finding) bool {
	if !strings.HasPrefix(f.Signature.ID, "record-") {
		return f.Group("want") != ""
	}
	return f.Form.Slot("want") != ""
}

// claimsOf converts findings to the form that package decide compares.
func claimsOf(all []finding.Finding) []decide.Claim {
	claims := make([]decide.Claim, len(all))
	for i := range all {
		claims[i] = newClaim(&all[i])
	}
	return claims
}

// newClaim converts a finding to the form that package decide compares.
func newClaim(f *finding.Finding) decide.Claim {
	s := f.Signature
	c := decide.Claim{Name: "row " + s.ID, Cause: f.Cause, Blame: f.Blame, Weight: s.Weight, Source: f.Source, Line: f.Line,
		Order: f.Order, Root: s.Root, Echo: s.Echo,
		LosesGPU: leavesNoGPU(f.Rule) || f.Rule == "driver-unresponsive",
		Exact:    slices.Contains(ofItsOwn, f.Cause), Raised: s.ID == raisedRecord, Which: f.NamesFirstProcess(),
		Aborted: strings.Contains(f.Because, "SIGABRT"), OfOne: slices.Contains(finding.RankCauses, f.Cause),
		General: s.Weight <= decide.Symptom && !slices.Contains(finding.CausesBySignal, f.Cause) || slices.Contains(ofTables, s.ID),
		Clock:   f.When.Layout, At: f.When.At}
	if name, form := strings.CutPrefix(s.ID, "record-"); form {
		c.Name = "form " + name
	}
	return c
}

// ofTables lists the signatures of forms that only look up a name (a status, library or symbol) in a small table. If a
// row of the signature table matches the same line, the row wins, because it was written for that message.
var ofTables = []string{"record-status", "record-memory", "record-symbol", "record-library", "record-scheduler"}

// undecidedDiagnosis returns the diagnosis of a log that does not show who is to blame. It names the error that the job
// survived, or the possible causes.
func undecidedDiagnosis(past *finding.Finding, seen []signature.Hit, records []record.Record, sources []Source) Diagnosis {
	d := newUndecided()
	if past != nil && !slices.ContainsFunc(records, func(r record.Record) bool { return isRaisedAfter(past, r) }) {
		d = wentOnAfter(past, sources)
	} else {
		d.addSuspects(records, sources)
	}
	if len(records) > 0 || findHit(seen, trouble) != nil || findHit(seen, pythonTraceback) != nil {
		d.Candidates = guesses(records)
	}
	if past != nil {
		d.Candidates = append([]Candidate{{past.Cause, past.Blame, "the end of the job: did it do all of its work?"}},
			d.Candidates...)
	}
	return d
}

// ofItsOwn lists causes that no earlier warning can explain.
var ofItsOwn = []string{"job-time-limit", "node-not-reached", "disk-full"}

// raisedRecord is the id of the signature for an exception.
const raisedRecord = "record-exception"

// amd is the cause of messages from AMD's GPU software.
const amd = decide.AMD

// trouble is the signature of lines that programs print when they end in any failure.
const trouble = "trouble"

// splitHarmless separates alarming but harmless lines from the others.
func splitHarmless(all []signature.Hit) (rest, harmless []signature.Hit) {
	for _, e := range all {
		if e.Signature.Blame == None {
			harmless = append(harmless, e)
		} else {
			rest = append(rest, e)
		}
	}
	return rest, harmless
}

// nothingWrong names every harmless line and says why it is harmless.
func nothingWrong(harmless []signature.Hit, sources []Source) Diagnosis {
	slices.SortStableFunc(harmless, func(a, b signature.Hit) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source),
			cmp.Compare(a.Line, b.Line))
	})
	d := Diagnosis{Schema: Schema, Blame: None, Cause: harmless[0].Signature.Cause, Do: []string{}}
	for _, e := range harmless {
		l := quote(&e, sources)
		l.Why = e.FillWords(e.Signature.Because)
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
func findings(log, seen []signature.Hit) []finding.Finding {
	var all []finding.Finding
	for _, e := range log {
		s := e.Signature
		needed := findHit(seen, s.Needs)
		if s.Weight == decide.Fact || e.Notice || s.Needs != "" && needed == nil {
			continue
		}
		f := finding.Finding{Hit: e, Cause: s.Cause, Blame: s.Blame, Rule: s.Rule}
		f.Because, f.Do = e.FillWords(s.Because), e.FillSteps()
		if needed != nil {
			f.With = append(f.With, *needed)
		}
		if f.Cause == "cuda-out-of-memory" && (findHit(seen, pythonTraceback) != nil || findHit(seen, luaTraceback) != nil) {
			blameProgramForMemory(&f)
		}
		if read := readers.ByName[s.Reads]; read == nil || read(&f) {
			all = append(all, f)
		}
	}
	return dropNotices(dropDisproved(all), seen)
}

// blameProgramForMemory explains the driver's "out of memory" if calls of a user's own program precede it.
func blameProgramForMemory(f *finding.Finding) {
	a := finding.FindAnswer("memory")
	f.Cause, f.Blame, f.Because, f.Do = a.Cause, a.Blame, a.Because, a.Do
}

// leavesNoGPU reports whether a rule's fault leaves a program no GPU to run on.
func leavesNoGPU(id string) bool {
	rule, _ := matrix.RuleNamed(id)
	return rule.LeavesNoGPU
}

// dropDisproved drops faults that leave no GPU to run on if a kernel failed while running. A missing tool, a process
// without a GPU, or a GPU in use was then not the problem.
func dropDisproved(all []finding.Finding) []finding.Finding {
	ran := func(f finding.Finding) bool { return f.Signature.Async && f.Blame == Program }
	if !slices.ContainsFunc(all, ran) {
		return all
	}
	return slices.DeleteFunc(all, func(f finding.Finding) bool {
		return f.Blame == Environment && (leavesNoGPU(f.Rule) || f.Rule == keepsOut)
	})
}

// keepsOut is the rule for a GPU that admits no other process. CUDA reports the same for the process whose kernel
// failed.
const keepsOut = "compute-mode"

func findHit(events []signature.Hit, id string) *signature.Hit {
	for i := range events {
		if events[i].Signature.ID == id {
			return &events[i]
		}
	}
	return nil
}

// dropNotices drops what healthy programs print, too ("could not find cuda drivers"), if something failed. The
// failure has another reason, even if no signature knows it.
func dropNotices(all []finding.Finding, seen []signature.Hit) []finding.Finding {
	failed := findHit(seen, pythonTraceback) != nil || slices.ContainsFunc(all, func(f finding.Finding) bool {
		return f.Signature.Weight == decide.Consequence && f.Blame == Unknown
	})
	if !failed {
		return all
	}
	return slices.DeleteFunc(all, func(f finding.Finding) bool {
		return f.Signature.Weight == decide.Consequence && f.Blame != Unknown
	})
}

// pythonTraceback is the signature of the line above every Python exception.
const pythonTraceback = "python-traceback"

// luaTraceback is the same for Lua, in which Torch7's programs are written.
const luaTraceback = "lua-traceback"

// goesOn lists the causes for which a notice says that the program continues on the CPU. That is right on a machine
// meant for it, and the log does not say whether this is one.
var goesOn = []string{"tensorflow-no-gpu", "jax-fell-back", "container-without-driver"}

// answeredWithoutGPU reports whether TensorFlow said that a missing library does not matter without a GPU, and a
// request was answered after that.
func answeredWithoutGPU(f *finding.Finding, log []signature.Hit) bool {
	ignore, answered := findHit(log, "tf-ignore-dlerror"), findHit(log, "request-answered")
	return ignore != nil && answered != nil && answered.Line > ignore.Line
}

// maxLines is how many lines a diagnosis quotes.
const maxLines = 5

func newDiagnosis(f *finding.Finding, log []signature.Hit, sources []Source) Diagnosis {
	d := Diagnosis{Schema: Schema, Blame: f.Blame, Cause: f.Cause, Because: f.Because, Do: f.Do, Rule: f.Rule}
	if d.Do == nil {
		d.Do = []string{}
	}
	if f.Signature.Weight == decide.Consequence && (slices.Contains(goesOn, f.Cause) || answeredWithoutGPU(f, log)) {
		d.Blame = Unknown
	}
	if f.Signature.Async {
		d.reportedLate(findHit(log, launchBlocking))
	}
	for _, e := range listQuotedLines(f, log) {
		d.Lines = append(d.Lines, quote(&e, sources))
	}
	return d
}

// quote returns an event's line in a form that is safe to show.
func quote(e *signature.Hit, sources []Source) Line {
	text := redact.Redact(e.Text)
	l := Line{Number: e.Line, Text: logtext.CutAround(text, min(len(redact.Redact(e.Text[:e.Match[0]])), len(text)))}
	if len(sources) > 1 {
		l.File = logtext.Clean([]byte(sources[e.Source].Name))
	}
	return l
}

// launchBlocking is the signature of a line which shows that the program ran synchronously.
const launchBlocking = "launch-blocking"

// reportedLate says whether the traceback of an error that CUDA reports asynchronously can be trusted.
func (d *Diagnosis) reportedLate(blocking *signature.Hit) {
	if blocking != nil {
		d.Because += " It was run with CUDA_LAUNCH_BLOCKING=1, so the traceback names the call that failed."
		return
	}
	d.Because += " CUDA reports a failed kernel at a later call, so the place in the traceback cannot be trusted."
	d.Do = append(d.Do, "run once with CUDA_LAUNCH_BLOCKING=1: then the traceback names the call that failed")
}

// listQuotedLines lists the deciding line, those that support it, and then the other faults of the same log in order.
func listQuotedLines(f *finding.Finding, log []signature.Hit) []signature.Hit {
	lines := append([]signature.Hit{f.Hit}, f.With...)
	rest := slices.Clone(log)
	slices.SortStableFunc(rest, func(a, b signature.Hit) int { return cmp.Compare(a.Line, b.Line) })
	for _, e := range rest {
		double := slices.ContainsFunc(lines, func(l signature.Hit) bool { return l.Source == e.Source && l.Line == e.Line })
		if e.Signature.Weight != decide.Fact && !double && (!e.Earlier || f.Earlier) && len(lines) < maxLines {
			lines = append(lines, e)
		}
	}
	return lines
}

func newUndecided() Diagnosis {
	return Diagnosis{Schema: Schema, Blame: Unknown, Cause: NothingFound, Lines: []Line{},
		Because: "Nothing found: no line of the log is an error of CUDA, its driver, its libraries or the frameworks on them that is known here.",
		Do: []string{
			"give the whole log, from the first line on, of the process that failed first: standard error too",
			"for a hang, add py-spy dump of the process and the kernel log (dmesg)",
			"judge the machine itself: cudacompat doctor",
		}}
}
