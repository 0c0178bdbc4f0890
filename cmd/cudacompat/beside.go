package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs"
	"cudacompat/internal/report"
	"cudacompat/matrix"
	"cudacompat/matrix/verdict"
	"cudacompat/probe"
)

// oneMachine rejects flags that name two machines.
func (f *explainFlags) oneMachine() error {
	here := f.here || len(f.envs) > 0
	switch {
	case here && f.facts != "":
		return &usageError{"--here and --env look at this machine, --facts names another", "give one of them"}
	case f.noHere && here:
		return &usageError{"--no-here does not look at this machine, --here and --env do", "give one of them"}
	}
	return nil
}

// machine is the machine that a log is compared with.
type machine struct {
	facts  probe.Facts
	with   string // "this machine", "the facts in node.json"
	reason string // why it was looked at where nobody asked for it

	unrequested bool // what too little is known of is not worth a word
}

// compare compares a log with the machine that wrote it: the one that flags name, the one that the log describes, or
// this one if the log names its driver or files.
func (f *explainFlags) compare(ctx context.Context, e *report.Explained, head []byte, stdin io.Reader) error {
	m, err := f.machine(ctx, &e.Diagnosis, head, stdin)
	if m == nil || err != nil {
		return err
	}
	m.facts.Complete()
	judging, cancel := forJudging(ctx)
	defer cancel()
	verdict := matrix.Check(judging, f.tables, m.facts, nil, verdict.Policy{Site: site})
	rule := e.Rule
	e.Findings, e.Apart = e.Beside(verdict, f.tables)
	result := report.ResultOf(rule, e.Findings, e.Apart, verdict)
	if m.unrequested && result == report.Fixed && !passedFor(rule, &e.Diagnosis, verdict) {
		result = report.Nowhere
	}
	if m.unrequested && result == report.Open {
		return nil
	}
	e.Compared = &report.Compared{With: m.with, Why: m.reason, Outcome: verdict.Outcome, Driver: m.facts.Driver.Version,
		Result: result, Own: m.unrequested}
	return nil
}

// passedFor reports whether a rule compared the package in the log's line. Only then does a description of the
// environment in the same text prove that the fault is not there.
func passedFor(rule string, d *logs.Diagnosis, v verdict.Verdict) bool {
	return slices.ContainsFunc(v.Passed, func(p verdict.Passed) bool { return p.Rule == rule && d.Names(p.Subject) })
}

func (f *explainFlags) machine(ctx context.Context, d *logs.Diagnosis, head []byte, stdin io.Reader) (*machine, error) {
	switch {
	case f.facts != "":
		reading, cancel := withDeadline(ctx, checkTimeout)
		defer cancel()
		facts, err := inTime(reading, func() (probe.Facts, error) { return givenFacts(f.facts, "", "", stdin) })
		if late := new(lateError); errors.As(err, &late) {
			err = &lateError{fmt.Errorf("cannot read %q: %w", f.facts, late), "give more --timeout, or a file"}
		}
		return &machine{facts: facts, with: "the facts in " + f.facts}, err
	case f.here || len(f.envs) > 0:
		return f.thisMachine(ctx, "")
	}
	if why := namesThisMachine(d); why != "" && !f.noHere {
		return f.thisMachine(ctx, why)
	}
	if facts, described := describedIn(head, d); described {
		return &machine{facts: facts, with: "the environment that the log describes", unrequested: true}, nil
	}
	return nil, nil
}

func (f *explainFlags) thisMachine(ctx context.Context, why string) (*machine, error) {
	if inPage {
		return nil, errInPage
	}
	look := lookFlags{envs: f.envs}
	limited, cancel := withDeadline(ctx, liveTimeout)
	defer cancel()
	h, err := look.host(limited)
	if err != nil {
		return nil, err
	}
	return &machine{facts: probe.Run(ctx, h, look.options()), with: "this machine", reason: why}, nil
}

// describedIn returns the facts of an environment described in the log: a report, or a list of packages.
func describedIn(head []byte, d *logs.Diagnosis) (probe.Facts, bool) {
	if !d.Traces.Report {
		return probe.Facts{}, false
	}
	machines := probe.Machines(probe.Document{Data: head})
	facts, err := probe.GivenFile(machines[0])
	return facts, err == nil && len(machines) == 1 // of which of several the error is, nobody says
}

// loadedDriver is where the kernel shows the release of the loaded driver.
const loadedDriver = "/proc/driver/nvidia/version"

var driverNumber = lazyregexp.New(`\b\d{3}\.\d{2,3}(?:\.\d{2,3})?\b`)

// sharedDirectories lists directories whose files are alike on most machines.
var sharedDirectories = []string{"/usr/", "/opt/conda/", "/tmp/", "/root/", "/proc/"}

// namesThisMachine says why a log seems to come from this machine. It returns "" if it does not, or if its fault has
// nothing to do with a machine.
func namesThisMachine(d *logs.Diagnosis) string {
	if d.Blame == logs.Program || d.Blame == logs.None {
		return ""
	}
	text, err := os.ReadFile(loadedDriver)
	if own := driverNumber.FindString(string(text)); err == nil && len(d.Traces.Drivers) > 0 {
		if slices.Contains(d.Traces.Drivers, own) {
			return "the log names its driver, " + own
		}
		return ""
	}
	for _, path := range d.Traces.Files {
		if !strings.HasPrefix(path, "/") || slices.ContainsFunc(sharedDirectories, func(dir string) bool { return strings.HasPrefix(path, dir) }) {
			continue
		}
		if _, err := os.Lstat(path); err == nil {
			return "the log names " + path + ", which is here"
		}
	}
	return ""
}
