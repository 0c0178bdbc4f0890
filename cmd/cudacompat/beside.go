package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"cudacompat/internal/deadline"
	"cudacompat/internal/inputs"
	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs"
	"cudacompat/internal/logs/signature"
	"cudacompat/internal/report/diagnosis"
	"cudacompat/internal/usage"
	"cudacompat/matrix"
	"cudacompat/matrix/verdict"
	"cudacompat/probe"
)

// oneMachine rejects flags that name two machines.
func (f *explainFlags) oneMachine() error {
	here := f.here || len(f.envs) > 0
	switch {
	case f.named() && (here || f.noHere):
		return &usage.Error{Message: "--driver, --gpu and --instance describe the log's machine, --here, --env and --no-here are about this one", Hint: "give one of them"}
	case here && f.facts != "":
		return &usage.Error{Message: "--here and --env look at this machine, --facts names another", Hint: "give one of them"}
	case f.noHere && here:
		return &usage.Error{Message: "--no-here does not look at this machine, --here and --env do", Hint: "give one of them"}
	}
	return nil
}

// named reports whether flags describe the log's machine.
func (f *explainFlags) named() bool { return f.driver != "" || f.gpu != "" || f.on != "" }

// targets returns the machine that flags describe; none if they describe none.
func (f *explainFlags) targets() ([]matrix.Target, error) {
	if !f.named() {
		return nil, nil
	}
	target := matrix.Target{Driver: f.tables.DriverOf(f.driver)}
	if f.on != "" && !f.tables.HasInstance(f.on) {
		return nil, usage.RejectUnknownOfMany("GPU instance type", f.on, f.tables.InstanceNames(), inputs.InstancesCommand)
	}
	target.Instance = f.on
	if f.gpu != "" {
		var err error
		if target.GPUs, err = inputs.ParseGPUs(f.gpu); err != nil {
			return nil, err
		}
	}
	return []matrix.Target{target}, inputs.CheckTarget(target, f.tables)
}

// apartFromMachine returns the logs among several files. One that describes a machine, such as nvidia-smi's output, and
// shows no error, is about the machine of the logs, as if --facts named it.
func (f *explainFlags) apartFromMachine(ctx context.Context, names []string) (files []string, err error) {
	if len(names) < 2 {
		return names, nil
	}
	all, err := f.signatures(f.tables)
	if err != nil {
		return nil, err
	}
	var machines []string
	for _, name := range names {
		describes, err := deadline.Run(ctx, func() (bool, error) { return describesMachine(ctx, all, name), nil })
		if err != nil {
			return nil, err
		}
		if describes {
			machines = append(machines, name)
		} else {
			files = append(files, name)
		}
	}
	switch {
	case len(machines) == 0 || len(files) == 0:
		return names, nil
	case f.facts != "":
		return nil, &usage.Error{Message: fmt.Sprintf("--facts and %s both describe the log's machine", machines[0]), Hint: "give one of them"}
	}
	f.machines = machines
	return files, nil
}

// describesMachine reports whether a file is a report, a list of packages or facts, and shows no error.
func describesMachine(ctx context.Context, all []signature.Signature, name string) bool {
	info, err := os.Stat(name)
	if name == "-" || err != nil || !info.Mode().IsRegular() || info.Size() > inputs.MaxFile {
		return false
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return false
	}
	if _, err := probe.GivenFile(probe.Document{Name: name, Data: data}); err != nil {
		return false
	}
	d, err := logs.Read(ctx, all, []logs.Source{{Name: name, Reader: bytes.NewReader(data)}})
	return err == nil && d.Cause == logs.NothingFound
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
func (f *explainFlags) compare(ctx context.Context, e *diagnosis.Explained, head []byte, stdin io.Reader) error {
	m, err := f.machine(ctx, &e.Diagnosis, head, stdin)
	if m == nil || err != nil {
		return err
	}
	m.facts.Complete()
	judging, cancel := deadline.StartJudging(ctx)
	defer cancel()
	targets, err := f.targets()
	if err != nil {
		return err
	}
	verdict := matrix.Check(judging, f.tables, m.facts, targets, verdict.Policy{Site: site})
	rule := e.Rule
	e.Findings, e.Apart = e.Beside(verdict, f.tables)
	result := diagnosis.ClassifyResult(rule, e.Findings, e.Apart, verdict)
	if m.unrequested && result == diagnosis.ResultFixed && !passedFor(rule, &e.Diagnosis, verdict) {
		result = diagnosis.ResultNothing
	}
	if m.unrequested && result == diagnosis.ResultUnknown {
		return nil
	}
	e.Compared = &diagnosis.Compared{With: m.with, Why: m.reason, Outcome: verdict.Outcome, Driver: cmp.Or(f.driver, m.facts.Driver.Version),
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
	case len(f.machines) > 0:
		return f.machineOf(ctx, f.machines)
	case f.facts != "":
		reading, cancel := deadline.Set(ctx, deadline.Check)
		defer cancel()
		facts, err := deadline.Run(reading, func() (probe.Facts, error) { return inputs.ReadFacts(f.facts, "", "", stdin) })
		if late := new(deadline.Error); errors.As(err, &late) {
			err = &deadline.Error{Err: fmt.Errorf("cannot read %q: %w", f.facts, late), Hint: "give more --timeout, or a file"}
		}
		return &machine{facts: facts, with: "the facts in " + f.facts}, err
	case f.here || len(f.envs) > 0:
		return f.thisMachine(ctx, "")
	}
	if why := namesThisMachine(d); why != "" && !f.noHere && !f.named() {
		return f.thisMachine(ctx, why)
	}
	facts, described := describedIn(head, d)
	switch {
	case f.named():
		return &machine{facts: facts, with: "the machine that the flags describe"}, nil
	case described:
		return &machine{facts: facts, with: "the environment that the log describes", unrequested: true}, nil
	}
	return nil, nil
}

// machineOf returns the one machine that files describe together.
func (f *explainFlags) machineOf(ctx context.Context, names []string) (*machine, error) {
	reading, cancel := deadline.Set(ctx, deadline.Check)
	defer cancel()
	list, err := inputs.ReadInTime(reading, names, "", "", nil)
	if err == nil && len(list) > 1 {
		err = &usage.Error{Message: fmt.Sprintf("%s describe %d machines", strings.Join(names, ", "), len(list)), Hint: "give the description of the log's machine only"}
	}
	if err != nil {
		return nil, err
	}
	return &machine{facts: list[0].Facts, with: "the facts in " + verdict.JoinAnd(names)}, list[0].Foreign
}

func (f *explainFlags) thisMachine(ctx context.Context, why string) (*machine, error) {
	if inPage {
		return nil, errInPage
	}
	look := lookFlags{envs: f.envs}
	limited, cancel := deadline.Set(ctx, deadline.Live)
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
	text, err := probe.This().ReadFile(loadedDriver)
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
