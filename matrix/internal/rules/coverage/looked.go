// Package coverage contains the rules about what a verdict does not cover: places that were not looked at, packages
// that a file requests and no rule judges, and things that the caller requires and nobody found.
//
// They keep a machine from being called compatible although something was never judged.
package coverage

import (
	"fmt"
	"slices"

	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/rules/python"
	"cudacompat/matrix/internal/rules/rule"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// NotLookedAt reports places that could hold CUDA code and were not examined, so that the result is not "compatible".
// For a place that this user may not read it is a note, because he cannot import from it either.
func NotLookedAt(m *model.Machine) []*rule.Result {
	var results []*rule.Result
	var closed []facts.Unread
	said := map[string]bool{} // several sources may have looked there
	for _, u := range m.Facts.Unread {
		if u.Kind == facts.UnreadClosed {
			closed = append(closed, u)
			continue
		}
		if said[u.Place] && (u.Probe != "" || m.Here()) { // each place of a machine is named once; a file may lack several things
			continue
		}
		said[u.Place] = true
		results = append(results, rule.ReportOpen(u.Place, verdict.Statement(u.Reason))...)
	}
	if name := m.Facts.Observed.Named; name != "" && len(m.Builds) == 0 && !slices.ContainsFunc(m.Requested, isRecognised) {
		results = append(results, rule.ReportOpen(name, verdict.Statement("the text speaks of it, and does not tell which release is installed"))...)
	}
	results = append(results, judgeRequested(m)...)
	results = append(results, python.ReportUnmetNames(m)...)
	// A health check runs as a user who may not read other homes. A note on every node would hide the other notes.
	if len(closed) > 0 && !m.Policy.Health {
		results = append(results, rule.ReportFinding(reportClosedPlaces(closed))...)
	}
	return results
}

// reportClosedPlaces returns a single note for all places of other users. One note each would fill a page on a shared
// machine.
func reportClosedPlaces(closed []facts.Unread) verdict.Finding {
	f := verdict.Finding{Severity: verdict.Note, Subject: closed[0].Place, Need: "nothing, unless you run programs as that user",
		Message: fmt.Sprintf("%s could not be looked at: %s", closed[0].Place, closed[0].Reason),
		Steps:   []pin.Step{pin.Say("to check what is in it, run cudacompat as a user who may read it")}}
	if n := len(closed) - 1; n > 0 {
		f.Message = fmt.Sprintf("%s and %s could not be looked at: %s", closed[0].Place, countPlaces(n), closed[0].Reason)
	}
	// A machine can have hundreds of homes. Five show what kind of place it is.
	for _, u := range closed[:min(len(closed), 5)] {
		f.Evidence = append(f.Evidence, verdict.Evidence{Fact: "not looked at", Value: u.Reason, From: u.Place})
	}
	return f
}

func countPlaces(n int) string {
	if n == 1 {
		return "1 other place"
	}
	return fmt.Sprintf("%d other places", n)
}
