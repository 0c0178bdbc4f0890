package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"cudacompat/docs"
	"cudacompat/matrix"
	"cudacompat/probe"
	"cudacompat/report"
	"cudacompat/triage"

	"github.com/spf13/cobra"
)

// explainFlags say where the facts come from that a log is held against, and how to write.
type explainFlags struct {
	facts   string
	here    bool
	formats []string
	colour  string
	all     bool
}

func explainCommand(s streams) *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "explain [RULE | CAUSE | LOG]",
		Short: "A rule's page; or a log (file, directory of rank logs, -): environment, program or hardware?",
		Args:  atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listPages(s)
			}
			return f.explain(cmd, args[0], s)
		},
	}
	cmd.Flags().StringVar(&f.facts, "facts", "", "hold the log against these facts or this report (`FILE`): pins for what it shows")
	cmd.Flags().BoolVar(&f.here, "here", false, "hold the log against this machine")
	cmd.Flags().StringArrayVarP(&f.formats, "output", "o", nil, "`FORMAT[=FILE]`: text or json")
	cmd.Flags().StringVar(&f.colour, "color", "auto", "auto, always or never; NO_COLOR holds")
	cmd.Flags().BoolVar(&f.all, "all", false, "every deciding line and step")
	return cmd
}

func (f *explainFlags) explain(cmd *cobra.Command, name string, s streams) error {
	if slices.Contains(ruleIDs(), name) {
		page, err := docs.Rules.ReadFile("rules/" + name + ".md")
		if err != nil {
			return err
		}
		_, err = s.out.Write(page)
		return err
	}
	if _, err := os.Stat(name); err != nil && name != "-" {
		return f.cause(name, s)
	}
	return f.log(cmd, name, s)
}

// cause writes the page of one of triage's own causes, from its signatures.
func (f *explainFlags) cause(name string, s streams) error {
	all, err := signatures()
	if err != nil {
		return err
	}
	var own []triage.Signature
	for _, sig := range all {
		if sig.Cause == name && sig.Because != "" {
			own = append(own, sig)
		}
	}
	if len(own) == 0 {
		if strings.ContainsAny(name, "/.") {
			return &usageError{message: "there is no file " + name, hint: "give a log, a directory of rank logs, or - for standard input"}
		}
		return misspelt("rule, cause or file", name, slices.AppendSeq(ruleIDs(), maps.Keys(causes(all))))
	}
	style, err := styleFor(f.colour, s.out)
	if err != nil {
		return err
	}
	return report.Cause(s.out, own, style)
}

// causes are those that have a page, with the side that each is blamed on.
func causes(all []triage.Signature) map[string]triage.Blame {
	blamed := map[string]triage.Blame{}
	for _, sig := range all {
		if sig.Because != "" {
			blamed[sig.Cause] = sig.Blame
		}
	}
	return blamed
}

func listPages(s streams) error {
	all, err := signatures()
	if err != nil {
		return err
	}
	fmt.Fprintln(s.out, "Rules (cudacompat explain RULE):")
	for _, r := range matrix.Rules {
		fmt.Fprintf(s.out, "  %-26s  %s\n", r.ID, r.Title)
	}
	fmt.Fprintln(s.out, "\nCauses that logs show (cudacompat explain CAUSE, or explain LOG to find out which):")
	blamed := causes(all)
	for _, blame := range []triage.Blame{triage.Environment, triage.Program, triage.Hardware, triage.Unknown} {
		fmt.Fprintf(s.out, "\n%s:\n", blame)
		for _, c := range slices.Sorted(maps.Keys(blamed)) {
			if blamed[c] == blame && !slices.Contains(ruleIDs(), c) {
				fmt.Fprintln(s.out, "  "+c)
			}
		}
	}
	return nil
}

// log diagnoses a log and, where facts are given, adds what the doctor says of its rule.
func (f *explainFlags) log(cmd *cobra.Command, name string, s streams) error {
	if f.here && f.facts != "" {
		return &usageError{"--here and --facts are two machines", "give one of them"}
	}
	outputs, err := parseOutputs(report.ExplainFormats, f.formats, f.colour, f.all, s)
	if err != nil {
		return err
	}
	d, err := diagnose(cmd.Context(), name, s.in)
	if err != nil {
		return err
	}
	findings, err := f.findings(cmd, d.Rule)
	if err != nil {
		return err
	}
	if err := outputs.write(report.Explained{Diagnosis: d, Findings: findings}); err != nil {
		return err
	}
	return exitForBlame(d.Blame)
}

// findings are what the machine that is asked says under the log's rule.
func (f *explainFlags) findings(cmd *cobra.Command, rule string) ([]matrix.Finding, error) {
	var facts probe.Facts
	switch {
	case f.facts != "":
		var err error
		if facts, err = given(f.facts, nil); err != nil {
			return nil, err
		}
	case f.here:
		facts = probe.Run(cmd.Context(), probe.This(), probe.Options{})
	default:
		return nil, nil
	}
	verdict := matrix.Check(matrix.Embedded(), facts, nil, matrix.Policy{})
	return slices.DeleteFunc(verdict.Findings, func(f matrix.Finding) bool { return f.Rule != rule }), nil
}

// exitForBlame: 0 the program, 1 the environment or the hardware, 3 not known.
func exitForBlame(b triage.Blame) error {
	switch b {
	case triage.Program:
		return nil
	case triage.Environment, triage.Hardware:
		return exitError(exitIncompatible)
	}
	return exitError(exitInconclusive)
}
