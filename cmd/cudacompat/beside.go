package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"cudacompat/internal/deadline"
	"cudacompat/internal/inputs"
	"cudacompat/internal/logs"
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
		describes, err := deadline.Run(ctx, func() (bool, error) { return inputs.DescribesMachine(ctx, all, name), nil })
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
	if why := inputs.NamesThisMachine(d); why != "" && !f.noHere && !f.named() {
		return f.thisMachine(ctx, why)
	}
	facts, described := inputs.FindDescription(head, d)
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
