package matrix

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cudacompat/internal/cases"
	"cudacompat/matrix/internal/rules"
	"cudacompat/matrix/verdict"
	"cudacompat/probe"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write the expected verdicts anew; read the difference before you commit it")

// TestCases judges every machine under testdata and compares what is decided, and the words of the rule that the case's
// folder is named after. A case is a txtar with
// patch.json (or facts.json), perhaps target.json, require, health and today, and want. Its head says what the machine
// is, which recorded machine it is like, and what must be said of it whatever the words are: these lines are written by
// hand, -update never touches them.
//
//	base: host T4 550.163.01 torch-2.6.0+cu124
//	expect: incompatible, error driver-too-old, no driver-eol, answer broken
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases found")
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(strings.TrimPrefix(file, "testdata/"), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			verdict := judge(t, archive, false)
			got := summary(verdict, filepath.Base(filepath.Dir(file)))
			if *update {
				setFile(archive, "want", got)
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for _, miss := range missedExpectations(string(archive.Comment), got) {
				t.Error(miss)
			}
			if diff := cmp.Diff(string(getFile(archive, "want")), got); diff != "" {
				t.Errorf("verdict differs (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(withoutPins(verdict), withoutPins(judge(t, archive, true))); diff != "" {
				t.Errorf("without pins, more differs than the pins (-with +without):\n%s", diff)
			}
		})
	}
}

// missedExpectations compares a summary with the expect line of its case. An item is an outcome, "answer ANSWER",
// "unknown RULE", "SEVERITY RULE", or one of these with "no"; "no error" means no error of any rule.
func missedExpectations(comment, summary string) []string {
	_, line, found := strings.Cut("\n"+comment, "\nexpect: ")
	if !found {
		return []string{"the case's head has no line \"expect: OUTCOME, SEVERITY RULE, answer ANSWER\""}
	}
	line, _, _ = strings.Cut(line, "\n")
	var list []string
	if strings.HasPrefix(line, "incompatible") && !strings.Contains(line, ", error ") {
		list = append(list, "the case expects an error and does not name it: "+line)
	}
	for i, item := range strings.Split(line, ", ") {
		item, not := strings.CutPrefix(item, "no ")
		if holds := i == 0 && strings.HasPrefix(summary, item+"\n") ||
			i > 0 && expected(item).MatchString(summary); holds == not {
			list = append(list, "not as the case expects: "+line+": "+item)
		}
	}
	return list
}

// expected returns a pattern for the lines of a summary that an item of an expect line refers to.
func expected(item string) *regexp.Regexp {
	if !strings.Contains(item, " ") && !slices.Contains([]string{"error", "warning", "note", "unknown"}, item) {
		return regexp.MustCompile(`(?m)^(error|warning|note) ` + regexp.QuoteMeta(item) + ":")
	}
	return regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(item) + `[ :,]`)
}

// TestRecordedMachinesAreUsed checks that a case or a situation uses each recorded machine and part.
func TestRecordedMachinesAreUsed(t *testing.T) {
	var bases []string
	files, _ := filepath.Glob("testdata/*/*.txtar")
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, line, _ := strings.Cut("\n"+string(archive.Comment), "\nbase: ")
		line, _, _ = strings.Cut(line, "\n")
		bases = append(bases, line)
	}
	for _, s := range situations(t) {
		bases = append(bases, s.Base)
	}
	used := map[string]bool{}
	for _, base := range bases {
		for i, word := range strings.Fields(base) {
			used[word] = true
			if machine := strings.Fields(base)[0]; i > 0 {
				used[machine+"/"+word] = true
			}
		}
	}
	recorded, _ := filepath.Glob("testdata/machines/*.json")
	parts, _ := filepath.Glob("testdata/machines/*/*.json")
	for _, file := range append(recorded, parts...) {
		name := strings.TrimPrefix(strings.TrimSuffix(file, ".json"), "testdata/machines/")
		if !used[strings.TrimPrefix(name, "part/")] {
			t.Errorf("%s: no case and no situation is on it", file)
		}
	}
}

// TestEveryRuleHasCases checks that each rule has a case in which it fires and one in which it stays silent.
func TestEveryRuleHasCases(t *testing.T) {
	for _, rule := range rules.All {
		if rule.ComparesNodes() { // package fleet has its cases
			continue
		}
		files, _ := filepath.Glob("testdata/" + rule.ID + "/*.txtar")
		fires, silent := 0, 0
		for _, file := range files {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(getFile(archive, "want")), " "+rule.ID+":") {
				fires++
			} else {
				silent++
			}
		}
		for kind, n := range map[string]int{"in which it fires": fires, "in which it is silent": silent} {
			if n == 0 {
				t.Errorf("the rule %s has no case %s: add one to matrix/testdata/%s", rule.ID, kind, rule.ID)
			}
		}
	}
}

// TestHealthyMachinesStaySilent checks RULES' list of healthy machines: none has an error or a warning.
func TestHealthyMachinesStaySilent(t *testing.T) {
	files, _ := filepath.Glob("testdata/healthy/*.txtar")
	if len(files) < 12 {
		t.Fatalf("only %d healthy machines", len(files))
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		v := judge(t, archive, false)
		if n := v.Count(verdict.Error) + v.Count(verdict.Warning); n > 0 {
			t.Errorf("%s: %d errors and warnings on a healthy machine:\n%s", file, n, summary(v, everyRule))
		}
	}
}

func judge(t *testing.T, archive *txtar.Archive, noPins bool) verdict.Verdict {
	t.Helper()
	return judgeFacts(t, archive, noPins, func(*probe.Facts) {})
}

// judgeFacts judges a case's facts after a change.
func judgeFacts(t *testing.T, archive *txtar.Archive, noPins bool, change func(*probe.Facts)) verdict.Verdict {
	t.Helper()
	node, err := probe.Given(factsOf(t, archive))
	if err != nil {
		t.Fatal(err)
	}
	change(&node)
	var targets []Target
	if data := getFile(archive, "target.json"); data != nil {
		if err := json.Unmarshal(data, &targets); err != nil {
			t.Fatal(err)
		}
	}
	return Check(context.Background(), Embedded(), node, targets,
		verdict.Policy{Require: strings.Fields(string(getFile(archive, "require"))), Health: getFile(archive, "health") != nil,
			Today: strings.TrimSpace(string(getFile(archive, "today"))), NoPins: noPins})
}

// factsOf returns a case's facts: the recorded machine that it names, with the case's patch applied.
func factsOf(t *testing.T, archive *txtar.Archive) []byte {
	t.Helper()
	data, err := cases.Facts("testdata/machines", archive)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// withoutPins returns the summary of a verdict without its pins and steps.
func withoutPins(v verdict.Verdict) string {
	v.Findings = slices.Clone(v.Findings)
	for i := range v.Findings {
		v.Findings[i].Pins, v.Findings[i].Steps = nil, nil
	}
	return summary(v, everyRule)
}

func getFile(archive *txtar.Archive, name string) []byte {
	for _, f := range archive.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}

func setFile(archive *txtar.Archive, name, text string) {
	for i := range archive.Files {
		if archive.Files[i].Name == name {
			archive.Files[i].Data = []byte(text)
			return
		}
	}
	archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(text)})
}

// everyRule makes summary print the words of all rules.
const everyRule = ""

// summary formats a verdict for a reviewer. It prints the words of the named rule, and only the decisions of the
// others, so that a better sentence changes only the cases of its own rule.
func summary(v verdict.Verdict, rule string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", v.Outcome)
	for _, a := range v.Answers {
		fmt.Fprintf(&b, "answer %s: %s%s %s\n", a.Answer, a.Subject, on(a.Target), strings.Join(a.Because, " "))
	}
	for _, f := range v.Findings {
		if rule != everyRule && f.Rule != rule {
			fmt.Fprintf(&b, "%s %s: %s%s\n", f.Severity, f.Rule, f.Subject, on(f.Target))
			continue
		}
		fmt.Fprintf(&b, "%s %s: %s%s: %s\n", f.Severity, f.Rule, f.Subject, on(f.Target), f.Message)
		fmt.Fprintf(&b, "  needs %s\n", f.Need)
		for _, p := range f.Pins {
			fmt.Fprintf(&b, "  pin %s %s: %s\n", p.Package, p.Version, p.Why)
		}
		for _, s := range f.Steps {
			what := "run"
			if s.Run == "" {
				what = "say"
			}
			if s.Or {
				what = "or " + what
			}
			fmt.Fprintf(&b, "  %s %s\n", what, strings.TrimPrefix(s.String(), "or "))
		}
	}
	for _, u := range v.Unknown {
		if rule != everyRule && u.Rule != rule {
			fmt.Fprintf(&b, "unknown %s, %s%s\n", u.Rule, u.Subject, on(u.Target))
			continue
		}
		fmt.Fprintf(&b, "unknown %s, %s%s: %s\n", u.Rule, u.Subject, on(u.Target), u.Missing)
	}
	return strings.ReplaceAll(b.String(), " \n", "\n")
}

func on(target string) string {
	if target == "" {
		return ""
	}
	return " on " + target
}

// bearable lists the machine rules beside whose error a build may still work.
var bearable = []string{"gpu-count", "container-toolkit", "cdi-spec-stale", "world-size",
	"required-missing"}

// TestErrorsOfTheMachineBreakBuilds checks that the error of each machine rule breaks whatever needs the GPU, except
// for the rules in bearable.
func TestErrorsOfTheMachineBreakBuilds(t *testing.T) {
	var beside []string
	for _, rule := range rules.All {
		if rule.OnMachine == nil || rule.Link != "" {
			continue
		}
		makesError := func(archive *txtar.Archive) bool {
			return slices.ContainsFunc(judge(t, archive, false).Findings,
				func(f verdict.Finding) bool { return f.Rule == rule.ID && f.Severity == verdict.Error })
		}
		if slices.ContainsFunc(casesOf(t, rule.ID), makesError) {
			beside = append(beside, rule.ID)
		}
	}
	if diff := cmp.Diff(bearable, beside); diff != "" {
		t.Errorf("rules that make errors and break no build (-want +got):\n%s", diff)
	}
}

// casesOf returns the cases of a rule.
func casesOf(t *testing.T, rule string) []*txtar.Archive {
	t.Helper()
	files, err := filepath.Glob("testdata/" + rule + "/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var list []*txtar.Archive
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, archive)
	}
	return list
}

// TestWorksIsProven checks on every machine of the cases that each link of a working build is held or assumed, and that
// no error is on a link beside it.
func TestWorksIsProven(t *testing.T) {
	files, _ := filepath.Glob("testdata/*/*.txtar")
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		v := judge(t, archive, true)
		for _, a := range v.Answers {
			if a.Answer != verdict.Works && a.Answer != verdict.WorksMinorVersion && a.Answer != verdict.WorksForward {
				continue
			}
			links := slices.Clone(a.Links)
			if slices.ContainsFunc(a.Links, func(l verdict.Link) bool { return l.Link == verdict.LinkCode }) { // no build for the CPU
				links = append(links, sharedBy(v, a)...)
			}
			if worst := decisive(links); worst.State != verdict.Held && worst.State != verdict.Assumed {
				t.Errorf("%s: %s %s, and its link %s is %s: %s", file, a.Subject, a.Answer, worst.Link, worst.State, worst.Value)
			}
			for _, f := range v.Findings {
				rule, _ := rules.Named(f.Rule)
				if f.Severity == verdict.Error && f.Subject == a.Subject && f.Target == a.Target && rule.Link != "" {
					t.Errorf("%s: %s %s beside an error of %s", file, a.Subject, a.Answer, f.Rule)
				}
			}
		}
	}
}

// sharedBy returns the machine's links for the kind of GPU that an answer is for.
func sharedBy(v verdict.Verdict, a verdict.BuildAnswer) []verdict.Link {
	code := a.Links[slices.IndexFunc(a.Links, func(l verdict.Link) bool { return l.Link == verdict.LinkCode })]
	var links []verdict.Link
	for _, j := range v.Judged {
		for _, l := range j.Links {
			if j.Target == a.Target && l.GPU == code.GPU {
				links = append(links, l)
			}
		}
	}
	return links
}

// TestRemarksChangeNoAnswer checks that rules marked as remarks make no error and decide no answer, since Requires does
// not call them.
func TestRemarksChangeNoAnswer(t *testing.T) {
	remark := func(id string) bool {
		rule, _ := rules.Named(id)
		return rule.OnlyRemarks()
	}
	files, _ := filepath.Glob("testdata/*/*.txtar")
	said := 0
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		v := judge(t, archive, true)
		for _, f := range v.Findings {
			if remark(f.Rule) {
				said++
			}
			if remark(f.Rule) && f.Severity == verdict.Error {
				t.Errorf("%s: %s makes an error", file, f.Rule)
			}
		}
		for _, a := range v.Answers {
			if slices.ContainsFunc(a.Because, remark) {
				t.Errorf("%s: %s is %s because of %v", file, a.Subject, a.Answer, a.Because)
			}
		}
	}
	if said == 0 {
		t.Error("no case makes a remark")
	}
}
