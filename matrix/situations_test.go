package matrix

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cudacompat/internal/cases"
	"cudacompat/matrix/verdict"
	"cudacompat/probe"
)

// situation is a live machine of tools/situations, whose facts were recorded there: what it must be told was written
// from the rules, before the program was asked.
type situation struct {
	Name     string   `json:"name"`
	Base     string   `json:"base"`  // the recorded machine that it is most like
	Facts    string   `json:"facts"` // what is different of it; none: nothing
	Args     []string `json:"args"`
	Outcomes []string `json:"outcomes"` // those that are right
	Rule     []string `json:"rule"`     // a rule and its severity, that must be among the findings; none: any
	Word     string   `json:"word"`     // of the steps
	Never    string   `json:"never"`    // a word that nothing says
	Sound    bool     `json:"sound"`    // no error and no warning
	Partly   bool     `json:"partly"`   // an error, beside a build that works on the other GPUs
}

// situations returns all that were recorded.
func situations(t *testing.T) []situation {
	t.Helper()
	data, err := os.ReadFile("testdata/situations/situations.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []situation
	if err := json.Unmarshal(data, &list); err != nil || len(list) < 40 {
		t.Fatal(len(list), err)
	}
	return list
}

// TestSituations judges the recorded machines. make situations asks the program on the machines themselves, where this
// system lets a process have namespaces of its own.
func TestSituations(t *testing.T) {
	for _, s := range situations(t) {
		t.Run(strings.TrimSuffix(s.Facts, ".json"), func(t *testing.T) {
			if wrong := s.wrong(s.judged(t)); wrong != "" {
				t.Errorf("%s: %s", s.Name, wrong)
			}
		})
	}
}

// TestNoTickForWhatIsNotThere: the module is not seen by NVML where NVML did not answer, and the devices are not held where
// no node is there, unless the driver counted the GPUs.
func TestNoTickForWhatIsNotThere(t *testing.T) {
	held := 0
	for _, s := range situations(t) {
		f, err := probe.Given(s.recorded(t))
		if err != nil {
			t.Fatal(err)
		}
		answers := f.Driver.NVML.Status == "ok"
		for _, judged := range s.judged(t).Judged {
			for _, link := range judged.Links {
				if link.State != verdict.Held {
					continue
				}
				held++
				switch {
				case link.Link == verdict.LinkModule && strings.Contains(link.From, "NVML") && !answers,
					link.Link == verdict.LinkDevices && len(f.Devices.Nodes) == 0 && !answers && !f.System.Jetson:
					t.Errorf("%s: %s is held by %q: %q", s.Name, link.Link, link.From, link.Value)
				}
			}
		}
	}
	if held == 0 {
		t.Error("no link is held")
	}
}

func (s *situation) judged(t *testing.T) verdict.Verdict {
	t.Helper()
	f, err := probe.Given(s.recorded(t))
	if err != nil {
		t.Fatal(err)
	}
	targets, policy := s.asked()
	return Check(context.Background(), Embedded(), f, targets, policy)
}

// recorded returns the machine's facts, whole.
func (s *situation) recorded(t *testing.T) []byte {
	t.Helper()
	var patch []byte
	if s.Facts != "" {
		var err error
		if patch, err = os.ReadFile(filepath.Join("testdata/situations", s.Facts)); err != nil {
			t.Fatal(err)
		}
	}
	data, err := cases.Machine("testdata/machines", s.Base, patch)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// asked returns what the command line asks of the machine.
func (s *situation) asked() (targets []Target, policy verdict.Policy) {
	for i, arg := range s.Args {
		switch arg {
		case "--instance":
			targets = append(targets, Target{Instance: s.Args[i+1]})
		case "--require":
			policy.Require = strings.Split(s.Args[i+1], ",")
		}
	}
	return targets, policy
}

// wrong returns what is wrong with a verdict, empty where nothing is.
func (s *situation) wrong(v verdict.Verdict) string {
	text := summary(v, everyRule)
	works := slices.ContainsFunc(v.Answers, func(a verdict.BuildAnswer) bool {
		return strings.HasPrefix(string(a.Answer), "works") && a.Answer != verdict.WorksCPUOnly
	})
	open := slices.ContainsFunc(v.Answers, func(a verdict.BuildAnswer) bool { return a.Answer == verdict.Broken || a.Answer == verdict.Unknown })
	found := len(s.Rule) == 0 || slices.ContainsFunc(v.Findings, func(f verdict.Finding) bool {
		return f.Rule == s.Rule[0] && string(f.Severity) == s.Rule[1]
	})
	switch {
	case !slices.Contains(s.Outcomes, string(v.Outcome)):
		return "the outcome is none of " + strings.Join(s.Outcomes, ", ") + ":\n" + text
	case v.Outcome == verdict.Compatible && open:
		return "compatible beside an answer that is not:\n" + text
	case v.Outcome == verdict.Incompatible && works && !s.Partly:
		return "incompatible, and its build works:\n" + text
	case !found:
		return "no " + s.Rule[1] + " of " + s.Rule[0] + ":\n" + text
	case s.Sound && v.Count(verdict.Error)+v.Count(verdict.Warning) > 0:
		return "it is sound, and something is said:\n" + text
	case s.Word != "" && !strings.Contains(text, s.Word):
		return "no step says " + s.Word + ":\n" + text
	case s.Never != "" && strings.Contains(text, s.Never):
		return "it says " + s.Never + ":\n" + text
	}
	return ""
}
