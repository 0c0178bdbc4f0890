package report

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"cudacompat/matrix/verdict"
)

// statement is a finding with every subject and every target of which the same is said, and what else is said of targets that
// have other GPUs.
type statement struct {
	verdict.Finding
	subjects, targets, others []string
}

// together joins findings that differ in nothing but their target and, where they are said in brief, their subject;
// those of several targets, too, that have the same fix for other GPUs. Each stands where the first of its kind stood.
func together(findings []verdict.Finding, brief func(verdict.Finding) bool) []statement {
	// Only findings of one rule and severity that share their subject, or what they say, can be alike: thousands are not
	// compared with each other.
	type kind struct {
		rule     string
		severity verdict.Severity
		subject  string
		message  string
	}
	var list []statement
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
			list = append(list, statement{Finding: f})
			met[about], met[words] = append(met[about], i), append(met[words], i)
		}
		if f.Message != list[i].Message {
			list[i].others = add(list[i].others, f.Message)
		}
		for _, e := range f.Evidence {
			if !slices.Contains(list[i].Evidence, e) && !brief(f) {
				list[i].Evidence = append(slices.Clone(list[i].Evidence), e)
			}
		}
		list[i].subjects = add(list[i].subjects, f.Subject)
		list[i].targets = add(list[i].targets, f.Target)
	}
	return list
}

func alike(a, b verdict.Finding, brief bool) bool {
	if brief {
		return a.Rule == b.Rule && a.Severity == b.Severity && a.Message == b.Message
	}
	// The same rule and the same fix on another target: what is seen and said names its GPU.
	if a.Rule == b.Rule && a.Severity == b.Severity && a.Subject == b.Subject && a.Target != b.Target && len(a.Pins)+len(a.Steps) > 0 &&
		reflect.DeepEqual(a.Pins, b.Pins) && reflect.DeepEqual(a.Steps, b.Steps) {
		return true
	}
	a.Target = b.Target
	return reflect.DeepEqual(a, b)
}

// ofSeverity returns the findings of one severity.
func ofSeverity(findings []statement, s verdict.Severity) []statement {
	return slices.DeleteFunc(slices.Clone(findings), func(f statement) bool { return f.Severity != s })
}

// add puts a name at the end of a list that does not have it yet.
func add(list []string, name string) []string {
	if name == "" || slices.Contains(list, name) {
		return list
	}
	return append(list, name)
}

// on names the targets, " on g5.xlarge, p5.48xlarge"; empty for this machine.
func on(targets []string) string {
	if len(targets) == 0 {
		return ""
	}
	return " on " + few(targets, 3)
}

// few lists the first of many and counts the others: "a and b", "a, b and 3 more".
func few(list []string, limit int) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	last, shown := list[len(list)-1], list[:len(list)-1]
	if len(list) > limit {
		last, shown = fmt.Sprintf("%d more", len(list)-limit), list[:limit]
	}
	return strings.Join(shown, ", ") + " and " + last
}

// partsOfMachine are subjects of which there is one: what is said of them needs no name before it.
var partsOfMachine = []string{"driver", "GPUs", "fabric", "limits", "job"}

// sentence returns a finding that stands alone: what is wrong with what.
func sentence(f verdict.Finding) string {
	if driver := evidence(f, "driver"); f.Rule == "driver-too-old" && driver != nil {
		return fmt.Sprintf("%s cannot run on driver %s", subjectOf(f), driver.Value)
	}
	if f.Subject == verdict.StatedSubject {
		return lowerFirst(f.Message)
	}
	if slices.Contains(partsOfMachine, f.Subject) {
		return f.Message
	}
	if strings.Contains(strings.ToLower(f.Message), strings.ToLower(cmp.Or(f.About.Name, f.Subject))) {
		return f.Message
	}
	return subjectOf(f) + ": " + f.Message
}

// articles begin a sentence whose first letter may be small inside another.
var articles = []string{"The", "A", "An", "This", "It", "No", "Programs", "Another", "Two", "There"}

// lowerFirst writes a sentence as a clause. A name keeps its capital.
func lowerFirst(sentence string) string {
	if word, _, _ := strings.Cut(sentence, " "); slices.Contains(articles, word) {
		return strings.ToLower(sentence[:1]) + sentence[1:]
	}
	return sentence
}

// subjectOf returns what a finding is about, without the place where it is: "torch 2.9.0+cu130".
func subjectOf(f verdict.Finding) string { return cmp.Or(f.About.Words(), f.Subject) }

// evidence returns the fact of that name among a finding's evidence, or nil.
func evidence(f verdict.Finding, fact string) *verdict.Evidence {
	i := slices.IndexFunc(f.Evidence, func(e verdict.Evidence) bool { return strings.EqualFold(e.Fact, fact) })
	if i < 0 {
		return nil
	}
	return &f.Evidence[i]
}

// neededFact returns the fact that a finding's need is about, by its first word: the driver for "driver >= 580.65.06".
func neededFact(f verdict.Finding) *verdict.Evidence {
	word, _, _ := strings.Cut(f.Need, " ")
	return evidence(f, word)
}

// plural writes a number with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
