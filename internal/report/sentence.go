package report

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"cudacompat/internal/report/layout"
	"cudacompat/matrix/verdict"
)

// Statement is a finding together with every subject and target to which it applies, and the variants for targets with
// other GPUs.
type Statement struct {
	verdict.Finding
	Subjects, Targets, Variants []string
}

// JoinFindings joins findings that differ only in target and, if shown in brief, in subject. It also joins the findings
// of targets with other GPUs that have the same fix. A joined finding takes the place of the first.
func JoinFindings(findings []verdict.Finding, brief func(verdict.Finding) bool) []Statement {
	// kind is the key for grouping. Only findings of one rule and severity that share their subject, or their text, can
	// be alike, so that thousands are not compared with each other.
	type kind struct {
		rule     string
		severity verdict.Severity
		subject  string
		message  string
	}
	var list []Statement
	met := map[kind][]int{} // of the list
	for _, f := range findings {
		about, words := kind{f.Rule, f.Severity, f.Subject, ""}, kind{f.Rule, f.Severity, "", f.Message}
		near := met[about]
		if brief(f) {
			near = met[words]
		}
		i := len(list)
		if n := slices.IndexFunc(near, func(i int) bool { return alike(list[i].Finding, f, brief(f)) }); n >= 0 {
			i = near[n]
		} else {
			list = append(list, Statement{Finding: f})
			met[about], met[words] = append(met[about], i), append(met[words], i)
		}
		if f.Message != list[i].Message {
			list[i].Variants = layout.AppendUnique(list[i].Variants, f.Message)
		}
		for _, e := range f.Evidence {
			if !slices.Contains(list[i].Evidence, e) && !brief(f) {
				list[i].Evidence = append(slices.Clone(list[i].Evidence), e)
			}
		}
		list[i].Subjects = layout.AppendUnique(list[i].Subjects, f.Subject)
		list[i].Targets = layout.AppendUnique(list[i].Targets, f.Target)
	}
	return list
}

func alike(a, b verdict.Finding, brief bool) bool {
	if brief {
		return a.Rule == b.Rule && a.Severity == b.Severity && a.Message == b.Message
	}
	// The same rule and fix apply on another target. Only evidence and text name its GPU.
	if a.Rule == b.Rule && a.Severity == b.Severity && a.Subject == b.Subject && a.Target != b.Target && len(a.Pins)+len(a.Steps) > 0 &&
		reflect.DeepEqual(a.Pins, b.Pins) && reflect.DeepEqual(a.Steps, b.Steps) {
		return true
	}
	a.Target = b.Target
	return reflect.DeepEqual(a, b)
}

// SelectSeverity returns the findings of one severity.
func SelectSeverity(findings []Statement, s verdict.Severity) []Statement {
	return slices.DeleteFunc(slices.Clone(findings), func(f Statement) bool { return f.Severity != s })
}

// partsOfMachine lists subjects that exist once, so that a sentence about them needs no name.
var partsOfMachine = []string{"driver", "GPUs", "fabric", "limits", "job"}

// FormatSentence returns a finding as a complete sentence, with its subject.
func FormatSentence(f verdict.Finding) string {
	if driver := findEvidence(f, "driver"); f.Rule == "driver-too-old" && driver != nil {
		return fmt.Sprintf("%s cannot run on driver %s", NameSubject(f), driver.Value)
	}
	if f.Subject == verdict.StatedSubject {
		return layout.LowerFirst(f.Message)
	}
	if slices.Contains(partsOfMachine, f.Subject) {
		return f.Message
	}
	if strings.Contains(strings.ToLower(f.Message), strings.ToLower(cmp.Or(f.About.Name, f.Subject))) {
		return f.Message
	}
	return NameSubject(f) + ": " + f.Message
}

// NameSubject returns the subject of a finding without its place: "torch 2.9.0+cu130".
func NameSubject(f verdict.Finding) string { return cmp.Or(f.About.Words(), f.Subject) }

// findEvidence returns the evidence with a fact's name, or nil.
func findEvidence(f verdict.Finding, fact string) *verdict.Evidence {
	i := slices.IndexFunc(f.Evidence, func(e verdict.Evidence) bool { return strings.EqualFold(e.Fact, fact) })
	if i < 0 {
		return nil
	}
	return &f.Evidence[i]
}

// FindNeededFact returns the fact that a finding's need is about, by its first word: the driver for "driver >=
// 580.65.06".
func FindNeededFact(f verdict.Finding) *verdict.Evidence {
	word, _, _ := strings.Cut(f.Need, " ")
	return findEvidence(f, word)
}
