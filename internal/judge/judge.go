// Package judge turns facts into the report on a machine.
//
// A Job has the tables, the targets and the policy. Judge checks facts with them, and gives up in time. JudgeDescription
// also takes the error that was pasted beside a description into account: an error that happened is a fact.
//
// JoinReports makes one report of several machines. CanChange tells whether waiting can improve a report.
package judge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"cudacompat/internal/deadline"
	"cudacompat/internal/inputs"
	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs"
	"cudacompat/internal/logs/signature"
	"cudacompat/internal/report"
	"cudacompat/internal/report/plaintext"
	"cudacompat/internal/terminal"
	"cudacompat/matrix"
	"cudacompat/matrix/verdict"
	"cudacompat/probe"
	"cudacompat/probe/facts"
)

// Job holds the parameters of a judgement, all checked before anything is read.
type Job struct {
	Tables     *matrix.Tables
	Targets    []matrix.Target
	Policy     verdict.Policy
	Tool       func() report.Tool // describes this program
	Signatures func() ([]signature.Signature, error)
	Platform   string          // the system that was named
	Log        *logs.Diagnosis // of the log beside the facts
	Verbose    io.Writer       // where it is said how the probes went; nil: nowhere
	Remarks    io.Writer       // where it is said what flags leave out
}

// Judge returns the report on the facts. If judging overruns, as in one long step, the report says that nothing was
// judged.
func (j Job) Judge(ctx context.Context, facts func() (probe.Facts, error)) (report.Report, error) {
	found, err := facts()
	if err != nil {
		return report.Report{}, err
	}
	if j.Verbose != nil {
		plaintext.WriteProbes(j.Verbose, found.Probes)
	}
	if err := inputs.RefuseWindowsDriver(j.Tables, found.System, j.Platform, j.Targets...); err != nil {
		return report.Report{}, err
	}
	found.Complete()
	judging, cancel := deadline.StartJudging(ctx)
	defer cancel()
	waiting, stop := deadline.ExtendJudging(judging)
	defer stop()
	r, err := deadline.Run(waiting, func() (report.Report, error) { return j.makeReport(judging, found), nil })
	if late := new(deadline.Error); errors.As(err, &late) {
		// On a very busy machine the timer of judging itself may not have run yet. Without this, nothing would seem to
		// be missing.
		over, end := context.WithCancelCause(context.WithoutCancel(ctx))
		end(deadline.ErrUnjudged)
		return j.makeReport(over, probe.Facts{}), nil
	}
	return r, err
}

// makeReport returns the report on facts that were read.
func (j Job) makeReport(ctx context.Context, found probe.Facts) report.Report {
	verdict := matrix.Check(ctx, j.Tables, found, j.Targets, j.Policy)
	shown := matrix.RemovePrivate(j.Tables, found)
	r := report.New(j.Tool(), shown, j.Targets, verdict)
	if j.Log != nil {
		d := *j.Log
		d.Beside(verdict, j.Tables)
		r.Log = &d
	}
	return r
}

// JudgeDescription judges one machine together with the error that was pasted with it. An error that happened is a fact: if its
// cause is certain and a rule knows it, that rule reports it, as explain would. Otherwise a machine whose versions all
// fit is still not compatible, because nothing that was compared explains the error.
func (j Job) JudgeDescription(ctx context.Context, m inputs.Description) (report.Report, error) {
	found := func() (probe.Facts, error) { return m.Facts, nil }
	left, err := j.readLog(ctx, m)
	if left && len(m.Facts.Environments) == 0 { // there is nothing else to judge
		m.Facts.Unread = append(slices.Clone(m.Facts.Unread), facts.Unread{Place: "the error in the text", Kind: facts.UnreadNeeded,
			Reason: "it comes from another machine than the one that the flags name"})
	}
	if err == nil && j.Log == nil {
		err = m.Foreign
	}
	if err == nil && (m.Foreign == nil || len(m.Unknown) > 1) {
		err = j.refuseUnknown(ctx, m.Unknown)
	}
	if err != nil {
		return report.Report{}, err
	}
	if j.Log != nil && blamesMachine(j.Log.Blame) {
		m.Facts.Observed.Named = "" // the error says more of it than that its release is not known
		m.Facts.Observed.Stated = findStated(j.Log, &m.Facts)
	}
	r, err := j.Judge(ctx, found)
	if err != nil || r.Log == nil || r.Outcome != verdict.Compatible || !blamesMachine(r.Log.Blame) {
		return r, err
	}
	m.Facts.Unread = append(slices.Clone(m.Facts.Unread), facts.Unread{Place: "the error that was pasted", Kind: facts.UnreadNeeded,
		Reason: "nothing that was compared explains it: " + strings.TrimSuffix(r.Log.Because, ".")})
	return j.Judge(ctx, found)
}

// amdGPU matches the name of a GPU that no rule covers.
var amdGPU = lazyregexp.New(`(?i)\bRadeon\b|\bInstinct\b`)

// findStated returns the error in a log as a fact, or nil if its cause is not certain or no rule knows it. A line that
// healthy programs also print is no error, except that a CPU build is one beside a GPU.
func findStated(d *logs.Diagnosis, f *facts.Facts) *facts.Stated {
	known := d.Rule != "" && d.Rule != "none" && len(d.Lines) > 0 &&
		!slices.ContainsFunc(f.GPUs, func(g facts.GPU) bool { return amdGPU.MatchString(g.Name) })
	if !known || d.Confidence != logs.Certain || !d.Failed() && (d.Rule != "cpu-only-build" || len(f.GPUs) == 0) {
		return nil
	}
	return &facts.Stated{Rule: d.Rule, Cause: d.Because, Line: d.Lines[0].Number, Text: d.Lines[0].Text, Do: d.Do}
}

// blamesMachine reports whether the machine is to blame.
func blamesMachine(b logs.Blame) bool { return b == logs.Environment || b == logs.Hardware }

// readLog takes what the text of a machine shows beside what it describes. Flags that name another machine leave it out,
// which is said.
func (j *Job) readLog(ctx context.Context, m inputs.Description) (left bool, err error) {
	j.Log = nil
	if !m.Pasted {
		return false, nil
	}
	all, err := j.Signatures()
	if err != nil {
		return false, err
	}
	d, err := logs.Read(ctx, all, []logs.Source{{Name: "-", Reader: bytes.NewReader(m.Text)}})
	if err != nil || d.Cause == logs.NothingFound || d.Blame == logs.None {
		return false, nil
	}
	if slices.ContainsFunc(j.Targets, func(t matrix.Target) bool {
		return t.OtherThan(j.Tables, &m.Facts) || t.Driver != "" && d.Rule == "driver-missing"
	}) {
		terminal.Complain(j.Remarks, "the error in the text is left out: --driver, --gpu or --instance names another machine than the text",
			"leave the flag out, or explain the error by itself: cudacompat explain FILE")
		return true, nil
	}
	j.Log = &d
	return false, nil
}

// refuseUnknown returns an error that names the first text in which nothing was recognised. Other files do not make up
// for it.
func (j Job) refuseUnknown(ctx context.Context, texts []inputs.UnknownText) error {
	if len(texts) == 0 {
		return nil
	}
	all, err := j.Signatures()
	if err != nil {
		return err
	}
	for _, t := range texts {
		d, err := logs.Read(ctx, all, []logs.Source{{Name: "-", Reader: bytes.NewReader(t.Text)}})
		switch {
		case err != nil:
			return err
		case d.Cause == logs.NothingFound:
			return t.Err
		}
	}
	return nil
}

// RemarkOverridden says which of a file's own words flags replace: its GPUs, its driver.
func (j Job) RemarkOverridden(name string, f probe.Facts) {
	if name == "-" {
		name = "standard input"
	}
	replaced := func(flag, own string, by func(matrix.Target) bool) {
		if own != "" && slices.ContainsFunc(j.Targets, by) {
			terminal.Complain(j.Remarks, fmt.Sprintf("%s replaces what %s says: %s", flag, name, own), "leave "+flag+" out to judge the machine of the file")
		}
	}
	replaced("--gpu", listGPUs(f), func(t matrix.Target) bool { return len(t.GPUs) > 0 && !namesChipsOf(j.Tables, t.GPUs, f) })
	replaced("--instance", listGPUs(f), func(t matrix.Target) bool {
		row := j.Tables.Instance(t.Instance)
		return len(t.GPUs) == 0 && row != nil && !namesChipsOf(j.Tables, []string{row.GPU}, f)
	})
	if f.Driver.Version != "" {
		replaced("--driver", "driver "+f.Driver.Version, func(t matrix.Target) bool { return t.Driver != "" && t.Driver != f.Driver.Version })
	}
}

// listGPUs names the GPUs of a machine, each once.
func listGPUs(f probe.Facts) string {
	var names []string
	for _, g := range f.GPUs {
		if g.Name != "" && !slices.Contains(names, g.Name) {
			names = append(names, g.Name)
		}
	}
	return strings.Join(names, ", ")
}

// namesChipsOf reports whether the words of --gpu name the chips of a machine's own GPUs.
func namesChipsOf(t *matrix.Tables, words []string, f probe.Facts) bool {
	return !slices.ContainsFunc(f.GPUs, func(g facts.GPU) bool {
		chip := t.ChipNamed(g.Name)
		return chip == nil || !slices.ContainsFunc(words, func(word string) bool { return t.ChipNamed(word) == chip })
	})
}
